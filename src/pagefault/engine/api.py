"""The contract of an engine: a request in, text as it comes, then the whole reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from pagefault.model.request import Reply, Request


class Engine(Protocol):
    """Something that answers requests. Sees the request and nothing else."""

    def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        """Text in pieces as it arrives, then, last and exactly once, the `Reply`.

        Raises `EngineError`. Cancelling the iteration closes the connection.
        """
        ...
