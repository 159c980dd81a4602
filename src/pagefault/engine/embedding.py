"""The contract of an embedder: texts in, unit vectors out; similar texts have near vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

TextKind = Literal["query", "page"]
"""The role of a text: some models encode queries and answers differently."""


class Embedder(Protocol):
    """Computes vectors of texts. `testing.embedder_contract` is its contract suite.

    It blocks, and may be called from several threads at a time. An optional attribute `weight` says
    how much meaning counts relative to words: 0.5 for a sentence encoder, else 0.05.
    """

    @property
    def name(self) -> str:
        """The model and its exact version: vectors with different names are never compared."""
        ...

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """A row for each text, in order, of equal length: unit vectors, or zeros for a text without
        content, such as an empty one.

        A text's row does not depend on the other texts, up to rounding. Texts that are too long are
        cut. Raises `EngineError` if the model cannot be reached or does not answer.
        """
        ...


def unit_rows(rows: Vectors) -> Vectors:
    """Normalises each row to length 1; zeros stay zeros."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def embed_telling(texts: Sequence[str], embed: Callable[[list[str]], Vectors]) -> Vectors:
    """`embed` of the texts that are not blank, and zeros for the others: models differ on those,
    and servers refuse them. A duplicate is embedded once.
    """
    import numpy as np

    telling = list(dict.fromkeys(text for text in texts if text.strip()))
    if not telling:
        return np.zeros((len(texts), 0), np.float32)
    made = embed(telling)
    rows = np.vstack([made, np.zeros((1, made.shape[1]), np.float32)])
    at = {text: row for row, text in enumerate(telling)}
    return rows[[at.get(text, -1) for text in texts]]
