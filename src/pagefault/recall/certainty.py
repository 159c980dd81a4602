"""Decides when a lexical match is good enough that no model is asked: neither an embedder for more
candidates nor a reranker for a better order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CLEAR: Final = 1.25  # times the second score
MOST: Final = 0.7  # of the question's words, weighted by rarity


def is_sure(scores: Sequence[float], told: float) -> bool:
    """Whether the top hit is a certain answer by words alone; `scores` are in descending order.

    It is if the page itself covers at least `MOST` of the question's words (`told`, from
    `Ranked.told`) and scores at least `CLEAR` times the second hit, if any. Both thresholds were
    chosen on two LoCoMo conversations. There, 52 of 300 questions are certain and their first hit
    is right in 94 % of cases, against 54 % over all questions. Requiring all the words would leave
    2. On conversations with assistants and agents, which had no part in the choice, hardly any
    question is certain: there the rule saves nothing and costs nothing (docs/recall.md).

    What it gets wrong: a page that repeats the question without answering it looks certain, and an
    answer in other words beside it keeps its rank. A question that paraphrases is never certain,
    even if the top hit is right; that costs one call.
    """
    if told < MOST:
        return False
    return len(scores) < 2 or scores[0] >= CLEAR * scores[1]
