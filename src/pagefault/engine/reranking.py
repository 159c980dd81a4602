"""The contract of a reranker: how well each of a few texts answers a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Reads a question and a text together, as a cross-encoder does. `testing.reranker_contract`
    proves one.

    It blocks, and may be called from several threads at a time. One that has an attribute `weight`
    says by it how much it counts beside words: 1 lifts the text it likes best by as much as the
    best page has by words, 0.1, which holds for one without a `weight`, by a tenth of that.
    """

    @property
    def name(self) -> str:
        """Which model this is, and where it is asked."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite number for each text, in order; the larger, the better it answers.

        On any scale: search compares the scores of one call only with one another. The same query
        and texts have the same scores, up to rounding. What is too long is cut. Raises
        `EngineError` if the model cannot be reached or does not answer.
        """
        ...
