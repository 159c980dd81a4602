"""What a page shows without being read: when it was said, and of what form it is.

The index keeps this beside a page's terms, and ranking weighs it against what a question asks for.
All is found by form. In a language that says these things otherwise no bit is set, or every page
has it, and it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from datetime import date
from typing import Final, NamedTuple

from pagefault.language.analyzer import terms_of
from pagefault.language.known import BY_CODE, LANGUAGES, OTHER_CODES
from pagefault.language.language import Language
from pagefault.model.events import PageBody
from pagefault.model.kinds import Kind, Role
from pagefault.store.likeness import likeness, likeness_of_data
from pagefault.store.tokens import Said

ASKS: Final = 1  # it ends with a question
TELLS_TIME: Final = 2  # yesterday, in May, two weeks ago
TELLS_NUMBER: Final = 4
TELLS_NAME: Final = 8  # a capital inside a sentence


class _Told(dict[str, frozenset[str]]):
    """The terms of such words in each language that a page may tell, as it is asked for; under
    nothing, those of the defaults of scripts.
    """

    def __init__(self, which: Callable[[Language], Set[str]]) -> None:
        super().__init__()
        self._which = which

    def __missing__(self, code: str) -> frozenset[str]:
        those = [BY_CODE[code]] if code else [one for one in LANGUAGES if one.code not in _OTHERS]
        terms = (term for one in those for word in self._which(one) for term in terms_of(word, one))
        told = self[code] = frozenset(terms)
        return told


_OTHERS: Final = frozenset(OTHER_CODES)
_TIMES: Final = _Told(lambda one: one.times)
_NUMBERS: Final = _Told(lambda one: one.numbers)


def _has(told: _Told, said: Said) -> bool:
    terms = said.terms.keys()
    if not told[""].isdisjoint(terms):
        return True
    return bool(said.languages) and any(not told[code].isdisjoint(terms) for code in said.languages)


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


def form_of(body: PageBody, said: Said, at_ms: int) -> Form:
    """The form of a page, whose text says this; its day is when it happened, or else
    when it was logged (UTC).
    """
    marks = 0
    if _ENDS_ASKING.search(body.text[-_TAIL:]):
        marks |= ASKS
    if _has(_TIMES, said):
        marks |= TELLS_TIME
    if _has(_NUMBERS, said) or _DIGIT.search(body.text):
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
    return Form(day, marks, likeness(body.text, said.terms.keys(), by=who))


def _day(occurred_at: str, at_ms: int) -> int:
    if occurred_at:
        try:
            return date.fromisoformat(occurred_at[:10]).toordinal()
        except ValueError:
            pass
    return _EPOCH_DAY + at_ms // _DAY_MS
