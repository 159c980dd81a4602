"""The exchanges in a window: calls of tools, with their results. Which of them must stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pagefault.model.ids import NOTHING
from pagefault.model.request import ToolCall
from pagefault.pack.layout import Entry, Exchange
from pagefault.service.window import host_calls

if TYPE_CHECKING:
    from pagefault.service.window.state import SessionState


def calls_shown(state: SessionState) -> list[ToolCall]:
    """Every call in the window, of whichever tools and turn."""
    exchanges = (entry for entry in state.layout.entries() if isinstance(entry, Exchange))
    return [call for exchange in exchanges for call, _, _ in exchange.calls]


def calls_awaited(state: SessionState) -> list[ToolCall]:
    """The calls of the host's tools that wait for their results, in order."""
    return [call for _, call in host_calls.awaited(state.layout.pending)]


def held(state: SessionState) -> list[Exchange]:
    """What cannot leave the window now: all of this turn; if it calls the host's tools, and so may
    be long, what was not sent yet.
    """
    turn = _of_turn(state, state.layout.latest())
    return unsent(state) if any(exchange.of_host for exchange in turn) else turn


def unsent(state: SessionState) -> list[Exchange]:
    """The calls of this turn whose results the model has not seen yet."""
    pending = state.layout.pending
    found = _of_turn(state, reversed(pending))
    told = {id(exchange) for exchange in found}
    waiting = {id(exchange): exchange for exchange, _ in host_calls.awaited(pending)}
    return [*(e for at, e in waiting.items() if at not in told), *found]


def latest(state: SessionState, tokens_max: int) -> list[Exchange]:
    """In a turn that calls the host's tools: the last exchanges of so many tokens together, and
    all that were not sent. Empty if these are all.
    """
    left, found = tokens_max, list[Exchange]()
    turn = _of_turn(state, state.layout.latest())
    for exchange in reversed(turn if any(e.of_host for e in turn) else []):
        left -= state.layout.tokens_of([exchange])
        if left < 0:
            break
        found.append(exchange)
    return found[::-1] if len(found) > len(unsent(state)) else []


def faults_unsent(state: SessionState) -> list[Entry]:
    """The unsent calls that brought a page, alone: what they add to what is paged in."""
    return [
        Exchange(entry.cause, entry.seq, "", [call for call in entry.calls if call[2]])
        for entry in unsent(state)
        if any(call[2] for call in entry.calls)
    ]


def _of_turn(state: SessionState, entries: Iterable[Entry]) -> list[Exchange]:
    """The exchanges of this turn, in order, from entries that are given latest first."""
    since = state.newest_user[-1].row.seq if state.newest_user else NOTHING
    found: list[Exchange] = []
    for entry in entries:
        if isinstance(entry, Exchange) and entry.seq >= since:
            found.append(entry)
        elif entry.seq <= since and not isinstance(entry, Exchange):
            break
    return found[::-1]
