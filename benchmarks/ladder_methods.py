"""Ways of choosing sentences beside each other, at the size of an abstract.

    python benchmarks/ladder_methods.py [path/to/locomo.json]

For each session the sentences are ranked or chosen by one method, filled into a tenth of the
session's tokens with who speaks, and judged as `pagefault bench ladder` judges. Without a file,
over made-up conversations of engineers. Printed are percent of answering sentences and of all
sentences in evidence that survive; the last two rows are the ladder's choice without, and with,
what it adds to plain coverage.

 - LexRank: Erkan and Radev, JAIR 22, 2004 (cosine over 0.1, damping 0.85).
 - TextRank: Mihalcea and Tarau, EMNLP 2004 (overlap by logarithms of lengths).
 - Centroid: Radev et al., Information Processing and Management 40, 2004.
 - SumBasic: Nenkova and Vanderwende, MSR-TR-2005-101.
 - MMR: Carbonell and Goldstein, SIGIR 1998 (weight 0.7), over LexRank and the centroid.
 - Coverage: Lin and Bilmes, NAACL 2010 (each new term worth 1, greedy by worth for a token).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagefault.lab.engineering import conversation
from pagefault.lab.ladder import (
    Range,
    Shorten,
    filled,
    known,
    ladder,
    lead_sentences,
    ranges,
    survivors,
    truncation,
)
from pagefault.lab.transcripts import read_conversations
from pagefault.pack.count import O200k
from pagefault.represent.api import CountTokens
from pagefault.represent.extractive import abstract_tokens
from pagefault.represent.salience import Candidate, choose

Values = NDArray[np.float64]
DAMPING, STEPS = 0.85, 50


def vectors(talk: Range) -> Values:
    """Sentences as unit vectors of their terms, rarer terms longer."""
    found = Counter(term for sentence in talk.sentences for term in sentence.terms)
    columns = {term: column for column, term in enumerate(found)}
    matrix = np.zeros((len(talk.sentences), max(1, len(columns))))
    for row, sentence in enumerate(talk.sentences):
        for term in sentence.terms:
            matrix[row, columns[term]] = math.log(1 + len(talk.sentences) / found[term])
    lengths = np.linalg.norm(matrix, axis=1)
    unit: Values = matrix / np.where(lengths > 0, lengths, 1)[:, None]
    return unit


def walk(weights: Values) -> Values:
    """How often a random walk along the weights is at each sentence."""
    degrees = weights.sum(axis=1)
    steps = weights / np.where(degrees > 0, degrees, 1)[:, None]
    at = np.full(len(weights), 1 / len(weights))
    for _ in range(STEPS):
        at = (1 - DAMPING) / len(weights) + DAMPING * (at @ steps)
    return at


def lexrank(talk: Range) -> Values:
    matrix = vectors(talk)
    weights = matrix @ matrix.T
    np.fill_diagonal(weights, 0)
    return walk(np.where(weights > 0.1, weights, 0))


def textrank(talk: Range) -> Values:
    terms = [sentence.terms for sentence in talk.sentences]
    weights = np.zeros((len(terms), len(terms)))
    for row, mine in enumerate(terms):
        for column, other in enumerate(terms[:row]):
            shared = len(mine & other)
            if shared and len(mine) > 1 and len(other) > 1:
                weight = shared / (math.log(len(mine)) + math.log(len(other)))
                weights[row, column] = weights[column, row] = weight
    return walk(weights)


def centroid(talk: Range) -> Values:
    matrix = vectors(talk)
    likeness: Values = matrix @ matrix.sum(axis=0)
    return likeness


def by(score: Callable[[Range], Values]) -> Shorten:
    """The best by `score`, as many as fit."""

    def shorten(talk: Range, room: int, count: CountTokens) -> str:
        return filled(talk, np.argsort(-score(talk), kind="stable").tolist(), room, count)

    return shorten


def mmr(score: Callable[[Range], Values], weight: float = 0.7) -> Shorten:
    """The best by `score` less their likeness to what is already there."""

    def shorten(talk: Range, room: int, count: CountTokens) -> str:
        matrix, worth = vectors(talk), score(talk)
        worth = worth / (worth.max() or 1)
        nearest = np.zeros(len(worth))
        order: list[int] = []
        for _ in range(min(len(worth), room)):
            left = weight * worth - (1 - weight) * nearest
            left[order] = -np.inf
            order.append(int(left.argmax()))
            nearest = np.maximum(nearest, matrix @ matrix[order[-1]])
        return filled(talk, order, room, count)

    return shorten


def sumbasic(talk: Range, room: int, count: CountTokens) -> str:
    found = Counter(term for sentence in talk.sentences for term in sentence.terms)
    share = {term: number / found.total() for term, number in found.items()}
    left = [place for place, sentence in enumerate(talk.sentences) if sentence.terms]
    order: list[int] = []
    while left and len(order) < room:
        means = [
            sum(share[term] for term in talk.sentences[place].terms)
            / len(talk.sentences[place].terms)
            for place in left
        ]
        place = left.pop(int(np.argmax(means)))
        order.append(place)
        for term in talk.sentences[place].terms:
            share[term] **= 2
    return filled(talk, order, room, count)


def coverage(talk: Range, room: int, count: CountTokens) -> str:
    candidates = [
        Candidate(sentence.terms, 0.0, 1.0, count(sentence.text) + 3) for sentence in talk.sentences
    ]
    return filled(talk, choose(candidates, room), room, count)


METHODS: dict[str, Shorten] = {
    "truncation": truncation,
    "lead sentences": lead_sentences,
    "centroid": by(centroid),
    "centroid, MMR": mmr(centroid),
    "SumBasic": sumbasic,
    "LexRank": by(lexrank),
    "LexRank, MMR": mmr(lexrank),
    "TextRank": by(textrank),
    "coverage": coverage,
    "the ladder": ladder,
    "(questions known)": known,
}


def main(arguments: list[str]) -> None:
    count: Any = O200k().count
    talks = (
        list(ranges(read_conversations(Path(arguments[0]), "locomo")))
        if arguments
        else list(ranges(conversation(seed) for seed in range(20)))
    )
    answering = sum(len(talk.answering) for talk in talks)
    evidence = sum(len(talk.evidence) for talk in talks)
    sys.stdout.write(f"{'':<20}{'answering':>11}{'evidence':>10}\n")
    for name, shorten in METHODS.items():
        texts = [shorten(talk, abstract_tokens(talk.sources, count), count) for talk in talks]
        found = [
            sum(
                survivors(talk, text, places(talk)) for talk, text in zip(talks, texts, strict=True)
            )
            for places in (lambda talk: talk.answering, lambda talk: talk.evidence)
        ]
        shares = (100 * found[0] / answering, 100 * found[1] / evidence)
        sys.stdout.write(f"{name:<20}{shares[0]:>11.1f}{shares[1]:>10.1f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
