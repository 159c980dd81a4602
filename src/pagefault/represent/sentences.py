"""Splits text into units: sentences of prose, and lines of anything else.

Units do not overlap and leave out only white space. A sentence ends at a stop followed by a blank,
or at a full-width stop. Lines of code, tables, lists and quoted output, and all lines that are
indented or have columns, are units of their own, because they make sense only as a whole. A unit
without end (a dump on one line) is cut at a blank, or else between two characters that can be
separated.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from pagefault.language.language import Cue
from pagefault.language.patterns import joined
from pagefault.model.ids import PageId
from pagefault.model.page import Evidence

UNIT_CHARS_MAX: Final = 600

_LINE: Final = re.compile(r"[^\r\n\u2028\u2029\x0b\x0c\x85]+")
_FENCE: Final = re.compile(r"\s{0,3}(?:```|~~~)")
_MADE: Final = re.compile(
    r"\s*(?:\|.*\||[-=+|:\s]{4,}$"  # rows and rules of tables
    r"|(?:\$|>>>|#!|@@|\+\+\+|---)\s*\S"  # shells, diffs
    r"|[}\])]+[;,]?$|.*[{;]$"  # brackets and statements
    r"|(?:def|class|import|from|return|const|let|var|func|fn|if|for|while|elif|else|try|except|with"
    r"|SELECT|INSERT|UPDATE|CREATE)\b.*(?:[:;{()=]$|=\s|\bimport\b)"
    r"|(?:Traceback|File \")|\{|\[\d{2,})"
)
_COLUMNS: Final = re.compile(r"\t|(?<![.!?…])  ")
"""Tabs, or runs of blanks that align columns; sentences have neither inside."""
_END: Final = re.compile(r"(?:[.!?…]+[\"'”’)\]*_]*(?=\s)|[。！？｡]+[」』”’）]*)(?P<after>\s*)")
_ABBREVIATION: Final = re.compile(rf"(?:\b(?:{joined(Cue.ABBREVIATION)})|\b[A-Z]|^\s*\d{{1,3}})\.$")
_AFTER_ORDINAL: Final = re.compile(rf"(?<=\d\.)\s+(?:{joined(Cue.AFTER_ORDINAL)})")
_JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3")


class Manner(Enum):
    PROSE = auto()
    CODE = auto()  # also tables, logs, output: kept line by line


class Unit(NamedTuple):
    """The characters of a text from `start` up to `end`."""

    start: int
    end: int
    manner: Manner


def units(text: str) -> list[Unit]:
    """The units of a text, in order; none for white space."""
    return list(_units(text))


def touched(page_id: PageId, text: str, spans: Iterable[Evidence]) -> list[Unit]:
    """The units of a page's text that any of these spans touches."""
    here = [span for span in spans if span.page_id == page_id]
    found: list[Unit] = []
    at = size = 0
    for unit in units(text) if here else ():
        start = size + len(text[at : unit.start].encode())
        at, size = unit.end, start + len(text[unit.start : unit.end].encode())
        if any(span.start < size and start < span.end for span in here):
            found.append(unit)
    return found


def _units(text: str) -> Iterator[Unit]:
    fenced = False
    for line in _LINE.finditer(text):
        start, end = _trim(text, line.start(), line.end())
        if start == end:
            continue
        if _FENCE.match(text, line.start(), line.end()):
            fenced = not fenced
            yield from _cut(text, start, end, Manner.CODE)
        elif (
            fenced
            or text[line.start()] in " \t"
            or _MADE.match(text, line.start(), line.end())
            or _COLUMNS.search(text, start, end)
        ):
            # Indentation is part of the line.
            yield from _cut(text, line.start(), end, Manner.CODE)
        else:
            yield from _sentences(text, start, end)


def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    begun = start
    for stop in _END.finditer(text, start, end):
        upto = stop.start("after")
        if text[stop.start()] == "." and (
            _ABBREVIATION.search(text, max(begun, upto - 12), upto)
            or _AFTER_ORDINAL.match(text, upto, end)
        ):
            continue
        yield from _cut(text, begun, upto, Manner.PROSE)
        begun = stop.end()
    if begun < end:
        yield from _cut(text, begun, end, Manner.PROSE)


def _cut(text: str, start: int, end: int, manner: Manner) -> Iterator[Unit]:
    """A unit, in pieces if it is too long."""
    while end - start > UNIT_CHARS_MAX:
        upto = start + UNIT_CHARS_MAX
        blank = max(text.rfind(" ", start + 1, upto), text.rfind("\t", start + 1, upto))
        at = blank if blank > start else _apart(text, start, upto)
        first, last = _trim(text, start, at)
        if first < last:
            yield Unit(first, last, manner)
        start = at
    first, last = _trim(text, start, end)
    if first < last:
        yield Unit(first if manner is Manner.PROSE else start, last, manner)


def _apart(text: str, start: int, upto: int) -> int:
    """A place near `upto` that separates no character from its modifiers."""
    for at in range(upto, max(start, upto - 32), -1):
        after, before = text[at], text[at - 1]
        if (
            after not in _JOINERS
            and before not in _JOINERS
            and not unicodedata.combining(after)
            and not "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones of emoji
            and not "\U0001f1e6" <= after <= "\U0001f1ff"  # flags
            and not (after.isdigit() and before.isdigit())
        ):
            return at
    return upto


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
