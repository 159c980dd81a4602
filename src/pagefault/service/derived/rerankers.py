"""The reranker of a setting: `rerank:MODEL`, `rerank:MODEL@URL` or `python:MODULE:NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagefault.service.derived.model_spec import ModelSpec

if TYPE_CHECKING:
    from pagefault.engine.reranking import Reranker


class RerankerSpec(ModelSpec["Reranker"]):
    WHAT = "reranker"
    NEEDS = ("rerank", "name")
    REMOTE = "rerank"

    def remote(self, url: str, model: str, key: str) -> Reranker:
        from pagefault.engine.remote_reranking import RemoteReranker

        return RemoteReranker(url, model, key, key_from=self.key_from, allow_http=self.allow_http)
