"""The summaries in front of the turns: which are made at an epoch, and how each is shown.

A run of turns is summarised once, when it leaves its place. A summary is shown with its text (level
2) as long as all of them together take no more than their share of the window; then the oldest are
shown as their headers alone (level 3), and the oldest of those as lines of an index page, which
precedes the others. If a window is too small even for that, they are a number.

A range that was formed into memory while it was in the window (`ranges.py`) has its summary
already: it is shown from the epoch on at which the first of its pages leaves, if enough turns have
passed. The others may be beside it, word for word, until they leave, too.

If a summary that is shown has words of a claim that was closed since (`closed_words.py`), the next
epoch corrects it: one that quotes is written again without them, and shown in the old one's place;
one that was formed is shown with notes.

`Compaction` changes two things of this. A *hybrid* front also has the quotes of such a range,
before its summary; in a *hierarchical* one every summary is a header, whose text a fault brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import Draft, PageBody, PagedIn, expected
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import Compaction, Level
from pagefault.model.page import Page
from pagefault.pack.render import LABEL_TOKENS
from pagefault.service.window.content import page_of
from pagefault.service.window.derived_drafts import Made, write_derived
from pagefault.service.window.ranges import runs as runs_of
from pagefault.service.window.ranges import summed_up
from pagefault.service.window.state import SessionState
from pagefault.service.window.summary_index import index_of, is_index

Shown = tuple[Page, Level]

QUOTED_MAX: Final = 8
"""Runs that one epoch quotes, each some tens of milliseconds. More than these leave at once only if
much came in without a request.
"""


INDEX_SHARE: Final = 0.25  # of what summaries may take together


@dataclass(frozen=True, slots=True)
class Summaries:
    """The summaries of the front, oldest first; and those that are to be written."""

    shown: list[Shown]
    older: int
    drafts: list[Draft]

    @property
    def paged_in(self) -> tuple[PagedIn, ...]:
        return tuple(PagedIn(page_id=page.page_id, level=int(level)) for page, level in self.shown)

    @property
    def told(self) -> set[PageId]:
        """Those whose text is shown."""
        return {page.page_id for page, level in self.shown if level is not Level.REFERENCE}

    def untold(self) -> Summaries:
        """The same without any: for a window that is short."""
        return replace(self, shown=[], older=0)


def plan_summaries(
    state: SessionState, session: SessionNo, leaving: Sequence[Page], *, quotes: bool
) -> Summaries:
    """The summaries after an epoch at which these pages leave their places.

    The latest runs are quoted if `quotes` says so; all before them together get one header.
    """
    limits = state.limits
    active = state.ranges.active(state.turn, after_turns=limits.formed_after_turns)
    formed: dict[PageId, Page] = {}  # by the first leaving page of those that each covers
    runs: list[list[Page]] = []
    for of, part in summed_up(leaving, active):
        page = None if of is None else _readable(state, of.summary)
        if page is not None:
            formed[part[0].page_id] = page
        if page is None or state.compaction is Compaction.HYBRID:
            runs += list(runs_of(part, limits.summarised_tokens_max))
    quoted = runs[-QUOTED_MAX:] if quotes else []
    rest = [page for run in runs[: len(runs) - len(quoted)] for page in run]
    made = [state.summary_maker.summarise(rest, quotes=False)] if rest else []
    made += [state.summary_maker.summarise(run, quotes=True) for run in quoted]
    items = [one for one in made if one is not None]
    index = next((page for page, _ in state.summaries if is_index(page)), None)
    shown = [
        (state.summary_maker.with_notes(page), level)
        for page, level in state.summaries
        if page is not index
    ]
    told = [page for page, level in shown if level is not Level.REFERENCE]
    again = {
        page.page_id: one
        for page in told
        if (one := state.summary_maker.made_again(page)) is not None
    }
    items += again.values()
    drafts = _drafts(items, state, session)
    (*by_rules,) = _pages(drafts)
    instead = {page_id: by_rules.pop() for page_id in reversed(again)}
    shown = [
        _as_told(instead[page.page_id], state) if page.page_id in instead else (page, level)
        for page, level in shown
    ]
    leading = {page.derived.provenance[0]: page for page in by_rules if page.derived}
    there = {page.page_id for page, _ in shown}
    in_order = [
        found[page.page_id]
        for page in leaving
        for found in (leading, formed)
        if page.page_id in found
    ]
    shown += [_as_told(page, state) for page in in_order if page.page_id not in there]
    most = int(state.window_tokens * state.limits.summary_window_share)
    for_index = int(most * INDEX_SHARE)
    room = most - (for_index if index else 0)
    if _tokens(state, shown) > room:  # to half of it, so that this is rarely needed
        shown = _demoted(state, shown, room // 2)
    folded: list[Page] = []
    if _tokens(state, shown) > room:  # and further than necessary, for the same reason
        room = (most - for_index) * 3 // 4
        while shown and _tokens(state, shown) > room:
            folded.append(shown.pop(0)[0])
    older = state.summaries_older
    if folded:
        one = index_of(
            index,
            folded,
            find_row=state.find_row,
            count=state.counter.count,
            tokens_max=for_index - LABEL_TOKENS,
        )
        if one is None:
            older += len(folded)
        else:
            drafts = _drafts([*items, one], state, session)
            index = _pages(drafts)[-1]
    front = [(index, Level.FULL)] if index else []
    return Summaries([*front, *shown], older, drafts)


def _readable(state: SessionState, page_id: PageId) -> Page | None:
    """A formed summary, unless it was forgotten or withdrawn since."""
    row = state.find_row(page_id)
    if row is None or state.is_withdrawn(row):
        return None
    with suppress(RecordGone, ArchiveMissing):
        return state.summary_maker.with_notes(state.read_page(page_id))
    return None


def _drafts(items: Sequence[Made], state: SessionState, session: SessionNo) -> list[Draft]:
    return write_derived(
        items,
        session=session,
        state=state,
        clean=str,  # it quotes redacted text
    )


def _pages(drafts: Sequence[Draft]) -> list[Page]:
    events = map(expected, drafts)
    return [page_of(event, event.body) for event in events if isinstance(event.body, PageBody)]


def _as_told(page: Page, state: SessionState) -> Shown:
    told = page.text and state.compaction is not Compaction.HIERARCHICAL
    return page, Level.ABSTRACT if told else Level.REFERENCE


def _demoted(state: SessionState, shown: Sequence[Shown], most: int) -> list[Shown]:
    """The oldest as headers, until the texts shown take at most so much."""
    room, told = most, True
    kept: list[Shown] = []
    for page, level in reversed(shown):
        room -= state.summary_maker.tokens(page, level)
        told = told and room >= 0
        kept.append((page, level if told else Level.REFERENCE))
    return kept[::-1]


def _tokens(state: SessionState, shown: Sequence[Shown]) -> int:
    return sum(state.summary_maker.tokens(page, level) for page, level in shown)
