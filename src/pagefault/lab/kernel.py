"""The kernel bench: the cost of the store and its sessions at a given number of pages.

Everything goes through the public verbs, fsynced and indexed, in a real directory; the disk's bare
fsync is measured for comparison. Pages are 60-word turns, deterministic by seed (`texts.py`),
in sessions of 10,000 turns. Latencies are those of one session among the others. Wall time comes
with the processor time of the whole process, which a busy machine stretches less; the load is
reported at start and end.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pagefault.engine.scripted import ScriptedEngine
from pagefault.lab.texts import TEXTS, WORDS, Texts
from pagefault.model.clock import SystemClock
from pagefault.model.errors import StoreError
from pagefault.model.events import Draft, Said
from pagefault.model.ids import IdMinter, PageId, TurnNo
from pagefault.model.kinds import USER_TYPED, Actor, EventType, Role
from pagefault.model.progress import StageProgress
from pagefault.model.request import ToolCall
from pagefault.service.bootstrap import open_memory
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.stopwatch import Stopwatch
from pagefault.service.turn.drafts import Incoming
from pagefault.store.embedded.root import open_store, rebuild

_SEED: Final = 7
SAMPLES: Final = 1_000  # per latency
SEARCHES: Final = 200
BATCH: Final = 500  # turns per call when ingesting
SESSION_PAGES: Final = 10_000
WINDOW: Final = 32_000
UNAPPLIED: Final = 10_000  # records that a killed process leaves only in the log
MEASURED: Final = "bench"  # the session whose latencies are reported


async def bench_kernel(
    *,
    pages: int,
    root: Path | None,
    tell: StageProgress,
    text: str = "english",
) -> dict[str, Any]:
    """Ingest `pages` turns under `root` (None: a temporary directory), in sessions of up to
    10,000, then measure each verb there. `text` is a name in `TEXTS`. Latencies in milliseconds,
    rates per second.
    """
    async with AsyncExitStack() as stack:
        if root is None:
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pagefault-bench-")))
        home = root / "kernel"
        texts, chance = TEXTS[text](), random.Random(_SEED)
        watch = Stopwatch()
        result: dict[str, Any] = {"pages": pages, "words": WORDS, "text": text}
        result["window_tokens"] = WINDOW
        result |= {"load_before": _load()} | _fsync(root)
        async with open_memory(home, window=WINDOW, meter=watch) as memory:
            await _warm(await memory.session(MEASURED))
            before = _resident_mb()
            text_bytes, took = await _ingest(memory, texts, chance, pages, tell)
            result["ingest_per_s"] = round(pages / took.wall_s)
            result["ingest_cpu_us_per_turn"] = round(1e6 * took.cpu_s / pages, 1)
            session = await memory.session(MEASURED)
            watch.seconds.clear()
            text_bytes += await _append(session, texts, chance, min(SAMPLES, pages), tell, watch)
            result |= _latency("append", watch)
            result["append_cpu_ms"] = watch.quantile_ms("append_cpu", 0.5)
            watch.seconds.clear()
            async with _searching(memory, texts, chance, at_once=2):
                text_bytes += await _append(session, texts, chance, min(SAMPLES, pages), tell)
            result |= {f"{k}_while_searching": v for k, v in _latency("append", watch).items()}
            turns = Stopwatch()
            text_bytes += await _turns(session, texts, chance, tell, turns)
            result |= _latency("request", turns)
            for what in ("turn_cpu", "request_cpu", "request_again_cpu"):
                result[f"{what}_ms"] = turns.quantile_ms(what, 0.5)
            watch.seconds.clear()
            await _faults(memory, session, chance, tell, watch)
            result |= _latency("fault", watch)
            result["fault_cpu_ms"] = watch.quantile_ms("fault_cpu", 0.5)
            result |= await _searches("search", memory.recall, texts, chance, tell)
            result |= await _searches("session_search", session.recall, texts, chance, tell)
            result["rss_mb"] = round(_resident_mb(), 1)
            result["rss_growth_mb"] = round(_resident_mb() - before, 1)
        result["bytes_on_disk_per_text_byte"] = round(_bytes_under(home) / text_bytes, 3)
        result["first_request_ms"] = await _first_request(home)
        await asyncio.to_thread(_die_before_applying, home, min(UNAPPLIED, pages), text)
        result["first_request_after_kill_ms"] = await _first_request(home)
        records, took = _rebuild(home, tell)
        result["rebuild_per_s"] = round(records / took.wall_s)
        result["rebuild_cpu_us_per_record"] = round(1e6 * took.cpu_s / records, 1)
        result["load_after"] = _load()
        return result


class Took:
    """Total time of several blocks: wall time, and processor time of all threads of the process."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall_s += time.perf_counter() - wall
        self.cpu_s += time.process_time() - cpu


async def _warm(session: Session) -> None:
    """Load the tokenizer and run every path once, so that neither is measured."""
    await session.user("warm up")
    await session.run(ScriptedEngine())


async def _ingest(
    memory: Memory, texts: Texts, chance: random.Random, pages: int, tell: StageProgress
) -> tuple[int, Took]:
    """Ingest the measured session first, so that all others are newer."""
    size, took = 0, Took()
    for first in range(0, pages, SESSION_PAGES):
        session = await memory.session(f"{MEASURED}-{first}" if first else MEASURED)
        last = min(first + SESSION_PAGES, pages)
        for start in range(first, last, BATCH):
            batch = [
                Incoming(text=texts.turn(chance), role=Role.ASSISTANT if n % 2 else Role.USER)
                for n in range(start, min(start + BATCH, last))
            ]
            size += sum(len(said.text.encode()) for said in batch)
            with took.timed():
                await session.say(batch, origin=USER_TYPED)
            tell("ingesting", start + len(batch), pages)
    return size, took


async def _append(
    session: Session,
    texts: Texts,
    chance: random.Random,
    count: int,
    tell: StageProgress,
    watch: Stopwatch | None = None,
) -> int:
    size = 0
    for number in range(count):
        text = texts.turn(chance)
        size += len(text.encode())
        took = Took()
        with took.timed():
            await (session.assistant(text) if number % 2 else session.user(text))
        if watch is not None:
            watch("append_cpu", took.cpu_s)
        tell("appending", number + 1, count)
    return size


async def _turns(
    session: Session,
    texts: Texts,
    chance: random.Random,
    tell: StageProgress,
    watch: Stopwatch,
) -> int:
    """A host's turns: a user's message, the request with what it recalls, and the answer. Repeated
    requests within a turn are not included.
    """
    size = 0
    for number in range(SEARCHES):
        asked, answer = texts.message(chance), texts.turn(chance)
        size += len(asked.encode()) + len(answer.encode())
        turn, request, again = Took(), Took(), Took()
        with turn.timed():
            await session.user(asked)
            with request.timed():
                await session.request()
        with again.timed():
            await session.request()
        with turn.timed():
            await session.assistant(answer)
        watch("request", request.wall_s)
        for what, took in (("turn", turn), ("request", request), ("request_again", again)):
            watch(f"{what}_cpu", took.cpu_s)
        tell("packing requests", number + 1, SEARCHES)
    return size


async def _faults(
    memory: Memory,
    session: Session,
    chance: random.Random,
    tell: StageProgress,
    watch: Stopwatch,
) -> None:
    """One fault per turn, on pages from anywhere in the session."""
    oldest = (await session.status()).pages
    count = min(SAMPLES, oldest)
    for number in range(count):
        if number % memory.limits.faults_per_turn_max == 0:
            await session.user("next")
        page_id = f"msg_{chance.randrange(1, oldest)}"
        arguments = json.dumps({"page_id": page_id, "target_level": 0})
        await session.owned.settled()  # the previous fault's record, for which nobody waits
        took = Took()
        with took.timed():
            await session.call(ToolCall(f"call_{number}", "page_fault", arguments))
        watch("fault_cpu", took.cpu_s)
        tell("faulting", number + 1, count)


async def _searches(
    name: str,
    recall: Callable[..., Any],
    texts: Texts,
    chance: random.Random,
    tell: StageProgress,
) -> dict[str, float | None]:
    watch = Stopwatch()
    for number in range(SEARCHES):
        query, took = texts.query(chance), Took()
        with took.timed():
            await recall(query, limit=10)
        watch(name, took.wall_s)
        watch("cpu", took.cpu_s)
        tell("searching", number + 1, SEARCHES)
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    told = {f"{name}_{label}_ms": watch.quantile_ms(name, q) for label, q in shares.items()}
    return told | {f"{name}_cpu_ms": watch.quantile_ms("cpu", 0.5)}


@asynccontextmanager
async def _searching(
    memory: Memory, texts: Texts, chance: random.Random, *, at_once: int
) -> AsyncIterator[None]:
    """Within this block, `at_once` loops of searches over everything run in the background."""

    async def search() -> None:
        while True:
            await memory.recall(texts.query(chance), limit=10)

    tasks = [asyncio.ensure_future(search()) for _ in range(at_once)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


async def _first_request(home: Path) -> float:
    """The cost of a restart: from opening an existing memory to its first request."""
    began = time.perf_counter()
    async with open_memory(home, window=WINDOW) as memory:
        session = await memory.session(MEASURED, create=False)
        await session.user("are you there?")
        await session.request()
        return round(1000 * (time.perf_counter() - began), 1)


def _die_before_applying(home: Path, records: int, text: str) -> None:
    """Have a process append records to the log and be killed before it indexes any."""
    command = [sys.executable, "-c", _DYING, str(home), str(records), text]
    died = subprocess.run(command, capture_output=True, timeout=600, check=False)
    if died.returncode != -signal.SIGKILL:
        raise StoreError(f"the process that was to die did not: {died.stderr.decode()[-500:]}")


_DYING: Final = """
import os, signal, sys
from pathlib import Path
from pagefault.lab.kernel import append_only
append_only(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
os.kill(os.getpid(), signal.SIGKILL)
"""


def append_only(home: Path, records: int, text: str) -> None:
    """Append turns to the measured session: synced to the log, but not indexed."""
    texts, chance = TEXTS[text](), random.Random(_SEED)
    clock = SystemClock()
    store = open_store(home, clock=clock, minter=IdMinter(clock, random.SystemRandom()))
    row = store.index.find_session(MEASURED)
    assert row is not None
    drafts = [
        Draft(
            session=row.session,
            turn=TurnNo(row.turns - 1),
            actor=Actor.MODEL,
            origin=USER_TYPED,
            body=Said(
                event_type=EventType.CHAT_TURN,
                page_id=PageId(f"msg_{row.pages + n + 1}"),
                order=row.pages + n,
                role=Role.ASSISTANT,
                text=texts.turn(chance),
                tokens=WORDS,
            ),
        )
        for n in range(records)
    ]
    with store.writing():
        store.lease(row.session)
        for first in range(0, records, BATCH):
            store.append(drafts[first : first + BATCH])
        store.log.sync()


def _rebuild(home: Path, tell: StageProgress) -> tuple[int, Took]:
    took, clock = Took(), SystemClock()
    minter = IdMinter(clock, random.SystemRandom())
    with took.timed():
        records = rebuild(
            home, clock=clock, minter=minter, progress=lambda d, t: tell("rebuilding", d, t)
        ).records
    return records, took


def _load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _latency(what: str, watch: Stopwatch) -> dict[str, float | None]:
    shares = {"p50": 0.5, "p95": 0.95}
    if what == "append":
        shares |= {"p999": 0.999, "max": 1.0}
    return {f"{what}_{name}_ms": watch.quantile_ms(what, share) for name, share in shares.items()}


def _fsync(root: Path) -> dict[str, float | None]:
    """The bare cost of syncing a turn's worth of bytes to this disk."""
    watch, line = Stopwatch(), b"x" * 700
    root.mkdir(parents=True, exist_ok=True)
    path = root / "fsync-probe"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(500):
            began = time.perf_counter()
            os.write(fd, line)
            os.fsync(fd)
            watch("fsync", time.perf_counter() - began)
    finally:
        os.close(fd)
        path.unlink()
    return {"fsync_p50_ms": watch.quantile_ms("fsync", 0.5)}


def _resident_mb() -> float:
    """The resident memory now; the peak if the system does not report it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def _bytes_under(home: Path) -> int:
    files: Sequence[Path] = [*(home / "log").glob("*"), *home.glob("index.db*")]
    return sum(path.stat().st_size for path in files)
