"""Whatever goes wrong while a fault is served, the page can be faulted again."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import pagefault
from pagefault import Memory, Session, ToolCall
from pagefault.model.errors import ScreenFailed, StoreError

DOCUMENT = "The lease of bay 3 is 180 euros a month.\n" * 12
CALLS_MAX = 1_000  # of one fault; it makes about half of that

FAILURES: list[Callable[[], BaseException]] = [
    lambda: ScreenFailed("it failed"),
    MemoryError,
    asyncio.CancelledError,
    lambda: StoreError("the medium failed"),
    lambda: KeyError("what nobody foresaw"),
]


async def _session(memory: Memory) -> tuple[Session, str]:
    session = await memory.session()
    [page_id] = await session.document(DOCUMENT)
    await session.user("What is the rent?")
    await session.request()
    return session, page_id


def _fault(page_id: str, level: int) -> ToolCall:
    asked = {"page_id": page_id, "target_level": level, "reason": "resolve_reference"}
    return ToolCall("call_1", "page_fault", asked)


@contextmanager
def _failing(at: int, failure: BaseException) -> Iterator[list[str]]:
    """Within this block the call of ours that is the `at`-th fails; tells which it was."""
    told: list[str] = []
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        code = frame.f_code
        if event != "call" or "/pagefault/" not in code.co_filename or told:
            return
        if code.co_name in ("checked", "awaited", "whole", "locked") or "<" in code.co_name:
            return  # nothing is under way yet, or it is no call
        count += 1
        if count == at:
            told.append(f"{code.co_filename}:{code.co_name}")
            raise failure

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield told
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_page_whose_fault_failed_at_any_step_can_be_faulted_again(level: int) -> None:
    async with pagefault.open(":memory:") as memory:
        steps = 0
        for at in range(1, CALLS_MAX, 5):
            session, page_id = await _session(memory)
            with _failing(at, FAILURES[steps % len(FAILURES)]()) as told:
                try:
                    await session.call(_fault(page_id, level))
                except (Exception, asyncio.CancelledError):
                    assert told, "it failed by itself"
            if not told:
                break
            steps += 1
            result = json.loads(await session.call(_fault(page_id, level)))
            assert "error" not in result, told
            session.check()
            try:
                await session.user("And the deposit?")
            except (Exception, asyncio.CancelledError):  # the record of the call was not written
                await session.user("And the deposit?")
            await session.request()
            session.check()
        else:
            pytest.fail("a fault makes more calls than were tried")
        assert steps > 30
