"""Temporal nearness: how near to the days a question names a page was said, or places an event.

People report what happened on the same day or in those that follow, and now and then announce it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pagefault.language.days import Days, of_year

LASTING_DAYS: Final = 7.0  # decay: a week after the day, a page is 1/e as near
BEFORE: Final = 3.0  # factor by which nearness falls faster before the day
YEARS_MAX: Final = 200  # years in which a date without a year is tried


def nearness(
    named: Sequence[Days], days: NDArray[np.int64], until: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Nearness, 0..1, of each of `days` (ordinals), or of each period from there `until` another
    day: 1 within the days named, decaying around them; for a period, scaled by the share of days
    named.
    """
    near = np.zeros(len(days))
    if not len(days):
        return near
    ends = days if until is None else until
    for one in named:
        for first, last in _spans(one, int(days.min()), int(ends.max())):
            away = np.maximum(np.maximum(BEFORE * (first - ends), days - last), 0)
            meant = np.minimum((last - first + 1) / (ends - days + 1), 1.0)
            near = np.maximum(near, meant * np.exp(-away / LASTING_DAYS))
    return near


def _spans(one: Days, earliest: int, latest: int) -> Iterator[tuple[int, int]]:
    if not one.of_any_year:
        yield one.first.toordinal(), one.last.toordinal()
        return
    since, until = _year(earliest) - 1, _year(latest)
    # The last weekend before New Year's Day is in the year before.
    for year in range(max(since, until - YEARS_MAX, 1), min(until + 1, date.max.year - 1) + 1):
        first, last = of_year(one, year)
        yield first.toordinal(), last.toordinal()


def _year(ordinal: int) -> int:
    return date.fromordinal(min(max(ordinal, 1), date.max.toordinal())).year
