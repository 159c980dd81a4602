"""The remote engine against a real server on the loopback, well-behaved and not."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pagefault.engine.endpoint import Retries, Timeouts, checked_url
from pagefault.engine.remote import RemoteEngine
from pagefault.model.errors import (
    BadInput,
    CallerError,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineUnreachable,
)
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Reply, Request, ToolCall, Usage

KEY = "sk-test-0123456789abcdef"
REQUEST = Request(
    messages=(Message(role=Role.USER, content="Which database? ✓"),),
    tools=(),
    tokens=12,
    factor=1.0,
    window_tokens=4096,
)


# --- a server of our own --------------------------------------------------------------------------


@dataclass
class Seen:
    head: str
    body: dict[str, Any]


Script = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


@dataclass
class Server:
    """Plays one script for each request, the last one again and again; remembers what it saw."""

    scripts: list[Script]
    seen: list[Seen] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # a client hung up
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                int(line.split(":")[1])
                for line in head.lower().splitlines()
                if line.startswith("content-length:")
            )
            self.seen.append(Seen(head, json.loads(await reader.readexactly(length))))
            self.asked.set()
            script = self.scripts[min(len(self.seen), len(self.scripts)) - 1]
            playing = asyncio.create_task(script(writer))
            hung_up = asyncio.create_task(reader.read())
            await asyncio.wait({playing, hung_up}, timeout=300, return_when="FIRST_COMPLETED")
            if hung_up.done() and not playing.done():
                self.gone.set()
            playing.cancel()
            hung_up.cancel()
            await asyncio.gather(playing, hung_up, return_exceptions=True)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*scripts: Script) -> AsyncIterator[Server]:
    server = Server(list(scripts))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        await listening.wait_closed()


def answer(
    status: str = "200 OK",
    body: bytes = b"",
    *,
    media: str = "application/json",
    headers: tuple[str, ...] = (),
) -> Script:
    """A whole response."""

    async def script(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {media}", f"Content-Length: {len(body)}"]
        lines += ["Connection: close", *headers]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return script


def complaint(status: str, message: str, *headers: str, **fields: Any) -> Script:
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return answer(status, body, headers=headers)


def stream(*pieces: bytes | asyncio.Event | None, media: str = "text/event-stream") -> Script:
    """A chunked response; an event is waited for, None cuts the connection."""

    async def script(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for piece in pieces:
            await writer.drain()
            if piece is None:
                writer.transport.abort()
                return
            if isinstance(piece, asyncio.Event):
                await piece.wait()
            else:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return script


def data(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def text(content: str) -> bytes:
    return data({"choices": [{"index": 0, "delta": {"content": content}}]})


STOP = data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
DONE = b"data: [DONE]\n\n"
GOOD = stream(text("Post"), text("greSQL"), STOP, DONE)


class Naps:
    """Sleeps at once, and remembers for how long it would have."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


class Noon:
    """2026-01-01 12:00:00 UTC, always."""

    def now_ms(self) -> int:
        return 1_767_268_800_000

    def monotonic_s(self) -> float:
        return 0.0


def engine(url: str, naps: Naps | None = None, **options: Any) -> RemoteEngine:
    given: dict[str, Any] = {
        "chance": random.Random(1),
        "sleep": naps or Naps(),
        "clock": Noon(),
    } | options
    return RemoteEngine(url, "qwen3", KEY, **given)


async def told(remote: RemoteEngine, request: Request = REQUEST) -> tuple[list[str], Reply]:
    """The pieces of text and the reply, which comes once and last."""
    async with asyncio.timeout(300), remote:
        said = [piece async for piece in remote.reply(request)]
    replies = [s for s in said if isinstance(s, Reply)]
    assert said[-1:] == replies
    return [s for s in said if isinstance(s, str)], replies[0]


async def refusal(*scripts: Script, **options: Any) -> EngineError:
    async with serving(*scripts) as server:
        with pytest.raises(EngineError) as caught:
            await told(engine(server.url, **options))
    assert caught.value.hint
    assert KEY not in str(caught.value) + caught.value.hint
    return caught.value


# --- answers --------------------------------------------------------------------------------------


async def test_text_streams_and_the_reply_comes_last() -> None:
    usage = data({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
    async with serving(stream(text("Post"), text("greSQL"), STOP, usage, DONE)) as server:
        said, reply = await told(engine(server.url))
    assert said == ["Post", "greSQL"]
    usage_told = Usage(input_tokens=9, output_tokens=2)
    assert reply == Reply(text="PostgreSQL", usage=usage_told, finish="stop")
    [seen] = server.seen
    assert seen.head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert f"authorization: bearer {KEY}" in seen.head.lower()
    assert seen.body == {
        "model": "qwen3",
        "messages": [{"role": "user", "content": "Which database? ✓"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_the_first_text_is_here_before_the_last_was_sent() -> None:
    more = asyncio.Event()
    async with serving(stream(text("a"), more, text("b"), STOP, DONE)) as server:
        said = []
        async with engine(server.url) as remote, asyncio.timeout(300):
            async for piece in remote.reply(REQUEST):
                said.append(piece)
                more.set()
    assert said == ["a", "b", Reply(text="ab", finish="stop")]


async def test_tool_calls_in_pieces_become_whole() -> None:
    def call(**fields: Any) -> bytes:
        return data({"choices": [{"index": 0, "delta": {"tool_calls": [fields]}}]})

    sent = (
        call(index=0, id="c1", type="function", function={"name": "page_fault", "arguments": ""}),
        call(index=0, function={"arguments": '{"page_id":'}),
        call(index=0, function={"arguments": '"msg_1"}'}),
        data({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    )
    async with serving(stream(*sent)) as server:  # and no [DONE]
        said, reply = await told(engine(server.url))
    assert said == []
    assert reply.tool_calls == (ToolCall("c1", "page_fault", '{"page_id":"msg_1"}'),)


async def test_events_may_be_cut_anywhere() -> None:
    whole = b": hello\n\n" + text("Große 😀") + STOP + DONE
    async with serving(stream(*(whole[i : i + 3] for i in range(0, len(whole), 3)))) as server:
        _, reply = await told(engine(server.url))
    assert reply.text == "Große 😀"


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_response_in_one_piece_is_read(streaming: bool) -> None:
    """Asked for or not: some servers cannot stream while there are tools."""
    body = json.dumps({"choices": [{"message": {"content": "Yes."}}]}).encode()
    async with serving(answer(body=body)) as server:
        said, reply = await told(engine(server.url, stream=streaming))
    assert (said, reply.text) == (["Yes."], "Yes.")
    assert ("stream" in server.seen[0].body) is streaming


async def test_options_are_added_and_none_removes() -> None:
    async with serving(GOOD) as server:
        await told(engine(server.url, options={"temperature": 0, "stream_options": None}))
    assert server.seen[0].body["temperature"] == 0
    assert "stream_options" not in server.seen[0].body


async def test_without_a_key_none_is_sent() -> None:
    async with serving(GOOD) as server:
        await told(RemoteEngine(server.url, "qwen3"))
    assert "authorization" not in server.seen[0].head.lower()


async def test_one_engine_answers_many_requests_at_once() -> None:
    async with serving(GOOD) as server, engine(server.url) as remote:

        async def ask() -> object:
            return [piece async for piece in remote.reply(REQUEST)][-1]

        replies = await asyncio.gather(*(ask() for _ in range(8)))
    assert replies == [Reply(text="PostgreSQL", finish="stop")] * 8


# --- trying again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["408 X", "409 X", "429 X", "500 X", "503 X"])
async def test_a_passing_failure_is_tried_again(status: str) -> None:
    naps = Naps()
    async with serving(complaint(status, "later"), stream(None), GOOD) as server:
        _, reply = await told(engine(server.url, naps))
    assert reply.text == "PostgreSQL"
    assert len(server.seen) == 3
    assert 0 <= naps.taken[0] <= 0.5
    assert 0 <= naps.taken[1] <= 1.0


@pytest.mark.parametrize("status", ["400 X", "401 X", "403 X", "404 X", "422 X", "501 X"])
async def test_a_lasting_failure_is_not(status: str) -> None:
    async with serving(complaint(status, "no"), GOOD) as server:
        with pytest.raises(EngineError):
            await told(engine(server.url))
    assert len(server.seen) == 1


async def test_attempts_are_bounded() -> None:
    naps = Naps()
    async with serving(complaint("503 X", "later")) as server:
        with pytest.raises(EngineUnreachable, match="503"):
            await told(engine(server.url, naps, retries=Retries(attempts_max=3)))
    assert (len(server.seen), len(naps.taken)) == (3, 2)


@pytest.mark.parametrize(
    ("header", "least"),
    [("7", 7.0), ("Thu, 01 Jan 2026 12:00:09 GMT", 9.0), ("soon", 0.0), ("-1", 0.0)],
)
async def test_the_server_says_how_long_to_wait(header: str, least: float) -> None:
    naps = Naps()
    async with serving(complaint("429 X", "slow", f"Retry-After: {header}"), GOOD) as server:
        await told(engine(server.url, naps))
    assert least <= naps.taken[0] <= max(least, 0.5)


async def test_a_wait_that_is_too_long_is_not_waited() -> None:
    naps = Naps()
    async with serving(complaint("429 X", "slow", "Retry-After: 31"), GOOD) as server:
        with pytest.raises(EngineRefused, match="429"):
            await told(engine(server.url, naps))
    assert naps.taken == []


async def test_a_missing_quota_is_not_waited_for() -> None:
    naps = Naps()
    async with serving(complaint("429 X", "You exceeded…", code="insufficient_quota")) as server:
        with pytest.raises(EngineRefused, match="no quota left"):
            await told(engine(server.url, naps))
    assert naps.taken == []


def test_waits_double_up_to_their_bound_and_spread_over_all_of_it() -> None:
    retries = Retries(base_s=1.0, wait_s_max=5.0)
    chance = random.Random(3)
    waits = [[retries.wait_s(n, 0.0, chance) for _ in range(400)] for n in (1, 2, 3, 4, 9)]
    for ceiling, drawn in zip((1, 2, 4, 5, 5), waits, strict=True):
        assert max(drawn) <= ceiling
        assert max(drawn) > 0.9 * ceiling
        assert min(drawn) < 0.1 * ceiling


# --- broken answers -------------------------------------------------------------------------------


async def test_a_cut_after_text_is_not_tried_again() -> None:
    async with serving(stream(text("Post"), None), GOOD) as server, engine(server.url) as remote:
        pieces = remote.reply(REQUEST)
        assert await anext(pieces) == "Post"
        with pytest.raises(EngineUnreachable, match="in the middle of an answer"):
            await anext(pieces)
    assert len(server.seen) == 1


async def test_an_end_without_a_reason_is_a_cut() -> None:
    error = await refusal(stream(text("Post")))
    assert isinstance(error, EngineUnreachable)
    assert "before the model did" in str(error)


async def test_a_cut_after_the_model_was_done_loses_nothing() -> None:
    async with serving(stream(text("Yes."), STOP, None)) as server:
        _, reply = await told(engine(server.url))
    assert reply.text == "Yes."


async def test_an_error_in_the_stream_is_told() -> None:
    error = await refusal(stream(text("a"), data({"error": {"message": "out of\x1b[31m memory"}})))
    assert isinstance(error, EngineRefused)
    assert "out of [31m memory" in str(error)


async def test_silence_before_the_first_byte_ends() -> None:
    error = await refusal(
        stream(asyncio.Event()), timeouts=Timeouts(first_byte_s=0.05), retries=Retries()
    )
    assert isinstance(error, EngineUnreachable)
    assert "no first byte within 0.05 s" in str(error)


async def test_silence_between_pieces_ends() -> None:
    error = await refusal(stream(text("a"), asyncio.Event()), timeouts=Timeouts(between_s=0.05))
    assert isinstance(error, EngineUnreachable)
    assert "fell silent" in str(error)


async def test_keep_alives_do_not_outlast_the_total() -> None:
    async def forever(writer: asyncio.StreamWriter) -> None:
        await stream_head(writer)
        while True:
            writer.write(b"9\r\n: alive\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def stream_head(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")

    error = await refusal(forever, timeouts=Timeouts(total_s=0.2))
    assert isinstance(error, EngineUnreachable)
    assert "more than 0.2 s" in str(error)


async def test_waits_between_attempts_do_not_outlast_the_total() -> None:
    naps = Naps()
    async with serving(complaint("429 X", "slow", "Retry-After: 20")) as server:
        with pytest.raises(EngineRefused):
            await told(engine(server.url, naps, timeouts=Timeouts(total_s=10)))
    assert naps.taken == []


@pytest.mark.parametrize(
    "script",
    [
        answer(body=b"<html>", media="text/html; charset=utf-8"),
        answer(body=b"not json"),
        answer(body=b'{"models": []}'),
        stream(b"data: {broken\n\n"),
    ],
)
async def test_what_is_not_the_protocol_is_garbled(script: Script) -> None:
    async with serving(script) as server:
        with pytest.raises(EngineGarbled) as caught:
            await told(engine(server.url))
    if "web page" in str(caught.value):
        assert "/v1" in caught.value.hint


# --- what refusals say ----------------------------------------------------------------------------


async def test_a_refused_key_is_named_by_where_it_came_from() -> None:
    script = complaint("401 X", f"Incorrect API key provided: {KEY}.")
    error = await refusal(script, key_from="PAGEFAULT_ENGINE__API_KEY")
    assert isinstance(error, EngineRefused)
    assert "[key]" in str(error)
    assert "PAGEFAULT_ENGINE__API_KEY" in error.hint


@pytest.mark.parametrize(
    ("script", "says", "hint"),
    [
        (complaint("404 X", "model 'qwen3' not found"), "qwen3", "/v1"),
        (answer("404 X", b"<html>", media="text/html"), "web page", "/v1"),
        (answer("404 X", b"404 page not found"), "404 page not found", "/v1"),
        (complaint("307 X", "", "Location: http://evil.test/"), "not followed", "base_url"),
        (answer("422 X", b'{"detail": "bad tools"}'), "bad tools", "server's words"),
        (complaint("500 X", "boom"), "boom", "log"),
    ],
)
async def test_a_refusal_says_what_to_do(script: Script, says: str, hint: str) -> None:
    error = await refusal(script)
    assert says in str(error)
    assert hint in error.hint


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("This model's maximum context length is 2048 tokens. However, you requested 4000.", ""),
        ("the request exceeds the available context size", "exceed_context_size_error"),
        ("Too long.", "context_length_exceeded"),
        ("Trying to keep the first 5000 tokens when context the overflows.", ""),
        ("prompt is too long: 210000 tokens > 200000 maximum", ""),
    ],
)
@pytest.mark.parametrize("status", ["400 X", "500 X", "stream"])
async def test_a_request_that_is_too_long_names_the_window(
    message: str, code: str, status: str
) -> None:
    failure = {"message": message, "code": code}
    script = (
        stream(data({"error": failure}))
        if status == "stream"
        else answer(status, json.dumps({"error": failure}).encode())
    )
    error = await refusal(script)
    assert isinstance(error, EngineRefused)
    assert "`window`" in error.hint
    assert "4096" in error.hint


async def test_a_long_complaint_is_cut() -> None:
    assert len(str(await refusal(complaint("400 X", "x" * 10_000)))) < 500


async def test_nobody_there_asks_whether_the_server_is_running() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused, and nobody else gets it
        url = f"http://localhost:{taken.getsockname()[1]}/v1"
        naps = Naps()
        with pytest.raises(EngineUnreachable) as caught:
            await told(engine(url, naps))
    assert url in str(caught.value)
    assert "is the server running" in caught.value.hint
    assert len(naps.taken) == 3


async def test_a_server_without_tls_is_told_apart_from_a_bad_certificate() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(EngineUnreachable) as caught:
            await told(engine(f"https://127.0.0.1:{port}/v1"))
    assert "does not speak TLS" in str(caught.value)


# --- the key, and hanging up ----------------------------------------------------------------------


async def test_the_key_is_nowhere_to_be_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(complaint("401 X", f"bad key {KEY}"), stream(text("a"), None)) as server:
        remote = engine(server.url)
        for _ in range(2):
            with pytest.raises(EngineError) as caught:
                [piece async for piece in remote.reply(REQUEST)]
            error: BaseException | None = caught.value
            while error is not None:
                assert KEY not in repr(error)
                assert not hasattr(error, "request")
                error = error.__cause__ or error.__context__
        assert KEY not in repr(remote)
        await remote.aclose()
    assert caplog.records
    assert KEY not in caplog.text


async def test_cancelling_hangs_up() -> None:
    async with serving(stream(text("a"), asyncio.Event())) as server, engine(server.url) as remote:
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in remote.reply(REQUEST):
                heard.set()

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(300):
            await heard.wait()
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
            await server.gone.wait()


async def test_cancelling_before_the_first_byte_hangs_up() -> None:
    async with serving(stream(asyncio.Event())) as server, engine(server.url) as remote:
        waiting = asyncio.create_task(anext(remote.reply(REQUEST)))
        async with asyncio.timeout(300):
            await server.asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await server.gone.wait()


async def test_leaving_early_hangs_up() -> None:
    async with serving(stream(text("a"), asyncio.Event())) as server, engine(server.url) as remote:
        async with aclosing(remote.reply(REQUEST)) as pieces:
            assert await anext(pieces) == "a"
        async with asyncio.timeout(300):
            await server.gone.wait()


# --- what is refused at once ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/v1"),
        (" http://127.1.2.3 ", "http://127.1.2.3"),
    ],
)
def test_good_addresses(given: str, url: str) -> None:
    assert checked_url(given) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434/v1",
        "ftp://localhost/v1",
        "file:///etc/passwd",
        "https://",
        "https://user:pass@host/v1",
        "https://host/v1?key=abc",
        "https://host/v1#x",
        "https://host:99999/v1",
        "https://ho\nst/v1",
        "http://example.com/v1",
        "http://10.0.0.1/v1",
        "http://localhost.evil.test/v1",
        "http://[::ffff:8.8.8.8]/v1",
    ],
)
def test_bad_addresses_are_refused_with_a_hint(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        checked_url(url)
    assert caught.value.hint
    assert "pass@" not in str(caught.value)


def test_plain_http_elsewhere_may_be_allowed() -> None:
    assert checked_url("http://10.0.0.1:8000/v1", allow_http=True) == "http://10.0.0.1:8000/v1"


@pytest.mark.parametrize("key", ["sk-\x00bad", "sk-\nx: y", "schlüssel", "two words"])
def test_a_key_no_header_can_carry_is_refused_unshown(key: str) -> None:
    with pytest.raises(BadInput) as caught:
        RemoteEngine("http://localhost/v1", "m", key)
    assert key not in str(caught.value)


def test_a_model_must_be_named() -> None:
    with pytest.raises(BadInput, match="model"):
        RemoteEngine("http://localhost/v1", "", KEY)


def test_without_httpx2_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(CallerError) as caught:
        RemoteEngine("http://localhost/v1", "m")
    assert caught.value.hint == "pip install 'pagefault[remote]'"


def test_importing_the_module_imports_no_http() -> None:
    code = "import sys, pagefault.engine.remote; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
