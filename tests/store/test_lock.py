"""The root's lock: one at a time, in turn, named; never stolen, never stale."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagefault.model.errors import StoreBusy
from pagefault.store.embedded import lock as locking
from pagefault.store.embedded.lock import RootLock, read_process
from tests.store.logs import StillClock

_HOLDER = """
import sys, time
from pathlib import Path
from pagefault.model.clock import SystemClock
from pagefault.store.embedded.lock import RootLock
lock = RootLock(Path(sys.argv[1]), clock=SystemClock())
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
time.sleep(60)
"""


def _lock(root: Path, wait_s: float = 0.01) -> RootLock:
    return RootLock(root, clock=StillClock(), wait_s=wait_s)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    yield holder
    holder.kill()
    holder.communicate()


def test_whoever_waits_too_long_is_told_who_holds_it_and_what_to_do(tmp_path: Path) -> None:
    with _lock(tmp_path).held(), pytest.raises(StoreBusy) as caught:
        _lock(tmp_path).acquire()
    assert f"process {os.getpid()} on " in str(caught.value)
    assert "2025-11-24" in str(caught.value)  # since when
    assert "read-only" in caught.value.hint


def test_once_released_it_can_be_taken_again(tmp_path: Path) -> None:
    lock, other = _lock(tmp_path), _lock(tmp_path)
    for _ in range(2):
        with lock.held(), pytest.raises(StoreBusy):
            other.acquire()
        with other.held(), pytest.raises(StoreBusy):
            lock.acquire()
        lock.release()


def test_whoever_waits_gets_it_when_it_is_released(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    asked = 0

    def asking(_: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "released\n"

    with RootLock(tmp_path, clock=StillClock(), sleep=asking).held():
        assert asked == 3


def test_it_is_not_stolen_from_a_stopped_holder(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    os.kill(holder.pid, signal.SIGSTOP)
    with pytest.raises(StoreBusy, match=f"process {holder.pid} "):
        _lock(tmp_path).acquire()


def test_a_killed_holder_leaves_nothing_in_the_way(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(StoreBusy):
        _lock(tmp_path).acquire()
    holder.kill()
    holder.wait()
    stale = read_process(tmp_path)
    assert stale is not None
    assert stale.pid == holder.pid, "its text is still there, and harmless"
    with _lock(tmp_path).held():
        own = read_process(tmp_path)
        assert own is not None
        assert own.pid == os.getpid()


def test_a_text_that_names_a_living_process_keeps_nobody_out(tmp_path: Path) -> None:
    """Its pid came back as another process: nobody asks the text."""
    holder = locking.Process(pid=os.getppid(), host="here", command="innocent", since_ms=1)
    (tmp_path / "lock").write_bytes(holder.encode())
    with _lock(tmp_path).held():
        own = read_process(tmp_path)
        assert own is not None
        assert own.pid == os.getpid()


def test_an_unreadable_text_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"\xff not json")
    with _lock(tmp_path).held():
        assert read_process(tmp_path) is not None


# --- in turn ----------------------------------------------------------------------------------


def check_the_one_that_waits_is_next(root: Path) -> None:
    """It stands in the turnstile; whoever has just let go cannot slip in before it."""
    turnstile = os.open(root / "turnstile", os.O_RDWR | os.O_CREAT)  # where one that waits stands
    try:
        fcntl.flock(turnstile, fcntl.LOCK_EX)
        waits: list[float] = []
        courteous = RootLock(root, clock=StillClock(), wait_s=1.0, sleep=waits.append)
        with courteous.held():
            assert sum(waits) >= 0.2, "somebody went before the one that waited"
    finally:
        os.close(turnstile)


def test_the_one_that_waits_is_next(tmp_path: Path) -> None:
    check_the_one_that_waits_is_next(tmp_path)


def test_control_without_courtesy_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "_COURTESY_S", 0.0)
    with pytest.raises(AssertionError, match="went before"):
        check_the_one_that_waits_is_next(tmp_path)


def test_one_that_stopped_in_the_turnstile_is_passed(tmp_path: Path) -> None:
    """A turnstile only orders: stopping in it stops nobody."""
    lock = _lock(tmp_path, wait_s=1.0)
    turnstile = os.open(tmp_path / "turnstile", os.O_RDWR | os.O_CREAT)
    fcntl.flock(turnstile, fcntl.LOCK_EX)
    with lock.held():
        own = read_process(tmp_path)
        assert own is not None
        assert own.pid == os.getpid()
    os.close(turnstile)


def test_a_holder_is_known_by_its_program_and_tells_none_of_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["/usr/bin/mémoire\udcff" + "x" * 400, "--root", "secret", "talk\nand \udcff"]
    monkeypatch.setattr("sys.argv", words)
    here = locking.Process.here(StillClock())
    assert here.command.startswith("mémoire")
    assert len(here.command) == 60
    text = here.encode()
    assert len(text) == locking.TEXT_BYTES
    found = locking.decode_process(text)
    assert found is not None
    assert found.command.startswith("mémoire")
    assert b"secret" not in text
    assert b"talk" not in text
