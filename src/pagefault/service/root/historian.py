"""Imports and exports of conversations, approval of imports, past events, and the bill."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import ImportApproved, ImportRevoked
from pagefault.model.kinds import ControlMode, EventType
from pagefault.model.progress import Progress
from pagefault.model.signatures import checked_verbs
from pagefault.model.times import iso_ms
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.pack.bill import Bill
from pagefault.service.arguments import a_count, a_moment, a_path, one_of
from pagefault.service.control import controls
from pagefault.service.inspection.bill import BillBy, bill_of
from pagefault.service.inspection.work_events import WorkEvent, WorkFilter, find_events
from pagefault.service.lookup.imported import (
    Exported,
    ExportForm,
    ImportedSession,
    ImportReport,
    imported_sessions,
    project_id,
)
from pagefault.service.root.parts import MemoryParts, check_open
from pagefault.store.controls import nothing_kept

_NAMED_MAX: Final = 10  # imports that an error lists, the latest first


@checked_verbs(usable=check_open)
class Historian(MemoryParts):
    """The verbs about imports, exports, events and cost."""

    async def import_history(
        self,
        paths: Sequence[str | Path],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import conversations that other programs kept, from files and folders: each becomes a
        session `import:SOURCE:ID`, in quarantine. `docs/import.md` lists the formats, which are
        recognised by a file's contents.

        Searches find imported pages, but the runtime recalls none until `approve_import`. Pages
        already imported are not written again, so an import may be repeated, and continues after a
        kill. With `dry_run` nothing is written, and the result is the same. `progress` is called
        with bytes read and total bytes, in another thread. Raises `StoreBusy` if an imported
        session is in use meanwhile, and `StoreReadOnly` if the memory's control mode keeps nothing.
        """
        from pagefault.service.imports import Importer  # only importers pay for the readers

        self._committer.check_open()
        places = [a_path(path, called="paths") for path in paths]
        if not dry_run:
            self._store.check_writable()
        await self._runtime.journal.look()
        control = await self._given_control()
        if not (control.captures or dry_run):
            raise nothing_kept(control)
        stop = threading.Event()
        importer = Importer(
            self._runtime,
            window_tokens=self._window_tokens,
            mode=self._mode,
            layout=self._layout,
            control=control,
            live=lambda: {one.session: one.owned for one in self._live() if one.overlay is None},
            is_kept=lambda session: all(
                ControlMode(one).captures for one in controls(self._runtime, session).values()
            ),
            dry_run=dry_run,
            stop=stop,
            progress=progress,
        )
        return await self._stoppable(lambda: importer.run(places), stop)

    async def export(
        self,
        target: str | Path,
        *,
        form: str = "snapshot",
        wanted: SearchFilter = ANY,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Export this memory to `target`, for other programs and for people: `form` is "snapshot"
        (a zip archive), "events" (JSON lines) or "markdown" (a folder). All of it, or what passes a
        filter; claims and summaries only of sessions exported whole. `import_history` reads each
        form again, and `docs/export.md` describes them.

        An export has nothing that was forgotten, and no secret that redaction knows by now. A later
        `forget` does not reach it. It appears only once it is complete. `progress` is called with
        pages done and total pages, in another thread. Raises `BadInput`, `SessionNotFound`,
        `StoreError`.
        """
        from pagefault.service.exports import Exporter, check_target

        shape = one_of(ExportForm, form, "form of export")
        if wanted.session:
            await self._find_session(wanted.session)
        place = None if dry_run else check_target(a_path(target, called="target"), self._home)
        for session in self._live():
            await session.owned.written()
        stop = threading.Event()
        exporter = Exporter(
            self._runtime,
            project_id=project_id(self._runtime),
            wanted=wanted,
            stop=stop,
            progress=progress,
        )
        return await self._stoppable(lambda: exporter.run(place, shape), stop)

    async def imports(self, source: str = "") -> list[ImportedSession]:
        """Every imported session, the latest first; only those of a source, if one is given:
        "claude" is Claude's export and Claude Code's sessions.
        """
        await self._look()
        return await asyncio.to_thread(imported_sessions, self._runtime, source)

    async def approve_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Let the runtime recall what has been imported so far: by one import, into one session, or
        from one source. The approval is logged, and `revoke_import` takes it back.

        Imported pages keep their origin: no claim is made from them, and they have nobody's
        authority. Returns the sessions. Raises `BadInput` unless exactly one argument is given, and
        `SessionNotFound` if there is no such import.
        """
        return await self._rule(ImportApproved, run=run, session=session, source=source)

    async def revoke_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Take an approval back: from the next request on nothing of these sessions is recalled.
        Pages already in a window stay until an epoch. Raises as `approve_import` does.
        """
        return await self._rule(ImportRevoked, run=run, session=session, source=source)

    async def events(
        self,
        *,
        session: str = "",
        event_type: str = "",
        path: str = "",
        command: str = "",
        test: str = "",
        outcome: str = "",
        since: str | datetime = "",
        until: str | datetime = "",
        limit: int = 50,
    ) -> list[WorkEvent]:
        """Past events, newest first: commands run, files changed, tests and their outcomes, parsed
        from clients' calls and their results, and those recorded with `Session.record_event`.

        Filters: one session (its name or id); one `event_type`; a file, by its path or the end of
        it; commands that contain these words in a row; a test, by its name or the end of it, with
        an `outcome`: "passed" or "failed". When a test last passed is `events(test=…,
        outcome="passed", limit=1)`. `since` and `until` bound the time.

        It reads every call of the sessions searched. Raises `SessionNotFound`, `BadInput`.
        """
        await self._look()
        if event_type:
            one_of(EventType, event_type, "event type")
        if outcome and outcome not in ("passed", "failed"):
            raise BadInput(f"unknown outcome {outcome!r}", hint="passed or failed")
        asked = WorkFilter(
            event_type=event_type,
            path=path,
            command=command,
            test=test,
            outcome=outcome,
            after_ms=iso_ms(a_moment(since)),
            before_ms=iso_ms(a_moment(until)),
        )
        a_count(limit, called="limit")

        def found() -> list[WorkEvent]:
            return find_events(self._runtime, self._rows(session), asked, limit)

        return await asyncio.to_thread(found)

    async def bill(
        self,
        session: str = "",
        *,
        by: str = "session",
        since: str | datetime = "",
        until: str | datetime = "",
        per_million: Mapping[str, float] | None = None,
    ) -> Bill:
        """The cost of requests, compared with the same conversations without us: of one session
        (its name or id) or of all, proxied or from the library, from `since` to before `until`; one
        row for each session, day (in UTC) or model, by `by`.

        Costs are in effective input tokens, at the prices that this memory was opened with, or else
        the model's own; for unknown models there are only tokens. There are amounts of money if
        `per_million` has the price of a million uncached input tokens of a model, or of all models
        under "". `docs/bill.md` says what is estimated, reported and assumed. Raises
        `SessionNotFound`, `BadInput`.
        """
        await self._look()
        rows_of = one_of(BillBy, by, "kind of rows")
        after_ms, before_ms = iso_ms(a_moment(since)), iso_ms(a_moment(until))
        worth = dict(per_million or {})
        if any(amount < 0 for amount in worth.values()):
            raise BadInput("a price is negative", hint="per_million={'gpt-5': 1.25}")
        for live in self._live():
            await live.owned.written()

        def add() -> Bill:
            return bill_of(
                self._runtime,
                self._rows(session),
                by=rows_of,
                after_ms=after_ms,
                before_ms=before_ms,
                per_million=worth,
            )

        return await asyncio.to_thread(add)

    async def _rule(
        self,
        ruling: type[ImportApproved | ImportRevoked],
        *,
        run: str,
        session: str,
        source: str,
    ) -> list[ImportedSession]:
        if sum(map(bool, (run, session, source))) != 1:
            raise BadInput("give exactly one of `run`, `session` and `source`")
        found = [
            one
            for one in await self.imports(source)
            if (not run or run in one.runs)
            and (not session or session in (one.session_id, one.name))
        ]
        if not found:
            every = await self.imports()
            there = [name for one in every for name in (one.runs if run else (one.name,))]
            told = sorted({one.source for one in every}) if source else there[:_NAMED_MAX]
            raise SessionNotFound(run or session or source, imported=list(dict.fromkeys(told)))
        index = self._runtime.index
        rows = [await asyncio.to_thread(index.find_session, one.session_id) for one in found]
        numbers = tuple(row.session for row in rows if row is not None)
        await self._write_ruling(ruling(sessions=numbers))
        named = {one.session_id for one in found}
        return [one for one in await self.imports(source) if one.session_id in named]
