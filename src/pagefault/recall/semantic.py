"""Candidates by meaning: the contract between search and an embedder with its vectors.

Optional. If there is an embedder, and words leave the answer open (`certainty.py`), it is called
once for a query and its questions. Its results are merged with those by words: pages without any of
the query's words become candidates, and every candidate's score gains a part, `meaning`.
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
    """Places of a scope and how similar in meaning each page is; the arrays are parallel.

    `places` are ascending and unique, numbered as by `PageIndex.candidates` for the same scope
    (`store/place.py`). `scores` are 0..1, larger is nearer: a cosine, with negatives as zero. Their
    scale is the embedder's own: search compares them only with one another.
    """

    places: NDArray[np.int64]
    scores: NDArray[np.float64]
    weight: float = 0.05
    """What the nearest page gains, in units of the best page's score by words. Static embeddings
    add little to words and should keep to 0.05; a sentence encoder takes 0.5 (docs/recall.md).
    """
    scale: tuple[float, float] | None = None
    """The median and highest scores, if these places do not represent them: among a few hand-picked
    pages, all may be as near as pages ever are.
    """


class Semantic(Protocol):
    """Finds pages by meaning. The same stored pages and query give the same result."""

    def __call__(
        self,
        scope: Scope,
        queries: Sequence[str],
        *,
        limit: int,
        only: NDArray[np.int64] | None = None,
    ) -> Sequence[Similar]:
        """For each query, at most the `limit` pages of the scope nearest to it.

        With `only` (ascending places), the `limit` nearest there, however many others are nearer.
        Others may be among the results, because neighbours count for a page.

        Pages without a vector (yet), or not visible in the scope, are left out. Called from several
        threads at once. If the embedder cannot be reached, the result is empty, and search goes by
        words.
        """
        ...


BESIDE: Final = 0.75
"""Weight of a neighbour's similarity: answers are beside their questions, and a single page may be
similar by chance.
"""

RELEVANCE: Final = 0.4
"""Most relevance of a page found by meaning alone: only a question wants such a page."""


def closeness(similar: Similar, places: Numbers) -> Values:
    """For each of `places` (ascending), the similarity 0..1 of the page and its neighbours: 1 is
    the nearest among its like, 0 the median or below.

    Only what stands out among the results counts. Cosines are not comparable between embedders, and
    one that finds everything equally near decides nothing.
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
