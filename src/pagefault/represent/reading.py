"""A text as its shorter forms need it: read once, and kept with its page for as long as that lives.

What a sentence is worth follows from the sentence alone, and takes most of what an abstract takes.
What does not (who else speaks, what was said before, how much room there is) is decided where a
range is summed up: `extractive.py`.
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
"""A shorter sentence that is said again may be an answer to something else."""


class Sentence:
    """A unit of a text, what it is worth, and what it takes."""

    def __init__(self, text: str, unit: Unit, *, again: str, tokens: int) -> None:
        self.text = text
        self.unit = unit
        self.again = again
        """What it says, where saying it once more says nothing new; else ""."""
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
        """Whether a claim may well rest on it."""
        return is_citable(self.text)


class Reading:
    """A page's text in units, and what each of these says."""

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
        """What an abstract chooses from: all that is kept, less chatter."""
        return list(self._sentences())

    def _sentences(self) -> Iterator[Sentence]:
        for unit in self.kept:
            text = self._text[unit.start : unit.end]
            is_said = self._is_plain and is_sentence(self._text, unit)
            if is_said and is_chatter(text):
                continue
            # Case may tell names apart, and so it stays.
            folded = " ".join(text.split())
            is_long = folded.count(" ") + 1 >= REPEAT_WORDS_MIN or len(folded) >= 60
            again = folded if is_said and is_long else ""
            yield Sentence(text, unit, again=again, tokens=self.count(text))

    def learn(self) -> None:
        """Find out now all that an abstract will ask."""
        for sentence in self.sentences:
            _ = sentence.worth, sentence.turns


def read(source: Source, count: CountTokens) -> Reading:
    """What was read of a page before, if it was."""
    found = source.found
    known = None if found is None else found.reading
    if isinstance(known, Reading) and known.count == count:
        return known
    reading = Reading(source, count)
    if found is not None:
        found.reading = reading
    return reading


def said_last(readings: Sequence[Reading]) -> list[tuple[int, Sentence]]:
    """What an abstract of several pages chooses from: each sentence with the number of its page; of
    prose that is said again only the last, as something may have been taken back in between.
    """
    said = [(page, one) for page, reading in enumerate(readings) for one in reading.sentences]
    last = {one.again: place for place, (_, one) in enumerate(said)}
    return [
        here for place, here in enumerate(said) if not here[1].again or last[here[1].again] == place
    ]
