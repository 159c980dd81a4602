"""What every provider demands of calls and results in a request, in all four formats."""

from __future__ import annotations

from typing import Any

from pagefault import Request
from pagefault.engine.formats import FORMATS, to_wire


def check_pairs(request: Request) -> None:
    """In all four formats, what `check_body` asks of one."""
    for format in FORMATS:
        check_body(format, to_wire(request, format))


def check_body(format: str, body: dict[str, Any]) -> None:
    """Each result stands right after the message of its call, each call has one, no id is twice."""
    calls: list[str] = []
    for called, returned in _turns(format, body):
        assert sorted(called) == sorted(returned), (format, called, returned)
        calls += called
    assert len(calls) == len(set(calls)), (format, calls)


def _turns(format: str, body: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    """The ids called in each message of the model, and those answered right after it."""
    turns: list[tuple[list[str], list[str]]] = [([], [])]
    last = ""
    for kind, ids in _items(format, body):
        if kind == "said" or not ids:
            last = kind
            continue
        if kind == "called" and last != "called":
            turns.append(([], []))
        if kind == "returned":
            assert last in ("called", "returned"), (format, ids)
        turns[-1][kind == "returned"].extend(ids)
        last = kind
    return turns


def _items(format: str, body: dict[str, Any]) -> list[tuple[str, list[str]]]:
    items: list[tuple[str, list[str]]] = []
    match format:
        case "openai":
            for message in body["messages"]:
                match message:
                    case {"role": "tool", "tool_call_id": call_id}:
                        items.append(("returned", [call_id]))
                    case {"tool_calls": calls}:
                        items.append(("called", [call["id"] for call in calls]))
                    case _:
                        items.append(("said", []))
        case "openai-responses":
            for item in body["input"]:
                match item:
                    case {"type": "function_call", "call_id": call_id}:
                        items.append(("called", [call_id]))
                    case {"type": "function_call_output", "call_id": call_id}:
                        items.append(("returned", [call_id]))
                    case _:
                        items.append(("said", []))
        case "anthropic":
            for message in body["messages"]:
                blocks = message["content"]
                returned = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
                called = [b["id"] for b in blocks if b["type"] == "tool_use"]
                first = blocks[: len(returned)]
                assert all(b["type"] == "tool_result" for b in first), "results come first"
                kind = "returned" if returned else "called" if called else "said"
                items.append((kind, returned or called))
        case "gemini":
            for content in body["contents"]:
                parts = content["parts"]
                returned = [p["functionResponse"]["id"] for p in parts if "functionResponse" in p]
                called = [p["functionCall"]["id"] for p in parts if "functionCall" in p]
                kind = "returned" if returned else "called" if called else "said"
                items.append((kind, returned or called))
    return items
