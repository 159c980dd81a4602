"""The lines of stdin, for an event loop that must be able to end before the next one comes."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from threading import Thread
from typing import Final, Self

from pagefault.model.threads import start

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
PIECE_BYTES: Final = 64 * 1024
_TOO_LONG: Final = b"..."  # stands for such a line, and is no JSON
AHEAD_MAX: Final = 16  # lines that are read before anybody asked for them


class Lines:
    """Read by a thread of its own, since no thread can be stopped while it waits for a line: Ctrl-C
    would wait for the client's next word. It is a daemon, and the process ends without it.

    A line that is too long comes as `...`, which is no message.
    """

    def __init__(self, descriptor: int) -> None:
        """For the running event loop."""
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting = asyncio.Queue[str](AHEAD_MAX)
        self._ended = asyncio.Event()
        start(Thread(target=self._read, name="pagefault stdin", daemon=True))

    def end(self) -> None:
        """Let there be no more lines."""
        self._ended.set()

    def _read(self) -> None:
        # Not by `sys.stdin`, whose lock a thread that waits would hold at the interpreter's end.
        began, too_long = b"", False
        with suppress(RuntimeError, OSError):  # the loop, or the stream, is closed
            while piece := os.read(self._descriptor, PIECE_BYTES):
                *whole, rest = (began + piece).split(b"\n")
                for line in whole:
                    self._put(_TOO_LONG if too_long else line)
                    too_long = False
                too_long = too_long or len(rest) > LINE_BYTES_MAX
                began = b"" if too_long else rest
            if began:
                self._put(began)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.end)

    def _put(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        asyncio.run_coroutine_threadsafe(self._waiting.put(text), self._loop).result()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        getting = asyncio.ensure_future(self._waiting.get())
        ending = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait((getting, ending), return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            raise StopAsyncIteration
        finally:
            getting.cancel()
            ending.cancel()
