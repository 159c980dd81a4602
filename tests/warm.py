"""Python processes that need no time to start.

To start Python, import what a command needs and load a vocabulary takes a second of a core, and the
tests start hundreds of processes. So one warm process, which starts no thread and opens no memory,
listens at a socket. `warm_child.py` stands for `python` and asks there for a child, which is
forked; it stops, ends and is killed with the child, and the child with it.

Other signals do not reach the child. Where they have to, or where what is tested is how a process
starts, take a real one.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

import pagefault

_Running = tuple[Popen[bytes], TemporaryDirectory[str]]

_running: list[_Running] = []


def python() -> list[str]:
    """What stands for `python`: `-m MODULE …` or `-c CODE …` follow."""
    if not _running:
        _running.append(_start())
    asker = os.path.join(os.path.dirname(__file__), "warm_child.py")
    return [sys.executable, "-I", "-S", asker, _place(_running[0][1].name)]


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
                    os.kill(waiting[asked], signal.SIGKILL)
                    self._children[waiting[asked]][0].close()
                    del self._children[waiting[asked]]
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
            if os.WIFSTOPPED(status):
                os.kill(asker, signal.SIGSTOP)
            elif os.WIFCONTINUED(status):
                os.kill(asker, signal.SIGCONT)
            else:
                del self._children[pid]
                with asked:
                    asked.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _bear(self) -> None:
        asked, _ = self._listening.accept()
        size, fds, _, _ = socket.recv_fds(asked, 8, 3)
        told = b""
        while len(told) < int.from_bytes(size, "big"):
            told += asked.recv(1 << 20)
        asker, folder, count, *fields = told.decode(errors="surrogateescape").split("\0")
        pid = os.fork()
        if pid == 0:
            for other in (asked, self._listening, *(one for one, _ in self._children.values())):
                other.close()
            _live(fds, folder, fields[: int(count)], fields[int(count) :])
        for fd in fds:
            os.close(fd)
        self._children[pid] = (asked, int(asker))


def prepare() -> None:
    """Load what a command loads when it runs, the vocabulary above all, and start no thread."""
    import gc
    from importlib import import_module
    from pkgutil import walk_packages

    import pagefault
    from pagefault.language.analyzer import query_terms
    from pagefault.pack.count import O200k

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
    gc.freeze()  # else each child looks through it all, and so gets a copy of its own


def _live(fds: list[int], folder: str, words: list[str], environment: list[str]) -> None:
    """Never returns: a child that went on would serve as well."""
    import random
    import runpy
    import traceback

    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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
    prepare()
    Server(sys.argv[1]).serve()
