"""Every fold of the log has decided about every type of record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pagefault
from pagefault.model.events import Body, Event
from pagefault.model.ids import Seq, SessionNo, TurnNo
from pagefault.model.kinds import USER_TYPED, Actor
from pagefault.service.inspection.ledger import Ledger
from pagefault.service.inspection.metrics import Meter
from pagefault.service.inspection.residents import Residents
from pagefault.service.inspection.timetravel import _movements
from pagefault.service.limits import Limits
from pagefault.service.window.state import SessionState
from pagefault.store.fold import SessionTally
from pagefault.store.soundness import flaw

UNDECIDED = "Expected code to be unreachable"


def _event(body: Any) -> Event:
    return Event(
        seq=Seq(7),
        event_id="e-7",
        session=SessionNo(1),
        turn=TurnNo(0),
        at_ms=1_764_000_000_000,
        actor=Actor.USER,
        origin=USER_TYPED,
        body=body,
    )


def _state() -> Callable[[Event], object]:
    async def begun() -> SessionState:
        async with pagefault.open(":memory:") as memory:
            return (await memory.session("s")).owned.state

    return asyncio.run(begun()).fold


def _tally() -> Callable[[Event], object]:
    return SessionTally.recovered(SessionNo(1), Seq(1), 0).absorb


def _ledger() -> Callable[[Event], object]:
    return Ledger(SessionNo(1)).fold


def _meter() -> Callable[[Event], object]:
    return Meter(SessionNo(1), limits=Limits(), text_of=lambda page_id: "").fold


def _history() -> Callable[[Event], object]:
    return lambda event: list(_movements(event))


def _sound() -> Callable[[Event], object]:
    return flaw


def _residents() -> Callable[[Event], object]:
    return Residents(Limits()).fold


FOLDS = (_state, _tally, _ledger, _meter, _history, _residents, _sound)


@pytest.mark.parametrize("body", get_args(Body), ids=lambda cls: str(cls.__name__))
def test_each_fold_takes_each_type_of_record_or_says_why_not(body: type) -> None:
    takes = [fold() for fold in FOLDS]

    @settings(max_examples=3, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_type(body))
    def folded(one: Any) -> None:
        for take in takes:
            try:
                take(_event(one))
            except Exception as problem:  # what it says is senseless: that is another test's
                if UNDECIDED in str(problem):
                    raise

    folded()


@dataclass(frozen=True)
class Dreamt:
    """A type that nobody decided about."""

    of: str


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: str(fold.__name__)[1:])
def test_control_a_type_that_nobody_decided_about_stops_a_fold(
    fold: Callable[[], Callable[[Event], object]],
) -> None:
    with pytest.raises(AssertionError, match=UNDECIDED):
        fold()(_event(Dreamt("sheep")))
