"""Restated values: after "the cap is $500" and, later, "the cap is $800", the first is out of date,
and an abstract with both would leave its reader to guess.

Two sentences are one statement at two times if they differ in a single *value* and agree in all
other words, in order. A value is a run of words with a digit or a capital, and it must come after a
word that names the subject and then a word of grammar. So "the cap **is** $800" restates "the cap
**is** $500", but "ticket 13 is closed" does not restate "ticket 12 is closed", nor "Bob owns the
pager" "Anna owns the pager", nor "the backup region is B" "the primary region is A".

Numbers and identifiers are values wherever that holds. Names are values only in a sentence that
states that a thing is so ("the owner is Anna"): someone who went to Paris and then to Rome did
both.

The rule goes by form, without a list of words, and nothing is held true because of it. It was
shaped on settings that are restated in the same words, and wins there alone: on the natural talk it
was judged on it never fires (docs/decisions/094). It misses a value restated in other words ("keep
it under eight hundred"), and it takes two events in the same words ("the build failed at 10:42", "…
at 11:15") for one, of which the later stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from pagefault.represent.cues import is_question, is_stated
from pagefault.represent.sentences import Manner, Unit
from pagefault.represent.words import common_words

WORDS_MAX: Final = 60  # of a statement; longer ones state more than one value
VALUE_WORDS_MAX: Final = 4

_EDGES: Final = ".,;:!?\"'“”‘’()[]*_`"


class Phrase(Protocol):
    """The parts of a sentence used here."""

    @property
    def text(self) -> str: ...
    @property
    def unit(self) -> Unit: ...


class ToldValue(NamedTuple):
    """A value of a statement, and the words around it, which identify the statement."""

    around: tuple[tuple[str, ...], tuple[str, ...]]
    value: tuple[str, ...]
    is_name: bool  # without a digit in it


def values(sentence: str) -> Iterator[ToldValue]:
    """The values that a sentence states."""
    written = [bare for word in sentence.split() if (bare := word.strip(_EDGES))]
    if not 2 < len(written) <= WORDS_MAX:
        return
    if not any(map(_is_value, written[2:])):  # true of most; finding the common words costs
        return
    folded = tuple(word.casefold() for word in written)
    common = common_words(sentence)
    is_about = is_said = False
    place = 0
    while place < len(written):
        if not _is_value(written[place], first=place == 0):
            if folded[place] in common:
                is_said = is_said or is_about
            else:
                is_about = True
            place += 1
            continue
        end = place + 1
        while end < len(written) and _is_value(written[end]):
            end += 1
        if is_said and end - place <= VALUE_WORDS_MAX:
            value = folded[place:end]
            is_name = not any(char.isdigit() for word in value for char in word)
            yield ToldValue((folded[:place], folded[end:]), value, is_name)
        is_about = True
        place = end


def _is_value(word: str, *, first: bool = False) -> bool:
    """Whether a word names or counts something, by its form. The `first` word of a sentence has a
    capital anyway.
    """
    if any(map(str.isdigit, word)):
        return True
    return not first and word != "I" and any(map(str.isupper, word))


def restated(sentences: Sequence[Phrase]) -> frozenset[int]:
    """The indices of the sentences that a later one restates with another value."""
    later: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {}
    found: set[int] = set()
    for place in range(len(sentences) - 1, -1, -1):
        one = sentences[place]
        if one.unit.manner is Manner.CODE or is_question(one.text):
            continue
        for told in values(one.text):
            newest = later.setdefault(told.around, told.value)
            if newest != told.value and (not told.is_name or is_stated(one.text)):
                found.add(place)
    return frozenset(found)
