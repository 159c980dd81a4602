"""Ranges of a conversation: where one ends, and which were formed into memory. Pure.

A range is a run of turns of about so many tokens. Where it ends follows from the pages alone, in
their order, and it is closed only once the next range has begun: so its boundaries are settled with
the request that first shows that next turn, whoever asks for them and however often. They need no
markers, which would have to be put into text that was sent: the label of every message, which it
was sent with, is one.

Each range is formed once. `formation_begun` says that one was taken up and `formation_ended`, in
one batch with what was made of it, that it is done with; one that was only begun, as whoever was at
it was killed, is taken up again, with the same boundaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault.model.events import FormationBegun, FormationEnded
from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import PAGE_PREFIX, FormationOutcome, Kind, Role
from pagefault.model.page import Page

_SUMMARY = PAGE_PREFIX["summary"] + "_"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormedRange:
    """A range that was taken up; `outcome` is None while nobody is done with it."""

    first: PageId
    last: PageId
    order_from: int
    order_to: int
    tries: int = 0
    outcome: FormationOutcome | None = None
    made: tuple[PageId, ...] = ()
    turn: TurnNo = TurnNo(0)  # in which it was done

    @property
    def summary(self) -> PageId:
        """The page that sums it up, or "": none was made."""
        return next((one for one in self.made if one.startswith(_SUMMARY)), PageId(""))

    def holds(self, page: Page) -> bool:
        return self.order_from <= page.row.order <= self.order_to


class Ranges:
    """The ranges that one session sees, in their order: a fold of their records.

    Invariant: no two of them have a page in common.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, FormedRange] = {}

    def __iter__(self) -> Iterator[FormedRange]:
        return iter(self._ranges.values())

    @property
    def upto(self) -> int:
        """The order of the last page that was taken up; -1 where none was."""
        return max((one.order_to for one in self), default=-1)

    @property
    def begun(self) -> FormedRange | None:
        """The range that was taken up, and not finished yet."""
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
        """Those that an epoch in this turn may show the summaries of, in their order."""
        return [
            one
            for one in sorted(self, key=lambda one: one.order_from)
            if one.summary and one.turn + after_turns <= turn
        ]


def closed(pages: Iterable[Page], tokens_max: int) -> list[list[Page]]:
    """The ranges that these pages make, which follow on what was taken up before, less the last:
    that one may still grow.
    """
    return list(runs(pages, tokens_max))[:-1]


def runs(pages: Iterable[Page], tokens_max: int) -> Iterator[list[Page]]:
    """Pages in runs of about so many tokens, parted where a turn begins; what came in at once and
    is more than twice as much, within it.
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
    """What leaves the window, in its order, parted by who sums it up: a range that was formed, or
    nobody yet.
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
