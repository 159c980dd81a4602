"""Where a request is worth marking for the provider's cache.

Some providers find the longest cached prefix by themselves; others look only where a mark stands.
For those, four places, each for a reason: the end of the request, for the next one; the end of the
request before, where its cache entry is; behind what the last epoch kept, so that the next one need
not fall back to the head; and behind the head, which outlives every epoch.

The second is what a limit on looking back asks for: Anthropic searches 20 blocks before a mark for
an older entry, and a turn of 21 tool results would miss it in silence. A mark at the very place
needs no search.
"""

from __future__ import annotations

from pagefault.model.prices import PriceList
from pagefault.pack.prefix import Prefix


def worth_marking(
    prices: PriceList, prefix: Prefix, *, boundary: int, previous: int
) -> tuple[int, ...]:
    """Places in the request of `prefix`, the most useful first, that are worth a mark.

    They are counted in blocks (tools, then messages): 2 is behind the first message. `boundary` is
    how many blocks the last epoch froze (tools and head, and what it kept); `previous` how many of
    the request before stand unchanged at the beginning of this one. No place is among them where
    the prefix is too short to be cached. How many marks there may be, the wire decides.
    """
    wanted = dict.fromkeys([prefix.blocks, previous, boundary, min(2, prefix.blocks)])
    return tuple(
        blocks
        for blocks in wanted
        if 0 < blocks <= prefix.blocks and prices.cacheable(prefix.end(blocks)) > 0
    )
