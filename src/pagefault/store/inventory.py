"""Which files of a log directory count, and which were left over by a crash."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pagefault.store.archive import Archive
from pagefault.store.archive_format import parse_stub_name
from pagefault.store.segment_format import (
    TEMPORARY,
    parse_footer,
    parse_header,
    parse_name,
)

_Candidate = tuple[int, bool, str]
"""A generation of a segment, whether it is a plain file (else a stub), and its name."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """`generations` is what counts: for each segment there is, its highest whole generation.

    Those in `archived` are in the archive; where a segment is in both places, the log's counts.
    `stubs` are all that have a stub, counting or left over, and so may have bytes in the archive.
    """

    generations: dict[int, int]
    leftovers: tuple[Path, ...]
    archived: frozenset[int] = frozenset()
    stubs: frozenset[int] = frozenset()

    @property
    def missing(self) -> list[int]:
        """Numbers below the highest that no file has."""
        return [n for n in range(1, max(self.generations, default=0)) if n not in self.generations]


def take_inventory(directory: Path) -> Inventory:
    """Look at the names, and into files only where two claim to be the same segment."""
    by_number: dict[int, list[_Candidate]] = {}
    leftovers: list[Path] = []
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    for name in names:
        if name.endswith(TEMPORARY):
            leftovers.append(directory / name)
        elif parsed := parse_name(name):
            by_number.setdefault(parsed[0], []).append((parsed[1], True, name))
        elif parsed := parse_stub_name(name):
            by_number.setdefault(parsed[0], []).append((parsed[1], False, name))
    chosen: dict[int, _Candidate] = {}
    newest = max(by_number, default=0)
    for number in sorted(by_number):
        candidates = sorted(by_number[number], reverse=True)
        whole = candidates
        if len(candidates) > 1:
            sealed = number < newest
            whole = [one for one in candidates if _counts(directory, number, one, sealed=sealed)]
        chosen[number] = (whole or candidates)[0]
        leftovers += [directory / one[2] for one in candidates if one != chosen[number]]
    return Inventory(
        {number: generation for number, (generation, _, _) in chosen.items()},
        tuple(leftovers),
        frozenset(number for number, (_, plain, _) in chosen.items() if not plain),
        frozenset(n for n, some in by_number.items() if not all(plain for _, plain, _ in some)),
    )


def _counts(directory: Path, number: int, candidate: _Candidate, *, sealed: bool) -> bool:
    generation, plain, name = candidate
    if plain:
        return _is_whole(directory / name, sealed=sealed)
    return Archive(directory).holds(number, generation)


def _is_whole(path: Path, *, sealed: bool) -> bool:
    """Whether a generation has its first line and, where it must, its seal."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if parse_header(data[: data.find(b"\n") + 1]) is None:
        return False
    return not sealed or parse_footer(data[data.rfind(b"\n", 0, -1) + 1 :]) is not None
