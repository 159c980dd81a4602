"""Calls that are waited for, but not for ever, and of which there are never more than a few."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pagefault.service.derived.bounded_calls import BoundedCalls, CallRejected, CallTimedOut

LONG = 20.0


@pytest.fixture
def go() -> Iterator[threading.Event]:
    go = threading.Event()
    yield go
    go.set()


def test_what_a_call_answers_or_raises_comes_back() -> None:
    calls = BoundedCalls(1)
    assert calls(lambda: 3, LONG) == 3
    with pytest.raises(ZeroDivisionError):
        calls(lambda: 1 // 0, LONG)

    def its_own() -> None:
        raise TimeoutError("of the call itself")

    with pytest.raises(TimeoutError, match="of the call itself"):
        calls(its_own, LONG)
    assert calls(lambda: 4, LONG) == 4


def test_while_a_call_is_late_none_begins(go: threading.Event) -> None:
    calls = BoundedCalls(4)
    ended, begun = threading.Event(), []

    def hangs() -> None:
        go.wait(LONG)
        ended.set()

    with pytest.raises(CallTimedOut):
        calls(hangs, 0.01)
    for _ in range(10):
        with pytest.raises(CallRejected):
            calls(lambda: begun.append(1), LONG)
    assert not begun
    go.set()
    assert ended.wait(LONG)
    for _ in range(1_000):  # its thread ends a moment later
        try:
            assert calls(lambda: 5, LONG) == 5
            break
        except CallRejected:
            threading.Event().wait(0.005)
    else:
        pytest.fail("none begins any more")


def test_no_more_are_under_way_than_may_be(go: threading.Event) -> None:
    calls, under_way, most = BoundedCalls(2), 0, 0
    counting = threading.Lock()

    def counted() -> int:
        nonlocal under_way, most
        with counting:
            under_way += 1
            most = max(most, under_way)
        threading.Event().wait(0.01)
        with counting:
            under_way -= 1
        return 1

    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(calls(counted, LONG))) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert answers == [1] * 12, "they wait for one another"
    assert 1 <= most <= 2


def test_who_waits_for_a_turn_goes_as_soon_as_one_is_late(go: threading.Event) -> None:
    calls = BoundedCalls(1)
    refused = threading.Event()

    def waits() -> None:
        try:
            calls(lambda: None, LONG)
        except CallRejected:
            refused.set()

    begun = threading.Event()

    def hangs() -> None:
        begun.set()
        go.wait(LONG)

    def is_late() -> None:
        with pytest.raises(CallTimedOut):
            calls(hangs, 0.2)

    late = threading.Thread(target=is_late)
    late.start()
    assert begun.wait(LONG)
    waiting = threading.Thread(target=waits)
    waiting.start()
    assert refused.wait(LONG)
    for thread in (late, waiting):
        thread.join(LONG)
