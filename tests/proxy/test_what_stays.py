"""What a proxy keeps in its own memory: bounded, however many sessions have ended, and what was let
go comes back from the log as it was.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import types
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pagefault.guard import screen
from pagefault.model.clock import SystemClock
from pagefault.proxy import conversations, desk, kept
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.history import readings
from pagefault.proxy.history.trie import Change, Match
from pagefault.proxy.layout import verbatim
from pagefault.proxy.layout.outgoing import Composed
from pagefault.proxy.metrics import HeatGauges, Metrics
from pagefault.service import runtime, stopwatch
from pagefault.service.heat_counts import HeatCounts
from pagefault.service.root import parts
from pagefault.store.embedded import batch
from tests.proxy.histories import body, long_talk, model, user
from tests.proxy.standing import KEY, Standing, standing
from tests.proxy.upstream import Upstream, always

FEW = 3
SEAL = re.compile(rb"VM:CONTEXT \d+")  # made with the secret of a memory


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


async def ask(to: Standing, name: str, turns: int) -> None:
    told = body(user(f"I am {name}."), *long_talk(turns))
    headers = {"x-pagefault-session": name, "x-api-key": KEY}
    answer = await to.http.post("/v1/messages", json=told, headers=headers)
    assert answer.status_code == 200
    assert "x-pagefault-not-logged" not in answer.headers
    await to.proxy.settled()


def held(by: object) -> int:
    """How many objects it holds on to, and those do."""
    gc.collect()
    apart = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.FrameType)
    seen: dict[int, object] = {}
    found: list[object] = [by]
    while found:
        one = found.pop()
        if id(one) not in seen and not isinstance(one, apart):
            seen[id(one)] = one
            found += gc.get_referents(one)
    return len(seen)


@pytest.mark.parametrize("lets_go", [True, False], ids=["as built", "the control"])
async def test_of_a_session_that_has_ended_next_to_nothing_is_held(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lets_go: bool
) -> None:
    for module, name in (
        *((kept, "CONVERSATIONS_MAX"), (readings, "CLIENTS_MAX"), (desk, "_SESSIONS_MAX")),
        *((batch, "_SESSIONS_MAX"), (runtime, "_CACHED_PAGES"), (screen, "_NOTED_MAX")),
        *((stopwatch, "_KEPT_MAX"), (parts, "RECENT_SESSIONS")),
    ):
        monkeypatch.setattr(module, name, FEW)  # so that each is reached at once
    if not lets_go:
        monkeypatch.setattr(conversations, "let_go", lambda conversations: None)
    async with standing(upstream, root=tmp_path / "m", window=600) as to:
        for number in range(9):
            await ask(to, f"agent {number}", 3)
            upstream.seen.clear()
            if number == 4:
                before = held(to.proxy)
        each = (held(to.proxy) - before) / 4
    assert (each < 25) is lets_go  # its lease, and what is counted now and then


async def test_long_histories_are_let_go_sooner_and_go_on_as_if_they_had_not_been(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[bytes]] = []
    for chars in (0, kept.CHARS_MAX):
        monkeypatch.setattr(kept, "CHARS_MAX", chars)
        monkeypatch.setattr(kept, "ALWAYS_KEPT", 2)
        upstream.seen.clear()
        async with standing(upstream, window=600) as to:
            for turns in (4, 6):
                for name in ("ana", "ben", "cem"):
                    await ask(to, name, turns)
            known = (await to.http.get("/healthz")).json()["conversations"]
            assert known == (2 if chars == 0 else 3)
        told.append([SEAL.sub(b"", seen.raw) for seen in upstream.seen])
    assert told[0] == told[1]


async def test_what_a_client_has_compacted_is_let_go_and_what_is_sent_stays_the_same(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[bytes]] = []
    sent: list[int] = []
    for messages in (2, verbatim.SENT_MAX):
        monkeypatch.setattr(verbatim, "SENT_MAX", messages)
        upstream.seen.clear()
        async with standing(upstream, window=2_000) as to:
            for number in range(6):
                said = [user(f"What came before, in short: {number} times as much.")]
                for part in range(4):
                    said += [model("Hello."), user(f"On to part {part}, for the {number}th time.")]
                    headers = {"x-pagefault-session": "ana", "x-api-key": KEY}
                    answer = await to.http.post("/v1/messages", json=body(*said), headers=headers)
                    assert answer.status_code == 200
            await to.proxy.settled()
            [conversation] = to.proxy._conversations
            sent.append(len(conversation._state.verbatim.sent))
        told.append([SEAL.sub(b"", seen.raw) for seen in upstream.seen])
    assert told[0] == told[1]
    assert sent[0] <= 2 * len(said) < sent[1], "and the control keeps all"


def test_the_latest_conversations_stay_whatever_they_weigh(monkeypatch: pytest.MonkeyPatch) -> None:
    one = types.SimpleNamespace
    weighs = {f"{n}": one(chars=kept.CHARS_MAX // 4) for n in range(6)}
    few: OrderedDict[str, Any] = OrderedDict(weighs)
    kept.let_go(few)
    assert list(few) == ["2", "3", "4", "5"], "the earliest go, until the rest is in bounds"
    monkeypatch.setattr(kept, "CHARS_MAX", 0)
    few = OrderedDict(weighs)
    kept.let_go(few)
    assert len(few) == kept.ALWAYS_KEPT


def test_evictions_and_faults_of_the_last_minute_are_counted_and_no_others_kept() -> None:
    now_s = 0.0

    class Clock(SystemClock):
        def monotonic_s(self) -> float:
            return now_s

    heat = HeatGauges(HeatCounts(), lambda: 0.0, lambda: 0.0)
    counts = Metrics(
        Clock(), windows=lambda: (), kept=lambda: (0, 1), heat=heat, is_writable=lambda: True
    )
    composed = Composed(messages=[], tokens=1, factor=1.0, hidden=(), epoch="window_full")
    match = Match(Change.EXTENDED, (), 0)
    for _ in range(9):  # nobody asks for the metrics meanwhile
        now_s += 45.0
        counts.sent_on(
            0.0, Passed(match=match, composed=composed, body=None, sent={}, evicted=3), "m"
        )
        counts.served(2, 1)
    assert len(counts._evicted) == len(counts._faults) == 2
    assert b"pagefault_evictions_per_minute 6.0" in counts.text()
    assert b"pagefault_fault_rate 1.0" in counts.text()


_BLOCKS = """
import ctypes, sys
from pagefault.proxy.allocator import map_large_blocks

class Info(ctypes.Structure):  # mallinfo2(3)
    _fields_ = [(f"f{n}", ctypes.c_size_t) for n in range(10)]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Info
if sys.argv[1] == "as built":
    assert map_large_blocks()
bytes(4_000_000)  # glibc learns from a block that is freed
before = library.mallinfo2().f3  # blocks that are mapped by themselves
body = bytes(300_000)
print(library.mallinfo2().f3 - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is meant")
@pytest.mark.parametrize(("build", "mapped"), [("as built", 1), ("the control", 0)])
def test_a_large_block_is_mapped_by_itself_also_after_a_larger_one(build: str, mapped: int) -> None:
    try:
        told = subprocess.run(
            [sys.executable, "-c", _BLOCKS, build], capture_output=True, text=True, check=True
        ).stdout
    except subprocess.CalledProcessError as error:
        if "mallinfo2" not in error.stderr:
            raise
        pytest.skip("the C library has no mallinfo2, so it cannot be asked")
    assert int(told) == mapped
