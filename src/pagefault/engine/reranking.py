"""The contract of a reranker: how well each of a few texts answers a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Reads a question and a text together, as a cross-encoder does. `testing.reranker_contract` is
    its contract suite.

    It blocks, and may be called from several threads at a time. An optional attribute `weight` says
    how much it counts relative to words: 1 lifts its best text by as much as words lift the best
    page, 0.1 (the default) by a tenth of that.
    """

    @property
    def name(self) -> str:
        """The model and its address."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite score for each text, in order; higher means a better answer.

        The scale is arbitrary: search compares scores only within one call. Equal queries and texts
        have equal scores, up to rounding. Texts that are too long are cut. Raises `EngineError` if
        the model cannot be reached or does not answer.
        """
        ...
