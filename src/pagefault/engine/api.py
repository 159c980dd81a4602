"""The contract of an engine: a request in, streamed text out, then the whole reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from pagefault.model.request import Reply, Request


class Engine(Protocol):
    """Answers requests. Sees the request and nothing else."""

    def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        """Pieces of text as they arrive; last and exactly once, the `Reply`.

        Raises `EngineError`. Cancelling the iteration closes the connection.
        """
        ...
