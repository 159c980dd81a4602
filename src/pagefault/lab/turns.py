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
"""How long a line takes to say, where the lines themselves do not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, at a user's message. `new` are the pages since the call before, the message's
    own last; `hits` what a search for it finds among the earlier ones and the message calls for,
    best first; `recall_room` the tokens that they may take.
    """

    new: tuple[Page, ...]
    hits: tuple[Page, ...]
    recall_room: int
    recalled_pages: int  # that it brought in, and were not said since the call before
    idle_s: float  # since the call before
    request: Request  # what the session made of it
    recalled_tokens: int  # what the session brought in with it by itself


class ConversationClock:
    """Tells the time that the conversation says it is."""

    def __init__(self, at_s: float = 1_772_700_300.0) -> None:
        self.at_s = at_s

    def begin(self, conversation: Conversation) -> None:
        """Stand at the beginning of a conversation, were it before the end of the last."""
        first = next((line.occurred_at for line in conversation.lines if line.occurred_at), "")
        if first:
            self.at_s = _seconds(first)

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


class Recorder:
    """Says the lines of a conversation to a session, and keeps the calls that they make."""

    def __init__(self, session: Session, limits: Limits, clock: ConversationClock) -> None:
        self._session, self._limits, self._clock = session, limits, clock
        self._new: list[Page] = []
        self._called_at = clock.at_s
        self.calls: list[Call] = []
        self.documents = 0  # messages too long for the window, handed in as documents

    async def say(self, line: Line) -> tuple[list[Page], Request | None]:
        """The pages that a line became, and the request that followed if it was a user's."""
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
    mode: str = "active",
    limits: Limits | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Call]:
    """Every call of a conversation. Messages too long for the window are handed in as documents."""
    clock = ConversationClock()
    clock.begin(conversation)
    async with open_memory(
        MEMORY, clock=clock, window=window, mode=mode, limits=limits, seed=0
    ) as memory:
        session = await memory.session("replayed", window=window, system=conversation.system)
        recorder = Recorder(session, memory.limits, clock)
        for number, line in enumerate(conversation.lines, 1):
            await recorder.say(line)
            progress(f"playing {conversation.name}", number, len(conversation.lines))
    return recorder.calls


async def say(session: Session, line: Line) -> list[Page]:
    """The pages that a line became. A user's message that no window has room for is handed in as a
    document.
    """
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
    """The pages of a text, told by its first."""
    pages = [await session.page(first)]
    stem, _, number = first.rpartition("_")
    more = range(int(number) + 1, int(number) + pages[0].row.parts)
    return [*pages, *[await session.page(f"{stem}_{part}") for part in more]]


def _seconds(when: str) -> float:
    at = datetime.fromisoformat(when)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
