"""Whether `relevance` tells how often a hit is evidence, and the weights by which it does.

Of hits that a search is `p` sure of, a share of `p` should be evidence (Platt, "Probabilistic
Outputs for Support Vector Machines", 1999). `brier` is the mean square of what is wrong with it
(Brier, Monthly Weather Review 1950); `ece` the mean distance between what was said and what was so,
over bins of equally sure hits (Naeini et al., AAAI 2015). Evidence is what the questions name: more
pages than these may bear on a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pagefault.lab.crossfit import is_evidence
from pagefault.recall.likelihood import FITTED, Weights, likelihoods, measures

if TYPE_CHECKING:
    from pagefault.lab.retrieval import Asked

DEPTH: Final = 20  # hits of each question that are judged
BINS: Final = 10
STEPS: Final = 20  # of Newton's method, which takes six
PENALTY: Final = 1.0  # of the squares of the weights

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits with a likelihood from `least` on, how sure the search was of them, and how many were
    evidence.
    """

    least: float
    hits: int
    said: float
    were: float


@dataclass(frozen=True, slots=True)
class Reliability:
    brier: float
    ece: float
    bins: tuple[Bin, ...]


def fitted_weights(asked: Sequence[Asked]) -> Weights:
    """The weights under which these questions' hits are as likely evidence as they are; each kind
    counts the same.
    """
    of_kind = Counter(one.kind for one in asked)
    rows, wanted, shares = [], [], []
    for one in asked:
        measured = measures([hit.score for hit in one.hits])[:DEPTH]
        rows += [(*values, 1.0) for values in measured]
        wanted += _were_evidence(one)
        shares += [len(asked) / len(of_kind) / of_kind[one.kind]] * len(measured)
    columns, is_wanted, share = np.array(rows), np.array(wanted), np.array(shares)
    weights, penalty = np.zeros(len(Weights._fields)), np.diag([PENALTY] * 3 + [0.0])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-columns @ weights))
        slope = columns.T @ (share * (likely - is_wanted)) + penalty @ weights
        bend = (columns.T * (share * likely * (1 - likely))) @ columns + penalty
        weights -= np.linalg.solve(bend, slope)
    return Weights(*weights.tolist())


def likely_by(asked: Sequence[Asked], weights: Weights = FITTED) -> list[list[float]]:
    """How likely each judged hit bears on its question."""
    return [
        likelihoods([h.score for h in one.hits], [h.coverage for h in one.hits], weights)[:DEPTH]
        for one in asked
    ]


def reliability(asked: Sequence[Asked], likely: Sequence[Sequence[float]]) -> Reliability:
    """How well these likelihoods of the first hits tell which of them are evidence."""
    said = np.concatenate([np.array(one[:DEPTH], dtype=np.float64) for one in likely])
    were = np.concatenate([np.array(_were_evidence(one)) for one in asked])
    number = np.minimum((BINS * said).astype(np.int64), BINS - 1)
    bins = tuple(
        Bin(at / BINS, int(these.sum()), float(said[these].mean()), float(were[these].mean()))
        for at in range(BINS)
        if (these := number == at).any()
    )
    error = sum(one.hits * abs(one.said - one.were) for one in bins) / len(said)
    return Reliability(float(np.mean((said - were) ** 2)), error, bins)


def _were_evidence(one: Asked) -> list[float]:
    return [float(is_evidence(lines, one)) for lines in one.lines[:DEPTH]]
