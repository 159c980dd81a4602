"""Choosing which blocks to mark, for providers that cache only marked prefixes.

Anthropic and OpenAI accept four marks per request. Anthropic looks for a cached prefix at each
marked block and at most 20 blocks before it, so an earlier mark is found again only within that
distance; OpenAI looks at any distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MARKS_MAX: Final = 4
LOOKBACK_BLOCKS: Final = 20


def marks(wished: Sequence[int], blocks: int, *, lookback: int = LOOKBACK_BLOCKS) -> list[int]:
    """The blocks to mark, ascending, out of `blocks`; `wished` lists wishes, most valuable first.

    A spare mark goes between two neighbours that are more than `lookback` apart, so that a prefix
    written there earlier is found; never with a `lookback` of 0, which means any distance.
    """
    granted = list(dict.fromkeys(wish for wish in wished if 0 <= wish < blocks))[:MARKS_MAX]
    chosen = sorted(granted)
    while lookback and chosen and len(chosen) < MARKS_MAX:
        pairs = zip([-1, *chosen], chosen, strict=False)
        far = [later for earlier, later in pairs if later - earlier > lookback]
        if not far:
            break
        chosen = sorted([*chosen, far[-1] - lookback])
    return chosen
