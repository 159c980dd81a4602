"""The wire formats by their names: one request, written for any of four providers' APIs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, get_args

from pagefault.engine import anthropic, chat_completions, gemini, responses
from pagefault.model.request import Reply, Request

Format = Literal["openai", "openai-responses", "anthropic", "gemini"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)


def to_wire(request: Request, format: str) -> dict[str, Any]:
    """The body of a call, less the model's name. `KeyError` for a format that is none of `FORMATS`.

    The request's hints for a cache go where a provider has a place for them: breakpoints to
    Anthropic and OpenAI (whose older models refuse them), the key to OpenAI.
    """
    match format:
        case "openai":
            return chat_completions.to_wire(request)
        case "openai-responses":
            return responses.to_wire(request)
        case "anthropic":
            return anthropic.to_wire(request)
        case "gemini":
            return gemini.to_wire(request)
    raise KeyError(format)


def reply_from(document: Mapping[str, Any], format: str, *, taken: Collection[str] = ()) -> Reply:
    """A whole answer of a provider in that format. Raises `EngineGarbled`, `KeyError` as above.

    `taken` are the ids of the calls in the request (`chat_completions.call_ids`).
    """
    readers = {
        "openai": chat_completions.reply_from,
        "openai-responses": responses.reply_from,
        "anthropic": anthropic.reply_from,
        "gemini": gemini.reply_from,
    }
    return readers[format](document, taken=taken)
