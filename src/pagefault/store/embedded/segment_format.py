"""The format of one file of the log: its name, its first line and its last.

    00000001.g0.jsonl      segment 1, generation 0 (rewriting makes the next generation)

    {"pagefault":"segment","v":"1.0","segment":1,"generation":0,"first":1,"root":…,"project":…,
     "link":…,"crc":…}                                     the link before its first record
    …records…
    {"seal":1,"records":9,"last":9,"link":…,"offsets":[…],"crc":…}          only once it is full

The seal has the offset of every 16th record, so a sealed segment is never scanned to find one.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from dataclasses import dataclass
from typing import Any, Final

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import VERSION
from pagefault.model.ids import Seq
from pagefault.store import codec

TEMPORARY: Final = ".new"
"""The suffix of a file's name until it is complete."""

FILE_BYTES_MAX: Final = 80 << 20
"""The upper bound of a segment: it ends after 10 MB with the current batch, and a batch is what one
call may write. A larger file is not ours, and is not read.
"""

STRIDE: Final = 16
"""Records between two stored offsets: one read of about 12 kB finds any of them."""

_NAME: Final = re.compile(r"([0-9]{8,})\.g([0-9]+)\.jsonl")


def file_name(number: int, generation: int) -> str:
    return f"{number:08d}.g{generation}.jsonl"


def parse_name(name: str) -> tuple[int, int] | None:
    """Segment and generation, or None if this is not a segment's name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number, generation = int(match[1]), int(match[2])
    is_named_so = number > 0 and file_name(number, generation) == name
    return (number, generation) if is_named_so else None


def first_link(root: str) -> bytes:
    """The link before the first record of a log: unique to each root."""
    return hashlib.sha256(b"pagefault\0" + root.encode()).digest()[: codec.CUT_BYTES]


# --- first and last lines ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    segment: int
    generation: int
    first: Seq
    root: str
    project: str
    link: bytes
    version: str = f"{VERSION[0]}.{VERSION[1]}"  # of the records at its creation

    def encode(self) -> bytes:
        fields = {
            "pagefault": "segment",
            "v": self.version,
            "segment": self.segment,
            "generation": self.generation,
            "first": self.first,
            "root": self.root,
            "project": self.project,
            "link": codec.short(self.link).decode(),
        }
        return codec.seal(_compact(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    segment: int
    records: int
    last: Seq
    link: bytes
    offsets: array[int]

    def encode(self) -> bytes:
        fields = {
            "seal": self.segment,
            "records": self.records,
            "last": self.last,
            "link": codec.short(self.link).decode(),
            "offsets": self.offsets.tolist(),
        }
        return codec.seal(_compact(fields))


def _compact(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()[:-1]


def parse_header(line: bytes, *, of_any_version: bool = False) -> Header | None:
    """The header, or None if the line is not one. `StoreIncompatible` if it is of another major
    version, unless it may be `of_any_version`.
    """
    fields = _open(line)
    try:
        if fields is None or fields["pagefault"] != "segment":
            return None
        if not of_any_version:
            codec.check_version(str(fields["v"]), "a segment")
        return Header(
            segment=int(fields["segment"]),
            generation=int(fields["generation"]),
            first=Seq(int(fields["first"])),
            root=str(fields["root"]),
            project=str(fields["project"]),
            link=codec.long(fields["link"]),
            version=str(fields["v"]),
        )
    except (KeyError, ValueError, TypeError, OverflowError, AttributeError, StoreCorrupt):
        return None


def parse_footer(line: bytes) -> Footer | None:
    """The footer, or None if the line is not one."""
    if not line.startswith(b'{"seal":'):
        return None
    fields = _open(line)
    try:
        if fields is None:
            return None
        return Footer(
            segment=int(fields["seal"]),
            records=int(fields["records"]),
            last=Seq(int(fields["last"])),
            link=codec.long(fields["link"]),
            offsets=array("Q", fields["offsets"]),
        )
    except (KeyError, ValueError, TypeError, OverflowError, AttributeError, StoreCorrupt):
        return None


def _open(line: bytes) -> dict[str, Any] | None:
    if not codec.is_sealed(line):
        return None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def offsets_for(starts: list[int]) -> array[int]:
    """The offsets that a seal stores, from the offsets of all records."""
    return array("Q", starts[::STRIDE])
