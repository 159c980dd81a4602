"""Candidates by meaning: what an embedder and its vectors are to search.

Search needs none. Where there is one, it is asked once for a query, and what it finds joins what
the words find: pages with none of the query's words become candidates, and every candidate's score
gains a part, `meaning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pagefault.model.page import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


class Semantic(Protocol):
    """Finds pages by meaning. The same stored pages and query give the same answer."""

    def __call__(self, scope: Scope, query: str, *, limit: int) -> Similar:
        """The `limit` pages of the scope that are nearest to the query, at most.

        Pages without a vector (yet) are left out, and so is what the scope does not see. Called
        from several threads at once. An embedder that cannot be reached answers with nothing:
        search goes by words then.
        """
        ...
