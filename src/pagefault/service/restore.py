"""A session's state from its records: what a restart, a fork and a rebuilt index all go through.

Only about a window's worth of records is read: everything before the last epoch is summed up by
it. The fold itself is `SessionState.fold`, the same that runs while the session is live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pagefault.model.errors import SessionNotFound
from pagefault.model.events import (
    EpochBegun,
    Event,
    ForgetBegun,
    SessionConfigured,
    SessionOpened,
)
from pagefault.model.ids import NOTHING, Seq, TurnNo
from pagefault.model.page import Scope, SessionRow
from pagefault.service.runtime import Runtime
from pagefault.service.state import SessionState
from pagefault.store.root import STORE

_CALLS = ("searched", "faulted")


def restore(runtime: Runtime, row: SessionRow) -> tuple[SessionState, Seq]:
    """The state of a session as of its last record, and that record's seq. Blocks on the store."""
    scope = runtime.scope(row.session)
    start = _start(runtime, scope)
    state = SessionState(_settings(runtime, scope, start), runtime.limits, runtime.sources(scope))
    for event in _lineage(runtime, scope, types=("pinned", "unpinned"), before=start):
        state.fold(event)
    last = Seq(row.session)
    for event in _lineage(runtime, scope, after=Seq(max(start - 1, 0))):
        if not isinstance(event.body, SessionOpened):
            state.fold(event)
        if event.session == row.session:
            last = event.seq
    state.numbers = runtime.index.prefix_counts(scope)
    state.order_next = max(state.order_next, row.pages)
    state.turn = TurnNo(max(state.turn, row.turns - 1))
    state.renew_budget(list(_calls_of_turn(runtime, scope, state.turn)))
    if _was_forgotten_from(runtime, scope, since=max(row.epoch_seq, Seq(row.session))):
        state.epoch_due = "forgotten"
    return state, max(last, row.last_seq)  # what was forgotten was the last, perhaps


def _was_forgotten_from(runtime: Runtime, scope: Scope, *, since: Seq) -> bool:
    """Whether anything in this scope was forgotten after `since`: what was sent had it."""
    upto = dict(scope.parts)
    for seq in runtime.index.events(STORE, types=("forget_begun",), after=since):
        body = runtime.log.get(seq).body
        if not isinstance(body, ForgetBegun):
            continue
        if body.sessions:  # then its targets are the records of these sessions
            if any(session in upto for session in body.sessions):
                return True
            continue
        for first, last in body.targets:
            for target in range(first, last + 1):
                if target <= upto.get(runtime.log.get(Seq(target)).session, NOTHING):
                    return True
    return False


def _start(runtime: Runtime, scope: Scope) -> Seq:
    """The first record that the present window can still show."""
    for session, upto in scope.parts:
        epochs = [s for s in runtime.index.events(session, types=("epoch_begun",)) if s <= upto]
        for seq in reversed(epochs):
            body = runtime.log.get(seq).body
            if isinstance(body, EpochBegun):
                return min(body.verbatim_from or seq, seq)
    return NOTHING


def _settings(runtime: Runtime, scope: Scope, start: Seq) -> SessionOpened:
    """Window, mode and system prompt as they were at `start`."""
    session, _ = next(
        ((number, upto) for number, upto in scope.parts if number <= start), scope.parts[-1]
    )
    opened = runtime.log.get(Seq(session)).body
    if not isinstance(opened, SessionOpened):
        opened = runtime.log.get(Seq(scope.parts[0][0])).body  # an ancestor was forgotten
    if not isinstance(opened, SessionOpened):
        raise SessionNotFound(str(scope.parts[0][0]))
    for seq in runtime.index.events(session, types=("session_configured",)):
        body = runtime.log.get(seq).body
        if seq < start and isinstance(body, SessionConfigured):
            opened = replace(
                opened, window_tokens=body.window_tokens, mode=body.mode, system=body.system
            )
    return opened


def _lineage(
    runtime: Runtime,
    scope: Scope,
    *,
    types: tuple[str, ...] = (),
    after: Seq = NOTHING,
    before: Seq | None = None,
) -> Iterator[Event]:
    """Records of a session and its ancestors that it can see, in the order of the log."""
    for session, upto in reversed(scope.parts):
        for seq in runtime.index.events(session, types=types, after=after):
            if seq > upto or (before is not None and seq >= before):
                break
            yield runtime.log.get(seq)


def _calls_of_turn(runtime: Runtime, scope: Scope, turn: TurnNo) -> Iterator[Event]:
    for session, upto in scope.parts:
        for seq in reversed(runtime.index.events(session, types=_CALLS)):
            if seq > upto:
                continue
            event = runtime.log.get(seq)
            if event.turn != turn:
                return
            yield event
