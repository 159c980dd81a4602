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
        """Pages that bear on `query`, best first, each with the parts of its score and its source.
        In a session, claims that answer it come before them, those that hold now.

        With `topic` or `task` ("#42", "42", "ABC-7"), only pages that have it among their tags; the
        query may then be empty. `tokens` bounds what the hits come to; what had no room is told.
        `profile` ("measured", "studio-v1") is how they are ordered, else as configured.
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
        """The pages that were said last, the latest first."""
        return _LOOP.run(self._asking.recent(limit, wanted, tokens=tokens))

    def by_topic(
        self, topic: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages of a topic, those first that are most about it."""
        return _LOOP.run(self._asking.by_topic(topic, limit, wanted, tokens=tokens))

    def by_task(
        self, task: str, limit: int = 10, wanted: SearchFilter = ANY, *, tokens: int | None = None
    ) -> SearchResult:
        """The pages that name a task ("#42" or "42", "ABC-7"), those first that are most
        about it.
        """
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

        Times are as in `SearchFilter`, and stand instead of those of `wanted`.
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
        """What opening had to mend, and what it forgot as past its time, one sentence each."""
        return self._memory.notices

    @property
    def is_adopted(self) -> bool:
        """Whether it was made here by this user, or adopted. Else it is only read, and none of its
        claims has authority.
        """
        return self._memory.is_adopted

    @property
    def records(self) -> int:
        """How many records its log has, of every session."""
        return self._memory.records

    @property
    def limits(self) -> Limits:
        """What this memory refuses to go beyond."""
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
        """The session of that name or id, opened anew if there is none and `create` allows it.

        `window` (tokens of a request), `mode`, `system`, `layout` (stable, developer) and `control`
        (`Session.set_control`) are those of a new session; given for one that exists, they change
        it from its next request on. Of one that begins "incognito" nothing is ever written. Any
        number of processes may have a session; writing to it while another does is `SessionBusy`.
        Raises `SessionNotFound`, `WindowTooSmall`, `BadInput`.
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
        """Every session, the most recently used first. Regions are none: `regions` lists them."""
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
        """Pages that a session can see, by their order; those of a topic or a task, if named."""
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

        Of such a session `status`, `at` and `resident` tell what it would pack itself, and not
        what its client sends.
        """
        return _LOOP.run(self._memory.proxied(session.asynchronous))

    def read(self, row: PageRow) -> Page:
        """The page of a row, such as a hit's, at level 0. `RecordGone` if it was forgotten."""
        return _LOOP.run(self._memory.read(row))

    def control(self) -> str:
        """The control mode that was given to the whole memory last, or that new sessions have."""
        return _LOOP.run(self._memory.control())

    def set_control(self, mode: str, *, session: str = "") -> None:
        """Give a session (its name or id) this control mode (`Session.set_control`), or every one,
        and each that is opened later, until it is given another. In other processes a session has
        it with its next verb, and in `serve` with its next request, whoever writes to it; a verb
        that was under way there writes nothing more once the mode keeps nothing (`StoreBusy`).
        Raises `BadInput`, `SessionNotFound`.
        """
        _LOOP.run(self._memory.set_control(mode, session=session))

    def control_of(self, session: str) -> str:
        """The control mode of a session, by its name or id; of one that is not written, that which
        a new one has.
        """
        return _LOOP.run(self._memory.control_of(session))

    def controls(self) -> dict[str, str]:
        """The control mode of each session that is written, by its id."""
        return _LOOP.run(self._memory.controls())

    def forget(
        self, session: Session | str, page_id: str = "", *, dry_run: bool = False
    ) -> Forgetting:
        """Erase a page (all parts of its text), or a whole session, from everything under the root.

        `session` is it, or its name or id. Afterwards no byte of what goes is in log or index, and
        sessions that showed it begin a new epoch. Irreversible. `dry_run` only says what would go.
        Forks keep what was said in them.

        Raises `SessionBusy` if another process writes to the session that it is from, and
        `StoreBusy` if somebody keeps it from being finished: nobody can find the page any more
        then, and the next opening finishes it.
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
        """Erase every page that holds every word of `query`, in any of its forms, and that a filter
        wants: of one session (`wanted.session`) or of all. Each that loses pages is told apart.

        As `forget` otherwise. What was made of these pages goes too, and earlier words of an edited
        message with it. Raises `BadInput` where neither filter nor query leave anything out: a
        session is forgotten whole by its name.
        """
        return _LOOP.run(self._memory.forget_matching(query, wanted=wanted, dry_run=dry_run))

    def scrub(
        self, values: Sequence[str] = (), *, home_paths: bool = False, dry_run: bool = False
    ) -> Scrubbing:
        """Redact what is written already as what is written from now on is: by the rules and the
        known values of this memory, and besides these `values`, in every spelling; with
        `home_paths` the names of users in paths, too. Irreversible. `dry_run` only says what would
        be redacted.

        Afterwards no byte of it is in log, index, vectors, blobs or archive, and sessions that
        showed it begin a new epoch. A claim is stale that rests on what went. What a client sends
        again is redacted only if it is a known value by then, or looks like a secret.

        Raises `BadInput` for a value that is too short to be told from ordinary text,
        `ScreenFailed` where a rule fails, with nothing changed, and otherwise as `forget` does.
        """
        return _LOOP.run(self._memory.scrub(values, home_paths=home_paths, dry_run=dry_run))

    def retention(self) -> tuple[RetentionRule, ...]:
        """How long pages are kept, as it was set last; without a rule, for ever."""
        return _LOOP.run(self._memory.retention())

    def set_retention(
        self, keep: str | None, *, kind: str = "", session: str = "", dry_run: bool = False
    ) -> tuple[RetentionRule, ...]:
        """Keep pages for so long from now on ("7d", "30d", "90d", any days, "forever"): those of a
        kind, of a session (its name or id), or all that no other rule names; `None` takes the rule
        for these away. The rules that hold then; `dry_run` only tells them.

        What is past its time goes when the memory is opened to be written, within the hour where
        `serve` runs, and with `expire`. Raises `BadInput`, `SessionNotFound`.
        """
        return _LOOP.run(
            self._memory.set_retention(keep, kind=kind, session=session, dry_run=dry_run)
        )

    def expire(
        self, *, dry_run: bool = False, rules: Sequence[RetentionRule] | None = None
    ) -> tuple[Forgetting, ...]:
        """Forget what is past its time, by the rules of `retention` unless others are given; each
        session that loses pages is told apart. One that another process writes to is left for the
        next time (`done` is false). `dry_run` only says what would go.
        """
        return _LOOP.run(self._memory.expire(dry_run=dry_run, rules=rules))

    def keep_retention(self) -> str:
        """Runs `expire`, and returns what went, in a sentence, or why nothing could go; "" where
        nothing was to. While nothing is written, nothing goes either.
        """
        return _LOOP.run(self._memory.keep_retention())

    def begin(self) -> None:
        """Forget what is past its time, before anybody has this memory: see `notices`."""
        _LOOP.run(self._memory.begin())

    def import_history(
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
        """Write what this memory holds to `target`, for other programs and for people: `form` is
        "snapshot" (a zip archive), "events" (JSON lines) or "markdown" (a folder). All of it, or
        what a filter wants; claims and summaries only of sessions that are exported whole.
        `import_history` reads each form again, and `docs/export.md` says how they are laid out.

        What was forgotten is in none, and no secret that redaction knows by now. A later `forget`
        does not reach into it. It appears only once it is whole. `progress` is told pages, done and
        in all, in another thread. Raises `BadInput`, `SessionNotFound`, `StoreError`.
        """
        return _LOOP.run(
            self._memory.export(
                target, form=form, wanted=wanted, dry_run=dry_run, progress=progress
            )
        )

    def imports(self, source: str = "") -> list[ImportedSession]:
        """Every session that was imported, the latest first; those of a source, if one is named:
        "claude" is Claude's export and Claude Code's sessions.
        """
        return _LOOP.run(self._memory.imports(source))

    def approve_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Let the runtime recall by itself what was imported by now: by one import, into one
        session, or from one source. It is written down, and `revoke_import` takes it back.

        What was imported keeps its origin: no claim is made of it, and it has nobody's authority.
        Returns the sessions. Raises `BadInput` unless exactly one is named, `SessionNotFound` if
        nothing was imported so.
        """
        return _LOOP.run(self._memory.approve_import(run=run, session=session, source=source))

    def revoke_import(
        self, *, run: str = "", session: str = "", source: str = ""
    ) -> list[ImportedSession]:
        """Take an approval back: from the next request on nothing of these sessions is recalled.
        What requests showed before stays in their windows until an epoch. Raises as
        `approve_import` does.
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
        """What was done, newest first: commands that ran, files that changed, tests and how they
        went, read from clients' calls and their results; and what `Session.record_event` states.

        Of one session (its name or id) or of all; of one `event_type`; of a file, by its path or
        the end of it; of commands that hold these words, in a row; of a test by its name or the end
        of it, which then has an `outcome`: "passed" or "failed". When a test last passed is
        `events(test=…, outcome="passed", limit=1)`. `since` and `until` bound when it was done.

        It reads every call of the sessions that are asked. Raises `SessionNotFound`, `BadInput`.
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
        """What requests cost, beside what the same conversations would have cost without us: of one
        session (its name or id) or of all, proxied and of the library, from `since` to before
        `until`; a row for each session, day (of UTC) or model, by `by`.

        Costs are in effective input tokens, by the prices that this memory was opened with, or
        else those of the model that was asked; of a model that nobody knows there are tokens alone.
        Money is told where `per_million` says what a million uncached input tokens of a model
        cost, or of all models under "". What is estimated, what reported, and what is assumed,
        `docs/bill.md` says. Raises `SessionNotFound`, `BadInput`.
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
    ) -> ContextPack:
        """As `Session.pack`, of these sessions (names or ids), or of all: pages of any of them, and
        what holds, was done and is open in the eight of them that were used last. A ref has the
        session before the page: "planning/msg_3".
        """
        return _LOOP.run(
            self._memory.pack(
                query,
                pack_type=pack_type,
                sessions=sessions,
                budget=budget,
                at=at,
                unproved=unproved,
            )
        )

    def synopsis(
        self, *, sessions: Collection[str] | None = None, budget: int = BUDGET_TOKENS, at: Time = ""
    ) -> ContextPack:
        """As `Session.synopsis`, of several sessions together: of a project, say."""
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
        """As `Session.digest`, of several sessions together."""
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
        """Make a region: memory that sessions share which mount it (`Session.mount`).

        `scope` says whom it is for: "project" the sessions of `project`, "user" those of `owner`,
        "global" all of this memory. They may read it, and the owner's may write and promote, unless
        `read`, `write` and `promote` grant that to others: "owner", "anyone", "project:NAME",
        "user:NAME", "session:NAME". `consent` says which mounts the owner is asked for besides:
        "write" (the default) those that write, "always" all, "never" none; the owner's own sessions
        need none. Raises `BadInput`, also if there is a region of this name.
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
        """A new region with what this one holds by now, under the same policy. Pages are shared,
        not copied: what is brought to either from now on, the other does not see; what is forgotten
        is gone from both. Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
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
        """Change who may do what in a region, as `create_region` tells; what is not given stays. It
        holds at once: a session that may look into it no more shows nothing of it from its next
        request on. Raises `AccessRefused` unless `by` owns it, `RegionNotFound`, `BadInput`.
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
        """The owner of a region lets a session (its name or id) look into it, "ro" or "rw", or no
        more: "none". Forks of the session stand on it too, until they are given their own. How the
        session's mount stands then; nothing if it has none.

        Taken back, nothing of the region is found, faulted or recalled in that session any more,
        and its next request shows nothing of it. Raises `AccessRefused` unless `by` owns it,
        `RegionNotFound`, `SessionNotFound`.
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
        """Say whose a session (its name or id) is, and of which project: policies of regions know
        it by that. What is not given stays. Raises `SessionNotFound`, `BadInput`.
        """
        _LOOP.run(self._memory.assign(session, project=project, user=user, dry_run=dry_run))

    def assignment(self, session: str) -> tuple[str, str]:
        """The project and the user of a session (its name or id), each "" where none was said."""
        return _LOOP.run(self._memory.assignment(session))

    def assignments(self) -> dict[str, tuple[str, str]]:
        """The project and the user of every session, by its id, each "" where none was said."""
        return _LOOP.run(self._memory.assignments())

    def origins(self, session: Session | str, page_id: str) -> PageOrigin:
        """Whose word a page is, what it says, the digest of that, and all that rests on it.

        `session` is it, or its name or id. Raises `SessionNotFound`, `NoSuchPage`, `RecordGone`.
        """
        return _LOOP.run(
            self._memory.origins(
                session.asynchronous if isinstance(session, Session) else session, page_id
            )
        )

    def is_withdrawn(self, session: Session | str, page_id: str) -> bool:
        """Whether a person withdrew a page, so that no model is shown it. Raises as `origins`."""
        return _LOOP.run(
            self._memory.is_withdrawn(
                session.asynchronous if isinstance(session, Session) else session, page_id
            )
        )

    def raise_origin(
        self, session: Session | str, page_id: str, digest: str, *, dry_run: bool = False
    ) -> PageOrigin:
        """Let a page count as approved by the user: a person read it, and gives the `digest` that
        `origins` told with just this text. It may be pinned then, and be evidence for what the user
        holds true; what was withdrawn may be recalled again, itself alone.

        It is written down, holds as long as the page says just that, and `revoke_origin` takes it
        back. Returns what `origins` would; `dry_run` only checks. Raises `BadInput` for another
        digest, and as `origins` does.
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
        """Withdraw a page in all its parts, all of an `origin` ("web", "tool", "tool:NAME")
        that is there by now, or a whole session, with everything that was made of it or answered
        under it, however indirectly: summaries, claims, procedures, shorter forms, answers, and
        results of their calls.

        It is kept, and `page` tells it still; from the next request on none of it is shown,
        recalled, pinned, recited or held true. Returns what that is, in each session; `dry_run`
        only tells. Of conversations that are not written it reaches those of this process, and
        there it is in memory, too. Requests that were sent, and what a proxy's client resends
        itself, are out of reach. Raises `BadInput` where nothing is named, and as `origins` does.
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
        """Read everything and check it against itself, while others write, here and elsewhere.

        Every session is folded as opening it does: what would keep one from opening is a problem.
        A record that no fold can take keeps nothing from opening, and is named in `set_aside`.

        `progress` is told bytes, read and in all, in another thread. Closing this memory waits for
        its end.
        """
        return _LOOP.run(self._memory.verify(progress))

    def embed(self, progress: Progress | None = None, *, prune: bool = False) -> int:
        """Give every page a vector that has none yet, now; how many these were.

        That happens by itself after each append: this is for catching up at once, after another
        embedder was chosen, say. `prune` then deletes the vectors of all others. `progress` is told
        pages, made and in all, in another thread. Raises `BadInput` without an embedder, and
        `EngineError` if it fails: what it made until then is kept.
        """
        return _LOOP.run(self._memory.embed(progress, prune=prune))

    def embedding(self) -> EmbeddingStatus | None:
        """How far the vectors of pages are, and whether the embedder failed; nothing without one.

        Loads the embedder's model if that is not done.
        """
        return _LOOP.run(self._memory.embedding())

    def reranking(self) -> RerankingStatus | None:
        """How often the reranker was asked, and whether it failed; nothing without one."""
        return _LOOP.run(self._memory.reranking())

    def redaction(self) -> Redaction:
        """Which layers look for secrets in what is written, and whether one failed."""
        return _LOOP.run(self._memory.redaction())

    def usage(self, session: str = "") -> list[QuotaUse]:
        """What is used of each quota that is set (`pagefault.Quotas`): of those of the project, and
        of a session (its name or id) and its tenant, or else of all. Raises `SessionNotFound`.
        """
        return _LOOP.run(self._memory.usage(session))

    def backup(self, target: str | Path, progress: Progress | None = None) -> Copied:
        """Copy this memory to a directory that does not exist yet, while it is in use.

        The copy is read back and verified before it gets that name. It holds everything that was
        acknowledged before this call; a later forget does not reach into it. `restore` (or
        `pagefault restore`) makes a memory of it again. Raises `BadInput`, `StoreError`.
        """
        return _LOOP.run(self._memory.backup(target, progress))

    def records_to_open(self) -> set[Seq]:
        """The records that opening its sessions takes: those that stay here when their segments
        are archived.
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

        The answer is logged and its citations checked against what the model could see.
        `on_text` is given pieces of text as they arrive.

        `tools` are yours. A function is called when the model calls it: its name, docstring and
        type hints tell the model what it does and takes; those of one reply run side by side if
        they are `async`, else one after the other, each on a thread. What it raises, or what takes
        longer than `timeout_s`, is a failed call, which the model reads; after `calls_max` calls
        the model is told to answer. Of a tool that is given as a schema (as `request` takes it),
        the calls are left to you: `Answer.calls` lists them, and once each has its `tool_result`,
        `run` goes on. All of it is logged.
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
        """A new session that sees everything said here so far; or, with one of the times that `at`
        takes, what was said here by then. Pages are shared, not copied.
        """
        return Session(
            _LOOP.run(
                self.asynchronous.fork(name, turn=turn, seq=seq, time=time, checkpoint=checkpoint)
            )
        )

    def restore(self, checkpoint: str) -> Session:
        """Go back to a checkpoint: a new session of the same name that goes on from there. By this
        name opens the one that was used last; what was said since stays in this session, which
        opens by its id. Raises `BadInput` if there is no such checkpoint.
        """
        return Session(_LOOP.run(self.asynchronous.restore(checkpoint)))

    @property
    def control(self) -> str:
        """What memory may do with the conversation: see `set_control`."""
        return self.asynchronous.control

    def set_control(self, mode: str) -> None:
        """What memory may do with the conversation from now on:

        "assist": keep what is said, and bring back what was kept (the default); "capture_only":
        keep it, and bring in nothing, neither pages nor claims nor summaries; "paused": bring back
        what was kept, and write nothing more; "incognito": likewise, for a conversation that leaves
        nothing behind; "off": neither.

        That a mode was given is written down, unless nothing of the session ever was. What is said
        while nothing is kept is in this process alone, and gone when it ends or when the session is
        kept again; the conversation then goes on from what was written. Raises `BadInput` for one
        that began unkept and is to be kept: begin a new one.
        """
        _LOOP.run(self.asynchronous.set_control(mode))

    def user(
        self, text: str, *, speaker: str = "", occurred_at: str | datetime = "", key: str = ""
    ) -> PageId:
        """Log what the user typed and open the next turn. Returns the id of its (first) page.

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
        """Log what the model answered, where you call the model yourself; `model` is its name, if
        it is not the one that the memory was opened with.

        `calls` are all that it called with these words, in their order. Those of memory's own tools
        are served at once. The others are yours: `open_calls` lists them, and each waits for
        its `tool_result` before there can be another request. Returns the id of the first page,
        or "" where there is none: calls of memory alone make none.
        """
        return _LOOP.run(
            self.asynchronous.assistant(
                text, calls=calls, speaker=speaker, model=model, occurred_at=occurred_at, key=key
            )
        )

    def is_of_memory(self, call: ToolCall) -> bool:
        """Whether memory serves a call: of one of its own tools, where it offers them."""
        return _LOOP.call(lambda: self.asynchronous.is_of_memory(call))

    def open_calls(self) -> list[ToolCall]:
        """The calls of your own tools that wait for a `tool_result`, in the order they were made,
        whoever made them: a program that ended may have left some. Their arguments are as the model
        wrote them; of what another process logged, as they are kept: without secrets.
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
        """Hand in a text of any length. It is split into linked pages, to be searched and faulted.

        The window gets one line that says it is there. `source` is "docs", "files", "git",
        "terminal" or "chat".
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
        """Log what a tool of yours returned. A long result is split; its head enters the window.

        `tool_result(call_id, result)` answers a call that `assistant` logged, in whatever order.
        The result is a text, or whatever JSON can say, or bytes: those are kept as an artifact
        (of `media_type`, if their first bytes do not tell), which the result then names. Where the
        call failed, `is_error` says so, and the text why. Raises `BadInput` for a call that is not
        open.

        `tool_result(text, name="sql")` logs what a tool returned without being called.

        `source` says what the tool read, if it is not the conversation itself: "terminal", "git",
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
        """Keep bytes: an image, a recording, a file. Returns the id of the page that stands for it.

        The page's text is one line of name, type and size, and `text`, a caption say: by these it
        is shown and found. `media_type` is guessed from the name if it is not given. The bytes are
        kept as they are, not searched for secrets; `artifact_bytes` gives them back.
        """
        return _LOOP.run(
            self.asynchronous.artifact(
                data, name=name, media_type=media_type, text=text, occurred_at=occurred_at, key=key
            )
        )

    def say(self, items: Sequence[Incoming], *, origin: str) -> list[PageId]:
        """Log several things in one batch: all or none. Returns the id of every page made."""
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
        """State what happened, where no call tells it; `Memory.events` finds it. Returns the id of
        its (first) page.

        A "voice_transcript" is what the user said aloud, and opens a turn; a "command_intent" what
        somebody wants to be run: both are their `text`. The others have `facts`, and may have what
        was printed as `text`. "command_run": `argv` (a list), `exit_code`, `duration_ms`.
        "file_change": `path`, `change` (written, edited, deleted), and `content`, of which a keyed
        hash is kept alone. "test_result": `runner`, `passed`, `failed`, `skipped` (counts),
        `passing`, `failing` (names), `duration_ms`; without facts these are read from the text.
        Raises `BadInput` for what none of them has.
        """
        return _LOOP.run(
            self.asynchronous.record_event(
                event_type, text, facts=facts, occurred_at=occurred_at, key=key
            )
        )

    def pin(self, page_id: str) -> None:
        """Keep a page in the window whatever policy says. Raises `PinsFull`, naming the pins."""
        _LOOP.run(self.asynchronous.pin(page_id))

    def unpin(self, page_id: str) -> None:
        """Unpin a page: it may leave the window again. Harmless if it is not pinned."""
        _LOOP.run(self.asynchronous.unpin(page_id))

    def goal(self, text: str) -> PageId | None:
        """Make `text` the active goal: it stands in the window, pinned, until the next one does.

        Returns its page's id; an empty text ends the goal that stands, and returns none. Raises
        `PinsFull` if the pins leave no room for it, and `BadInput` if it is blank but not empty.
        """
        return _LOOP.run(self.asynchronous.goal(text))

    def undo(self) -> Undone:
        """Take back the newest pin, unpin or goal, or what a message made be held true (claims), or
        what was stated or retracted.

        What it took the place of stands again, as far as it is there: `CannotUndo` says what was
        forgotten or edited since, or that there is nothing left. `PinsFull` as for `pin`. It is
        written down like anything done, so `redo` works after a restart, too, until something else
        is pinned, aimed at or claimed. A fork undoes what it saw, for itself alone.
        """
        return _LOOP.run(self.asynchronous.undo())

    def redo(self) -> Undone:
        """Do again what the last `undo` took back. Raises as `undo` does."""
        return _LOOP.run(self.asynchronous.redo())

    def compress(self, page_id: str, level: int = 1) -> Page:
        """Let the next epoch keep a shorter form of a page: 1 reduced, 2 abstract.

        Returns what will stand for it, a page of its own; the page itself, where nothing can be
        left out. Level 0 stays as it was said, and `page` always gives it. Pins, and what stands
        in its place in the conversation, are shown whole all the same. In a conversation that comes
        through the proxy it stands in front, once its page has left. The memory's compressor is
        asked, if it was opened with one; `derived.made_by` of the page says whose the text is.
        """
        return _LOOP.run(self.asynchronous.compress(page_id, level))

    def flush(self) -> None:
        """Write every derived page that is only in memory, and wait for all that is queued."""
        _LOOP.run(self.asynchronous.flush())

    def checkpoint(self, name: str) -> Seq:
        """Name this point of the session, everything flushed. Returns the record's seq, by which
        the log tells what the session was here. Raises `BadInput` if there is one of that name.
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
        """Tell the session what a provider counted for the last request: it is written down, and
        the window is kept to the provider's own count from here on. The ledger tells what was read
        from its cache beside what should have been.

        `usage.input_tokens` is the whole prompt, what came from a cache included: OpenAI's
        `prompt_tokens`; of Anthropic's counts the sum of `input_tokens`,
        `cache_read_input_tokens` and `cache_creation_input_tokens`. `run` does this by itself.
        Raises `BadInput` for what is no count.
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
        or words of a file (`FileQuote`), which have to be there; or because of the claims that it
        is `derived_from`, which hold. Once one of these does not, this one is stale.

        Returns the claim's id; that of the claim that says so already, if one stands. `kind` is
        "decision", "preference", "fact", "project_fact", "procedure", "gotcha", "task" (where some
        work stands), "glossary", "entity", "context" or "rule" (which every request recites).
        `facts` say where it is true, whose it is and how long it is trusted.

        `origin` is the channel that the claim came through: "user_typed" if the user states it, who
        need not have used these words; of what a model proposes "model_generated". It has the
        user's authority if that is the user's channel and all the evidence was typed by the user;
        else it is proposed: recalled, never in the core.

        It takes the place of the claim on the same `subject`, or of `replaces`, a claim's id; what
        is proposed takes the place of nothing that has the user's authority. Raises `BadInput` for
        words that nobody said, and `NoSuchPage`.
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
    ) -> PageId:
        """Hold true what was said, word for word: `claim`, with the words themselves as evidence.

        They have to stand in the page `page_id`, or, without one, in anything that was said: what
        the user typed counts first, the newest before the rest. What was not said yet is logged
        first, by `user` or `document`.
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
            )
        )

    def retract(
        self, claim_id: str, *, origin: str = "user_typed", key: str = "", dry_run: bool = False
    ) -> PageId:
        """Take a claim back: it is kept, and holds no more. Returns the id of the note of that.

        Raises `BadInput` if it does not stand, and where something else than the user's channel
        would take back what has the user's authority. What was derived from it is stale then.

        With `dry_run`, here as everywhere, nothing is written, and the same is raised.
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
        """Change a claim; what is None stays as it is. Returns the id that it has from then on. The
        old one is kept, closed and linked, and `undo` brings it back.

        Other words are another claim: what was derived from the old one is stale. Anything else
        leaves it the same claim. Its evidence is looked for anew, and decides with `origin` about
        its authority, as of `claim`. Raises as `claim` and `retract` do.
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
        """Put one claim in the place of several of one kind, on the evidence of all of them. Where
        they say different things, `value` says what holds. Returns its id; the others are kept,
        closed and linked. Raises as `claim` and `retract` do.
        """
        return _LOOP.run(
            self.asynchronous.merge_claims(
                claim_ids, value=value, subject=subject, origin=origin, key=key, dry_run=dry_run
            )
        )

    def confirm_claim(
        self, claim_id: str, digest: str, *, key: str = "", dry_run: bool = False
    ) -> PageId:
        """Give a proposed claim the user's authority: a person read it, and gives the `digest` that
        `claims` told with just these words. Returns the id that it has from then on; it takes the
        place of what stands on its subject. For a person: no agent should reach this.

        Raises `BadInput` for another digest, and for a claim that does not hold.
        """
        return _LOOP.run(
            self.asynchronous.confirm_claim(claim_id, digest, key=key, dry_run=dry_run)
        )

    def expire_claim(
        self, claim_id: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Say that a claim's time is over. It is kept, no request shows it as if it held, and what
        was derived from it is stale. `undo` takes that back. Raises as `retract` does.
        """
        _LOOP.run(self.asynchronous.expire_claim(claim_id, origin=origin, dry_run=dry_run))

    def contradict_claim(
        self, claim_id: str, other: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Say that two claims cannot both be true. Both stand, each tells of the other, and whoever
        knows retracts or edits one. Raises `BadInput` unless both stand, and `NoSuchPage`.
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
        """Check claims, or all that stand: whether the words, files, commands and tests that they
        rest on are there and still say so, and their branch is. Files and branches are looked at in
        the project's folder `root`. A claim that fails is stale until it passes; one that passes is
        trusted for as long as its kind is, from now on.

        With a `verdict`, "pass" or "fail", a person says so of the named claims, whatever is found;
        `undo` takes that back. Raises `BadInput`, and `NoSuchPage` for an id that is no claim's.
        """
        return _LOOP.run(
            self.asynchronous.validate_claims(
                claim_ids, root=root, verdict=verdict, dry_run=dry_run
            )
        )

    def reflect(self, *, dry_run: bool = False) -> tuple[Lesson, ...]:
        """Make lessons of finished work: for each command or run of tests that failed here and went
        well later, a proposed claim of the kind "gotcha" on both results, with the files that were
        changed in between. Asked again, it makes only what is new. Returns all of them.
        """
        return _LOOP.run(self.asynchronous.reflect(dry_run=dry_run))

    def core(self, *, proposed: bool = False) -> list[CoreSection]:
        """The sections of core memory, in the order in which they were begun; or what was
        `proposed` for them and stands nowhere yet, oldest first.
        """
        return _LOOP.run(self.asynchronous.core(proposed=proposed))

    def core_append(
        self, section: str, text: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> CoreSection:
        """Add a line to a section of core memory ("human", "persona", …), which stands in every
        request from the next on; the first line begins the section.

        Raises `CoreFull` where a section, or all of them, would be too large: its message names the
        bound. With `limits.core_overflow="archive"` the section's oldest lines become notes
        instead (`archived`). What came through a stranger's channel, or from a model that had a
        stranger's text before it, is only `proposed`.
        """
        return _LOOP.run(
            self.asynchronous.core_append(section, text, origin=origin, dry_run=dry_run)
        )

    def core_replace(
        self, section: str, old: str, new: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> CoreSection:
        """Put `new` in the place of the first `old` in a section; nothing for an empty `new`.

        Raises `BadInput` where there is no such section, or it does not say `old`, and `CoreFull`.
        """
        return _LOOP.run(
            self.asynchronous.core_replace(section, old, new, origin=origin, dry_run=dry_run)
        )

    def core_accept(self, page_id: str) -> CoreSection:
        """Let a version that was proposed stand, on the user's word. Raises `NoSuchPage`, and
        `CoreFull` where there is no room for it.
        """
        return _LOOP.run(self.asynchronous.core_accept(page_id))

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
    ) -> ArchivalNote:
        """Write a note that is searched, and stands in no request by itself.

        `type` is "message", "fact", "decision", "entity" or "context"; `area` tells personal facts
        ("personal") from notes of work ("task"). `replaces` is the note that it corrects, which is
        kept as history. `contradicts` of what is returned are notes that tell something else of the
        same, as far as their form shows. A stranger's text that reads like an order is kept in
        quarantine, or refused with `limits.hostile_notes="reject"`.
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
            )
        )

    def archival_search(
        self, query: str, *, limit: int = HEAT_RECALL_LIMIT, type: str = "", area: str = ""
    ) -> list[ArchivalHit]:
        """The notes that bear on a query, best first: those of this session, and of every session
        of the same user (`Memory.assign`). Of one `type` or `area` alone, if one is named. None
        where nothing bears on it.
        """
        return _LOOP.run(
            self.asynchronous.archival_search(query, limit=limit, type=type, area=area)
        )

    def conversation_search(self, query: str, *, limit: int = HEAT_RECALL_LIMIT) -> SearchResult:
        """What user and assistant said in this conversation that bears on a query, whether or not
        the window still shows it.
        """
        return _LOOP.run(self.asynchronous.conversation_search(query, limit=limit))

    def import_blocks(
        self, text: str, *, approve: bool = False, dry_run: bool = False
    ) -> ImportedBlocks:
        """Bring in core memory blocks and archival rows of MemGPT or Letta, given as their JSON.

        Blocks become sections, in the place of those of their names, and rows notes; what is there
        already is not written again. Unless you `approve` what they say, it is imported: sections
        are proposed, and notes are searched and never brought in by themselves. What has no room
        is `left_out`, and named. Raises `BadInput` for what is no such JSON.
        """
        return _LOOP.run(self.asynchronous.import_blocks(text, approve=approve, dry_run=dry_run))

    def memory_tools(self) -> list[Callable[..., Any]]:
        """The five tools of core and archival memory, for `run(engine, tools=…)`:
        core_memory_append, core_memory_replace, archival_memory_insert, archival_memory_search and
        conversation_search. While they are offered, the rules in the request tell of them.
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
        """Note something down that stands in every request from the next on, while it is used.

        Where hot memory has no room (`limits.hot_tokens_max`), the least relevant items leave, of
        equals the oldest, four at a time: to warm memory what was recalled more than
        `limits.warm_accesses` times, else to cold. Raises `HotFull` for what cannot fit, and where
        `limits.auto_spill` is off.
        """
        return _LOOP.run(
            self.asynchronous.heat_add(
                text, type=type, metadata=metadata, origin=origin, key=key, dry_run=dry_run
            )
        )

    def heat_hot(self) -> list[HeatItem]:
        """The items that are hot, the newest first, each with what it says."""
        return _LOOP.run(self.asynchronous.heat_hot())

    def heat_spill(
        self, item_ids: Sequence[str] = (), *, count: int = SPILL_ITEMS, dry_run: bool = False
    ) -> SpillResult:
        """Take items out of hot memory: these, or the `count` least relevant, of equals the oldest.
        They leave the window with the next epoch. Raises `NoSuchPage` for what is no item.
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
        """The warm and cold items that bear on a query, best first: of these `types` alone, if any
        are named, and none less relevant than `min_relevance`.

        Each that is found counts as used. It becomes hot if it is more relevant than
        `limits.promote_relevance`, or was recalled more than `limits.warm_accesses` times, unless
        `auto_promote` is off (by default as `limits.auto_promote` says). What bears on nothing is
        not found, and not counted. `dry_run` counts and moves nothing.
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
        """Make an item hot, or any other page of the session. What has to leave for it leaves two
        at a time. Raises `NoSuchPage`, and `HotFull` where it cannot fit.
        """
        return _LOOP.run(self.asynchronous.heat_promote(item_id, dry_run=dry_run))

    def heat_prune(
        self, item_ids: Sequence[str] = (), *, count: int = 0, dry_run: bool = False
    ) -> list[PageId]:
        """Archive items: these, or the `count` least relevant cold ones, else those beyond
        `limits.cold_items_max`. Nothing is erased: a search still finds them, `heat_recall` does
        not. Returns their ids.
        """
        return _LOOP.run(self.asynchronous.heat_prune(item_ids, count=count, dry_run=dry_run))

    def heat_status(self) -> HeatStatus:
        """How full hot, warm and cold memory are, and what to spill, recall or prune."""
        return _LOOP.run(self.asynchronous.heat_status())

    def form(
        self,
        engine: Engine | None = None,
        *,
        former: Former | None = None,
        rest: bool = False,
        dry_run: bool = False,
    ) -> list[Formed]:
        """Form memory of every range of turns that is closed and was not formed yet (about 2,000
        tokens each), and return these.

        `engine`, which should be the one that the session runs with, is asked with the request that
        it was sent last and one message more, so that nearly all of it is read from a provider's
        cache. Without one, sentences are quoted by rules. `former` is one of your own. What is
        proposed is kept where the pages that it cites say so: sentences of a summary, which an
        epoch shows `limits.formed_after_turns` later; claims of every kind of card, which are
        proposed until a person states them or the user agrees.

        `rest` says that nobody goes on with the conversation for now: its last turns are formed,
        too, though more could follow on them, and sections of core memory are proposed
        (`core(proposed=True)`), which stand once `core_accept` takes them.

        `dry_run` asks nobody, and tells which ranges these are, and the tokens of each request.

        With `formation="on"` that happens after each turn of `run`, with nobody waiting, and as at
        `rest` once nothing was said for `limits.formation_rest_s`. It stops, without an error,
        where the budget is spent or the request would not fit the window. Raises `EngineError`
        where the engine failed: the range will be tried again by a later call, up to
        `limits.formation_tries_max` times. Raises `BadInput` for a proxied session.
        """
        return _LOOP.run(self.asynchronous.form(engine, former=former, rest=rest, dry_run=dry_run))

    def formations(self) -> list[Formed]:
        """The ranges of this session that were taken up, oldest first, and what became of each;
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

        At a turn's first request the runtime pages in by itself what the message calls for. With a
        `format` it is the body of a call, less the model's name: "openai" (Chat Completions),
        "openai-responses", "anthropic" (Messages; it wants `max_tokens` besides) or "gemini"
        (generateContent).

        `tools` are your own that the model may call besides, each a `ToolSpec` or what one of these
        formats takes. They stay until others are given (`[]`: none), count against the window, and
        another set begins an epoch. Raises `BadInput` while a call waits for its `tool_result`, and
        `WindowTooSmall` where the tools leave no room to converse.
        """
        return _LOOP.run(self.asynchronous.request(cast("Any", format), tools=cast("Any", tools)))

    def call(self, call: ToolCall, *, said: Annotated[str, ANY_TEXT] = "") -> str:
        """Serve one tool call of the model and return the result's text.

        Never raises for what the model got wrong: a refusal is a result too, and is logged; only
        where the window has no room left for it is a call refused and not kept. The
        record of the call is durable before the next request is, not before this returns.
        """
        return _LOOP.run(self.asynchronous.call(call, said=said))

    def page(self, page_id: str, *, details: bool = False) -> Page:
        """A page at level 0. Raises `NoSuchPage`; `RecordGone` if it was forgotten.

        With `details` it also has what its record does not tell: whose word it is at most, given
        all that went into it (`label`), when it was last accessed and how often, for which the
        session's whole log is read, and the `dimensions` or `duration_seconds`
        of its bytes, for which these are.
        """
        return _LOOP.run(self.asynchronous.page(page_id, details=details))

    def tiers(self, page_ids: Sequence[str]) -> dict[PageId, Tier]:
        """Where the content of each of these pages is now: L0 the window, L1 memory (where it was
        made of others, and is not written yet), L2 the log, L3 the blob store, L4 the archive.
        Raises `NoSuchPage`.

        Of a proxied session none is L0: what the window holds is its client's affair.
        """
        return _LOOP.run(self.asynchronous.tiers(page_ids))

    def at_level(self, page_id: str, level: int) -> tuple[Level, str, int]:
        """A page at `level` or the nearest fuller one: what level that is, text and tokens.

        A picture's text is its caption, which is level 2 at most. Reads, and keeps nothing.
        """
        return _LOOP.run(self.asynchronous.at_level(page_id, level))

    def artifact_bytes(self, page_id: str) -> bytes:
        """The bytes of an artifact. Raises `BadInput` for a page that has none, and as `page`."""
        return _LOOP.run(self.asynchronous.artifact_bytes(page_id))

    def defer(self, page_id: str) -> DeferredPage:
        """Begin to read a page and do not wait for it: for answers that stream.

        Gives a placeholder at once, and the page when it is there. Raises `NoSuchPage`.
        """
        return DeferredPage(_LOOP.run(self.asynchronous.defer(page_id)))

    def claims(self) -> list[ClaimInfo]:
        """What was decided, preferred and told here, oldest first, with what became of it."""
        return _LOOP.run(self.asynchronous.claims())

    def cards(self) -> list[Card]:
        """The same as memory cards, by the names that requirement 004 gives their fields; but for
        notes that take a claim back.
        """
        return _LOOP.run(self.asynchronous.cards())

    def known(self, query: str, *, kinds: Sequence[str] = ()) -> Knowledge:
        """Whether something is in memory: the claims that hold of it, or else what was said of it;
        or else why not, be it that nobody said it, or that it was taken back, is stale or expired.
        It goes by words, as searches do: what is called otherwise in the question is not found.

        With `kinds`, as of `claim`, only claims of these answer: what was talked of, and never
        decided, is no decision in memory.
        """
        return _LOOP.run(self.asynchronous.known(query, kinds=kinds))

    def resident(self) -> list[PageId]:
        """The pages that the model can see in full, coldest first."""
        return _LOOP.call(self.asynchronous.resident)

    def host_tools(self) -> list[str]:
        """The names of your own tools that a request offers."""
        return _LOOP.call(self.asynchronous.host_tools)

    def pack(
        self,
        query: str = "",
        *,
        pack_type: str = "",
        budget: int = BUDGET_TOKENS,
        at: Time = "",
        unproved: bool = False,
    ) -> ContextPack:
        """What this session holds that bears on `query`: what was decided, what is worked at, which
        files changed, what is open, and the pages that bear on it, each line with what it rests on.
        Its text comes to `budget` tokens at most.

        `pack_type` is "task", for a query, or "boot", to begin with, which needs none and has what
        was said last; by itself the one or the other as there is a query. Where nothing bears on
        it, `matched` is 0 and what was said last is in it. `at` is when it is made (ISO 8601, or
        milliseconds since 1970), else now: the same session, question and time give the same bytes.

        No claim is in it that is stale, or that nobody confirmed, unless `unproved` asks for them.
        Nothing is that waits in quarantine or was withdrawn. Raises `BadInput`, and where memory
        brings nothing in.
        """
        return _LOOP.run(
            self.asynchronous.pack(
                query, pack_type=pack_type, budget=budget, at=at, unproved=unproved
            )
        )

    def handoff(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What somebody needs who goes on with this session: what changed, what failed, what is
        next, what was decided, and what was said last. Otherwise as `pack`.
        """
        return _LOOP.run(self.asynchronous.handoff(budget=budget, at=at))

    def synopsis(self, *, budget: int = BUDGET_TOKENS, at: Time = "") -> ContextPack:
        """What this session is about, and how its work is run: its summaries, documents, commands
        that were run often, and what holds. Told from the log each time, so it is never out of
        date. Otherwise as `pack`.
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
        """What changed here since a time, and by these `commits`: files, tests that fail now or
        pass again, decisions that were made or taken back. Otherwise as `pack`.
        """
        return _LOOP.run(self.asynchronous.digest(since, commits=commits, budget=budget, at=at))

    def mounts(self) -> list[Mount]:
        """The regions that this session mounts, or inherited from what it was forked off."""
        return _LOOP.run(self.asynchronous.mounts())

    def mount(self, region: str, mode: str = "ro", *, dry_run: bool = False) -> Mount:
        """Look into a region from now on: what it holds is found, recalled and faulted like what
        was said here, and a hit's `source` names it. "rw" brings pages there, too (`promote`,
        `share`).

        The region's policy must let the session do so: `AccessRefused` otherwise. Where its owner
        is to agree as well, nothing of it is seen until then (`is_open`, `why`). `dry_run` only
        tells. Raises `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.mount(region, mode, dry_run=dry_run))

    def unmount(self, region: str, *, dry_run: bool = False) -> Mount:
        """Look into a region no more: what the window shows of it leaves before the next request.
        What it was: a region that is not mounted is left so. Raises `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.unmount(region, dry_run=dry_run))

    def promote(self, page_id: str, region: str, *, dry_run: bool = False) -> Promotion:
        """Bring a page (every part of its text) to a region that is mounted "rw", where the policy
        lets the session promote. Its origin stays what it was, and so do speaker, title and time;
        forgetting the page here forgets it there. Of an artifact, its text alone.

        A page is brought once: again, it is the one that is there. Raises `AccessRefused`,
        `RegionNotFound`, `NoSuchPage`, `RecordGone`.
        """
        return _LOOP.run(self.asynchronous.promote(page_id, region, dry_run=dry_run))

    def share(self, text: str, region: str, *, title: str = "", dry_run: bool = False) -> Promotion:
        """Write what the user typed into a region that is mounted "rw", where the policy lets the
        session write. It stands in no conversation. Raises `AccessRefused`, `RegionNotFound`.
        """
        return _LOOP.run(self.asynchronous.share(text, region, title=title, dry_run=dry_run))

    def status(self) -> Status:
        """What the session holds and what is left of its window and budgets, as of now."""
        return _LOOP.run(self.asynchronous.status())

    def abi(self) -> MemoryABI:
        """What the window holds and could still take, for programs that weigh what memory costs."""
        return _LOOP.call(self.asynchronous.abi)

    def faults(self) -> list[Event]:
        """Every fault of this session, oldest first, served or refused."""
        return _LOOP.run(self.asynchronous.faults())

    def metrics(self, *, per_turn: bool = False) -> Metrics:
        """What this session tells about itself, folded from its log; each figure is defined in
        `service/inspection/metrics.py`. A fork counts its own turns.
        """
        return _LOOP.run(self.asynchronous.metrics(per_turn=per_turn))

    def ledger(self) -> Entries:
        """Every request of this session: what it shared with the one before, what the provider
        reported. `Entry.line(prices)` tells what it should have cost.
        """
        return _LOOP.run(self.asynchronous.ledger())

    def memory_map(self, *, rows: int = ROWS, columns: int = COLUMNS) -> MemoryMap:
        """Which messages each request showed: at most so many rows of messages, and columns of
        requests. Raises `BadInput` where one of them is less than 1.
        """
        return _LOOP.run(self.asynchronous.memory_map(rows=rows, columns=columns))

    def recollections(self) -> list[Recollection]:
        """The turns for which pages were brought back, oldest first: which, and what the answer
        cites. A fork tells its own.
        """
        return _LOOP.run(self.asynchronous.recollections())

    @property
    def prices(self) -> PriceList:
        """What the requests of this session are weighed by: the prices, or the model's, that this
        memory was opened with; else those that are written down with the last request.
        """
        return self.asynchronous.prices

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(before, now)` whenever the pressure on the window changes, with the
        request that changes it. Returns what ends that.

        What it raises, whoever asked for that request gets; asked again, they get the request.
        """
        return _LOOP.call(lambda: self.asynchronous.on_pressure(callback))

    def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that this session can see, oldest first, its ancestors' included."""
        return _LOOP.run(self.asynchronous.checkpoints())

    def at(
        self,
        *,
        turn: int | None = None,
        seq: int | None = None,
        time: str | int | None = None,
        checkpoint: str | None = None,
    ) -> Moment:
        """What the window held at the end of a turn, after a record, at a checkpoint, or at a time
        (ISO 8601, UTC without a zone, the day's end without an hour; or milliseconds since 1970).

        Raises `BadInput` for a time before the session began and for a turn, record or checkpoint
        that has not been.
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
        """A page as it stood at one of the times that `at` takes: where a message was edited, or a
        claim took the place of another, the page of the words that stood then, whichever of them
        `page_id` is. Raises `NoSuchPage`; `RecordGone` if these words were forgotten; `BadInput` if
        none of them had been written by then.
        """
        return _LOOP.run(
            self.asynchronous.page_at(page_id, time, turn=turn, seq=seq, checkpoint=checkpoint)
        )

    def sent(self, turn: int | None = None, *, request: int | None = None) -> Sent:
        """A past request, byte for byte as it was packed: the last of a turn, or the one of this
        number (`ledger` lists them). Where something of it was forgotten since, `missing` says so.

        Raises `BadInput` if there was none: a proxied client's requests are its own.
        """
        return _LOOP.run(self.asynchronous.sent(turn, request=request))

    def items(self) -> list[ConversationItem]:
        """The conversation, item by item: messages, calls, results, and what no page holds of a
        proxied one, which is reasoning, media and what only its provider knows.
        """
        return _LOOP.run(self.asynchronous.items())

    def client_json(self, message_seq: int) -> str:
        """A message of a proxied session as its client sent it for the first time: the JSON that
        the client's own was, less secrets. `message_seq` is that of an item (`items`).

        Raises `BadInput` if this is no message of this session, and `RecordGone` if it was
        forgotten, with any page of its turn.
        """
        return _LOOP.run(self.asynchronous.client_json(message_seq))

    def diff(self, before: int, after: int) -> Difference:
        """What changed in the window from the end of one turn to the end of another."""
        return _LOOP.run(self.asynchronous.diff(before, after))

    def history(self, page_id: str = "", *, actor: str = "") -> list[Movement]:
        """Everything that happened to a page, or without one to all pages, oldest first; of one
        actor (user, model, tool, system) alone, if one is named. Raises `NoSuchPage`.
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
