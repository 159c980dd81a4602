"""One request to a model, in nobody's wire format; adapters translate it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pagefault.model.kinds import Role


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made. `arguments` is JSON as the model wrote it, which may be malformed."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call. `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()  # of an assistant message
    call_id: str = ""  # of a tool message: the call it answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the model sees.

    `tokens` is our count of the whole, framing, tools and tail included; times `factor` it is at
    most `window_tokens`. `tail` changes from request to request: it goes last, as a block of its
    own in the newest user message, and is no part of what the next request begins with. There is
    one only where the last message is the user's.

    Two hints for a provider's cache, which a wire uses where it has a place for them: `breakpoints`
    are positions in `messages` up to whose end the prefix is worth caching, the most useful first;
    `cache_key` is what the requests of one conversation have in common. They say nothing to the
    model, and requests that differ in them alone are equal.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    tokens: int
    factor: float
    window_tokens: int
    tail: str = ""
    breakpoints: tuple[int, ...] = field(default=(), compare=False)
    cache_key: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a provider says a request cost, in its own tokens; the input is the whole prompt."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None  # of the input: read from a cache; None where nothing is said
    cache_write_tokens: int = 0  # of the input: written to one, where that is billed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model answered: text, or calls, or both."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: str = ""  # why it ended, as the provider says: "length" is a text that was cut off
