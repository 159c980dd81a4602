"""Embedders for tests: one based on words alone, and faulty ones."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from pagefault.engine.embedding import TextKind, embed_telling, unit_rows
from pagefault.model.errors import EngineError, EngineUnreachable

if TYPE_CHECKING:
    from pagefault.engine.embedding import Vectors

WIDTH: Final = 128


class WordEmbedder:
    """Each word, with its synonyms, is a direction of its own; a text is the mean of its words."""

    def __init__(self, name: str = "words", synonyms: Sequence[Sequence[str]] = ()) -> None:
        self.name = name
        self.texts: list[str] = []  # embedded pages
        self._same = {word: same[0] for same in synonyms for word in same}

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        if kind == "page":
            self.texts += texts
        return embed_telling(texts, self._embed)

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        rows = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row += _direction(self._same.get(word, word))
        return unit_rows(rows)


@cache
def _direction(word: str) -> Vectors:
    import numpy as np

    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(WIDTH).astype(np.float32)


class FailingEmbedder(WordEmbedder):
    """Fails as long as `failure` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = EngineUnreachable("no embedder is there", hint="start it")
        self.calls = 0

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        self.calls += 1
        if self.failure is not None:
            raise self.failure
        return super().embed(texts, kind=kind)


class SlowEmbedder(WordEmbedder):
    """Answers no page before `go` is set; gives up after 30 s."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go = threading.Event()

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        if kind == "page":
            self.asked.set()
            if not self.go.wait(30):
                raise EngineError("nobody let it go on")
        return super().embed(texts, kind=kind)
