"""Signs that a user asked for recall, or that the answer which recalled something was wrong.

Judged by form alone, and cautiously: a message is a correction only if it contradicts, or insists
on what its author said before ("I said Tuesday"); a decision that is merely told is none. A missed
correction makes recall look better than it is, so the figure computed from this is an upper bound.
"""

from __future__ import annotations

from pagefault.language.language import Cue
from pagefault.language.patterns import shows


def asks_to_recall(message: str) -> bool:
    """Whether the message asks for something said before."""
    return shows(Cue.RECALLS, message)


def corrects(message: str) -> bool:
    """Whether the message says that the previous answer was wrong."""
    return shows(Cue.CORRECTS, message)
