"""The part of a page that a search found it by, with the words that match.

Words match here as they do in the index: `analyze` reads both. So *allergies* is marked where
*allergy* was asked for, and *analytical* where *analysis* was and stands nowhere; a piece of a name
where that was, and pairs of characters in a script without blanks. An excerpt is one line of what
can be printed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from pagefault.language.analyzer import other_languages, query_words, word_spans
from pagefault.language.kin import kin_of
from pagefault.language.sought import Sought, alternatives, beginning

CHARS_MAX: Final = 240
_LEAD: Final = 0.25  # of the room, before the first word that matches
_WORD_MAX: Final = 24  # characters of a word that is looked for whole
_CUT: Final = "…"
_JOINERS: Final = "\u200c\u200d"  # invisible, and part of how words and emoji are written

Spans = tuple[tuple[int, int], ...]


class Excerpt(NamedTuple):
    """A stretch of a page in at most so many characters, and where in it the words that match
    stand: from and to (without). `…` stands where the page goes on.
    """

    text: str
    marks: Spans = ()


def excerpt(text: str, query: str, *, chars_max: int = CHARS_MAX) -> Excerpt:
    """Where most of the query's different words stand together; the beginning, where none does."""
    sought = query_words(query, other_languages(text)) if query else []
    return _within(text, list(_matches(text, sought)) if sought else [], chars_max)


def excerpt_titled(title: str, text: str, query: str) -> Excerpt:
    """As `excerpt`; of both, where words of the query stand in the title and nowhere else."""
    shown = excerpt(text, query)
    if not shown.marks and title:
        titled = excerpt(f"{title} · {text}", query)
        return titled if titled.marks else shown
    return shown


def narrowed(one: Excerpt, chars_max: int) -> Excerpt:
    """The best part of an excerpt, in fewer characters."""
    if len(one.text) <= chars_max:
        return one
    return _within(one.text, [(*mark, one.text[slice(*mark)]) for mark in one.marks], chars_max)


def _matches(text: str, sought: Sequence[Sought]) -> Iterator[tuple[int, int, str]]:
    """The words of a text that match, each with a term that it shares with the query, or, of a word
    of the query that does not stand there itself, with how its kin begin.
    """
    spans = [*word_spans(text)]
    here = frozenset(chain.from_iterable(found for _, _, found in spans))
    terms = frozenset(chain.from_iterable(map(alternatives, sought)))
    begins = tuple(
        beginning(one)
        for at, kin in kin_of(sought).items()
        if here.isdisjoint(alternatives(sought[at]))
        for one in kin
    )
    for start, end, found in spans:
        shared = terms.intersection(found)
        if shared:
            yield start, end, min(shared)
        elif kin := [one for one in begins if any(term.startswith(one) for term in found)]:
            yield start, end, min(kin)


def _within(text: str, matches: Sequence[tuple[int, int, str]], chars_max: int) -> Excerpt:
    room = max(chars_max - 2 * len(_CUT), 1)
    start = 0
    if len(text) > room and matches:
        start = max(0, _densest(matches, room) - int(_LEAD * room))
        start = _word_begin(text, start)
    start += len(text[start:]) - len(text[start:].lstrip())
    marks = [(first, last) for first, last, _ in matches if first >= start]
    return _on_one_line(text, start, marks, room)


def _densest(matches: Sequence[tuple[int, int, str]], room: int) -> int:
    """Where to begin, so that the most different terms follow in the room after a lead, without the
    last word, which may be cut.
    """
    reach = max(int((1 - _LEAD) * room) - _WORD_MAX, room // 2)
    starts = [start for start, _, _ in matches]
    best, most = starts[0], (0, 0)
    for place, start in enumerate(starts):
        after = bisect_left(starts, start + reach)
        found = [term for _, _, term in matches[place:after]]
        told = len(set(found)), len(found)
        if told > most:
            best, most = start, told
    return best


def _word_begin(text: str, at: int) -> int:
    """The beginning of the next word, unless that is far: then no word is whole anyway."""
    if at == 0 or text[at - 1].isspace():
        return at
    for place in range(at, min(at + _WORD_MAX, len(text))):
        if text[place].isspace():
            return place + 1
    return at


def _on_one_line(text: str, start: int, marks: Sequence[tuple[int, int]], room: int) -> Excerpt:
    """As much of a text from there on as has room, each run of white space a blank."""
    kept: list[str] = []
    at: dict[int, int] = {}  # where in the excerpt a character of the text stands
    place = start
    while place < len(text) and len(kept) < room:
        char = text[place]
        at[place] = len(kept)
        if char.isspace():
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif char.isprintable() or char in _JOINERS:
            kept.append(char)
        place += 1
    at[place] = len(kept)
    goes_on = bool(text[place:].strip())
    line = "".join(kept)
    if goes_on and not text[place].isspace() and not line.endswith(" "):
        blank = line.rfind(" ", max(len(line) - _WORD_MAX, 0))
        line = line[:blank] if blank > 0 else line
    line = line.rstrip()
    before = _CUT if text[:start].strip() else ""
    shown = (
        (at[first] + len(before), at[last] + len(before))
        for first, last in marks
        if last in at and at[first] < at[last] <= len(line)
    )
    return Excerpt(before + line + (_CUT if goes_on else ""), _apart(shown))


def _apart(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same, with those that overlap made one."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return tuple(apart)
