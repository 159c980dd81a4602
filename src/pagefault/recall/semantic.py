"""Candidates by meaning: what an embedder and its vectors are to search.

Search needs none. Where there is one, and words leave it open which page answers (`certainty.py`),
it is asked once, for a query and each question in it, and what it finds joins what the words find:
pages with none of the query's words become candidates, and every candidate's score gains a part,
`meaning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from pagefault.model.page import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.recall.lexical import Values
    from pagefault.store.likely import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Similar:
    """Places of a scope and how near each page is in meaning. Both arrays are equally long.

    `places` ascend, each once; they are places as `PageIndex.candidates` tells them for the same
    scope (`store/place.py`). `scores` are 0..1, larger is nearer: a cosine, with what is below zero
    as zero. What they mean beyond their order is the embedder's business: search compares them only
    with one another.
    """

    places: NDArray[np.int64]
    scores: NDArray[np.float64]
    weight: float = 0.05
    """What the nearest page gains, in units of what words are worth for the page they fit best.
    Static embeddings know little that words do not, and should keep to 0.05; an encoder of
    sentences takes 0.5 (docs/recall.md).
    """
    scale: tuple[float, float] | None = None
    """Which scores are middling and highest, where the places do not tell it: of few pages that
    somebody chose, each may be as near as pages ever are.
    """


class Semantic(Protocol):
    """Finds pages by meaning. The same stored pages and query give the same answer."""

    def __call__(
        self,
        scope: Scope,
        queries: Sequence[str],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> Sequence[Similar]:
        """For each query the `limit` pages of the scope that are nearest to it, at most.

        With `only`, places that ascend: the `limit` nearest that stand there, however many others
        are nearer. Others may be among them, for what stands beside a page counts for it.

        Pages without a vector (yet) are left out, and so is what the scope does not see. Called
        from several threads at once. An embedder that cannot be reached answers with nothing:
        search goes by words then.
        """
        ...


BESIDE: Final = 0.75
"""How much a neighbour's nearness counts: an answer stands beside its question, and one page that
is near by itself may be so by chance.
"""

RELEVANCE: Final = 0.4
"""Of a page that has only meaning, at most: no message but a question wants it."""


def closeness(similar: Similar, places: Numbers) -> Values:
    """For each of `places` (ascending) 0..1: how near it and those beside it are. 1 is the nearest
    among its like, 0 is middling or below.

    Only what stands out of what was found counts: what a cosine is worth differs from one embedder
    to the next, and one that finds everything alike near decides nothing.
    """
    import numpy as np

    close = np.zeros(len(places))
    if not len(similar.places) or not len(places):
        return close
    middle, highest = similar.scale or (
        float(np.median(similar.scores)),
        float(similar.scores.max()),
    )
    if highest <= middle:
        return close
    relative = np.clip((similar.scores - middle) / (highest - middle), 0.0, 1.0)
    for distance, share in ((0, 1.0), (-1, BESIDE), (1, BESIDE)):
        position = np.searchsorted(similar.places + distance, places)
        position[position == len(similar.places)] = 0
        here = similar.places[position] + distance == places
        close += share * np.where(here, relative[position], 0.0)
    return np.asarray(close / (1 + 2 * BESIDE))
