"""Which claims have lapsed, and which pages have words of a closed claim (`closed_words.py`).

Whatever shows a page asks here first, so that nothing is shown as if it held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import FOREVER, PageId, Seq
from pagefault.model.kinds import DERIVED_STEMS, Kind
from pagefault.model.page import Page, PageRow
from pagefault.pack import render
from pagefault.pack.layout import Entry, Front, Recalled, pages_of, said_in
from pagefault.service.window.claim_pages import is_claim
from pagefault.service.window.closed_words import ClosedWords, marked, repeats
from pagefault.service.window.core import Core


class Closures:
    """The lapses and closures that bear on the pages of a session, looked up on demand."""

    def __init__(
        self,
        core: Core,
        find_row: Callable[[PageId], PageRow | None],
        read_page: Callable[[PageId], Page],
    ) -> None:
        self._core = core
        self._find_row = find_row
        self._read_page = read_page

    @property
    def any_closed(self) -> bool:
        """Whether any claim was closed: if not, no words are."""
        return bool(self._core.closed_by)

    def lapse_of(self, page_id: PageId) -> str:
        """Why a claim has lapsed that nothing closed, as of the newest message; or that another
        page has words of a closed claim; "" if neither.
        """
        lapse = self._core.lapses.get(page_id)
        if lapse is not None:
            return lapse.told
        return render.changed(", ".join(self.closers_of(page_id)))

    def as_it_holds(self, page: Page) -> Page:
        """The page, marked if it is a lapsed claim, or has words of a closed one."""
        lapse = self.lapse_of(page.page_id)
        return replace(page, lapse=lapse) if lapse != page.lapse else page

    def words_of(self, page_id: PageId, upto: Seq = FOREVER) -> list[ClosedWords]:
        """The closed words of a page, as of the record before `upto`."""
        row = self._find_row(page_id) if self._core.is_rested_on(page_id) else None
        return [] if row is None else self._core.closed_words(row, upto)

    def repeated_in(self, page: Page, upto: Seq = FOREVER) -> dict[PageId, list[ClosedWords]]:
        """The closed words that a derived page repeats, by their pages."""
        found: dict[PageId, list[ClosedWords]] = {}
        if page.derived is None or page.row.kind is Kind.CLAIM or not self.any_closed:
            return found
        for source in page.derived.provenance:
            with suppress(RecordGone, ArchiveMissing, KeyError):
                closed = self.words_of(source, upto)
                if closed and repeats(page, self._read_page(source), closed):
                    found[source] = closed
        return found

    def noted(self, page: Page, upto: Seq = FOREVER) -> Page:
        """A formed summary, with a note on each line that cites closed words."""
        for source, words in self.repeated_in(page, upto).items():
            page = replace(page, text=marked(page.text, source, words[-1].by))
        return page

    def closers_of(self, page_id: PageId, upto: Seq = FOREVER) -> list[PageId]:
        """The claims that closed words of a page, or words that it repeats, each once."""
        if not self.any_closed or is_claim(page_id):
            return []
        words = self.words_of(page_id, upto)
        if page_id.partition("_")[0] in DERIVED_STEMS:
            with suppress(RecordGone, ArchiveMissing, KeyError):
                repeated = self.repeated_in(self._read_page(page_id), upto)
                words = [one for some in repeated.values() for one in some]
        return list(dict.fromkeys(one.by for one in words))

    def closers_due(
        self, entries: Sequence[Entry], shown: Collection[PageId], fresh: Iterable[PageId]
    ) -> dict[PageId, tuple[PageId, ...]]:
        """The claims that closed words in a window that shows these pages, or in `fresh` ones, and
        that it does not show; and which of its pages have these words unmarked, as they were sent
        before.

        A message in its own place needs no such claim if the words that made the claim follow it.
        """
        due: dict[PageId, tuple[PageId, ...]] = {}
        if not self.any_closed:
            return due
        in_place = {page.page_id for entry in entries for page in said_in(entry)}
        there = set(shown)
        for page_id in dict.fromkeys([*shown, *fresh]):
            for by in self.closers_of(page_id):
                is_said = page_id in in_place and self._core.rests_on_any(by, there)
                if by in there or is_said:
                    continue
                sent = (page_id,) if page_id in there else ()
                due[by] = (*due.get(by, ()), *sent)
        return due

    def lapsed_in(self, entries: Iterable[Entry]) -> list[PageId]:
        """The claims that a window of these entries shows as valid, and that lapsed since."""
        if not self._core.lapses:
            return []
        shown = (
            page
            for entry in entries
            if isinstance(entry, Front | Recalled)
            for page in pages_of(entry)
        )
        claims = (page for page in shown if page.row.kind is Kind.CLAIM)
        return [page.page_id for page in claims if self.as_it_holds(page) is not page]
