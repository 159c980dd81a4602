"""The colour of each kind of segment, and its letter for terminals without colours."""

from __future__ import annotations

import os
from typing import Final

from pagefault.views.shown import SEGMENT_WORDS, SegmentKind

# Contrast is at least 3:1 on white and on black; on the greys of some light themes it is 2.2:1.
COLOURS: Final = {
    SegmentKind.RULES: "#8289a3",
    SegmentKind.TOOLS: "#6a7690",
    SegmentKind.UNDIVIDED: "#8289a3",
    SegmentKind.FRAMING: "#7d7a8a",
    SegmentKind.CLAIMS: "#a06bd6",
    SegmentKind.SUMMARIES: "#bb8411",
    SegmentKind.STUBS: "#8f8a80",
    SegmentKind.BROUGHT_BACK: "#dd6a26",
    SegmentKind.CONVERSATION: "#2f8fbd",
    SegmentKind.TOOL_RESULTS: "#2f9a72",
}
WORDS: Final = {k: words for k, words in SEGMENT_WORDS.items() if k is not SegmentKind.FREE}
LETTERS: Final = {
    SegmentKind.RULES: "r",
    SegmentKind.TOOLS: "f",
    SegmentKind.UNDIVIDED: "r",
    SegmentKind.FRAMING: "i",
    SegmentKind.CLAIMS: "c",
    SegmentKind.SUMMARIES: "s",
    SegmentKind.STUBS: "-",
    SegmentKind.BROUGHT_BACK: "B",
    SegmentKind.CONVERSATION: "t",
    SegmentKind.TOOL_RESULTS: "o",
}
REWRITE: Final = COLOURS[SegmentKind.SUMMARIES]


def has_colours() -> bool:
    """Whether to use colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")
