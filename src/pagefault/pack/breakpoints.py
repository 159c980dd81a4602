"""Cache marks: where to place them in a request.

Some providers find the longest cached prefix by themselves; others look only at marks. For those
there are four places, each for a reason: the end of the request, for the next one; the end of the
previous request, where its cache entry is; behind what the last epoch kept, so that the next epoch
need not fall back to the head; and behind the head, which outlives every epoch.

The second is there because Anthropic searches only 20 blocks before a mark for an older entry: a
turn of 21 tool results would miss it silently. A mark at the exact place needs no search.
"""

from __future__ import annotations

from pagefault.model.prices import PriceList
from pagefault.pack.prefix import Prefix


def worth_marking(
    prices: PriceList, prefix: Prefix, *, boundary: int, previous: int
) -> tuple[int, ...]:
    """The places in the request of `prefix` that are worth a mark, the most useful first.

    Places are counted in blocks (tools, then messages): 2 is behind the first message. `boundary`
    is the number of blocks that the last epoch froze (tools and head, and what it kept); `previous`
    the number that this request shares with the one before. Places where the prefix is too short to
    be cached are left out. The wire format limits the number of marks.
    """
    wanted = dict.fromkeys([prefix.blocks, previous, boundary, min(2, prefix.blocks)])
    return tuple(
        blocks
        for blocks in wanted
        if 0 < blocks <= prefix.blocks and prices.cacheable(prefix.end(blocks)) > 0
    )
