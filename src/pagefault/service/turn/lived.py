"""The turns that a model lived, and its request: the input of formation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pagefault.engine.former import FormationRequest
from pagefault.model.kinds import LayoutName, Role
from pagefault.model.page import Page
from pagefault.model.segments import RenderedSegment
from pagefault.pack.layout import Entry, Exchange, Shown, said_in
from pagefault.service.turn.admission import summary_room
from pagefault.service.window.ranges import FormedRange, Ranges, closed, runs, size_within
from pagefault.service.window.state import SessionState

_REST_SHARE: Final = 4  # of a range: a smaller rest is not formed by itself


class Lived(Protocol):
    """The turns of a conversation in a model's current window."""

    @property
    def size(self) -> int:
        """The approximate tokens of a range."""
        ...

    @property
    def is_answered(self) -> bool:
        """Whether an answer is the last thing that the model would read before the question."""
        ...

    def in_place(self) -> list[Page]:
        """The pages in their places in the conversation, in order."""
        ...

    def finished(self) -> list[Page]:
        """Those of finished turns."""
        ...

    def has_room(self, tokens: int) -> bool:
        """Whether a request of so many of our tokens fits."""
        ...

    def given(self, pages: Sequence[Page]) -> FormationRequest:
        """A former's input for this range."""
        ...


def due(lived: Lived, ranges: Ranges, *, rests: bool = False) -> list[list[Page]]:
    """The closed ranges whose forming has not begun, in order. If the conversation `rests`, also
    the last one, unless it is short: later messages make another range.
    """
    upto = ranges.upto
    pages = [page for page in lived.finished() if page.row.order > upto]
    if not rests:
        return closed(pages, lived.size)
    every = list(runs(pages, lived.size))
    if every and sum(page.row.tokens for page in every[-1]) < lived.size // _REST_SHARE:
        every.pop()
    return every


def next_range(lived: Lived, ranges: Ranges, *, rests: bool = False) -> list[Page]:
    """The pages of the range to form next; empty if none is closed."""
    begun = ranges.begun
    if begun is not None:
        return [page for page in lived.in_place() if begun.holds(page)]
    return next(iter(due(lived, ranges, rests=rests)), [])


def can_go_on(lived: Lived, begun: FormedRange, *, tries_max: int) -> bool:
    """Whether a range that was begun may be begun again: with the same boundaries, and in place."""
    pages = [page for page in lived.in_place() if begun.holds(page)]
    return (
        begun.tries < tries_max
        and bool(pages)
        and (pages[0].page_id, pages[-1].page_id) == (begun.first, begun.last)
    )


@dataclass(frozen=True, slots=True)
class OwnWindow:
    """The turns of a session that packs its requests itself. `marks` means that its provider caches
    at marks: what was sent is marked, up to its end.
    """

    state: SessionState
    marks: bool

    @property
    def size(self) -> int:
        state = self.state
        return size_within(state.window_tokens, state.limits.summarised_tokens_max)

    @property
    def is_answered(self) -> bool:
        last = self.state.layout.messages()[-1]
        return bool(self._answered()) or (last.role is Role.ASSISTANT and not last.tool_calls)

    def in_place(self) -> list[Page]:
        pages = [page for entry in self.state.layout.entries() for page in said_in(entry)]
        return sorted(pages, key=lambda page: page.row.order)

    def finished(self) -> list[Page]:
        state, last = self.state, next(self.state.layout.latest(), None)
        is_over = isinstance(last, Shown) and last.page.row.role is Role.ASSISTANT
        return [page for page in self.in_place() if is_over or page.row.turn < state.turn]

    def has_room(self, tokens: int) -> bool:
        return tokens * self.state.factor <= self.state.window_tokens

    def _answered(self) -> list[Entry]:
        """What is not sent yet, up to the last answer: the user may have gone on already."""
        pending = self.state.layout.pending
        upto = 0
        for place, entry in enumerate(pending, 1):
            if isinstance(entry, Shown) and entry.page.row.role is Role.ASSISTANT:
                upto = place
        return pending[:upto]

    def given(self, pages: Sequence[Page]) -> FormationRequest:
        """The last request as it was sent, without its tail, and what was answered since."""
        state = self.state
        layout, request = state.layout, state.request()
        segments: list[RenderedSegment] = []
        if state.layout_name is LayoutName.STABLE:
            sent = layout.messages()
            new = layout.compose(self._answered(), after=sent[-1].role)
            added = [message for segment in new for message in segment.messages]
            tokens = layout.frozen_tokens() + sum(segment.tokens for segment in new)
            request = replace(
                request,
                messages=(*sent, *added),
                tokens=tokens,
                tail="",
                breakpoints=(len(sent) - 1,) if self.marks else (),
            )
            segments = layout.rendered([*layout.segments, *new], first=1)
        turn = pages[-1].row.turn if state.turn < 0 else state.turn
        entries = layout.entries()
        said = [e.page for e in entries if isinstance(e, Shown) and e.page.row.turn == turn]
        opened = min((page.row.seq for page in said), default=0)
        return FormationRequest(
            request=request,
            segments=tuple(segments),
            response="".join(page.text for page in said if page.row.role is Role.ASSISTANT),
            operations=tuple(
                call
                for entry in entries
                if isinstance(entry, Exchange) and entry.seq >= opened
                for call, _, _ in entry.calls
            ),
            pages=tuple(pages),
            tokens_max=summary_room(pages, state.limits.formed_share),
        )
