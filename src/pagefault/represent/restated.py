"""What is said again with another value: of "the cap is $500" and, later, "the cap is $800" the
first is out of date, and an abstract that had both would leave its reader to guess.

Two sentences are taken for one statement at two times when they differ in one *value* and agree in
all other words, in their order. A value is a run of words with a digit or a capital in them, and it
has to stand where something is said *of* the subject: behind a word that tells what the statement
is about, and a word of grammar after that. So "the cap **is** $500" is restated by "the cap **is**
$800"; but "ticket 12 is closed" is not by "ticket 13 is closed", "Anna owns the pager" not by "Bob
owns the pager", and "the primary region is A" not by "the backup region is B".

Numbers and identifiers are values wherever they stand so. Names alone are where it is stated that
a thing is so ("the owner is Anna"): who went to Paris and then to Rome did both.

No words are listed for it, and nothing is held to be true because of it. What it does not see: a
value that is told anew in other words ("the cap is $500", "keep it under eight hundred"). What it
gets wrong: two events in the same words ("the build failed at 10:42", "… at 11:15"), of which the
later stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from pagefault.represent.cues import is_question, is_stated
from pagefault.represent.sentences import Manner, Unit
from pagefault.represent.words import common_words

WORDS_MAX: Final = 60  # of a statement; what is longer tells more than one value
VALUE_WORDS_MAX: Final = 4

_EDGES: Final = ".,;:!?\"'“”‘’()[]*_`"


class Phrase(Protocol):
    """A sentence, as far as it matters here."""

    @property
    def text(self) -> str: ...
    @property
    def unit(self) -> Unit: ...


class ToldValue(NamedTuple):
    """A value of a statement, and the words around it, which say whose value it is."""

    around: tuple[tuple[str, ...], tuple[str, ...]]
    value: tuple[str, ...]
    is_name: bool  # without a digit in it


def values(sentence: str) -> Iterator[ToldValue]:
    """The values of a sentence that something is said by."""
    written = [bare for word in sentence.split() if (bare := word.strip(_EDGES))]
    if not 2 < len(written) <= WORDS_MAX:
        return
    if not any(map(_is_value, written[2:])):  # as of most: and which words are common costs
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
    """Whether a word names or counts something, by its form. What begins a sentence has a capital
    whatever it says.
    """
    if any(map(str.isdigit, word)):
        return True
    return not first and word != "I" and any(map(str.isupper, word))


def restated(sentences: Sequence[Phrase]) -> frozenset[int]:
    """The places of the sentences that a later one says again with another value."""
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
