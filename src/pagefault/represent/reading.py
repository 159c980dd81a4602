"""A text parsed for its shorter forms: once, and cached with its page for as long as that lives.

The worth of a sentence depends on the sentence alone and is most of an abstract's cost. Everything
else (other speakers, earlier sentences, the room) is decided per range, in `extractive.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from pagefault.represent.api import CountTokens, Source
from pagefault.represent.cues import is_citable
from pagefault.represent.reduce import is_chatter, is_plain, is_sentence, says_nothing
from pagefault.represent.reversal import turns
from pagefault.represent.salience import Worth, worth
from pagefault.represent.sentences import Unit, units

REPEAT_WORDS_MIN: Final = 5
"""A shorter sentence, if repeated, may answer something else."""


class Sentence:
    """A unit of a text, with its worth and its cost."""

    def __init__(self, text: str, unit: Unit, *, again: str, tokens: int) -> None:
        self.text = text
        self.unit = unit
        self.again = again
        """Key of the statement if repeating it adds nothing, else ""."""
        self.tokens = tokens

    @cached_property
    def worth(self) -> Worth:
        return worth(self.text, self.unit.manner)

    @cached_property
    def turns(self) -> bool:
        """Whether it may take something back."""
        return turns(self.text)

    @cached_property
    def is_citable(self) -> bool:
        """Whether a claim may rest on it."""
        return is_citable(self.text)


class Reading:
    """The units of a page's text, and what each says."""

    def __init__(self, source: Source, count: CountTokens) -> None:
        self.count = count
        self._text = source.text
        self._is_plain = is_plain(source)
        self.units: Sequence[Unit] = units(source.text)
        self.kept: Sequence[Unit] = self.units  # at level 1
        if self._is_plain:
            self.kept = [unit for unit in self.units if not says_nothing(source.text, unit)]

    @cached_property
    def sentences(self) -> Sequence[Sentence]:
        """The candidates of an abstract: all that is kept, except chatter."""
        return list(self._sentences())

    def _sentences(self) -> Iterator[Sentence]:
        for unit in self.kept:
            text = self._text[unit.start : unit.end]
            is_said = self._is_plain and is_sentence(self._text, unit)
            if is_said and is_chatter(text):
                continue
            # Case is kept, because it may distinguish names.
            folded = " ".join(text.split())
            is_long = folded.count(" ") + 1 >= REPEAT_WORDS_MIN or len(folded) >= 60
            again = folded if is_said and is_long else ""
            yield Sentence(text, unit, again=again, tokens=self.count(text))

    def learn(self) -> None:
        """Compute now all that an abstract will need."""
        for sentence in self.sentences:
            _ = sentence.worth, sentence.turns


def read(source: Source, count: CountTokens) -> Reading:
    """The page's reading, from the cache if it has one."""
    found = source.found
    known = None if found is None else found.reading
    if isinstance(known, Reading) and known.count == count:
        return known
    reading = Reading(source, count)
    if found is not None:
        found.reading = reading
    return reading


def said_last(readings: Sequence[Reading]) -> list[tuple[int, Sentence]]:
    """The candidates of an abstract of several pages, each with its page's position. Of repeated
    prose only the last is kept, because something may have been taken back in between.
    """
    said = [(page, one) for page, reading in enumerate(readings) for one in reading.sentences]
    last = {one.again: place for place, (_, one) in enumerate(said)}
    return [
        here for place, here in enumerate(said) if not here[1].again or last[here[1].again] == place
    ]
