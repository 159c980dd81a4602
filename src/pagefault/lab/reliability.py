"""Calibration of `relevance`: how well it predicts evidence, and the weights for that.

Of hits with relevance `p`, a share of `p` should be evidence (Platt, "Probabilistic Outputs for
Support Vector Machines", 1999). `brier` is the mean squared error (Brier, Monthly Weather Review
1950); `ece` the mean distance between predicted and actual shares, over bins of equal confidence
(Naeini et al., AAAI 2015). Evidence is what the questions name; other pages may bear on a question,
too.
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

DEPTH: Final = 20  # hits judged per question
BINS: Final = 10
STEPS: Final = 20  # of Newton's method; six suffice
PENALTY: Final = 1.0  # on the squared weights

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits with a likelihood of at least `least`: their number, mean likelihood, and how many were
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
    """The weights of maximum likelihood for these questions' hits; each kind counts the same."""
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
    """The likelihood that each judged hit bears on its question."""
    return [
        likelihoods([h.score for h in one.hits], [h.coverage for h in one.hits], weights)[:DEPTH]
        for one in asked
    ]


def reliability(asked: Sequence[Asked], likely: Sequence[Sequence[float]]) -> Reliability:
    """How well the first hits' likelihoods predict which are evidence."""
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
