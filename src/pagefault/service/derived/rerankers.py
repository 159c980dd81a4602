"""Which reranker a configuration means: `rerank:MODEL`, `rerank:MODEL@URL` or
`python:MODULE:NAME`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pagefault.model.errors import BadInput
from pagefault.service.derived.made_by import made_by

if TYPE_CHECKING:
    from pagefault.engine.reranking import Reranker

FORMS: Final = "rerank:MODEL, rerank:MODEL@URL, python:MODULE:NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerSpec:
    """A setting, and the endpoint that `rerank:` means without a URL of its own.

    `rerank:MODEL@URL` sends no key: the key is for the endpoint's address and no other.
    """

    text: str
    base_url: str = ""
    api_key: str = ""
    key_from: str = ""
    allow_http: bool = False

    def make(self) -> Reranker:
        """The reranker. Raises `BadInput`."""
        form, _, rest = self.text.partition(":")
        if rest and form == "rerank":
            from pagefault.engine.remote_reranking import RemoteReranker

            model, at, url = rest.partition("@")
            return RemoteReranker(
                url if at else self.base_url,
                model,
                "" if at else self.api_key,
                key_from=self.key_from,
                allow_http=self.allow_http,
            )
        if form == "python" and rest.count(":") == 1:
            made: Reranker = made_by(rest, "reranker", ("rerank", "name"))
            return made
        raise BadInput(f"unknown reranker {self.text!r}", hint=f"one of {FORMS}")

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over a network."""
        return self.text.startswith("rerank:")

    def close(self, reranker: Reranker) -> None:
        """Let go of what `make` made."""
        close = getattr(reranker, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"RerankerSpec({self.text!r})"
