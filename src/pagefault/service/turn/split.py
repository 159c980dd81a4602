"""Long texts become linked pages: cut where a reader would pause, joined they are the original."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from pagefault.pack.count import TokenCounter

# From the best place to cut to the last resort: paragraphs, lines, sentences, words, anywhere.
_SEAMS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[ \t]*\n+",
        r"\n",
        r"(?<=[.!?…])[\"')\]”’»]*\s+|[。！？]+[”’」』）]*\s*",
        r"\s+",
    )
)


def split(text: str, tokens_max: int, counter: TokenCounter) -> list[tuple[str, int]]:
    """Parts and their tokens: `"".join(parts) == text`, each part of at most `tokens_max` tokens.

    What a reader sees as one character is cut only if it alone takes more, and a single code point
    that alone takes more stays whole.
    """
    tokens = counter.count(text)
    if tokens <= tokens_max:
        return [(text, tokens)]
    parts: list[list[str]] = []
    held: list[str] = []
    held_tokens = 0
    for piece, piece_tokens in _pieces(text, tokens, tokens_max, counter, 0):
        if held and held_tokens + piece_tokens > tokens_max:
            parts.append(held)
            held, held_tokens = [], 0
        held.append(piece)
        held_tokens += piece_tokens
    parts.append(held)
    counts = counter.count_all(["".join(pieces) for pieces in parts])
    return [
        part
        for pieces, count in zip(parts, counts, strict=True)
        for part in _joined(pieces, count, tokens_max, counter)
    ]


def _joined(
    pieces: Sequence[str], tokens: int, tokens_max: int, counter: TokenCounter
) -> Iterator[tuple[str, int]]:
    """The pieces as one part; as two if together they take more than their counts added up to.

    They seldom do: a vocabulary may cut a word that begins in one piece and ends in the next into
    more tokens than it cut the two halves.
    """
    if tokens <= tokens_max or len(pieces) == 1:
        yield "".join(pieces), tokens
        return
    middle = len(pieces) // 2
    for half in (pieces[:middle], pieces[middle:]):
        yield from _joined(half, counter.count("".join(half)), tokens_max, counter)


def _pieces(
    text: str, tokens: int, tokens_max: int, counter: TokenCounter, seam: int
) -> Iterator[tuple[str, int]]:
    """Pieces that each fit, with their tokens, cut at the best seams that achieve it."""
    if tokens <= tokens_max or len(text) <= 1:
        yield text, tokens
        return
    pieces = _cut(text, seam)
    while len(pieces) == 1:
        seam += 1
        pieces = _cut(text, seam)
    for piece, count in zip(pieces, counter.count_all(pieces), strict=True):
        yield from _pieces(piece, count, tokens_max, counter, min(seam + 1, len(_SEAMS)))


def _cut(text: str, seam: int) -> list[str]:
    """`text` cut after every seam of one sort; past the last sort, in two."""
    if seam == len(_SEAMS):
        half = len(text) // 2
        # The nearest place after the middle, else before it; else a character is longer than half.
        places = chain(range(half, len(text)), range(half - 1, 0, -1))
        middle = next((at for at in places if not _joins(text, at)), half)
        return [text[:middle], text[middle:]]
    ends = [match.end() for match in _SEAMS[seam].finditer(text)]
    starts = [0, *ends]
    return [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True) if b > a]


def _joins(text: str, at: int) -> bool:
    """Whether a reader sees the code points around `at` as one character, or a line break.

    The rules of Unicode's annex 29 that matter for what people write, not all of them.
    """
    before, after = text[at - 1], text[at]
    if before == "\u200d" or (before == "\r" and after == "\n"):
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        start = at
        while start and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return (
        after in "\u200c\u200d"
        or unicodedata.category(after).startswith("M")  # accents, vowel signs, variation selectors
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin
        or "\U000e0020" <= after <= "\U000e007f"  # the letters of England's flag
        or "\u1160" <= after <= "\u11ff"  # what follows the first letter of a Korean syllable
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
