"""Where a request should be marked for the provider's cache, and by which key it should be routed.

Some providers find the longest cached prefix by themselves; others look only where a mark stands.
For those, up to four marks, each for a reason: behind the head, which outlives every epoch; behind
what the last epoch kept, so that the next one need not fall back to the head; at the end of the
request before this one, where its cache entry is; and at the end, for the next.

The third mark is what a limit on looking back asks for: Anthropic searches 20 blocks before a mark
for an older entry, and a turn of 21 tool results would miss it in silence. A mark at the very place
needs no search.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.prices import PriceList
from pagefault.pack.prefix import Prefix


@dataclass(frozen=True, slots=True)
class CacheHints:
    """Marks are counted in blocks (tools, then messages): 2 is behind the first message.

    `key` is the routing key for providers that take one (`prompt_cache_key`): the same for all
    requests that share a prefix. Nothing that changes may stand before the last mark.
    """

    marks: tuple[int, ...]
    key: str


def cache_hints(
    prices: PriceList, prefix: Prefix, *, boundary: int, previous: int, key: str
) -> CacheHints:
    """Hints for the request of `prefix`.

    `boundary` is how many blocks the last epoch froze (tools and head, and what it kept);
    `previous` how many of the request before stand unchanged at the beginning of this one. No mark
    stands where the prefix is too short to be cached; where there are too few marks for all, the
    end comes first, then the previous end, the boundary and the head.
    """
    wanted = dict.fromkeys([prefix.blocks, previous, boundary, min(2, prefix.blocks)])
    marks = [
        blocks
        for blocks in wanted
        if 0 < blocks <= prefix.blocks and prices.cacheable(prefix.end(blocks)) > 0
    ]
    return CacheHints(marks=tuple(sorted(marks[: prices.breakpoints])), key=key)
