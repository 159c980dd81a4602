"""The `relevance` of a hit: how likely it bears on the question.

A score is in units of word weights and means nothing by itself: a question of many rare words gives
every page a high one. What matters is how far a hit stands out from the rest: its share of the best
score, the mean share of the hits after the first ten, and its rank. A logistic function of these
three estimates the share of such hits that are evidence. `benchmarks/refit.py` fits its weights to
conversations of several kinds, each counting the same.

Relevance never exceeds the hit's coverage of the question's words: even a query of stop words, or
nonsense, has a best hit.

What it gets wrong: evidence is what the question's author named, and other pages may bear on it, so
the true figures are somewhat higher. In a memory of a few pages little else is found, so the first
hit stands out more than it should. docs/recall.md has the curves for each kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

BACKGROUND: Final = slice(10, 30)
"""Ranks of hits that hardly ever answer: what any query finds."""


class Weights(NamedTuple):
    """Logit weights of the three `measures`, and the constant."""

    share: float = 2.8
    background: float = -1.5
    place: float = -0.73
    constant: float = -2.75


FITTED: Final = Weights()


def measures(scores: Sequence[float]) -> list[tuple[float, float, float]]:
    """For each score, in descending order: its share of the best (0..1), the background's mean
    share, and the logarithm of its rank.
    """
    best = max(scores[0], 0.0) if scores else 0.0
    shares = [max(score, 0.0) / best if best else 0.0 for score in scores]
    background = sum(shares[BACKGROUND]) / (BACKGROUND.stop - BACKGROUND.start)
    return [(share, background, math.log(at)) for at, share in enumerate(shares, 1)]


def likelihoods(
    scores: Sequence[float], coverages: Sequence[float], weights: Weights = FITTED
) -> list[float]:
    """The probability that each of the first hits, those with a coverage (0..1), bears on the
    question. `scores` are those of all hits, in descending order.
    """
    shown = measures(scores)[: len(coverages)]
    return [
        min(1 / (1 + math.exp(-_logit(measured, weights))), max(coverage, 0.0))
        for measured, coverage in zip(shown, coverages, strict=True)
    ]


def _logit(measured: tuple[float, float, float], weights: Weights) -> float:
    *factors, constant = weights
    return constant + math.fsum(f * x for f, x in zip(factors, measured, strict=True))
