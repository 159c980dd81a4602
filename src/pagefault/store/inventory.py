"""Which files of a log directory count, and which were left over by a crash."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pagefault.store.segment_format import file_name, parse_footer, parse_header, parse_name

TEMPORARY: Final = ".new"
"""What the name of a file ends in until it is whole."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """`generations` is what counts: for each segment there is, its highest whole generation."""

    generations: dict[int, int]
    leftovers: tuple[Path, ...]

    @property
    def missing(self) -> list[int]:
        """Numbers below the highest that no file has."""
        return [n for n in range(1, max(self.generations, default=0)) if n not in self.generations]


def take_inventory(directory: Path) -> Inventory:
    """Look at the names, and into files only where two claim to be the same segment."""
    by_number: dict[int, list[int]] = {}
    leftovers: list[Path] = []
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    for name in names:
        if name.endswith(TEMPORARY):
            leftovers.append(directory / name)
        elif parsed := parse_name(name):
            by_number.setdefault(parsed[0], []).append(parsed[1])
    chosen: dict[int, int] = {}
    newest = max(by_number, default=0)
    for number in sorted(by_number):
        candidates = sorted(by_number[number], reverse=True)
        whole = candidates
        if len(candidates) > 1:
            sealed = number < newest
            whole = [
                g for g in candidates if _is_whole(directory / file_name(number, g), sealed=sealed)
            ]
        chosen[number] = (whole or candidates)[0]
        leftovers += [directory / file_name(number, g) for g in candidates if g != chosen[number]]
    return Inventory(chosen, tuple(leftovers))


def _is_whole(path: Path, *, sealed: bool) -> bool:
    """Whether a generation has its first line and, where it must, its seal."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if parse_header(data[: data.find(b"\n") + 1]) is None:
        return False
    return not sealed or parse_footer(data[data.rfind(b"\n", 0, -1) + 1 :]) is not None
