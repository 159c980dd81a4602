"""An encoder of a few words in the form in which encoders come: an ONNX file and a tokenizer.

Its file says: look each token up in a table; or that, and the mean. Protocol buffers are written by
hand, as the package `onnx` is wanted nowhere else (onnx/onnx.proto3 has the numbers of the fields).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

WORDS = (
    "[UNK] the we which database did pick picked postgres for in of was harbour lisbon boats"
    " full swimming on friday perhaps ledger ok word line query page : first last"
).split()
WIDTH = 32
FLOAT, INT64 = 1, 7


def save_encoder(
    directory: Path, *, seed: int = 7, pooled: bool = False, file: str = "model.onnx"
) -> Path:
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `onnx` is not installed")
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    directory.mkdir(exist_ok=True)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, "[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / file).parent.mkdir(exist_ok=True)
    (directory / file).write_bytes(_model(table(seed), pooled=pooled))
    return directory


def table(seed: int = 7) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vector of each of `WORDS`."""
    made = np.random.default_rng(seed).standard_normal((len(WORDS), WIDTH))
    return made.astype(np.float32)


def write_json(path: Path, told: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told), encoding="utf-8")


def _model(vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]], *, pooled: bool) -> bytes:
    node = _node("Gather", ["table", "input_ids"], "token_embeddings")
    outputs = _field(12, _value("token_embeddings", FLOAT, rank=3))
    if pooled:
        axes = _field(1, b"axes") + _field(8, 1) + _field(20, 7)
        mean = _node("ReduceMean", ["token_embeddings"], "sentence_embedding", axes, _no_keepdims())
        node += mean
        outputs += _field(12, _value("sentence_embedding", FLOAT, rank=2))
    tensor = (
        b"".join(_field(1, size) for size in vectors.shape)
        + _field(2, FLOAT)
        + _field(8, b"table")
        + _field(9, vectors.tobytes())
    )
    inputs = _field(11, _value("input_ids", INT64, rank=2))
    graph = node + _field(2, b"tiny") + _field(5, tensor) + inputs + outputs
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 13))


def _no_keepdims() -> bytes:
    return _field(1, b"keepdims") + _field(3, 0) + _field(20, 2)


def _node(operator: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    told = b"".join(_field(1, name.encode()) for name in inputs)
    told += _field(2, output.encode()) + _field(4, operator.encode())
    return _field(1, told + b"".join(_field(5, one) for one in attributes))


def _value(name: str, kind: int, *, rank: int) -> bytes:
    shape = b"".join(_field(1, _field(2, b"n%d" % axis)) for axis in range(rank))
    return _field(1, name.encode()) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
