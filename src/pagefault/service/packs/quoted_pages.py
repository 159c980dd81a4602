"""Pages as evidence of a pack: their quotations, their sources, and the share that limits them.

Nothing is quoted that a request may not show by itself: no quarantined or withdrawn page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pagefault.model.defaults import PASSAGE_TOKENS, PASSAGE_TOKENS_MIN
from pagefault.model.errors import ArchiveMissing, RecordGone, StoreCorrupt
from pagefault.model.events import Called, PageBody, Returned, Said
from pagefault.model.ids import PageId
from pagefault.model.kinds import (
    IMPORT,
    LOCAL_FILE,
    MCP,
    EventType,
    Kind,
    Role,
    Source,
    is_tools,
)
from pagefault.model.page import Page, PageRow, is_shared
from pagefault.model.times import iso_utc
from pagefault.model.trust import is_untrusted
from pagefault.pack.context_forms import one_line
from pagefault.pack.context_pack import EVIDENCE, PackEvidence, as_line
from pagefault.pack.context_packer import UNRANKED, PackItem
from pagefault.recall.excerpt import excerpt
from pagefault.recall.passages import passage
from pagefault.recall.search import RELEVANCE_MIN, SearchHit
from pagefault.service.packs.gathered import Tiers
from pagefault.service.runtime import Runtime

FACTS: Final = 3  # of the first pages found, with a line at the head
FACT_RELEVANCE: Final = 0.5  # of all but the very first: at least even odds
FACT_CHARS: Final = 160
_DONE: Final = {
    EventType.COMMAND_RUN: Source.TERMINAL,
    EventType.TEST_RESULT: Source.TERMINAL,
    EventType.FILE_CHANGE: Source.FILES,
}
"""The sources of what a host recorded as done (`Session.record_event`)."""


class Quoted:
    """Pages as evidence."""

    def __init__(
        self, runtime: Runtime, names: Mapping[str, str], short: Mapping[str, str] | None = None
    ) -> None:
        """`names` has each session's name by its id. In a pack of several sessions, `short` has the
        short names by which refs name the session of a page.
        """
        self._runtime = runtime
        self._names = names
        self._short = short

    def ref(self, session_id: str, page_id: str) -> str:
        if self._short is None or is_shared(PageId(page_id)):
            return page_id
        return f"{self._short.get(session_id, session_id)}/{page_id}"

    def evidence(
        self, row: PageRow, session_id: str, section: str, text: str, **more: object
    ) -> PackEvidence:
        return replace(
            PackEvidence(
                ref=self.ref(session_id, row.page_id),
                kind=str(row.kind),
                source=self.source(row),
                section=section,
                text=text,
                session=self._names.get(session_id, session_id),
                session_id=session_id,
                page_id=str(row.page_id),
                role=str(row.role),
                origin=one_line(row.origin),
                said_at=iso_utc(row.said_ms),
            ),
            **more,  # type: ignore[arg-type]
        )

    def source(self, row: PageRow) -> Source:
        """The source: as its record says, or else by its kind."""
        body = None
        with suppress(ArchiveMissing, StoreCorrupt):
            body = self._runtime.log.get(row.seq).body
        if isinstance(body, PageBody) and body.source is not Source.CHAT:
            return body.source
        if isinstance(body, Called | Returned) or is_tools(row.origin):
            return Source.TERMINAL
        if isinstance(body, Said) and body.event_type in _DONE:
            return _DONE[body.event_type]
        if row.kind is Kind.ARTIFACT:
            return Source.FILES if row.origin == LOCAL_FILE else Source.DOCS
        return Source.CHAT

    def page(self, row: PageRow) -> Page | None:
        """The page, unless nothing may bring it in, or it cannot be read. A note that an MCP client
        wrote down to be remembered is left out: it is in a pack as its claim.
        """
        is_remembered = row.origin == MCP and row.role is Role.TOOL
        if is_remembered or self._runtime.quarantine.holds(row):
            return None
        with suppress(RecordGone, ArchiveMissing):
            return self._runtime.pages.read(row)
        return None

    def bound(self, page: Page) -> str:
        """Whose share a page takes: an untrusted page takes its origin's."""
        label = self._runtime.quarantine.label(page)
        return str(label) if is_untrusted(label) and label != IMPORT else ""

    def hits(self, hits: Iterable[SearchHit], tiers: Tiers, query: str) -> Iterator[PackItem]:
        """The pages that a search found, the best first; of each its text, or the part that was
        found.
        """
        rank = 0
        for hit in hits:
            page = self.page(hit.page)
            if page is None or not bears(hit):
                continue
            why = f"found by {hit.why}: number {rank + 1} of what bears on {query!r}"
            told = {
                "score": round(hit.score, 4),
                "relevance": round(hit.relevance, 4),
                "parts": {name: round(value, 4) for name, value in sorted(hit.parts.items())},
                "speaker": one_line(hit.speaker),
                "also": tuple(self.ref(hit.session_id, row.page_id) for row in hit.also),
            }
            item = self._item(page, hit, tiers.hits, why, rank, told, query=query)
            if item is None:
                continue
            is_fact = rank == 0 or (rank < FACTS and hit.relevance >= FACT_RELEVANCE)
            fact = one_line(excerpt(page.text, query, chars_max=FACT_CHARS).text) if is_fact else ""
            is_whole = fact == item.text
            if not is_whole:
                yield item
            if fact:
                evidence = replace(item.evidence, section="summary", text=fact, is_whole=is_whole)
                yield replace(
                    item,
                    section="summary",
                    tier=tiers.matched,
                    text=as_line(evidence),
                    shorter="",
                    quote=fact,
                    evidence=evidence,
                )
            rank += 1

    def recent(self, hits: Iterable[SearchHit], tiers: Tiers, why: str) -> Iterator[PackItem]:
        """The latest messages."""
        for hit in hits:
            page = self.page(hit.page)
            if page is not None:
                told = {"speaker": one_line(hit.speaker)}
                item = self._item(page, hit, tiers.recent, why, UNRANKED, told)
                if item is not None:
                    yield item

    def _item(
        self,
        page: Page,
        hit: SearchHit,
        tier: int,
        why: str,
        rank: int,
        told: Mapping[str, object],
        *,
        query: str = "",
    ) -> PackItem | None:
        """The whole page, or its part that is relevant to the query, and the line of a search for
        lack of room; None for an empty one.
        """
        whole, shorter = one_line(page.text), one_line(hit.excerpt)
        text = whole
        if is_long := page.row.tokens > PASSAGE_TOKENS:
            found = query and passage(
                page.text,
                query,
                self._runtime.counter.count_all,
                tokens_max=PASSAGE_TOKENS,
                tokens_min=PASSAGE_TOKENS_MIN,
            )
            text = one_line(page.text[slice(*found)]) if found else shorter
        if not text:
            return None
        return PackItem(
            section=EVIDENCE,
            tier=tier,
            text=text,
            evidence=self.evidence(
                page.row, hit.session_id, EVIDENCE, text, is_whole=not is_long, **told
            ),
            reason=why,
            shorter=shorter if shorter != text else "",
            rank=rank,
            at_ms=page.row.said_ms,
            seq=page.row.seq,
            quote=whole,
            origin=self.bound(page),
        )


def bears(hit: SearchHit) -> bool:
    """Whether a hit is relevant to the query: not one that is only listed for lack of others."""
    return hit.coverage >= RELEVANCE_MIN or hit.why == "meaning"


def handle(name: str, session_id: str) -> str:
    """The name of a session, unless that could be mistaken for something else in the text."""
    return name if name and name == one_line(name) else session_id
