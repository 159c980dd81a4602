"""Where a page stands in the index: its session and its order there, as one number.

The pages of a session are one range of places, in their order; so what concerns one session reads
that range alone, however large the store is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import DERIVED_ORDER, PageRow, Scope

ORDER_BITS: Final = 28
"""Room for 134 million pages in a session and as many derived ones, and for 34 billion records
before the last session.
"""

ORDER_MAX: Final = (1 << ORDER_BITS) - 1


def place_of(session: SessionNo, order: int) -> int:
    """Where a page of this session and order stands."""
    assert 0 <= order <= ORDER_MAX
    return session << ORDER_BITS | order


def place_in(scope: Scope, row: PageRow) -> int:
    """Where a page stands as ranking tells it: its order, or over several sessions its place."""
    return place_of(row.session, row.order) if scope.is_wide else row.order


class Span(NamedTuple):
    """Places from `first` to `last`, told as their distance from `origin`."""

    first: int
    last: int
    origin: int


ALL: Final = Span(0, (1 << 63) - 1, 0)


def session_span(session: SessionNo) -> Span:
    """All places of a session, told as orders."""
    first = session << ORDER_BITS
    return Span(first, first | ORDER_MAX, first)


def said_span(session: SessionNo) -> Span:
    """Where what was said and handed in stands."""
    first = session << ORDER_BITS
    return Span(first, first | DERIVED_ORDER - 1, first)


def derived_span(session: SessionNo) -> Span:
    """Where what was made of it stands."""
    first = session << ORDER_BITS
    return Span(first | DERIVED_ORDER, first | ORDER_MAX, first)


def spans_with_vectors(scope: Scope) -> list[tuple[Span, Seq | None]]:
    """The spans of a scope whose pages have vectors, and the last record that is seen of each, if
    not all are.
    """
    if scope.is_everything:
        return [(ALL, None)]
    if scope.of_derived:  # what it was made of has vectors
        return []
    told = [(said_span(session), upto) for session, upto in scope.parts]
    return [(span._replace(origin=0) if scope.is_several else span, upto) for span, upto in told]
