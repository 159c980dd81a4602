"""The wire formats by name: one request, converted for any of four provider APIs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, get_args

from pagefault.engine import anthropic, chat_completions, gemini, responses
from pagefault.model.request import Reply, Request

Format = Literal["openai", "openai-responses", "anthropic", "gemini"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)


def to_wire(request: Request, format: str) -> dict[str, Any]:
    """The body of a call, without the model's name. `KeyError` if the format is not in `FORMATS`.

    The request's cache hints are used where a provider supports them: breakpoints by Anthropic and
    OpenAI (whose older models refuse them), the key by OpenAI.
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
    """The reply in a provider's whole answer. Raises `EngineGarbled`, `KeyError` as above.

    `taken` has the ids of the calls in the request (`chat_completions.call_ids`).
    """
    readers = {
        "openai": chat_completions.reply_from,
        "openai-responses": responses.reply_from,
        "anthropic": anthropic.reply_from,
        "gemini": gemini.reply_from,
    }
    return readers[format](document, taken=taken)
