"""Conversations as files: imported, approved, revoked, exported; what was done, and its cost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.model.events import Draft, ImportApproved, ImportRevoked
from pagefault.model.ids import TurnNo
from pagefault.model.kinds import RUNTIME, Actor, ControlMode, EventType
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
from pagefault.store.store import STORE

_NAMED_MAX: Final = 10  # imports, the latest first, where one is named that is not there


@checked_verbs(usable=check_open)
class Historian(MemoryParts):
    """The verbs about imports, exports, what was done and what it cost."""

    async def import_history(
        self,
        paths: Sequence[str | Path],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Read what other programs kept of one's conversations, in files and folders, and write it
        down: every conversation as a session `import:SOURCE:ID`, in quarantine. `docs/import.md`
        lists the formats, which are recognised by what stands in a file.

        Found by who asks, and never recalled by the runtime itself until `approve_import`. What is
        there already is not written again, so it may be repeated, and goes on after a kill. With
        `dry_run` nothing is written, and the same is told. `progress` is told bytes, read and in
        all, in another thread. Raises `StoreBusy` if an imported session is used meanwhile, and
        `StoreReadOnly` if the memory's control mode keeps nothing.
        """
        from pagefault.service.imports import Importer  # and what reads files, for who imports

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
        """Write what this memory holds to `target`, for other programs and for people: `form` is
        "snapshot" (a zip archive), "events" (JSON lines) or "markdown" (a folder). All of it, or
        what a filter wants; claims and summaries only of sessions that are exported whole.
        `import_history` reads each form again, and `docs/export.md` says how they are laid out.

        What was forgotten is in none, and no secret that redaction knows by now. A later `forget`
        does not reach into it. It appears only once it is whole. `progress` is told pages, done and
        in all, in another thread. Raises `BadInput`, `SessionNotFound`, `StoreError`.
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
        """Every session that was imported, the latest first; those of a source, if one is named:
        "claude" is Claude's export and Claude Code's sessions.
        """
        self._committer.check_open()
        await self._runtime.journal.look()
        return await asyncio.to_thread(imported_sessions, self._runtime, source)

    async def approve_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Let the runtime recall by itself what was imported by now: by one import, into one
        session, or from one source. It is written down, and `revoke_import` takes it back.

        What was imported keeps its origin: no claim is made of it, and it has nobody's authority.
        Returns the sessions. Raises `BadInput` unless exactly one is named, `SessionNotFound` if
        nothing was imported so.
        """
        return await self._rule(ImportApproved, run=run, session=session, source=source)

    async def revoke_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Take an approval back: from the next request on nothing of these sessions is recalled.
        What requests showed before stays in their windows until an epoch. Raises as
        `approve_import` does.
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
        """What was done, newest first: commands that ran, files that changed, tests and how they
        went, read from clients' calls and their results; and what `Session.record_event` states.

        Of one session (its name or id) or of all; of one `event_type`; of a file, by its path or
        the end of it; of commands that hold these words, in a row; of a test by its name or the end
        of it, which then has an `outcome`: "passed" or "failed". When a test last passed is
        `events(test=…, outcome="passed", limit=1)`. `since` and `until` bound when it was done.

        It reads every call of the sessions that are asked. Raises `SessionNotFound`, `BadInput`.
        """
        self._committer.check_open()
        await self._runtime.journal.look()
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
        index = self._runtime.index

        def found() -> list[WorkEvent]:
            rows = index.sessions()
            if session:
                row = index.find_session(session)
                if row is None:
                    raise SessionNotFound(session)
                rows = [row]
            return find_events(self._runtime, rows, asked, limit)

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
        """What requests cost, beside what the same conversations would have cost without us: of one
        session (its name or id) or of all, proxied and of the library, from `since` to before
        `until`; a row for each session, day (of UTC) or model, by `by`.

        Costs are in effective input tokens, by the prices that this memory was opened with, or
        else those of the model that was asked; of a model that nobody knows there are tokens alone.
        Money is told where `per_million` says what a million uncached input tokens of a model
        cost, or of all models under "". What is estimated, what reported, and what is assumed,
        `docs/bill.md` says. Raises `SessionNotFound`, `BadInput`.
        """
        self._committer.check_open()
        await self._runtime.journal.look()
        rows_of = one_of(BillBy, by, "kind of rows")
        after_ms, before_ms = iso_ms(a_moment(since)), iso_ms(a_moment(until))
        worth = dict(per_million or {})
        if any(amount < 0 for amount in worth.values()):
            raise BadInput("a price is negative", hint="per_million={'gpt-5': 1.25}")
        for live in self._live():
            await live.owned.written()
        index = self._runtime.index

        def add() -> Bill:
            rows = index.sessions()
            if session:
                row = index.find_session(session)
                if row is None:
                    raise SessionNotFound(session)
                rows = [row]
            return bill_of(
                self._runtime,
                rows,
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
        draft = Draft(
            session=STORE,
            turn=TurnNo(0),
            actor=Actor.USER,
            origin=RUNTIME,
            body=ruling(sessions=numbers),
        )
        await self._runtime.journal.append([draft])
        self._runtime.quarantine.read_on(anew=True)
        named = {one.session_id for one in found}
        return [one for one in await self.imports(source) if one.session_id in named]
