"""Level 1 of a text: drops only what carries no meaning.

Level 1 is read in place of the text, so it must not drop anything meaningful, and outside plain
prose nearly everything is: indentation, columns, line breaks, the second of two equal lines. No
detector of code, tables, logs or verse is right about all of them, so there is none. Only text that
is certainly prose is touched, and only whole sentences are dropped:

- A page is *plain* if each line is a paragraph of its own between blank lines, without indentation,
  tabs or columns, and made of letters, digits and the marks of prose alone. Tool results and
  documents are data, and never plain. Pages that are not plain stay byte for byte.
- Plain pages lose sentences that only greet, thank or take leave. Praise may be an answer ("It was
  good."), a wish an order ("Make it fun."), a name a title. Repetitions stay: a step, a refrain or
  a decision means something by its position.
- The rest keeps its text as written, with its white space. Nothing inside a sentence is dropped,
  because that may turn it into another.

What it gets wrong: prose mixed with anything else, or on consecutive lines, keeps its courtesies.
They cost a few tokens; lost indentation costs the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pagefault.language.known import LANGUAGES
from pagefault.language.language import Cue
from pagefault.language.patterns import joined
from pagefault.model.kinds import Kind, Role
from pagefault.represent.api import Source
from pagefault.represent.protected import denies, guarded
from pagefault.represent.sentences import Manner, Unit

COURTESY_WORDS_MAX: Final = 14

_FORMULA: Final = re.compile(joined(Cue.COURTESY))
"""Polite formulas, matched as a whole, in lower case and without punctuation."""
_CHATTER: Final = frozenset[str]().union(*(one.pleasantries for one in LANGUAGES))
_AROUND: Final = frozenset[str]().union(*(one.around_pleasantries for one in LANGUAGES))
_ASSENT: Final = frozenset[str]().union(*(one.assents for one in LANGUAGES))
"""With one of these, a sentence may be an answer, an order, or a program's output."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SMALL_TALK: Final = re.compile(joined(Cue.SMALL_TALK))
_PARAGRAPHS: Final = re.compile(
    # Every line begins with a letter or digit; blank lines are empty.
    r"[^\W_][^\n]*(?:\r?\n(?:\r?\n)+[^\W_][^\n]*)*(?:\r?\n)*"
)
_MADE: Final = re.compile(
    r"[^\w\s.,!?;:'’‘\"“”()/%€$£&+@#…—–。，！？；：、「」『』（）《》؟،؛\u2600-\u27bf\ufe0f\u200d"
    r"\U0001f1e6-\U0001faff-]"  # characters that prose has no use for
    r"|[^\S \r\n]"  # tabs, and blanks other than the space
    r"|(?<![.!?…])  "  # columns
    r"|^(?:\d+|[^\W_])[.)] |^\w[\w-]*: "  # list items, keys, labels
    r"|,(?=[^\W\d]\S*,)"  # values between commas
    r"| (?=\r?$)|\r(?!\n)",  # Markdown's line break, and those of old systems
    re.MULTILINE,
)
_ENDS: Final = re.compile(r"[.!?…。！？؟][\"'”’)]*\Z")
_SAID: Final = re.compile(
    r"(?:[^\W\d_]|[\s,'’—–]|[.!?…-](?!\w)|(?<=\w)-(?=\w)"
    r"|[\u2600-\u27bf\ufe0f\u200d\U0001f1e6-\U0001faff])+"
)
"""Words, their punctuation and emoji: no quotation and no call."""


def is_said(source: Source) -> bool:
    """Whether somebody said it: tool results and documents are data."""
    return source.role is not Role.TOOL and source.kind is not Kind.ARTIFACT


def is_plain(source: Source) -> bool:
    """Whether a page is certainly nothing but paragraphs of prose."""
    return (
        is_said(source)
        and _PARAGRAPHS.fullmatch(source.text) is not None
        and _MADE.search(source.text) is None
    )


def is_courtesy(sentence: str) -> bool:
    """Whether it only greets, thanks or takes leave."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(sentence)]
    is_plain = len(words) <= COURTESY_WORDS_MAX and _SAID.fullmatch(sentence) is not None
    return is_plain and _FORMULA.fullmatch(" ".join(words)) is not None


def is_chatter(sentence: str) -> bool:
    """Whether it is thanks, praise, a greeting or a wish, judging by its words."""
    words = _WORD.findall(sentence)
    if not words or len(words) > COURTESY_WORDS_MAX or not _SAID.fullmatch(sentence):
        return False
    folded = [word.casefold().replace("’", "'") for word in words]
    if _SMALL_TALK.fullmatch(" ".join(folded)) is not None:
        return True
    if not any(word in _CHATTER for word in folded) or _ASSENT.intersection(folded):
        return False
    strangers = [
        word
        for place, (word, lower) in enumerate(zip(words, folded, strict=True))
        if lower not in _CHATTER and lower not in _AROUND and not (place and word.istitle())
    ]
    return not strangers and not denies(sentence) and not guarded(sentence)


def says_nothing(text: str, unit: Unit) -> bool:
    """Whether a unit of plain prose can be dropped."""
    return is_sentence(text, unit) and is_courtesy(text[unit.start : unit.end])


def is_sentence(text: str, unit: Unit) -> bool:
    """Whether a unit is a sentence with final punctuation."""
    return unit.manner is not Manner.CODE and _ENDS.search(text[unit.start : unit.end]) is not None


def stretches(text: str, units: Sequence[Unit], kept: Sequence[Unit]) -> list[tuple[int, int]]:
    """The half-open character ranges that remain of a text if only the `kept` units do.

    A dropped unit takes the white space before it along, and a dropped paragraph the break before
    it; all other white space stays as written.
    """
    if len(kept) == len(units):
        return [(0, len(text))] if text else []
    staying = frozenset(kept)
    found: list[tuple[int, int]] = []
    for paragraph, break_at in _paragraphs(text, units):
        parted = (break_at if found else paragraph[0].start), paragraph[0].start
        ends = paragraph[0].start
        for place, unit in enumerate(paragraph):
            if unit not in staying:
                continue
            if ends != paragraph[0].start:  # not the first one kept of the paragraph
                parted = paragraph[place - 1].end, unit.start
            found += [parted, (unit.start, unit.end)]
            ends = unit.end
    if found and units[-1] in staying:
        found.append((units[-1].end, len(text)))
    return _joined(found)


def _paragraphs(text: str, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], int]]:
    """The units of each paragraph, and where the break before it begins."""
    paragraph: list[Unit] = []
    break_at = ends = 0
    for unit in units:
        if paragraph and "\n" in text[ends : unit.start]:
            yield paragraph, break_at
            paragraph, break_at = [], ends
        paragraph.append(unit)
        ends = unit.end
    if paragraph:
        yield paragraph, break_at


def _joined(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge adjacent ranges and drop empty ones."""
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if start == end:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined
