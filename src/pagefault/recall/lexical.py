"""The lexical score of a page: its own words and those of nearby pages.

In a conversation, the answer is often beside the words of the question: "what did she paint?" finds
"did you paint again?", and the page after it has the answer. Nearness is measured in words, not
pages: the line after a short question answers it, but only the edge of a file of a thousand words
is near to what was said next. So an occurrence of a term counts in full for its own page, and for a
nearby page by its distance in the stream of words (a positional language model: Lv and Zhai,
"Positional Language Models for Information Retrieval", SIGIR 2009):

    reach * exp(-d / DECAY),  d terms away

The index does not store positions within a page, so every position is taken as equally likely. A
term in a page of L terms that begins after a gap of g terms counts the mean over the page:

    reach * exp(-g / DECAY) * (DECAY / L) * (1 - exp(-L / DECAY))

The counts are weighted by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
BM25 and Beyond", 2009, §3). Length is normalised *by role*: a tool's result of 300 terms and a
user's message of 30 are both ordinary. With one mean for all, the role with the longest pages wins
or, with a larger B, the one with the shortest.

What it gets wrong: a long page whose first line answers the line right before it counts as far.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.likely import Numbers, among

K1: Final = 1.2  # how soon repetition of a term stops counting
B: Final = 0.4  # how strongly a page that is long for its role is penalised
DECAY: Final = 60.0  # terms
BEFORE: Final = 0.9  # weight of a term right before a page, which leads up to it
AFTER: Final = 0.6  # and of one right after it
TURN: Final = 10.0  # terms that a change of speaker counts as
PAGES_BEFORE: Final = 4  # pages before it that count: they lead up to it
PAGES_AFTER: Final = 2

Values = NDArray[np.float64]

BORROWED: Final = 0.75
"""Weight, in `relevance`, of a word that occurs only around a page, relative to one in the page."""

_OFFSETS: Final = np.arange(-PAGES_BEFORE, PAGES_AFTER + 1)
_HERE: Final = PAGES_BEFORE  # index of offset 0
_NEIGHBOURS: Final = [column for column in range(len(_OFFSETS)) if column != _HERE]
_REACH: Final = np.where(_OFFSETS < 0, BEFORE, AFTER)
_NONE: Final = np.empty(0, dtype=np.int64)


class Worth(NamedTuple):
    """Per place: BM25 of its own terms, what the terms around it add, and two shares (0..1) of the
    query's weight: in the page, and in the page or, at a discount, around it.
    """

    own: Values
    around: Values
    own_coverage: Values
    coverage: Values


class Lengths(NamedTuple):
    """Page lengths in terms. A page that was not looked up has length `mean` and an unknown day
    (0), so that it still counts for its neighbours.
    """

    places: Numbers  # ascending; parallel to the next two
    lengths: Values
    days: Numbers
    mean: float


def worth(
    places: Numbers, at: Numbers, counts: Values, usual: Values, known: Lengths, weights: Values
) -> Worth:
    """The lexical score of each of `places`; `places` and `at` are ascending.

    `at` are pages with `counts` of each term; `usual` is the mean length for each place's role.
    Pages of another day, hence another sitting, do not count for their neighbours.
    """
    around = places[:, None] + _OFFSETS
    lengths, near = _nearness(around, known)
    nowhere = np.zeros((1, len(weights)))
    there = np.concatenate([counts, nowhere])[_positions(at, around)]
    borrowed = np.zeros((len(places), len(weights)))
    for column in _NEIGHBOURS:
        borrowed += near[:, column, None] * there[:, column]
    norm = K1 * (1 - B + B * lengths[:, [_HERE]] / usual[:, None])
    return _weighed(there[:, _HERE], borrowed, norm, weights)


def roughly(places: Numbers, at: Numbers, counts: Values, mean: float, weights: Values) -> Worth:
    """Approximates `worth` by giving every page the mean length, which needs no look-up. `places`,
    ascending, must include all of `windows(at)`.
    """
    own = np.zeros((len(places), len(weights)))
    own[places.searchsorted(at)] = counts
    _, near = _nearness(_OFFSETS[None], Lengths(_NONE, np.empty(0), _NONE, mean))
    borrowed = np.zeros_like(own)
    for column in _NEIGHBOURS:
        # A page's reach is contiguous in `places`: the offset in places equals the offset in rows.
        offset = int(_OFFSETS[column])
        to, from_ = (slice(None, -offset), slice(offset, None))
        if offset < 0:
            to, from_ = (slice(-offset, None), slice(None, offset))
        borrowed[to] += near[0, column] * own[from_]
    return _weighed(own, borrowed, K1 * (1 - B + B * max(mean, 1.0) / mean), weights)


def _weighed(own: Values, borrowed: Values, norm: Values | float, weights: Values) -> Worth:
    """Combine the counts of each term (columns) per place (rows) into scores and coverages."""
    share = weights / weights.sum()
    whole = own + borrowed
    by_itself = _saturated(own, norm) @ weights
    own_coverage = np.minimum(own, 1.0) @ share
    beside = np.maximum(np.minimum(whole, 1.0) @ share - own_coverage, 0.0)
    return Worth(
        by_itself,
        _saturated(whole, norm) @ weights - by_itself,
        own_coverage,
        own_coverage + BORROWED * beside,
    )


def windows(at: Numbers) -> Numbers:
    """All places for which each of these pages can count, one row per page."""
    reached: Numbers = at[:, None] - _OFFSETS
    return reached


def within_reach(at: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Mask of the pages that count for at least one of these places."""
    return np.asarray(among(windows(at), places).any(axis=1))


def _nearness(around: Numbers, known: Lengths) -> tuple[Values, Values]:
    """For the pages at places (rows) plus `_OFFSETS` (columns): their lengths, and the weight for
    the place of a term anywhere in them.
    """
    position = _positions(known.places, around)
    lengths = np.append(np.maximum(known.lengths, 1.0), max(known.mean, 1.0))[position]
    days = np.append(known.days, 0)[position]
    steps = lengths + TURN
    gaps = np.zeros_like(lengths)
    np.cumsum(steps[:, _HERE - 1 : 0 : -1], axis=1, out=gaps[:, _HERE - 2 :: -1])
    np.cumsum(steps[:, _HERE + 1 : -1], axis=1, out=gaps[:, _HERE + 2 :])
    reached = _REACH * np.exp(-gaps / DECAY) * (DECAY / lengths)
    near = reached * -np.expm1(-lengths / DECAY)
    near[(days != 0) & (days[:, [_HERE]] != 0) & (days != days[:, [_HERE]])] = 0.0
    return lengths, near


def _positions(places: Numbers, wanted: Numbers) -> NDArray[np.intp]:
    """Index of each wanted place in `places` (ascending); `len(places)` if absent."""
    position = places.searchsorted(wanted)
    if not len(places):
        return position
    stands = places[np.minimum(position, len(places) - 1)] == wanted
    return np.where(stands, position, len(places))


def _saturated(count: Values, norm: Values | float) -> Values:
    """BM25's saturated term frequency, for counts of terms (columns) in texts (rows)."""
    return count * (K1 + 1) / (count + norm)
