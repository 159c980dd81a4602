"""How much a message calls for: what the runtime pages in by itself at the start of a turn.

A page that is brought in stays until the next epoch, and is paid for with every request. Most
messages of a conversation ask for nothing that was said before; they find pages all the same, as
words repeat. So a message that asks gets what is likely to answer it, one that mostly tells three
quarters of that room, and one that only tells what is about the very same thing.

For a question a hit's share of the best score decides, and no floor on its coverage: that is a
matter of words alone, and much of a score is not. The figures were chosen on two of five LoCoMo
conversations, with the curve of `benchmarks/recall_gate.py`, but for the room of what mostly tells:
with a quarter an assistant's user, who reports and then asks for the next step, was shown three
quarters of what search found for him. docs/recall.md has what they do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.language.language import Cue
from pagefault.language.patterns import shows
from pagefault.recall.search import SearchHit


@dataclass(frozen=True, slots=True)
class Gate:
    """Which hits a message calls for."""

    coverage_min: float  # of a hit
    share_min: float  # of the best hit's score
    room_share: float  # of what may be paged in at all

    def admitted(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """Those of these hits, best first, that pass."""
        if not hits:
            return []
        least = self.share_min * hits[0].score
        return [h for h in hits if h.coverage >= self.coverage_min and h.score >= least]


ASKING: Final = Gate(coverage_min=0.0, share_min=0.45, room_share=1.0)
MIXED: Final = Gate(coverage_min=0.0, share_min=0.45, room_share=0.75)
TELLING: Final = Gate(coverage_min=0.6, share_min=0.5, room_share=0.25)

QUESTION_MARK: Final = re.compile("[?？؟՞፧꘏⁇⁈⁉]")
_SENTENCE: Final = re.compile(r"[^.!?…。！？؟\n]*[^\W_][^.!?…。！？؟\n]*[.!?…。！？؟]*")


def gate(message: str) -> Gate:
    """What a message calls for. Cheap, and by its form alone."""
    share = asking_share(message)
    if not share:
        return TELLING
    return ASKING if share >= 0.5 else MIXED


def asking_share(message: str) -> float:
    """How much of a message are sentences that ask for something, or point back to something said
    before; a message that does so in other ways asks all the same.
    """
    sentences = _SENTENCE.findall(message)
    asking = sum(len(one) for one in sentences if asks(one))
    if asking:
        return asking / sum(map(len, sentences))
    return 1.0 if asks(message) else 0.0


def asks(message: str) -> bool:
    """Whether a message asks for something, or points back to something said before."""
    return (
        QUESTION_MARK.search(message) is not None
        or shows(Cue.ASKS, message, at_start=True)
        or shows(Cue.POINTS_BACK, message)
    )
