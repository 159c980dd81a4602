"""Staging of a scrub: the new lines of its records, kept beside the log until they are in it.

What is to be redacted may be known to one process only (a value that somebody passed), so an
interrupted scrub could not be planned again. Hence its result is written before it begins: first
the new lines, in which nothing of the redacted text is left, then a record that vouches for them.
The next process to open the root puts the lines in place; doing so is idempotent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from pagefault.model.errors import StoreCorrupt
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, read
from pagefault.store.embedded.scan import lines
from pagefault.store.embedded.segment_format import TEMPORARY

NAME: Final = "scrub.staged"

STAGED_BYTES_MAX: Final = 1 << 40
"""As large as a log may be."""


@dataclass(frozen=True, slots=True)
class Staged:
    """New lines by record, and the blobs to delete with the old lines."""

    lines: Mapping[Seq, bytes]
    going: tuple[str, ...]

    @property
    def vouched(self) -> str:
        """A digest of the new commitments, for `ScrubBegun.vouches`."""
        return vouch([codec.parse(self.lines[seq]).commit for seq in sorted(self.lines)])


def vouch(commitments: list[str]) -> str:
    told = b"".join(map(codec.long, commitments))
    return codec.short(hashlib.sha256(told).digest()[: codec.CUT_BYTES]).decode()


@dataclass(frozen=True, slots=True)
class Staging:
    """The staging file of a root."""

    root: Path

    @property
    def path(self) -> Path:
        return self.root / NAME

    def put(self, staged: Staged, disk: Disk) -> None:
        head = codec.seal(msgspec.json.encode({"blobs": staged.going})[:-1])
        data = b"".join([head, *(staged.lines[seq] for seq in sorted(staged.lines))])
        disk.place(self.path, self.path.with_name(NAME + TEMPORARY), data)

    def get(self, vouched: str) -> Staged:
        """`StoreCorrupt` if it is missing, or does not match `vouched`."""
        try:
            data = read(self.path, STAGED_BYTES_MAX)
        except FileNotFoundError:
            raise StoreCorrupt(f"{self.path} is missing, and a scrub was begun with it") from None
        (start, end), *rest = list(lines(data)) or [(0, 0)]
        if not codec.is_sealed(data[start:end]):
            raise StoreCorrupt(f"{self.path} is damaged")
        going = msgspec.json.decode(data[start:end])["blobs"]
        found = {}
        for start, end in rest:
            found[Seq(codec.parse(data[start:end]).seq)] = data[start:end]
        staged = Staged(found, tuple(going))
        if staged.vouched != vouched:
            raise StoreCorrupt(f"{self.path} is not what its scrub was begun with")
        return staged

    def clear(self, disk: Disk) -> None:
        there = [p for p in (self.path.with_name(NAME + TEMPORARY), self.path) if is_file(p)]
        for path in there:
            disk.unlink(path)
        if there:
            disk.sync_directory(self.root)
