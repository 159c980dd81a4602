"""A request to a model, independent of any wire format; adapters translate it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pagefault.model.errors import BadInput
from pagefault.model.kinds import Role
from pagefault.model.signatures import ANY_TEXT, check_fields, checked

CALL_ID_MAX: Final = 64
"""Characters of a call's id, and of a tool's name: providers accept no more, and produce fewer."""


@dataclass(frozen=True, slots=True, init=False)
class ToolCall:
    """A call by the model. `arguments` is JSON as the model wrote it, which may be malformed.

    Already parsed arguments, as from Anthropic's client, are accepted, too. Raises `BadInput` for
    anything but a text or an object.
    """

    call_id: str
    name: str
    arguments: str

    @checked
    def __init__(
        self,
        call_id: Annotated[str, ANY_TEXT],
        name: Annotated[str, ANY_TEXT],
        arguments: Annotated[str, ANY_TEXT] | Mapping[str, Any],
    ) -> None:
        object.__setattr__(self, "call_id", call_id)
        object.__setattr__(self, "name", name)
        told = arguments if isinstance(arguments, str) else _json(arguments)
        object.__setattr__(self, "arguments", told)


def _json(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(
            f"a call's arguments are not JSON: {problem}",
            hint="pass the model's text, or the object it encodes",
        ) from None


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
    is_error: bool = False  # of a tool message: the call failed, as its text also says


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the model sees.

    `tokens` is our count of everything, including framing, tools and tail; times `factor` it is at
    most `window_tokens`. `tail` changes from request to request: it goes last, as a separate block
    in the newest user message, and is not part of the next request's prefix. It exists only if the
    last message is the user's.

    Two hints for a provider's cache, used by wire formats that support them: `breakpoints` are
    positions in `messages` up to whose end the prefix is worth caching, the most useful first;
    `cache_key` is common to the requests of one conversation. The model does not see them, and
    requests that differ only in them are equal.
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
    """A provider's report of a request's cost, in its own tokens; the input is the whole prompt.

    `Session.observe` takes it. If a provider counts cached tokens outside the input (Anthropic),
    `input_tokens` is the sum.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None  # of the input: read from a cache; None if not reported
    cache_write_tokens: int = 0  # of the input: written to one, where that is billed

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The model's answer: text, or calls, or both."""

    text: Annotated[str, ANY_TEXT]
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    # The provider's stop reason: "length" means that the text was cut off.
    finish: Annotated[str, ANY_TEXT] = ""

    def __post_init__(self) -> None:
        check_fields(self)
