"""What a request is made of: which turns and pages each message shows, and where in it they stand.

The names are those of the text that asked for it: a *frame* is a turn, a *block* a page of that
turn, and a *facet* what of a message one text takes, label included.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.ids import PageId, TurnNo


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """Where a text stands in a message: bytes of the message's content in UTF-8. A text in parts
    names each of its pages.
    """

    pages: tuple[PageId, ...]
    turn: TurnNo
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSegment:
    """A message of a request, by its place there, and what it shows."""

    message: int
    tokens: int
    facets: tuple[Facet, ...] = ()

    @property
    def frames(self) -> tuple[TurnNo, ...]:
        """The turns of what it shows, each once, in the order of the message."""
        return tuple(dict.fromkeys(facet.turn for facet in self.facets))

    @property
    def blocks(self) -> tuple[PageId, ...]:
        """The pages that it shows, likewise."""
        return tuple(dict.fromkeys(page for facet in self.facets for page in facet.pages))
