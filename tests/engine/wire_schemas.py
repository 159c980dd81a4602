"""JSON Schemas of what two providers accept, written from their public documentation.

Only what requests of ours can hold is described, and nothing else is allowed.
"""

from __future__ import annotations

from typing import Any, Final

_CACHE: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type"],
    "properties": {"type": {"const": "ephemeral"}},
}
_SPOKEN: Final = {"type": "string", "pattern": r"\S"}
_CALL_ID: Final = {"type": "string", "pattern": "^[a-zA-Z0-9_-]+$"}
_TOOL_NAME: Final = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"}


def _block(kind: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["type", *properties],
        "properties": {"type": {"const": kind}, "cache_control": _CACHE, **properties},
    }


_TEXT: Final = _block("text", text=_SPOKEN)
_RESULT: Final = _block("tool_result", tool_use_id=_CALL_ID, content={"type": "string"})
_USE: Final = _block("tool_use", id=_CALL_ID, name=_TOOL_NAME, input={"type": "object"})


def _said_by(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["role", "content"],
        "properties": {
            "role": {"const": role},
            "content": {"type": "array", "minItems": 1, "items": {"oneOf": list(blocks)}},
        },
    }


ANTHROPIC: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["messages"],
    "properties": {
        "system": {"type": "array", "minItems": 1, "items": _TEXT},
        "messages": {
            "type": "array",
            "minItems": 1,
            "prefixItems": [_said_by("user", _TEXT, _RESULT)],
            "items": {
                "oneOf": [_said_by("user", _TEXT, _RESULT), _said_by("assistant", _TEXT, _USE)]
            },
        },
        "tools": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "input_schema"],
                "properties": {
                    "name": _TOOL_NAME,
                    "description": {"type": "string"},
                    "input_schema": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {"type": {"const": "object"}},
                    },
                },
            },
        },
    },
}

_PART: Final = {
    "oneOf": [
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 1}},
        },
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["functionCall"],
            "properties": {
                "functionCall": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "properties": {
                        "id": {"type": "string"},
                        "name": _TOOL_NAME,
                        "args": {"type": "object"},
                    },
                },
                "thoughtSignature": {"type": "string"},
            },
        },
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["functionResponse"],
            "properties": {
                "functionResponse": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "response"],
                    "properties": {
                        "id": {"type": "string"},
                        "name": _TOOL_NAME,
                        "response": {"type": "object"},
                    },
                }
            },
        },
    ]
}

_CONTENT: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["role", "parts"],
    "properties": {
        "role": {"enum": ["user", "model"]},
        "parts": {"type": "array", "minItems": 1, "items": _PART},
    },
}

GEMINI: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["contents"],
    "properties": {
        "systemInstruction": {
            "type": "object",
            "additionalProperties": False,
            "required": ["parts"],
            "properties": {"parts": {"type": "array", "minItems": 1, "items": _PART}},
        },
        "contents": {
            "type": "array",
            "minItems": 1,
            "prefixItems": [
                {**_CONTENT, "properties": {**_CONTENT["properties"], "role": {"const": "user"}}}
            ],
            "items": _CONTENT,
        },
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["functionDeclarations"],
                "properties": {
                    "functionDeclarations": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["name", "description"],
                            "properties": {
                                "name": _TOOL_NAME,
                                "description": {"type": "string"},
                                "parametersJsonSchema": {"type": "object"},
                            },
                        },
                    }
                },
            },
        },
    },
}
