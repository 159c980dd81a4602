"""Recall at a turn's first request: pages relevant to the newest message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

from pagefault.language.analyzer import is_telling
from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import IMPORT, Modality, Mode, Origin
from pagefault.model.page import Page, PageRow, Scope
from pagefault.model.trust import is_untrusted
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.pack import render
from pagefault.pack.count import MESSAGE_TOKENS
from pagefault.pack.developer import DeveloperLayout
from pagefault.pack.layout import Recalled
from pagefault.pack.render import LABEL_TOKENS
from pagefault.recall.gate import asks, gate
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.represent.words import telling_terms
from pagefault.service.derived.procedures import Procedures
from pagefault.service.lookup.closed_hits import ClosedHits
from pagefault.service.lookup.session_search import SAID, Finder, merged
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.turn.prefetch import Prefetcher
from pagefault.service.window.plan import to_bring

RECALL_CANDIDATES: Final = 50  # pages that a turn-start recall considers
_BEHIND_QUARANTINE: Final = 1_000  # more of them if some are quarantined
CLAIMS_RECALLED: Final = 5  # claims per turn at most: each is a line


NAMED_MAX: Final = 3  # lines that mark a page in the window as the newer one

Newer = Mapping[PageId, tuple[PageId, ...]]
"""For pages on the same subject: which was said after which, in order."""

_SHOWN_MAX: Final = 64  # hits of one turn that the window shows already


class _Recall(NamedTuple):
    """What a message calls for."""

    pages: list[Page]  # that the window does not show, best first
    named: list[Page]  # in the window, as newer than others
    bearing: list[PageId]
    called_for: frozenset[PageId]  # in the window
    claims: list[PageRow]  # that may be among the pages


class TurnRecall:
    def __init__(
        self,
        owned: Owned,
        runtime: Runtime,
        finder: Finder,
        procedures: Procedures,
        prefetcher: Prefetcher,
    ) -> None:
        self._owned = owned
        self._runtime = runtime
        self._finder = finder
        self._procedures = procedures
        self._prefetcher = prefetcher
        self.bearing: list[PageId] = []  # to the newest message, best first

    async def pages(self) -> list[Page]:
        """The pages that the newest user message calls for and the window does not show, best
        first.
        """
        state = self._owned.state
        if not state.awaits_request:
            return []
        state.named = []
        if not state.control.recalls:
            state.called_for = frozenset()
            return []
        query = "".join(page.text for page in state.newest_user)
        if is_chat(query):
            self.bearing, state.called_for = [], frozenset()
            return []
        recalled = await self._runtime.in_search_thread(lambda: self._recalled(query))
        self.bearing, state.called_for = recalled.bearing, recalled.called_for
        state.named = recalled.named
        for row in (*recalled.claims, *(page.row for page in recalled.pages)):
            state.table.tlb.insert(row)
        self._prefetcher.used([page.page_id for page in recalled.pages])
        return recalled.pages

    def _recalled(self, query: str) -> _Recall:
        """All that a message calls for. One call in one thread, because each hand-over to a thread
        and back takes a tenth of a millisecond. Blocks on the store.
        """
        state = self._owned.state
        calls_for = gate(query)
        faults = state.mode is not Mode.PASSIVE
        recall_room = state.limits.recall_room(state.window_tokens, faults=faults)
        claims, shown = self._claims_for_turn(query, recall_room)
        chosen = [*claims, *self._procedures_for_turn(query, recall_room)]
        with self._runtime.searcher.moment():
            found = self._released(query)
            admitted, newer = self._admitted(query, [calls_for.admitted(hits) for hits in found])
        wanted = [row for row in admitted if row.page_id not in state.working_set]
        room = int(calls_for.room_share * recall_room)
        here = [row for row in admitted if row.page_id in state.working_set]
        pages = self._that_fit(chosen, wanted, newer, room, recall_room)
        first = {row.page_id: newer[row.page_id] for row in here if row.page_id in newer}
        return _Recall(
            pages=pages,
            named=self._named(pages, first, recall_room),
            bearing=[hit.page.page_id for hit in merged(found)],
            called_for=_within(here, room) | shown,
            claims=claims,
        )

    def _that_fit(
        self,
        first: Sequence[PageRow],
        then: Sequence[PageRow],
        newer: Newer,
        room: int,
        room_max: int,
    ) -> list[Page]:
        """The best of these pages whose lines fit; one that does not fit gives way to a shorter
        one.

        `first` have `room_max`, `then` what they leave of `room`. A line is counted as it will be
        rendered, so recall never takes more, except for pins and claims that come with the request
        anyway. Pages of one tool, or of the web, take at most their share, or one page, however
        many are relevant; imported ones are here because a person approved them.
        """
        state, closed = self._owned.state, ClosedHits(self._runtime)
        bound = state.paged_in_left()
        room_max = min(room_max, bound) if bound >= 0 else room_max
        pages: list[Page] = []
        spent = state.counter.count(render.block([], self._runtime.seal)) + MESSAGE_TOKENS
        strangers = Counter[Origin]()
        for rows, most in ((first, room_max), (then, min(room, room_max))):
            share = int(most * state.limits.untrusted_recall_share)
            for row in rows:
                origin = row.origin
                is_more = origin in strangers and is_untrusted(origin) and origin != IMPORT
                free = min(most - spent, share - strangers[origin] if is_more else most)
                if row.tokens > free:
                    continue
                for page in (_marked(page, newer) for page in self._read_all([row])):
                    page = replace(page, lapse=closed.lapse_in(state.closures, row))
                    cost = state.counter.count(render.line([page])) + 1
                    if cost <= free:
                        pages.append(page)
                        spent += cost
                        strangers[origin] += cost
        most = room_max if bound >= 0 else room_max + self._tokens_with([])
        while pages and self._tokens_with(pages) > most:
            pages.pop()
        return pages

    def _named(self, pages: Sequence[Page], newer: Newer, room: int) -> list[Page]:
        """Pages in the window that do not yet say which others they are newer than, where the order
        does not show it either: a line says it, if it fits beside `pages`. The first of `newer`
        come first.
        """
        state = self._owned.state
        if isinstance(state.layout, DeveloperLayout) or not newer:
            return []
        moved = {page.page_id: page for page in state.out_of_place()}
        said = state.told_newer()
        named: list[Page] = []
        for new, earlier in newer.items():
            told = moved[new].newer_than if new in moved else said.get(new, ())
            untold = tuple(
                old
                for old in earlier
                if old in state.working_set
                and (old in moved or new in moved)
                and old not in told
                and (old not in moved or new not in moved[old].older_than)
            )
            if untold:
                with suppress(RecordGone, ArchiveMissing, KeyError):
                    page = state.read_page(new)
                    named.append(replace(page, newer_than=(*told, *untold), is_named=True))
        named = named[:NAMED_MAX]
        bound = state.paged_in_left()
        most = min(room, bound) if bound >= 0 else room + self._tokens_with([])
        while named and self._tokens_with(pages, named) > most:
            named.pop()
        return named

    def _tokens_with(self, pages: Sequence[Page], named: Sequence[Page] = ()) -> int:
        """The tokens of these and of the pages that come with every request."""
        state = self._owned.state
        brought = [*to_bring(state, pages), *named]
        return state.layout.tokens_of([Recalled(tuple(brought), Seq(0))]) if brought else 0

    def _claims_for_turn(self, query: str, room: int) -> tuple[list[PageRow], frozenset[PageId]]:
        """The claims relevant to the newest message, best first: those that hold now, and those
        that do not, marked so; and which of them the window shows already.
        """
        state = self._owned.state
        chosen: list[PageRow] = []
        shown: set[PageId] = set()
        # From before the message: it contains its own claims.
        find = self._finder.claims
        for hit in find(self._before_newest(), query, limit=CLAIMS_RECALLED, strict=True):
            row, cost = hit.page, hit.page.tokens + LABEL_TOKENS
            if self._runtime.quarantine.holds(row):
                continue
            if row.page_id in state.working_set:
                shown.add(row.page_id)
            elif cost <= room:
                chosen.append(row)
                room -= cost
        return chosen, frozenset(shown)

    def _procedures_for_turn(self, query: str, room: int) -> list[PageRow]:
        """The procedures that the newest message names, if any were stated before."""
        state = self._owned.state
        newest = state.newest_user[0].row.seq
        return [
            page.row
            for page in self._procedures.bearing(query, state)
            if page.row.seq < newest
            and page.page_id not in state.working_set
            and page.row.tokens + LABEL_TOKENS <= room
        ]

    def procedures_of(self, tools: Sequence[str]) -> dict[str, list[PageId]]:
        """The procedures for each of these tools, as far as they are known without reading
        the log.
        """
        state, bearing = self._owned.state, self._procedures.bearing
        if not self._procedures.is_current(state):
            return {}
        return {tool: [page.page_id for page in bearing(tool, state)] for tool in tools}

    def _before_newest(self) -> Scope:
        """What was said before the newest user message: no question answers itself."""
        scope, newest = self._owned.scope, self._owned.state.newest_user
        if not newest:
            return scope
        before = Seq(newest[0].row.seq - 1)
        return Scope(tuple((part, min(upto, before)) for part, upto in scope.parts))

    async def find_for_model(
        self, query: str, limit: int, modality: Modality | None
    ) -> SearchResult:
        """What `search_pages` finds before the newest user message, and the claims that answer. Of
        the current turn, what the window does not show: the rest of a long result, a document.
        """
        state = self._owned.state
        newest = state.newest_user[0].row if state.newest_user else None
        more = state.order_next - newest.order - len(state.newest_user) if newest else 0
        if newest is None or more <= 0:
            scope = self._before_newest()
            return await self._finder.find(scope, query, limit=limit, wanted=_of(modality))
        found = await self._finder.find(
            self._owned.scope, query, limit=limit + min(more, _SHOWN_MAX), wanted=_of(modality)
        )
        hits = [
            hit
            for hit in found.hits
            if hit.page.seq < newest.seq
            or (hit.page.kind in SAID and hit.page.page_id not in state.working_set)
        ]
        return SearchResult(tuple(hits[:limit]), found.total - len(found.hits) + len(hits))

    def _released(self, query: str) -> list[list[SearchHit]]:
        """What was said before the newest user message and is relevant to an automatic query; and
        the same from each region that the session may search.
        """
        reach = self._runtime.reach(self._owned.scope)
        return [self._released_of(one, query) for one in (self._before_newest(), *reach)]

    def _released_of(self, scope: Scope, query: str) -> list[SearchHit]:
        """The pages found there, without quarantined ones: these take no other page's room."""
        search = self._runtime.search_blocking
        found = search(scope, query, limit=RECALL_CANDIDATES, strict=True)
        holds = self._runtime.quarantine.holds
        if not any(holds(hit.page) for hit in found.hits):
            return list(found.hits)
        found = search(scope, query, limit=_BEHIND_QUARANTINE, strict=True)
        hits = []
        for hit in found.hits:
            page = next((row for row in (hit.page, *hit.also) if not holds(row)), None)
            if page is not None:
                hits.append(hit if page is hit.page else replace(hit, page=page))
        return hits[:RECALL_CANDIDATES]

    def _admitted(
        self, query: str, found: Sequence[Sequence[SearchHit]]
    ) -> tuple[list[PageRow], Newer]:
        """The pages of these hits, of the session and then of each region, by their likelihood; in
        the session with the sequels of the best of them, which are as likely.
        """
        own, *shared = found
        rows, newer = self._with_sequels(query, own)
        if not any(shared):
            return rows, newer
        hits = {hit.page.seq: hit for hit in own}
        likely: list[SearchHit] = []
        for row in rows:
            hit = hits.get(row.seq)
            likely.append(hit or replace(likely[-1] if likely else own[0], page=row))
        return [hit.page for hit in merged([likely, *shared])], newer

    def _with_sequels(self, query: str, hits: Sequence[SearchHit]) -> tuple[list[PageRow], Newer]:
        """The pages of these hits, and the sequels of the best of them, without quarantined ones;
        and which of them are newer than which.
        """
        follow = self._runtime.searcher.with_sequels
        rows, newer = follow(self._before_newest(), query, hits)
        return [row for row in rows if not self._runtime.quarantine.holds(row)], newer

    def _read_all(self, rows: Sequence[PageRow]) -> list[Page]:
        pages = []
        for row in rows:
            with suppress(RecordGone, ArchiveMissing):
                pages.append(self._runtime.pages.read(row))
        return pages


def is_chat(message: str) -> bool:
    """Whether a message calls for nothing that was said before, so that it needs no search: it has
    no word that states or asks anything. *Thanks, sounds great!* or *How are you?*
    """
    return not is_telling(message) or not (telling_terms(message) or asks(message))


def _marked(page: Page, newer: Newer) -> Page:
    """A page with a line that says which others it is newer than, and the newest after it."""
    after = [new for new, earlier in newer.items() if page.page_id in earlier]
    return replace(page, newer_than=newer.get(page.page_id, ()), older_than=tuple(after[-1:]))


def _within(rows: Sequence[PageRow], room: int) -> frozenset[PageId]:
    """The first of these pages, as many as fit."""
    spent = accumulate(row.tokens + LABEL_TOKENS for row in rows)
    return frozenset(row.page_id for row, tokens in zip(rows, spent, strict=True) if tokens <= room)


def _of(modality: Modality | None) -> SearchFilter:
    return SearchFilter(modalities=(modality,)) if modality else ANY
