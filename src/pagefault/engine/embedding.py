"""The contract of an embedder: texts in, unit vectors out; the nearer two, the more alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

TextKind = Literal["query", "page"]
"""What a text is: some models put queries and what answers them otherwise."""


class Embedder(Protocol):
    """Something that knows how alike texts are. `testing.embedder_contract` proves one.

    It blocks, and may be called from several threads at a time. One that has an attribute `weight`
    says by it how much meaning counts beside words: 0.5 for an encoder of sentences, else 0.05.
    """

    @property
    def name(self) -> str:
        """Which model this is, and which edition of it: vectors of two names are never compared."""
        ...

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """A row for each text, in order, all equally long: of length 1, or zeros for a text of
        which nothing can be told, such as an empty one.

        A text has the same row whatever it is embedded with, up to rounding. What is too long is
        cut. Raises `EngineError` if the model cannot be reached or does not answer.
        """
        ...


def unit_rows(rows: Vectors) -> Vectors:
    """Each row at length 1; zeros stay zeros."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def embed_telling(texts: Sequence[str], embed: Callable[[list[str]], Vectors]) -> Vectors:
    """`embed` of the texts that are not blank, and zeros for the others: models differ there, and
    servers refuse them. A text that stands there twice is asked for once.
    """
    import numpy as np

    telling = list(dict.fromkeys(text for text in texts if text.strip()))
    if not telling:
        return np.zeros((len(texts), 0), np.float32)
    made = embed(telling)
    rows = np.vstack([made, np.zeros((1, made.shape[1]), np.float32)])
    at = {text: row for row, text in enumerate(telling)}
    return rows[[at.get(text, -1) for text in texts]]
