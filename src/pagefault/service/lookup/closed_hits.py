"""Marks pages whose words no longer hold, in searches over several sessions and of regions.

A search of one session marks its hits by that session's state. Here each page is judged by the
claims of its own session, and a region's page by those of the session it was copied from, because
claims are not copied with it. Only claims are folded, so a session without any costs one index
look-up.
"""

from __future__ import annotations

from contextlib import suppress

from pagefault.model.errors import ArchiveMissing, RecordGone, StoreCorrupt
from pagefault.model.events import Shared
from pagefault.model.ids import FOREVER, PageId, SessionNo
from pagefault.model.kinds import Kind
from pagefault.model.page import PageRow, is_shared
from pagefault.pack.render import changed
from pagefault.service.derived.claim_book import claim_pages, rulings_of
from pagefault.service.runtime import Runtime
from pagefault.service.window.closed_words import repeats
from pagefault.service.window.closures import Closures
from pagefault.service.window.core import Core


class ClosedHits:
    """Judges pages of any session. Blocks on the store; reads the claims of each session once."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._cores: dict[SessionNo, Core] = {}

    def lapse(self, row: PageRow) -> str:
        """`SearchHit.lapse` of a page: why its words no longer hold, or nothing. For a copy in a
        region it does not name the claim, whose id belongs to another session.
        """
        try:
            body = self._runtime.log.get(row.seq).body if is_shared(row.page_id) else None
        except (StoreCorrupt, ArchiveMissing):
            return ""
        if isinstance(body, Shared):
            first = self._runtime.index.page_at(body.copy_of) if body.copy_of else None
            is_closed = first is not None and self._closed_by(first)
            return "changed since, where it was said" if is_closed else ""
        if row.kind is Kind.CLAIM:
            core = self._core(row.session)
            if (lapse := core.lapses.get(row.page_id)) is not None:
                return lapse.told
        return changed(self._closed_by(row))

    def lapse_in(self, closures: Closures, row: PageRow) -> str:
        """The same of a page that a session shows: its own by its claims, a region's as above."""
        return self.lapse(row) if is_shared(row.page_id) else closures.lapse_of(row.page_id)

    def _closed_by(self, row: PageRow) -> str:
        core = self._core(row.session)
        if not core.closed_by:
            return ""
        if row.kind is Kind.CLAIM:
            by = core.instead_of(row.page_id, FOREVER)
            return "" if core.holds_as(row.page_id, by) else by
        closers = [one.by for one in core.closed_words(row, FOREVER)]
        return ", ".join(dict.fromkeys([*closers, *self._repeated(core, row)]))

    def _repeated(self, core: Core, row: PageRow) -> list[PageId]:
        """The claims that closed words repeated by a derived page."""
        found: list[PageId] = []
        runtime = self._runtime
        scope = runtime.scope(row.session)
        with suppress(RecordGone, ArchiveMissing):
            page = runtime.pages.read(row)
            sources = page.derived.provenance if page.derived is not None else ()
            for source in filter(core.is_rested_on, sources):
                first = runtime.index.find_page(scope, source)
                closed = core.closed_words(first, FOREVER) if first is not None else []
                if first and closed and repeats(page, runtime.pages.read(first), closed):
                    found += [each.by for each in closed]
        return found

    def _core(self, session: SessionNo) -> Core:
        core = self._cores.get(session)
        if core is None:
            runtime = self._runtime
            core = Core(runtime.counter, is_adopted=runtime.is_adopted)
            core.now_ms = runtime.clock.now_ms()
            for page in claim_pages(runtime, session):
                if page.derived is not None and not runtime.quarantine.is_withdrawn(page.row):
                    core.fold(page, page.derived)
            if core.has_claims:
                for ruled in rulings_of(runtime, session):
                    core.rule(ruled)
            self._cores[session] = core
        return core
