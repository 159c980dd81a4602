"""Rerankers for tests: one based on words alone, and faulty ones."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from pagefault.model.errors import EngineUnreachable


class WordReranker:
    """Scores a text by the share of the query's words in it, with synonyms counting as one word."""

    def __init__(
        self, name: str = "words", synonyms: Sequence[Sequence[str]] = (), weight: float = 1.0
    ) -> None:
        self.name = name
        self.weight = weight
        self.calls: list[tuple[str, list[str]]] = []  # each query and its texts
        self._same: dict[str, str] = {word: same[0] for same in synonyms for word in same}

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.calls.append((query, list(texts)))
        asked = self._words(query)
        return [len(asked & self._words(text)) / max(1, len(asked)) for text in texts]

    def _words(self, text: str) -> set[str]:
        return {self._same.get(word, word) for word in re.findall(r"\w+", text.lower())}


class FailingReranker(WordReranker):
    """Fails as long as `failure` is set, which is raised, or called to produce an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | Callable[[int], Sequence[float]] | None = EngineUnreachable(
            "no reranker is there", hint="start it"
        )

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        scores = super().rerank(query, texts)
        if isinstance(self.failure, Exception):
            raise self.failure
        return scores if self.failure is None else self.failure(len(texts))


class SlowReranker(WordReranker):
    """Does not answer before `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        scores = super().rerank(query, texts)
        self.go.wait(30)
        return scores
