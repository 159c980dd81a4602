"""A stand-in for the provider, for the conversations by which an operator tests his own proxy.

What the operator sends under his key (`desk.py`) is read, logged, paged and quoted into like any
other request. Only the provider is replaced: this one costs nothing, needs no key, and reports in a
header which canaries reached it. So the sender learns what left the window and what came back, as a
provider would have seen it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

OPERATOR: Final = "~operator"  # nobody else can be this principal: others are names and digests
SEEN_HEADER: Final = "x-pagefault-canary"
WINDOW: Final = 2_000  # small, so that something leaves it soon
ANSWER: Final = "Noted."
CANARY: Final = re.compile(r"canary-[0-9a-f]{8}")


def is_operators(name: str) -> bool:
    """Whether a conversation is an operator's test, by its name."""
    return name.endswith(f"@{OPERATOR}")


class Canary:
    """Takes the place of a `Relay`."""

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        target: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes | AsyncIterable[bytes],
        *,
        repeatable: bool = False,
    ) -> AsyncIterator[httpx2.Response]:
        import httpx2

        assert isinstance(body, bytes), "what reaches it was read"

        seen = sorted(set(CANARY.findall(body.decode(errors="replace"))))
        message = {"role": "assistant", "content": ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"id": "canary", "object": "chat.completion", "choices": [choice]}
        yield httpx2.Response(
            200,
            headers={"content-type": "application/json", SEEN_HEADER: ",".join(seen) or "none"},
            content=json.dumps(told).encode(),
        )

    async def pieces(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        yield response.content
