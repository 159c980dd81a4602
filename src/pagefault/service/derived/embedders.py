"""The embedder of a setting: `onnx:PATH`, `model2vec:PATH`, `openai:MODEL` or
`python:MODULE:NAME`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagefault.service.derived.model_spec import ModelSpec

if TYPE_CHECKING:
    from pagefault.engine.embedding import Embedder


class EmbedderSpec(ModelSpec["Embedder"]):
    WHAT = "embedder"
    NEEDS = ("embed", "name")
    REMOTE = "openai"
    LOCAL = ("onnx:DIRECTORY", "model2vec:DIRECTORY", "model2vec:NAME of the hub")

    def remote(self, url: str, model: str, key: str) -> Embedder:
        from pagefault.engine.remote_embedding import RemoteEmbedder

        return RemoteEmbedder(url, model, key, key_from=self.key_from, allow_http=self.allow_http)

    def local(self, form: str, rest: str) -> Embedder | None:
        if form == "onnx":
            from pagefault.engine.onnx_embedding import OnnxEmbedder

            return OnnxEmbedder(rest)
        if form == "model2vec":
            from pagefault.engine.static_embedding import StaticEmbedder

            return StaticEmbedder(rest)
        return None
