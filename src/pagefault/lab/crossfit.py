"""Cross-validation of search weights: each conversation is judged by weights fitted to the others.

The parts of a hit's score add up, so a weight is a factor of its part. Factors are fitted to all
conversations but one, and that one is reranked with them; each in turn. Only the hits that search
returned are reordered.

The loss is ListNet's (Cao et al., ICML 2007): among a question's hits, those with evidence should
have the probability mass of a softmax over the scores. Each kind of conversation counts the same,
however many questions it has: weights fitted to the most frequent kind lost to plain BM25 on the
rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pagefault.lab.retrieval import Asked

STEPS: Final = 150  # of gradient descent; more change no figure
STEP: Final = 0.05
PENALTY: Final = 1.0  # on the squared weights, over all questions
NOT_FITTED: Final = frozenset({"recency", "importance"})  # recorded conversations do not need them

Values = NDArray[np.float64]

Progress = Callable[[str, int, int], None]


def left_out(
    asked: Sequence[Asked], *, progress: Progress = lambda label, done, total: None
) -> list[Asked]:
    """The questions, each reranked with weights fitted to the other conversations."""
    names = list(dict.fromkeys(one.conversation for one in asked))
    ranked: list[Asked] = []
    for number, name in enumerate(names, 1):
        others = [one for one in asked if one.conversation != name and one.question.answerable]
        weights = fitted(others)
        ranked += [reranked(one, weights) for one in asked if one.conversation == name]
        progress("conversations left out", number, len(names))
    return ranked


def fitted(asked: Sequence[Asked], *, without: Collection[str] = ()) -> dict[str, float]:
    """The factor of each part that puts these questions' evidence first. Parts in `without` are
    left out, and get none.
    """
    lists = [one for one in asked if set(one.refs).intersection(one.question.evidence)]
    names = sorted(
        {name for one in lists for name in one.hits[0].parts} - NOT_FITTED - set(without)
    )
    hits = max((len(one.hits) for one in lists), default=0)
    parts = np.zeros((len(lists), hits, len(names)))
    wanted = np.zeros((len(lists), hits))
    absent = np.full((len(lists), hits), -np.inf)
    for row, one in enumerate(lists):
        found = np.array([[hit.parts.get(name, 0.0) for name in names] for hit in one.hits])
        parts[row, : len(found)] = found / np.abs(found).max()
        is_wanted = np.array([is_evidence(lines, one) for lines in one.lines])
        wanted[row, : len(found)] = is_wanted / is_wanted.sum()
        absent[row, : len(found)] = 0
    of_kind = Counter(one.kind for one in lists)
    shares = np.array([len(lists) / len(of_kind) / of_kind[one.kind] for one in lists])
    spread = parts.std(axis=(0, 1)) + 1e-9
    weights = np.ones(len(names))
    if lists:
        weights = _descended(parts / spread, wanted, absent, shares) / spread
    return dict(zip(names, weights.tolist(), strict=True))


def is_evidence(lines: Sequence[str], asked: Asked) -> bool:
    """Whether a hit with these lines is evidence."""
    return not set(lines).isdisjoint(asked.question.evidence)


def _descended(parts: Values, wanted: Values, absent: Values, shares: Values) -> Values:
    """The weights of maximum likelihood, by Adam (Kingma and Ba, ICLR 2015)."""
    weights = np.zeros(parts.shape[2])
    mean, square = weights.copy(), weights.copy()
    for step in range(1, STEPS + 1):
        scores = parts @ weights + absent
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        slope = PENALTY * weights + np.einsum(
            "qh,qhp->p", shares[:, None] * (likely - wanted), parts
        )
        slope /= len(parts)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        weights -= STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
    return weights


def reranked(asked: Asked, factors: dict[str, float]) -> Asked:
    """The hits in the order that these factors give."""
    scores = [
        sum(factors.get(name, 0.0) * value for name, value in hit.parts.items())
        for hit in asked.hits
    ]
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    return replace(
        asked,
        hits=tuple(asked.hits[at] for at in order),
        lines=tuple(asked.lines[at] for at in order),
    )
