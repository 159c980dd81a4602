"""The detection layers, and which of them run at each level."""

from __future__ import annotations

from pathlib import Path

from pagefault.guard.detect import Layer
from pagefault.guard.paths import HomePaths
from pagefault.guard.scanner import Kingfisher, is_installed
from pagefault.guard.structure import Structure
from pagefault.model.kinds import RedactLevel


def layers_of(
    level: RedactLevel, *, paths: bool = False, scanner: bool = True, cache: Path | None = None
) -> list[Layer]:
    """The layers of a level, with the scanner if it is installed. `cache` is the scanner's."""
    layers: list[Layer] = []
    if level is RedactLevel.DETECT:
        layers.append(Structure())
        if scanner and is_installed():
            layers.append(Kingfisher(cache))
    if paths:
        layers.append(HomePaths())
    return layers
