"""Finds the evidence of a claim: a quotation becomes a span of a page, or is refused.

Only current pages that were said or handed in are evidence: no derived page, and none that was
replaced by an edit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pagefault.language.analyzer import query_terms
from pagefault.language.english import ENGLISH
from pagefault.language.known import told
from pagefault.language.language import Cue
from pagefault.language.patterns import anywhere
from pagefault.model.errors import ArchiveMissing, BadInput, NoSuchPage, RecordGone
from pagefault.model.ids import PageId, SessionNo, told_near
from pagefault.model.kinds import MODEL_GENERATED, USERS, Origin, Role
from pagefault.model.page import Evidence, Page, PageRow, Quote, is_derived
from pagefault.model.signatures import check_fields
from pagefault.service.derived.labels import Labels
from pagefault.service.runtime import Runtime
from pagefault.store.api import PageFilter

_NEGATION: Final = anywhere(Cue.NEGATION)
_STRETCHES: Final = 256  # of four pages, searched for words without a page
_NEWEST: Final = 1_000  # pages read for words that no index has terms of
_TOLD_CHARS: Final = 60  # of a quotation, in an error
_CLAUSE_CHARS: Final = 120  # of a clause, on each side of a quotation
_CLAUSE_END: Final = re.compile(r"[.!?;:,()…–—\n。！？；：，、]")
_LETTER: Final = "0-9A-Za-z_\u00c0-\u058f"
"""Scripts that put blanks between words: no quotation begins or ends within a word."""
_MARKS: Final = ("'‘’ʼ´`", '"“”„«»')
"""Variants of one mark: the apostrophe, the quotation mark."""


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """Words of a page, their position, and their `origin`. `denial` is a negation right before,
    within or right behind them that reverses their meaning; empty if there is none.
    """

    span: Evidence
    words: str
    row: PageRow
    origin: Origin
    denial: str = ""


class EvidenceFinder:
    """Finds evidence in what one session sees. Blocks on the store."""

    def __init__(self, runtime: Runtime, session: SessionNo, labels: Labels, called: str) -> None:
        """`called` is the session's name."""
        self._runtime = runtime
        self._labels = labels
        self._scope = runtime.scope(session)
        self._called = called
        self._clean = runtime.journal.clean  # words are searched as pages have them

    def find(self, given: str | Quote | Evidence) -> QuotedWords:
        """Raises `BadInput` for words that are nowhere, and for an invalid span; `NoSuchPage` and
        `RecordGone` for the page.
        """
        quote = Quote(given) if isinstance(given, str) else given
        check_fields(quote)
        if isinstance(quote, Evidence):
            return self._span(quote)
        words = self._clean(quote.words)
        if not _says_something(words):
            raise BadInput("an empty quotation is not evidence", hint="quote words that were said")
        pattern = _pattern(words)
        if not quote.page_id:
            return self._anywhere(pattern, words)
        page = self._page(PageId(quote.page_id))
        found = self._in(page, pattern)
        if found is None:
            raise BadInput(
                f"{page.page_id} does not contain {_told(words)}",
                hint="quote it word for word: `Session.page` has its text",
            )
        return found

    def _span(self, given: Evidence) -> QuotedWords:
        page = self._page(given.page_id)
        stored = page.text.encode()
        piece = stored[max(given.start, 0) : max(given.end, 0)]
        try:
            words = piece.decode()
        except UnicodeDecodeError:
            words = ""
        if len(piece) != given.end - given.start or not _says_something(words):
            raise BadInput(
                f"bytes {given.start} to {given.end} of {given.page_id} are not text in it",
                hint=f"a span counts bytes of the page's text in UTF-8, of which it has"
                f" {len(stored):,}",
            )
        start = len(stored[: given.start].decode())
        denial = _denial(page.text, start, start + len(words))
        return QuotedWords(given, words, page.row, self._origin(page), denial)

    def _origin(self, page: Page) -> Origin:
        """The origin of a page. Text that no user said has no user's authority, whatever channel it
        came through, unless somebody raised it.
        """
        label = self._labels.label(page)
        is_said = page.row.role is Role.USER or label != page.row.origin
        return MODEL_GENERATED if label in USERS and not is_said else label

    def _page(self, page_id: PageId) -> Page:
        if is_derived(page_id):
            raise BadInput(
                f"{page_id} is derived from other pages, so it is not evidence",
                hint="quote what somebody said: `Session.claims` shows what a claim rests on",
            )
        row = self._runtime.index.find_page(self._scope, page_id)
        if row is None:
            numbers = self._runtime.index.prefix_counts(self._scope)
            raise NoSuchPage(page_id, self._called, told_near(page_id, numbers))
        if self._scope.is_history(row):
            raise BadInput(
                f"{page_id} was replaced by a later version",
                hint="quote the current version",
            )
        if self._runtime.quarantine.is_withdrawn(row):
            raise BadInput(
                f"{page_id} was withdrawn, so nothing can rest on it",
                hint="`Memory.origins` explains it; `Memory.raise_origin` lets it in again",
            )
        return self._runtime.pages.read(row)

    def _in(self, page: Page, pattern: re.Pattern[str]) -> QuotedWords | None:
        found = pattern.search(page.text)
        if found is None:  # a quotation may be capitalised otherwise; the page's spelling is kept
            found = re.compile(pattern.pattern, re.IGNORECASE).search(page.text)
        if found is None:
            return None
        start = len(page.text[: found.start()].encode())
        end = start + len(found[0].encode())
        span = Evidence(page_id=page.page_id, start=start, end=end)
        denial = _denial(page.text, *found.span())
        return QuotedWords(span, found[0], page.row, self._origin(page), denial)

    def _anywhere(self, pattern: re.Pattern[str], words: str) -> QuotedWords:
        other: QuotedWords | None = None
        for row in self._likely(words):
            if self._scope.is_history(row) or self._runtime.quarantine.is_withdrawn(row):
                continue
            with suppress(RecordGone, ArchiveMissing):
                found = self._in(self._runtime.pages.read(row), pattern)
                if found is not None and found.origin in USERS:
                    return found
                other = other or found
        if other is None:
            raise BadInput(
                f"nobody said {_told(words)}",
                hint="quote it word for word, and name the page if many say nearly the same; "
                "what was not said yet is logged first (`Session.user`)",
            )
        return other

    def _likely(self, words: str) -> Iterator[PageRow]:
        """The pages that may contain this, the newest first: those with every term of it, then
        those with some, in case a page spells a term in a way that is analysed differently.
        """
        index = self._runtime.index
        terms = query_terms(words)
        if not terms:
            yield from index.pages(self._scope, PageFilter(), limit=_NEWEST, newest_first=True)
            return
        found = index.candidates(self._scope, terms, limit=_STRETCHES)
        has_all = found.counts.all(axis=1)
        for places in (found.places[has_all], found.places[~has_all]):
            yield from reversed(index.pages_at(self._scope, places.tolist()))


def _pattern(words: str) -> re.Pattern[str]:
    """A pattern that matches these words in a text."""
    said = r"\s+".join(map(_escaped, words.split()))
    apart = rf"(?<![{_LETTER}])(?<![{_LETTER}][{_MARKS[0]}])(?=[{_LETTER}])"
    return re.compile(rf"(?:{apart}|(?![{_LETTER}])){said}")


def _escaped(word: str) -> str:
    """A word in any Unicode form, with any variant of a mark."""
    for marks in _MARKS:
        word = re.sub(f"[{marks}]", marks[0], word)
    said = "".join(map(_spelled, unicodedata.normalize("NFC", word)))
    for marks in _MARKS:
        said = said.replace(re.escape(marks[0]), f"[{marks}]")
    is_letter = re.search(rf"[{_LETTER}]\Z", word)
    return said + (rf"(?![{_LETTER}])(?![{_MARKS[0]}][{_LETTER}])" if is_letter else "")


def _spelled(char: str) -> str:
    """A character, composed or decomposed (`é`, `e` and an accent)."""
    pieces = unicodedata.normalize("NFD", char)
    return re.escape(char) if pieces == char else f"(?:{char}|{pieces})"


def _denial(text: str, start: int, end: int) -> str:
    """The words from `start` to `end` with those of their clause that negate them: within three
    words before, or in the next one if the text has another language than English.
    """
    before = _CLAUSE_END.split(text[max(start - _CLAUSE_CHARS, 0) : start])[-1].split()[-3:]
    after = _CLAUSE_END.split(text[end : end + _CLAUSE_CHARS])[0].split()[:1]
    words = text[start:end]
    if _denies(" ".join(before), text):
        return " ".join([*before, words])
    if set(told(text)) - {ENGLISH} and _denies(" ".join(after), text):
        return " ".join([words, *after])
    return ""


def _denies(words: str, text: str) -> bool:
    """Whether words of a text negate: in any language that has a cue for it, because a message may
    mix several; or by a word that reverses the meaning in the text's own language, if that is not
    English.
    """
    if _NEGATION.search(words):
        return True
    said = {word.strip(".,;:!?()").casefold() for word in words.split()}
    return any(not said.isdisjoint(one.opposites) for one in told(text) if one is not ENGLISH)


def _says_something(words: str) -> bool:
    """Whether there is more than blanks and punctuation."""
    return any(unicodedata.category(char)[0] not in "PZC" for char in words)


def _told(words: str) -> str:
    one_line = " ".join(words.split())
    cut = one_line if len(one_line) <= _TOLD_CHARS else f"{one_line[: _TOLD_CHARS - 1]}…"
    return f"“{cut}”"
