"""The proxy's overhead per request: against a plain pass-through, interleaved, at an offered rate.

Three processes run on loopback for the duration: a provider that streams a short answer, a
pass-through that does nothing else, and `pagefault serve`. Agents' sessions resend a growing
history of about `body_bytes`. At each tick of the clock one of them sends a request, alternately by
either way. The load is open: a tick does not wait for earlier answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pagefault.lab.texts import words
from pagefault.model.errors import PagefaultError, not_installed
from pagefault.model.progress import StageProgress

if TYPE_CHECKING:
    import httpx2

TURNS_MAX: Final = 40  # after which a session starts over
PASSES_ON: Final = "pass-through"
PROXY: Final = "proxy"
_UPSTREAM: Final = "upstream"
_HOP_BY_HOP: Final = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection"})
_SEED: Final = 7
_NUMBER: Final = b"x-bench-messages"


async def bench_serve(
    *,
    sessions: int,
    requests: int,
    rate: float,
    body_bytes: int,
    window: int,
    tell: StageProgress,
) -> dict[str, Any]:
    """Figures for `requests` requests each way. Raises `CallerError` without the extra `proxy`."""
    with tempfile.TemporaryDirectory(prefix="pagefault-bench-") as home, ExitStack() as ended:
        upstream = ended.enter_context(_child(_UPSTREAM))
        plain = ended.enter_context(_child(PASSES_ON, upstream))
        served = ended.enter_context(_served(Path(home), upstream, window))
        async with _client() as http:
            chance = random.Random(_SEED)
            ways = {PASSES_ON: plain, PROXY: served}
            talks = {
                name: [Talk(f"{name}-{n}", body_bytes, chance) for n in range(sessions)]
                for name in ways
            }
            first = _Seen()
            for number, (one, other) in enumerate(zip(*talks.values(), strict=True)):
                for (name, url), talk in zip(ways.items(), (one, other), strict=True):
                    await _ask(http, url, name, talk, first)
                tell("first requests", number + 1, sessions)
            before = await _process(http, served)
            seen = _Seen()
            await _offer(http, ways, talks, seen, requests=requests, rate=rate, tell=tell)
            after = await _process(http, served)
            samples = await _metrics(http, served)
    return {
        "sessions": sessions,
        "requests": len(seen.first_byte_s[PROXY]),
        "errors": seen.errors,
        "offered_per_s": rate,
        "body_kb": round(seen.sent_bytes / max(1, seen.sent) / 1_000, 1),
        "window_tokens": window,
        **_added(seen),
        "cpu_ms_per_request": _per(
            1_000, after.get(_CPU), before.get(_CPU), len(seen.first_byte_s[PROXY])
        ),
        **{f"first_seen_{name}": value for name, value in _added(first).items()},
        "rss_mb": round(after[_RSS] / 1e6, 1) if _RSS in after else None,
        "epochs": int(sum(v for name, v in samples.items() if name.startswith(_EPOCHS))),
        "not_logged": int(sum(v for name, v in samples.items() if name.startswith(_NOT_LOGGED))),
        "load_after": round(os.getloadavg()[0], 2),
    }


_CPU: Final = "process_cpu_seconds_total"
_RSS: Final = "process_resident_memory_bytes"
_EPOCHS: Final = "pagefault_epochs_total"
_NOT_LOGGED: Final = "pagefault_not_logged_total"


class Talk:
    """A coding agent's session in the Messages format: it reads file after file, with a user's
    message now and then.
    """

    def __init__(self, name: str, body_bytes: int, chance: random.Random) -> None:
        self._name = name
        self._bytes = body_bytes
        self._chance = chance
        self._begun = 0
        self._begin()

    def _begin(self) -> None:
        self._begun += 1
        self.session_id = f"{self._name}-{self._begun}"
        self._messages: list[dict[str, Any]] = [self._user(words(self._chance, 40))]
        self._turns = 0
        while len(json.dumps(self._messages)) < self._bytes * 0.8:
            self._go_on()

    def _go_on(self) -> None:
        """Take in the answer, and add the next message."""
        said, used = _answer(len(self._messages))
        self._messages.append({"role": "assistant", "content": [said, used]})
        lines = (f"{n:>4}  {words(self._chance, 9)}" for n in range(1, 50))
        result = {"type": "tool_result", "tool_use_id": used["id"], "content": "\n".join(lines)}
        told = [result]
        if self._chance.random() < 0.2:
            told.append({"type": "text", "text": words(self._chance, 40)})
        self._messages.append(self._user(told))

    @staticmethod
    def _user(content: Any) -> dict[str, Any]:
        return {"role": "user", "content": content}

    @property
    def messages(self) -> int:
        """How many messages the newest request has."""
        return len(self._messages)

    def next(self) -> bytes:
        """The body of the next request."""
        if self._turns == TURNS_MAX:
            self._begin()
        elif self._turns:
            self._go_on()
        self._turns += 1
        body = {
            "model": "bench",
            "max_tokens": 1_000,
            "stream": True,
            "system": "You are an agent that works on code.",
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
            "messages": self._messages,
        }
        return json.dumps(body).encode()


def _answer(messages: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The provider's answer to a client that has `messages` messages: text, and a call. The client
    says how many, as a proxy may leave some out: it resends the answer that it was given.
    """
    arguments = {"path": f"src/part{messages % 97}.py"}
    used = {"type": "tool_use", "id": f"toolu_{messages:06}", "name": "Read", "input": arguments}
    return {"type": "text", "text": "I look at the next one. " * 5}, used


@dataclass(slots=True)
class _Seen:
    """The times to the first byte of the answer, by route."""

    first_byte_s: dict[str, list[float]] = field(default_factory=lambda: {PASSES_ON: [], PROXY: []})
    errors: int = 0
    sent: int = 0
    sent_bytes: int = 0


async def _offer(
    http: httpx2.AsyncClient,
    ways: Mapping[str, str],
    talks: Mapping[str, Sequence[Talk]],
    seen: _Seen,
    *,
    requests: int,
    rate: float,
    tell: StageProgress,
) -> None:
    """Send requests at a fixed rate, alternating between the ways, without waiting for answers."""
    now = asyncio.get_running_loop().time
    began, asking = now(), set[asyncio.Task[None]]()
    ticks = [(n, name) for n in range(requests) for name in ways]
    for tick, (number, name) in enumerate(ticks):
        talk = talks[name][number % len(talks[name])]
        await asyncio.sleep(max(0.0, began + tick / rate - now()))
        task = asyncio.create_task(_ask(http, ways[name], name, talk, seen))
        asking.add(task)
        task.add_done_callback(asking.discard)
        tell("requests", tick + 1, len(ticks))
    if asking:
        await asyncio.wait(asking)


async def _ask(http: httpx2.AsyncClient, url: str, name: str, talk: Talk, seen: _Seen) -> None:
    import httpx2

    body = talk.next()
    seen.sent += 1
    seen.sent_bytes += len(body)
    headers = {"x-claude-code-session-id": talk.session_id, "x-api-key": "bench"}
    headers |= {"content-type": "application/json", _NUMBER.decode(): str(talk.messages)}
    asked = time.perf_counter()
    try:
        path = f"{url}/v1/messages"
        async with http.stream("POST", path, content=body, headers=headers) as answer:
            pieces = answer.aiter_raw()
            piece = await anext(pieces)
            took = time.perf_counter() - asked
            whole = piece + b"".join([piece async for piece in pieces])
    except httpx2.HTTPError:
        seen.errors += 1
        return
    if answer.status_code != 200 or b"message_stop" not in whole:
        seen.errors += 1
    else:
        seen.first_byte_s[name].append(took)


def _added(seen: _Seen) -> dict[str, float | None]:
    ours, theirs = (sorted(seen.first_byte_s[name]) for name in (PROXY, PASSES_ON))
    if not ours or not theirs:
        return dict.fromkeys(("added_first_byte_p50_ms", "added_first_byte_p95_ms"))
    return {
        f"added_first_byte_p{share}_ms": round(
            1_000 * (ours[len(ours) * share // 100] - theirs[len(theirs) * share // 100]), 2
        )
        for share in (50, 95)
    }


def _per(scale: float, after: float | None, before: float | None, count: int) -> float | None:
    if after is None or before is None or not count:
        return None
    return round(scale * (after - before) / count, 2)


async def _metrics(http: httpx2.AsyncClient, url: str) -> dict[str, float]:
    """The samples of `/metrics`, by name and labels as written."""
    text = (await http.get(f"{url}/metrics")).text
    found = re.findall(r"^([a-z_]+(?:\{[^}\n]*\})?) ([0-9.e+-]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


async def _process(http: httpx2.AsyncClient, url: str) -> dict[str, float]:
    samples = await _metrics(http, url)
    return {name: samples[name] for name in (_CPU, _RSS) if name in samples}


@asynccontextmanager
async def _client() -> AsyncIterator[httpx2.AsyncClient]:
    try:
        import httpx2
    except ImportError:
        raise not_installed("this bench needs the package httpx2", "proxy") from None
    async with httpx2.AsyncClient(timeout=120, trust_env=False) as http:
        yield http


# --- the processes ------------------------------------------------------------------------------


@contextmanager
def _served(home: Path, upstream: str, window: int) -> Iterator[str]:
    given = ["--upstream", upstream, "--port", "0", "--window", str(window), "--json"]
    command = [sys.executable, "-m", "pagefault.cli", "--root", str(home / "memory"), "serve"]
    with _running([*command, *given]) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise PagefaultError("`pagefault serve` did not start")
        yield json.loads(line)["url"]


@contextmanager
def _child(role: str, *given: str) -> Iterator[str]:
    with _running([sys.executable, "-m", "pagefault.lab.serving", role, *given]) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise PagefaultError(f"the {role} of the bench did not start")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


async def _answers(scope: Any, receive: Any, send: Any) -> None:
    """The provider: reads the request, and streams a short answer."""
    while (await receive()).get("more_body", False):
        pass
    said, used = _answer(int(dict(scope["headers"])[_NUMBER]))
    started = {"type": "http.response.start", "status": 200}
    await send({**started, "headers": [(b"content-type", b"text/event-stream")]})
    usage = {"input_tokens": 10, "output_tokens": 12}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": []}
    delta = {"type": "text_delta", "text": said["text"][: len(said["text"]) // 5]}
    arguments = {"type": "input_json_delta", "partial_json": json.dumps(used["input"])}
    stop = {"stop_reason": "tool_use"}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**head, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {**said, "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": delta}] * 5,
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {**used, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": arguments},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    for event in events:
        piece = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _passing_on(upstream: str) -> Any:
    """A pass-through: reads the whole body, as the proxy does, and streams the answer."""
    import httpx2

    http = httpx2.AsyncClient(timeout=120, trust_env=False)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        headers = [(n, v) for n, v in scope["headers"] if n not in _HOP_BY_HOP]
        url = upstream + scope["path"]
        async with http.stream("POST", url, content=bytes(body), headers=headers) as answer:
            told = [(n, v) for n, v in answer.headers.raw if n.lower() not in _HOP_BY_HOP]
            start = {"type": "http.response.start", "status": answer.status_code}
            await send({**start, "headers": told})
            async for piece in answer.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


def _stand(role: str, *given: str) -> None:
    """Run one of the processes until told to end."""
    import socket

    import uvicorn

    app = _answers if role == _UPSTREAM else _passing_on(*given)
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", access_log=False, log_config=None
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _stand(*sys.argv[1:])
