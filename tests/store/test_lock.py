"""The root's lock: one writer, named; never stolen, never stale."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pagefault.model.errors import StoreBusy
from pagefault.store.lock import RootLock, read_holder
from tests.store.logs import StillClock

_HOLDER = """
import sys, time
from pathlib import Path
from pagefault.model.clock import SystemClock
from pagefault.store.lock import RootLock
RootLock(Path(sys.argv[1]), clock=SystemClock()).acquire()
print("held", flush=True)
time.sleep(60)
"""


def _lock(root: Path) -> RootLock:
    return RootLock(root, clock=StillClock())


def _hold_elsewhere(root: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_writer_is_refused_and_told_who_and_what_to_do(tmp_path: Path) -> None:
    with _lock(tmp_path).held(), pytest.raises(StoreBusy) as caught:
        _lock(tmp_path).acquire()
    assert f"process {os.getpid()} on " in str(caught.value)
    assert "2025-11-24" in str(caught.value)  # since when
    assert "reading only" in caught.value.hint


def test_once_released_it_can_be_taken_again(tmp_path: Path) -> None:
    lock = _lock(tmp_path)
    for _ in range(2):
        with lock.held():
            assert read_holder(tmp_path) is not None
        assert read_holder(tmp_path) is None
        lock.release()


def test_it_is_not_stolen_from_a_stopped_holder(tmp_path: Path) -> None:
    holder = _hold_elsewhere(tmp_path)
    try:
        os.kill(holder.pid, signal.SIGSTOP)
        with pytest.raises(StoreBusy, match=f"process {holder.pid} "):
            _lock(tmp_path).acquire()
    finally:
        holder.kill()
        holder.communicate()


def test_a_killed_holder_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    holder = _hold_elsewhere(tmp_path)
    with pytest.raises(StoreBusy):
        _lock(tmp_path).acquire()
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    stale = read_holder(tmp_path)
    assert stale is not None
    assert stale.pid == holder.pid, "its text is still there, and harmless"
    with _lock(tmp_path).held():
        own = read_holder(tmp_path)
        assert own is not None
        assert own.pid == os.getpid()


def test_an_unreadable_text_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"\xff not json")
    with _lock(tmp_path).held():
        pass
