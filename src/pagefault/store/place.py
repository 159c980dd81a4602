"""A page's place in the index: its session and its order there, as one number.

The pages of a session are one range of places, in order, so a query of one session reads only that
range, however large the store is.
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
    """The place of the page of this session and order."""
    assert 0 <= order <= ORDER_MAX
    return session << ORDER_BITS | order


def place_in(scope: Scope, row: PageRow) -> int:
    """A page's place for ranking: its order, or over several sessions its place in the index."""
    return place_of(row.session, row.order) if scope.is_wide else row.order


class Span(NamedTuple):
    """Places from `first` to `last`, counted from `origin` in results."""

    first: int
    last: int
    origin: int


ALL: Final = Span(0, (1 << 63) - 1, 0)


def session_span(session: SessionNo) -> Span:
    """All places of a session, with orders as results."""
    first = session << ORDER_BITS
    return Span(first, first | ORDER_MAX, first)


def said_span(session: SessionNo) -> Span:
    """The places of a session's transcript pages."""
    first = session << ORDER_BITS
    return Span(first, first | DERIVED_ORDER - 1, first)


def derived_span(session: SessionNo) -> Span:
    """The places of a session's derived pages."""
    first = session << ORDER_BITS
    return Span(first | DERIVED_ORDER, first | ORDER_MAX, first)


def spans_with_vectors(scope: Scope) -> list[tuple[Span, Seq | None]]:
    """The spans of a scope whose pages have vectors, each with the last visible record, or None if
    all are visible.
    """
    if scope.is_everything:
        return [(ALL, None)]
    if scope.of_derived:  # only the pages that these were derived from have vectors
        return []
    told = [(said_span(session), upto) for session, upto in scope.parts]
    return [(span._replace(origin=0) if scope.is_several else span, upto) for span, upto in told]
