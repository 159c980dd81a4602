"""Which pages answer a query, by their own words and by what was said around them.

In a conversation the answer often stands beside the words of the question: "what did she paint?"
finds "did you paint again?", and the page after it says what. So a page is worth

    OWN × BM25(its own text) + BM25(the window around it),

where a neighbour's words count the less the further off it stands. BM25: Robertson and Zaragoza,
"The Probabilistic Relevance Framework: BM25 and Beyond", 2009, §3; with `log(1 + …)` even a term
that most pages have counts for something.

The constants were chosen on five LoCoMo conversations (`benchmarks/retrieval_locomo.py`), with an
eye on three and two of them apart: no choice helped the one part and hurt the other, and results
are flat around all of them. The five that are kept apart have not been looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.api import Candidates
from pagefault.store.likely import rarity

K1: Final = 1.2  # how soon repeating a term stops to count
B: Final = 0.4  # how much a long text is held against its words
WINDOW_B: Final = 0.5
OWN: Final = 0.4
MENTION: Final = 0.3  # what the speaker's name tells as a word, once it was read as a speaker
NEAR: Final = ((-2, 0.4), (-1, 0.8), (0, 1.0), (1, 1.0), (2, 0.6), (3, 0.4), (4, 0.2))
"""How much of a page's words count for the page so many places *after* it: an answer follows."""

Values = NDArray[np.float64]

_NEAR_SUM: Final = sum(weight for _, weight in NEAR)


class Ranked(NamedTuple):  # a search makes hundreds: a dataclass takes thrice as long
    """A place in the scope and why it stands where it does. `own` and `neighbourhood` add up."""

    place: int
    score: float
    own: float
    neighbourhood: float
    coverage: float  # 0..1: how much of what the query tells stands there or around there


def rank(
    found: Candidates, *, speakers: Collection[int] = (), coverage_min: float = 0.0
) -> list[Ranked]:
    """Places in scope by how likely they answer, best first; ties in their order.

    `found` are candidates whose neighbours in place are neighbours in a conversation. `speakers`
    are the positions, among the query's terms, of words that name a speaker. A place without any
    term of the query is in the answer if a neighbour has one; whether there is a page at every
    place is for the caller to see.
    """
    weights = np.array([rarity(found.pages, frequency) for frequency in found.frequencies])
    if len(speakers) < sum(map(bool, found.frequencies)):
        weights[list(speakers)] *= MENTION
    if not found.rows:
        return []
    at = np.array([row.place for row in found.rows], dtype=np.int64)
    counts = np.array([row.counts for row in found.rows], dtype=np.float64)
    relative = np.array([row.length for row in found.rows], dtype=np.float64) / found.length_mean
    places = np.unique(at[:, None] + np.array([distance for distance, _ in NEAR]))
    around = np.zeros((len(places), len(weights)))  # the weighted count of each term around there
    # How much a window is longer than the mean. A neighbour that is no candidate was not read: it
    # is taken to be of mean length.
    excess = np.zeros(len(places))
    for distance, near in NEAR:
        window = np.searchsorted(places, at + distance)
        around[window] += near * counts
        excess[window] += near * (relative - 1)
    own = np.zeros(len(places))
    own[np.searchsorted(places, at)] = OWN * _worth(counts, K1 * (1 - B + B * relative)) @ weights
    neighbourhood = _worth(around, K1 * (1 + WINDOW_B * excess / _NEAR_SUM)) @ weights
    coverage = np.minimum(around, 1.0) @ weights / weights.sum()
    score = own + neighbourhood
    order = np.lexsort((places, -score))
    order = order[coverage[order] >= coverage_min]
    columns = (places, score, own, neighbourhood, coverage)
    return [Ranked(*row) for row in zip(*(one[order].tolist() for one in columns), strict=True)]


def _worth(counts: Values, norm: Values) -> Values:
    """What so many of each term (columns) are worth in texts (rows) of these norms."""
    return counts * (K1 + 1) / (counts + norm[:, None])
