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
        return f"{made} holds on your word, in place of {one.claim_id}"

    return act


def _edit(one: ClaimView, text: str) -> Act:
    async def act(memory: Memory, session: Session) -> str:
        made = await session.edit_claim(one.claim_id, value=text)
        if made == one.claim_id:
            return f"{made} says the same already: nothing was changed"
        return f"{made} holds in place of {one.claim_id}"

    return act


def _retract(one: ClaimView, text: str) -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await session.retract(one.claim_id)
        return f"{one.claim_id} holds no more; it is kept, and `u` takes this back"

    return act


CLAIM_ACTS: Final = (
    ClaimAct(
        "v",
        "Validate",
        "hold it true on your own word",
        lambda one: _is_standing(one) and one.authority != "user",
        _validate,
    ),
    ClaimAct("e", "Edit", "say it in other words", _is_standing, _edit, asks=True),
    ClaimAct("x", "Retract", "hold it true no more", _is_standing, _retract),
)


async def undo(memory: Memory, session: Session) -> str:
    undone = await session.undo()
    return f"taken back: {undone.what} {', '.join(undone.page_ids)}"


def pin(page_id: str) -> Act:
    """Pin a page, or unpin it if it is pinned."""

    async def act(memory: Memory, session: Session) -> str:
        if page_id in (await session.status()).pinned:
            await session.unpin(page_id)
            return f"{page_id} may leave the window again"
        await session.pin(page_id)
        return f"{page_id} stays in the window"

    return act


def approve(session_id: str, *, is_approved: bool) -> Act:
    """Approve an import, or withdraw the approval."""

    async def act(memory: Memory, session: Session) -> str:
        if is_approved:
            await memory.revoke_import(session=session_id)
            return "nothing of it is recalled any more"
        await memory.approve_import(session=session_id)
        return "approved: what it holds may be recalled"

    return act


def retain(keep: str, *, session_id: str = "") -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await memory.set_retention(None if keep == "none" else keep, session=session_id)
        return "the rule is gone" if keep == "none" else f"pages are kept: {keep}"

    return act


def control(mode: str, *, session_id: str = "") -> Act:
    async def act(memory: Memory, session: Session) -> str:
        await memory.set_control(mode, session=session_id)
        return f"memory is in the mode {mode.replace('_', ' ')}"

    return act
