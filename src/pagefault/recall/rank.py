"""Which pages answer a query, by their own words and by what was said around them.

In a conversation the answer often stands beside the words of the question: "what did she paint?"
finds "did you paint again?", and the page after it says what. So a page is worth

    OWN × BM25(its own text) + BM25(the window around it),

where a neighbour's words count the less the further off it stands. BM25: Robertson and Zaragoza,
"The Probabilistic Relevance Framework: BM25 and Beyond", 2009, §3; with `log(1 + …)` even a term
that most pages have counts for something.

The constants were chosen on five LoCoMo conversations (`pagefault bench retrieval`), with an
eye on three and two of them apart: no choice helped the one part and hurt the other, and results
are flat around all of them. The five that are kept apart have not been looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.api import Candidates
from pagefault.store.likely import Numbers, among, distinct, rarity

K1: Final = 1.2  # how soon repeating a term stops to count
B: Final = 0.4  # how much a long text is held against its words
WINDOW_B: Final = 0.5
OWN: Final = 0.4
MENTION: Final = 0.3  # what the speaker's name tells as a word, once it was read as a speaker
NEAR: Final = ((-2, 0.4), (-1, 0.8), (0, 1.0), (1, 1.0), (2, 0.6), (3, 0.4), (4, 0.2))
"""How much of a page's words count for the page so many places *after* it: an answer follows."""

MEASURED_MAX: Final = 400
"""Places whose pages' lengths are looked at: those that lead before they are."""

Values = NDArray[np.float64]

_NEAR_SUM: Final = sum(weight for _, weight in NEAR)


class Ranked(NamedTuple):
    """A place in the scope and why it stands where it does. `own` and `neighbourhood` add up."""

    place: int
    score: float
    own: float
    neighbourhood: float
    coverage: float  # 0..1: how much of what the query tells stands there or around there


class Ranking(NamedTuple):
    """The best `places`, and how many there are in `total`."""

    places: tuple[Ranked, ...]
    total: int


def rank(
    found: Candidates,
    lengths: Callable[[Collection[int]], Mapping[int, int]],
    *,
    speakers: Collection[int] = (),
    coverage_min: float = 0.0,
) -> Ranking:
    """Places in scope by how likely they answer, best first; ties in their order.

    `found` are candidates whose neighbours in place are neighbours in a conversation; `lengths`
    tells how long pages are. `speakers` are the positions, among the query's terms, of words that
    name a speaker. A place without any term of the query is in the answer if a neighbour has one;
    whether there is a page at every place is for the caller to see.
    """
    weights = np.array([rarity(found.pages, frequency) for frequency in found.frequencies])
    if len(speakers) < sum(map(bool, found.frequencies)):
        weights[list(speakers)] *= MENTION
    at, counts = found.places, found.counts.astype(np.float64)
    if not len(at):
        return Ranking((), 0)
    # First as if every page were of mean length, which costs no look-up.
    places = distinct(at[:, None] + np.array([distance for distance, _ in NEAR]))
    level = np.ones(len(at))
    own, neighbourhood, coverage = _score(places, at, counts, level, weights)
    order = np.lexsort((places, -(own + neighbourhood)))
    order = order[coverage[order] >= coverage_min]
    total = len(order)
    # Then the best of them as they are.
    places = np.sort(places[order[:MEASURED_MAX]])
    if not len(places):
        return Ranking((), 0)
    near = _within_reach(at, places)
    at, counts = at[near], counts[near]
    known = lengths(at.tolist())
    relative = np.array([known.get(place, 0) for place in at.tolist()]) / found.length_mean
    own, neighbourhood, coverage = _score(places, at, counts, relative, weights)
    score = own + neighbourhood
    order = np.lexsort((places, -score))
    columns = [one[order].tolist() for one in (places, score, own, neighbourhood, coverage)]
    return Ranking(tuple(map(Ranked, *columns)), total)


def _score(
    places: Numbers, at: Numbers, counts: Values, relative: Values, weights: Values
) -> tuple[Values, Values, Values]:
    """What each of these places is worth by its own words and by those around it, and its coverage.

    `at` are pages with `counts` of each term and lengths `relative` to the mean. A neighbour that
    is none of them is taken to be of mean length.
    """
    around = np.zeros((len(places), len(weights)))  # the weighted count of each term around there
    excess = np.zeros(len(places))  # how much a window is longer than the mean
    for distance, near in NEAR:
        window = np.searchsorted(places, at + distance)
        window[window == len(places)] = 0
        there = places[window] == at + distance
        around[window[there]] += near * counts[there]
        excess[window[there]] += near * (relative[there] - 1)
    own = np.zeros(len(places))
    window = np.searchsorted(places, at)
    window[window == len(places)] = 0
    there = places[window] == at
    norm = K1 * (1 - B + B * relative[there])
    own[window[there]] = OWN * (_worth(counts[there], norm) @ weights)
    neighbourhood = _worth(around, K1 * (1 + WINDOW_B * excess / _NEAR_SUM)) @ weights
    coverage = np.minimum(around, 1.0) @ weights / weights.sum()
    return own, neighbourhood, coverage


def _within_reach(at: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Which of these pages count for one of these places."""
    reached = np.zeros(len(at), dtype=np.bool_)
    for distance, _ in NEAR:
        reached |= among(at + distance, places)
    return reached


def _worth(count: Values, norm: Values) -> Values:
    """What so many of each term (columns) are worth in texts (rows) of these norms."""
    return count * (K1 + 1) / (count + norm[:, None])
