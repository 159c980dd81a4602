"""Makes summaries, without words of closed claims, or with a mark where they cite such words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import FOREVER, NOTHING, PageId, Seq
from pagefault.model.kinds import EventType, Level
from pagefault.model.page import Evidence, Page
from pagefault.pack import render
from pagefault.service.window.closures import Closures
from pagefault.service.window.derived_drafts import Made
from pagefault.service.window.sources import Sources

_MADE_MAX: Final = 32  # cached summaries
_COUNTED_MAX: Final = 1_024  # summaries whose tokens are cached


class SummaryMaker:
    """Caches what it makes and counts: plans of epochs are often made several times."""

    def __init__(
        self, sources: Sources, closures: Closures, read_page: Callable[[PageId], Page]
    ) -> None:
        self._sources = sources
        self._closures = closures
        self._read_page = read_page
        self._made: dict[tuple[PageId, PageId, tuple[Evidence, ...]], Made | None] = {}
        self._tokens: dict[tuple[Seq, Level, int], int] = {}

    def summarise(self, run: Sequence[Page], *, quotes: bool) -> Made | None:
        """The summary of a run of turns, without closed words; otherwise the same run always gives
        the same.
        """
        closed = tuple(one.span for page in run for one in self._closures.words_of(page.page_id))
        key = run[0].page_id, run[-1].page_id, closed
        if key not in self._made:
            if len(self._made) >= _MADE_MAX:
                self._made.clear()
            self._made[key] = self._sources.summarise(run, quotes, closed)
        return self._made[key]

    def with_notes(self, page: Page, upto: Seq = FOREVER) -> Page:
        """A formed summary, with a note where it cites words that were closed before the record
        `upto`. Any other page is returned as it is.
        """
        if page.derived is None or not page.derived.evidence or not self._closures.any_closed:
            return page
        with suppress(RecordGone, ArchiveMissing, KeyError):
            page = self._read_page(page.page_id)  # without notes that an undo made wrong
        return self._closures.noted(page, upto)

    def made_again(self, page: Page) -> Made | None:
        """What takes the place of a summary that quotes closed words, made again without them; None
        if it does not. If a page of the run cannot be read, its header is left.
        """
        if page.derived is None or page.derived.evidence or not self._closures.repeated_in(page):
            return None
        text = ""
        with suppress(RecordGone, ArchiveMissing, KeyError):
            run = [self._read_page(one) for one in page.derived.provenance]
            made = self.summarise(run, quotes=True)
            text = made.text if made is not None else ""
        if text == page.text:
            return None
        return Made(
            event_type=EventType.SUMMARY,
            text=text,
            title=page.title,
            topic_tags=page.topic_tags,
            origin=page.row.origin,
            cause=page.row.seq,
            derived=page.derived,
        )

    def tokens(self, page: Page, level: Level) -> int:
        """The tokens of a summary in the front, at a level."""
        key = page.row.seq, level, len(page.text)
        tokens = self._tokens.get(key)
        if tokens is None:
            tokens = self._sources.counter.count(render.summary(page, level))
            if page.row.seq != NOTHING:  # a planned one may still change
                if len(self._tokens) >= _COUNTED_MAX:
                    self._tokens.clear()
                self._tokens[key] = tokens
        return tokens
