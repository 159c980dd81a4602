"""Where to mark a prefix for a provider that caches only what is marked.

Anthropic looks for a cached prefix at each marked block and at most 20 blocks before it, and takes
four marks in a request. Whatever was marked before is found again only if it lies in that reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MARKS_MAX: Final = 4
LOOKBACK_BLOCKS: Final = 20


def marks(hints: Sequence[int], blocks: int) -> list[int]:
    """The blocks to mark, ascending, of a request of so many, given those that are wished for.

    The last wish comes first, as everything before it is in its prefix; then the first, which
    changes least; then the others from the end. A mark left over goes where two neighbours are
    further apart than a look back reaches, so that a prefix written there lately is found.
    """
    wished = sorted({hint for hint in hints if 0 <= hint < blocks})
    if not wished:
        return []
    order = [wished[-1], wished[0], *reversed(wished[1:-1])]
    chosen = sorted(dict.fromkeys(order[:MARKS_MAX]))
    while len(chosen) < MARKS_MAX:
        pairs = zip([-1, *chosen], chosen, strict=False)
        far = [later for earlier, later in pairs if later - earlier > LOOKBACK_BLOCKS]
        if not far:
            break
        chosen = sorted([*chosen, far[-1] - LOOKBACK_BLOCKS])
    return chosen
