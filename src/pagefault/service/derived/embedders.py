"""Which embedder a configuration means: `model2vec:PATH`, `openai:MODEL`, `python:MODULE:NAME`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pagefault.model.errors import BadInput
from pagefault.service.derived.made_by import made_by

if TYPE_CHECKING:
    from pagefault.engine.embedding import Embedder

FORMS: Final = (
    "model2vec:DIRECTORY, model2vec:NAME of the hub, openai:MODEL, openai:MODEL@URL, "
    "python:MODULE:NAME"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """A setting, and the endpoint that `openai:` means without a URL of its own.

    `openai:MODEL@URL` sends no key: the key is for the endpoint's address and no other.
    """

    text: str
    base_url: str = ""
    api_key: str = ""
    key_from: str = ""
    allow_http: bool = False

    def make(self) -> Embedder:
        """The embedder, which loads its model when that is needed. Raises `BadInput`."""
        form, _, rest = self.text.partition(":")
        if rest and form == "model2vec":
            from pagefault.engine.static_embedding import StaticEmbedder

            return StaticEmbedder(rest)
        if rest and form == "openai":
            from pagefault.engine.remote_embedding import RemoteEmbedder

            model, at, url = rest.partition("@")
            return RemoteEmbedder(
                url if at else self.base_url,
                model,
                "" if at else self.api_key,
                key_from=self.key_from,
                allow_http=self.allow_http,
            )
        if form == "python" and rest.count(":") == 1:
            made: Embedder = made_by(rest, "embedder", ("embed", "name"))
            return made
        raise BadInput(f"unknown embedder {self.text!r}", hint=f"one of {FORMS}")

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over a network."""
        return self.text.startswith("openai:")

    def close(self, embedder: Embedder) -> None:
        """Let go of what `make` made."""
        close = getattr(embedder, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"EmbedderSpec({self.text!r})"
