"""A process that has everything imported and gives birth to others, to be put under faults.

To start Python takes a second, and a fault is tried hundreds of times. So one warm process, which
never starts a thread and never opens a memory, is told on stdin what to do, forks for each order,
and answers on stdout. What the child does (`lives.py`) it does through the public face, in a
process of its own, and what it acknowledges comes over a pipe that outlives it.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests import warm
from tests.faults.tracing import Fault, Tracer

PIPE_BYTES: Final = 1 << 20
LONGEST_S: Final = 300.0
"""How long a child may take, on a busy machine too, before it is ended as one that hangs."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a child."""

    how: str  # "returned", "failed", "killed", "exited N", or "late"
    notes: list[dict[str, Any]]  # what it said on the pipe, in order
    result: Any  # what it returned
    error: str  # its traceback, if it failed
    calls: list[str]  # the calls on files that were seen, if it was traced
    struck: list[str]  # those at which the fault happened

    @property
    def acknowledged(self) -> int:
        return sum(1 for note in self.notes if "done" in note)


class Nursery:
    """The warm process, from outside."""

    def __init__(self, home: Path) -> None:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name == "XDG_STATE_HOME"  # where it is noted which memories are ours
            or not name.startswith(("PAGEFAULT_", "OPENAI_", "XDG_"))
        }
        self._process = subprocess.Popen(
            [*warm.python(), "-m", "tests.faults.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=home,
            env={**kept, "HOME": str(home)},
        )

    def bear(
        self,
        life: str,
        *,
        trace: Path | None = None,
        fault: Fault | None = None,
        weakness: str = "",
        limits: Mapping[str, int] | None = None,
        kill_after_s: float | None = None,
        cut: Path | None = None,
        **arguments: Any,
    ) -> Ended:
        """A child that calls `life` of `lives.py` with `arguments`.

        It is traced on the files below `trace`, and the `fault` happens to it there; or it is
        killed `kill_after_s` after its first note, and with it the power of the disk at `cut`.
        `weakness` names one of `weak.py`; `limits` are resource limits (RLIMIT_…, without the
        prefix); that of AS is what it may take besides.
        """
        order = {
            "life": life,
            "arguments": arguments,
            "trace": None if trace is None else str(trace),
            "fault": None if fault is None else fault.to_json(),
            "weakness": weakness,
            "limits": dict(limits or {}),
            "kill_after_s": kill_after_s,
            "cut": None if cut is None else str(cut),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order, default=str) + "\n")
        self._process.stdin.flush()
        ended = Ended(**json.loads(self._process.stdout.readline()))
        if "weakness" in [*ended.notes, {}][0]:
            raise RuntimeError(f"{weakness} cannot be done to this library: {ended.notes[0]}")
        return ended

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=2 * LONGEST_S)
        self._process.stdout.close()


# --- inside -----------------------------------------------------------------------------------


def _serve() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # what a child prints is no answer
    lives = importlib.import_module("tests.faults.lives")
    lives.warm()
    for line in sys.stdin:
        answer = _obey(json.loads(line), lives)
        os.write(answers, (json.dumps(answer) + "\n").encode())


def _obey(order: dict[str, Any], lives: Any) -> dict[str, Any]:
    reading, writing = os.pipe()
    gate_out, gate_in = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.read(gate_out, 1)
        _live(order, lives, writing)
    os.close(writing)
    calls: list[str] = []
    struck: list[str] = []
    late = False
    told = b""
    if order["trace"] is not None:
        fault = None if order["fault"] is None else Fault.from_json(order["fault"])
        signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
        traced = Tracer(pid, order["trace"], fault).run(gate_in)
        late = signal.setitimer(signal.ITIMER_REAL, 0)[0] == 0.0
        calls, struck, status = traced.calls, traced.struck, traced.status
        told = _rest(reading)
    else:
        os.write(gate_in, b"g")
        told, late = _listen(reading, pid, order["kill_after_s"], order["cut"])
        _, status = os.waitpid(pid, 0)
    for fd in (reading, gate_out, gate_in):
        os.close(fd)
    notes = [json.loads(line) for line in told.splitlines(keepends=True) if line.endswith(b"\n")]
    last = notes.pop() if notes and ("result" in notes[-1] or "error" in notes[-1]) else {}
    if late:
        how = "late"
    elif os.WIFSIGNALED(status):
        how = "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {status & 127}"
    elif "error" in last:
        how = "failed"
    else:
        how = "returned" if "result" in last else f"exited {os.WEXITSTATUS(status)}"
    return {
        "how": how,
        "notes": notes,
        "result": last.get("result"),
        "error": last.get("error", ""),
        "calls": calls,
        "struck": struck,
    }


def _listen(fd: int, pid: int, kill_after_s: float | None, cut: str | None) -> tuple[bytes, bool]:
    """What the child says until it is gone, and whether it took too long."""
    ends = time.monotonic() + LONGEST_S
    told, late, killing = b"", False, None
    while True:
        if told and kill_after_s is not None and killing is None:
            killing = time.monotonic() + kill_after_s
        until = min(ends, killing or ends)
        ready, _, _ = select.select([fd], [], [], max(0.0, until - time.monotonic()))
        if ready:
            piece = os.read(fd, 1 << 16)
            if not piece:
                return told, late
            told += piece
        if time.monotonic() >= until:
            late = killing is None
            if cut is not None:
                cut_power(cut)
            os.kill(pid, signal.SIGKILL)
            return told + _rest(fd), late


def cut_power(folder: str) -> None:
    """The ext4 file system there loses what is not on its disk, its unwritten journal included."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(fd, 0x8004587D, struct.pack("=I", 2))  # EXT4_IOC_SHUTDOWN, without a log flush
    os.close(fd)


def _rest(fd: int) -> bytes:
    pieces = []
    while piece := os.read(fd, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def _live(order: dict[str, Any], lives: Any, writing: int) -> None:
    """Never returns: a child that went on would serve orders of its own."""

    def note(**facts: Any) -> None:
        os.write(writing, (json.dumps(facts) + "\n").encode())

    code = 1
    try:
        random.seed(os.urandom(16))
        for name, value in order["limits"].items():
            if name == "AS":
                value += (
                    int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                )
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        if order["weakness"]:
            _weaken(order["weakness"], note)
        result = getattr(lives, order["life"])(note, **order["arguments"])
        note(result=result)
        code = 0
    except BaseException as failure:
        with suppress(BaseException):
            note(error=f"{traceback.format_exc()}{getattr(failure, 'hint', '')}")
    os._exit(code)


def _weaken(weakness: str, note: Any) -> None:
    try:
        importlib.import_module("tests.faults.weak").WEAKNESSES[weakness]()
    except BaseException:
        note(weakness=traceback.format_exc())  # else a control would be content with any failure
        raise


if __name__ == "__main__":
    _serve()
