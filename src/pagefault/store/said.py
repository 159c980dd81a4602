"""Analysis of a text, in one look at each blank-separated piece.

Most pieces were seen before, so a piece's analysis is cached: its terms, what it has that must be
equal in near-duplicates, and its marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final, NamedTuple

from pagefault.language.analyzer import (
    TERM_CHARS_MAX,
    TellsLanguage,
    analyze_told,
    terms_alone,
    terms_of,
)
from pagefault.language.known import BY_CODE, LANGUAGES, OTHER_CODES
from pagefault.language.language import Language
from pagefault.store.likeness import told_by

ASKS: Final = 1  # it ends with a question
TELLS_TIME: Final = 2  # yesterday, in May, two weeks ago
TELLS_NUMBER: Final = 4
TELLS_NAME: Final = 8  # a capital inside a sentence


class Said(NamedTuple):
    """The analysis of a text: its terms in order, their counts, and its languages apart from the
    defaults of its scripts; what its pieces have that must be equal in near-duplicates, in order;
    and which of `TELLS_TIME` and `TELLS_NUMBER` apply.
    """

    order: Sequence[str]
    terms: Counter[str]
    languages: tuple[str, ...]
    told: Sequence[str]
    marks: int


def said_by(text: str) -> Said:
    pieces = text.split()
    try:
        seen = _seen(pieces)
    except TellsLanguage:
        return _said_in_languages(text, pieces)
    order: list[str] = []
    told: list[str] = []
    marks = 0
    append = order.append
    for one in seen:
        if isinstance(one, str):
            append(one)
            continue
        terms, telling, marked = one
        order += terms
        marks |= marked
        if telling:
            told.append(telling)
    return Said(order, Counter(order), (), told, marks)


def told_in(text: str) -> Iterable[str]:
    """The `told` of `said_by(text)`."""
    pieces = text.split()
    try:
        return filter(None, [one[1] for one in _seen(pieces) if not isinstance(one, str)])
    except TellsLanguage:
        return filter(None, map(told_by, pieces))


def _seen(pieces: Sequence[str]) -> list[_Piece]:
    """What is known of each piece. `TellsLanguage` if one may identify another language."""
    if len(_PIECES) > _REMEMBERED:
        _PIECES.clear()
    return [*map(_PIECES.__getitem__, pieces)]


def _said_in_languages(text: str, pieces: Sequence[str]) -> Said:
    order, languages = analyze_told(text)
    terms = Counter(order)
    marks = _marks_of(terms.keys(), ("", *languages)) | _digits(text)
    return Said(order, terms, languages, [*filter(None, map(told_by, pieces))], marks)


class _Terms(dict[str, frozenset[str]]):
    """A cache: the terms of such words in each language that a page may identify; under "", in the
    defaults of scripts.
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
_TIMES: Final = _Terms(lambda one: one.times)
_NUMBERS: Final = _Terms(lambda one: one.numbers)


def _marks_of(terms: Iterable[str], codes: Iterable[str]) -> int:
    marks, those = 0, [*terms]
    for code in codes:
        marks |= 0 if _TIMES[code].isdisjoint(those) else TELLS_TIME
        marks |= 0 if _NUMBERS[code].isdisjoint(those) else TELLS_NUMBER
    return marks


_DIGIT: Final = re.compile(r"\d")


def _digits(text: str) -> int:
    return TELLS_NUMBER if _DIGIT.search(text) else 0


_Piece = str | tuple[tuple[str, ...], str, int]
"""What is known of a piece: its terms in the defaults of scripts, what must be equal, and its
marks; of an ordinary word, which has one term and nothing else, that alone.
"""


class _Pieces(dict[str, _Piece]):
    """A cache, faster than an LRU one. Long pieces are left out: they are data, seldom seen twice,
    and would fill it with whole files. So are pieces that may identify another language: a text
    found here completely needs no language detection.

    Half the time of a look-up is spent waiting for memory: few words are in the processor's cache.
    So an ordinary word has no tuple of its own, and no second string if it is its own term.
    """

    def __missing__(self, piece: str) -> _Piece:
        terms = terms_alone(piece)
        seen: _Piece = terms, told_by(piece), _marks_of(terms, ("",)) | _digits(piece)
        if len(terms) == 1 and seen == (terms, "", 0):
            seen = piece if terms[0] == piece else terms[0]
        if len(piece) <= TERM_CHARS_MAX:
            self[piece] = seen
        return seen


_REMEMBERED: Final = 65_536
_PIECES: Final = _Pieces()
