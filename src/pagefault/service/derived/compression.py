"""Compressing pages of the window: what an epoch keeps of a page may be a shorter form of it.

Nothing changes before the next epoch, since the prefix that was sent stays. Three things ask for
it: a verb, the age of a page, and pressure on the window. What a model then faults at level 0
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
"""What pages are compressed to by themselves: all that they say, without what says nothing."""

WORTH: Final = 0.8
"""A shorter form is worth having where it has at most this share of the tokens."""

AT_ONCE_MAX: Final = 8
"""Pages that are looked at after a request, whatever comes of it: each takes up to a millisecond or
two, for which the next verb waits.
"""


def compress(
    state: SessionState,
    levels: Levels,
    page: Page,
    level: Level,
    written: tuple[Made, int] | None = None,
) -> Page:
    """What stands for a page at `level` from the next epoch on; the page itself, where that says
    the same. Where the shorter form was there already, a restart forgets that it was asked for.
    `written` is that form by somebody else's compressor; one that was made before stays.
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
    """The level on offer that answers for `level`: it, or the nearest fuller one."""
    return max(other for other in ladder if other <= level)


def due(state: SessionState, pressure: Pressure, *, now_ms: int) -> list[Page]:
    """What an epoch would keep out of its place and is old; under pressure, what is not. What was
    looked at before is not due, nor what stays whole anyway.
    """
    limits = state.limits
    is_pressed = pressure >= Pressure.HIGH
    found: list[Page] = []
    for page in state.out_of_place():  # at each request: of most, their age alone is asked
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
    """Compress the first `AT_ONCE_MAX` of these to level 1, where that is worth it."""
    for page in pages[:AT_ONCE_MAX]:
        ladder = levels.ladder(page)
        if SHORTER in ladder and ladder[SHORTER] <= WORTH * page.row.tokens:
            levels.keep(ladder, SHORTER, Actor.SYSTEM)
        else:
            state.compressed[page.page_id] = page.page_id  # little to leave out
