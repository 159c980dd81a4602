"""A headless Chromium over its debugging pipe: pages are driven as a person would drive them."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PATIENCE_S = 300.0


class Browser:
    """One tab. Everything that its console complains about is in `complaints`."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._rest, self._last, self._session = b"", 0, ""
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def _ask(self, method: str, **params: Any) -> Any:
        self._last += 1
        asked = {"id": self._last, "method": method, "params": params}
        asked |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._last:
                assert "error" not in told, told
                return told["result"]

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        one, _, self._rest = self._rest.partition(b"\0")
        told = json.loads(one)
        if told.get("method") == "Log.entryAdded":
            self.complaints.append(told["params"]["entry"]["text"])
        elif told.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["params"]))
        return told

    def open(self, url: str, *, width: int = 1280, height: int = 900) -> None:
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self._ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def tell(self, expression: str) -> Any:
        result = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression: str, then: Callable[[], None] = lambda: None) -> None:
        """Wait until it is true of the page."""
        ends = time.monotonic() + PATIENCE_S
        while not self.tell(expression):
            assert time.monotonic() < ends, (expression, self.tell("document.body.innerText"))
            then()
            time.sleep(0.05)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self._ask("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def picture(self, path: Path) -> None:
        told = self._ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    assert CHROMIUM is not None
    to_it, from_it = os.pipe(), os.pipe()
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-popup-blocking",
        "--disable-background-networking", "--disable-sync", "--remote-debugging-pipe",
        f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip

    # It reads its pipe from 3 and writes to 4, which must be no ends of ours.
    read, write = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (to_it[0], from_it[1]))
    quiet = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_WRONLY, 0) for one in (1, 2)]
    placed = [(os.POSIX_SPAWN_DUP2, read, 3), (os.POSIX_SPAWN_DUP2, write, 4)]
    pid = os.posix_spawn(CHROMIUM, command, os.environ, file_actions=[*quiet, *placed])
    for one in (read, write, to_it[0], from_it[1]):  # so that its end is seen here
        os.close(one)
    try:
        yield Browser(to_it[1], from_it[0])
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(to_it[1])
        os.close(from_it[0])
