"""Analysis of a question by form alone: its terms, its days, and the marks of an answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from datetime import date
from typing import Final

from pagefault.language.analyzer import analyze, date_terms, is_telling, month_term, query_words
from pagefault.language.days import Days, days_in_digits, days_named, months_named
from pagefault.language.known import LANGUAGES
from pagefault.language.language import Cue
from pagefault.language.patterns import Where, shows
from pagefault.language.sought import Sought, alternatives
from pagefault.store.said import TELLS_NAME, TELLS_NUMBER, TELLS_TIME

_WORD: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[,&]")
_CAPITAL: Final = re.compile(r"(?<=[^\W_][ ,])[A-ZÀ-Þ][^\W\d_]{2,}")
_JOINS: Final = frozenset("&,").union(*(one.joins for one in LANGUAGES))

OTHERS: Final = 0.25
"""Weight of speakers that a question names besides its subject: *what did Bob hear from Ann* may be
answered by her, too.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question. `wants` are marks (`store/form.py`); an answer probably has one."""

    terms: tuple[Sought, ...]
    days: tuple[Days, ...] = ()
    wants: int = 0
    tells: bool = True  # it has a word that is not a stop word


def read(query: str, *, today: date | None = None, languages: Collection[str] = ()) -> Question:
    """Parse a question. Relative times ("last week") need `today`. `languages` are those of the
    scope that is searched (`store/languages.py`).
    """
    wants = 0
    if shows(Cue.WHEN, query, where=Where.START):
        wants |= TELLS_TIME
    if shows(Cue.HOW_MANY, query):
        wants |= TELLS_NUMBER
    if shows(Cue.WHO_OR_WHERE, query, where=Where.START):
        wants |= TELLS_NAME
    months = _months(query, languages)
    terms = [_dated(term, months) for term in query_words(query, languages)]
    terms += [term for one in days_in_digits(query) for term in _terms_of(one)]
    return Question(
        tuple(dict.fromkeys(terms)), days_named(query, today=today), wants, is_telling(query)
    )


def _months(query: str, languages: Collection[str]) -> dict[Sought, str]:
    """The words of a query that name a month, each with the term that finds that month's pages."""
    found: dict[Sought, str] = {}
    for name, number in months_named(query):
        words = query_words(name, languages)
        if len(words) == 1 and 1 <= number <= 12:
            found[words[0]] = month_term(number)
    return found


def _dated(term: Sought, months: Mapping[Sought, str]) -> Sought:
    """The word itself; for a month, alternatively the term that finds its pages."""
    if term not in months:
        return term
    any_of = tuple(dict.fromkeys((*alternatives(term), months[term])))
    return any_of if len(any_of) > 1 else any_of[0]


def _terms_of(days: Days) -> list[str]:
    """The terms that find pages of these days: pages are indexed by their date's names, which
    `2026-10-08` lacks. For a whole month, the terms that its first and last day share.
    """
    last = date_terms(days.last)
    return [term for term in date_terms(days.first) if term in last]


def speakers_named(query: str, speakers: frozenset[str]) -> dict[str, str]:
    """Maps terms of the query to terms of speakers' names. A term stands for itself, or for a
    longer name, as *Mel* for Melanie. A short form is a word capitalised inside a sentence that
    begins the name of exactly one speaker.
    """
    named = {term: term for term in speakers.intersection(analyze(query))}
    for word in _CAPITAL.findall(query):
        terms = analyze(word)
        long = [name for name in speakers if name.startswith(word.casefold())]
        if len(terms) == 1 and len(long) == 1:
            named.setdefault(terms[0], long[0])
    return named


def subject(query: str, named: Mapping[str, str]) -> dict[str, float]:
    """The weight of each speaker that a query names: full for the first, mostly the subject, and
    less for the others. *What did Ann tell Bob* asks for Ann's words, *what do Ann and Bob like*
    for both's.
    """
    first = named.keys() if shows(Cue.JOINTLY, query) else _first_named(query, named)
    return {name: 1.0 if term in first else OTHERS for term, name in named.items()}


def _first_named(query: str, named: Mapping[str, str]) -> Set[str]:
    """The first speaker named, with those joined to them by *and* or *or*; all if none is found."""
    first: set[str] = set()
    for word in _WORD.findall(query):
        terms = named.keys() & analyze(word)
        if first and not terms and word.casefold() not in _JOINS:
            break
        first |= terms
    return first or named.keys()
