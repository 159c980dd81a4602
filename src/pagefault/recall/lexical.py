"""What a page is worth by its words and by those that stand around it.

In a conversation the answer often stands beside the words of the question: "what did she paint?"
finds "did you paint again?", and the page after it says what. So a page has the worth of its own
text and that of the window around it, where a neighbour's words count the less the further off it
stands. BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, §3; with `log(1 + …)` even a term that most pages have counts for something.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.likely import Numbers, among

K1: Final = 1.2  # how soon repeating a term stops to count
B: Final = 0.4  # how much a long text is held against its words
WINDOW_B: Final = 0.5
NEAR: Final = ((-2, 0.4), (-1, 0.8), (0, 1.0), (1, 1.0), (2, 0.6), (3, 0.4), (4, 0.2))
"""How much of a page's words count for the page so many places *after* it: an answer follows."""

Values = NDArray[np.float64]

BORROWED: Final = 0.75
"""What a word counts that stands only around a page, of one that stands in it: the page may answer
who says it, or talk of something else. Of five LoCoMo conversations any share from 0.5 on does as
well; on conversations with assistants less is better. It was chosen with both in sight.
"""

_NEAR_SUM: Final = sum(weight for _, weight in NEAR)


class Worth(NamedTuple):
    """For each place: BM25 of its own text and of its window, and the shares (0..1) of what the
    query tells that stand there, and there or, counting less, around there.
    """

    own: Values
    around: Values
    own_coverage: Values
    coverage: Values


def worth(places: Numbers, at: Numbers, counts: Values, relative: Values, weights: Values) -> Worth:
    """What each of `places` is worth; they and `at` ascend.

    `at` are pages with `counts` of each term and lengths `relative` to the mean. A neighbour that
    is none of them is taken to be of mean length.
    """
    there, window = _positions(at, places)
    near_counts = np.zeros((len(places), len(weights)))
    excess = np.zeros(len(places))  # how much a window is longer than the mean
    for distance, near in NEAR:
        here, row = _positions(at + distance, places)
        near_counts[row] += near * counts[here]
        excess[row] += near * (relative[here] - 1)
    own, own_coverage = np.zeros(len(places)), np.zeros(len(places))
    norm = K1 * (1 - B + B * relative[there])
    share = weights / weights.sum()
    own[window] = _saturated(counts[there], norm) @ weights
    own_coverage[window] = np.minimum(counts[there], 1.0) @ share
    around = _saturated(near_counts, K1 * (1 + WINDOW_B * excess / _NEAR_SUM)) @ weights
    borrowed = np.maximum(np.minimum(near_counts, 1.0) @ share - own_coverage, 0.0)
    return Worth(own, around, own_coverage, own_coverage + BORROWED * borrowed)


def within_reach(at: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Which of these pages count for one of these places."""
    reached = np.zeros(len(at), dtype=np.bool_)
    for distance, _ in NEAR:
        reached |= among(at + distance, places)
    return reached


def _positions(these: Numbers, places: Numbers) -> tuple[NDArray[np.bool_], Numbers]:
    """Which of these are places, and at what position each of those stands."""
    position = np.searchsorted(places, these)
    position[position == len(places)] = 0
    are = places[position] == these
    return are, position[are]


def _saturated(count: Values, norm: Values) -> Values:
    """What so many of each term (columns) are worth in texts (rows) of these norms."""
    return count * (K1 + 1) / (count + norm[:, None])
