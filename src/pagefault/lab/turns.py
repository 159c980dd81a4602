"""A conversation as a sequence of calls: what each adds, what it recalls, and when it comes.

Recorded by playing the conversation through a real session, in memory, whose clock follows the
times of the lines. So every layout under comparison gets the same pages and the same search results
in the same order, and the session's own requests can be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pagefault.lab.transcripts import Conversation, Line
from pagefault.model.errors import MessageTooLarge
from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import Page
from pagefault.model.request import Request
from pagefault.recall.gate import gate
from pagefault.recall.search import SearchHit
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.limits import Limits
from pagefault.service.session import Session
from pagefault.service.turn.auto_recall import RECALL_CANDIDATES

LINE_S: Final = 30.0
"""Duration of a line, if the lines have no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, at a user's message. `new` are the pages since the previous call, ending with
    the message's own; `hits` the earlier pages that the message calls for, best first;
    `recall_room` the tokens that they may take.
    """

    new: tuple[Page, ...]
    hits: tuple[Page, ...]
    recall_room: int
    recalled_pages: int  # brought in, and not said since the previous call
    idle_s: float  # since the previous call
    request: Request  # the session's own
    recalled_tokens: int  # brought in by the session unasked


class ConversationClock:
    """A clock that follows the times of a conversation."""

    def __init__(self, at_s: float = 1_772_700_300.0) -> None:
        self.at_s = at_s

    def begin(self, conversation: Conversation) -> None:
        """Set the clock to a conversation's beginning, even if the previous one ended later."""
        first = next((line.occurred_at for line in conversation.lines if line.occurred_at), "")
        if first:
            self.at_s = _seconds(first)

    def now_ms(self) -> int:
        return int(self.at_s * 1000)

    def monotonic_s(self) -> float:
        return self.at_s

    def reach(self, line: Line) -> None:
        """Advance to the time of a line; never back."""
        self.at_s += LINE_S
        if line.occurred_at:
            # An unknown zone counts as UTC: only differences matter.
            self.at_s = max(self.at_s, _seconds(line.occurred_at))


class Recorder:
    """Says the lines of a conversation to a session, and records the resulting calls."""

    def __init__(self, session: Session, limits: Limits, clock: ConversationClock) -> None:
        self._session, self._limits, self._clock = session, limits, clock
        self._new: list[Page] = []
        self._called_at = clock.at_s
        self.calls: list[Call] = []
        self.documents = 0  # messages too long for the window, stored as documents

    async def say(self, line: Line) -> tuple[list[Page], Request | None]:
        """The pages of a line, and the request that follows if it is a user's."""
        self._clock.reach(line)
        session = self._session
        hits: list[SearchHit] = []
        before = set(session.resident())
        if line.role is Role.USER:
            found = await session.recall(line.text, limit=RECALL_CANDIDATES)
            hits = gate(line.text).admitted(found.hits)
        pages = await say(session, line)
        self._new += pages
        if line.role is not Role.USER:
            return pages, None
        if pages[-1].row.kind is Kind.ARTIFACT:
            self.documents += 1
            return pages, None
        request = await session.request()
        room = self._limits.recall_room(request.window_tokens, faults=bool(request.tools))
        said = {page.page_id for page in self._new}
        self.calls.append(
            Call(
                new=tuple(self._new),
                hits=tuple([await session.page(hit.page.page_id) for hit in hits]),
                recall_room=int(gate(line.text).room_share * room),
                recalled_pages=len(set(session.resident()) - before - said),
                idle_s=self._clock.at_s - self._called_at,
                request=request,
                recalled_tokens=session.paged_in_tokens,
            )
        )
        self._new, self._called_at = [], self._clock.at_s
        return pages, request


async def calls_of(
    conversation: Conversation,
    *,
    window: int,
    limits: Limits | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Call]:
    """Every call of a conversation. Messages too long for the window are stored as documents."""
    clock = ConversationClock()
    clock.begin(conversation)
    async with open_memory(
        MEMORY, clock=clock, window=window, mode="active", limits=limits, seed=0
    ) as memory:
        session = await memory.session("replayed", window=window, system=conversation.system)
        recorder = Recorder(session, memory.limits, clock)
        for number, line in enumerate(conversation.lines, 1):
            await recorder.say(line)
            progress(f"playing {conversation.name}", number, len(conversation.lines))
    return recorder.calls


async def say(session: Session, line: Line) -> list[Page]:
    """Say a line; returns its pages. User messages too long for any window become documents."""
    match line.role:
        case Role.USER:
            try:
                first = await session.user(
                    line.text, speaker=line.speaker, occurred_at=line.occurred_at
                )
            except MessageTooLarge:
                made = await session.document(
                    line.text, origin="local_file", occurred_at=line.occurred_at
                )
            else:
                return await parts_of(session, first)
        case Role.ASSISTANT:
            first = await session.assistant(
                line.text, speaker=line.speaker, occurred_at=line.occurred_at
            )
            return await parts_of(session, first)
        case Role.TOOL:
            made = await session.tool_result(
                line.text,
                name=line.speaker or "tool",
                call_id=line.call_id,
                occurred_at=line.occurred_at,
            )
        case Role.SYSTEM:
            made = await session.document(
                line.text, title="system note", origin="local_file", occurred_at=line.occurred_at
            )
    return [await session.page(page_id) for page_id in made]


async def parts_of(session: Session, first: PageId) -> list[Page]:
    """The pages of a text, given its first."""
    pages = [await session.page(first)]
    stem, _, number = first.rpartition("_")
    more = range(int(number) + 1, int(number) + pages[0].row.parts)
    return [*pages, *[await session.page(f"{stem}_{part}") for part in more]]


def _seconds(when: str) -> float:
    at = datetime.fromisoformat(when)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
