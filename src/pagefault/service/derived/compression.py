"""Compression of pages in the window: an epoch may keep a shorter form of a page.

Nothing changes before the next epoch, because the prefix that was sent stays. It has three causes:
a verb, the age of a page, and pressure on the window. A page that a model then faults at level 0
stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pagefault.model.defaults import COMPRESSION_LEVEL
from pagefault.model.kinds import Actor, Level
from pagefault.model.page import Page
from pagefault.paging.pressure import Pressure
from pagefault.service.derived.levels import Ladder, Levels
from pagefault.service.window.derived_drafts import Made
from pagefault.service.window.state import SessionState

SHORTER: Final = Level(COMPRESSION_LEVEL)
"""The level of automatic compression: all content, without the filler."""

WORTH: Final = 0.8
"""A shorter form is worth having if it has at most this share of the tokens."""

AT_ONCE_MAX: Final = 8
"""Pages examined after a request: each takes up to a millisecond or two, for which the next verb
waits.
"""


def compress(
    state: SessionState,
    levels: Levels,
    page: Page,
    level: Level,
    written: tuple[Made, int] | None = None,
) -> Page:
    """The page that represents a page at `level` from the next epoch on; the page itself, if that
    says the same. If the shorter form existed already, a restart forgets the request for it.
    `written` is the form by a caller's compressor; an earlier form stays.
    """
    ladder = levels.ladder(page, {level: written} if written else None)
    served = ladder.fullest(nearest(ladder, level))
    if served is Level.FULL:
        return page
    made = levels.keep(ladder, served, Actor.USER)
    state.compressed[page.page_id] = made.page_id
    state.shorter.add(page.page_id)
    return made


def nearest(ladder: Ladder, level: Level) -> Level:
    """The offered level that serves for `level`: it, or the nearest fuller one."""
    return max(other for other in ladder if other <= level)


def due(state: SessionState, pressure: Pressure, *, now_ms: int) -> list[Page]:
    """Old pages that an epoch would keep outside their place; under pressure, new ones too. Pages
    that were examined before or stay whole anyway are left out.
    """
    limits = state.limits
    is_pressed = pressure >= Pressure.HIGH
    found: list[Page] = []
    for page in state.out_of_place():  # at each request: for most, only their age is needed
        is_due = (
            is_pressed
            or state.age_tokens(page.page_id) >= limits.compress_after_tokens
            or 0 < limits.compress_after_s <= (now_ms - page.row.at_ms) / 1000
        )
        if not is_due or page.page_id in state.compressed:
            continue
        if state.stays_as(page.page_id) == page.page_id:
            found.append(page)
    return found


def compress_due(state: SessionState, levels: Levels, pages: Sequence[Page]) -> None:
    """Compress the first `AT_ONCE_MAX` of these to level 1, if that is worth it."""
    for page in pages[:AT_ONCE_MAX]:
        ladder = levels.ladder(page)
        if SHORTER in ladder and ladder[SHORTER] <= WORTH * page.row.tokens:
            levels.keep(ladder, SHORTER, Actor.SYSTEM)
        else:
            state.compressed[page.page_id] = page.page_id  # too little to leave out
