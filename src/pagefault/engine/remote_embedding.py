"""An OpenAI-compatible `/embeddings` endpoint as an embedder. Keys and retries are as in
`endpoint.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from pagefault.engine.embedding import TextKind, embed_telling, unit_rows
from pagefault.engine.endpoint import Endpoint, Retries, Timeouts, cut_to_fit
from pagefault.engine.own_loop import OwnLoop
from pagefault.model.errors import BadInput, EngineGarbled
from pagefault.model.signatures import checked

if TYPE_CHECKING:
    from pagefault.engine.embedding import Vectors

PATH: Final = "/embeddings"
BATCH_TEXTS: Final = 64
BATCH_CHARS: Final = 200_000  # some providers limit the tokens of a call
TEXT_CHARS_MAX: Final = 24_000  # of one text: more than any model takes

_TIMEOUTS: Final = Timeouts(first_byte_s=60.0, total_s=120.0)


class RemoteEmbedder:
    """`queries` and `pages` are prepended to texts of each kind, for models that need it.

    Other arguments are those of `RemoteEngine`. Its connections are on their own thread, which
    starts with the first call; `close` ends it, and any waiting calls.
    """

    weight = 0.5  # models behind endpoints are sentence encoders

    @checked
    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        key_from: str = "OPENAI_API_KEY",
        queries: str = "",
        pages: str = "",
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        allow_http: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Raises `BadInput` for an invalid URL, model or key."""
        if not model:
            raise BadInput("no embedding model is named", hint='like "openai:MODEL"')
        self.model = model
        self._before: dict[TextKind, str] = {"query": queries, "page": pages}
        self._endpoint = Endpoint(
            base_url,
            api_key,
            key_from=key_from,
            timeouts=timeouts or _TIMEOUTS,
            retries=retries,
            allow_http=allow_http,
            sleep=sleep,
        )
        self._own = OwnLoop("embedder", self._endpoint.aclose)

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._endpoint.base_url!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """The model, its address, and its prefixes: providers do not publish a version."""
        told = "".join(f" {kind}={text!r}" for kind, text in self._before.items() if text)
        return f"openai:{self.model}@{self._endpoint.host}{told}"

    @checked
    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """As `Embedder.embed`."""
        before = self._before[kind]
        return embed_telling(
            texts,
            lambda telling: self._own.run(
                self._embed([before + text[:TEXT_CHARS_MAX] for text in telling])
            ),
        )

    def close(self) -> None:
        """Close the connections. Waiting calls get `EngineUnreachable`. Idempotent."""
        self._own.close()

    # --- requests -----------------------------------------------------------------------------

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows: list[Vectors] = []
        batch: list[str] = []
        for text in texts:
            if batch and (
                len(batch) == BATCH_TEXTS or sum(map(len, batch)) + len(text) > BATCH_CHARS
            ):
                rows.append(await self._batch(batch))
                batch = []
            batch.append(text)
        rows.append(await self._batch(batch))
        if len({row.shape[1] for row in rows}) > 1:
            raise EngineGarbled(f"{self._endpoint.host} answered with vectors of several lengths")
        return unit_rows(np.vstack(rows))

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        """The rows of one call's batch."""
        return await cut_to_fit(texts, self._ask)

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        fields = {"model": self.model, "input": texts, "encoding_format": "float"}
        return self._rows(await self._endpoint.told(PATH, self.model, fields, "data"), len(texts))

    def _rows(self, document: object, count: int) -> Vectors:
        """The vectors of an answer, in the order of their indexes. Raises `EngineGarbled`."""
        import numpy as np

        try:
            if not isinstance(document, dict):
                raise TypeError("no object")
            data = sorted(document["data"], key=lambda one: int(one["index"]))
            if [int(one["index"]) for one in data] != list(range(count)):
                raise ValueError(f"{len(data)} vectors for {count} texts")
            rows = np.array([one["embedding"] for one in data], dtype=np.float32)
            if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
                raise ValueError("vectors of several lengths, or no numbers")
        except (KeyError, TypeError, ValueError, OverflowError) as bad:
            raise EngineGarbled(
                f"{self._endpoint.host} answered with no embeddings: {type(bad).__name__}",
                hint="is it an embedding model, and does the server have /embeddings?",
            ) from bad
        return rows
