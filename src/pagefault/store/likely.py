"""Which of the pages that share a word with a query are worth ranking: a rough, quick first cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pagefault.model.ids import Seq


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages` (Robertson and Spärck Jones)."""
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(postings: Sequence[Mapping[Seq, int]], *, pages: int, limit: int) -> list[Seq]:
    """At most `limit` pages of those in `postings` (for each term: page -> count), likeliest first.

    Rare terms count for more, a repeated term for little more than one; length is not looked at,
    since reading it for each page would cost more than it tells. Of equals the newest comes first.
    """
    worth: dict[Seq, float] = {}
    for posting in postings:
        weight = rarity(pages, len(posting))
        once = weight / 2
        for seq, count in posting.items():
            add = once if count == 1 else weight * count / (count + 1)
            worth[seq] = worth.get(seq, 0.0) + add
    if len(worth) > limit:
        # Sorting bare floats is several times quicker than sorting everything by a key.
        least = sorted(worth.values(), reverse=True)[limit - 1] if limit > 0 else math.inf
        worth = {seq: value for seq, value in worth.items() if value >= least}
    return sorted(worth, key=lambda seq: (-worth[seq], -seq))[: max(limit, 0)]
