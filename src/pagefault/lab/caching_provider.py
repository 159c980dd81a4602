"""A provider in this process that caches prefixes, by blocks and by bytes.

It counts what a real one bills: the tokens of a request that an earlier one began with, in whole
blocks of its price list (`billing.CachedPrefixes`); and, beside that, the bytes shared with the
beginning of an earlier body. It does not depend on who asks or why.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pagefault.engine.formats import to_wire
from pagefault.lab.billing import Blocks, cache_of
from pagefault.model.catalogue import find_model
from pagefault.model.request import Reply, Request, Usage
from pagefault.pack.count import O200k

CALL_S = 3.0  # between two requests, for cache expiry


@dataclass(frozen=True, slots=True)
class Billed:
    """One request as billed: effective input tokens, and the bytes of its body."""

    request: Request
    tokens: int
    cached: int
    cost: float
    output_tokens: int
    bytes: int
    cached_bytes: int

    @property
    def share(self) -> float:
        """The share of the request's tokens that was read from the cache."""
        return self.cached / self.tokens if self.tokens else 0.0

    @property
    def bytes_share(self) -> float:
        """The same of its bytes."""
        return self.cached_bytes / self.bytes if self.bytes else 0.0


@dataclass
class CachingProvider:
    """An `Engine`. `answer` produces the reply to a request; it may raise."""

    model: str
    answer: Callable[[Request], str | Awaitable[str]]
    billed: list[Billed] = field(default_factory=list)
    now_s: float = 0.0
    _blocks: Blocks = field(default_factory=Blocks)
    _bodies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = find_model(self.model)
        self.format = "anthropic" if known.provider == "anthropic" else "openai"
        self._cache = cache_of(self.model)
        self._counter = O200k()

    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        answer = self.answer(request)
        text = answer if isinstance(answer, str) else await answer
        body = _plain(to_wire(request, self.format))
        arrived = self._blocks.of(body, at_s=self.now_s, step=len(self.billed))
        cost, cached = self._cache.cost(arrived)
        said = _as_read(body)
        shared = max((_common(said, one) for one in self._bodies[-8:]), default=0)
        self._bodies.append(said)
        self.now_s += CALL_S
        usage = Usage(
            input_tokens=arrived.tokens,
            output_tokens=self._counter.count(text),
            cached_tokens=cached,
        )
        self.billed.append(
            Billed(
                request,
                arrived.tokens,
                cached,
                cost,
                usage.output_tokens,
                len(said.encode()),
                len(said[:shared].encode()),
            )
        )
        yield text
        yield Reply(text=text, usage=usage)


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """The body with every text as a part, and marks in Anthropic's form: neither the spelling of a
    text nor its mark is part of what is cached.
    """
    messages = []
    for message in body["messages"]:
        content = message.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts = [_marked(part) for part in parts]
        calls = [{"type": "call", **call} for call in message.get("tool_calls") or []]
        rest = {k: v for k, v in message.items() if k not in ("content", "tool_calls")}
        messages.append(rest | {"content": parts + calls})
    return body | {"messages": messages}


def _marked(part: dict[str, Any]) -> dict[str, Any]:
    if "prompt_cache_breakpoint" not in part:
        return part
    rest = {k: v for k, v in part.items() if k != "prompt_cache_breakpoint"}
    return rest | {"cache_control": {"type": "ephemeral"}}


def _as_read(body: dict[str, Any]) -> str:
    """The body in the order in which a model reads it, without marks."""

    def unmarked(one: Any) -> Any:
        if isinstance(one, dict):
            return {k: unmarked(v) for k, v in one.items() if k != "cache_control"}
        return [unmarked(part) for part in one] if isinstance(one, list) else one

    told = [unmarked(body.get(name) or []) for name in ("tools", "system", "messages")]
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in told).rstrip("]}")


def _common(one: str, other: str) -> int:
    """The length of the common prefix, in characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
