"""Passages: the part of a long page that bears on a message, for quoting.

Made of whole lines, or whole sentences of a long line, and contiguous. A word of the message counts
more the fewer lines have it, so that from a listing in which every line has the folder's name, the
line with the file is quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from pagefault.language.analyzer import other_languages, query_terms, word_spans

Span = tuple[int, int]

UNIT_CHARS_MAX: Final = 160  # a longer line is split
LEAD_SHARE: Final = 0.25  # of the remaining room, for context before the match
_BREAK: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|(?<=[,;:])\s+|(?<=[，；：、])\s*|\s+")


def passage(
    text: str,
    query: str,
    count_all: Callable[[Sequence[str]], list[int]],
    *,
    tokens_max: int,
    tokens_min: int,
) -> Span | None:
    """The half-open range, in characters, of the passage that best matches a query, in at most
    `tokens_max` tokens. None if no word matches, or the passage is shorter than `tokens_min`.
    """
    terms = frozenset(query_terms(query, other_languages(text)))
    units = _units(text)
    if not terms or not units:
        return None
    found = [_terms_in(text[start:end], terms) for start, end in units]
    having = Counter(term for one in found for term in one)
    if not having:
        return None
    tokens = count_all([text[start:end] for start, end in units])
    first, last = _best(found, having, tokens, tokens_max)
    if first < 0:
        return None
    first, last = _grown(first, last, tokens, tokens_max)
    if sum(tokens[first : last + 1]) < tokens_min:
        return None
    start, end = units[first][0], units[last][1]
    return start, start + len(text[start:end].rstrip())


def _units(text: str) -> list[Span]:
    """Ranges of the lines of a text, with their line breaks; a long line is split into several."""
    found: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        while end - start > UNIT_CHARS_MAX:
            cut = _cut(text, start, start + UNIT_CHARS_MAX)
            found.append((start, cut))
            start = cut
        found.append((start, end))
        start = end
    return found


def _cut(text: str, start: int, most: int) -> int:
    """Where to split a long line: after the last sentence that fits, else clause, else word."""
    best: dict[int, int] = {}
    for found in _BREAK.finditer(text, start + UNIT_CHARS_MAX // 4, most):
        before = text[found.start() - 1]
        kind = 0 if before in ".!?…。！？" else 1 if before in ",;:，；：、" else 2
        best[kind] = found.end()
    return min(best.items())[1] if best else most


def _terms_in(unit: str, terms: frozenset[str]) -> frozenset[str]:
    return frozenset(term for _, _, word in word_spans(unit) for term in terms.intersection(word))


def _best(
    found: Sequence[frozenset[str]], having: Counter[str], tokens: Sequence[int], tokens_max: int
) -> Span:
    """The run of units with the highest score within the limit; of equals the shortest, then the
    first. (-1, -1) if no matching unit fits.
    """
    best, most = (-1, -1), (0.0, 0)
    for first, terms in enumerate(found):
        if not terms:
            continue
        told: set[str] = set()
        taken = 0
        for last in range(first, len(found)):
            taken += tokens[last]
            if taken > tokens_max:
                break
            if found[last] <= told:
                continue
            told |= found[last]
            score = sum(1 / having[term] for term in told), -taken
            if score > most:
                best, most = (first, last), score
    return best


def _grown(first: int, last: int, tokens: Sequence[int], tokens_max: int) -> Span:
    """Extend the run with context as far as it fits: a little before, the rest after."""
    room = tokens_max - sum(tokens[first : last + 1])
    lead = int(LEAD_SHARE * room)
    while first and tokens[first - 1] <= lead:
        first -= 1
        lead -= tokens[first]
        room -= tokens[first]
    while last + 1 < len(tokens) and tokens[last + 1] <= room:
        last += 1
        room -= tokens[last]
    while first and tokens[first - 1] <= room:
        first -= 1
        room -= tokens[first]
    return first, last
