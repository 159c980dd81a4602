"""How likely a hit is to bear on the question: its `relevance`.

A score is in units of what words are worth, so by itself it tells nothing: a question of many rare
words has a large one for every page. What tells is how far a hit stands out of what else was found:
its share of the best score, how much of that share the hits behind the first ten still have, and
its place. A logistic function of these three, whose weights `benchmarks/refit.py` fits to talk of
several kinds, each counting the same, gives the share of such hits that are evidence.

No hit is likelier to bear on a question than its words are covered: of a query of stop words, or of
nonsense, something is best, too.

What it gets wrong: evidence is what somebody named who wrote the question, and other pages may
bear on it, so the truth is somewhat higher. In a memory of a few pages little else is found, and
the first hit stands out more than it should. docs/recall.md has the curves of each kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

BACKGROUND: Final = slice(10, 30)
"""Hits, best first, that hardly ever answer: what is found anyway."""


class Weights(NamedTuple):
    """What each of `measures` counts, in a logit."""

    share: float = 2.8
    background: float = -1.5
    place: float = -0.73
    constant: float = -2.75


FITTED: Final = Weights()


def measures(scores: Sequence[float]) -> list[tuple[float, float, float]]:
    """Of each of these scores, best first: its share of the best (0..1), what the background has
    of it, and the logarithm of its place.
    """
    best = max(scores[0], 0.0) if scores else 0.0
    shares = [max(score, 0.0) / best if best else 0.0 for score in scores]
    background = sum(shares[BACKGROUND]) / (BACKGROUND.stop - BACKGROUND.start)
    return [(share, background, math.log(at)) for at, share in enumerate(shares, 1)]


def likelihoods(
    scores: Sequence[float], coverages: Sequence[float], weights: Weights = FITTED
) -> list[float]:
    """For hits with these scores, best first, and these shares (0..1) of the question's words how
    likely each bears on the question.
    """
    return [
        min(1 / (1 + math.exp(-_logit(measured, weights))), max(coverage, 0.0))
        for measured, coverage in zip(measures(scores), coverages, strict=True)
    ]


def _logit(measured: tuple[float, float, float], weights: Weights) -> float:
    *factors, constant = weights
    return constant + math.fsum(f * x for f, x in zip(factors, measured, strict=True))
