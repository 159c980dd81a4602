"""Small JSON files that detect damage: one line, closed with a checksum like a line of the log.

CRC-32C distinguishes lines of up to 655 bytes that differ in fewer than six bits (Koopman and
Chakravarty, DSN 2004), and longer ones that differ in fewer than four. So a line in which one bit
flipped can stem from only one sealed line, and is repaired by trying every bit.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from pagefault.store import codec
from pagefault.store.embedded.facts import parse_facts


def encode(facts: dict[str, Any]) -> bytes:
    return codec.seal(json.dumps(facts, separators=(",", ":")).encode()[:-1])


def decode(data: bytes, *, unsealed: Collection[str] = ()) -> dict[str, Any]:
    """The inverse of `encode`. `ValueError` for any other bytes.

    An object with exactly the keys `unsealed` is accepted unsealed, as older versions wrote it.
    """
    facts = parse_facts(data)
    if codec.is_sealed(data):
        del facts["crc"]
    elif facts.keys() != set(unsealed):
        raise ValueError("it does not fit its checksum")
    return facts


def unflipped(data: bytes) -> bytes | None:
    """The sealed line that differs from this one in a single bit, if there is one."""
    for at in range(len(data)):
        for bit in range(8):
            line = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            if codec.is_sealed(line):
                return line
    return None
