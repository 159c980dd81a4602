"""Whether two pages say the same: each has a number of 64 bits, and two numbers are compared.

The upper half is a hash of what makes texts tell different things though nearly all of their words
agree: who says it, its numbers, signs, identifiers and names, its negations, and words that have an
opposite (`opposites.py`). It must be equal. So neither `port 8081` nor `do not restart` is ever
hidden behind what was said before; nor `Anna pays Bob` behind `Bob pays Anna`, since they must
stand in the same order; nor a log whose times and request ids are others, since nobody can tell a
time that is noise from one that is the news.

The lower half is of the other words. Of a long text it is a SimHash: texts that share most words
differ in few bits of it (Charikar, "Similarity estimation techniques from rounding algorithms",
STOC 2002; Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007), in
which neither their order counts nor how often one stands there. A text of few words says something
else with any other word, or in another order, so there it is a hash of them all as they follow one
another. Of data (`likeness_of_data`) nothing may differ but the blanks.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence, Set
from hashlib import blake2b
from typing import Final

from pagefault.language.analyzer import TERM_CHARS_MAX, analyze
from pagefault.language.known import LANGUAGES

LONG_TERMS: Final = 128
"""Different words from which on a text is long: with fewer, the bits of a SimHash hardly tell a
word that was mended from one that was meant. docs/recall.md has the figures.
"""

DIFFERING_MAX: Final = 2
"""Bits of 32 in which the words of two long texts may differ."""

_NAME: Final = "'"  # what begins so is a name
_HALF: Final = 32
_LANE: Final = 16  # bits to count the words in, for each bit of a SimHash
_LONG_MAX: Final = 1 << (_LANE - 1)
_REMEMBERED: Final = 65_536

_OPENING: Final = "\"'“”‘’„«»‹›([{*`¿¡「『（"
_CLOSING: Final = "\"'“”‘’«»‹›)]}*`.,;:!?…」』）。、！？"
_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")
_SIGNS: Final = frozenset({"Sm", "Sc", "So"})  # of mathematics, of money, and pictures
_OTHER_SIGNS: Final = frozenset("%&#@^")


def likeness_of_data(text: str, *, by: str) -> int:
    """As `likeness`, of what a tool returned, a file, or a part of a longer text."""
    return int.from_bytes(_hash(by, " ".join(text.split()), size=8), "big", signed=True)


def likeness(told: Sequence[str], terms: Sequence[str], *, by: str) -> int:
    """A signed number of 64 bits, from what the pieces of a text tell (`told_by`) and its terms,
    both in its order. `by` is what else must be equal for two texts to say the same: who says it,
    for one.
    """
    words = {*terms}.difference(told)
    is_long = LONG_TERMS <= len(words) < _LONG_MAX
    if not is_long or not "".join(words).isascii():  # whose negations are not known here
        told = [one for one in told if not one.startswith(_NAME)]  # a name is a word here
        whole = _hash(by, *told, "", *terms, size=8)
        return int.from_bytes(whole, "big", signed=True)
    upper = int.from_bytes(_hash(by, *told, size=4), "big", signed=True)
    return upper << _HALF | _simhash(words)


def say_the_same(one: int, other: int) -> bool:
    """Whether pages of these numbers do. Symmetric, but not transitive."""
    differing = one ^ other
    return 0 <= differing < 1 << _HALF and differing.bit_count() <= DIFFERING_MAX


def bucket(one: int) -> int:
    """Near-duplicate bucket key: equal for any two numbers that `say_the_same`."""
    return one >> _HALF


def _hash(*parts: str, size: int) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=size).digest()


class _Stems(dict[str, str]):
    """The stem of a word, as it is asked for: one word stands beside many signs."""

    def __missing__(self, word: str) -> str:
        if len(self) > _REMEMBERED:
            self.clear()
        stem = "".join(analyze(word))
        if len(word) <= TERM_CHARS_MAX:
            self[word] = stem
        return stem


_STEMS: Final = _Stems()


def told_by(piece: str) -> str:
    """What a piece of text between blanks tells that must be equal; nothing, if it is a word like
    any other.
    """
    piece = piece.lstrip(_OPENING).rstrip(_CLOSING)
    if piece.isascii() and piece.isalpha():  # as nearly all are
        word = written = piece
    else:
        if not any(map(str.isalnum, piece)):
            return piece if any(map(_is_sign, piece)) else ""
        written = piece.translate(_APOSTROPHES).removesuffix("'s")
        word = written.replace("'", "")
        if not word.isalpha():
            return piece
    folded = word.casefold()
    stem = _STEMS[folded]
    if stem in _OPPOSITES or written.casefold().endswith("n't"):
        return stem
    is_name = folded != word and stem not in _TELLING_NOTHING
    return _NAME + folded if is_name else ""


def _is_sign(char: str) -> bool:
    return char in _OTHER_SIGNS or unicodedata.category(char) in _SIGNS


_OPPOSITES: Final = frozenset("".join(analyze(word)) for one in LANGUAGES for word in one.opposites)
_TELLING_NOTHING: Final = frozenset(
    "".join(analyze(word)) for one in LANGUAGES for word in one.names_nothing
)


class _Lanes(dict[str, int]):
    """The hash of a word, one bit in each lane of a long number: their sum counts the words that
    have each bit.
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
    """Each bit is that of most terms."""
    if len(_LANES) > _REMEMBERED:
        _LANES.clear()
    counts = sum(map(_LANES.__getitem__, terms))
    counts += _ONES * (_LONG_MAX - 1 - len(terms) // 2)  # more than half reach a lane's upper bit
    lanes = counts.to_bytes(_HALF * _LANE // 8, "little")
    return int(lanes[1::2].translate(_AS_DIGITS), 2)
