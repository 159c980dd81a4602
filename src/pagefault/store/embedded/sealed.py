"""Small files of JSON that tell damage: one line, closed with its checksum like a line of the log.

CRC-32C tells any two lines of up to 655 bytes apart that differ in fewer than six bits (Koopman and
Chakravarty, DSN 2004), and longer ones in fewer than four: so a line in which one bit flipped can
have come of one sealed line only, and is mended by trying every bit.
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
    """What `encode` was given. `ValueError` if these are other bytes.

    An object of just the keys `unsealed` is taken as it stands: files of before were not sealed.
    """
    facts = parse_facts(data)
    if codec.is_sealed(data):
        del facts["crc"]
    elif facts.keys() != set(unsealed):
        raise ValueError("it does not fit its checksum")
    return facts


def unflipped(data: bytes) -> bytes | None:
    """The sealed line of which this one differs in a single bit, if there is one."""
    for at in range(len(data)):
        for bit in range(8):
            line = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            if codec.is_sealed(line):
                return line
    return None
