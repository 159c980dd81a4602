"""Questions about a day and nothing else: *what happened last Friday?*, *what did Ann say today?*

No page has the words of such a question. So that it was said on those days is counted as a word of
its own, which stands in every page of them: the rarer the days, the more it tells. Where a question
names anything besides, that finds better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import numpy as np

from pagefault.language.analyzer import terms_of
from pagefault.language.days import Days, of_year
from pagefault.language.known import DEFAULT, LANGUAGES
from pagefault.language.language import Script
from pagefault.language.sought import alternatives
from pagefault.model.times import DAY_MS
from pagefault.recall.question import Question
from pagefault.store.api import Candidates
from pagefault.store.likely import Numbers, distinct

PAGES_MAX: Final = 400  # of the days, the last of them: who wants all has `timeline`
YEARS: Final = 5  # of which "3 May" may be: this one and those before

_EPOCH: Final = date(1970, 1, 1)
_ANYTHING: Final = frozenset(
    term
    for one in LANGUAGES
    for read_as in {one, DEFAULT.get(one.script, one)}  # as it is asked for where nobody speaks it
    for word in one.anything
    for term in terms_of(word, read_as)
)
_OF_RUNS: Final = frozenset(
    char
    for one in LANGUAGES
    if one.script in (Script.HAN, Script.KANA)
    for word in one.anything
    for char in word
)


def asks_of_days_alone(asked: Question, named: Collection[str]) -> bool:
    """Whether a question tells days, perhaps the speakers `named`, and nothing else."""
    return bool(asked.days) and all(
        any(term in named or _is_anything(term) for term in alternatives(one))
        for one in asked.terms
    )


def _is_anything(term: str) -> bool:
    return term in _ANYTHING or term[0].isdigit() or _OF_RUNS.issuperset(term)


def spans_ms(days: Collection[Days], today: date | None) -> Iterator[tuple[int, int]]:
    """From when until before when these days are, in milliseconds since 1970. Those of any year are
    looked for in the last ones, if it is known which these are.
    """
    for one in days:
        if not one.of_any_year:
            yield _begin_ms(one.first), _begin_ms(one.last) + DAY_MS
        elif today is not None:
            for year in range(max(1, today.year - YEARS + 1), today.year + 1):
                first, last = of_year(one, year)
                yield _begin_ms(first), _begin_ms(last) + DAY_MS


def days_of(since_ms: int, until_ms: int) -> tuple[int, int]:
    """The first and the last day from then until before then, as `date.toordinal` counts them."""
    since, until = since_ms // DAY_MS, (until_ms - 1) // DAY_MS
    return _EPOCH.toordinal() + since, _EPOCH.toordinal() + until


def _begin_ms(day: date) -> int:
    return (day - _EPOCH) // timedelta(milliseconds=1)


def with_word(found: Candidates, at: Numbers) -> Candidates:
    """The same candidates and those `at` these places (ascending), which have one word more."""
    places = distinct(np.append(found.places, at))
    counts = np.zeros((len(places), found.counts.shape[1] + 1))
    counts[np.searchsorted(places, found.places), :-1] = found.counts
    counts[np.searchsorted(places, at), -1] = 1
    return replace(found, frequencies=(*found.frequencies, len(at)), places=places, counts=counts)
