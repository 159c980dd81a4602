"""Every system call by which a process changes the files below a folder, seen before it happens.

A process that was forked is traced with ptrace, all its threads together, so its calls have one
order and one count. At the call with the number that was asked for it is killed, or told an error,
or made to write less than it wanted. `strace -e inject` counts for each thread by itself, and would
never reach those of a thread that calls less often than another.

Linux; killing works on x86-64 and 64-bit ARM, lying to the process on x86-64 only.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Final

SEIZE, INTERRUPT, SYSCALL, LISTEN, SYSCALL_INFO = 0x4206, 0x4207, 24, 0x4208, 0x420E
POKE_USER: Final = 6
OPTIONS: Final = 0x1 | 0x2 | 0x4 | 0x8 | 0x100000  # sysgood, fork, vfork, clone, exit-kill
ENTERS, LEAVES = 1, 2
RAX, RDX, ORIG_RAX = 10 * 8, 12 * 8, 15 * 8
WALL: Final = 0x40000000

_O_CHANGES: Final = os.O_CREAT | os.O_TRUNC

# By name: which argument is the file descriptor, or (a directory's descriptor, a path).
_SHAPES: Final[dict[str, int | tuple[int | None, int]]] = {
    "write": 0,
    "writev": 0,
    "pwrite64": 0,
    "pwritev": 0,
    "fsync": 0,
    "fdatasync": 0,
    "ftruncate": 0,
    "fallocate": 0,
    "sendfile": 0,
    "copy_file_range": 2,
    "rename": (None, 1),
    "renameat": (2, 3),
    "renameat2": (2, 3),
    "link": (None, 1),
    "linkat": (2, 3),
    "unlink": (None, 0),
    "unlinkat": (0, 1),
    "rmdir": (None, 0),
    "mkdir": (None, 0),
    "mkdirat": (0, 1),
    "openat": (0, 1),
}
_NUMBERS: Final = {
    "x86_64": (
        "write 1 writev 20 pwrite64 18 pwritev 296 fsync 74 fdatasync 75 ftruncate 77 "
        "fallocate 285 sendfile 40 copy_file_range 326 rename 82 renameat 264 renameat2 316 "
        "link 86 linkat 265 unlink 87 unlinkat 263 rmdir 84 mkdir 83 mkdirat 258 openat 257"
    ),
    "aarch64": (
        "write 64 writev 66 pwrite64 68 pwritev 70 fsync 82 fdatasync 83 ftruncate 46 "
        "fallocate 47 sendfile 71 copy_file_range 285 renameat 38 renameat2 276 "
        "linkat 37 unlinkat 35 mkdirat 34 openat 56"
    ),
}


def _table() -> dict[int, str]:
    words = _NUMBERS.get(platform.machine(), "").split()
    return {int(number): name for name, number in zip(words[::2], words[1::2], strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens at the calls numbered `at` to `until` (from 1) among those that match.

    `do` is "kill", "error" (the call is not made, and `number` is its errno), "short" (a write is
    made of its first `number` bytes only), or "torn" (that, and killed once they are written). A
    call matches if its name is in `calls` (any, if empty) and `path` stands in its file's name.
    """

    do: str
    at: int
    until: int = 0
    number: int = 0
    calls: tuple[str, ...] = ()
    path: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Fault:
        return cls(**{**facts, "calls": tuple(facts["calls"])})


def cannot_trace(*, lies: bool = False) -> str:
    """Why calls cannot be traced here; empty if they can. `lies`: nor answered falsely."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _NUMBERS:
        return f"system calls cannot be traced on {sys.platform} {machine}"
    if lies and machine != "x86_64":
        return f"system calls cannot be made to fail on {machine}"
    pid = os.fork()
    if pid == 0:
        os.read(os.pipe()[0], 1)
        os._exit(0)
    try:
        _ptrace(SEIZE, pid, 0, OPTIONS)
    except OSError as refused:
        return f"this system does not let us trace a child: {refused}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return ""


@dataclass(slots=True)
class Trace:
    """What a traced process did: its calls on files below the folder, and how it ended."""

    calls: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)  # those at which the fault happened
    status: int = 0


class _SyscallInfo(ctypes.Structure):
    _fields_ = [("raw", ctypes.c_uint8 * 88)]


_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_LIBC.ptrace.restype = ctypes.c_long


def _ptrace(request: int, pid: int, address: int, data: int) -> int:
    ctypes.set_errno(0)
    answer: int = _LIBC.ptrace(request, pid, address, data)
    if answer < 0 and ctypes.get_errno():
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


class Tracer:
    """Traces one forked process. `gate` is written to once it is traced: it waits for that."""

    def __init__(self, pid: int, folder: str, fault: Fault | None) -> None:
        self._pid = pid
        self._folder = os.path.realpath(folder)
        self._fault = fault
        self._table = _table()
        self._info = _SyscallInfo()
        self._matched = 0
        self._lies: dict[int, int] = {}  # by thread: what its call shall seem to return
        self._dying: set[int] = set()  # threads whose call is their last
        self.trace = Trace()

    def run(self, gate: int) -> Trace:
        """Follow it to its end."""
        _ptrace(SEIZE, self._pid, 0, OPTIONS)
        _ptrace(INTERRUPT, self._pid, 0, 0)
        os.write(gate, b"g")
        while True:
            try:
                thread, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return self.trace
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if thread == self._pid:
                    self.trace.status = status
                continue
            try:
                self._stopped(thread, status)
            except ProcessLookupError:
                continue  # it was killed while we looked

    def _stopped(self, thread: int, status: int) -> None:
        number, event = os.WSTOPSIG(status), status >> 16
        if number == signal.SIGTRAP | 0x80:
            self._call(thread)
            _ptrace(SYSCALL, thread, 0, 0)
        elif event:  # a new thread, or the first stop
            _ptrace(SYSCALL, thread, 0, 0)
        else:
            _ptrace(SYSCALL, thread, 0, number)

    def _call(self, thread: int) -> None:
        _ptrace(SYSCALL_INFO, thread, ctypes.sizeof(self._info), ctypes.addressof(self._info))
        raw = bytes(self._info.raw)
        if raw[0] == LEAVES and thread in self._lies:
            _ptrace(POKE_USER, thread, RAX, self._lies.pop(thread))
        if raw[0] == LEAVES and thread in self._dying:
            os.kill(self._pid, signal.SIGKILL)
        if raw[0] != ENTERS:
            return
        number, *arguments = struct.unpack_from("=7Q", raw, 24)
        name = self._table.get(number)
        if name is None:
            return
        path = self._path(thread, name, arguments)
        if path is None:
            return
        self.trace.calls.append(f"{name} {path}")
        fault = self._fault
        if fault is None or (fault.calls and name not in fault.calls) or fault.path not in path:
            return
        self._matched += 1
        if fault.at <= self._matched <= max(fault.at, fault.until):
            self.trace.struck.append(self.trace.calls[-1])
            self._strike(thread, fault, arguments)

    def _strike(self, thread: int, fault: Fault, arguments: list[int]) -> None:
        if fault.do == "kill":
            os.kill(self._pid, signal.SIGKILL)
        elif fault.do == "error":
            _ptrace(POKE_USER, thread, ORIG_RAX, 2**64 - 1)  # no such call: it is not made
            self._lies[thread] = 2**64 - fault.number
        elif fault.do in {"short", "torn"}:
            _ptrace(POKE_USER, thread, RDX, min(fault.number, arguments[2]))
            if fault.do == "torn":
                self._dying.add(thread)
        else:
            raise ValueError(fault.do)

    def _path(self, thread: int, name: str, arguments: list[int]) -> str | None:
        """The file it is about, relative to the folder; nothing if it is elsewhere."""
        shape = _SHAPES[name]
        if isinstance(shape, int):
            path = self._of_descriptor(thread, arguments[shape])
        else:
            at, which = shape
            path = self._string(arguments[which])
            if not path.startswith("/"):
                directory = None if at is None else ctypes.c_int32(arguments[at] & 2**32 - 1).value
                base = (
                    os.readlink(f"/proc/{self._pid}/cwd")
                    if directory is None or directory < 0
                    else self._of_descriptor(thread, directory)
                )
                path = f"{base}/{path}"
            if name == "openat" and not arguments[2] & _O_CHANGES:
                return None
        if path != self._folder and not path.startswith(self._folder + "/"):
            return None
        return path[len(self._folder) + 1 :] or "."

    def _of_descriptor(self, thread: int, number: int) -> str:
        try:
            return os.readlink(f"/proc/{thread}/fd/{number & 2**32 - 1}")
        except OSError:
            return ""

    def _string(self, address: int) -> str:
        with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            text = b""
            while b"\0" not in text and len(text) < 4096:
                # Never across the end of a page that may be the last one.
                text += memory.read(min(256, 4096 - (address + len(text)) % 4096)) or b"\0"
        return os.fsdecode(text.split(b"\0", 1)[0])
