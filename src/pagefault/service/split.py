"""Long texts become linked pages: cut where a reader would pause, joined they are the original."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pagefault.pack.count import TokenCounter

# From the best place to cut to the last resort: paragraphs, lines, sentences, words, anywhere.
_SEAMS: Final = tuple(
    re.compile(pattern)
    for pattern in (r"\n[ \t]*\n+", r"\n", r"(?<=[.!?。！？])[\"')\]]*\s+", r"\s+")
)


def split(text: str, tokens_max: int, counter: TokenCounter) -> list[tuple[str, int]]:
    """Parts and their tokens: `"".join(parts) == text`, each part of at most `tokens_max` tokens.

    A single grapheme that alone takes more stays whole.
    """
    tokens = counter.count(text)
    if tokens <= tokens_max:
        return [(text, tokens)]
    parts, held, held_tokens = [], [], 0
    for piece, piece_tokens in _pieces(text, tokens, tokens_max, counter, 0):
        # Counts apart add up to at least the count together, so the sum is a safe bound.
        if held and held_tokens + piece_tokens > tokens_max:
            parts.append("".join(held))
            held, held_tokens = [], 0
        held.append(piece)
        held_tokens += piece_tokens
    parts.append("".join(held))
    return list(zip(parts, counter.count_all(parts), strict=True))


def _pieces(
    text: str, tokens: int, tokens_max: int, counter: TokenCounter, seam: int
) -> Iterator[tuple[str, int]]:
    """Pieces that each fit, with their tokens, cut at the best seams that achieve it."""
    if tokens <= tokens_max or len(text) <= 1:
        yield text, tokens
        return
    pieces = _cut(text, seam)
    for piece, count in zip(pieces, counter.count_all(pieces), strict=True):
        yield from _pieces(piece, count, tokens_max, counter, min(seam + 1, len(_SEAMS)))


def _cut(text: str, seam: int) -> list[str]:
    """`text` cut after every seam of one sort; past the last sort, in halves."""
    if seam == len(_SEAMS):
        middle = len(text) // 2
        while middle < len(text) and _joins(text[middle]):
            middle += 1
        middle = middle if middle < len(text) else len(text) // 2
        return [text[:middle], text[middle:]]
    ends = [match.end() for match in _SEAMS[seam].finditer(text)]
    starts = [0, *ends]
    return [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True) if b > a]


def _joins(character: str) -> bool:
    """Whether a character belongs to the one before it: a combining mark, a joiner, a modifier."""
    return (
        "\u0300" <= character <= "\u036f"
        or character in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
