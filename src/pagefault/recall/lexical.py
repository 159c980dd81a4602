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

from collections.abc import Iterator
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
    own_counts = np.zeros((len(places), len(weights)))
    around_counts = np.zeros_like(own_counts)
    lengths, near = _nearness(places, known)
    for column, (there, row) in enumerate(_seen_from(at, places)):
        if column == _HERE:
            own_counts[row] = counts[there]
        else:
            around_counts[row] += near[row, column, None] * counts[there]
    norm = K1 * (1 - B + B * lengths / usual)
    share = weights / weights.sum()
    own = _saturated(own_counts, norm) @ weights
    whole = _saturated(own_counts + around_counts, norm) @ weights
    own_coverage = np.minimum(own_counts, 1.0) @ share
    borrowed = np.maximum(np.minimum(own_counts + around_counts, 1.0) @ share - own_coverage, 0.0)
    return Worth(own, whole - own, own_coverage, own_coverage + BORROWED * borrowed)


def windows(at: Numbers) -> Numbers:
    """All places for which one of these pages may count, a row for each page."""
    reached: Numbers = at[:, None] - _OFFSETS
    return reached


def within_reach(at: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Which of these pages count for one of these places."""
    return np.asarray(among(windows(at), places).any(axis=1))


def _nearness(places: Numbers, known: Lengths) -> tuple[Values, Values]:
    """The length of each place, and what a term counts for it that stands anywhere in the page at
    each of `_OFFSETS`.
    """
    rows = len(places) if len(known.places) else 1  # where nothing is known, each is like the next
    lengths = np.full((rows, len(_OFFSETS)), max(known.mean, 1.0))
    days = np.zeros(lengths.shape, dtype=np.int64)
    for column, (there, row) in enumerate(_seen_from(known.places, places)):
        lengths[row, column] = np.maximum(known.lengths[there], 1.0)
        days[row, column] = known.days[there]
    near = np.zeros_like(lengths)
    for columns, reach in (
        (range(_HERE - 1, -1, -1), BEFORE),
        (range(_HERE + 1, len(_OFFSETS)), AFTER),
    ):
        gap = np.zeros(rows)
        for column in columns:
            length = lengths[:, column]
            reached = reach * np.exp(-gap / DECAY) * (DECAY / length)
            near[:, column] = reached * -np.expm1(-length / DECAY)
            gap = gap + length + TURN
    is_other_day = (days != 0) & (days[:, [_HERE]] != 0) & (days != days[:, [_HERE]])
    near[is_other_day] = 0.0
    return lengths[:, _HERE], np.broadcast_to(near, (len(places), len(_OFFSETS)))


def _seen_from(
    at: Numbers, places: Numbers
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """For each of `_OFFSETS`, which of these pages stand so far from one of the places, and at what
    position that place is.
    """
    these = windows(at).T
    positions = places.searchsorted(these)
    positions[positions == len(places)] = 0
    for position, are in zip(positions, places[positions] == these, strict=True):
        yield are, position[are]


def _saturated(count: Values, norm: Values) -> Values:
    """What so many of each term (columns) are worth in texts (rows) of these norms."""
    return count * (K1 + 1) / (count + norm[:, None])
