"""Questions about days: *what happened last Friday?*, *what did we play on the 16th?*

No page contains the words of a question about days and nothing else. So "said on those days" is
treated as a term of its own, present in every page of those days and weighted by rarity like any
other. If the question mentions anything else, ordinary search does better (on five LoCoMo
conversations the term costs 0.4 percentage points of the evidence among ten hits), unless nothing
that it finds is of those days: then people used other words that day, and the term is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
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
from pagefault.store.api import Candidates, Traits
from pagefault.store.likely import Numbers, distinct

PAGES_MAX: Final = 400  # the latest pages of those days; `timeline` returns all of them
WEEK: Final = 7  # days: a page that mentions as many, or a weekend, is about each of them
YEARS: Final = 5  # years to try for "3 May": this one and those before

_EPOCH: Final = date(1970, 1, 1)
_ANYTHING: Final = frozenset(
    term
    for one in LANGUAGES
    for read_as in {one, DEFAULT.get(one.script, one)}  # how it is queried if not spoken in scope
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
    """Whether a question names days, perhaps speakers from `named`, and nothing else."""
    return bool(asked.days) and all(
        any(term in named or _is_anything(term) for term in alternatives(one))
        for one in asked.terms
    )


def _is_anything(term: str) -> bool:
    return term in _ANYTHING or term[0].isdigit() or _OF_RUNS.issuperset(term)


def spans_ms(days: Collection[Days], today: date | None) -> Iterator[tuple[int, int]]:
    """The half-open intervals of these days, in milliseconds since 1970. Days of any year are tried
    in the last `YEARS` years if `today` is known, else left out.
    """
    for one in days:
        if not one.of_any_year:
            yield _begin_ms(one.first), _begin_ms(one.last) + DAY_MS
        elif today is not None:
            for year in range(max(1, today.year - YEARS + 1), today.year + 1):
                first, last = of_year(one, year)
                yield _begin_ms(first), _begin_ms(last) + DAY_MS


def any_within(pages: Traits, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a page was said in one of these intervals of milliseconds, or mentions its days."""
    for first, last in (days_of(*span) for span in spans):
        is_said = (first <= pages.days) & (pages.days <= last)
        is_mentioned = (first <= pages.told_last) & (pages.told_first <= last)
        if np.any(is_said | is_mentioned):
            return True
    return False


def days_of(since_ms: int, until_ms: int) -> tuple[int, int]:
    """The first and last day of the interval from `since_ms` up to `until_ms`, as ordinals."""
    since, until = since_ms // DAY_MS, (until_ms - 1) // DAY_MS
    return _EPOCH.toordinal() + since, _EPOCH.toordinal() + until


def mention_all(traits: Traits, first: int, last: int) -> Numbers:
    """The places of pages that mention, within one week, all of these days, as ordinals."""
    begins, ends = traits.told_first, traits.told_last
    return traits.places[(begins <= first) & (last <= ends) & (ends - begins < WEEK)]


def _begin_ms(day: date) -> int:
    return (day - _EPOCH) // timedelta(milliseconds=1)


def with_word(found: Candidates, at: Numbers) -> Candidates:
    """The candidates plus the places `at` (ascending), which get one extra term."""
    places = distinct(np.append(found.places, at))
    counts = np.zeros((len(places), found.counts.shape[1] + 1))
    counts[np.searchsorted(places, found.places), :-1] = found.counts
    counts[np.searchsorted(places, at), -1] = 1
    return replace(found, frequencies=(*found.frequencies, len(at)), places=places, counts=counts)
