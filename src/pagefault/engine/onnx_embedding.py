"""Local sentence encoders as ONNX files: MiniLM, E5, BGE and the like.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019. A transformer gives each token a contextual
vector; their mean (or the first, depending on the model's training) is the text's. The runtime is
`onnxruntime`: `docs/decisions/056-encoders.md` compares the alternatives.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pagefault.engine.embedding import TextKind, embed_telling, unit_rows
from pagefault.model.errors import BadInput, not_installed
from pagefault.model.signatures import checked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pagefault.engine.embedding import Vectors

WINDOW_TOKENS: Final = 256
"""Tokens that the model reads at a time, unless it declares a smaller limit: attention is
quadratic, and these models were trained on passages.
"""

OVERLAP_TOKENS: Final = 32  # the edge of one window is inside the next
WINDOWS_MAX: Final = 16  # of a text: some 3,500 tokens, a page of three times the usual limit

_MODELS: Final = ("model.onnx", "onnx/model.onnx")
_PLAIN_LAYERS: Final = ("Transformer", "Pooling", "Normalize")
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

Pooling = Literal["mean", "cls"]


class OnnxEmbedder:
    """`source` is a directory with `tokenizer.json` and `model.onnx` or `onnx/model.onnx`, as in
    sentence-transformers repositories, or another ONNX file in such a directory, with quantised
    weights for example. Pooling, prompts and length follow these files.

    `queries` and `pages` are prepended to texts of each kind, instead of the prompts in the model's
    own files: E5 needs "query: " and "passage: ", and its first edition does not declare them. A
    text longer than a window is read in overlapping windows; its row is their mean.

    The model is loaded on first use, which raises `BadInput` or `CallerError`.
    """

    weight = 0.5

    @checked
    def __init__(
        self, source: str | Path, *, queries: str | None = None, pages: str | None = None
    ) -> None:
        self._source = Path(source).expanduser()
        self._prompts = {"query": queries, "page": pages}
        self._loading = threading.Lock()
        self._model: _Model | None = None

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self._source)!r})"

    @property
    def name(self) -> str:
        """The directory's name, a hash of weights, tokenizer and settings, and the prompts."""
        return self._loaded().name

    @checked
    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """As `Embedder.embed`."""
        model = self._loaded()
        return embed_telling(texts, lambda telling: model.rows(telling, kind))

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = _load(self._source, self._prompts)
            return self._model


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    name: str
    session: Any  # onnxruntime.InferenceSession, which is thread-safe
    tokenizer: Any
    prompts: Mapping[str, str]
    pooling: Pooling
    output: str
    inputs: frozenset[str]

    def rows(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        import numpy as np

        before = self.prompts[kind]
        return unit_rows(np.stack([self._row(before + text) for text in texts]))

    def _row(self, text: str) -> NDArray[np.float32]:
        """The mean of its windows, each of length 1. Each window runs alone: on a CPU a batch is no
        faster, and so a row does not depend on the rest of the batch.
        """
        import numpy as np

        first = self.tokenizer.encode(text)
        windows = [first, *first.overflowing][:WINDOWS_MAX]
        rows: NDArray[np.float32] = unit_rows(np.stack([self._window(one.ids) for one in windows]))
        mean: NDArray[np.float32] = rows.mean(axis=0)
        return mean

    def _window(self, ids: Sequence[int]) -> NDArray[np.float32]:
        import numpy as np

        tokens = np.array([ids], np.int64)
        fed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        [made] = self.session.run([self.output], {name: fed[name] for name in self.inputs})
        whole = np.asarray(made[0], np.float32)  # a row for each token, or one pooled row
        if whole.ndim == 1:
            return whole
        pooled: NDArray[np.float32] = whole[0] if self.pooling == "cls" else whole.mean(axis=0)
        return pooled


def _load(source: Path, prompts: Mapping[str, str | None]) -> _Model:
    directory, weights = _files(source)
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as missing:
        raise not_installed(f"an encoder needs the package {missing.name}", "onnx") from None
    options = onnxruntime.SessionOptions()
    # Pages are embedded in the background: the other half of the cores is left for requests.
    options.intra_op_num_threads = max(1, (os.cpu_count() or 1) // 2)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        session = onnxruntime.InferenceSession(
            str(weights), options, providers=["CPUExecutionProvider"]
        )
    except Exception as failure:  # from disk or format: anything
        raise BadInput(
            f"no encoder can be loaded from {source}: {failure}", hint=_HINT
        ) from failure
    inputs = frozenset(one.name for one in session.get_inputs())
    outputs = {one.name: len(one.shape) for one in session.get_outputs()}
    if not inputs <= _INPUTS:
        raise BadInput(
            f"{weights} wants {', '.join(sorted(inputs - _INPUTS))}", hint="name an encoder of text"
        )
    is_pooled = outputs.get("sentence_embedding") == 2
    output = "sentence_embedding" if is_pooled else next(iter(outputs))
    if not is_pooled:
        _refuse_layers(directory)
    tokenizer.no_padding()
    window = min(WINDOW_TOKENS, _tokens_max(directory))
    tokenizer.enable_truncation(window, stride=min(OVERLAP_TOKENS, window // 4))
    own = _json(directory / "config_sentence_transformers.json").get("prompts") or {}
    told = {
        "query": _first_of(prompts["query"], own.get("query")),
        "page": _first_of(prompts["page"], own.get("passage"), own.get("document")),
    }
    pooling = _pooling(directory)
    edition = hashlib.sha256(weights.read_bytes())
    edition.update(tokenizer.to_str().encode())
    edition.update(pooling.encode())
    before = "".join(f" {kind}={text!r}" for kind, text in told.items() if text)
    return _Model(
        name=f"onnx:{directory.resolve().name}#{edition.hexdigest()[:8]}{before}",
        session=session,
        tokenizer=tokenizer,
        prompts=told,
        pooling=pooling,
        output=output,
        inputs=inputs,
    )


_HINT: Final = (
    "name a directory with tokenizer.json and model.onnx (or onnx/model.onnx), or such an ONNX file"
)


def _files(source: Path) -> tuple[Path, Path]:
    """The directory with the tokenizer, and the file with the weights. Raises `BadInput`."""
    if source.suffix == ".onnx":
        found = next(
            (one for one in source.parents[:2] if (one / "tokenizer.json").is_file()), None
        )
        weights: Path | None = source if source.is_file() else None
    else:
        found = source if (source / "tokenizer.json").is_file() else None
        weights = next((source / one for one in _MODELS if (source / one).is_file()), None)
    if found is None or weights is None:
        lacks = "tokenizer.json" if found is None else "model.onnx"
        raise BadInput(f"there is no encoder at {source}: it has no {lacks}", hint=_HINT)
    return found, weights


def _json(path: Path) -> dict[str, Any]:
    """The content of a file beside the weights; empty if it is missing. Raises `BadInput`."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as unread:
        raise BadInput(f"{path} cannot be read: {unread}", hint="download it again") from unread
    return said if isinstance(said, dict) else {}


def _pooling(directory: Path) -> Pooling:
    """How token vectors become one; the mean by default. Raises `BadInput`."""
    said = _json(directory / "1_Pooling" / "config.json")
    modes = [name for name, is_on in said.items() if name.startswith("pooling_mode_") and is_on]
    mode = said.get("pooling_mode") or (modes or ["pooling_mode_mean_tokens"])
    match mode:
        case "mean" | ["pooling_mode_mean_tokens"]:
            return "mean"
        case "cls" | ["pooling_mode_cls_token"]:
            return "cls"
    raise BadInput(
        f"{directory} pools by {mode}", hint="encoders that take the mean or the first token work"
    )


def _refuse_layers(directory: Path) -> None:
    """Raises `BadInput` for a model with layers after the transformer: its file lacks them."""
    try:
        layers = json.loads((directory / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(layer["type"]).rpartition(".")[2] for layer in layers]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as unread:
        raise BadInput(f"{directory}/modules.json cannot be read", hint=_HINT) from unread
    if others := [kind for kind in kinds if kind not in _PLAIN_LAYERS]:
        raise BadInput(
            f"{directory} has a layer that its ONNX file lacks: {', '.join(others)}",
            hint="export it with an output `sentence_embedding`",
        )


def _tokens_max(directory: Path) -> int:
    """The model's input limit, if declared."""
    told = [
        _json(directory / "sentence_bert_config.json").get("max_seq_length"),
        _json(directory / "tokenizer_config.json").get("model_max_length"),
    ]
    return int(min((size for size in told if isinstance(size, int) and size > 2), default=512))


def _first_of(*texts: str | None) -> str:
    return next((text for text in texts if text is not None), "")
