"""Static embeddings by model2vec: a vector per token, and their weighted mean for a text.

Tulkens and van Dongen, "Model2Vec: Fast State-of-the-Art Static Embeddings", 2024. One core embeds
thousands of pages a second; a word's context has no influence.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pagefault.engine.embedding import TextKind, embed_telling, unit_rows
from pagefault.model.errors import BadInput, not_installed
from pagefault.model.signatures import checked

if TYPE_CHECKING:
    from pagefault.engine.embedding import Vectors

TOKENS_MAX: Final = 2_048
"""Tokens of a text that count: a page of the usual limit, completely."""


class StaticEmbedder:
    """`source` is a directory with a model, or its name on the hub, which is then downloaded.

    The model is loaded on first use, which raises `BadInput` or `CallerError`.
    """

    @checked
    def __init__(self, source: str | Path) -> None:
        self._source = str(source)
        self._loading = threading.Lock()
        self._model: Any = None
        self._name = ""

    def __repr__(self) -> str:
        return f"StaticEmbedder({self._source!r})"

    @property
    def name(self) -> str:
        self._loaded()
        return self._name

    @checked
    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """As `Embedder.embed`. Pages and queries are treated alike."""
        return embed_telling(texts, self._embed)

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        made = self._loaded().encode(texts, max_length=TOKENS_MAX, use_multiprocessing=False)
        return unit_rows(np.asarray(made, dtype=np.float32))

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = _load(self._source)
                self._name = f"model2vec:{Path(self._source).name}#{_edition(self._model)}"
            return self._model


def _load(source: str) -> Any:
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise BadInput(
            f"there is no directory {source}",
            hint="name one that `StaticModel.save_pretrained` wrote, or a model of the hub",
        )
    try:
        from model2vec import StaticModel
    except ImportError:
        raise not_installed("static embeddings need the package model2vec", "embeddings") from None
    try:
        return StaticModel.from_pretrained(source)
    except Exception as failure:  # from hub, disk or format: anything
        raise BadInput(
            f"no model can be loaded from {source}: {failure}",
            hint="name a directory that `StaticModel.save_pretrained` wrote, or a model of the hub",
        ) from failure


def _edition(model: Any) -> str:
    """A hash of everything that the vectors depend on: a directory's model can be replaced."""
    hashed = hashlib.sha256(model.tokenizer.to_str().encode())
    for array in (model.embedding, model.weights, model.token_mapping):
        if array is not None:
            hashed.update(array.tobytes())
    return hashed.hexdigest()[:8]
