"""The published form of a record: a JSON Schema (2020-12), and a validator without dependencies."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from pagefault.model.errors import StoreError
from pagefault.model.events import BODY_TYPES, VERSION, Said, SetAside
from pagefault.model.kinds import ORIGINS, Actor
from pagefault.store import codec

SCHEMA_ID: Final = f"urn:pagefault:record:{VERSION[0]}.{VERSION[1]}"

_CUT: Final = {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"}


def record_schema() -> dict[str, Any]:
    """The JSON Schema of a line of the log. Generated from the bodies, so it cannot be out of date.

    Unknown fields and types are allowed everywhere, as the compatibility rules in `codec` require;
    a stricter reader can add `unevaluatedProperties`.
    """
    bodies = sorted(set(BODY_TYPES.values()), key=lambda cls: cls.__name__)
    _, parts = msgspec.json.schema_components(bodies, ref_template="#/$defs/{name}")
    said = parts[Said.__name__]
    del said["properties"]["event_type"]  # it is in the header, as `type`
    said["required"].remove("event_type")
    for part in parts.values():
        part.pop("description", None)  # docstrings of classes are for programmers
    natural = {"type": "integer", "minimum": 0}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "A record of a pagefault log",
        "type": "object",
        "properties": {
            "v": {"type": "string", "pattern": rf"^{VERSION[0]}\.[0-9]+$"},
            "seq": {"type": "integer", "minimum": 1},
            "id": {"type": "string", "minLength": 1},
            "ses": natural,
            "turn": natural,
            "at": {"type": "integer", "description": "milliseconds since 1970, UTC"},
            "type": {"type": "string", "minLength": 1},
            "actor": {"enum": [actor.value for actor in Actor]},
            "origin": {
                "anyOf": [{"enum": list(ORIGINS)}, {"type": "string", "pattern": "^tool:[\\s\\S]"}]
            },
            "model": {"type": "string", "minLength": 1},
            "cause": {"type": "integer", "minimum": 1},
            "key": _CUT,
            "more": {"type": "integer", "minimum": 1},
            "redacted": {"const": 1},
            "salt": {"anyOf": [_CUT, {"type": "null"}]},
            "commit": _CUT,
            "link": _CUT,
            "join": _CUT,
            "payload": {"type": ["object", "null"]},
            "crc": {"type": "string", "pattern": "^[0-9a-f]{8}$"},
        },
        "required": [
            *("v", "seq", "id", "ses", "turn", "at", "type", "actor", "origin"),
            *("salt", "commit", "link", "payload", "crc"),
        ],
        "allOf": [
            {
                "if": {"properties": {"salt": {"type": "null"}}},
                "then": {"properties": {"payload": {"type": "null"}}},
                "else": {"properties": {"payload": {"type": "object"}}},
            },
            *(_rule(name, cls) for name, cls in sorted(BODY_TYPES.items())),
        ],
        "$defs": parts,
    }


def _rule(name: str, cls: type) -> dict[str, Any]:
    body = {"anyOf": [{"$ref": f"#/$defs/{cls.__name__}"}, {"type": "null"}]}
    return {
        "if": {"properties": {"type": {"const": name}}},
        "then": {"properties": {"payload": body}},
    }


def validate(line: bytes) -> list[str]:
    """The problems of one line of a log, a sentence each; empty if it is valid.

    Looks at the line alone: `SegmentLog.verify` checks its place in the log (seq and link).
    """
    try:
        record = codec.parse(line)
        event = codec.to_event(record)
    except StoreError as problem:
        return [problem.message]
    found = [event.body.why] if isinstance(event.body, SetAside) else []
    if event.seq < 1:
        found.append(f"its seq is {event.seq}, and seqs count from 1")
    if record.erased != (bytes(record.payload) == b"null"):
        found.append("salt and payload must be erased together")
    if not record.erased and not codec.confirms(record):
        found.append("its payload is not the one it committed to")
    if codec.seal(line[: line.rindex(b',"crc":')]) != line:
        found.append("bytes follow its checksum")
    return found
