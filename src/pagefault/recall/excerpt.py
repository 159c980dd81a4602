"""Excerpts: the part of a page that matched a query, with the matching words marked.

Matching is as in the index, because `analyze` reads both. So *allergies* is marked for *allergy*;
*analytical* for *analysis*, if that is absent; a part of a name for that part; and pairs of
characters in scripts without blanks. An excerpt is one line of printable characters.
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
_LEAD: Final = 0.25  # of the excerpt's length, before the first match
_WORD_MAX: Final = 24  # longest word, in characters, that is kept whole at the start
_CUT: Final = "…"
_JOINERS: Final = "\u200c\u200d"  # invisible, but needed inside words and emoji

Spans = tuple[tuple[int, int], ...]


class Excerpt(NamedTuple):
    """A part of a page of limited length, and the half-open ranges of the matches in it. `…` marks
    where the page continues.
    """

    text: str
    marks: Spans = ()


def excerpt(text: str, query: str, *, chars_max: int = CHARS_MAX) -> Excerpt:
    """The part with the most distinct words of the query; the page's beginning if none match."""
    sought = query_words(query, other_languages(text)) if query else []
    return _within(text, list(_matches(text, sought)) if sought else [], chars_max)


def excerpt_titled(title: str, text: str, query: str) -> Excerpt:
    """Like `excerpt`, but of title and text together if the query matches only the title."""
    shown = excerpt(text, query)
    if not shown.marks and title:
        titled = excerpt(f"{title} · {text}", query)
        return titled if titled.marks else shown
    return shown


def has_word(text: str, query: str) -> bool:
    """Whether a text has a word of the query itself, not only words that begin alike."""
    sought = query_words(query, other_languages(text))
    terms = frozenset(chain.from_iterable(map(alternatives, sought)))
    return any(not terms.isdisjoint(found) for _, _, found in word_spans(text))


def narrowed(one: Excerpt, chars_max: int) -> Excerpt:
    """The best part of an excerpt, cut to fewer characters."""
    if len(one.text) <= chars_max:
        return one
    return _within(one.text, [(*mark, one.text[slice(*mark)]) for mark in one.marks], chars_max)


def _matches(text: str, sought: Sequence[Sought]) -> Iterator[tuple[int, int, str]]:
    """Matching words of a text, each with the query term it shares or, if the query's word is
    absent from the text, the beginning of its kin.
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
    matching = terms.union(term for term in here if term.startswith(begins))
    for start, end, found in spans:
        if not matching.isdisjoint(found):
            shared = terms.intersection(found) or {
                one for one in begins if any(term.startswith(one) for term in found)
            }
            yield start, end, min(shared)


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
    """The start that puts the most distinct terms into the room after a lead. The last word does
    not count, because it may be cut off.
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
    """The start of the next word, unless it is far away: then no whole word fits anyway."""
    if at == 0 or text[at - 1].isspace():
        return at
    for place in range(at, min(at + _WORD_MAX, len(text))):
        if text[place].isspace():
            return place + 1
    return at


def _on_one_line(text: str, start: int, marks: Sequence[tuple[int, int]], room: int) -> Excerpt:
    """As much of the text from `start` as fits, with each run of white space as one blank."""
    line = text[start : start + room]
    place = start + len(line)
    if line.isprintable() and "  " not in line and not line.startswith(" "):
        at = dict(zip(range(start, place + 1), range(len(line) + 1), strict=True))
    else:
        line, at = _joined(text, start, room)
        place = max(at)
    goes_on = bool(text[place:].strip())
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


def _joined(text: str, start: int, room: int) -> tuple[str, dict[int, int]]:
    """At most `room` printable characters from `start` on, with each run of white space as one
    blank; and the position there of each character read, up to the first one left out.
    """
    kept: list[str] = []
    at: dict[int, int] = {}
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
    return "".join(kept), at


def _apart(spans: Iterable[tuple[int, int]]) -> Spans:
    """The spans with overlapping ones merged."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return tuple(apart)
