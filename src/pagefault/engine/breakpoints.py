"""Which blocks to mark for a provider that caches only what is marked.

Anthropic and OpenAI take four marks in a request. Anthropic looks for a cached prefix at each
marked block and at most 20 blocks before it, so what was marked earlier is found again only if it
lies in that reach; OpenAI looks at any distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MARKS_MAX: Final = 4
LOOKBACK_BLOCKS: Final = 20


def marks(wished: Sequence[int], blocks: int, *, lookback: int = LOOKBACK_BLOCKS) -> list[int]:
    """The blocks to mark, ascending, of a request of so many, given wishes, the dearest first.

    A mark left over goes where two neighbours are further apart than a look back reaches, so that a
    prefix written there lately is found; with a `lookback` of 0, which is any distance, nowhere.
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
