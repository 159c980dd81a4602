"""The composition of a request: which turns and pages each message shows, and where.

The terms are those of the requirement text: a *frame* is a turn, a *block* a page of that turn, and
a *facet* the part of a message that one text takes, including its label.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.ids import PageId, TurnNo


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """The position of a text in a message, in bytes of the content's UTF-8. A text in parts names
    each of its pages.
    """

    pages: tuple[PageId, ...]
    turn: TurnNo
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSegment:
    """A message of a request, by its index there, and what it shows."""

    message: int
    tokens: int
    facets: tuple[Facet, ...] = ()

    @property
    def frames(self) -> tuple[TurnNo, ...]:
        """The turns that it shows, without duplicates, in the order of the message."""
        return tuple(dict.fromkeys(facet.turn for facet in self.facets))

    @property
    def blocks(self) -> tuple[PageId, ...]:
        """The pages that it shows, likewise."""
        return tuple(dict.fromkeys(page for facet in self.facets for page in facet.pages))
