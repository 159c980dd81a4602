"""Ranges of a conversation: their boundaries, and which were formed into memory. Pure.

A range is a run of turns of about so many tokens. Its boundaries depend on the pages and their
order alone, and it is closed only once the next range has begun. So they are final with the request
that first shows that next turn, however often they are computed. They need no markers, which would
change text that was sent: the label of every message is one.

Each range is formed once. `formation_begun` marks the start, and `formation_ended`, in one batch
with its pages, the end. A range that was only begun, because the process was killed, is formed
again, with the same boundaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault.model.events import FormationBegun, FormationEnded
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import PAGE_PREFIX, FormationOutcome, Kind, Role
from pagefault.model.page import Page

_SUMMARY = PAGE_PREFIX["summary"] + "_"
WINDOW_RANGES = 4
"""Ranges that fit a window, at least: turns of one that never closes leave before it is formed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormedRange:
    """A range whose forming has begun; `outcome` is None until it ends."""

    first: PageId
    last: PageId
    order_from: int
    order_to: int
    tries: int = 0
    outcome: FormationOutcome | None = None
    made: tuple[PageId, ...] = ()
    turn: TurnNo = TurnNo(0)  # in which it ended

    @property
    def summary(self) -> PageId:
        """Its summary's page, or "": none was made."""
        return next((one for one in self.made if one.startswith(_SUMMARY)), PageId(""))

    def holds(self, page: Page) -> bool:
        return self.order_from <= page.row.order <= self.order_to


class Ranges:
    """The ranges that one session sees, in order: a fold of their records.

    Invariant: no two of them share a page.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, FormedRange] = {}

    def __iter__(self) -> Iterator[FormedRange]:
        return iter(self._ranges.values())

    @property
    def upto(self) -> int:
        """The order of the last page of these ranges; -1 if there is none."""
        return max((one.order_to for one in self), default=-1)

    @property
    def begun(self) -> FormedRange | None:
        """The range that was begun and not ended."""
        return next((one for one in self if one.outcome is None), None)

    def fold(self, body: FormationBegun | FormationEnded, turn: TurnNo) -> None:
        at = body.order_from
        known = self._ranges.get(at) or FormedRange(
            first=body.first, last=body.last, order_from=at, order_to=body.order_to
        )
        match body:
            case FormationBegun(tries=tries):
                self._ranges[at] = replace(known, tries=tries)
            case FormationEnded(outcome=outcome, made=made):
                self._ranges[at] = replace(known, outcome=outcome, made=made, turn=turn)

    def active(self, turn: int, *, after_turns: int) -> list[FormedRange]:
        """Those whose summaries an epoch in this turn may show, in order."""
        return [
            one
            for one in sorted(self, key=lambda one: one.order_from)
            if one.summary and one.turn + after_turns <= turn
        ]


def size_within(window_tokens: int, tokens_max: int) -> int:
    """The size of ranges under a window; of 0 tokens, there is none."""
    return min(tokens_max, window_tokens // WINDOW_RANGES or tokens_max)


def closed(pages: Iterable[Page], tokens_max: int) -> list[list[Page]]:
    """The ranges of these pages, after those already begun, without the last: it may still grow."""
    return list(runs(pages, tokens_max))[:-1]


def runs(pages: Iterable[Page], tokens_max: int) -> Iterator[list[Page]]:
    """Pages in runs of about so many tokens, split at the start of a turn, or within a single
    addition of more than twice that size.
    """
    run: list[Page] = []
    tokens = 0
    for page in pages:
        begins = page.row.role is Role.USER and page.row.kind is Kind.TRANSCRIPT
        if run and tokens + page.row.tokens > tokens_max and (begins or tokens > 2 * tokens_max):
            yield run
            run, tokens = [], 0
        run.append(page)
        tokens += page.row.tokens
    if run:
        yield run


def summed_up(
    leaving: Sequence[Page], active: Sequence[FormedRange]
) -> Iterator[tuple[FormedRange | None, list[Page]]]:
    """Pages that leave the window, in order, split by their summariser: a formed range, or none
    yet.
    """
    part: list[Page] = []
    of: FormedRange | None = None
    for page in leaving:
        its = next((one for one in active if one.holds(page)), None)
        if part and its != of:
            yield of, part
            part = []
        of = its
        part.append(page)
    if part:
        yield of, part
