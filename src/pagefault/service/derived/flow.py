"""How marks spread through a conversation: a fold of its records, pure.

A page has a mark of its own, and the marks of its sources: a summary has those of its run, a claim
those of its evidence, a shorter form that of its page. A model's text has the marks of its whole
window, which is what the last request showed: what was said since the last epoch and what that
epoch left, what was recalled, faulted, listed and hinted at since. A call that it made has them
too, and so has the result. A user's message does not: that a person read a page is no reason.

What a model formed from a range of turns has the marks of its window at that time.

So an answer is marked by what an earlier answer saw, as long as that one is in the window. In a
proxied conversation the client decides what a request shows, so everything said there before
counts. Both err on the side of a mark.

A forgotten page was in the window all the same: its record still has the channel, so a forget
improves no label. Not covered: words that a person copied or typed after reading a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from pagefault.model.events import (
    Called,
    Claimed,
    CoreWritten,
    DerivedBody,
    EpochBegun,
    Erased,
    Event,
    Faulted,
    FormationBegun,
    FormationEnded,
    MemoryCalled,
    Noted,
    Packed,
    PageBody,
    Relayed,
    Represented,
    Returned,
    Said,
    Searched,
    Shared,
)
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import DERIVED_TYPES, IMPORT, Actor, EventType, Role

M = TypeVar("M")

_SAID: Final = frozenset(map(str, EventType)) - frozenset(map(str, DERIVED_TYPES))
"""Record types whose text enters a window by itself: if it was forgotten, it had been there."""


class Flow(Generic[M]):
    """The marks of the pages of one session and its ancestors, folded in log order."""

    def __init__(
        self,
        rule: Callable[[Event, PageBody | None, M | None], M | None],
        join: Callable[[Iterable[M]], M],
    ) -> None:
        """`rule` returns a page's mark, given the mark of its sources, and `join` combines several.
        The rule is also applied to forgotten pages, which have no body any more.
        """
        self._rule = rule
        self._join = join
        self.marks: dict[PageId, M] = {}  # of the pages that have one
        self.seqs: dict[PageId, Seq] = {}  # their records
        self._said: dict[PageId, Seq] = {}  # those of them that the window shows in place
        self._imported: dict[PageId, Seq] = {}  # that were in another program's window
        self._brought: set[PageId] = set()  # out of place, until the next epoch
        self._read: M | None = None  # of the window, when a range's forming began
        self._formed: dict[PageId, tuple[Event, PageBody]] = {}  # made since
        self._called: dict[str, M] = {}  # by calls in a marked answer

    @property
    def before_the_model(self) -> M | None:
        """The mark of the current window."""
        return self._joined({*self._said, *self._brought})

    def fold(self, event: Event) -> None:
        match event.body:
            case DerivedBody() as body:
                self._mark(event, body, self._joined(_sources(body)))
                if self._read is not None:
                    self._formed[body.page_id] = event, body
            case FormationBegun(reads_window=reads_window):
                self._formed = {}
                self._read = self.before_the_model if reads_window else None
            case FormationEnded(made=made):
                self._mark_formed(made)
            case Shared() | Noted() | CoreWritten() as body:  # no window shows it by itself
                self._mark(event, body, None)
                if isinstance(body, CoreWritten) and self._read is not None:
                    self._formed[body.page_id] = event, body
            case PageBody() as body:
                self._mark(event, body, self._written_under(event, body))
                if body.page_id in self.marks:
                    place = self._imported if event.origin == IMPORT else self._said
                    place[body.page_id] = event.seq
            case Erased(type=type_) if type_ in _SAID:
                by_model = event.actor is Actor.MODEL
                mark = self._rule(event, None, self.before_the_model if by_model else None)
                if mark is not None:
                    gone = PageId(f"#{event.seq}")  # no page has such an id
                    self.marks[gone], self._said[gone] = mark, event.seq
            case Packed(recalled=recalled, listed=listed):
                self._bring([*(one.page_id for one in recalled), *listed])
            case Relayed(recalled=page_ids):
                self._bring(page_ids)
            case Faulted(page_id=page_id, shows=shows):
                self._bring([page_id, shows])
            case Searched(hits=hits) | MemoryCalled(hits=hits):
                self._bring(hit.page_id for hit in hits)
            case EpochBegun() as epoch:
                since = epoch.verbatim_from
                self._said = {one: seq for one, seq in self._said.items() if seq >= since}
                shown = (one.page_id for one in (*epoch.summaries, *epoch.kept))
                self._brought = set()
                self._bring([*epoch.core, *shown])

    def _mark_formed(self, made: Iterable[PageId]) -> None:
        """What a model formed has all marks of its window."""
        for page_id in made:
            if self._read is not None and page_id in self._formed:
                event, body = self._formed[page_id]
                own = [self.marks[page_id]] if page_id in self.marks else []
                self._mark(event, body, self._join([*own, self._read]))

    def _written_under(self, event: Event, body: PageBody) -> M | None:
        """The mark that a page inherits from its cause."""
        if event.origin == IMPORT and body.role is Role.ASSISTANT:
            return self._joined(self._imported)
        if body.role is Role.ASSISTANT:
            mark = self.before_the_model
            if mark is not None and isinstance(body, Called):
                self._called[body.call_id] = mark
            return mark
        if body.role is Role.TOOL and isinstance(body, Returned | Said):
            return self._called.get(body.call_id)
        return None

    def _mark(self, event: Event, body: PageBody, inherited: M | None) -> None:
        mark = self._rule(event, body, inherited)
        if mark is not None:
            self.marks[body.page_id] = mark
            self.seqs[body.page_id] = event.seq

    def _joined(self, page_ids: Iterable[PageId]) -> M | None:
        marks = [self.marks[page_id] for page_id in page_ids if page_id in self.marks]
        return self._join(marks) if marks else None

    def _bring(self, page_ids: Iterable[PageId]) -> None:
        self._brought.update(page_id for page_id in page_ids if page_id in self.marks)


def _sources(body: DerivedBody) -> set[PageId]:
    """The sources of a derived page."""
    named = [*body.provenance, *(span.page_id for span in body.evidence)]
    if isinstance(body, Represented):
        named.append(body.represents)
    if isinstance(body, Claimed):
        named.append(body.restates)
    return set(named)
