"""What a user says of an answer that recalled something: whether it was asked for, and was wrong.

By form alone, and cautiously: a message is a correction only if it begins by contradicting, or
repeats what its writer had said. A correction that is missed makes recall look better than it is,
so the figure that rests on this is an upper bound.
"""

from __future__ import annotations

from pagefault.language.language import Cue
from pagefault.language.patterns import shows


def asks_to_recall(message: str) -> bool:
    """Whether it asks for something said before."""
    return shows(Cue.RECALLS, message)


def corrects(message: str) -> bool:
    """Whether it says that the answer before it was wrong."""
    return shows(Cue.CORRECTS, message)
