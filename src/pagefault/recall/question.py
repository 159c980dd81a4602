"""What a question asks for, by form alone: its words, the days it names, what an answer tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from pagefault.recall.when import Days, days_in_digits, days_named
from pagefault.store.analyzer import analyze, date_terms, query_terms
from pagefault.store.form import TELLS_NAME, TELLS_NUMBER, TELLS_TIME

_WHEN: Final = re.compile(
    r"^\W*(?:when|how long|how recently|(?:(?:in|on|since|by|until) )?(?:what|which) "
    r"(?:year|month|week|day|date|time))\b",
    re.IGNORECASE,
)
_HOW_MANY: Final = re.compile(r"\bhow (?:many|much|often|old|long|far|big|tall)\b", re.IGNORECASE)
_WHO_OR_WHERE: Final = re.compile(r"^\W*(?:where|who|whom|whose|which)\b", re.IGNORECASE)
_JOINTLY: Final = re.compile(r"\b(?:both|together|each other|in common)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[,&]")
_JOINS: Final = frozenset({"and", "or", "nor", "&", ","})

OTHERS: Final = 0.25
"""What the word of those counts whom a question names besides its subject: *what did Bob hear from
Ann* may be told by her, too.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """`wants` are marks of `store/form.py`: a page that answers has one of them, most likely."""

    terms: tuple[str, ...]
    days: tuple[Days, ...] = ()
    wants: int = 0


def read(query: str, *, today: date | None = None) -> Question:
    """Without `today`, no relative time ("last week") is understood."""
    wants = 0
    if _WHEN.search(query):
        wants |= TELLS_TIME
    if _HOW_MANY.search(query):
        wants |= TELLS_NUMBER
    if _WHO_OR_WHERE.search(query):
        wants |= TELLS_NAME
    terms = query_terms(query) + [term for one in days_in_digits(query) for term in _terms_of(one)]
    return Question(tuple(dict.fromkeys(terms)), days_named(query, today=today), wants)


def _terms_of(days: Days) -> list[str]:
    """By which terms the pages of these days are found: a page's date is told by names, and
    `2026-10-08` is none of them. Of a whole month, those of its first day that are the last's, too.
    """
    last = date_terms(days.last)
    return [term for term in date_terms(days.first) if term in last]


def subject(query: str, speakers: frozenset[str]) -> dict[str, float]:
    """The terms that name speakers, and how much each one's word is asked for: all of that of whom
    is named first, mostly the subject, and less of the others'. *What did Ann tell Bob* asks for
    hers, *what do Ann and Bob like* for theirs.
    """
    first: frozenset[str] = frozenset()
    for word in _WORD.findall(query) if not _JOINTLY.search(query) else ():
        terms = speakers.intersection(analyze(word))
        if first and not terms and word.casefold() not in _JOINS:
            break
        first |= terms
    return {name: 1.0 if not first or name in first else OTHERS for name in speakers}
