"""Where an order of eviction stops: once enough tokens come free."""

from __future__ import annotations

from collections.abc import Iterable

from pagefault.model.ids import PageId


def enough(order: Iterable[tuple[PageId, int]], tokens_needed: int) -> list[PageId]:
    """The first pages of an order, given with their tokens, that together free `tokens_needed`; all
    of them, if they free less. No more of the order is computed than that.
    """
    chosen: list[PageId] = []
    if tokens_needed <= 0:
        return chosen
    for page_id, tokens in order:
        chosen.append(page_id)
        tokens_needed -= tokens
        if tokens_needed <= 0:
            break
    return chosen
