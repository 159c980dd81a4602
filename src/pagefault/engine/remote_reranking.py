"""A `/rerank` endpoint as a reranker. Keys and retries are as in `endpoint.py`.

There are two wire formats. Jina, Cohere, vLLM and llama.cpp take `{model, query, documents, top_n}`
and answer `{results: [{index, relevance_score}]}`; Text Embeddings Inference takes `{query, texts}`
and answers `[{index, score}]`. The first is tried first; a server that reports missing `texts` gets
the second, from then on. Answers are recognised by their shape.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pagefault.engine.endpoint import Endpoint, Retries, Timeouts, cut_to_fit
from pagefault.engine.own_loop import OwnLoop
from pagefault.model.errors import BadInput, EngineGarbled, EngineRefused
from pagefault.model.signatures import checked

PATH: Final = "/rerank"
TEXT_CHARS_MAX: Final = 24_000  # of one text, or of a query: more than any model takes

_TIMEOUTS: Final = Timeouts(first_byte_s=60.0, total_s=120.0)
_WANTS_TEXTS: Final = re.compile(r"\btexts\b")


class RemoteReranker:
    """Arguments are those of `RemoteEngine`. One call sends all texts.

    Its connections are on their own thread, which starts with the first call; `close` ends it, and
    any waiting calls.
    """

    @checked
    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        key_from: str = "OPENAI_API_KEY",
        weight: float = 0.1,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        allow_http: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`weight` is as in `Reranker`; small by default, as the model is unknown. Raises
        `BadInput` for an invalid URL, model, key or weight.
        """
        if not model:
            raise BadInput("no reranking model is named", hint='like "rerank:MODEL"')
        if not 0 <= weight < math.inf:
            raise BadInput(f"weight is {weight}", hint="it takes 0 or more")
        self.model = model
        self.weight = weight
        self._endpoint = Endpoint(
            base_url,
            api_key,
            key_from=key_from,
            timeouts=timeouts or _TIMEOUTS,
            retries=retries,
            allow_http=allow_http,
            sleep=sleep,
        )
        self._own = OwnLoop("reranker", self._endpoint.aclose)
        self._as_texts = False  # whether the server uses the second format

    def __repr__(self) -> str:
        return f"RemoteReranker({self._endpoint.base_url!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """The model and its address: providers do not publish a version."""
        return f"rerank:{self.model}@{self._endpoint.host}"

    @checked
    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """As `Reranker.rerank`. Blank texts are not sent: they score as low as the worst one."""
        telling = list(dict.fromkeys(text[:TEXT_CHARS_MAX] for text in texts if text.strip()))
        if not telling or not query.strip():
            return [0.0] * len(texts)
        scores = self._own.run(self._rerank(query[:TEXT_CHARS_MAX], telling))
        known = dict(zip(telling, scores, strict=True))
        worst = min(scores)
        return [known.get(text[:TEXT_CHARS_MAX], worst) for text in texts]

    def close(self) -> None:
        """Close the connections. Waiting calls get `EngineUnreachable`. Idempotent."""
        self._own.close()

    # --- requests -----------------------------------------------------------------------------

    async def _rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return await cut_to_fit(texts, lambda cut: self._on_either_wire(query, cut))

    async def _on_either_wire(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            return await self._ask(query, texts, as_texts=self._as_texts)
        except EngineRefused as refused:
            if self._as_texts or not _WANTS_TEXTS.search(refused.message):
                raise
        scores = await self._ask(query, texts, as_texts=True)
        self._as_texts = True
        return scores

    async def _ask(self, query: str, texts: Sequence[str], *, as_texts: bool) -> list[float]:
        fields: dict[str, Any] = (
            {"query": query, "texts": texts, "truncate": True}
            if as_texts
            else {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        )
        document = await self._endpoint.told(PATH, self.model, fields, "results")
        return self._scores(document, len(texts))

    def _scores(self, document: object, count: int) -> list[float]:
        """The scores of an answer, in the order of their indexes. Raises `EngineGarbled`."""
        try:
            results = document["results"] if isinstance(document, dict) else document
            if not isinstance(results, list):
                raise TypeError("no list of results")
            scores = {
                _whole(one["index"]): _finite(one.get("relevance_score", one.get("score")))
                for one in results
            }
            if len(results) != count or sorted(scores) != list(range(count)):
                raise ValueError(f"{len(results)} scores for {count} texts")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as bad:
            raise EngineGarbled(
                f"{self._endpoint.host} answered with no scores: {type(bad).__name__}",
                hint="is it a reranking model, and does the server have /rerank?",
            ) from bad
        return [scores[at] for at in range(count)]


def _whole(index: object) -> int:
    if type(index) is not int:
        raise TypeError("an index is no whole number")
    return index


def _finite(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise TypeError("a score is no number")
    if not math.isfinite(score):
        raise ValueError("a score is not finite")
    return float(score)
