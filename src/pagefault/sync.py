# Written by script/sync from the asynchronous classes: change those, and run it.
"""The verbs of `pagefault` for programs without an event loop.

    with pagefault.sync.open("./memory") as memory:
        session = memory.session("planning")
        session.user("Which database did we pick?")
        request = session.request(format="openai")

One thread with an event loop serves the whole process; calls may come from any thread. It does not
survive `os.fork`: open memories in the child, not before it. In a program that has an event loop of
its own, as a notebook has, a verb works and keeps that loop waiting; in a callback of a verb, which
runs on that one thread, it would wait for itself, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Unpack, cast, overload

from pagefault.activity.commits import Commit
from pagefault.engine.api import Engine
from pagefault.engine.formats import Format
from pagefault.engine.former import Former
from pagefault.model.defaults import HEAT_RECALL_LIMIT, PLACEHOLDER_TIMEOUT_MS, SPILL_ITEMS
from pagefault.model.events import Event, RetentionRule
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Level, Tier
from pagefault.model.page import (
    NO_FACTS,
    CardFacts,
    Evidence,
    FileQuote,
    Page,
    PageRow,
    Quote,
    SessionRow,
)
from pagefault.model.prices import PriceList
from pagefault.model.progress import Progress
from pagefault.model.request import Request, ToolCall, Usage
from pagefault.model.signatures import ANY_TEXT, checked, checked_verbs
from pagefault.model.wanted import ANY, SearchFilter, Time
from pagefault.pack.abi import MemoryABI
from pagefault.pack.bill import Bill
from pagefault.pack.context_pack import ContextPack
from pagefault.paging import deferred as _deferred
from pagefault.paging.pressure import Callback
from pagefault.recall.search import SearchResult
from pagefault.service import memory as _memory
from pagefault.service import session as _session
from pagefault.service.derived.cards import Card
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.derived.embedding import EmbeddingStatus
from pagefault.service.derived.heat import HeatItem
from pagefault.service.derived.reranking import RerankingStatus
from pagefault.service.facades.heater import HeatStatus, RecallResult, SpillResult
from pagefault.service.facades.notebook import ImportedBlocks
from pagefault.service.forget import Forgetting
from pagefault.service.inspection.checkpoints import Checkpoint
from pagefault.service.inspection.ledger import Entries
from pagefault.service.inspection.memory_map import COLUMNS, ROWS, MemoryMap
from pagefault.service.inspection.received import ConversationItem
from pagefault.service.inspection.recollections import Recollection
from pagefault.service.inspection.relayed import Proxied
from pagefault.service.inspection.report import Metrics
from pagefault.service.inspection.status import Status
from pagefault.service.inspection.timetravel import Difference, Moment, Movement, Sent
from pagefault.service.inspection.work_events import WorkEvent
from pagefault.service.journal import Redaction
from pagefault.service.limits import Limits
from pagefault.service.lookup.imported import Exported, ImportedSession, ImportReport
from pagefault.service.lookup.knowledge import Knowledge
from pagefault.service.lookup.questions import Asking
from pagefault.service.loop_thread import LoopThread
from pagefault.service.open import open as _open
from pagefault.service.options import Options
from pagefault.service.packs.request import BUDGET_TOKENS
from pagefault.service.regions import Mount, Promotion, Region
from pagefault.service.root.warden import Descendants, PageOrigin
from pagefault.service.scrub import Scrubbing
from pagefault.service.turn.archival import ArchivalHit, ArchivalNote
from pagefault.service.turn.claim_validators import ClaimCheck
from pagefault.service.turn.core_memory import CoreSection
from pagefault.service.turn.drafts import Incoming
from pagefault.service.turn.drive import Answer
from pagefault.service.turn.formation import Formed
from pagefault.service.turn.functions import CALLS_MAX, TIMEOUT_S, RunnableTool
from pagefault.service.turn.host_tools import ToolOutput
from pagefault.service.turn.reflection import Lesson
from pagefault.service.turn.toolset import Tool
from pagefault.service.turn.undo import Undone
from pagefault.store.allowance import QuotaUse
from pagefault.store.api import Copied
from pagefault.store.store import Verification

_LOOP = LoopThread()


@checked
@contextmanager
def open(root: str | Path | None = None, **options: Unpack[Options]) -> Iterator[Memory]:
    """As `pagefault.open`, for a `with` block: `help(pagefault.Options)` tells of each option."""
    opening = _open(root, **options)
    memory = _LOOP.run(_enter(opening))
    try:
        yield Memory(memory)
    finally:
        _LOOP.run(_leave(opening))


async def _enter(opening: Any) -> _memory.Memory:
    entered: _memory.Memory = await opening.__aenter__()
    return entered


async def _leave(opening: Any) -> None:
    await opening.__aexit__(None, None, None)


@checked_verbs()
class _Asks:
    """The verbs that memories and sessions have in common."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def __repr__(self) -> str:
        return repr(self._asking)

    def recall(
        self,
        query: str = "",
        *,
        limit: int = 5,
        wanted: SearchFilter = ANY,
        topic: str = "",
        task: str = "",
        tokens: int | None = None,
        profile: str = "",
    ) -> SearchResult:
        """Pages relevant to `query`, best first, each with the parts of its score and its source.
        In a session, claims that answer it and hold now come before them.

        With `topic` or `task` ("#42", "42", "ABC-7"), only pages that have it among their tags; the
        query may then be empty. `tokens` bounds the total of the hits; omitted ones are reported.
        `profile` ("measured", "studio-v1") selects the ranking, by default the configured one.
        """
        return _LOOP.run(
            self._asking.recall(
                query,
                limit=limit,
                wanted=wanted,
                topic=topic,
                task=task,
                tokens=tokens,
                profile=profile,
            )
        )

    def recent(
        self, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The latest pages that were said, newest first."""
        return _LOOP.run(self._asking.recent(limit, wanted, tokens=tokens))

    def by_topic(
        self, topic: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages of a topic, the most relevant first."""
        return _LOOP.run(self._asking.by_topic(topic, limit, wanted, tokens=tokens))

    def by_task(
        self, task: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages that name a task ("#42" or "42", "ABC-7"), the most relevant first."""
        return _LOOP.run(self._asking.by_task(task, limit, wanted, tokens=tokens))

    def timeline(
        self,
        start: Time | None = None,
        end: Time | None = None,
        wanted: SearchFilter = ANY,
        *,
        limit: int = 50,
        tokens: int | None = None,
    ) -> SearchResult:
        """The first pages that were said from `start` on and before `end`, in that order.

        Times are as in `SearchFilter`, and replace those of `wanted`.
        """
        return _LOOP.run(self._asking.timeline(start, end, wanted, limit=limit, tokens=tokens))


@checked_verbs()
class Memory(_Asks):
    """As `pagefault.Memory`; every verb returns when it is done."""

    def __init__(self, memory: _memory.Memory) -> None:
        super().__init__(memory)
        self._memory = memory

    @property
    def notices(self) -> list[str]:
        """What opening repaired, and what it erased as past its time, one sentence each."""
        return self._memory.notices

    @property
    def is_adopted(self) -> bool:
        """Whether it was made here by this user, or adopted. If not it is read-only, and none of
        its claims has authority.
        """
        return self._memory.is_adopted

    @property
    def records(self) -> int:
        """The number of records in its log, over all sessions."""
        return self._memory.records

    @property
    def limits(self) -> Limits:
        """The limits that this memory enforces."""
        return self._memory.limits

    def session(
        self,
        name: str = "",
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
        control: str | None = None,
        create: bool = True,
    ) -> Session:
        """The session with that name or id; if there is none and `create` allows it, a new one.

        `window` (tokens of a request), `mode`, `system`, `layout` (stable, developer) and `control`
        (`Session.set_control`) are those of a new session; given for an existing one, they change
        it from its next request on. A session that begins "incognito" is never written. Any number
        of processes may have a session; writing to it while another does is `SessionBusy`. Raises
        `SessionNotFound`, `WindowTooSmall`, `BadInput`.
        """
        return Session(
            _LOOP.run(
                self._memory.session(
                    name,
                    window=window,
                    mode=mode,
                    system=system,
                    layout=layout,
                    control=control,
                    create=create,
                )
            )
        )

    def sessions(self) -> list[SessionRow]:
        """Every session, the most recently used first. Regions are not sessions: `regions` lists
        them.
        """
        return _LOOP.run(self._memory.sessions())

    def pages(
        self,
        session: Session,
        *,
        limit: int = 50,
        after: int = -1,
        newest_first: bool = False,
        topic: str = "",
        task: str = "",
    ) -> list[PageRow]:
        """Pages that a session can see, in order; only those of a topic or a task, if given."""
        return _LOOP.run(
            self._memory.pages(
                session.asynchronous,
                limit=limit,
                after=after,
                newest_first=newest_first,
                topic=topic,
                task=task,
            )
        )

    def proxied(self, session: Session) -> Proxied | None:
        """What a proxy passed on under a session, and how large it was; None if nothing ever was.

        For such a session `status`, `at` and `resident` describe what it would pack itself, and not
        what its client sends.
        """
        return _LOOP.run(self._memory.proxied(session.asynchronous))

    def read(self, row: PageRow) -> Page:
        """The page of a row, such as a hit's, at level 0. `RecordGone` if it was forgotten."""
        return _LOOP.run(self._memory.read(row))

    def control(self) -> str:
        """The control mode last set for the whole memory, or else the default for new sessions."""
        return _LOOP.run(self._memory.control())

    def set_control(self, mode: str, *, session: str = "") -> None:
        """Set the control mode of a session (its name or id; `Session.set_control`), or of every
        session, including those opened later, until each is given another. In other processes it
        applies from the session's next verb, and in `serve` from its next request, whichever
        process writes to it; a verb that is running there writes nothing more once the mode keeps
        nothing (`StoreBusy`). Raises `BadInput`, `SessionNotFound`.
        """
        _LOOP.run(self._memory.set_control(mode, session=session))

    def control_of(self, session: str) -> str:
        """The control mode of a session, by name or id; for one that is not written, the
        default.
        """
        return _LOOP.run(self._memory.control_of(session))

    def controls(self) -> dict[str, str]:
        """The control mode of each session that is written, by its id."""
        return _LOOP.run(self._memory.controls())

    def forget(
        self, session: Session | str, page_id: str = "", *, dry_run: bool = False
    ) -> Forgetting:
        """Erase a page (all parts of its text), or a whole session, from everything under the root.

        `session` is a session, or its name or id. Afterwards no byte of it is in log or index, and
        sessions that showed it begin a new epoch. Irreversible. `dry_run` only returns what would
        be erased. Forks keep what was said in them.

        Raises `SessionBusy` if another process writes to the page's session, and `StoreBusy` if
        another process prevents the end: the page can no longer be found then, and the next opening
        finishes the erasure.
        """
        return _LOOP.run(
            self._memory.forget(
                session.asynchronous if isinstance(session, Session) else session,
                page_id,
                dry_run=dry_run,
            )
        )

    def forget_matching(
        self, query: str = "", *, wanted: SearchFilter = ANY, dry_run: bool = False
    ) -> tuple[Forgetting, ...]:
        """Erase every page that has all words of `query`, in any of their forms, and passes a
        filter: in one session (`wanted.session`) or in all. Returns a receipt for each session that
        loses pages.

        Otherwise as `forget`. Pages derived from these are erased too, and earlier versions of an
        edited message with it. Raises `BadInput` if neither filter nor query leaves anything out:
        to forget a whole session, use its name.
        """
        return _LOOP.run(self._memory.forget_matching(query, wanted=wanted, dry_run=dry_run))

    def scrub(
        self, values: Sequence[str] = (), *, home_paths: bool = False, dry_run: bool = False
    ) -> Scrubbing:
        """Redact what is already written by the rules for new writes: the redaction rules and known
        values of this memory, and also these `values`, in every spelling; with `home_paths` user
        names in paths, too. Irreversible. `dry_run` only returns what would be redacted.

        Afterwards no byte of it is in log, index, vectors, blobs or archive, and sessions that
        showed it begin a new epoch. Claims that rest on redacted text become stale. Text that a
        client sends again is redacted only if it is a known value by then, or looks like a secret.

        Raises `BadInput` for a value too short to be told from ordinary text, `ScreenFailed` if a
        rule fails, with nothing changed, and otherwise as `forget` does.
        """
        return _LOOP.run(self._memory.scrub(values, home_paths=home_paths, dry_run=dry_run))

    def retention(self) -> tuple[RetentionRule, ...]:
        """How long pages are kept, as last set; without a rule, for ever."""
        return _LOOP.run(self._memory.retention())

    def set_retention(
        self, keep: str | None, *, kind: str = "", session: str = "", dry_run: bool = False
    ) -> tuple[RetentionRule, ...]:
        """Set how long pages are kept ("7d", "30d", "90d", any days, "forever"): those of a kind,
        of a session (its name or id), or all that no other rule covers; `None` removes the rule.
        Returns the rules in force; `dry_run` only returns them.

        Pages past their time are erased when the memory is opened for writing, within the hour
        while `serve` runs, and by `expire`. Raises `BadInput`, `SessionNotFound`.
        """
        return _LOOP.run(
            self._memory.set_retention(keep, kind=kind, session=session, dry_run=dry_run)
        )

    def expire(
        self, *, dry_run: bool = False, rules: Sequence[RetentionRule] | None = None
    ) -> tuple[Forgetting, ...]:
        """Erase pages past their time, by the rules of `retention` unless others are given. Returns
        a receipt for each session that loses pages. One that another process writes to is left for
        the next time (`done` is false). `dry_run` only returns what would be erased.
        """
        return _LOOP.run(self._memory.expire(dry_run=dry_run, rules=rules))

    def keep_retention(self) -> str:
        """Runs `expire`, and returns a sentence that says what was erased, or why nothing could be;
        "" if nothing was due. In a mode that writes nothing, nothing is erased either.
        """
        return _LOOP.run(self._memory.keep_retention())

    def begin(self) -> None:
        """Erase pages past their time before the memory is handed out: see `notices`."""
        _LOOP.run(self._memory.begin())

    def import_history(
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
        return _LOOP.run(self._memory.import_history(paths, dry_run=dry_run, progress=progress))

    def export(
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
        return _LOOP.run(
            self._memory.export(
                target, form=form, wanted=wanted, dry_run=dry_run, progress=progress
            )
        )

    def imports(self, source: str = "") -> list[ImportedSession]:
        """Every imported session, the latest first; only those of a source, if one is given:
        "claude" is Claude's export and Claude Code's sessions.
        """
        return _LOOP.run(self._memory.imports(source))

    def approve_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Let the runtime recall what has been imported so far: by one import, into one session, or
        from one source. The approval is logged, and `revoke_import` takes it back.

        Imported pages keep their origin: no claim is made from them, and they have nobody's
        authority. Returns the sessions. Raises `BadInput` unless exactly one argument is given, and
        `SessionNotFound` if there is no such import.
        """
        return _LOOP.run(self._memory.approve_import(run=run, session=session, source=source))

    def revoke_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Take an approval back: from the next request on nothing of these sessions is recalled.
        Pages already in a window stay until an epoch. Raises as `approve_import` does.
        """
        return _LOOP.run(self._memory.revoke_import(run=run, session=session, source=source))

    def events(
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
        return _LOOP.run(
            self._memory.events(
                session=session,
                event_type=event_type,
                path=path,
                command=command,
                test=test,
                outcome=outcome,
                since=since,
                until=until,
                limit=limit,
            )
        )

    def bill(
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
        return _LOOP.run(
            self._memory.bill(session, by=by, since=since, until=until, per_million=per_million)
        )

    def pack(
        self,
        query: str = "",
        *,
        pack_type: str = "",
        sessions: Collection[str] | None = None,
        budget: int = BUDGET_TOKENS,
        at: Time = "",
        unproved: bool = False,
        root: str = "",
    ) -> ContextPack:
        """Like `Session.pack`, for these sessions (names or ids), or for all: pages of any of them,
        and claims, work and open questions of the eight most recently used. In a pack of all
        sessions, a fork contributes only pages that bear on the query. A ref has the session's
        short name before the page: "planning/msg_3".
        """
        return _LOOP.run(
            self._memory.pack(
                query,
                pack_type=pack_type,
                sessions=sessions,
                budget=budget,
                at=at,
                unproved=unproved,
                root=root,
            )
        )

    def synopsis(
        self, *, sessions: Collection[str] | None = None, budget: int = BUDGET_TOKENS, at: Time = ""
    ) -> ContextPack:
        """Like `Session.synopsis`, for several sessions together, e.g. those of a project."""
        return _LOOP.run(self._memory.synopsis(sessions=sessions, budget=budget, at=at))

    def digest(
        self,
        since: Time = "",
        *,
        commits: Sequence[Commit] = (),
        sessions: Collection[str] | None = None,
        budget: int = BUDGET_TOKENS,
        at: Time = "",
    ) -> ContextPack:
        """Like `Session.digest`, for several sessions together."""
        return _LOOP.run(
            self._memory.digest(since, commits=commits, sessions=sessions, budget=budget, at=at)
        )

    def regions(self) -> list[Region]:
        """Every region, by name, with the sessions that mount it."""
        return _LOOP.run(self._memory.regions())

    def create_region(
        self,
        name: str,
        *,
        scope: str = "global",
        owner: str = "",
        project: str = "",
        read: Sequence[str] | None = None,
        write: Sequence[str] | None = None,
        promote: Sequence[str] | None = None,
        consent: str = "write",
        dry_run: bool = False,
    ) -> Region:
        """Create a region: memory shared by the sessions that mount it (`Session.mount`).

        `scope` is its audience: "project" the sessions of `project`, "user" those of `owner`,
        "global" all of this memory. They may read it, and the owner's sessions may write and
        promote, unless `read`, `write` and `promote` grant that to others: "owner", "anyone",
        "project:NAME", "user:NAME", "session:NAME". `consent` says which mounts also need the
        owner's consent: "write" (the default) those that write, "always" all, "never" none; the
        owner's own sessions need none. Raises `BadInput`, also if the name is taken.
        """
        return _LOOP.run(
            self._memory.create_region(
                name,
                scope=scope,
                owner=owner,
                project=project,
                read=read,
                write=write,
                promote=promote,
                consent=consent,
                dry_run=dry_run,
            )
        )

    def fork_region(self, region: str, name: str, *, by: str = "", dry_run: bool = False) -> Region:
        """Create a region with the contents of this one, under the same policy. Pages are shared,
        not copied: later additions to either are not in the other; what is forgotten is gone from
        both. Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
        """
        return _LOOP.run(self._memory.fork_region(region, name, by=by, dry_run=dry_run))

    def set_policy(
        self,
        region: str,
        *,
        read: Sequence[str] | None = None,
        write: Sequence[str] | None = None,
        promote: Sequence[str] | None = None,
        consent: str | None = None,
        owner: str | None = None,
        by: str = "",
        dry_run: bool = False,
    ) -> Region:
        """Change the permissions of a region (see `create_region`); omitted ones stay. It applies
        at once: a session that loses access shows nothing of the region from its next request on.
        Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
        """
        return _LOOP.run(
            self._memory.set_policy(
                region,
                read=read,
                write=write,
                promote=promote,
                consent=consent,
                owner=owner,
                by=by,
                dry_run=dry_run,
            )
        )

    def consent(
        self, region: str, session: str, mode: str = "ro", *, by: str = "", dry_run: bool = False
    ) -> Mount | None:
        """Give a session (its name or id) the owner's consent to mount the region, "ro" or "rw", or
        take it back: "none". It also covers forks of the session, until they are given their own.
        Returns the session's mount as it is then, or None if it has none.

        Once consent is taken back, nothing of the region is found, faulted or recalled in that
        session, and its next request shows nothing of it. Raises `AccessRefused` unless `by` owns
        it, `RegionNotFound`, `SessionNotFound`.
        """
        return _LOOP.run(self._memory.consent(region, session, mode, by=by, dry_run=dry_run))

    def assign(
        self,
        session: str,
        *,
        project: str | None = None,
        user: str | None = None,
        dry_run: bool = False,
    ) -> None:
        """Set the user and the project of a session (its name or id), by which policies of regions
        identify it. Omitted ones stay. Raises `SessionNotFound`, `BadInput`.
        """
        _LOOP.run(self._memory.assign(session, project=project, user=user, dry_run=dry_run))

    def assignment(self, session: str) -> tuple[str, str]:
        """The project and the user of a session (its name or id), each "" if not set."""
        return _LOOP.run(self._memory.assignment(session))

    def assignments(self) -> dict[str, tuple[str, str]]:
        """The project and the user of every session, by its id, each "" if not set."""
        return _LOOP.run(self._memory.assignments())

    def origins(self, session: Session | str, page_id: str) -> PageOrigin:
        """The origin of a page, its text, the digest of that, and everything that rests on it.

        `session` is a session, or its name or id. Raises `SessionNotFound`, `NoSuchPage`,
        `RecordGone`.
        """
        return _LOOP.run(
            self._memory.origins(
                session.asynchronous if isinstance(session, Session) else session, page_id
            )
        )

    def is_withdrawn(self, session: Session | str, page_id: str) -> bool:
        """Whether a person withdrew a page, so that no model is shown it. Raises as
        `origins` does.
        """
        return _LOOP.run(
            self._memory.is_withdrawn(
                session.asynchronous if isinstance(session, Session) else session, page_id
            )
        )

    def raise_origin(
        self, session: Session | str, page_id: str, digest: str, *, dry_run: bool = False
    ) -> PageOrigin:
        """Approve a page in the user's name: a person has read it, and passes the `digest` that
        `origins` returned with exactly this text. It may then be pinned, and be evidence for what
        the user holds true; a withdrawn page may be recalled again, itself alone.

        The approval is logged, holds as long as the page has exactly this text, and `revoke_origin`
        takes it back. Returns what `origins` would; `dry_run` only checks. Raises `BadInput` for
        another digest, and as `origins` does.
        """
        return _LOOP.run(
            self._memory.raise_origin(
                session.asynchronous if isinstance(session, Session) else session,
                page_id,
                digest,
                dry_run=dry_run,
            )
        )

    def revoke_origin(
        self,
        session: Session | str = "",
        page_id: str = "",
        *,
        origin: str = "",
        dry_run: bool = False,
    ) -> tuple[Descendants, ...]:
        """Withdraw a page in all its parts, all pages of an `origin` ("web", "tool", "tool:NAME")
        so far, or a whole session, with everything made from it or answered under it, however
        indirectly: summaries, claims, procedures, shorter forms, answers, and results of their
        calls.

        These pages are kept, and `page` still returns them; from the next request on none is shown,
        recalled, pinned, recited or held true. Returns them, by session; `dry_run` only returns
        them. Of conversations that are not written, it reaches those of this process, in memory.
        Requests already sent, and what a proxy's client resends itself, are out of reach. Raises
        `BadInput` if nothing is named, and as `origins` does.
        """
        return _LOOP.run(
            self._memory.revoke_origin(
                session.asynchronous if isinstance(session, Session) else session,
                page_id,
                origin=origin,
                dry_run=dry_run,
            )
        )

    def verify(self, progress: Progress | None = None) -> Verification:
        """Read everything and check it for consistency, while others write, here and elsewhere.

        Every session is folded as for opening: anything that would prevent that is a problem. A
        record that no fold can read prevents nothing, and is listed in `set_aside`.

        `progress` is called with bytes read and total bytes, in another thread. Closing this memory
        waits for the end.
        """
        return _LOOP.run(self._memory.verify(progress))

    def embed(self, progress: Progress | None = None, *, prune: bool = False) -> int:
        """Embed every page that has no vector yet. Returns how many there were.

        This happens by itself after each append: call it to catch up at once, e.g. after a change
        of embedder. `prune` then deletes the vectors of all other embedders. `progress` is called
        with pages done and total pages, in another thread. Raises `BadInput` without an embedder,
        and `EngineError` if it fails: vectors made until then are kept.
        """
        return _LOOP.run(self._memory.embed(progress, prune=prune))

    def embedding(self) -> EmbeddingStatus | None:
        """The progress of embedding, and whether the embedder failed; None without one.

        Loads the embedder's model if necessary.
        """
        return _LOOP.run(self._memory.embedding())

    def reranking(self) -> RerankingStatus | None:
        """How often the reranker was called, and whether it failed; None without one."""
        return _LOOP.run(self._memory.reranking())

    def redaction(self) -> Redaction:
        """The layers that look for secrets in what is written, and whether one failed."""
        return _LOOP.run(self._memory.redaction())

    def usage(self, session: str = "") -> list[QuotaUse]:
        """The usage of each quota that is set (`pagefault.Quotas`): the project's quotas and those
        of a session (its name or id) and its tenant, or all. Raises `SessionNotFound`.
        """
        return _LOOP.run(self._memory.usage(session))

    def backup(self, target: str | Path, progress: Progress | None = None) -> Copied:
        """Copy this memory to a directory that does not exist yet, while it is in use.

        The copy is read back and verified before it gets that name. It holds everything
        acknowledged before this call; later forgets do not reach it. `restore` (or `pagefault
        restore`) makes a memory of it again. Raises `BadInput`, `StoreError`.
        """
        return _LOOP.run(self._memory.backup(target, progress))

    def records_to_open(self) -> set[Seq]:
        """The records needed to open its sessions: those that stay here when their segments are
        archived.
        """
        return _LOOP.run(self._memory.records_to_open())


@checked_verbs()
class Session(_Asks):
    """As `pagefault.Session`; every verb returns when it is done."""

    def __init__(self, session: _session.Session) -> None:
        super().__init__(session)
        self.asynchronous = session

    @property
    def session_id(self) -> str:
        """Its id, which never changes."""
        return self.asynchronous.session_id

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        return self.asynchronous.name

    @property
    def called(self) -> str:
        """Its name, or its id if it has none."""
        return self.asynchronous.called

    def run(
        self,
        engine: Engine,
        *,
        tools: Sequence[RunnableTool] | None = None,
        calls_max: int = CALLS_MAX,
        timeout_s: float = TIMEOUT_S,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Let `engine` answer the turn: requests, tool calls, faults, until the final answer.

        The answer is logged and its citations checked against what the model could see. `on_text`
        is called with pieces of text as they arrive.

        `tools` are yours. A function is called when the model calls it: its name, docstring and
        type hints are the model's description of it. Functions called in one reply run side by side
        if they are `async`, else one after the other, each on a thread. One that raises, or takes
        longer than `timeout_s`, is a failed call, which the model reads; after `calls_max` calls
        the model is asked to answer. Calls of a tool that is given as a schema (as `request` takes
        it) are left to you: `Answer.calls` lists them, and once each has its `tool_result`, `run`
        continues. All of it is logged.
        """
        return _LOOP.run(
            self.asynchronous.run(
                engine, tools=tools, calls_max=calls_max, timeout_s=timeout_s, on_text=on_text
            )
        )

    def fork(
        self,
        name: str = "",
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Session:
        """A new session that sees everything said here so far, or, with one of the times that `at`
        takes, by then. Pages are shared, not copied.
        """
        return Session(
            _LOOP.run(
                self.asynchronous.fork(name, turn=turn, seq=seq, time=time, checkpoint=checkpoint)
            )
        )

    def restore(self, checkpoint: str) -> Session:
        """Go back to a checkpoint: a new session of the same name that continues from there. The
        name opens the session that was used last; what was said since stays in this session, which
        opens by its id. Raises `BadInput` if there is no such checkpoint.
        """
        return Session(_LOOP.run(self.asynchronous.restore(checkpoint)))

    @property
    def control(self) -> str:
        """The control mode of the conversation: see `set_control`."""
        return self.asynchronous.control

    def set_control(self, mode: str) -> None:
        """Set the control mode of the conversation from now on:

        "assist": keep what is said, and recall what was kept (the default); "capture_only": keep
        it, and recall nothing, neither pages nor claims nor summaries; "paused": recall what was
        kept, and write nothing more; "incognito": likewise, for a conversation that leaves nothing
        behind; "off": neither.

        The change is logged, unless nothing of the session ever was. While nothing is kept, what is
        said is in this process alone, and is lost when it ends or when the session is kept again;
        the conversation then continues from what was written. Raises `BadInput` for a session that
        began unkept and is to be kept: begin a new one.
        """
        _LOOP.run(self.asynchronous.set_control(mode))

    def user(
        self, text: str, *, speaker: str = "", occurred_at: str | datetime = "", key: str = ""
    ) -> PageId:
        """Log a message that the user typed, and open the next turn. Returns the id of its (first)
        page.

        Raises `MessageTooLarge`, with nothing written, if it could not be shown whole.
        """
        return _LOOP.run(
            self.asynchronous.user(text, speaker=speaker, occurred_at=occurred_at, key=key)
        )

    def assistant(
        self,
        text: str,
        *,
        calls: Sequence[ToolCall] = (),
        speaker: str = "",
        model: str = "",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> PageId:
        """Log the model's answer, if you call the model yourself; `model` is its name, if it is not
        the one that the memory was opened with.

        `calls` are all calls that it made with this text, in order. Calls of memory's own tools are
        served at once. The others are yours: `open_calls` lists them, and each needs a
        `tool_result` before the next request. Returns the id of the first page, or "" if there is
        none: calls of memory alone make none.
        """
        return _LOOP.run(
            self.asynchronous.assistant(
                text, calls=calls, speaker=speaker, model=model, occurred_at=occurred_at, key=key
            )
        )

    def is_of_memory(self, call: ToolCall) -> bool:
        """Whether memory serves a call: it is of one of its own tools, and they are offered."""
        return _LOOP.call(lambda: self.asynchronous.is_of_memory(call))

    def open_calls(self) -> list[ToolCall]:
        """The calls of your own tools that wait for a `tool_result`, oldest first, including those
        that an earlier process left open. Their arguments are as the model wrote them; those that
        another process logged are as stored, without secrets.
        """
        return _LOOP.call(self.asynchronous.open_calls)

    def document(
        self,
        text: str,
        *,
        title: str = "",
        origin: str = "local_file",
        source: str = "docs",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> list[PageId]:
        """Log a text of any length. It is split into linked pages, which can be searched and
        faulted.

        The window gets one line that announces it. `source` is "docs", "files", "git", "terminal"
        or "chat".
        """
        return _LOOP.run(
            self.asynchronous.document(
                text, title=title, origin=origin, source=source, occurred_at=occurred_at, key=key
            )
        )

    def tool_result(
        self,
        text: str,
        result: ToolOutput = None,
        *,
        name: str = "",
        call_id: str = "",
        is_error: bool = False,
        media_type: str = "",
        source: str = "chat",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> list[PageId]:
        """Log the result of one of your tools. A long result is split, and its head enters the
        window.

        `tool_result(call_id, result)` answers a call that `assistant` logged, in any order. The
        result is a text, any JSON value, or bytes: bytes are stored as an artifact (of
        `media_type`, if their first bytes do not show it), which the result then names. For a
        failed call set `is_error`, with the reason as the text. Raises `BadInput` for a call that
        is not open.

        `tool_result(text, name="sql")` logs a tool's output without a call.

        `source` is what the tool read, if it is not the conversation itself: "terminal", "git",
        "files" or "docs".
        """
        return _LOOP.run(
            self.asynchronous.tool_result(
                text,
                result,
                name=name,
                call_id=call_id,
                is_error=is_error,
                media_type=media_type,
                source=source,
                occurred_at=occurred_at,
                key=key,
            )
        )

    def artifact(
        self,
        data: bytes,
        *,
        name: str,
        media_type: str = "",
        text: str = "",
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> PageId:
        """Store bytes: an image, a recording, a file. Returns the id of its page.

        The page's text is a line with name, type and size, and `text`, e.g. a caption: it is shown
        and found by these. `media_type` is guessed from the name if it is not given. The bytes are
        stored as they are, and are not searched for secrets; `artifact_bytes` returns them.
        """
        return _LOOP.run(
            self.asynchronous.artifact(
                data, name=name, media_type=media_type, text=text, occurred_at=occurred_at, key=key
            )
        )

    def say(self, items: Sequence[Incoming], *, origin: str) -> list[PageId]:
        """Log several messages in one batch: all or none. Returns the id of every page."""
        return _LOOP.run(self.asynchronous.say(items, origin=origin))

    def record_event(
        self,
        event_type: str,
        text: str = "",
        *,
        facts: Mapping[str, object] | None = None,
        occurred_at: str | datetime = "",
        key: str = "",
    ) -> PageId:
        """Record an event that no call shows; `Memory.events` finds it. Returns the id of its
        (first) page.

        A "voice_transcript" is something the user said aloud, and opens a turn; a "command_intent"
        is a command that somebody wants to run. Both consist of their `text`. The others have
        `facts`, and may have their output as `text`. "command_run": `argv` (a list), `exit_code`,
        `duration_ms`. "file_change": `path`, `change` (written, edited, deleted), and `content`, of
        which only a keyed hash is stored. "test_result": `runner`, `passed`, `failed`, `skipped`
        (counts), `passing`, `failing` (names), `duration_ms`; without facts these are parsed from
        the text. Raises `BadInput` for any other type or fact.
        """
        return _LOOP.run(
            self.asynchronous.record_event(
                event_type, text, facts=facts, occurred_at=occurred_at, key=key
            )
        )

    def pin(self, page_id: str) -> None:
        """Pin a page: it stays in the window whatever policy says. Raises `PinsFull`, naming the
        pins.
        """
        _LOOP.run(self.asynchronous.pin(page_id))

    def unpin(self, page_id: str) -> None:
        """Unpin a page: it may leave the window again. Harmless if it is not pinned."""
        _LOOP.run(self.asynchronous.unpin(page_id))

    def goal(self, text: str) -> PageId | None:
        """Make `text` the active goal: it is pinned in the window until the next goal replaces it.

        Returns its page's id; an empty text ends the active goal, and returns None. Raises
        `PinsFull` if the pins leave no room for it, and `BadInput` if it is blank but not empty.
        """
        return _LOOP.run(self.asynchronous.goal(text))

    def undo(self, *, dry_run: bool = False) -> Undone:
        """Undo the newest pin, unpin or goal, the claims made from a message, a stated or
        retracted claim, or a ruling on one (a verdict, an end, a contradiction).

        What it replaced is restored, as far as it still exists: `CannotUndo` says what was
        forgotten or edited since, or that there is nothing left. `PinsFull` as for `pin`. Undo is
        logged like any action, so `redo` works after a restart, too, until the next pin, goal or
        claim. A fork undoes what it saw, for itself alone. A `dry_run` refuses the same things,
        returns what would be undone, and writes nothing.
        """
        return _LOOP.run(self.asynchronous.undo(dry_run=dry_run))

    def redo(self, *, dry_run: bool = False) -> Undone:
        """Redo what the last `undo` reverted. `dry_run` and errors are as for `undo`."""
        return _LOOP.run(self.asynchronous.redo(dry_run=dry_run))

    def compress(self, page_id: str, level: int = 1) -> Page:
        """Let the next epoch keep a shorter form of a page: 1 reduced, 2 abstract.

        Returns the id of the shorter form, a page of its own; or the page itself, if nothing can be
        left out. Level 0 stays as it was said, and `page` always returns it. Pins, and pages in
        their place in the conversation, are shown whole all the same. In a conversation that comes
        through the proxy, the short form is in the front, once its page has left. It is made by the
        memory's compressor, if the memory has one; the page's `derived.made_by` names the maker.
        """
        return _LOOP.run(self.asynchronous.compress(page_id, level))

    def flush(self) -> None:
        """Write every derived page that is only in memory, and wait for all queued writes."""
        _LOOP.run(self.asynchronous.flush())

    def checkpoint(self, name: str) -> Seq:
        """Name this point of the session, after a flush. Returns the record's seq, which identifies
        the session's state here. Raises `BadInput` if the name is taken.
        """
        return _LOOP.run(self.asynchronous.checkpoint(name))

    def configure(
        self,
        *,
        window: int | None = None,
        mode: str | None = None,
        system: str | None = None,
        layout: str | None = None,
    ) -> None:
        """Change window, mode, system prompt or layout from the next request on."""
        _LOOP.run(
            self.asynchronous.configure(window=window, mode=mode, system=system, layout=layout)
        )

    def observe(self, usage: Usage) -> None:
        """Record the provider's token counts for the last request: from here on, the window is kept
        to the provider's own count. The ledger compares the tokens read from its cache with the
        prediction.

        `usage.input_tokens` is the whole prompt, including cached tokens: OpenAI's `prompt_tokens`;
        for Anthropic the sum of `input_tokens`, `cache_read_input_tokens` and
        `cache_creation_input_tokens`. `run` does this by itself. Raises `BadInput` for an invalid
        count.
        """
        _LOOP.run(self.asynchronous.observe(usage))

    def claim(
        self,
        value: str,
        *,
        evidence: Sequence[str | Quote | Evidence | FileQuote] = (),
        derived_from: Sequence[str] = (),
        kind: str = "decision",
        subject: str = "",
        replaces: str = "",
        facts: CardFacts = NO_FACTS,
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Hold `value` true, on the `evidence` of what was said: words, `Quote`s or spans of pages,
        or words of a file (`FileQuote`), which must be there; or because the claims that it is
        `derived_from` hold. Once one of them no longer holds, this claim is stale.

        Returns the claim's id, or that of an existing claim that says the same. `kind` is
        "decision", "preference", "fact", "project_fact", "procedure", "gotcha", "task" (the state
        of some work), "glossary", "entity", "context" or "rule" (which every request recites).
        `facts` give its scope, its owner and how long it is trusted.

        `origin` is the channel that the claim came through: "user_typed" if the user states it, in
        whatever words; "model_generated" if a model proposes it. It has the user's authority if
        that is the user's channel and the user typed all the evidence. Otherwise it is proposed:
        recalled, but never in the core.

        It replaces the claim on the same `subject`, or the claim whose id is `replaces`; a proposed
        claim replaces nothing that has the user's authority. Raises `BadInput` for words that
        nobody said, and `NoSuchPage`.
        """
        return _LOOP.run(
            self.asynchronous.claim(
                value,
                evidence=evidence,
                derived_from=derived_from,
                kind=kind,
                subject=subject,
                replaces=replaces,
                facts=facts,
                origin=origin,
                key=key,
                dry_run=dry_run,
            )
        )

    def remember(
        self,
        words: str,
        *,
        page_id: str = "",
        kind: str = "fact",
        subject: str = "",
        replaces: str = "",
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """State a claim in the words that were said: `claim`, with the words themselves as
        evidence.

        The words must be in the page `page_id` or, without one, in anything that was said: what the
        user typed comes first, and the newest before the rest. If nobody has said them yet, log
        them first with `user` or `document`.
        """
        return _LOOP.run(
            self.asynchronous.remember(
                words,
                page_id=page_id,
                kind=kind,
                subject=subject,
                replaces=replaces,
                origin=origin,
                key=key,
                dry_run=dry_run,
            )
        )

    def retract(
        self, claim_id: str, *, origin: str = "user_typed", key: str = "", dry_run: bool = False
    ) -> PageId:
        """Retract a claim: it is kept, but no longer holds. Returns the id of the retraction note.

        Raises `BadInput` if the claim does not hold, and if a channel other than the user's
        retracts one that has the user's authority. Claims derived from it become stale.

        With `dry_run`, here as everywhere, nothing is written, and the same errors are raised.
        """
        return _LOOP.run(
            self.asynchronous.retract(claim_id, origin=origin, key=key, dry_run=dry_run)
        )

    def edit_claim(
        self,
        claim_id: str,
        *,
        value: str | None = None,
        subject: str | None = None,
        kind: str | None = None,
        evidence: Sequence[str | Quote | Evidence | FileQuote] | None = None,
        derived_from: Sequence[str] | None = None,
        facts: CardFacts | None = None,
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Change a claim; None leaves a field as it is. Returns the claim's new id. The old claim
        is kept, closed and linked, and `undo` restores it.

        A new text makes another claim: what was derived from the old one is stale. Any other change
        leaves it the same claim. Its evidence is searched for again and, with `origin`, decides its
        authority, as for `claim`. Raises as `claim` and `retract` do.
        """
        return _LOOP.run(
            self.asynchronous.edit_claim(
                claim_id,
                value=value,
                subject=subject,
                kind=kind,
                evidence=evidence,
                derived_from=derived_from,
                facts=facts,
                origin=origin,
                key=key,
                dry_run=dry_run,
            )
        )

    def merge_claims(
        self,
        claim_ids: Sequence[str],
        *,
        value: str = "",
        subject: str = "",
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Replace several claims of one kind with one, on the evidence of all of them. If they
        differ, `value` is the text that holds. Returns its id; the others are kept, closed and
        linked. Raises as `claim` and `retract` do.
        """
        return _LOOP.run(
            self.asynchronous.merge_claims(
                claim_ids, value=value, subject=subject, origin=origin, key=key, dry_run=dry_run
            )
        )

    def confirm_claim(
        self, claim_id: str, digest: str, *, key: str = "", dry_run: bool = False
    ) -> PageId:
        """Give a proposed claim the user's authority: a person has read it, and passes the `digest`
        that `claims` returned with exactly this text. Returns the claim's new id; it replaces the
        claim on its subject. For people: no agent should have access to this.

        Raises `BadInput` for another digest, and for a claim that does not hold.
        """
        return _LOOP.run(
            self.asynchronous.confirm_claim(claim_id, digest, key=key, dry_run=dry_run)
        )

    def expire_claim(
        self, claim_id: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Expire a claim. It is kept, no request shows it as valid, and what was derived from it is
        stale. `undo` reverts that. Raises as `retract` does.
        """
        _LOOP.run(self.asynchronous.expire_claim(claim_id, origin=origin, dry_run=dry_run))

    def contradict_claim(
        self, claim_id: str, other: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Record that two claims contradict each other. Both stay, each names the other, and a
        person who knows better retracts or edits one. Raises `BadInput` unless both hold, and
        `NoSuchPage`.
        """
        _LOOP.run(
            self.asynchronous.contradict_claim(claim_id, other, origin=origin, dry_run=dry_run)
        )

    def validate_claims(
        self,
        claim_ids: Sequence[str] = (),
        *,
        root: str = "",
        verdict: str = "",
        dry_run: bool = False,
    ) -> tuple[ClaimCheck, ...]:
        """Check claims, or all that hold: whether the words, files, commands and tests that they
        rest on still exist and still say so, and their branch still exists. Files and branches are
        looked up in the project's folder `root`. A claim that fails is stale until it passes; one
        that passes is trusted anew, for as long as its kind is.

        With a `verdict`, "pass" or "fail", a person rules on the named claims, whatever the check
        finds; `undo` reverts that. Raises `BadInput`, and `NoSuchPage` for an id that is not a
        claim's.
        """
        return _LOOP.run(
            self.asynchronous.validate_claims(
                claim_ids, root=root, verdict=verdict, dry_run=dry_run
            )
        )

    def reflect(self, *, dry_run: bool = False) -> tuple[Lesson, ...]:
        """Derive lessons from finished work: for each command or test run that failed here and
        later succeeded, a proposed claim of the kind "gotcha", with both results and the files
        changed in between; and for each claim of the kind "task" that `expire_claim` ended, if it
        rests on results that succeeded, a "procedure" on these. Each is proposed once, even if it
        was retracted. Returns all of them.
        """
        return _LOOP.run(self.asynchronous.reflect(dry_run=dry_run))

    def core(self, *, proposed: bool = False) -> list[CoreSection]:
        """The sections of core memory, in the order in which they were begun; or the versions that
        are still `proposed`, oldest first.
        """
        return _LOOP.run(self.asynchronous.core(proposed=proposed))

    def core_append(
        self, section: str, text: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> CoreSection:
        """Add a line to a section of core memory ("human", "persona", …), which is in every request
        from the next one on; the first line begins the section.

        Raises `CoreFull` if a section, or all of them together, would be too large: the message
        names the limit. With `limits.core_overflow="archive"` the section's oldest lines become
        notes instead (`archived`). A line from an untrusted channel, or from a model that had an
        untrusted text before it, is only `proposed`.
        """
        return _LOOP.run(
            self.asynchronous.core_append(section, text, origin=origin, dry_run=dry_run)
        )

    def core_replace(
        self, section: str, old: str, new: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> CoreSection:
        """Replace the first `old` in a section with `new`; an empty `new` deletes it.

        Raises `BadInput` if there is no such section, or it does not contain `old`, and `CoreFull`.
        """
        return _LOOP.run(
            self.asynchronous.core_replace(section, old, new, origin=origin, dry_run=dry_run)
        )

    def core_accept(self, page_id: str, *, dry_run: bool = False) -> CoreSection:
        """Accept a proposed version, on the user's authority. Raises `NoSuchPage`, and `CoreFull`
        if it does not fit.
        """
        return _LOOP.run(self.asynchronous.core_accept(page_id, dry_run=dry_run))

    def archival_insert(
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
        return _LOOP.run(
            self.asynchronous.archival_insert(
                text,
                type=type,
                area=area,
                metadata=metadata,
                replaces=replaces,
                origin=origin,
                key=key,
                dry_run=dry_run,
            )
        )

    def archival_search(
        self, query: str, *, limit: int = HEAT_RECALL_LIMIT, type: str = "", area: str = ""
    ) -> list[ArchivalHit]:
        """The notes relevant to a query, best first, from this session and every session of the
        same user (`Memory.assign`); only of one `type` or `area`, if given. Empty if none is
        relevant.
        """
        return _LOOP.run(
            self.asynchronous.archival_search(query, limit=limit, type=type, area=area)
        )

    def conversation_search(self, query: str, *, limit: int = HEAT_RECALL_LIMIT) -> SearchResult:
        """What user and assistant said in this conversation that is relevant to a query, whether or
        not the window still shows it.
        """
        return _LOOP.run(self.asynchronous.conversation_search(query, limit=limit))

    def import_blocks(
        self, text: str, *, approve: bool = False, dry_run: bool = False
    ) -> ImportedBlocks:
        """Import core memory blocks and archival rows of MemGPT or Letta, given as their JSON.

        Blocks become sections, in place of those with the same names, and rows become notes;
        existing ones are not written again. Unless you `approve` their contents, their origin is
        imported: sections are proposed, and notes are found by search but never recalled. What does
        not fit is listed in `left_out`. Raises `BadInput` for any other JSON.
        """
        return _LOOP.run(self.asynchronous.import_blocks(text, approve=approve, dry_run=dry_run))

    def memory_tools(self) -> list[Callable[..., Any]]:
        """The five tools of core and archival memory, for `run(engine, tools=…)`:
        core_memory_append, core_memory_replace, archival_memory_insert, archival_memory_search and
        conversation_search. While they are offered, the rules in the request explain them.
        """
        return _LOOP.call(self.asynchronous.memory_tools)

    def heat_add(
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
        return _LOOP.run(
            self.asynchronous.heat_add(
                text, type=type, metadata=metadata, origin=origin, key=key, dry_run=dry_run
            )
        )

    def heat_hot(self) -> list[HeatItem]:
        """The hot items, newest first, each with its text."""
        return _LOOP.run(self.asynchronous.heat_hot())

    def heat_spill(
        self, item_ids: Sequence[str] = (), *, count: int = SPILL_ITEMS, dry_run: bool = False
    ) -> SpillResult:
        """Move items out of hot memory: the given ones, or the `count` least relevant, the oldest
        first among equals. They leave the window at the next epoch. Raises `NoSuchPage` for an id
        that is not an item's.
        """
        return _LOOP.run(self.asynchronous.heat_spill(item_ids, count=count, dry_run=dry_run))

    def heat_recall(
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
        return _LOOP.run(
            self.asynchronous.heat_recall(
                query,
                limit=limit,
                types=types,
                auto_promote=auto_promote,
                min_relevance=min_relevance,
                dry_run=dry_run,
            )
        )

    def heat_promote(self, item_id: str, *, dry_run: bool = False) -> HeatItem:
        """Make an item hot, or any other page of the session. Others leave to make room,
        `limits.promote_spill_items` at a time. Raises `NoSuchPage`, and `HotFull` if it cannot fit.
        """
        return _LOOP.run(self.asynchronous.heat_promote(item_id, dry_run=dry_run))

    def heat_prune(
        self, item_ids: Sequence[str] = (), *, count: int = 0, dry_run: bool = False
    ) -> list[PageId]:
        """Archive items: the given ones, or the `count` least relevant cold ones, or else those
        beyond `limits.cold_items_max`. Nothing is erased: a search still finds them, `heat_recall`
        does not. Returns their ids.
        """
        return _LOOP.run(self.asynchronous.heat_prune(item_ids, count=count, dry_run=dry_run))

    def heat_status(self) -> HeatStatus:
        """The size of hot, warm and cold memory, and what to spill, recall or prune."""
        return _LOOP.run(self.asynchronous.heat_status())

    def form(
        self,
        engine: Engine | None = None,
        *,
        former: Former | None = None,
        rest: bool = False,
        dry_run: bool = False,
    ) -> list[Formed]:
        """Form memory from every closed range of turns that was not formed yet (about 2,000 tokens
        each), and return these.

        `engine`, which should be the one that the session runs with, gets the session's last
        request plus one message, so that nearly all of it is read from a provider's cache. Without
        one, rules quote sentences. `former` is one of your own. Proposals are kept if the pages
        that they cite support them: sentences of a summary, which an epoch shows
        `limits.formed_after_turns` later; claims of every kind of card, which are proposed until a
        person states them or the user agrees.

        `rest` means that the conversation pauses here: its last turns are formed, too, though the
        range could still grow, and sections of core memory are proposed (`core(proposed=True)`),
        which hold once `core_accept` takes them. Up to three lessons of finished work are proposed,
        as by `reflect`.

        `dry_run` calls no model, and returns the ranges, and the tokens of each request.

        With `formation="on"` this happens after each turn of `run`, in the background, and as with
        `rest` once nothing was said for `limits.formation_rest_s`. It stops, without an error, if
        the budget is spent or the request would not fit the window. Raises `EngineError` if the
        engine failed: a later call tries the range again, up to `limits.formation_tries_max` times.
        Raises `BadInput` for a proxied session.
        """
        return _LOOP.run(self.asynchronous.form(engine, former=former, rest=rest, dry_run=dry_run))

    def formations(self) -> list[Formed]:
        """The ranges of this session whose forming has begun, oldest first, with their outcomes;
        then those that are due.
        """
        return _LOOP.run(self.asynchronous.formations())

    @overload
    def request(self, *, tools: Sequence[Tool] | None = None) -> Request: ...

    @overload
    def request(self, format: Format, *, tools: Sequence[Tool] | None = None) -> dict[str, Any]: ...

    def request(
        self, format: str | None = None, *, tools: Sequence[Tool] | None = None
    ) -> Request | dict[str, Any]:
        """The next request: messages and tools that fit the window, durable in the log.

        At a turn's first request the runtime itself recalls pages for the message. With a `format`
        it is the body of a call, without the model's name: "openai" (Chat Completions),
        "openai-responses", "anthropic" (Messages; it also needs `max_tokens`) or "gemini"
        (generateContent).

        `tools` are additional ones of your own, each a `ToolSpec` or a tool in one of these
        formats. They stay until others are given (`[]`: none), count against the window, and a
        change begins an epoch. Raises `BadInput` while a call waits for its `tool_result`, and
        `WindowTooSmall` if the tools leave no room to converse.
        """
        return _LOOP.run(self.asynchronous.request(cast("Any", format), tools=cast("Any", tools)))

    def call(self, call: ToolCall, *, said: Annotated[str, ANY_TEXT] = "") -> str:
        """Serve one tool call of the model and return the result's text.

        Never raises for the model's mistakes: a refusal is a result too, and is logged; only if the
        window has no room left for it is a call refused and not logged. The record of the call is
        durable before the next request is, not before this returns.
        """
        return _LOOP.run(self.asynchronous.call(call, said=said))

    def page(self, page_id: str, *, details: bool = False) -> Page:
        """A page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten.

        With `details` it also has what its record does not have: its `label`, the least trusted of
        everything that went into it; when it was last accessed and how often, which reads the
        session's whole log; and the `dimensions` or `duration_seconds` of its bytes, which reads
        these.
        """
        return _LOOP.run(self.asynchronous.page(page_id, details=details))

    def tiers(self, page_ids: Sequence[str]) -> dict[PageId, Tier]:
        """The tier of each of these pages now: L0 the window, L1 memory (a derived page that is not
        written yet), L2 the log, L3 the blob store, L4 the archive. Raises `NoSuchPage`.

        In a proxied session none is L0: its client decides what the window holds.
        """
        return _LOOP.run(self.asynchronous.tiers(page_ids))

    def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        """A page at `level` or the nearest fuller one: that level, text and tokens.

        A picture's text is its caption, which is level 2 at most. Writes nothing.
        """
        return _LOOP.run(self.asynchronous.at_level(page_id, level))

    def artifact_bytes(self, page_id: str) -> bytes:
        """The bytes of an artifact. Raises `BadInput` for a page that has none, and as `page`."""
        return _LOOP.run(self.asynchronous.artifact_bytes(page_id))

    def defer(self, page_id: str) -> DeferredPage:
        """Start reading a page without waiting for it: for answers that stream.

        Returns a placeholder at once, and with it the page once it is read. Raises `NoSuchPage`.
        """
        return DeferredPage(_LOOP.run(self.asynchronous.defer(page_id)))

    def claims(self) -> list[ClaimInfo]:
        """The decisions, preferences and facts of this session, oldest first, with their status."""
        return _LOOP.run(self.asynchronous.claims())

    def cards(self) -> list[Card]:
        """The same as memory cards, with requirement 004's field names; without retraction
        notes.
        """
        return _LOOP.run(self.asynchronous.cards())

    def known(self, query: str, *, kinds: Sequence[str] = ()) -> Knowledge:
        """Whether something is in memory: the claims about it that hold, or else what was said
        about it; or else why not: nobody said it, or it was retracted or withdrawn, is stale or
        expired. It matches words, like searches: a question in other words does not find it.

        With `kinds`, as of `claim`, only claims of these answer: something discussed, and never
        decided, is no decision in memory.
        """
        return _LOOP.run(self.asynchronous.known(query, kinds=kinds))

    def resident(self) -> list[PageId]:
        """The pages that the model sees in full, coldest first."""
        return _LOOP.call(self.asynchronous.resident)

    def pinned(self) -> list[PageId]:
        """The pages that are pinned, in the order of the pins."""
        return _LOOP.call(self.asynchronous.pinned)

    def host_tools(self) -> list[str]:
        """The names of your own tools in a request."""
        return _LOOP.call(self.asynchronous.host_tools)

    def pack(
        self,
        query: str = "",
        *,
        pack_type: str = "",
        budget: int = BUDGET_TOKENS,
        at: Time = "",
        unproved: bool = False,
        root: str = "",
    ) -> ContextPack:
        """A context pack: what this session holds that is relevant to `query`. It has decisions,
        current work, changed files, open questions and relevant pages, each line with its sources,
        in at most `budget` tokens.

        `pack_type` is "task", for a query, or "boot", to begin with, which needs none and has the
        latest messages; by default "task" if there is a query. If nothing is relevant, `matched` is
        0 and the pack has the latest messages. `at` is its date (ISO 8601, or milliseconds since
        1970), by default now: the same session, query and time give the same bytes.

        Stale and unconfirmed claims are in it only with `unproved`. With a project's folder `root`,
        claims are checked as by `validate_claims` first, without a record of it: one whose file no
        longer says it, or whose branch is gone, counts as failed. Quarantined and withdrawn pages
        are never in it. Raises `BadInput`, and if the memory's mode recalls nothing.
        """
        return _LOOP.run(
            self.asynchronous.pack(
                query, pack_type=pack_type, budget=budget, at=at, unproved=unproved, root=root
            )
        )

    def handoff(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What the next person to work on this session needs: what changed, what failed, what is
        next, what was decided, and what was said last. Otherwise as `pack`.
        """
        return _LOOP.run(self.asynchronous.handoff(budget=budget, at=at))

    def synopsis(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What this session is about, and how its work is run: its summaries, documents, frequent
        commands, and claims. Read from the log each time, so it is never out of date. Otherwise as
        `pack`.
        """
        return _LOOP.run(self.asynchronous.synopsis(budget=budget, at=at))

    def digest(
        self,
        since: Time = "",
        *,
        commits: Sequence[Commit] = (),
        budget: int = BUDGET_TOKENS,
        at: Time = "",
    ) -> ContextPack:
        """What changed here since a time, and by these `commits`: files, tests that now fail or
        pass again, decisions made or retracted. Otherwise as `pack`.
        """
        return _LOOP.run(self.asynchronous.digest(since, commits=commits, budget=budget, at=at))

    def mounts(self) -> list[Mount]:
        """The regions that this session mounts, or inherited from the session it was forked
        from.
        """
        return _LOOP.run(self.asynchronous.mounts())

    def mount(self, region: str, mode: str = "ro", *, dry_run: bool = False) -> Mount:
        """Mount a region: from now on its pages are found, recalled and faulted like the session's
        own, and a hit's `source` names it. With "rw" the session may also bring pages to it
        (`promote`, `share`).

        The region's policy must allow this: `AccessRefused` otherwise. If its owner must consent
        too, none of it is visible until then (`is_open`, `why`). `dry_run` only returns the result.
        Raises `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.mount(region, mode, dry_run=dry_run))

    def unmount(self, region: str, *, dry_run: bool = False) -> Mount:
        """Unmount a region: its pages leave the window before the next request. Returns the mount
        as it was; harmless if the region is not mounted. Raises `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.unmount(region, dry_run=dry_run))

    def promote(self, page_id: str, region: str, *, dry_run: bool = False) -> Promotion:
        """Copy a page (every part of its text) to a region that is mounted "rw", if the policy lets
        the session promote. It keeps its origin, speaker, title and time; forgetting the page here
        forgets it there. Of an artifact, only the text is copied.

        A page is copied once: a second call returns the copy. Raises `AccessRefused`,
        `RegionNotFound`, `NoSuchPage`, `RecordGone`.
        """
        return _LOOP.run(self.asynchronous.promote(page_id, region, dry_run=dry_run))

    def share(self, text: str, region: str, *, title: str = "", dry_run: bool = False) -> Promotion:
        """Write a text of the user into a region that is mounted "rw", if the policy lets the
        session write. It is in no conversation. Raises `AccessRefused`, `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.share(text, region, title=title, dry_run=dry_run))

    def status(self) -> Status:
        """What the session holds, and what is left of its window and budgets, now."""
        return _LOOP.run(self.asynchronous.status())

    def abi(self) -> MemoryABI:
        """What the window holds and how much more fits, for programs that weigh the cost of
        memory.
        """
        return _LOOP.call(self.asynchronous.abi)

    def faults(self) -> list[Event]:
        """Every fault of this session, served or refused, oldest first."""
        return _LOOP.run(self.asynchronous.faults())

    def metrics(self, *, per_turn: bool = False) -> Metrics:
        """The figures of this session, folded from its log; `service/inspection/metrics.py` defines
        each. A fork counts its own turns.
        """
        return _LOOP.run(self.asynchronous.metrics(per_turn=per_turn))

    def ledger(self) -> Entries:
        """Every request of this session: what it shared with the one before, and what the provider
        reported. `Entry.line(prices)` gives what it should have cost.
        """
        return _LOOP.run(self.asynchronous.ledger())

    def memory_map(self, *, rows: int = ROWS, columns: int = COLUMNS) -> MemoryMap:
        """Which messages each request showed, in at most so many rows (of messages) and columns (of
        requests). Raises `BadInput` if either is less than 1.
        """
        return _LOOP.run(self.asynchronous.memory_map(rows=rows, columns=columns))

    def recollections(self) -> list[Recollection]:
        """The turns that had pages recalled, oldest first: which pages, and which of them the
        answer cites. A fork lists its own turns.
        """
        return _LOOP.run(self.asynchronous.recollections())

    @property
    def prices(self) -> PriceList:
        """The prices for the requests of this session: those, or those of the model, that this
        memory was opened with; else those recorded with the last request.
        """
        return self.asynchronous.prices

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, during the
        request that changes it. Returns a function that unsubscribes.

        An exception from the callback is raised to the caller of that request; a retry returns the
        request.
        """
        return _LOOP.call(lambda: self.asynchronous.on_pressure(callback))

    def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that this session can see, oldest first, including its ancestors'."""
        return _LOOP.run(self.asynchronous.checkpoints())

    def at(
        self,
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Moment:
        """The window as it was at the end of a turn, after a record, at a checkpoint, or at a time
        (ISO 8601, UTC if it has no zone, the end of the day if it has no hour; or milliseconds
        since 1970).

        Raises `BadInput` for a time before the session began, and for a turn, record or checkpoint
        that does not exist.
        """
        return _LOOP.run(self.asynchronous.at(turn=turn, seq=seq, time=time, checkpoint=checkpoint))

    def page_at(
        self,
        page_id: str,
        time: str | int | None = None,
        *,
        turn: int | None = None,
        seq: int | None = None,
        checkpoint: str | None = None,
    ) -> Page:
        """A page as it was at one of the times that `at` takes: if a message was edited, or a claim
        replaced by another, the page with the words of that time, whichever of them `page_id` is.
        Raises `NoSuchPage`; `RecordGone` if these words were forgotten; `BadInput` if none of them
        had been written by then.
        """
        return _LOOP.run(
            self.asynchronous.page_at(page_id, time, turn=turn, seq=seq, checkpoint=checkpoint)
        )

    def sent(self, turn: int | None = None, *, request: int | None = None) -> Sent:
        """A past request, byte for byte as it was packed: the last of a turn, or the one with this
        number (`ledger` lists them). `missing` is set if something in it was forgotten since.

        Raises `BadInput` if there was none: a proxied client's requests are its own.
        """
        return _LOOP.run(self.asynchronous.sent(turn, request=request))

    def items(self) -> list[ConversationItem]:
        """The conversation, item by item: messages, calls, results, and the parts of a proxied one
        that no page holds (reasoning, media, and what only its provider understands).
        """
        return _LOOP.run(self.asynchronous.items())

    def client_json(self, message_seq: int) -> str:
        """A message of a proxied session as its client first sent it: the client's own JSON,
        without secrets. `message_seq` is that of an item (`items`).

        Raises `BadInput` if it is not a message of this session, and `RecordGone` if it was
        forgotten, with any page of its turn.
        """
        return _LOOP.run(self.asynchronous.client_json(message_seq))

    def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return _LOOP.run(self.asynchronous.diff(before, after))

    def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """The history of a page, or without one of all pages, oldest first; only by one actor
        (user, model, tool, system), if one is given. Raises `NoSuchPage`.
        """
        return _LOOP.run(self.asynchronous.history(page_id, actor=actor))


@checked_verbs()
class DeferredPage:
    """As `pagefault.DeferredPage`; what is awaited there returns when it is done."""

    def __init__(self, deferredpage: _deferred.DeferredPage) -> None:
        self.asynchronous = deferredpage

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    @property
    def page_id(self) -> PageId:
        """The page that is on its way."""
        return self.asynchronous.page_id

    @property
    def placeholder(self) -> str:
        """What stands where it will be."""
        return self.asynchronous.placeholder

    @property
    def is_ready(self) -> bool:
        return self.asynchronous.is_ready

    def page(self) -> Page:
        """The page, without a timeout. Raises the error of loading it."""
        return _LOOP.run(self.asynchronous.page())

    def page_or_placeholder(self, timeout_ms: float = PLACEHOLDER_TIMEOUT_MS) -> Page | str:
        """The page if it loads within `timeout_ms`, else the placeholder; call again later.

        Raises the error of loading it.
        """
        return _LOOP.run(self.asynchronous.page_or_placeholder(timeout_ms))
