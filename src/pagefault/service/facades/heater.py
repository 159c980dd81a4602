"""Hot, warm and cold memory: hot items are in every request while they are used; others cool.

Requirement 002's API, one verb each. Its tiers are called heat here: a tier, L0 to L4, is a place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagefault.model.defaults import HEAT_RECALL_LIMIT, SPILL_ITEMS
from pagefault.model.errors import BadInput
from pagefault.model.events import Body, Draft, HeatRecalled, Hit, Noted, expected, row_of
from pagefault.model.ids import PageId
from pagefault.model.kinds import Heat, NoteType
from pagefault.model.page import Page
from pagefault.model.reprs import counted, outline
from pagefault.model.signatures import checked_verbs
from pagefault.recall.search import SearchHit
from pagefault.service.arguments import a_count, a_share, one_of
from pagefault.service.derived.heat import HeatBook, HeatItem, with_texts
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.turn.archival import OWN
from pagefault.service.turn.heat_moves import HeatPlan, promotes, suggestions
from pagefault.service.turn.notes import NewNote, note_drafts
from pagefault.service.turn.stated_claims import a_channel
from pagefault.service.window.content import page_of
from pagefault.store.place import place_in


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The result of `heat_recall`: the items, best first, which of them became hot, and how
    relevant each is to the query.
    """

    items: tuple[HeatItem, ...] = ()
    promoted: tuple[PageId, ...] = ()
    relevance_scores: Mapping[str, float] | None = None

    def __repr__(self) -> str:
        found = f"{counted(len(self.items), 'item')} found"
        return outline(found, f"{len(self.promoted):,} promoted", lines=self.items)

    def as_dict(self) -> dict[str, Any]:
        return {
            "items": [item.as_dict() for item in self.items],
            "promoted": list(self.promoted),
            "relevanceScores": dict(self.relevance_scores or {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillResult:
    """The items that left hot memory, and where each went. `target_tier` is where most of them
    went: "warm" or "cold".
    """

    spilled: Mapping[PageId, str]

    @property
    def target_tier(self) -> str:
        warm = sum(to == Heat.WARM for to in self.spilled.values())
        return str(Heat.WARM if warm * 2 > len(self.spilled) else Heat.COLD)

    def as_dict(self) -> dict[str, Any]:
        return {
            "spilledCount": len(self.spilled),
            "spilledIds": list(self.spilled),
            "targetTier": self.target_tier,
            "targets": dict(self.spilled),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatStatus:
    """The size of each heat, in items and in tokens of their texts, and suggestions."""

    session_id: str
    items: Mapping[str, int]  # by heat
    tokens: Mapping[str, int]
    limit: int  # of hot memory, in tokens
    suggestions: tuple[Mapping[str, Any], ...] = ()

    def __repr__(self) -> str:
        hot = f"hot {self.items[Heat.HOT]:,} ({self.tokens[Heat.HOT]:,} of {self.limit:,} tokens)"
        rest = (f"{one} {self.items[one]:,}" for one in Heat if one is not Heat.HOT)
        suggested = (f"{one.get('type')}: {one.get('reason')}" for one in self.suggestions)
        return outline("Heat", hot, *rest, lines=suggested)

    @property
    def utilisation_percent(self) -> float:
        hot = self.tokens[Heat.HOT]
        return round(100 * hot / self.limit, 1) if self.limit else 0.0

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"sessionId": self.session_id}
        for heat in Heat:
            told[str(heat)] = {"items": self.items[heat], "tokens": self.tokens[heat]}
        told[str(Heat.HOT)] |= {
            "limit": self.limit,
            "utilizationPercent": self.utilisation_percent,
        }
        return told | {"suggestions": [dict(one) for one in self.suggestions]}


@checked_verbs(usable=check_open)
class Heater(SessionParts):
    """The verbs of hot, warm and cold memory."""

    async def heat_add(
        self,
        text: str,
        *,
        type: str = "context",
        metadata: Mapping[str, Any] | None = None,
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> HeatItem:
        """Add a hot item: it is in every request from the next one on, while it is used.

        If hot memory is full (`limits.hot_tokens_max`), the least relevant items leave, the oldest
        first among equals, four at a time: to warm memory if they were recalled more than
        `limits.warm_accesses` times, else to cold. Raises `HotFull` if the item cannot fit, and if
        `limits.auto_spill` is off.
        """
        channel = a_channel(origin)

        async def verb() -> HeatItem:
            known = self._runtime.pages_of_key(self.session, key)
            if known:
                return await self._item(known[0])
            await self.owned.written()  # the log decides its origin
            note = NewNote(
                text=text,
                type=type,
                metadata=metadata or {},
                origin=await asyncio.to_thread(self._labels.written_now, channel),
                key=key,
            )
            [draft] = note_drafts(
                [note],
                session=self.session,
                state=self._state,
                clean=self._runtime.journal.clean,
            )
            body = draft.body
            assert isinstance(body, Noted)
            plan = await self._plan_heat()
            page = page_of(expected(draft), body)
            plan.book.note(row_of(expected(draft), body), body)
            plan.heat(page, why="added", at_once=self._state.limits.spill_items)
            plan.keep_the_cap()
            if dry_run:
                [item] = with_texts([plan.item(page.page_id)], [page], self.session_id)
                now = self._runtime.clock.now_ms()
                return replace(item, created_at_ms=now, last_accessed_at_ms=now)
            await self._commit([draft], plan)
            return await self._item(page.page_id)

        return await self.owned.whole(verb)

    async def heat_hot(self) -> list[HeatItem]:
        """The hot items, newest first, each with its text."""
        self.owned.check_there()
        await self.owned.refresh()
        book = await asyncio.to_thread(self._heat.book, self._state, self.owned.scope)
        hot = sorted(book.of(Heat.HOT), key=lambda item: -item.created_at_ms)
        return await self._told(hot)

    async def heat_spill(
        self, item_ids: Sequence[str] = (), *, count: int = SPILL_ITEMS, dry_run: bool = False
    ) -> SpillResult:
        """Move items out of hot memory: the given ones, or the `count` least relevant, the oldest
        first among equals. They leave the window at the next epoch. Raises `NoSuchPage` for an id
        that is not an item's.
        """
        a_count(count, called="count")

        async def verb() -> SpillResult:
            plan = await self._plan_heat()
            out = plan.spill(item_ids, count)
            plan.keep_the_cap()
            if not dry_run:
                await self._commit([], plan)
            return SpillResult(spilled={item.id: item.tier for item in out})

        return await self.owned.whole(verb)

    async def heat_recall(
        self,
        query: str,
        *,
        limit: int = HEAT_RECALL_LIMIT,
        types: Sequence[str] = (),
        auto_promote: bool | None = None,
        min_relevance: float = 0.0,
        dry_run: bool = False,
    ) -> RecallResult:
        """The warm and cold items relevant to a query, best first: only of these `types`, if any
        are given, and none less relevant than `min_relevance`.

        Each item found counts as used. It becomes hot if it is more relevant than
        `limits.promote_relevance`, or was recalled more than `limits.warm_accesses` times, unless
        `auto_promote` is off (its default is `limits.auto_promote`). Irrelevant items are neither
        found nor counted. `dry_run` counts and moves nothing.
        """
        a_count(limit, called="limit")
        a_share(min_relevance, called="min_relevance")
        wanted = {one_of(NoteType, one, "type of item") for one in types}
        does_promote = self._state.limits.auto_promote if auto_promote is None else auto_promote

        async def verb() -> RecallResult:
            with self._runtime.timed("heat_recall"):
                plan = await self._plan_heat()
                found = await self._find_items(plan.book, query, limit, wanted, min_relevance)
            now = self._runtime.clock.now_ms()
            for item, relevance in found:
                plan.book.recalled(item.id, relevance, now)
            hits = tuple(Hit(page_id=item.id, relevance=relevance) for item, relevance in found)
            promoted = []
            for item, relevance in found if does_promote else ():
                if promotes(plan.book.items[item.id], relevance, self._state):
                    promoted += await self._try_to_heat(plan, item.id)
            plan.keep_the_cap()
            if not dry_run:
                await self._commit([HeatRecalled(hits=hits)], plan)
                self._runtime.heat.recalled(found=bool(hits))
            items = [plan.book.items[item.id] for item, _ in found]
            return RecallResult(
                items=tuple(await self._told(items)),
                promoted=tuple(promoted),
                relevance_scores={item.id: relevance for item, relevance in found},
            )

        return await self.owned.whole(verb)

    async def heat_promote(self, item_id: str, *, dry_run: bool = False) -> HeatItem:
        """Make an item hot, or any other page of the session. Others leave to make room,
        `limits.promote_spill_items` at a time. Raises `NoSuchPage`, and `HotFull` if it cannot fit.
        """
        page = await self._pages.get(item_id)

        async def verb() -> HeatItem:
            plan = await self._plan_heat()
            if self._runtime.quarantine.holds(page.row):
                raise BadInput(
                    f"{page.page_id} is in quarantine: it was imported or withdrawn, or reads like "
                    "an order, and nobody approved what it says",
                    hint="`Memory.approve_import` or `Memory.raise_origin` does that",
                )
            plan.book.take_in(page.row)
            plan.heat(page, why="asked", at_once=self._state.limits.promote_spill_items)
            plan.keep_the_cap()
            if not dry_run:
                await self._commit([], plan)
            [item] = with_texts([plan.item(page.page_id)], [page], self.session_id)
            return item

        return await self.owned.whole(verb)

    async def heat_prune(
        self, item_ids: Sequence[str] = (), *, count: int = 0, dry_run: bool = False
    ) -> list[PageId]:
        """Archive items: the given ones, or the `count` least relevant cold ones, or else those
        beyond `limits.cold_items_max`. Nothing is erased: a search still finds them, `heat_recall`
        does not. Returns their ids.
        """
        a_count(count, called="count")

        async def verb() -> list[PageId]:
            plan = await self._plan_heat()
            gone = plan.archive(item_ids, count)
            if not dry_run:
                await self._commit([], plan)
            return [item.id for item in gone]

        return await self.owned.whole(verb)

    async def heat_status(self) -> HeatStatus:
        """The size of hot, warm and cold memory, and what to spill, recall or prune."""
        self.owned.check_there()
        await self.owned.refresh()
        plan = await self._plan_heat()
        by_heat = {heat: plan.book.of(heat) for heat in Heat}
        return HeatStatus(
            session_id=self.session_id,
            items={heat: len(items) for heat, items in by_heat.items()},
            tokens={heat: sum(one.tokens for one in items) for heat, items in by_heat.items()},
            limit=plan.limit,
            suggestions=tuple(suggestions(plan)),
        )

    # ------------------------------------------------------------------------------------------

    async def _plan_heat(self) -> HeatPlan:
        book = await asyncio.to_thread(self._heat.book, self._state, self.owned.scope)
        return HeatPlan(self._state, book, self.owned.called)

    async def _commit(self, first: Sequence[Draft | Body], plan: HeatPlan) -> None:
        """Write these events and the plan's moves, in one batch."""
        drafts = [
            one if isinstance(one, Draft) else self.owned.draft(one)
            for one in (*first, *plan.records)
        ]
        await self.owned.commit(drafts)
        self._runtime.heat.moved(plan.records)

    async def _try_to_heat(self, plan: HeatPlan, page_id: PageId) -> list[PageId]:
        """Make a recalled item hot; if it does not fit, it stays where it is."""
        item = plan.item(page_id)
        if item.is_quarantined or self._state.table.is_pinned(page_id):
            return []
        page = await self._pages.get(page_id)
        if self._runtime.quarantine.holds(page.row):
            return []
        at_once = self._state.limits.promote_spill_items
        return [page_id] if plan.try_to_heat(page, at_once=at_once) else []

    async def _find_items(
        self,
        book: HeatBook,
        query: str,
        limit: int,
        wanted: set[NoteType],
        min_relevance: float,
    ) -> list[tuple[HeatItem, float]]:
        items = {
            item.id: item
            for item in book.of(Heat.WARM, Heat.COLD)
            if not wanted or item.type in wanted
        }
        if not items or not query.strip():
            return []
        import numpy as np

        scope, index = self.owned.scope, self._runtime.index
        rows = await asyncio.to_thread(index.find_pages, scope, list(items))
        only = np.array(sorted(place_in(scope, row) for row in rows.values()), dtype=np.int64)
        result = await self._runtime.search(scope, query, limit=len(only), only=only, strict=True)
        # Only by its own text: the pages next to an item are other items.
        hits: list[SearchHit] = [
            hit for hit in result.hits if hit.why in OWN and hit.relevance >= min_relevance
        ]
        pages = [(row.page_id, hit.relevance) for hit in hits for row in (hit.page, *hit.also)]
        found = [(items[one], round(sure, 4)) for one, sure in pages if one in items]
        return found[:limit]

    async def _item(self, page_id: PageId) -> HeatItem:
        plan = await self._plan_heat()
        [item] = await self._told([plan.item(page_id)])
        return item

    async def _told(self, items: Sequence[HeatItem]) -> list[HeatItem]:
        def read() -> list[Page]:
            rows = self._runtime.index.find_pages(self.owned.scope, [one.id for one in items])
            return [self._runtime.pages.read(row) for row in rows.values()]

        return with_texts(items, await asyncio.to_thread(read), self.session_id)
