"""How an archived segment is made: a gzip of many members, and a stub that says where they begin.

    log/00000001.g0.archived       the segment's first line and its seal, as they were, and
                                   {"archived":1,"raw":[…],"packed":[…],"sum":…,"crc":…}
    archive/00000001.g0.jsonl.gz   the segment; `gunzip` gives it back byte for byte
    log/00000001.g0.kept           some of its lines, as they are there; a gzip too

Each member holds whole strides of records, about 64 KiB of them, so to read one record is to
inflate one member. `raw` says where each begins in the segment, `packed` where in the archive's
file; both end with the total. `sum` is the CRC-32C of that file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import google_crc32c

from pagefault.model.errors import StoreCorrupt
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.segment_format import (
    FILE_BYTES_MAX,
    Footer,
    Header,
    file_name,
    parse_footer,
    parse_header,
    parse_name,
)

BLOCK_BYTES: Final = 65_536
"""The bytes of the segment in one member, or a little more: what a single read inflates."""

_LEVEL: Final = 9
_GZIP: Final = 31  # zlib's number for gzip with the largest window
_DEFLATE: Final = -15
_GZIP_HEADER_BYTES: Final = 10  # ours: no name, no comment


def stub_name(number: int, generation: int) -> str:
    return f"{number:08d}.g{generation}.archived"


def packed_name(number: int, generation: int) -> str:
    return f"{file_name(number, generation)}.gz"


def kept_name(number: int, generation: int) -> str:
    return f"{number:08d}.g{generation}.kept"


def parse_stub_name(name: str) -> tuple[int, int] | None:
    """Segment and generation, or None if this is not a stub's name."""
    stem = name.removesuffix(".archived")
    return parse_name(f"{stem}.jsonl") if stem != name else None


def parse_packed_name(name: str) -> tuple[int, int] | None:
    """Segment and generation, or None if this is not the name of an archive file."""
    return parse_name(name.removesuffix(".gz")) if name.endswith(".gz") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """What `log/` keeps of an archived segment."""

    header: Header
    footer: Footer
    header_line: bytes
    footer_line: bytes
    raw: tuple[int, ...]
    packed: tuple[int, ...]
    checksum: int

    def encode(self) -> bytes:
        fields = {
            "archived": self.footer.segment,
            "raw": self.raw,
            "packed": self.packed,
            "sum": f"{self.checksum:08x}",
        }
        blocks = codec.seal(json.dumps(fields, separators=(",", ":")).encode()[:-1])
        return self.header_line + self.footer_line + blocks

    @property
    def footer_at(self) -> int:
        """The offset of the seal in the segment."""
        return self.raw[-1] - len(self.footer_line)

    def members(self, offset: int, length: int) -> range:
        """The members that hold these bytes of the segment."""
        return range(bisect_right(self.raw, offset) - 1, bisect_left(self.raw, offset + length))

    def inflate(self, data: bytes, members: range) -> bytes:
        """The content of these members, whose compressed bytes are `data`; see `inflate`."""
        start = self.packed[members.start]
        return b"".join(
            inflate(
                data[self.packed[n] - start : self.packed[n + 1] - start],
                self.raw[n + 1] - self.raw[n],
            )
            for n in members
        )


def parse_stub(data: bytes, *, of_any_version: bool = False) -> Stub | None:
    """The stub, or None if these bytes are not an intact one. Versions as for `parse_header`."""
    lines = data.splitlines(keepends=True)
    if len(lines) != 3 or not codec.is_sealed(lines[2]):
        return None
    header = parse_header(lines[0], of_any_version=of_any_version)
    footer = parse_footer(lines[1])
    if header is None or footer is None:
        return None
    try:
        fields = json.loads(lines[2])
        raw, packed = tuple(map(int, fields["raw"])), tuple(map(int, fields["packed"]))
        checksum = int(fields["sum"], 16)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    if len(raw) != len(packed) or len(raw) < 2 or raw[-1] > FILE_BYTES_MAX:
        return None
    if raw[0] or packed[0] or raw[-1] < len(lines[0]) + len(lines[1]):
        return None
    if any(later <= earlier for ends in (raw, packed) for earlier, later in pairwise(ends)):
        return None
    return Stub(
        header=header,
        footer=footer,
        header_line=lines[0],
        footer_line=lines[1],
        raw=raw,
        packed=packed,
        checksum=checksum,
    )


def pack(data: bytes) -> tuple[Stub, bytes]:
    """A sealed segment as stub and archive file. `StoreCorrupt` if it is not a sealed segment."""
    header_line = data[: data.find(b"\n") + 1]
    footer_line = data[data.rfind(b"\n", 0, -1) + 1 :]
    header, footer = parse_header(header_line), parse_footer(footer_line)
    if header is None or footer is None:
        raise StoreCorrupt("a segment without its first line or its seal cannot be archived")
    raw = [0]
    for offset in footer.offsets:
        if offset - raw[-1] >= BLOCK_BYTES:
            raw.append(offset)
    raw.append(len(data))
    packed, members = [0], []
    for start, end in pairwise(raw):
        member = gzip.compress(data[start:end], _LEVEL, mtime=0)
        members.append(member)
        packed.append(packed[-1] + len(member))
    whole = b"".join(members)
    stub = Stub(
        header=header,
        footer=footer,
        header_line=header_line,
        footer_line=footer_line,
        raw=tuple(raw),
        packed=tuple(packed),
        checksum=google_crc32c.value(whole),
    )
    if stub.inflate(whole, range(len(members))) != data:
        raise StoreCorrupt("a segment did not come out of the archive as it went in")
    return stub, whole


def keep(data: bytes, seqs: Collection[Seq]) -> bytes:
    """The lines of these records out of a segment, packed."""
    return gzip.compress(lines_of(data, seqs), _LEVEL, mtime=0)


def lines_of(data: bytes, seqs: Collection[Seq]) -> bytes:
    """The lines of these records in a segment, unchanged."""
    wanted, lines = frozenset(seqs), []
    for line in data.splitlines(keepends=True) if wanted else ():
        with suppress(StoreCorrupt):
            if codec.parse(line).seq in wanted:
                lines.append(line)
    return b"".join(lines)


def unpack_kept(data: bytes) -> bytes:
    """The lines that `keep` packed. `StoreCorrupt` for any other bytes."""
    member = zlib.decompressobj(_GZIP)
    try:
        lines = member.decompress(data, FILE_BYTES_MAX)
    except zlib.error as error:
        raise StoreCorrupt(f"it cannot be unpacked: {error}") from error
    if not member.eof or member.unused_data:
        raise StoreCorrupt("it does not end where it should")
    return lines


def inflate(member: bytes, length: int) -> bytes:
    """`length` bytes, even of a damaged member: what cannot be inflated is blank.

    So every other byte of a damaged segment keeps its offset, and the checksums of its records show
    which are intact.
    """
    try:
        whole = zlib.decompressobj(_GZIP).decompress(member, length + 1)
        if len(whole) == length:
            return whole
    except zlib.error:
        pass
    told = _inflate_some(member[_GZIP_HEADER_BYTES:], length)[:length]
    return told if len(told) == length else told + b" " * (length - len(told) - 1) + b"\n"


def _inflate_some(deflated: bytes, length: int) -> bytes:
    """The content before the damage: `length` bytes, or a little more."""
    told, state, step = bytearray(), zlib.decompressobj(_DEFLATE), 1024
    at = 0
    while at < len(deflated) and len(told) < length:
        before = state.copy()
        try:
            told += state.decompress(deflated[at : at + step])
            at += step
        except zlib.error:
            if step == 1:
                break
            state, step = before, 1  # the output of this step's good bytes is lost
    return bytes(told)


def inflate_all(data: bytes) -> bytes:
    """A whole archive file without its stub, as far as it can be inflated, up to the size of a
    segment: anything larger is not one.
    """
    told, left = [], FILE_BYTES_MAX
    while data and left:
        member = zlib.decompressobj(_GZIP)
        try:
            told.append(member.decompress(data, left))
        except zlib.error:
            break
        left -= len(told[-1])
        data = member.unused_data
    return b"".join(told)
