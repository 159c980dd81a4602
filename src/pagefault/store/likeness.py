"""Near-duplicate detection: each page has a 64-bit number, and two numbers are compared.

The upper half is a hash of what makes texts mean different things although nearly all of their
words agree: the speaker, the text's numbers, signs, identifiers and names, its negations, and words
that have an opposite (`opposites.py`). It must be equal, and covers their order. So a page with
`port 8081` or `do not restart` is never hidden by an earlier one without it; nor `Anna pays Bob` by
`Bob pays Anna`; nor a log by one with other times and request ids, because a time may be noise or
may be the news.

The lower half is of the other words. For a long text it is a SimHash: texts that share most words
differ in few of its bits (Charikar, "Similarity estimation techniques from rounding algorithms",
STOC 2002; Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007),
regardless of their order and number. A short text means something else with any other word, or in
another order, so there it is a hash of the whole sequence of words. In data (`likeness_of_data`)
only the blanks may differ.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence, Set
from hashlib import blake2b
from typing import Final

from pagefault.language.analyzer import TERM_CHARS_MAX, analyze, english_stem
from pagefault.language.known import LANGUAGES

LONG_TERMS: Final = 128
"""The number of different words from which a text is long: with fewer, the bits of a SimHash hardly
distinguish a corrected word from another word. docs/recall.md has the figures.
"""

DIFFERING_MAX: Final = 2
"""Bits of 32 in which the words of two equivalent long texts may differ."""

_NAME: Final = "'"  # the prefix of a name
_HALF: Final = 32
_LANE: Final = 16  # width in bits of a word counter, one for each bit of a SimHash
_LONG_MAX: Final = 1 << (_LANE - 1)
_REMEMBERED: Final = 65_536

_OPENING: Final = "\"'“”‘’„«»‹›([{*`¿¡「『（"
_CLOSING: Final = "\"'“”‘’«»‹›)]}*`.,;:!?…」』）。、！？"
_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")
_SIGNS: Final = frozenset({"Sm", "Sc", "So"})  # mathematical signs, currencies, pictures
_OTHER_SIGNS: Final = frozenset("%&#@^")


def likeness_of_data(text: str, *, by: str) -> int:
    """As `likeness`, for a tool's result, a file, or a part of a longer text."""
    return int.from_bytes(_hash(by, " ".join(text.split()), size=8), "big", signed=True)


def likeness(told: Sequence[str], terms: Sequence[str], *, by: str) -> int:
    """A signed 64-bit number, from what the pieces of a text distinguish (`told_by`) and its terms,
    both in text order. `by` is what else must be equal in equivalent texts, such as the speaker.
    """
    # Most texts have too few terms to be long, and need no set.
    words = {*terms}.difference(told) if len(terms) >= LONG_TERMS else set()
    is_long = LONG_TERMS <= len(words) < _LONG_MAX
    if not is_long or not "".join(words).isascii():  # negations are unknown in this language
        told = [one for one in told if not one.startswith(_NAME)]  # a name is an ordinary word here
        whole = _hash(by, *told, "", *terms, size=8)
        return int.from_bytes(whole, "big", signed=True)
    upper = int.from_bytes(_hash(by, *told, size=4), "big", signed=True)
    return upper << _HALF | _simhash(words)


def say_the_same(one: int, other: int) -> bool:
    """Whether pages with these numbers say the same. Symmetric, but not transitive."""
    differing = one ^ other
    return 0 <= differing < 1 << _HALF and differing.bit_count() <= DIFFERING_MAX


def bucket(one: int) -> int:
    """Near-duplicate bucket key: equal for any two numbers that `say_the_same`."""
    return one >> _HALF


def _hash(*parts: str, size: int) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=size).digest()


def told_by(piece: str) -> str:
    """The part of a piece (between blanks) that must be equal; empty for an ordinary word."""
    piece = piece.lstrip(_OPENING).rstrip(_CLOSING)
    if piece.isascii() and piece.isalpha():  # as nearly all are
        word = written = piece
    else:
        if not any(map(str.isalnum, piece)):
            return piece if any(map(_is_sign, piece)) else ""
        plain = piece if piece.isascii() else piece.translate(_APOSTROPHES)
        written = plain.removesuffix("'s")
        word = written.replace("'", "")
        if not word.isalpha():
            return piece
    folded = word.casefold()
    stem = _stem(folded)
    if stem in _OPPOSITES or written.casefold().endswith("n't"):
        return stem
    is_name = folded != word and stem not in _TELLING_NOTHING
    return _NAME + folded if is_name else ""


def _stem(word: str) -> str:
    """The terms of a case-folded word, joined: of a plain one its English stem (`terms_alone`)."""
    is_plain = word.isascii() and len(word) <= TERM_CHARS_MAX
    return english_stem(word) if is_plain else "".join(analyze(word))


def _is_sign(char: str) -> bool:
    return char in _OTHER_SIGNS or unicodedata.category(char) in _SIGNS


_OPPOSITES: Final = frozenset("".join(analyze(word)) for one in LANGUAGES for word in one.opposites)
_TELLING_NOTHING: Final = frozenset(
    "".join(analyze(word)) for one in LANGUAGES for word in one.names_nothing
)


class _Lanes(dict[str, int]):
    """The hash of a word, one bit in each lane of a long integer: a sum of these counts the words
    with each bit.
    """

    def __missing__(self, term: str) -> int:
        lanes = 0
        for byte in _hash(term, size=_HALF // 8):
            lanes = lanes << 8 * _LANE | _SPREAD[byte]
        self[term] = lanes
        return lanes


_SPREAD: Final = [sum((byte >> bit & 1) << bit * _LANE for bit in range(8)) for byte in range(256)]
_LANES: Final = _Lanes()
_ONES: Final = sum(1 << bit * _LANE for bit in range(_HALF))
_AS_DIGITS: Final = bytes(ord("1") if byte & 0x80 else ord("0") for byte in range(256))


def _simhash(terms: Set[str]) -> int:
    """Each bit is the majority of the terms' bits."""
    if len(_LANES) > _REMEMBERED:
        _LANES.clear()
    counts = sum(map(_LANES.__getitem__, terms))
    counts += _ONES * (_LONG_MAX - 1 - len(terms) // 2)  # a majority reaches a lane's upper bit
    lanes = counts.to_bytes(_HALF * _LANE // 8, "little")
    return int(lanes[1::2].translate(_AS_DIGITS), 2)
