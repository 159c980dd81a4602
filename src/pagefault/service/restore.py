"""A session's state from its records: for restarts, forks and rebuilt indexes alike.

Only about a window's worth of records is read, because an epoch sums up everything before it. The
window is folded from the last epoch on, and the policy's state from the last epoch that is
`REACH_TURNS` old, so a session continues after a restart as it would have without. The fold itself
is `SessionState.fold`, the same that runs while the session is live.

A damaged record is left out, as if it were empty: the others are shown, and the next request begins
an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Final

from pagefault.model.defaults import WINDOW_TOKENS
from pagefault.model.errors import (
    ArchiveMissing,
    PagefaultError,
    SessionNotFound,
    StoreCorrupt,
)
from pagefault.model.events import (
    EpochBegun,
    Erased,
    Event,
    Faulted,
    ForgetBegun,
    OriginRaised,
    OriginRevoked,
    Packed,
    PageBody,
    ScrubBegun,
    SessionConfigured,
    SessionOpened,
)
from pagefault.model.ids import NOTHING, PageId, Seq, TurnNo
from pagefault.model.kinds import Mode
from pagefault.model.page import Page, PageRow, Scope, SessionRow
from pagefault.policy.steady import REACH_TURNS
from pagefault.service.runtime import Runtime
from pagefault.service.window.content import page_of
from pagefault.service.window.state import UNFOLDABLE, SessionState
from pagefault.store.fold import BEGUN, ORIGIN_RULINGS
from pagefault.store.store import STORE

_CALLS = ("searched", "faulted")
_STANDING = (  # whenever they were written
    *("pinned", "unpinned", "core", "heat_moved", "claim", "claim_ruled", "priced"),
    *("formation_begun", "formation_ended"),
)
_TOGETHER: Final = 256  # records that are read at once, at most


def restore(runtime: Runtime, row: SessionRow) -> tuple[SessionState, Seq]:
    """The state of a session as of its last record, and that record's seq. Blocks on the store."""
    scope = runtime.scope(row.session)
    reader = _Reader(runtime)
    learned_from = _start(reader, scope, until=TurnNo(row.turns - 1 - REACH_TURNS))
    state, last = _fold(runtime, reader, row, scope, learned_from)
    state.numbers = runtime.index.prefix_counts(scope)
    state.order_next = max(state.order_next, row.pages)
    state.turn = TurnNo(max(state.turn, row.turns - 1))
    state.calls.renew(list(_calls_of_turn(reader, scope, state.turn)))
    if not runtime.read_only:  # a request may follow: counted here, not on the event loop
        _ = state.layout.head_tokens
        state.layout.compose_sent()
    since = max(row.epoch_seq, Seq(row.session))
    if runtime.regions.lost(scope, since=since):
        state.epoch_due = "unmounted"
    if why := _was_changed(reader, runtime.could_see(row.session), since=since):
        state.epoch_due = why
    elif _was_ruled_on(reader, scope, since=since):
        state.epoch_due = "revoked"
    # A lost record's session is unknown, so every session in its range may have seen it.
    lost = runtime.index.events(STORE, types=("lost",), after=Seq(since - 1))
    shown_from = _start(reader, scope)
    unknown = reader.damaged | state.set_aside.keys()
    if any(seq >= shown_from for seq in unknown) or any(seq <= row.last_seq for seq in lost):
        state.epoch_due = "lost"
    return state, max(last, row.last_seq)  # perhaps the last was forgotten


def restore_at(
    runtime: Runtime,
    row: SessionRow,
    upto: Seq,
    *,
    after_each: Callable[[Event, SessionState], None] = lambda event, state: None,
) -> SessionState:
    """The state of a session after the record `upto`, read-only. What was forgotten since is not in
    it. `after_each` is called with each record that the fold reads, and the state after it; if one
    has to be set aside, with all of them again. Blocks on the store.
    """
    scope = scope_at(runtime.scope(row.session), upto)
    reader = _Reader(runtime)
    state, _ = _fold(runtime, reader, row, scope, _start(reader, scope), after_each)
    return state


def unopenable(runtime: Runtime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why sessions cannot be opened, and the records that their folds set aside; one sentence each.
    Blocks on the store.
    """
    problems, aside = [], dict[Seq, str]()
    for row in runtime.index.sessions():
        try:
            state, _ = restore(runtime, row)
        except (SessionNotFound, ArchiveMissing):
            continue  # it was forgotten meanwhile, or is only out of reach
        except (*UNFOLDABLE, PagefaultError) as problem:
            what = f"{type(problem).__name__}: {problem}"
            problems.append(f"session {row.called!r} cannot be opened: {what}")
        else:
            aside |= state.set_aside
    return tuple(problems), tuple(f"record {seq}: {why}" for seq, why in sorted(aside.items()))


def scope_at(scope: Scope, upto: Seq) -> Scope:
    """The part of a scope that existed after the record `upto`."""
    return Scope(tuple((session, min(last, upto)) for session, last in scope.parts))


def records(
    runtime: Runtime,
    scope: Scope,
    *,
    types: tuple[str, ...] = (),
    after: Seq = NOTHING,
    to_look: bool = True,
) -> Iterator[Event]:
    """The records of a session and its ancestors that it can see, in order; damaged ones are left
    out, and those in an archive that is away. Unless called `to_look`, the latter raise
    `ArchiveMissing`: then decisions depend on them. Blocks on the store.
    """
    return _lineage(_Reader(runtime, to_look=to_look), scope, types=types, after=after)


def _fold(
    runtime: Runtime,
    reader: _Reader,
    row: SessionRow,
    scope: Scope,
    start: Seq,
    after_each: Callable[[Event, SessionState], None] = lambda event, state: None,
) -> tuple[SessionState, Seq]:
    """The records of the scope from `start` on, folded, and the last one of the session's own.

    A record that the fold cannot take is set aside, so that it blocks no other. A fold that stopped
    half-way leaves an unknown state: so all are folded again, without that record, and the state
    names it.
    """
    settings = _settings(reader, scope, start, row)
    settings = replace(settings, session_id=row.session_id)  # a fork's own, not its parent's
    aside: dict[Seq, str] = {}
    is_talk = not runtime.regions.is_region(row)  # no window shows a region as such
    events = list(_shown_by(reader, scope, start)) if is_talk else []
    seen = runtime.seen(scope)
    pages = _named_by(runtime, seen, events)
    while True:
        state = SessionState(settings, runtime.limits, runtime.sources(seen, pages))
        last, at = Seq(row.session), NOTHING
        try:
            for event in events:
                at = event.seq
                if at >= start and event.session == row.session:
                    last = at
                if at not in aside:
                    state.fold(event)
                after_each(event, state)
        except UNFOLDABLE as problem:
            assert at not in aside
            aside[at] = f"the window cannot take it: {type(problem).__name__}"
            continue
        pages.clear()  # from here on others may forget what is in them
        state.set_aside = aside
        state.table.tlb.count_anew()
        return state, last


def _named_by(
    runtime: Runtime, scope: Scope, events: Sequence[Event]
) -> dict[PageId, tuple[PageRow, Page]]:
    """The pages that these records name, except unreadable ones: found in one look-up, and read in
    log order. One by one, that would be half the cost of a fold.
    """
    named: dict[PageId, None] = {}
    for event in events:
        match event.body:
            case Packed(recalled=recalled, listed=listed):
                named |= dict.fromkeys([*(one.page_id for one in recalled), *listed])
            case EpochBegun(core=core, summaries=summaries, kept=kept):
                shown = (one.page_id for one in (*summaries, *kept))
                named |= dict.fromkeys([*core, *shown])
            case Faulted(page_id=page_id):
                named[page_id] = None
    keep = runtime.pages.keeper()
    rows = {row.seq: row for row in runtime.index.find_pages(scope, named).values()}
    read = {event.seq: event for event in events if event.seq in rows}
    rest = _Reader(runtime, to_look=True).find_all(sorted(rows.keys() - read.keys()))
    found: dict[PageId, tuple[PageRow, Page]] = {}
    for event in (*read.values(), *rest):
        if isinstance(event.body, PageBody):
            page = page_of(event, event.body)
            found[page.page_id] = rows[event.seq], page
            keep(page)
    return found


def _shown_by(reader: _Reader, scope: Scope, start: Seq) -> Iterator[Event]:
    """The records behind a window that shows the log from `start` on."""
    yield from _lineage(reader, scope, types=_STANDING, before=start)
    yield from _lineage(reader, scope, after=Seq(max(start - 1, 0)))


class _Reader:
    """Reads records one by one, and notes the damaged ones."""

    def __init__(self, runtime: Runtime, *, to_look: bool = False) -> None:
        """`to_look` skips what is out of reach; a session that continues from it needs
        everything.
        """
        self.index = runtime.index
        self._to_look = to_look
        self._log = runtime.log
        self.damaged: set[Seq] = set()

    def find(self, seq: Seq) -> Event | None:
        """The record, or None if it cannot be read."""
        try:
            return self._log.get(seq)
        except StoreCorrupt:
            self.damaged.add(seq)
            return None
        except ArchiveMissing:
            if not self._to_look:
                raise
            return None

    def find_all(self, seqs: Iterable[Seq]) -> Iterator[Event]:
        """The readable ones of these records, in the given order.

        Adjacent records are read together, at half the cost.
        """
        for _, run in groupby(enumerate(seqs), key=_stretch):
            numbers = [seq for _, seq in run]
            yield from self._find_run(numbers[0], numbers[-1])

    def _find_run(self, first: Seq, last: Seq) -> Iterator[Event]:
        if first < last:
            with suppress(StoreCorrupt, ArchiveMissing):
                for event in self._log.read(Seq(first - 1), last):
                    yield event
                    first = Seq(event.seq + 1)
        yield from filter(None, map(self.find, map(Seq, range(first, last + 1))))


def _stretch(numbered: tuple[int, Seq]) -> tuple[int, int]:
    """The same key for adjacent records, up to a limit."""
    number, seq = numbered
    return seq - number, number // _TOGETHER


def _was_changed(reader: _Reader, scope: Scope, *, since: Seq) -> str:
    """Whether anything in this scope was forgotten or scrubbed after `since`, and what: earlier
    requests had it as it was.
    """
    upto = dict(scope.parts)
    begun = reader.index.events(STORE, types=BEGUN, after=since)
    for body in (event.body for event in reader.find_all(begun)):
        if not isinstance(body, ForgetBegun | ScrubBegun):
            continue
        why = "forgotten" if isinstance(body, ForgetBegun) else "scrubbed"
        if isinstance(body, ForgetBegun) and body.sessions:  # its targets are their records
            if any(session in upto for session in body.sessions):
                return why
            continue
        for first, last in body.targets:
            for target in reader.find_all(map(Seq, range(first, last + 1))):
                if target.seq <= upto.get(target.session, NOTHING):
                    return why
    return ""


def _was_ruled_on(reader: _Reader, scope: Scope, *, since: Seq) -> bool:
    """Whether anything in this scope was withdrawn or raised after `since`."""
    rulings = reader.index.events(STORE, types=ORIGIN_RULINGS, after=since)
    ranges: list[tuple[Seq, Seq]] = []
    for body in (event.body for event in reader.find_all(rulings)):
        match body:
            case OriginRevoked(targets=targets):
                ranges += targets
            case OriginRaised(page=page):
                ranges.append((page, page))
    return any(
        seq <= min(upto, last)
        for first, last in ranges
        for session, upto in scope.parts
        for seq in reader.index.events(session, after=Seq(first - 1))[:1]
    )


def _start(reader: _Reader, scope: Scope, *, until: TurnNo | None = None) -> Seq:
    """The first record that the current window can still show, or the window of its last epoch by
    the turn `until`.
    """
    for session, upto in scope.parts:
        epochs = [s for s in reader.index.events(session, types=("epoch_begun",)) if s <= upto]
        for event in reader.find_all(reversed(epochs)):
            is_old = until is None or event.turn <= until
            if isinstance(event.body, EpochBegun) and is_old:
                return min(event.body.verbatim_from or event.seq, event.seq)
    return NOTHING


def _settings(reader: _Reader, scope: Scope, start: Seq, row: SessionRow) -> SessionOpened:
    """Window, mode and system prompt as of `start`; the defaults, if they were lost."""
    session, _ = next(
        ((number, upto) for number, upto in scope.parts if number <= start), scope.parts[-1]
    )
    first = reader.find(Seq(session))
    if first is None or not isinstance(first.body, SessionOpened):
        first = reader.find(Seq(row.session))  # an ancestor was forgotten
    if first is not None and isinstance(first.body, SessionOpened):
        opened = first.body
    elif first is not None and isinstance(first.body, Erased):
        raise SessionNotFound(str(row.session))
    else:
        opened = SessionOpened(
            session_id=row.session_id,
            name=row.name,
            window_tokens=WINDOW_TOKENS,
            mode=Mode.ACTIVE,
            system="",
        )
    configured = reader.index.events(session, types=("session_configured",))
    for event in reader.find_all(seq for seq in configured if seq < start):
        body = event.body
        if isinstance(body, SessionConfigured):
            opened = replace(
                opened,
                window_tokens=body.window_tokens,
                mode=body.mode,
                system=body.system,
                layout=body.layout,
                control=body.control,
                tools=body.tools,
            )
    return opened


def _lineage(
    reader: _Reader,
    scope: Scope,
    *,
    types: tuple[str, ...] = (),
    after: Seq = NOTHING,
    before: Seq | None = None,
) -> Iterator[Event]:
    """The records of a session and its ancestors that it can see, in log order."""
    for session, upto in reversed(scope.parts):
        seqs = reader.index.events(session, types=types, after=after)
        end = upto if before is None else min(upto, before - 1)
        yield from reader.find_all(seq for seq in seqs if seq <= end)


def _calls_of_turn(reader: _Reader, scope: Scope, turn: TurnNo) -> Iterator[Event]:
    for session, upto in scope.parts:
        calls = reversed(reader.index.events(session, types=_CALLS))
        for event in reader.find_all(seq for seq in calls if seq <= upto):
            if event.turn != turn:
                return
            yield event
