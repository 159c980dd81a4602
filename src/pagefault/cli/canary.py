"""An end-to-end test conversation through a proxy, for `pagefault doctor`.

It states a fact, says other things until the fact has left the window, and asks for it. The
evidence is what would have reached the provider (`proxy/canary.py`), and the memory's log, read by
this process and not reported by the proxy: so a proxy that answers and keeps nothing is found out.
"""

from __future__ import annotations

import http.client
import json
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pagefault.proxy.canary import OPERATOR, SEEN_HEADER, WINDOW
from pagefault.proxy.running import KEY_HEADER, Running

if TYPE_CHECKING:
    from pagefault.cli.app import App

WAIT_S: Final = 20.0
TURNS_MAX: Final = 12
NOT_LOGGED: Final = "x-pagefault-not-logged"


class Silent(Exception):
    """The proxy did not answer, or not correctly."""


@dataclass(frozen=True, slots=True)
class Flight:
    """The result of a canary. Each field but `problem` is whether it was proved."""

    kept: bool = False
    paged: bool = False
    found: bool = False
    turns: int = 0
    took_s: float = 0.0
    problem: str = ""

    @property
    def is_home(self) -> bool:
        return self.kept and self.paged and self.found and not self.problem


@contextmanager
def started(app: App) -> Iterator[Running]:
    """A private proxy on a temporary memory. Raises `ProxyFailed`."""
    import os

    from pagefault.cli.background import log_file, start, stop
    from pagefault.service.adopt import let_go

    with tempfile.TemporaryDirectory(
        prefix="pagefault-doctor-", ignore_cleanup_errors=True
    ) as folder:
        root = str(Path(folder) / "memory")
        words = ["--root", root, "serve", "--upstream", "http://127.0.0.1:9", "--port", "0"]
        words += ["--parent", str(os.getpid())]
        env = {n: v for n, v in os.environ.items() if n != "PAGEFAULT_PROXY_TOKEN"}
        try:
            proxy = start(words, log=log_file("doctor"), env=env)
            try:
                yield proxy
            finally:
                stop(proxy)
        finally:
            let_go(Path(root))


def fly(app: App, proxy: Running) -> Flight:
    """Send a canary through it, and forget it again."""
    began = time.monotonic()
    name, word = f"doctor-{secrets.token_hex(4)}", f"canary-{secrets.token_hex(4)}"
    try:
        turns, paged, found = _talk(proxy, name, word)
        kept = app.run(_is_kept(proxy.root, name, word))
        _asked(proxy, "DELETE", "/canaries")
    except Silent as why:
        return Flight(problem=str(why))
    return Flight(kept, paged, found, turns, time.monotonic() - began)


def _talk(proxy: Running, name: str, word: str) -> tuple[int, bool, bool]:
    """The number of messages, whether the fact left, and whether it came back."""
    said = [{"role": "user", "content": f"The gander that guards the lighthouse is called {word}."}]
    filler = "The weather over the harbour was fair, and the ferry left on time once more. " * 20
    paged = False
    if word not in _seen(proxy, name, said):
        raise Silent("what was said did not reach the provider's end")
    while not paged and len(said) < 2 * TURNS_MAX:
        said += [_answer(), {"role": "user", "content": f"Entry {len(said)}. {filler}"}]
        paged = word not in _seen(proxy, name, said)
    said += [_answer(), {"role": "user", "content": "What is the lighthouse gander called?"}]
    return len(said), paged, paged and word in _seen(proxy, name, said)


def _answer() -> dict[str, str]:
    from pagefault.proxy.canary import ANSWER

    return {"role": "assistant", "content": ANSWER}


def _seen(proxy: Running, name: str, said: list[dict[str, str]]) -> str:
    """The canaries in what would have reached the provider."""
    body = {"model": "canary", "messages": said}
    headers = _asked(proxy, "POST", f"/s/{name}/v1/chat/completions", body)
    if why := headers.get(NOT_LOGGED):
        raise Silent(f"the proxy reports that it was not logged: {why}")
    return headers.get(SEEN_HEADER, "")


def _asked(proxy: Running, method: str, path: str, body: Any = None) -> dict[str, str]:
    """The headers of its answer, by lower-case names."""
    parts = urlsplit(proxy.url)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT_S)
    try:
        sent = json.dumps(body).encode() if body is not None else None
        kind = {"Content-Type": "application/json"} if sent is not None else {}
        link.request(method, path, body=sent, headers={KEY_HEADER: proxy.key} | kind)
        answer = link.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Silent(f"no answer from {proxy.url} ({type(error).__name__})") from None
    finally:
        link.close()
    if answer.status != 200:
        raise Silent(f"{proxy.url} answered {answer.status} to {method}")
    return {header.lower(): value for header, value in answer.getheaders()}


async def _is_kept(root: str, name: str, word: str) -> bool:
    """Whether the fact is in the memory's log, as this process reads it."""
    import pagefault
    from pagefault.model.errors import PagefaultError

    try:
        async with pagefault.open(root, read_only=True) as memory:
            for row in await memory.sessions():
                if row.name.startswith(f"{name}:") and row.name.endswith(f"@{OPERATOR}"):
                    session = await memory.session(row.session_id, create=False)
                    for page in await memory.pages(session):
                        if word in (await memory.read(page)).text:
                            return True
    except PagefaultError:
        return False
    return False


def words(flight: Flight, where: str) -> str:
    """The result in words."""
    if flight.problem:
        return f"through {where}: {flight.problem}"
    told = (
        ("kept in the log", flight.kept),
        (f"paged out of a window of {WINDOW:,} tokens", flight.paged),
        ("found again", flight.found),
    )
    did = [what for what, is_so in told if is_so]
    did_not = [f"not {what}" for what, is_so in told if not is_so]
    return f"through {where}: {', '.join([*did, *did_not])} ({flight.took_s:.1f} s)"
