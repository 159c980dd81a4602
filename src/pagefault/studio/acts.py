"""Acts: what the studio can do to a memory, one verb each, and the messages that report it.

An act gets the memory, opened for writing, and the viewed session. A new verb for claims needs only
a line in `CLAIM_ACTS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.turn.stated_claims import KINDS
from pagefault.views.texts import ClaimView

Act = Callable[[Memory, Session], Awaitable[str]]
"""Does one thing and returns a message saying what was done. Raises `PagefaultError`."""


@dataclass(frozen=True, slots=True)
class ClaimAct:
    """An act on a claim. With `asks`, it first asks for a text, prefilled with the claim's value;
    without, for confirmation.
    """

    key: str
    name: str
    does: str
    is_for: Callable[[ClaimView], bool]
    act: Callable[[ClaimView, str], Act]
    asks: bool = False


def _is_standing(one: ClaimView) -> bool:
    return one.is_standing and one.type in KINDS


def _validate(one: ClaimView, text: str) -> Act:
    async def act(memory: Memory, session: Session) -> str:
        made = await session.confirm_claim(one.claim_id, one.digest)
        return f"{made} now stands on your word, replacing {one.claim_id}"

    return act


def _edit(one: ClaimView, text: str) -> Act:
    async def act(memory: Memory, session: Session) -> str:
        made = await session.edit_claim(one.claim_id, value=text)
        if made == one.claim_id:
            return f"{made} already says that: nothing was changed"
        return f"{made} replaces {one.claim_id}"

    return act


def _retract(one: ClaimView, text: str) -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await session.retract(one.claim_id)
        return f"{one.claim_id} retracted; it is kept, and `u` undoes this"

    return act


CLAIM_ACTS: Final = (
    ClaimAct(
        "v",
        "Validate",
        "confirm it on your own word",
        lambda one: _is_standing(one) and one.authority != "user",
        _validate,
    ),
    ClaimAct("e", "Edit", "change its text", _is_standing, _edit, asks=True),
    ClaimAct("x", "Retract", "withdraw it", _is_standing, _retract),
)


async def undo(memory: Memory, session: Session) -> str:
    undone = await session.undo()
    return f"undone: {undone.what} {', '.join(undone.page_ids)}"


def pin(page_id: str) -> Act:
    """Pin a page, or unpin it if it is pinned."""

    async def act(memory: Memory, session: Session) -> str:
        if page_id in (await session.status()).pinned:
            await session.unpin(page_id)
            return f"unpinned {page_id}: it may leave the window again"
        await session.pin(page_id)
        return f"pinned {page_id}: it stays in the window"

    return act


def approve(session_id: str, *, is_approved: bool) -> Act:
    """Approve an import, or withdraw the approval."""

    async def act(memory: Memory, session: Session) -> str:
        if is_approved:
            await memory.revoke_import(session=session_id)
            return "approval withdrawn: it is no longer recalled"
        await memory.approve_import(session=session_id)
        return "approved: it may now be recalled"

    return act


def retain(keep: str, *, session_id: str = "") -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await memory.set_retention(None if keep == "none" else keep, session=session_id)
        return "rule removed" if keep == "none" else f"pages are kept: {keep}"

    return act


def control(mode: str, *, session_id: str = "") -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await memory.set_control(mode, session=session_id)
        return f"memory mode: {mode.replace('_', ' ')}"

    return act
