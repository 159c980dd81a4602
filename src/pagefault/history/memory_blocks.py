"""Core memory blocks and archival rows of MemGPT and Letta, read from JSON.

The format differs by version; all are supported: an agent file of Letta (`blocks`, `agents` with
`core_memory` or `memory`), MemGPT's `{"persona": …, "human": …}`, and rows of archival memory as a
list or under `archival`, `archival_memory` or `passages`, whose text is `text` or `content`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_ROWS: Final = ("archival", "archival_memory", "passages")
_BLOCKS: Final = ("blocks", "core_memory", "memory")
_LABELS: Final = ("label", "section", "name", "template_name")
_TEXTS: Final = ("value", "text", "content")


@dataclass(frozen=True, slots=True)
class Block:
    """A section of core memory."""

    section: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A record of archival memory. `ref` is its id there, "" if it has none."""

    text: str
    created_at: str = ""
    ref: str = ""


def read_blocks(text: str) -> tuple[list[Block], list[Row]] | None:
    """The content of a file, without duplicate blocks; None if it is not such a file."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    blocks = {block.section: block for block in _blocks(told)}
    rows = list(_rows(told))
    return (list(blocks.values()), rows) if blocks or rows else None


def _blocks(told: Any) -> Iterator[Block]:
    if not isinstance(told, Mapping):
        return
    for agent in _list(told.get("agents")):
        yield from _blocks(agent)
    for name in _BLOCKS:
        yield from _of_blocks(told.get(name))
    for name in ("persona", "human"):
        if isinstance(told.get(name), str) and told[name]:
            yield Block(name, told[name])


def _of_blocks(found: Any) -> Iterator[Block]:
    if isinstance(found, Mapping):
        if "blocks" in found:
            yield from _of_blocks(found["blocks"])
            return
        for name, value in found.items():
            text = value if isinstance(value, str) else _first(value, _TEXTS)
            if text:
                yield Block(str(name), text)
    for one in _list(found):
        section, text = _first(one, _LABELS), _first(one, _TEXTS)
        if section and text:
            yield Block(section, text)


def _rows(told: Any) -> Iterator[Row]:
    if isinstance(told, list):
        for one in told:
            text = one if isinstance(one, str) else _first(one, _TEXTS[1:])
            if text:
                yield Row(text, _first(one, ("created_at", "timestamp")), _first(one, ("id",)))
        return
    if isinstance(told, Mapping):
        for name in _ROWS:
            yield from _rows(_list(told.get(name)))
        for agent in _list(told.get("agents")):
            if isinstance(agent, Mapping):
                yield from _rows(agent)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _first(one: Any, names: tuple[str, ...]) -> str:
    """The first of these fields that is not empty, as a text."""
    if not isinstance(one, Mapping):
        return ""
    found = (one.get(name) for name in names)
    return next((str(value) for value in found if isinstance(value, str | int) and value), "")
