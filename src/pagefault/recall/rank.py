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

from pagefault.store.api import Candidates
from pagefault.store.likely import rarity

K1: Final = 1.2  # how soon repeating a term stops to count
B: Final = 0.4  # how much a long text is held against its words
WINDOW_B: Final = 0.5
OWN: Final = 0.4
MENTION: Final = 0.3  # what the speaker's name tells as a word, once it was read as a speaker
NEAR: Final = ((-2, 0.4), (-1, 0.8), (0, 1.0), (1, 1.0), (2, 0.6), (3, 0.4), (4, 0.2))
"""How much of a page's words count for the page so many places *after* it: an answer follows."""

_NEAR_SUM: Final = sum(weight for _, weight in NEAR)


class Ranked(NamedTuple):  # a search makes hundreds: a dataclass takes thrice as long
    """A place in the scope and why it stands where it does. `own` and `neighbourhood` add up."""

    order: int
    score: float
    own: float
    neighbourhood: float
    coverage: float  # 0..1: how much of what the query tells stands there or around there


def rank(
    found: Candidates, *, speakers: Collection[int] = (), coverage_min: float = 0.0
) -> list[Ranked]:
    """Places in scope by how likely they answer, best first; ties in their order.

    `found` are candidates over one line of pages, so that neighbours in order are neighbours in
    fact. `speakers` are the positions, among the query's terms, of words that name a speaker. A
    place without any term of the query is in the answer if a neighbour has one; whether there is
    a page at every place is for the caller to see.
    """
    weights = [rarity(found.pages, frequency) for frequency in found.frequencies]
    if len(speakers) < sum(map(bool, found.frequencies)):
        for position in speakers:
            weights[position] *= MENTION
    total = sum(weights)
    own: dict[int, float] = {}
    windows: dict[int, dict[int, float]] = {}  # order -> term -> its weighted count around there
    excess: dict[int, float] = {}  # order -> how much its window is longer than the mean
    for row in found.rows:
        relative = row.length / found.length_mean
        norm = K1 * (1 - B + B * relative)
        present = [(term, count) for term, count in enumerate(row.counts) if count]
        own[row.order] = OWN * sum([weights[term] * _worth(count, norm) for term, count in present])
        for distance, near in NEAR:
            order = row.order + distance
            # A neighbour that is no candidate was not read: it is taken to be of mean length.
            if order in windows:
                window = windows[order]
                excess[order] += near * (relative - 1)
                for term, count in present:
                    window[term] = window.get(term, 0.0) + near * count
            else:
                windows[order] = {term: near * count for term, count in present}
                excess[order] = near * (relative - 1)
    ranked: list[Ranked] = []
    for order, window in windows.items():
        norm = K1 * (1 + WINDOW_B * excess[order] / _NEAR_SUM)
        around = covered = 0.0
        for term, near_count in window.items():
            weight = weights[term]
            around += weight * _worth(near_count, norm)
            covered += weight * min(1.0, near_count)
        covered /= total
        if covered >= coverage_min:
            mine = own.get(order, 0.0)
            ranked.append(Ranked(order, mine + around, mine, around, covered))
    ranked.sort(key=lambda place: (-place.score, place.order))
    return ranked


def _worth(count: float, norm: float) -> float:
    return count * (K1 + 1) / (count + norm)
