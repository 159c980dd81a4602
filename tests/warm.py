"""Python processes that need no time to start.

To start Python, import what a command needs and load a vocabulary takes a second of a core, and the
tests start hundreds of processes. So one warm process, which has no thread and no memory open,
listens at a socket and forks who is asked for there.

`Forked` asks as `Popen` does, and what it is of is the process itself: with its own pid, which
every signal reaches. `python()` is for who takes words only: `warm_child.py` stands for `python`
and asks; it stops, ends and is killed with the child, and the child with it, but other signals do
not reach that.

Where what is tested is how a process starts, take a real one.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from inspect import signature
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import Any

import pagefault

_Running = tuple[Popen[bytes], TemporaryDirectory[str]]

_running: list[_Running] = []
_is_warm = False  # this process
_getppid = os.getppid

_PID_BYTES = 8


class Forked(Popen[Any]):
    """`Popen` of `[sys.executable, "-m", MODULE, …]`, or of `-c CODE`, that need not start Python.

    A process that is warm itself forks, and any other asks the warm one to. Then the child takes
    whoever asked for its parent, which it is not: it outlives the socket, as one does an `exec`.
    """

    _server: socket.socket | None = None

    def _execute_child(self, *given: Any) -> None:
        told = signature(Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        python, *words = map(os.fsdecode, told["args"])
        assert python == sys.executable, words
        words = words[words[0] == "-P" :]  # it has no folder of its own to import from
        streams = [told[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        streams = [number if fd == -1 else fd for number, fd in enumerate(streams)]
        given_env = os.environ if told["env"] is None else told["env"]
        environment = [f"{os.fsdecode(n)}={os.fsdecode(value)}" for n, value in given_env.items()]
        folder, session = os.fsdecode(told["cwd"] or os.getcwd()), told["start_new_session"]
        if _is_warm:
            self.pid = os.fork()
            if self.pid == 0:
                os.getppid = _getppid
                _live([os.dup(fd) for fd in streams], folder, words, environment, session=session)
        else:
            fields = [str(-os.getpid()), str(int(session)), folder, str(len(words)), *words]
            message = "\0".join(fields + environment).encode(errors="surrogateescape")
            self._server = socket.socket(socket.AF_UNIX)
            self._server.connect(_warm_place())
            socket.send_fds(self._server, [len(message).to_bytes(8, "big")], streams)
            self._server.sendall(message)
            self.pid = int(self._server.recv(_PID_BYTES))
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(told[name] for name in pipes))  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._server is None:
            pid, status = super()._try_wait(wait_flags)  # type: ignore[misc]
            return pid, status
        self._server.setblocking(not wait_flags & os.WNOHANG)
        try:
            code = int(self._server.recv(8) or b"1")
        except BlockingIOError:
            return 0, 0
        self._server.close()
        return self.pid, code << 8 if code >= 0 else -code

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def python() -> list[str]:
    """What stands for `python`: `-m MODULE …` or `-c CODE …` follow."""
    asker = os.path.join(os.path.dirname(__file__), "warm_child.py")
    return [sys.executable, "-I", "-S", asker, _warm_place()]


def _warm_place() -> str:
    """The socket at which the warm process is asked; it is started if need be."""
    if not _running:
        _running.append(_start())
    return _place(_running[0][1].name)


def _place(folder: str) -> str:
    return os.path.join(folder, "warm")


def _start() -> _Running:
    folder = TemporaryDirectory()  # of a short name, as a socket's has to be
    repository = os.path.dirname(os.path.dirname(__file__))
    path = os.pathsep.join([os.path.dirname(os.path.dirname(pagefault.__file__)), repository])
    server = Popen(
        [sys.executable, "-m", "tests.warm", _place(folder.name)],
        stdin=PIPE,
        stdout=PIPE,
        cwd=folder.name,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"listening\n"
    return server, folder


def close() -> None:
    """End it, if it was started."""
    while _running:
        server, folder = _running.pop()
        server.communicate(timeout=300)
        folder.cleanup()


# --- inside -----------------------------------------------------------------------------------


class Server:
    def __init__(self, place: str) -> None:
        self._children: dict[int, tuple[socket.socket, int]] = {}
        """Of each child: where whoever asked for it waits, and the process that does."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(place)
        self._listening.listen(64)

    def serve(self) -> None:
        """Until stdin is closed."""
        import select

        signal.signal(signal.SIGCHLD, lambda *_: None)  # it wakes `select` up, by this pipe
        awake, wakes = os.pipe()
        for end in (awake, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes)
        os.write(1, b"listening\n")
        while True:
            waiting = {asked: pid for pid, (asked, _) in self._children.items()}
            watched: list[int | socket.socket] = [0, awake, self._listening, *waiting]
            ready, _, _ = select.select(watched, [], [])
            if awake in ready:
                os.read(awake, 1 << 10)
            self._mirror()
            for asked in waiting.keys() & set(ready):
                if waiting[asked] in self._children:  # who asked for it is gone
                    _, asker = self._children.pop(waiting[asked])
                    asked.close()
                    if asker > 0:
                        os.kill(waiting[asked], signal.SIGKILL)
            if self._listening in ready:
                self._bear()
            if 0 in ready:
                return

    def _mirror(self) -> None:
        """Who asked for a child stops, goes on and ends with it."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid not in self._children:
                continue
            asked, asker = self._children[pid]
            if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                if asker > 0:
                    os.kill(asker, signal.SIGSTOP if os.WIFSTOPPED(status) else signal.SIGCONT)
            else:
                del self._children[pid]
                with asked, suppress(OSError):  # it may be gone
                    asked.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _bear(self) -> None:
        asked, _ = self._listening.accept()
        size, fds, _, _ = socket.recv_fds(asked, 8, 3)
        told = b""
        while len(told) < int.from_bytes(size, "big"):
            told += asked.recv(1 << 20)
        asker, session, folder, count, *fields = told.decode(errors="surrogateescape").split("\0")
        pid = os.fork()
        if pid == 0:
            for other in (asked, self._listening, *(one for one, _ in self._children.values())):
                other.close()
            if int(asker) < 0:
                os.getppid = lambda: _parent(-int(asker))
            words, environment = fields[: int(count)], fields[int(count) :]
            _live(fds, folder, words, environment, session=bool(int(session)))
        for fd in fds:
            os.close(fd)
        if int(asker) < 0:
            asked.sendall(str(pid).rjust(_PID_BYTES).encode())
        self._children[pid] = (asked, int(asker))


def serve(place: str) -> None:
    """Until stdin is closed. What its children start in the background is forked, too."""
    from pagefault.cli import background

    globals()["_is_warm"] = True
    vars(background)["Popen"] = Forked
    Server(place).serve()


def _parent(pid: int) -> int:
    """What `getppid` tells of a parent: another, once it is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return 1
    return pid


def prepare() -> None:
    """Load what a command loads when it runs, the vocabulary above all; no thread is left."""
    import asyncio
    import gc
    import threading
    from importlib import import_module
    from pkgutil import walk_packages

    import pagefault
    from pagefault.language.analyzer import query_terms
    from pagefault.pack.count import O200k
    from pagefault.store import codec

    # What is plugged into other packages loads these, and no command does; but `studio`, which
    # needs a package that may not be there.
    others = (
        *("pagefault.testing", "pagefault.cli.__main__"),
        *("pagefault.integrations.", "pagefault.studio."),
    )
    for module in walk_packages(pagefault.__path__, "pagefault."):
        if not module.name.startswith(others):
            import_module(module.name)
    for name in ("apsw.sqlite_extra", "numpy.ma", "platformdirs.unix", "rich.console"):
        import_module(name)
    O200k().count("hello world")
    query_terms("hello worlds")
    asyncio.run(_talk())  # which makes what is made when it is first asked for
    assert threading.active_count() == 1
    for cls in codec._CLASSES:
        codec._ENCODERS[cls], codec._DECODERS[cls]
    for cls in codec._PAGES:
        codec._QUICK[cls]
    gc.collect()
    gc.freeze()  # else each child looks through it all, and so gets a copy of its own


async def _talk() -> None:
    async with pagefault.open(":memory:", window=2_000) as memory:
        session = await memory.session("talk")
        for text in (
            "We decided to use PostgreSQL on Monday.",
            "What did we decide last week?",
            "qx1z qx2z",  # in no known language, so the patterns of all are compiled
        ):
            await session.user(text)
            await session.request(format="openai")
            await session.assistant("Noted.")
        await session.recall("decided")
        await memory.verify()


def _live(
    fds: list[int], folder: str, words: list[str], environment: list[str], *, session: bool = False
) -> None:
    """Never returns: a child that went on would serve as well."""
    import random
    import runpy
    import traceback

    code = 1
    try:
        if session:
            os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, (fd, name) in enumerate(zip(fds, ("stdin", "stdout", "stderr"), strict=True)):
            os.dup2(fd, number)
            os.close(fd)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
        os.chdir(folder)
        os.environ.clear()
        for one in environment:
            name, _, value = one.partition("=")
            os.environ[name] = value
        random.seed()
        how, what, *sys.argv[1:] = words
        sys.argv[0] = how
        if how == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec", dont_inherit=True), {"__name__": "__main__"})
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    from tests import warm  # as a child knows this module

    prepare()
    warm.serve(sys.argv[1])
