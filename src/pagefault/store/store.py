"""A log, its index and its blobs, opened as one: writing, leases, forgetting and upkeep.

Any number of processes may have one root open; each writes within `Store.writing`. The log is the
truth: if a process dies before it has indexed its records or finished a forget, the next one
completes that from the log. Opening belongs to the engine: `embedded/root.py`,
`in_memory/store.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Lock, get_ident
from typing import Final

from pagefault.model.errors import (
    PagefaultError,
    PlanOutdated,
    SessionNotFound,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreLatched,
    StoreMissing,
)
from pagefault.model.events import (
    Body,
    ControlSet,
    Descent,
    Draft,
    Event,
    ForgetBegun,
    ForgetDone,
    Redacted,
    RetentionSet,
    Ruling,
    ScrubBegun,
    ScrubDone,
    SessionLeased,
    SessionOpened,
    SetAside,
    Shared,
    Taken,
    Upkeep,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor
from pagefault.model.page import EVERYTHING, SessionRow
from pagefault.model.progress import Progress
from pagefault.model.quotas import Quotas
from pagefault.store.allowance import Allowance
from pagefault.store.api import (
    Advice,
    BlobStore,
    EventLog,
    GaveWay,
    PageIndex,
    VectorPlace,
    VectorStore,
    VectorsUnusable,
    WriterLock,
)
from pagefault.store.controls import GIVEN, control_of
from pagefault.store.fold import BEGUN, DONE, ORIGIN_RULINGS, RECEIPTS, REGION_RULINGS
from pagefault.store.latch import Latch, told
from pagefault.store.leaf import Leaf
from pagefault.store.leases import Leased, Leases
from pagefault.store.references import References, going, ranges, references, targets
from pagefault.store.soundness import blobs_of

STORE: Final = SessionNo(0)
"""The session of records about the store itself."""

_BATCH: Final = 5_000  # records folded per transaction: larger ones leave less to merge
_SLICES: Final = 8  # of upkeep, after each batch
_NOTICED: Final = (*RECEIPTS, *ORIGIN_RULINGS, *REGION_RULINGS, *GIVEN)
_LOOKS_MAX: Final = 5  # checks of the index, if each gave way to a forget
_RECEIPT_WAIT_S: Final = 30.0  # longer than any forget whose process still lives
_RECEIPT_LOOK_S: Final = 0.05


def about_store(body: Body) -> Draft:
    """A record by the user about the store itself, or one that opens a session."""
    return Draft(session=STORE, turn=TurnNo(0), actor=Actor.USER, origin=RUNTIME, body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of `verify`. Sound if `problems` is empty."""

    records: int
    segments: int
    problems: tuple[str, ...]
    advice: tuple[str, ...] = ()  # remedies, most urgent first
    set_aside: tuple[str, ...] = ()  # records that no fold can take


@dataclass(slots=True)
class Store:
    """A log, its index and its blobs. Only one thread may call writing methods, within `writing`.

    Invariants, true whenever `writing` begins its block:
     (1) No other process writes, and the log's end is known.
     (2) The index holds every record of the log.
     (3) A lease that is not in doubt is ours.
    """

    log: EventLog
    index: PageIndex
    blobs: BlobStore
    vector_place: VectorPlace
    secret: bytes = field(repr=False)  # of this root; keys every hash of content
    leases: Leases
    doubt: str = ""  # why this cannot be the secret that the root was made with
    is_adopted: bool = True  # the opener vouches for its claims
    reads_only: bool = False  # opened for reading: others may write
    rebuilt: str = ""  # why opening rebuilt the index, if it did
    unread: int = 0  # damaged records that catching up could not fold
    aside: int = 0  # records that no fold can take, at opening
    unfinished: str = ""  # why an earlier forget could not be finished, if so
    forgotten_keys: set[tuple[SessionNo, str]] = field(default_factory=set)  # here, since opening
    forgets: int = 0  # forgets and access rulings by other processes, as noticed
    on_forgotten: Callable[[], None] = lambda: None  # called for each, in any thread
    controlled: Seq = NOTHING  # the last control mode set by another process, as noticed
    acknowledges: bool = True  # whether synced means durable
    follows: bool = False  # the index is our own, in memory: only we update it
    is_opening: bool = False  # until `let_others_in`, which releases the lock
    keeps: bool = True  # false for an overlay, which no control mode forbids to write
    lock: WriterLock | None = None  # if we and others may write
    advice: Advice = field(default_factory=Advice)
    vectors: VectorStore | None = None  # once somebody asked for them
    closing: ExitStack = field(default_factory=ExitStack)  # closed with it, last
    allowance: Allowance | None = None  # if there are quotas: see `bound`
    damaged: str = ""  # the damage to the index, if it turned out to be damaged
    mended: int = 0  # rebuilds for damage since opening
    behind: int = 0  # records that the index on disk lacks; this one, in memory, has them
    _depth: int = 0  # nesting depth of `writing`
    _writer: int = 0  # the thread inside it
    _known: Seq | None = NOTHING  # the log's head when `writing` last ended
    _kept: dict[SessionNo, Seq] = field(default_factory=dict)  # may be written, as of `controlled`
    _receipt_seen: Seq = NOTHING  # the last known record of a forget
    _is_to_finish: bool = False  # it may be of a process that was killed
    _is_unsettled: bool = False  # the log may be ahead of the index
    _is_taking_in: bool = False  # the log has read others' writes, other state has not
    _noticing: Lock = field(default_factory=Lock)
    _latch: Latch = field(default_factory=Latch)

    def __post_init__(self) -> None:
        self._depth = int(self.is_opening)
        self._writer = get_ident()

    # --- other processes ----------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within this block no other process writes to the root; others' writes have been read.

        Blocks may be nested. `StoreBusy`, with nothing done, if another process holds it too long.

        If a block fails before its writes are settled, or unexpectedly, nothing is written after
        it: see `_the_last_if_half_done`.
        """
        if self._depth == 0 and self.lock is not None:
            try:
                self.lock.acquire()
            except StoreMissing as gone:
                self._latch.refuse_from_now(gone)
                raise
        self._depth += 1
        self._writer = get_ident()
        try:
            if self._depth == 1:
                self._take_in()
            with self._the_last_if_half_done():
                yield
            self._known = self._head_if_known()
        finally:
            self._depth -= 1
            if self._depth == 0 and self.lock is not None:
                self.lock.release()

    @contextmanager
    def _the_last_if_half_done(self) -> Iterator[None]:
        """`StoreLatched` if a block writes, and fails before that is settled. Its caller believes
        that nothing was written, and would write it again under the same page ids.

        Expected failures after that, as in a forget that has begun, can be retried.
        """
        head, was_unsettled = self._head_if_known(), self._is_unsettled
        try:
            yield
        except StoreLatched:
            raise
        except Exception as failure:
            if isinstance(failure, PagefaultError) and not self._is_unsettled:
                raise
            if self._head_if_known() == head is not None:
                self._is_unsettled = was_unsettled
                raise
            raise self._latched("what was written could not be finished", failure) from failure

    def _head_if_known(self) -> Seq | None:
        """The log's head; None if the log cannot say: then it is read again."""
        try:
            return self.log.head()
        except StoreError:
            return None

    def _take_in(self) -> None:
        """Read what other processes wrote since the last look. Nearly always nothing."""
        log = self.log
        if self.refusal is not None:
            return
        if not log.is_current():
            self._is_taking_in = True  # until done, readers here must look for themselves
            log.refresh(self.index.promised_seq())
        if log.head() == self._known or log.refusal is not None:
            self._is_taking_in = False
            return
        self.catch_up()  # a writer may have been killed between log and index
        self.leases.doubt()
        self._notice()
        self._is_taking_in = False
        if self._is_to_finish:
            self.finish_if_possible()
            self._is_to_finish = False

    @property
    def is_writing_here(self) -> bool:
        """Whether the current thread is in `writing`."""
        return self._depth > 0 and self._writer == get_ident()

    def is_current(self) -> bool:
        """Whether `look` would find nothing new. Reads no file."""
        return not self._is_taking_in and self.log.is_current()

    def look(self) -> None:
        """Notice what other processes wrote. Takes no lock and never waits: for readers."""
        log = self.log
        if not self.is_current():
            if self.reads_only or self.follows:
                log.refresh()
            if self.follows:
                self._follow()
            self._notice()

    def _follow(self) -> None:
        """Fold what others wrote into our own index, and drop from it what they forgot."""
        with self._noticing:
            after = self.index.applied_seq()
            self.catch_up()
            for seq in self.index.events(STORE, types=DONE, after=after):
                done = self.log.get(seq).body
                if not isinstance(done, ForgetDone | ScrubDone):
                    continue
                begun = self.log.get(done.begun).body
                if isinstance(begun, ForgetBegun):
                    self.index.forget(targets(begun), begun.sessions)
                elif isinstance(begun, ScrubBegun):
                    self.index.revise([self.log.get(target) for target in targets(begun)])

    def _notice(self) -> None:
        """Notice whether others forgot something, ruled on access, or set a control mode."""
        with self._noticing:
            after = self._receipt_seen
            seqs = self.index.events(STORE, types=_NOTICED, after=after)
            if not seqs:
                return
            self._receipt_seen = seqs[-1]
            given = self.index.events(STORE, types=GIVEN, after=after)
            self.controlled = max([self.controlled, *given])
            if set(seqs) <= set(given):
                return
            self._is_to_finish = True
            self.forgets += 1
            self._recount()
            self.on_forgotten()  # others looking wait until no cache holds it

    def lease(self, session: SessionNo) -> Leased:
        """Lease a session, to write to it. In `writing`.

        `SessionBusy`, naming it, if another process holds it; `SessionNotFound` if it is gone.
        """
        self.check_writable()
        row = self._row(session)
        if self.leases.is_still_ours(row):
            return Leased(row.last_seq, row.lease_seq)
        holder, seq = self._holder(row), row.lease_seq
        if holder != self.leases.instance:
            self.leases.check_free(row, holder)
            seq = self._hand_over(row, self.leases.instance)
        self.leases.took(session, seq)
        return Leased(row.last_seq, seq)

    def give_up(self, session: SessionNo) -> Leased | None:
        """Give up the lease of a session, so that any process may write to it; returns the record
        of that. None if it is not ours, or no other process can write here. In `writing`.
        """
        row = self.index.session(session)
        if row is None or self.leases.presence is None or not self.leases.is_still_ours(row):
            self.leases.lost(session)
            return None
        self.check_writable()
        seq = self._hand_over(row, "")
        self.leases.lost(session)
        return Leased(row.last_seq, seq)

    def _hand_over(self, row: SessionRow, holder: str) -> Seq:
        """Record another holder of a session's lease, or none."""
        body = self.log.get(row.lease_seq).body
        fence = body.fence + 1 if isinstance(body, SessionLeased) else 1
        draft = Draft(
            session=row.session,
            turn=TurnNo(max(row.turns - 1, 0)),
            actor=Actor.SYSTEM,
            origin=RUNTIME,
            body=SessionLeased(holder=holder, fence=fence),
        )
        events = self.log.append([draft])
        self.settle(events, sync=True)
        return events[0].seq

    def _holder(self, row: SessionRow) -> str:
        """The opening that a session's last lease names; "" if that was given up."""
        body = self.log.get(row.lease_seq).body
        return body.holder if isinstance(body, SessionOpened | SessionLeased) else ""

    def check_free(self, session: SessionNo) -> None:
        """Raise what `lease` would, without leasing. In `writing`."""
        self.check_writable()
        row = self._row(session)
        if not self.leases.is_still_ours(row):
            holder = self._holder(row)
            if holder != self.leases.instance:
                self.leases.check_free(row, holder)

    def _check_fence(self, session: SessionNo) -> None:
        """Raise unless this session is still ours."""
        if session == STORE or self.leases.is_ours(session):
            return
        row = self._row(session)
        if not self.leases.is_still_ours(row):
            raise self.leases.taken_over(row.called, self._holder(row))

    def check_kept(self, session: SessionNo) -> None:
        """Raise `StoreBusy` if another process has, since this opening, set a control mode that
        keeps nothing of the session. In `writing`, so that the mode cannot change meanwhile.
        """
        if (
            session == STORE
            or not self.keeps
            or self._kept.get(session, NOTHING) >= self.controlled
        ):
            return
        control = control_of(self.log, self.index, self._row(session))
        if not control.captures:
            raise StoreBusy(
                f"the session was given another control mode in the meantime: it is {control}",
                hint="repeat the call: it continues in that mode",
            )
        self._kept[session] = self.controlled

    def _row(self, session: SessionNo) -> SessionRow:
        row = self.index.session(session)
        if row is None:  # another process forgot it
            self.leases.lost(session)
            raise SessionNotFound(str(session))
        return row

    # --- writing ------------------------------------------------------------------------------

    def bound(self, quotas: Quotas, now_ms: Callable[[], int]) -> None:
        """Enforce these quotas from now on. Before the first write."""
        self.allowance = Allowance(quotas, now_ms)
        self.allowance.begin(self.index)

    def check_writable(self) -> None:
        """Raise if writing is not allowed."""
        self._latch.check()
        self.log.check_writable()

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        planned: int | None = None,
        unfenced: Collection[SessionNo] = (),
    ) -> list[Event]:
        """Append all drafts or none. `settle` makes them durable and indexed.

        Sessions must be ours, except those in `unfenced`, which anybody may write to: else
        `SessionBusy`. `StoreBusy` if nothing of them, or of their source, is kept (`check_kept`);
        `QuotaExceeded` if a quota has no room. `planned` is the value of `forgets` when the drafts
        were made, if they rest on what could be forgotten: `PlanOutdated` if it has changed, or if
        a blob that they name was deleted since it was put.
        """
        self.check_writable()
        if planned is not None and planned != self.forgets:
            raise PlanOutdated("something was forgotten since this was planned")
        for draft in drafts:  # blobs are deleted only in `writing`, too
            for blob in blobs_of(draft.body):
                if not self.blobs.holds(blob):
                    raise PlanOutdated(f"blob {blob} was deleted since it was put")
        for session in {draft.session for draft in drafts}.difference(unfenced):
            self._check_fence(session)
            self.check_kept(session)
        for draft in drafts if unfenced else ():
            if isinstance(draft.body, Shared):
                self.check_kept(draft.body.by)
        if self.allowance is not None:
            self.allowance.check(drafts, self.index, self.log.head())
        with self._the_last_if_half_done():
            self._is_unsettled = True
            events = self.log.append([self._with_holder(draft) for draft in drafts])
            for event in events:
                if isinstance(event.body, SessionOpened):
                    self.leases.took(event.session, event.seq)
            if self.allowance is not None:
                self.allowance.note(events)
            return events

    def _with_holder(self, draft: Draft) -> Draft:
        """Opening a session leases it, without a record for that."""
        if not isinstance(draft.body, SessionOpened):
            return draft
        return replace(draft, body=replace(draft.body, holder=self.leases.instance))

    def settle(self, events: Sequence[Event], *, sync: bool) -> None:
        """Sync if asked, and index. `StoreLatched` if that fails: nothing may follow records that
        are in the log and not in the index, and a caller that retried would write them twice.
        """
        if not events:
            return
        if sync:
            self.log.sync()  # if that fails, `writing` knows that it is not settled
        try:
            aside = self.index.apply(events, synced=sync and self.acknowledges)
        except Exception as failure:
            what = "the index could not be written"
            raise self._latched(what, failure, is_for_room=_is_disk_s(failure)) from failure
        if aside:  # our own bug: records that nobody would find are not acknowledged
            why = StoreError(f"record {min(aside)} is none that can be folded")
            raise self._latched("what was written cannot be read", why)
        self._is_unsettled = False

    def _latched(self, what: str, failure: Exception, *, is_for_room: bool = False) -> StoreLatched:
        """Refuse all writes: log and index are not consistent."""
        hint = failure.hint if isinstance(failure, StoreError) else ""
        refusal = StoreLatched(f"{what}: {told(failure)}", hint=hint or StoreLatched.hint)
        self._latch.refuse_from_now(refusal, failure, is_for_room=is_for_room)
        return refusal

    def recover(self) -> bool:
        """After a lack of space only, continue as an opening would: with what the medium holds,
        folded into the index. In `writing`; whether everything can be written now.

        Every fold is repeated: what failed here may have been written, as if by another process.
        Any other failure stays, and needs a person.
        """
        if self.refusal is None:
            return True
        is_here = self.lock is None or self.leases.presence is not None
        if not is_here or self.follows or self.reads_only:  # opened for reading only
            return False
        if self._latch.refusal is not None and not self._latch.is_for_room:
            return False
        if not self.log.recover(self.index.promised_seq()):
            return False
        self._latch = Latch()
        self._is_unsettled, self._known = False, None
        try:
            self._take_in()
        except StoreError as failure:
            self._latched("the index could not be written", failure, is_for_room=True)
            return False
        self.forgets += 1
        self._recount()
        self.on_forgotten()
        self.finish_if_possible()
        return self.refusal is None

    def forget(
        self,
        seqs: Collection[Seq],
        sessions: Collection[SessionNo],
        taken: Collection[Taken],
        lineage: Collection[Descent] = (),
        known: References | None = None,
    ) -> Event:
        """Erase records for good, and return the receipt. Redone on opening if interrupted.

        Their sessions must be ours: see `lease`. Raises `ArchiveMissing`, with nothing begun, if
        some cannot be reached. If the index fails, this latches: the words are still there, and the
        next opening finishes it. `known` is the result of `references` from before the lock was
        taken; without it, the blobs of an artifact cost a read of the whole log.
        """
        self.log.check_reach(seqs)
        records = [self.log.get(seq) for seq in seqs]
        blobs = self._blobs_of(records, known)
        # In memory only: anything stored to recognise a late retry could confirm a guess.
        self.forgotten_keys |= {(event.session, event.key) for event in records if event.key}
        begun = ForgetBegun(
            targets=tuple(ranges(seqs)),
            sessions=tuple(sessions),
            taken=tuple(taken),
            lineage=tuple(lineage),
        )
        for session in sessions:
            self.leases.lost(session)
        return self._carry_out(self._note(begun), blobs)

    def finish_forgetting(self) -> int:
        """Complete what an earlier process began and did not finish. Returns how many."""
        receipts = [self.log.get(seq) for seq in self.index.events(STORE, types=RECEIPTS)]
        done = {e.body.begun for e in receipts if isinstance(e.body, ForgetDone | ScrubDone)}
        begun = [event for event in receipts if event.type in BEGUN and event.seq not in done]
        lost: StoreError | None = None
        for event in begun:
            if isinstance(event.body, ForgetBegun):
                records = [self.log.get(seq) for seq in targets(event.body)]
                self._carry_out(event, self._blobs_of(records))
            elif isinstance(event.body, ScrubBegun):
                try:
                    self._carry_out_scrub(event)
                except StoreCorrupt as gone:  # the staged data: another, intact scrub may follow
                    lost = gone
        if lost is not None:
            raise lost
        self.log.unstage()  # left by a process that was killed before it began
        return len(begun)

    def finish_if_possible(self) -> None:
        """The same; an obstacle (a full disk) is noted in `unfinished`."""
        try:
            self.finish_forgetting()
        except StoreError as problem:
            self.unfinished = problem.message

    def _carry_out(self, begun: Event, blobs: Sequence[str]) -> Event:
        assert isinstance(begun.body, ForgetBegun)
        seqs = targets(begun.body)
        for name in blobs:
            self.blobs.delete(name)  # first: once its records are erased, nothing names it
        self.log.erase(seqs)
        with self._behind_the_log():
            self.index.forget(seqs, begun.body.sessions)
            self._forget_vectors(begun.seq, seqs, begun.body.sessions)
        self._recount()
        return self._note(ForgetDone(begun=begun.seq, records=len(seqs)))

    @contextmanager
    def _behind_the_log(self) -> Iterator[None]:
        """Within this block, derived data follows the log in losing what was erased."""
        try:
            yield
        except StoreBusy as busy:
            raise StoreBusy(
                f"it is erased from the log, but a reader keeps its words in the index: {busy}",
                hint="close whatever else has this memory open; opening it again then "
                "finishes this",
            ) from busy
        except Exception as failure:
            if self.is_opening:  # `unfinished` reports it, and new records can be written
                raise
            latched = self._latched("it is erased from the log, but not from the index", failure)
            latched.hint = f"opening this memory again finishes it; {latched.hint}"
            raise latched from failure

    def scrub(
        self,
        events: Sequence[Event],
        marks: Sequence[Redacted],
        known: References | None = None,
    ) -> Event:
        """Rewrite these records as given, and return the receipt. Resumed on opening if
        interrupted.

        Their sessions must be ours: see `lease`. Raises `ArchiveMissing`, with nothing begun, if
        some cannot be reached; otherwise as `forget`, including `known`.
        """
        if self.unfinished:
            with suppress(StoreCorrupt):  # the staged data is lost: nothing of it may be kept
                self.finish_forgetting()
        seqs = [event.seq for event in events]
        self.log.check_reach(seqs)
        old = [self.log.get(seq) for seq in seqs]
        keyless = {event.seq for event in events if not event.key}
        self.forgotten_keys |= {(e.session, e.key) for e in old if e.key and e.seq in keyless}
        named = {blob for event in events for blob in blobs_of(event.body)}
        going = [blob for blob in self._blobs_of(old, known) if blob not in named]
        vouches = self.log.stage(events, going)
        begun = ScrubBegun(targets=tuple(ranges(seqs)), vouches=vouches, marks=tuple(marks))
        return self._carry_out_scrub(self._note(begun))

    def _carry_out_scrub(self, begun: Event) -> Event:
        assert isinstance(begun.body, ScrubBegun)
        seqs = targets(begun.body)
        going = self.log.revise(begun.body.vouches)
        with self._behind_the_log():
            events = [self.log.get(seq) for seq in seqs]
            self.index.revise(events)
            # Whole sessions: vectors are made from the last one on.
            self._forget_vectors(begun.seq, (), {event.session for event in events})
        for name in going:  # last: until then the staged data has their names
            self.blobs.delete(name)
        self._recount()
        done = self._note(ScrubDone(begun=begun.seq, records=len(seqs)))
        self.log.unstage()
        return done

    def _recount(self) -> None:
        """Count quotas again after records were erased or changed."""
        if self.allowance is not None:
            self.allowance.forget()

    def references(self) -> References:
        """The blobs that records refer to. Thread-safe, and without the lock, as it takes long."""
        with self.log_beside(self._seen()[1]) as log:
            return References(log)

    def _blobs_of(self, events: Collection[Event], known: References | None = None) -> list[str]:
        """The blobs that these records name, and no others."""
        named = {blob for event in events for blob in blobs_of(event.body)}
        if not named:
            return []
        known = known or References(self.log)
        known.read_on(self.log)
        seqs = [event.seq for event in events]
        return sorted(name for name in named if not known.others(name, seqs, self.log))

    def is_going(self, seqs: Collection[Seq]) -> bool:
        """Whether a forget of all of these records has begun, in any process."""
        begun = self.index.events(STORE, types=("forget_begun",))
        return going(self.log.get(seq) for seq in begun) >= set(seqs)

    def _forget_vectors(
        self, begun: Seq, seqs: Collection[Seq], sessions: Collection[SessionNo]
    ) -> None:
        """Drop the vectors of these records, after the index has dropped their pages."""
        was_open = self.vectors is not None
        try:
            self.open_vectors(make=False)
            if self.vectors is not None:
                self.vectors.forget(begun, seqs, sessions)
        except StoreBusy:
            raise
        except StoreError:  # then all of them: they can be recomputed
            self._drop_vectors()
            self.open_vectors(make=was_open)

    def note(self, body: RetentionSet | ControlSet | Ruling) -> Event:
        """Record what holds for the whole memory from now on. In `writing`."""
        self.check_writable()
        return self._note(body)

    def _note(self, body: Upkeep | Ruling) -> Event:
        with self._noticing:  # or a reader here would take it for another process's
            events = self.append([about_store(body)])
            self._receipt_seen = events[0].seq
        self.settle(events, sync=True)
        return events[0]

    # --- vectors ------------------------------------------------------------------------------

    def open_vectors(self, *, make: bool) -> None:
        """Open `vectors`, if there are any, or create them if `make` says so and it is possible.

        If the store may be written to, call it in `writing`, or before anybody else has it. Vectors
        of pages forgotten since they were last open are dropped. Unusable ones are replaced by an
        empty store: nothing is lost, and some may be of forgotten pages.
        """
        if self.vectors is not None or not self.is_adopted:
            return
        if self.reads_only or self.refusal is not None:
            self.vectors = self.vector_place.find(read_only=True)
            return
        with self.writing():
            try:
                self.vectors = self.vector_place.find(read_only=False)
                if self.vectors is not None:
                    self._catch_up_forgetting(self.vectors)
            except VectorsUnusable:
                self._drop_vectors()
            if self.vectors is None and make:
                self.vectors = self.vector_place.make(self._last_of(BEGUN))

    def _catch_up_forgetting(self, vectors: VectorStore) -> None:
        after = vectors.forgotten()
        for seq in self.index.events(STORE, types=BEGUN, after=after):
            begun = self.log.get(seq).body
            if isinstance(begun, ForgetBegun):
                vectors.forget(seq, targets(begun), begun.sessions)
            elif isinstance(begun, ScrubBegun):
                vectors.forget(seq, (), {self.log.get(one).session for one in targets(begun)})

    def _drop_vectors(self) -> None:
        """Delete the vectors, whatever their state."""
        if self.vectors is not None:
            self.vectors.close()
            self.vectors = None
        self.vector_place.drop()

    def _check_vectors(self) -> list[str]:
        """The problems of the vectors. Pages that are just being forgotten may have some."""
        if not self.is_adopted:
            return []
        try:
            vectors = self.vector_place.find(read_only=True)
            if vectors is None:
                return []
            with closing(vectors):
                if wrong := vectors.check():
                    return [f"the vectors are damaged: {wrong[0]}"]
                places = vectors.places()
                stray = places - self.index.standing(EVERYTHING, places)
                if not stray or not stray & vectors.places():
                    return []
                if self._last_of(DONE) < self._last_of(BEGUN):
                    return []  # in progress, or the next opening finishes it
        except StoreBusy:
            raise
        except StoreError as failure:
            return [f"the vectors cannot be checked: {failure}"]
        return [f"{len(stray)} vectors are of pages that are not there"]

    # --- upkeep -------------------------------------------------------------------------------

    def tidy(self) -> bool:
        """Do a few milliseconds of the index's upkeep; whether more is pending."""
        if self.refusal is not None:
            return False
        try:
            with self.writing():
                return self.index.tidy()
        except StoreError:  # nobody waits for it: retried later
            return False

    def catch_up(self, progress: Progress | None = None, *, synced: bool = False) -> int:
        """Fold into the index what it lacks. Returns the number of records.

        `synced` means that the log is durable, as it was just opened for writing. Records found
        later may be unsynced, from a killed process.
        """
        return self.fold(self.log, self.index, progress, synced=synced)

    def fold(
        self,
        log: EventLog,
        index: PageIndex,
        progress: Progress | None = None,
        *,
        synced: bool = False,
    ) -> int:
        """Fold into an index what it lacks of a log. Returns the number of records."""
        after, head = index.applied_seq(), log.head()
        rest, apply = _rest(log, index, after)
        batch: list[Event | Leaf] = []
        for entry in rest:
            batch.append(entry)
            self.unread += isinstance(entry, Event) and not entry.event_id  # a placeholder
            if len(batch) == _BATCH or entry.seq == head:
                apply(batch, synced=synced)
                for _ in range(_SLICES if len(batch) == _BATCH else 0):
                    index.tidy()  # as much as so many records need
                batch = []
                if progress is not None:
                    progress(entry.seq - after, head - after)
        return max(0, head - after)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Verify everything; returns problems, one sentence each. Thread-safe.

        Checks what existed when it began, while others write, in any process: it takes no lock, and
        opens its own handles of log and index. `StoreBusy` if it gives way to one forget after
        another.
        """
        problems: list[str] = []
        advice: list[str] = []
        mended = self.mended
        aside: dict[Seq, str] = {}
        applied, promised = self._seen()  # before the log is read, which can only be longer
        with self.log_beside(promised) as log:
            found = log.audit(progress)
            problems += found.problems
            advice += found.advice
            try:
                if bad := self._check_index():
                    problems += bad
                    advice.append(self.advice.index)
                aside = self.index.set_aside()
                for event in log.read_rest():  # including what the index folded when written
                    if isinstance(event.body, SetAside):
                        aside.setdefault(event.seq, event.body.why)
                if bad := self._check_vectors():
                    problems += bad
                    advice.append(self.advice.vectors)
                if self.doubt:
                    problems.append(self.doubt)
                    advice.append(self.advice.secret)
                if bad := list(self._bad_blobs(log, problems)):
                    problems += bad
                    advice.append(self.advice.blobs)
            except StoreBusy:
                raise
            except StoreError as failure:
                problems.append(f"the index cannot be checked: {failure}")
                advice.append(self.advice.index)
            head = log.head()
        if self.damaged and (self.follows or self.mended > mended):
            done = "" if self.follows else "; it was made anew"
            problems.append(f"the index is damaged: {self.damaged}{done}")
            advice += [self.advice.index] if self.follows else []
        if applied > head and not found.missing:
            problems.append(f"the index has seen record {applied}, the log ends at {head}")
            advice.append(self.advice.index)
        return Verification(
            records=head,
            segments=found.segments,
            problems=tuple(problems),
            advice=tuple(dict.fromkeys(advice)),
            set_aside=tuple(f"record {seq}: {why}" for seq, why in aside.items()),
        )

    @contextmanager
    def log_beside(self, promised: Seq) -> Iterator[EventLog]:
        """A second handle of the log, for this block."""
        with closing(self.log.beside(promised)) as log:
            yield log

    def _seen(self) -> tuple[Seq, Seq]:
        """The last record in the index, and the last of those known to be durable; 0 for an index
        that fails: its problems will be reported.
        """
        try:
            promised = self.index.promised_seq()
            return self.index.applied_seq(), promised
        except StoreBusy:
            raise
        except StoreError:
            return NOTHING, NOTHING

    def _check_index(self) -> list[str]:
        """The problems of the index. A forget must empty its write-ahead log, which readers
        prevent: so this gives way, and starts again after the receipt.
        """
        for _ in range(_LOOKS_MAX):
            known = self._last_of(BEGUN)
            with suppress(GaveWay):
                return self.index.check(lambda: self._last_of(BEGUN) > known)  # noqa: B023
            deadline = time.monotonic() + _RECEIPT_WAIT_S
            while self._last_of(DONE) < self._last_of(BEGUN):
                if time.monotonic() > deadline:
                    break
                time.sleep(_RECEIPT_LOOK_S)
        raise StoreBusy(
            "the index could not be checked: every attempt met a forgetting",
            hint="verify it again when nothing is being forgotten",
        )

    def _last_of(self, receipts: Collection[str]) -> Seq:
        return max(self.index.events(STORE, types=receipts), default=NOTHING)

    def _bad_blobs(self, log: EventLog, known: Sequence[str]) -> Iterator[str]:
        """The problems of the blobs that records name, if the log is sound enough to know them."""
        try:
            needed = references(log)
        except StoreError as problem:
            if not known:
                yield problem.message
            return
        if self.doubt:
            return
        for name, seqs in needed.items():
            try:
                self.blobs.get(name)
            except KeyError:
                if not self.is_going(seqs):
                    yield f"record {min(seqs)}: blob {name} is missing"
            except StoreError as problem:
                yield f"record {min(seqs)}: {problem}"

    def let_others_in(self) -> None:
        """The opening is complete: from here on the lock is held in `writing` only."""
        self._known = self.log.head()
        self._receipt_seen = max(self.index.events(STORE, types=_NOTICED), default=NOTHING)
        self.aside = len(self.index.set_aside())
        self._depth = 0
        self.is_opening = False
        if self.lock is not None:
            self.lock.release()

    def close_index(self) -> None:
        self.index.close()  # whichever it is by then

    def close(self) -> None:
        """Close everything and release the root. Idempotent."""
        if self.vectors is not None:
            self.vectors.close()
        self.index.close()
        self.log.close()
        self.closing.close()
        self.lock = None

    @property
    def refusal(self) -> StoreError | None:
        """Why nothing can be written; None if it can."""
        return self.log.refusal or self._latch.refusal

    @property
    def notices(self) -> list[str]:
        """What opening had to do, in sentences for people."""
        notices = []
        if not self.is_adopted:
            refusal = self.refusal
            assert refusal is not None, "it is only read"
            notices.append(f"{refusal}: {refusal.hint}")
        log = self.log.known()
        notices += filter(None, [log.exposed, log.recovery, *log.strays])
        if log.away:
            notices.append(f"{log.away}: what stands in them is left out until it is")
        if self.rebuilt:
            notices.append(f"the index was built anew: {self.rebuilt}")
        if self.aside:
            notices.append(
                f"{self.aside} record(s) cannot be understood and are set aside, everything else "
                "is as it was: verifying this memory names them"
            )
        if self.unfinished:
            notices.append(
                f"still to be forgotten ({self.unfinished}): the next opening tries again"
            )
        return notices


def _is_disk_s(failure: Exception) -> bool:
    """Whether a medium's failure broke an index, which can be caught up or rebuilt: the log, which
    is the truth, was written.
    """
    return isinstance(failure, StoreError | OSError)


def _rest(
    log: EventLog, index: PageIndex, after: Seq
) -> tuple[Iterator[Event | Leaf], Callable[..., object]]:
    """Records after `after`, and the function that folds them; of a damaged log the readable ones,
    and placeholders for the others.
    """
    if index.takes_leaves:
        return log.read_to_fold(after), index.apply
    return log.read_rest(after), index.apply
