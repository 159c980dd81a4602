"""Reversals: a statement that is taken back later must not be in an abstract alone.

"We go with Redis" is true of a conversation only until somebody says "scratch that, no Redis". An
abstract with the first sentence but not the second would say the opposite of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from pagefault.language.language import Cue
from pagefault.language.patterns import anywhere
from pagefault.represent.cues import is_question
from pagefault.represent.protected import denies
from pagefault.represent.salience import Worth

SHARED_MIN: Final = 0.5
"""Share of a statement's terms that a later sentence must have to be about the same thing."""

_TURNING: Final = anywhere(Cue.TURNING)


class Stated(Protocol):
    """The parts of a sentence used here."""

    @property
    def turns(self) -> bool: ...
    @property
    def is_citable(self) -> bool: ...
    @property
    def worth(self) -> Worth: ...


def turns(sentence: str) -> bool:
    """Whether it may take something back."""
    return (denies(sentence) or _TURNING.search(sentence) is not None) and not is_question(sentence)


class Reversals:
    """Which sentences of a range take back which."""

    def __init__(self, sentences: Sequence[Stated]) -> None:
        self._sentences = sentences
        self._turning = [place for place, sentence in enumerate(sentences) if sentence.turns]

    def of(self, place: int) -> int | None:
        """The last sentence that takes back the statement at `place`, if any."""
        about = self._sentences[place].worth.about
        if not about:
            return None
        for later in reversed(self._turning):
            if later <= place:
                return None
            if len(about & self._sentences[later].worth.about) >= SHARED_MIN * len(about):
                return later if self._sentences[place].is_citable else None
        return None

    def settled(self, chosen: Sequence[int]) -> list[int]:
        """The choice, with each statement that is taken back replaced by what takes it back."""
        settled: dict[int, None] = {}
        for place in chosen:
            later = self.of(place)
            settled[place if later is None or later in chosen else later] = None
        return list(settled)

    def alone(self, chosen: Sequence[int]) -> list[int]:
        """The chosen statements that are taken back by a sentence that is not chosen."""
        return [
            place
            for place in chosen
            if (later := self.of(place)) is not None and later not in chosen
        ]
