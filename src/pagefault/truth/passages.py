"""A turn's text cut into what it says in its author's own voice, each piece with its place.

Code blocks, quoted lines and struck-out words are somebody else's, or no speech at all: they are
left out. Offsets are of characters of the stored text, and become bytes at the end. A comma or a
dot that ends nothing ("40,000", "St. Gallen") is another character in the plain form, so that no
rule takes it for an end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pagefault.truth.language import Words

TEXT_MAX: Final = 8_000  # characters; a longer turn is material, and only its ends are read
_END_CHARS: Final = 2_000  # of each end
SENTENCE_MAX: Final = 600  # characters; a longer one is no sentence

_FOREIGN: Final = re.compile(
    r"^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)"  # code, closed or not
    r"|^[ \t]*(?:>|\|).*$"  # quoted lines, tables
    r"|^(?: {4}|\t)\S.*$"  # indented code
    r"|~~[^~\n]+~~"  # struck out
    r"|<(?P<tag>[A-Za-z][\w:-]*)[^>\n]*>.*?</(?P=tag)\s*>",  # pasted markup
    re.MULTILINE | re.DOTALL,
)
_QUOTED: Final = re.compile(
    r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`|(?<!\w)\'[^\'\n]{2,300}\'(?!\w)'
)
INNER: Final = str.maketrans({",": "\u201a", ".": "\u2024"})
"""What stands in the plain form for a comma and a dot that end nothing."""
_BREAK: Final = re.compile(r"[.!?…]+[)\"'”]*(?=\s|\Z)|\n+|;(?=\s)")
_SHORTENED: Final = ("e.g", "i.e", " vs", " etc", " approx", " Dr", " Mr", " Mrs", " No")
_WORD: Final = re.compile(r"[^\W_](?:[\w']*[^\W_])?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in plain form; `at` is where it begins in the plain text."""

    text: str
    at: int
    asks: bool


class Passage:
    """A stored text, and its plain form: straight apostrophes, known misspellings mended.

    Characters of the plain form are traced back by `place`.
    """

    def __init__(
        self,
        text: str,
        misspelt: Mapping[str, str],
        quotable: Words,
        inner: Words | None = None,
    ) -> None:
        self.text = text
        kept = text.replace("’", "'").replace("‘", "'").replace("\u00a0", " ")
        kept = _only_ends(kept)
        if inner is not None:
            kept = inner.compiled.sub(lambda found: found[0].translate(INNER), kept)
        if (
            "`" in kept
            or ">" in kept
            or "~" in kept
            or "|" in kept
            or "    " in kept
            or "\t" in kept
        ):
            kept = _FOREIGN.sub(_blank, kept)
        if any(mark in kept for mark in "\"“«`'"):
            kept = _QUOTED.sub(
                lambda found: _blank(found) if quotable.search(found[0]) else found[0], kept
            )
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self.words = words_of(kept)
        wrong = self.words & misspelt.keys()
        self.plain = self._mended(kept, misspelt) if wrong else kept
        self.words |= {misspelt[word] for word in wrong}

    @cached_property
    def _sentences(self) -> tuple[Sentence, ...]:
        return tuple(self._cut())

    def sentences(self) -> tuple[Sentence, ...]:
        """In order; those too long to be one are passed over."""
        return self._sentences

    def _cut(self) -> Iterator[Sentence]:
        at = 0
        for found in _BREAK.finditer(self.plain):
            if found[0] == "." and self.plain.endswith(_SHORTENED, at, found.start()):
                continue
            yield from self._sentence(at, found.start(), "?" in found[0])
            at = found.end()
        yield from self._sentence(at, len(self.plain), asks=False)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where plain characters stand in the stored text, in bytes of UTF-8."""
        first, last = self._back(start), self._back(end)
        head = len(self.text[:first].encode())
        return head, head + len(self.text[first:last].encode())

    def written(self, start: int, end: int) -> str:
        """The stored characters behind plain ones."""
        return self.text[self._back(start) : self._back(end)]

    def _sentence(self, start: int, end: int, asks: bool) -> Iterator[Sentence]:
        text = self.plain[start:end]
        lead = len(text) - len(text.lstrip(" \t\r*-•"))
        text = text.strip(" \t\r*•").lstrip("-* ")
        if text and len(text) <= SENTENCE_MAX:
            yield Sentence(text, start + lead, asks)

    def _mended(self, text: str, misspelt: Mapping[str, str]) -> str:
        pieces: list[str] = []
        at = shift = 0
        for found in _WORD.finditer(text):
            right = misspelt.get(found[0].casefold())
            if right is None:
                continue
            pieces += [text[at : found.start()], right]
            shift += len(found[0]) - len(right)
            at = found.end()
            self._starts.append(at - shift)
            self._shifts.append(shift)
        if not pieces:
            return text
        return "".join((*pieces, text[at:]))

    def _back(self, at: int) -> int:
        before = bisect_right(self._starts, at)
        return at + self._shifts[before - 1] if before else at


def words_of(text: str) -> set[str]:
    """The words of a text, and `'s` where one of them ends so."""
    folded = text.casefold()
    words = set(_WORD.findall(folded))
    if "'s" in folded:
        words.add("'s")
    return words


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _only_ends(text: str) -> str:
    if len(text) <= TEXT_MAX:
        return text
    middle = len(text) - 2 * _END_CHARS
    return text[:_END_CHARS] + "\n" * middle + text[-_END_CHARS:]
