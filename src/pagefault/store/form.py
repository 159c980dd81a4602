"""What a page shows without being read: when it was said, and of what form it is.

The index keeps this beside a page's terms, and ranking weighs it against what a question asks for.
All is found by form. In a language that says these things otherwise no bit is set, or every page
has it, and it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from datetime import date
from typing import Final, NamedTuple

from pagefault.language.analyzer import terms_of
from pagefault.language.known import LANGUAGES
from pagefault.language.language import Language
from pagefault.model.events import PageBody
from pagefault.model.kinds import Kind, Role
from pagefault.store.likeness import likeness, likeness_of_data
from pagefault.store.tokens import LANGUAGES as MARKS

ASKS: Final = 1  # it ends with a question
TELLS_TIME: Final = 2  # yesterday, in May, two weeks ago
TELLS_NUMBER: Final = 4
TELLS_NAME: Final = 8  # a capital inside a sentence


def _by_mark(which: Callable[[Language], Set[str]]) -> Mapping[str, frozenset[str]]:
    """The terms of such words in each language that pages are marked with, and, under nothing,
    those of the languages that are defaults.
    """
    terms: dict[str, frozenset[str]] = {"": frozenset()}
    for one in LANGUAGES:
        mark = MARKS.get(one.code, "")
        terms[mark] = terms.get(mark, frozenset()).union(
            *(terms_of(word, one) for word in which(one))
        )
    return terms


_TIMES: Final = _by_mark(lambda one: one.times)
_NUMBERS: Final = _by_mark(lambda one: one.numbers)


def _has(told: Mapping[str, frozenset[str]], terms: Set[str]) -> bool:
    if not told[""].isdisjoint(terms):
        return True
    return not _MARKED.isdisjoint(terms) and any(
        not told[mark].isdisjoint(terms) for mark in _MARKED & terms
    )


_MARKED: Final = frozenset(MARKS.values())
_NAME: Final = re.compile(" (?<=[a-zß-ÿ,;] )[A-ZÀ-Þ][a-zß-ÿ]")  # from a blank: quickest found
_DIGIT: Final = re.compile(r"\d")
_ENDS_ASKING: Final = re.compile(r"""[?？؟][\s"'”’)*_]*(?:\[[^\]]*\]\s*)?\Z""")
"""A note in brackets behind it, such as what a shared photo shows, is no other sentence."""
_TAIL: Final = 400  # characters in which a question would end

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DAY_MS: Final = 86_400_000


class Form(NamedTuple):
    """`day` counts from the first of January of year 1, as `date.toordinal` does. `likeness` tells
    pages that say the same (`store/likeness.py`).
    """

    day: int
    marks: int
    likeness: int


def form_of(body: PageBody, terms: Set[str], at_ms: int) -> Form:
    """The form of a page, of whose text these are the terms; its day is when it happened, or else
    when it was logged (UTC).
    """
    marks = 0
    if _ENDS_ASKING.search(body.text[-_TAIL:]):
        marks |= ASKS
    if _has(_TIMES, terms):
        marks |= TELLS_TIME
    if _DIGIT.search(body.text) or _has(_NUMBERS, terms):
        marks |= TELLS_NUMBER
    if _NAME.search(body.text):
        marks |= TELLS_NAME
    day = _day(body.occurred_at, at_ms)
    # A question says something else than its answer, and `yesterday` on each day.
    by = [body.role, body.speaker, body.title, "?" if marks & ASKS else ""]
    if marks & TELLS_TIME:
        by.append(str(day))
    who = "\0".join(by)
    if body.role is Role.TOOL or body.kind is Kind.ARTIFACT or body.parts > 1:
        return Form(day, marks, likeness_of_data(body.text, by=who))
    return Form(day, marks, likeness(body.text, terms, by=who))


def _day(occurred_at: str, at_ms: int) -> int:
    if occurred_at:
        try:
            return date.fromisoformat(occurred_at[:10]).toordinal()
        except ValueError:
            pass
    return _EPOCH_DAY + at_ms // _DAY_MS
