"""When words settle which page answers, so that no model need be asked: neither an embedder, for
what else is near, nor a reranker, for what is best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CLEAR: Final = 1.25  # times the next score
MOST: Final = 0.7  # of what the question's words tell, by their weight


def is_sure(scores: Sequence[float], told: float) -> bool:
    """Whether the first of what was found answers, by words; `scores` are best first.

    It does where it states `MOST` of what the question's words tell itself (`told`, which is
    `Ranked.told`), and has `CLEAR` times the score of the next, if there is one. Both numbers were
    chosen on two LoCoMo conversations: there 52 of 300 questions are sure, and of those the first
    hit is right in 94 %, of all in 54 %. To ask for all of the words would leave 2. On talk with
    assistants and agents, which had no part in it, hardly any question is: there the rule saves
    nothing, and costs nothing (docs/recall.md).

    What it gets wrong: a page that repeats a question without answering it looks sure, and the
    answer in other words beside it stays where it is. And who asks in words of his own is never
    sure, though words may have been right: that costs a call.
    """
    if told < MOST:
        return False
    return len(scores) < 2 or scores[0] >= CLEAR * scores[1]
