"""What a question asks for, by form alone: its words, the days it names, what an answer tells."""

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
from pagefault.language.patterns import shows
from pagefault.language.sought import Sought, alternatives
from pagefault.store.said import TELLS_NAME, TELLS_NUMBER, TELLS_TIME

_WORD: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[,&]")
_CAPITAL: Final = re.compile(r"(?<=[^\W_][ ,])[A-ZÀ-Þ][^\W\d_]{2,}")
_JOINS: Final = frozenset("&,").union(*(one.joins for one in LANGUAGES))

OTHERS: Final = 0.25
"""What the word of those counts whom a question names besides its subject: *what did Bob hear from
Ann* may be told by her, too.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """`wants` are marks of `store/form.py`: a page that answers has one of them, most likely."""

    terms: tuple[Sought, ...]
    days: tuple[Days, ...] = ()
    wants: int = 0
    tells: bool = True  # it has a word that is no stop word


def read(query: str, *, today: date | None = None, languages: Collection[str] = ()) -> Question:
    """Without `today`, no relative time ("last week") is understood. `languages` are those of the
    scope in which it is asked (`store/languages.py`).
    """
    wants = 0
    if shows(Cue.WHEN, query, at_start=True):
        wants |= TELLS_TIME
    if shows(Cue.HOW_MANY, query):
        wants |= TELLS_NUMBER
    if shows(Cue.WHO_OR_WHERE, query, at_start=True):
        wants |= TELLS_NAME
    months = _months(query, languages)
    terms = [_dated(term, months) for term in query_words(query, languages)]
    terms += [term for one in days_in_digits(query) for term in _terms_of(one)]
    return Question(
        tuple(dict.fromkeys(terms)), days_named(query, today=today), wants, is_telling(query)
    )


def _months(query: str, languages: Collection[str]) -> dict[Sought, str]:
    """The words of a query that name a month, and the term under which its pages are found."""
    found: dict[Sought, str] = {}
    for name, number in months_named(query):
        words = query_words(name, languages)
        if len(words) == 1 and 1 <= number <= 12:
            found[words[0]] = month_term(number)
    return found


def _dated(term: Sought, months: Mapping[Sought, str]) -> Sought:
    """A word, or if it names a month, that or what the pages of that month have."""
    if term not in months:
        return term
    any_of = tuple(dict.fromkeys((*alternatives(term), months[term])))
    return any_of if len(any_of) > 1 else any_of[0]


def _terms_of(days: Days) -> list[str]:
    """By which terms the pages of these days are found: a page's date is told by names, and
    `2026-10-08` is none of them. Of a whole month, those of its first day that are the last's, too.
    """
    last = date_terms(days.last)
    return [term for term in date_terms(days.first) if term in last]


def speakers_named(query: str, speakers: frozenset[str]) -> dict[str, str]:
    """Which term of a query means which term of a speaker's name: itself, or one that it is short
    for, as *Mel* is for Melanie. Short for somebody is a word with a capital inside a sentence, if
    it begins the name of one speaker only.
    """
    named = {term: term for term in speakers.intersection(analyze(query))}
    for word in _CAPITAL.findall(query):
        terms = analyze(word)
        long = [name for name in speakers if name.startswith(word.casefold())]
        if len(terms) == 1 and len(long) == 1:
            named.setdefault(terms[0], long[0])
    return named


def subject(query: str, named: Mapping[str, str]) -> dict[str, float]:
    """How much the word of each speaker whom a query names is asked for: all of that of whom it
    names first, mostly the subject, and less of the others'. *What did Ann tell Bob* asks for hers,
    *what do Ann and Bob like* for theirs.
    """
    first = named.keys() if shows(Cue.JOINTLY, query) else _first_named(query, named)
    return {name: 1.0 if term in first else OTHERS for term, name in named.items()}


def _first_named(query: str, named: Mapping[str, str]) -> Set[str]:
    """Who is named first, and whoever is joined to them by *and* or *or*; all, if nobody is."""
    first: set[str] = set()
    for word in _WORD.findall(query):
        terms = named.keys() & analyze(word)
        if first and not terms and word.casefold() not in _JOINS:
            break
        first |= terms
    return first or named.keys()
