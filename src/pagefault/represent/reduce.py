"""Level 1 of a text: what is left when only what says nothing is taken out.

Level 1 is read where the text itself would be, so it may drop nothing that carries meaning, and in
a text that is not plain prose nearly everything does: indentation, columns, line breaks, the second
of two equal lines. No detector of code, tables, logs or verse is right about all of them, so there
is none. Only what is certainly prose is touched, and there only whole sentences go:

 - A page is *plain* if each of its lines is a paragraph by itself, between blank lines, without
   indentation, tabs or columns, of letters, digits and the marks of prose alone. Pages that a tool
   returned or that were handed in are data, and never plain. What is not plain stays byte for byte.
 - Of plain pages go sentences that greet, thank or take leave and say nothing else: praise may be
   an answer ("It was good."), a wish an order ("Make it fun."), a name a title. What is said again
   stays: a step, a refrain or a decision says something by where it stands.
 - What stays is stretches of the text as it was written, white space included: no word inside a
   sentence goes, as taking one out may turn it into another.

What it gets wrong: prose that comes with anything else, or on lines that follow one another, keeps
its courtesy. That costs a few tokens, and an indentation lost costs the program.
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
"""What is said to be polite, whole, in small letters and without its marks."""
_CHATTER: Final = frozenset[str]().union(*(one.pleasantries for one in LANGUAGES))
_AROUND: Final = frozenset[str]().union(*(one.around_pleasantries for one in LANGUAGES))
_ASSENT: Final = frozenset[str]().union(*(one.assents for one in LANGUAGES))
"""With one of these a sentence may be an answer, an order, or what a program prints, whatever else
it says.
"""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SMALL_TALK: Final = re.compile(joined(Cue.SMALL_TALK))
_PARAGRAPHS: Final = re.compile(
    # Each line begins with a letter or a digit, and blank lines are empty.
    r"[^\W_][^\n]*(?:\r?\n(?:\r?\n)+[^\W_][^\n]*)*(?:\r?\n)*"
)
_MADE: Final = re.compile(
    r"[^\w\s.,!?;:'’‘\"“”()/%€$£&+@#…—–。，！？；：、「」『』（）《》؟،؛\u2600-\u27bf\ufe0f\u200d"
    r"\U0001f1e6-\U0001faff-]"  # what prose has no use for
    r"|[^\S \r\n]"  # tabs, and blanks that are none
    r"|(?<![.!?…])  "  # columns
    r"|^(?:\d+|[^\W_])[.)] |^\w[\w-]*: "  # items of lists, keys, labels
    r"|,(?=[^\W\d]\S*,)"  # values between commas
    r"| (?=\r?$)|\r(?!\n)",  # a break of Markdown, and of old systems
    re.MULTILINE,
)
_ENDS: Final = re.compile(r"[.!?…。！？؟][\"'”’)]*\Z")
_SAID: Final = re.compile(
    r"(?:[^\W\d_]|[\s,'’—–]|[.!?…-](?!\w)|(?<=\w)-(?=\w)"
    r"|[\u2600-\u27bf\ufe0f\u200d\U0001f1e6-\U0001faff])+"
)
"""Words, their marks and emoji: nothing is quoted or called there."""


def is_said(source: Source) -> bool:
    """Whether somebody said it: what a tool returned, or what was handed in, is data."""
    return source.role is not Role.TOOL and source.kind is not Kind.ARTIFACT


def is_plain(source: Source) -> bool:
    """Whether a page is certainly nothing but paragraphs of prose."""
    return (
        is_said(source)
        and _PARAGRAPHS.fullmatch(source.text) is not None
        and _MADE.search(source.text) is None
    )


def is_courtesy(sentence: str) -> bool:
    """Whether it greets, thanks or takes leave, and says nothing else."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(sentence)]
    is_plain = len(words) <= COURTESY_WORDS_MAX and _SAID.fullmatch(sentence) is not None
    return is_plain and _FORMULA.fullmatch(" ".join(words)) is not None


def is_chatter(sentence: str) -> bool:
    """Whether it is thanks, praise, a greeting or a wish, as far as its words tell."""
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
    """Whether a unit of plain prose can go."""
    return is_sentence(text, unit) and is_courtesy(text[unit.start : unit.end])


def is_sentence(text: str, unit: Unit) -> bool:
    """Whether a unit is a sentence with an end."""
    return unit.manner is not Manner.CODE and _ENDS.search(text[unit.start : unit.end]) is not None


def stretches(text: str, units: Sequence[Unit], kept: Sequence[Unit]) -> list[tuple[int, int]]:
    """What stays of a text when the units that are not `kept` go: characters from and to (without).

    With a unit goes the white space before it, and with a paragraph what parts it from the one
    before; all other white space stays as it was written.
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
            if ends != paragraph[0].start:  # not the first of it that stays
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
    """The same, with what touches made one, and without what is empty."""
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if start == end:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined
