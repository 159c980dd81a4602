"""Colours of what a window is made of, and the letter that each has where there are none."""

from __future__ import annotations

import os
from typing import Final

from pagefault.studio.reading import PieceKind

# Read on light and on dark alike: 3:1 or better against both.
COLOURS: Final = {
    PieceKind.RULES: "#8289a3",
    PieceKind.CLAIMS: "#a06bd6",
    PieceKind.SUMMARIES: "#bb8411",
    PieceKind.STUBS: "#8f8a80",
    PieceKind.BACK: "#dd6a26",
    PieceKind.TALK: "#2f8fbd",
    PieceKind.RESULTS: "#2f9a72",
}
LETTERS: Final = {
    PieceKind.RULES: "r",
    PieceKind.CLAIMS: "c",
    PieceKind.SUMMARIES: "s",
    PieceKind.STUBS: "-",
    PieceKind.BACK: "B",
    PieceKind.TALK: "t",
    PieceKind.RESULTS: "o",
}
REWRITE: Final = COLOURS[PieceKind.SUMMARIES]
HERE: Final = "#7fd1ff"


def has_colours() -> bool:
    """Whether colours are to be used (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")
