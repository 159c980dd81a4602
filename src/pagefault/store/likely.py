"""Which of the pages that share a word with a query are worth ranking: a rough, quick first cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from pagefault.model.ids import Seq


def rarity(pages: int, frequency: int) -> float:
    """How much a term tells that stands in `frequency` of `pages` (Robertson and Spärck Jones)."""
    return math.log(1 + (pages - frequency + 0.5) / (frequency + 0.5))


def likeliest(postings: Sequence[Mapping[Seq, int]], *, pages: int, limit: int) -> list[Seq]:
    """At most `limit` pages of those in `postings` (for each term: page -> count), likeliest first.

    Rare terms count for more, a repeated term for little more than one; length is not looked at,
    since reading it for each page would cost more than it tells. Of equals the newest comes first.
    """
    telling = sorted(
        ((rarity(pages, len(posting)), posting) for posting in postings if posting),
        key=lambda pair: -pair[0],
    )
    rest = sum(weight for weight, _ in telling)  # the most that the terms still to come can add
    worth: dict[Seq, float] = {}
    closed = False
    for weight, posting in telling:
        closed = closed or (len(worth) >= limit and rest < _least(worth, limit))
        # Once closed, a page not met before cannot reach the first `limit` any more.
        met: Iterable[Seq] = worth.keys() & posting.keys() if closed else posting
        for seq in met:
            count = posting[seq]
            worth[seq] = worth.get(seq, 0.0) + weight * count / (count + 1)
        rest -= weight
    if len(worth) > limit:
        least = _least(worth, limit)
        worth = {seq: value for seq, value in worth.items() if value >= least}
    return sorted(worth, key=lambda seq: (-worth[seq], -seq))[: max(limit, 0)]


def _least(worth: Mapping[Seq, float], limit: int) -> float:
    """What the last of the best `limit` is worth."""
    return sorted(worth.values(), reverse=True)[limit - 1] if limit > 0 else math.inf
