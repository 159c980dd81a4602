"""Which layers of detection there are, and which of them a level has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pagefault.guard.detect import Layer
from pagefault.guard.paths import HomePaths
from pagefault.guard.scanner import Kingfisher, is_installed
from pagefault.guard.structure import Structure


class Level(StrEnum):
    """What is redacted: known values alone, or also what looks like a secret."""

    KNOWN = "known"
    DETECT = "detect"


def layers_of(
    level: Level, *, paths: bool = False, scanner: bool = True, cache: Path | None = None
) -> list[Layer]:
    """The layers that a level has here, with the scanner where it is installed. `cache` is its."""
    layers: list[Layer] = []
    if level is Level.DETECT:
        layers.append(Structure())
        if scanner and is_installed():
            layers.append(Kingfisher(cache))
    if paths:
        layers.append(HomePaths())
    return layers
