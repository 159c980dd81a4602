"""Other processes that use a memory: each does what it is asked, one thing at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.warm import python

_WORKER = """
import asyncio, json, os, signal, sys, time
import pagefault
from pagefault.service.bootstrap import open_memory
from pagefault.store.store import Store

options = json.loads(sys.argv[2])

def armed(of, name, before):
    # Once: `before` is called instead of a method, which then goes on.
    method = getattr(of, name)
    def once(*args, **more):
        setattr(of, name, method)
        before(*args, **more)
        return method(*args, **more)
    setattr(of, name, once)

async def do(memory, verb, args):
    if verb == "exec":
        exec(args[0], globals())
        return None
    if verb == "notices":
        return memory.notices
    if verb == "sessions":
        return [row.name for row in await memory.sessions()]
    if verb == "forget":
        return list((await memory.forget(*args)).pages)
    session = await memory.session(args[0])
    match verb:
        case "user":
            return await session.user(args[1], key=args[2] if len(args) > 2 else "")
        case "many":
            return [await session.user(f"{args[1]} {n}") for n in range(args[2])]
        case "page":
            return (await session.page(args[1])).text
        case "pages":
            return (await session.status()).pages
        case "recall":
            return [hit.page.page_id for hit in (await session.recall(args[1])).hits]
        case "request":
            return [message.content for message in (await session.request()).messages]
        case "fork":
            return (await session.fork(args[1])).name

async def main():
    async with open_memory(sys.argv[1], **options) as memory:
        print(json.dumps(["ok", os.getpid()]), flush=True)
        for line in sys.stdin:
            verb, *args = json.loads(line)
            try:
                print(json.dumps(["ok", await do(memory, verb, args)]), flush=True)
            except pagefault.PagefaultError as error:
                print(json.dumps([type(error).__name__, str(error)]), flush=True)

asyncio.run(main())
"""


class Refused(Exception):
    """What a worker was refused: the name of the error, and what it said."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class Worker:
    """A process with a memory open. Use it as a block: it ends with it, however it stands then."""

    def __init__(self, root: Path, **options: Any) -> None:
        self._process = subprocess.Popen(
            [*python(), "-c", _WORKER, str(root), json.dumps({"sync": "os"} | options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = 0

    def __enter__(self) -> Worker:
        try:
            self.pid = self.answer()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, verb: str, *args: Any) -> Any:
        """Do it, and return what came of it. Raises `Refused`."""
        self.tell(verb, *args)
        return self.answer()

    def tell(self, verb: str, *args: Any) -> None:
        """Do it; `answer` waits for it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([verb, *args]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """What came of what it was told last. Raises `Refused`."""
        outcome, told = self.outcome()
        if outcome != "ok":
            raise Refused(outcome, told)
        return told

    def outcome(self) -> tuple[str, Any]:
        """The same without raising: "ok" and what came of it, or the error's name and message."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the worker has ended"
        outcome, told = json.loads(line)
        return outcome, told

    def stop(self) -> None:
        """Suspend it, wherever it is."""
        os.kill(self.pid, signal.SIGSTOP)
        self.wait_until_stopped()

    def wait_until_stopped(self) -> None:
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()

    def wait_until_ended(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        """Let it close its memory and end; at the end of a block, whatever it does."""
        if self._process.poll() is None:
            if self.pid:
                self.go_on()
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
