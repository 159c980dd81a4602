"""Core memory, which is in every request, and archival memory, which is searched.

The five tools of requirement 003 are these verbs as a model calls them (`memory_tools`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from pagefault.history.memory_blocks import Block, read_blocks
from pagefault.model.defaults import HEAT_RECALL_LIMIT
from pagefault.model.errors import BadInput, CoreFull
from pagefault.model.events import CoreWritten, Draft, expected
from pagefault.model.ids import PageId
from pagefault.model.kinds import IMPORT, USER_APPROVED, Kind, Origin, Role
from pagefault.model.signatures import checked_verbs
from pagefault.model.wanted import SearchFilter
from pagefault.recall.search import SearchResult
from pagefault.service.arguments import a_count
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.lookup.questions import Asking
from pagefault.service.turn.archival import OWN, ArchivalHit, ArchivalMemory, ArchivalNote
from pagefault.service.turn.core_memory import CoreMemory, CoreSection, find_proposed
from pagefault.service.turn.memory_tools import tools_of
from pagefault.service.turn.notes import NewNote, note_drafts
from pagefault.service.turn.stated_claims import a_channel

_BESIDE: Final = 20  # calls and results that a conversation search may find besides


@dataclass(frozen=True, slots=True, kw_only=True)
class NotImported:
    """Something that was not imported, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedBlocks:
    """What an import of blocks and rows added, or would add; `known` were already there."""

    sections: tuple[str, ...] = ()
    notes: int = 0
    known: int = 0
    left_out: tuple[NotImported, ...] = ()


@checked_verbs(usable=check_open)
class Notebook(SessionParts):
    """The verbs of core and archival memory."""

    async def core(self, *, proposed: bool = False) -> list[CoreSection]:
        """The sections of core memory, in the order in which they were begun; or the versions that
        are still `proposed`, oldest first.
        """
        self.owned.check_there()
        await self.owned.refresh()
        standing = await asyncio.to_thread(lambda: self._core().sections())
        if not proposed:
            return standing
        known = {(one.section, one.text) for one in standing}
        found = await asyncio.to_thread(self._archive().proposed, self.session_id)
        return [one for one in found if (one.section, one.text) not in known]

    async def core_append(
        self, section: str, text: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> CoreSection:
        """Add a line to a section of core memory ("human", "persona", …), which is in every request
        from the next one on; the first line begins the section.

        Raises `CoreFull` if a section, or all of them together, would be too large: the message
        names the limit. With `limits.core_overflow="archive"` the section's oldest lines become
        notes instead (`archived`). A line from an untrusted channel, or from a model that had an
        untrusted text before it, is only `proposed`.
        """
        return await self._write_core(
            lambda core, channel: core.append(section, text, channel), origin, dry_run=dry_run
        )

    async def core_replace(
        self,
        section: str,
        old: str,
        new: str,
        *,
        origin: str = "user_typed",
        dry_run: bool = False,
    ) -> CoreSection:
        """Replace the first `old` in a section with `new`; an empty `new` deletes it.

        Raises `BadInput` if there is no such section, or it does not contain `old`, and `CoreFull`.
        """
        return await self._write_core(
            lambda core, channel: core.replace(section, old, new, channel), origin, dry_run=dry_run
        )

    async def core_accept(self, page_id: str, *, dry_run: bool = False) -> CoreSection:
        """Accept a proposed version, on the user's authority. Raises `NoSuchPage`, and `CoreFull`
        if it does not fit.
        """
        page = await self._pages.get(page_id)
        found = find_proposed(page, page_id, self.owned.called)

        def plan(core: CoreMemory, channel: Origin) -> tuple[list[Draft], CoreSection]:
            body = self._runtime.log.get(found.row.seq).body
            assert isinstance(body, CoreWritten)
            return core.accept(found, body.section, channel)

        return await self._write_core(plan, USER_APPROVED, dry_run=dry_run)

    async def archival_insert(
        self,
        text: str,
        *,
        type: str = "context",
        area: str = "",
        metadata: Mapping[str, Any] | None = None,
        replaces: str = "",
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> ArchivalNote:
        """Insert a note, which is searched, and is in no request by itself.

        `type` is "message", "fact", "decision", "entity" or "context"; `area` separates personal
        facts ("personal") from notes of work ("task"). `replaces` is the note that this one
        corrects, which is kept as history. `contradicts` in the result lists notes that say
        something else about the same thing, as far as their form shows. An untrusted text that
        reads like an order is quarantined, or refused with `limits.hostile_notes="reject"`.
        """
        channel = a_channel(origin)

        async def verb() -> ArchivalNote:
            state = self._state
            known = self._runtime.pages_of_key(self.session, key)
            archive = self._archive()
            if known:
                return await asyncio.to_thread(archive.note, known[0])
            if replaces:
                await asyncio.to_thread(archive.check_there, PageId(replaces))
            await self.owned.written()  # the log decides its origin
            note = NewNote(
                text=text,
                type=type,
                area=area,
                metadata=metadata or {},
                origin=await asyncio.to_thread(self._labels.written_now, channel),
                replaces=PageId(replaces),
                key=key,
            )
            drafts = note_drafts(
                [note], session=self.session, state=state, clean=self._runtime.journal.clean
            )
            if dry_run:
                now = self._runtime.clock.now_ms()
                return await archive.would_be(replace(expected(drafts[0]), at_ms=now))
            [event] = await self.owned.commit(drafts)
            row = self._runtime.index.page_at(event.seq)
            assert row is not None
            return await archive.told(row)

        return await self.owned.whole(verb)

    async def archival_search(
        self,
        query: str,
        *,
        limit: int = HEAT_RECALL_LIMIT,
        type: str = "",
        area: str = "",
    ) -> list[ArchivalHit]:
        """The notes relevant to a query, best first, from this session and every session of the
        same user (`Memory.assign`); only of one `type` or `area`, if given. Empty if none is
        relevant.
        """
        a_count(limit, called="limit")
        self.owned.check_there()
        await self._runtime.journal.look()
        await self.owned.see_changes()
        return await self._archive().search(query, limit=limit, type_=type, area=area)

    async def conversation_search(
        self, query: str, *, limit: int = HEAT_RECALL_LIMIT
    ) -> SearchResult:
        """What user and assistant said in this conversation that is relevant to a query, whether or
        not the window still shows it.
        """
        assert isinstance(self, Asking)
        wanted = SearchFilter(kinds=(Kind.TRANSCRIPT,))
        found = await self.recall(query, limit=limit + _BESIDE, wanted=wanted)
        roles = (Role.USER, Role.ASSISTANT)
        hits = [hit for hit in found.hits if hit.page.role in roles and hit.why in OWN]
        said = [hit for hit in hits if not (await self._pages.get(hit.page.page_id)).call_id]
        return replace(found, hits=tuple(said[:limit]))

    async def import_blocks(
        self, text: str, *, approve: bool = False, dry_run: bool = False
    ) -> ImportedBlocks:
        """Import core memory blocks and archival rows of MemGPT or Letta, given as their JSON.

        Blocks become sections, in place of those with the same names, and rows become notes;
        existing ones are not written again. Unless you `approve` their contents, their origin is
        imported: sections are proposed, and notes are found by search but never recalled. What does
        not fit is listed in `left_out`. Raises `BadInput` for any other JSON.
        """
        found = read_blocks(text)
        if found is None:
            raise BadInput(
                "there are no blocks or archival rows in this",
                hint='expected {"blocks": [{"label": …, "value": …}], "archival": [{"text": …}]}',
            )
        blocks, rows = found
        origin = USER_APPROVED if approve else IMPORT
        told = ImportedBlocks()
        for block in blocks:
            told = await self._import_block(told, block, origin, dry_run=dry_run)
        for row in rows:
            key = f"memory-row {row.ref or row.text}"
            if self._runtime.pages_of_key(self.session, key):
                told = replace(told, known=told.known + 1)
                continue
            try:
                note = NewNote(
                    text=row.text,
                    metadata={"created_at": row.created_at} if row.created_at else {},
                    origin=origin,
                    key=key,
                )
                if not dry_run:
                    await self.owned.whole(partial(self._keep, note))
            except BadInput as problem:
                told = _without(told, row.text[:40], problem.message)
            else:
                told = replace(told, notes=told.notes + 1)
        return told

    async def _import_block(
        self, told: ImportedBlocks, block: Block, origin: Origin, *, dry_run: bool
    ) -> ImportedBlocks:
        standing = {one.section: one.text for one in await self.core()}
        waiting = [(one.section, one.text) for one in await self.core(proposed=True)]
        is_waiting = origin == IMPORT and (block.section, block.text) in waiting
        if standing.get(block.section) == block.text or is_waiting:
            return replace(told, known=told.known + 1)
        try:
            await self._write_core(
                lambda core, channel: core.put(block.section, block.text, channel),
                origin,
                dry_run=dry_run,
            )
        except (BadInput, CoreFull) as problem:
            return _without(told, block.section, problem.message)
        return replace(told, sections=(*told.sections, block.section))

    async def _keep(self, note: NewNote) -> None:
        clean = self._runtime.journal.clean
        await self.owned.commit(
            note_drafts([note], session=self.session, state=self._state, clean=clean)
        )

    def memory_tools(self) -> list[Callable[..., Any]]:
        """The five tools of core and archival memory, for `run(engine, tools=…)`:
        core_memory_append, core_memory_replace, archival_memory_insert, archival_memory_search and
        conversation_search. While they are offered, the rules in the request explain them.
        """
        return tools_of(cast("Any", self))

    # ------------------------------------------------------------------------------------------

    def _core(self) -> CoreMemory:
        return CoreMemory(self._state, self.session, self._runtime.journal.clean)

    def _archive(self) -> ArchivalMemory:
        return ArchivalMemory(self._runtime, self.owned.scope, called=self.owned.called)

    async def _write_core(
        self,
        plan: Callable[[CoreMemory, Origin], tuple[list[Draft], CoreSection]],
        origin: str,
        *,
        dry_run: bool,
    ) -> CoreSection:
        channel = a_channel(origin)
        return await self.owned.carry_out(
            lambda: plan(self._core(), self._labels.written_now(channel)), dry_run=dry_run
        )


def _without(told: ImportedBlocks, what: str, why: str) -> ImportedBlocks:
    return replace(told, left_out=(*told.left_out, NotImported(what=what, why=why)))
