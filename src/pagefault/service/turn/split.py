"""Long texts become linked pages: cut where a reader would pause, joined they are the original."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

from pagefault.pack.count import BLOCK_CHARS, TokenCounter

# From the best place to cut to the last resort: paragraphs, lines, sentences, words, anywhere.
_SEAMS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[ \t]*\n+",
        r"\n+",
        r"(?<=[.!?…])[\"')\]”’»]*\s+|[。！？]+[”’」』）]*\s*",
        r"\s+",
    )
)

_ANY_SEAM: Final = re.compile(r"[\s。！？]")

_CHARACTER_TOKENS: Final = 4  # at most: its bytes in UTF-8
_CHARACTER_MAX: Final = 1 << 12  # code points of one visible character, or of a row of flags
_FULL: Final = 0.9  # of the tokens allowed, if there is no good place to cut


def split(text: str, tokens_max: int, counter: TokenCounter) -> list[tuple[str, int]]:
    """Parts and their tokens: `"".join(parts) == text`, each part of at most `tokens_max` tokens.

    A visible character is cut only if it alone takes more, and a single code point that alone takes
    more stays whole. A long text is cut in blocks, and pieces that surely fit with their neighbours
    are not examined: time and memory grow linearly with any text.
    """
    tokens = counter.count(text) if len(text) <= BLOCK_CHARS else None
    if tokens is not None and tokens <= tokens_max:
        return [(text, tokens)]
    parts: list[tuple[list[str], int]] = []
    held: list[str] = []
    held_tokens = 0
    for block in _blocks(text):
        for piece, piece_tokens in _pieces(block, tokens, tokens_max, counter, 0):
            if held and held_tokens + piece_tokens > tokens_max:
                parts.append((held, held_tokens))
                held, held_tokens = [], 0
            held.append(piece)
            held_tokens += piece_tokens
    parts.append((held, held_tokens))
    counts = iter(counter.count_all(["".join(held) for held, _ in parts if len(held) > 1]))
    return [
        part
        for held, added in parts
        for part in _joined(held, next(counts) if len(held) > 1 else added, tokens_max, counter)
    ]


def _blocks(text: str) -> Iterator[str]:
    """`text` in blocks, each cut after the best seam of its last quarter."""
    at = 0
    while len(text) - at > BLOCK_CHARS:
        end = at + BLOCK_CHARS
        tail = end - BLOCK_CHARS // 4
        for seam in _SEAMS if _ANY_SEAM.search(text, tail, end) else ():
            match = seam.search(text, tail, end)
            if match is not None:
                end = match.end()
                break
        else:
            end = _between_characters(text, end, at)
        yield text[at:end]
        at = end
    yield text[at:]


def _joined(
    pieces: Sequence[str], tokens: int, tokens_max: int, counter: TokenCounter
) -> Iterator[tuple[str, int]]:
    """The pieces as one part; as two if together they take more than the sum of their counts.

    They seldom do: a vocabulary may cut a word across the joint into more tokens than its two
    halves.
    """
    if tokens <= tokens_max or len(pieces) == 1:
        yield "".join(pieces), tokens
        return
    middle = len(pieces) // 2
    for half in (pieces[:middle], pieces[middle:]):
        yield from _joined(half, counter.count("".join(half)), tokens_max, counter)


def _pieces(
    text: str, tokens: int | None, tokens_max: int, counter: TokenCounter, seam: int
) -> Iterator[tuple[str, int]]:
    """Pieces that each fit, with their tokens, cut at the best seams that achieve it.

    A block is not counted (`tokens` is None): the cost of counting a long word is more than linear.
    """
    if tokens is None and len(text) <= tokens_max:
        tokens = counter.count(text)
    if tokens is not None and (tokens <= tokens_max or len(text) <= 1):
        yield text, tokens
        return
    if seam < len(_SEAMS) and not _ANY_SEAM.search(text):
        seam = len(_SEAMS)
    least = max(1, tokens_max // _CHARACTER_TOKENS)
    pieces = [text]
    while len(pieces) == 1:
        if seam < len(_SEAMS):
            pieces = _cut(text, _SEAMS[seam], least)
        else:
            wanted = len(text) / tokens_max if tokens is None else tokens / (tokens_max * _FULL)
            pieces = _cut_anywhere(text, math.ceil(wanted))
        seam = min(seam + 1, len(_SEAMS))
    for piece, count in zip(pieces, counter.count_all(pieces), strict=True):
        yield from _pieces(piece, count, tokens_max, counter, seam)


def _cut(text: str, seam: re.Pattern[str], least: int) -> list[str]:
    """`text` cut after seams of one sort, into pieces of at least so many characters."""
    pieces: list[str] = []
    at = 0
    while (match := seam.search(text, at + least)) is not None:
        pieces.append(text[at : match.end()])
        at = match.end()
    return [*pieces, text[at:]] if at < len(text) else pieces


def _cut_anywhere(text: str, pieces: int) -> list[str]:
    """`text` in about so many pieces, at least two."""
    pieces = max(2, min(pieces, len(text)))
    cuts = [0]
    for number in range(1, pieces):
        at = _between_characters(text, number * len(text) // pieces, cuts[-1])
        if cuts[-1] < at < len(text):
            cuts.append(at)
    if len(cuts) == 1:  # one character takes more than is allowed
        cuts.append(len(text) // 2)
    return [text[a:b] for a, b in pairwise([*cuts, len(text)])]


def _between_characters(text: str, at: int, after: int) -> int:
    """The nearest place from `at` on that cuts no character in two, else the nearest before it that
    is after `after`; else `at`.
    """
    last, first = min(at + _CHARACTER_MAX, len(text)), max(at - _CHARACTER_MAX, after)
    places = chain(range(at, last), range(at - 1, first, -1))
    return next((place for place in places if not _joins(text, place)), at)


def _joins(text: str, at: int) -> bool:
    """Whether the code points around `at` are one visible character, or a line break.

    Implements the rules of Unicode's annex 29 that matter in practice, not all of them.
    """
    before, after = text[at - 1], text[at]
    if before == "\u200d" or (before == "\r" and after == "\n"):
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        start, first = at, max(0, at - _CHARACTER_MAX)
        while start > first and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return (
        after in "\u200c\u200d"
        or unicodedata.category(after).startswith("M")  # accents, vowel signs, variation selectors
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tag letters, as in England's flag
        or "\u1160" <= after <= "\u11ff"  # what follows the first letter of a Korean syllable
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
