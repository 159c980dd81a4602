"""What a page is worth by its words and by those that stand near it.

In a conversation the answer often stands beside the words of the question: "what did she paint?"
finds "did you paint again?", and the page after it says what. How far a word reaches is a matter of
words, not of pages: the line after a short question answers it, while of a file of a thousand words
only the edge is near to what was said next. So an occurrence of a term counts in full for the page
it stands in, and for a page beside it by how far off it is in the stream of words (a positional
language model: Lv and Zhai, "Positional Language Models for Information Retrieval", SIGIR 2009):

    reach * exp(-d / DECAY),  d terms away

The index does not keep where in a page a term stands. Anywhere is as likely, so a term in a page of
L terms that begins after a gap of g terms counts the mean of that over the page:

    reach * exp(-g / DECAY) * (DECAY / L) * (1 - exp(-L / DECAY))

The counts are weighed by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
and Beyond", 2009, §3). A page is long or short *for who speaks*: a tool's result of 300 terms and a
user's of 30 are both ordinary, so length is measured by the mean of its role. With one mean for all
the longest role wins, or, with a larger B, the shortest.

What it gets wrong: a long page whose first line answers the last line before it is not near to it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.store.likely import Numbers, among

K1: Final = 1.2  # how soon repeating a term stops to count
B: Final = 0.4  # how much a page that is long for its role is held against its words
DECAY: Final = 60.0  # terms
BEFORE: Final = 0.9  # what a term counts that stands right before a page: it leads up to it
AFTER: Final = 0.6  # and right after it
TURN: Final = 10.0  # terms, as which it counts that somebody else begins to speak
PAGES_BEFORE: Final = 4  # that count for a page: what stands before leads up to it
PAGES_AFTER: Final = 2

Values = NDArray[np.float64]

BORROWED: Final = 0.75
"""What a word counts that stands only around a page, of one that stands in it, in `relevance`."""

_OFFSETS: Final = np.arange(-PAGES_BEFORE, PAGES_AFTER + 1)
_HERE: Final = PAGES_BEFORE  # where 0 stands among them
_NEIGHBOURS: Final = [column for column in range(len(_OFFSETS)) if column != _HERE]
_REACH: Final = np.where(_OFFSETS < 0, BEFORE, AFTER)
_NONE: Final = np.empty(0, dtype=np.int64)


class Worth(NamedTuple):
    """For each place: BM25 of its own terms, what those around it add to that, and the shares
    (0..1) of what the query tells that stand there, and there or, counting less, around there.
    """

    own: Values
    around: Values
    own_coverage: Values
    coverage: Values


class Lengths(NamedTuple):
    """In terms. `usual` is the mean of the role of each place; of a page that was not looked at the
    length is `mean`, and its day is not known (0), so that it lends what it has.
    """

    places: Numbers  # ascending, as the two below
    lengths: Values
    days: Numbers
    mean: float


def worth(
    places: Numbers, at: Numbers, counts: Values, usual: Values, known: Lengths, weights: Values
) -> Worth:
    """What each of `places` is worth; they and `at` ascend.

    `at` are pages with `counts` of each term, `usual` the usual length of each place. What was said
    on another day, in another sitting, lends nothing.
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
    """The same as if every page had the mean length, which costs no look-up. `places`, which
    ascend, have all of `windows(at)` among them.
    """
    own = np.zeros((len(places), len(weights)))
    own[places.searchsorted(at)] = counts
    _, near = _nearness(_OFFSETS[None], Lengths(_NONE, np.empty(0), _NONE, mean))
    borrowed = np.zeros_like(own)
    for column in _NEIGHBOURS:
        # What reaches from a page stands in one run with it: so far off in places as in rows.
        offset = int(_OFFSETS[column])
        to, from_ = (slice(None, -offset), slice(offset, None))
        if offset < 0:
            to, from_ = (slice(-offset, None), slice(None, offset))
        borrowed[to] += near[0, column] * own[from_]
    return _weighed(own, borrowed, K1 * (1 - B + B * max(mean, 1.0) / mean), weights)


def _weighed(own: Values, borrowed: Values, norm: Values | float, weights: Values) -> Worth:
    """`own` and `borrowed` are counts of each term (columns) in places (rows)."""
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
    """All places for which one of these pages may count, a row for each page."""
    reached: Numbers = at[:, None] - _OFFSETS
    return reached


def within_reach(at: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Which of these pages count for one of these places."""
    return np.asarray(among(windows(at), places).any(axis=1))


def _nearness(around: Numbers, known: Lengths) -> tuple[Values, Values]:
    """The lengths of the pages at places (rows) and at `_OFFSETS` from each (columns), and what a
    term counts for the place that stands anywhere in one of them.
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
    """Where each of these stands among the places, which ascend; behind the last, if nowhere."""
    position = places.searchsorted(wanted)
    if not len(places):
        return position
    stands = places[np.minimum(position, len(places) - 1)] == wanted
    return np.where(stands, position, len(places))


def _saturated(count: Values, norm: Values | float) -> Values:
    """What so many of each term (columns) are worth in texts (rows) of these norms."""
    return count * (K1 + 1) / (count + norm)
