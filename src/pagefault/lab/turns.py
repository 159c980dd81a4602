"""A conversation as the calls it makes: what each adds, what it recalls, when it comes.

It is recorded by playing the conversation through a real session, in memory, whose clock follows
what the lines say of their time. So every layout that is compared gets the same pages, and the same
search results in the same order, and the session's own requests are there to be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pagefault.lab.transcripts import Conversation, Line
from pagefault.model.errors import MessageTooLarge
from pagefault.model.ids import PageId
from pagefault.model.kinds import Role
from pagefault.model.page import Page
from pagefault.model.request import Request
from pagefault.service.bootstrap import IN_MEMORY, open_memory
from pagefault.service.limits import Limits
from pagefault.service.session import RECALL_CANDIDATES, Session

LINE_S: Final = 30.0
"""How long a line takes to say, where the lines themselves do not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, at a user's message. `new` are the pages since the call before, the message's
    own last; `hits` what a search for it finds among the earlier ones, best first.
    """

    new: tuple[Page, ...]
    hits: tuple[Page, ...]
    idle_s: float  # since the call before
    request: Request  # what the session made of it
    recalled_tokens: int  # what the session brought in with it by itself


class ConversationClock:
    """Tells the time that the conversation says it is."""

    def __init__(self, at_s: float = 1_772_700_300.0) -> None:
        self.at_s = at_s

    def now_ms(self) -> int:
        return int(self.at_s * 1000)

    def monotonic_s(self) -> float:
        return self.at_s

    def reach(self, line: Line) -> None:
        """Go on to the moment of a line; never back."""
        self.at_s += LINE_S
        if line.occurred_at:
            # A place unknown counts as UTC: only differences matter.
            self.at_s = max(self.at_s, _seconds(line.occurred_at))


async def calls_of(
    conversation: Conversation,
    *,
    window: int,
    mode: str = "active",
    limits: Limits | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Call]:
    """Every call of a conversation. Messages too long for the window are handed in as documents."""
    first = next((line.occurred_at for line in conversation.lines if line.occurred_at), "")
    clock = ConversationClock(_seconds(first)) if first else ConversationClock()
    calls: list[Call] = []
    new: list[Page] = []
    called_at = clock.at_s
    async with open_memory(
        IN_MEMORY, clock=clock, window=window, mode=mode, limits=limits, seed=0
    ) as memory:
        session = await memory.session("replayed", window=window, system=conversation.system)
        for number, line in enumerate(conversation.lines, 1):
            clock.reach(line)
            hits: list[Page] = []
            if line.role is Role.USER:
                hits = [
                    await session.page(hit.page.page_id)
                    for hit in (await session.recall(line.text, limit=RECALL_CANDIDATES)).hits
                ]
            pages, calls_now = await _say(session, line)
            new += pages
            if calls_now:
                request = await session.request()
                calls.append(
                    Call(
                        new=tuple(new),
                        hits=tuple(hits),
                        idle_s=clock.at_s - called_at,
                        request=request,
                        recalled_tokens=session.paged_in_tokens,
                    )
                )
                new, called_at = [], clock.at_s
            progress(f"playing {conversation.name}", number, len(conversation.lines))
    return calls


async def _say(session: Session, line: Line) -> tuple[list[Page], bool]:
    """The pages that a line became, and whether a request follows."""
    match line.role:
        case Role.USER:
            try:
                first = await session.user(
                    line.text, speaker=line.speaker, occurred_at=line.occurred_at
                )
            except MessageTooLarge:
                handed_in = await session.document(line.text, origin="import")
                return [await session.page(page_id) for page_id in handed_in], False
            return await _parts(session, first), True
        case Role.ASSISTANT:
            first = await session.assistant(
                line.text, speaker=line.speaker, occurred_at=line.occurred_at
            )
            return await _parts(session, first), False
        case Role.TOOL:
            made = await session.tool_result(
                line.text, name=line.speaker or "tool", call_id=line.call_id
            )
        case Role.SYSTEM:
            made = await session.document(line.text, title="system note", origin="import")
    return [await session.page(page_id) for page_id in made], False


async def _parts(session: Session, first: PageId) -> list[Page]:
    pages = [await session.page(first)]
    stem, _, number = first.rpartition("_")
    more = range(int(number) + 1, int(number) + pages[0].row.parts)
    return [*pages, *[await session.page(f"{stem}_{part}") for part in more]]


def _seconds(when: str) -> float:
    at = datetime.fromisoformat(when)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
