"""Whatever a client sends and a provider answers, the proxy passes it on: it never answers with a
failure of its own, and what it does not understand goes on byte for byte.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.server import Proxy
from tests.examples import few
from tests.proxy.histories import COUNTER
from tests.proxy.upstream import _WIRES, Call, Say

PATHS: Final = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
NOT_LOGGED: Final = b"x-pagefault-not-logged"
OURS: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Iteration)\b")
"""What a line of the log has where something of ours went wrong."""

_SETTINGS: Final = few(40, suppress_health_check=list(HealthCheck))


@dataclass(slots=True)
class Pieces(httpx2.AsyncByteStream):
    pieces: tuple[bytes, ...]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


@dataclass(slots=True)
class Bench:
    """A proxy without sockets, before a provider that answers what it is told."""

    runner: asyncio.Runner
    faults: bool
    proxy: Any = None
    log: list[str] = field(default_factory=list)
    answer: tuple[bytes, ...] = (b"{}",)
    kind: str = "application/json"
    seen: list[bytes] = field(default_factory=list)
    asked: int = 0

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request.content)
        headers = {"content-type": self.kind}
        return httpx2.Response(200, headers=headers, stream=Pieces(self.answer))

    def ask(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "POST",
        session: str = "",
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        """A request of a conversation of its own, unless a session is named."""
        self.asked += 1
        named = {"x-pagefault-session": session or f"s{self.asked}", "host": "127.0.0.1"}
        raw = [(k.encode(), v.encode("latin-1")) for k, v in (named | dict(headers or {})).items()]
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": raw, "http_version": "1.1",
        }  # fmt: skip
        told: list[Any] = []
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()
            return None

        async def send(message: Any) -> None:
            told.append(message)

        self.seen.clear()
        self.log.clear()
        self.runner.run(self.proxy(scope, receive, send))
        self.runner.run(self.proxy.settled())
        got = b"".join(one.get("body", b"") for one in told[1:])
        assert told[-1]["more_body"] is False, "it came to its end"
        return told[0]["status"], dict(told[0]["headers"]), got

    def check_log(self) -> None:
        [line] = self.log
        assert not OURS.search(line), line


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "faults"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with _standing(faults=request.param) as one:
        yield one


@contextmanager
def _standing(*, faults: bool) -> Iterator[Bench]:
    with asyncio.Runner() as runner:
        one, stack = Bench(runner, faults), AsyncExitStack()

        async def begin() -> None:
            memory = await stack.enter_async_context(pagefault.open(":memory:", redact="known"))
            transport = httpx2.MockTransport(one.handle)
            relay = Relay("http://127.0.0.1:9", Patience(), transport=transport)
            stack.push_async_callback(relay.aclose)
            one.proxy = Proxy(
                memory=memory, relay=relay, counter=COUNTER, clock=SystemClock(),
                window_tokens=600, faults=faults, log=one.log.append,
            )  # fmt: skip

        runner.run(begin())
        try:
            yield one
        finally:
            runner.run(stack.aclose())


# --- what stands in the place of something else ---------------------------------------------------

RAW: Final = st.sampled_from(
    [
        "NaN", "-Infinity", "1e999", "-0", "1" * 400, "-1" + "0" * 9, '"\\ud800"', '"\\udc00"',
        '"\\u0000"', "[]", "{}", "null", "true", "3", "0.5", '""', '"x"', "[[]]", "[null]", "[3]",
        '{"type": 3}', '{"type": "text"}', '{"a": 1, "a": [2]}', "[" * 300 + "]" * 300,
        '{"x":' * 200 + "1" + "}" * 200, '["text", {"text": []}]', '"' + "long " * 2_000 + '"',
    ]
)  # fmt: skip
"""JSON as it is written: Python's own would not write most of it."""
HOLE: Final = "\x00hole\x00"


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to every value of a document."""
    if at:
        yield at
    if not isinstance(document, dict | list):
        return
    for name, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield from places(value, (*at, name))


def replaced(document: Any, at: tuple[Any, ...], value: str) -> bytes:
    """The document as JSON, with something else at a place."""
    whole = json.loads(json.dumps(document))
    target = whole
    for name in at[:-1]:
        target = target[name]
    target[at[-1]] = HOLE
    return json.dumps(whole).replace(json.dumps(HOLE), value).encode("utf-8", "surrogatepass")


SCHEMA: Final = {"type": "object", "properties": {"path": {"type": "string"}}}
CALL_ID: Final = "call_1"
REQUESTS: Final[dict[str, Any]] = {
    "chat": {
        "model": "m", "user": "u", "metadata": {"a": "b"}, "stream": False,
        "tools": [{"type": "function", "function": {"name": "Read", "parameters": SCHEMA}}],
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": [{"type": "text", "text": "The gander is Ilse."},
                                         {"type": "image_url", "image_url": {"url": "data:,x"}}]},
            {"role": "assistant", "content": "Noted.", "tool_calls": [
                {"id": CALL_ID, "type": "function",
                 "function": {"name": "Read", "arguments": '{"path": "a"}'}}]},
            {"role": "tool", "tool_call_id": CALL_ID, "content": "all of it"},
            {"role": "user", "content": "What is she called?", "name": "ann"},
        ],
    },
    "responses": {
        "model": "m", "instructions": "You help.", "prompt_cache_key": "k", "store": False,
        "tools": [{"type": "function", "name": "Read", "parameters": SCHEMA}],
        "input": [
            {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "The gander is Ilse."}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
             "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]},
            {"type": "function_call", "call_id": CALL_ID, "name": "Read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": CALL_ID, "output": "all of it"},
            {"role": "user", "content": "What is she called?"},
        ],
    },
    "messages": {
        "model": "m", "max_tokens": 9, "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Read", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "The gander is Ilse."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s=="},
                {"type": "text", "text": "Noted."},
                {"type": "tool_use", "id": CALL_ID, "name": "Read", "input": {"path": "a"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": CALL_ID, "content": "all of it"},
                {"type": "text", "text": "What is she called?"}]},
        ],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "You help."}]},
        "tools": [{"functionDeclarations": [{"name": "Read", "parameters": SCHEMA}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "The gander is Ilse."},
                                       {"inlineData": {"mimeType": "a/b", "data": "eA=="}}]},
            {"role": "model", "parts": [
                {"text": "Noted.", "thoughtSignature": "s"},
                {"functionCall": {"name": "Read", "args": {"path": "a"}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "Read", "response": {"output": "all of it"}}},
                {"text": "What is she called?"}]},
        ],
    },
}  # fmt: skip
SOMEWHERE: Final = st.sampled_from(
    [(wire, at) for wire, request in REQUESTS.items() for at in places(request)]
)


def answer_of(wire: str, *, streams: bool) -> tuple[bytes, ...]:
    made = next(_WIRES[suffix] for suffix in _WIRES if PATHS[wire].endswith(suffix))
    say = Say(text="She is Ilse.", calls=(Call("c", "Read", {"path": "a"}),), thinking="hm")
    if streams:
        return tuple(made.events(say, 1))
    return (json.dumps(made.whole(say, 1)).encode(),)


# --- requests -------------------------------------------------------------------------------------


_DECLARED: Final = ("gemini", ("tools", 0, "functionDeclarations"))


@_SETTINGS
@given(SOMEWHERE, RAW, st.booleans())
@example(_DECLARED, "[3]", False)
@example(_DECLARED, "3", False)
@example(("gemini", ("tools",)), "3", False)
def test_a_request_with_anything_at_any_place_is_passed_on(
    bench: Bench, where: Any, value: str, again: bool
) -> None:
    wire, at = where
    raw = replaced(REQUESTS[wire], at, value)
    bench.answer, bench.kind = answer_of(wire, streams=False), "application/json"
    session = f"again{bench.asked}" if again else ""
    if again:  # it is an edit of what stood there before
        bench.ask(PATHS[wire], json.dumps(REQUESTS[wire]).encode(), session=session)
    status, headers, got = bench.ask(PATHS[wire], raw, session=session)
    assert (status, got) == (200, b"".join(bench.answer))
    bench.check_log()
    [line], [sent] = bench.log, bench.seen
    if "not read" in line:
        assert sent == raw
        assert headers[NOT_LOGGED] == b"unread"


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3)
    | st.dictionaries(st.sampled_from(["messages", "input", "contents", "role", "content", "text",
                                       "parts", "type", "model", "tools"]), inside, max_size=4),
    max_leaves=12,
)  # fmt: skip


@_SETTINGS
@given(
    st.sampled_from(sorted(PATHS)),
    st.binary(max_size=60)
    | JSON.map(lambda one: json.dumps(one).encode())
    | RAW.map(str.encode)
    | st.tuples(st.binary(max_size=4), RAW).map(lambda one: one[0] + one[1].encode()),
    st.sampled_from(["", "gzip", "zstd", "br", "identity, gzip"]),
)
@example("messages", b"[" * 100_000, "")
@example("chat", b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}', "")
@example("chat", b'{"messages": [{"role": "user", "content": "a"}], "messages": 3}', "")
def test_bytes_that_are_no_request_are_passed_on_as_they_are(
    bench: Bench, wire: str, raw: bytes, encoding: str
) -> None:
    bench.answer, bench.kind = answer_of(wire, streams=False), "application/json"
    headers = {"content-encoding": encoding} if encoding else {}
    status, told, got = bench.ask(PATHS[wire], raw, headers)
    assert (status, got) == (200, b"".join(bench.answer))
    bench.check_log()
    [line] = bench.log
    if "not read" in line:
        assert bench.seen == [raw]
        assert told[NOT_LOGGED] == b"unread"


def test_json_that_is_nested_too_deeply_is_unread_which_is_not_the_memorys_fault(
    bench: Bench,
) -> None:
    bench.answer, bench.kind = answer_of("messages", streams=False), "application/json"
    for at in (("messages", 0, "content", 0, "odd"), ("tools", 0, "input_schema"), ("odd",)):
        for depth in (100, 600, 800, 3_000):  # where those between fail depends on the stack
            raw = replaced(REQUESTS["messages"], at, "[" * depth + "]" * depth)
            status, told, got = bench.ask(PATHS["messages"], raw)
            assert (status, got) == (200, b"".join(bench.answer))
            [line] = bench.log
            assert ("nested too deeply" in line) is (NOT_LOGGED in told)
            assert told.get(NOT_LOGGED, b"unread") == b"unread"
            if depth in (100, 3_000):
                assert (NOT_LOGGED in told) is (depth == 3_000)
            assert bench.seen == [raw] or NOT_LOGGED not in told


# --- answers --------------------------------------------------------------------------------------

ANSWERS: Final = {
    (wire, streams): answer_of(wire, streams=streams) for wire in PATHS for streams in (False, True)
}


def data_of(piece: bytes) -> Any:
    """The JSON that a piece of an answer holds, if any."""
    told = piece[piece.find(b"{") :].strip()
    return json.loads(told) if b"{" in piece else None


IN_ANSWERS: Final = st.sampled_from(
    [
        (kind, number, at)
        for kind, pieces in ANSWERS.items()
        for number, piece in enumerate(pieces)
        for at in places(data_of(piece) or ())
    ]
)


@_SETTINGS
@given(IN_ANSWERS, RAW, st.integers(1, 80))
def test_an_answer_with_anything_at_any_place_is_passed_on(
    bench: Bench, where: Any, value: str, size: int
) -> None:
    (wire, streams), number, at = where
    pieces = list(ANSWERS[wire, streams])
    piece = pieces[number]
    head = piece[: piece.find(b"{")]
    pieces[number] = head + replaced(data_of(piece), at, value) + (b"\n\n" if streams else b"")
    whole = b"".join(pieces)
    bench.answer = tuple(whole[n : n + size] for n in range(0, len(whole), size))
    bench.kind = "text/event-stream" if streams else "application/json"
    path = PATHS[wire]
    if streams and wire == "gemini":
        path = path.replace(":generate", ":streamGenerate") + "?alt=sse"
    request = REQUESTS[wire] | ({} if wire == "gemini" else {"stream": streams})
    status, _, got = bench.ask(path, json.dumps(request).encode())
    bench.check_log()
    # A call whose name never comes may be one of memory's, and is waited for to the end.
    assert status == 200
    assert got == whole or (bench.faults and "tool_calls" in at)


# --- what is the proxy's own ----------------------------------------------------------------------


@_SETTINGS
@given(
    st.sampled_from(["GET", "POST", "HEAD", "DELETE", "PUT", "OPTIONS", "QUERY"]),
    st.sampled_from(["/healthz", "/metrics", "/statusline", "/canaries", "/", "/mcp", "/healthz/"])
    | st.text("/.%:;?#[]@az\\", max_size=12).map("/".__add__),
    st.binary(max_size=40) | RAW.map(str.encode),
    st.dictionaries(
        st.sampled_from(["host", "origin", "upgrade", "content-length", "x-pagefault-mode",
                         "x-pagefault-token", "x-pagefault-operator", "x-pagefault-session",
                         "content-encoding", "authorization", "accept"]),
        st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=12),
        max_size=3,
    ),
)  # fmt: skip
@example("POST", "/statusline", b'{"session_id": "s", "cost": {"total_cost_usd": NaN}}', {})
@example("GET", "/v1/../healthz", b"", {})
@example("GET", "/", b"", {"host": "[::1"})
def test_no_request_to_any_path_makes_the_proxy_fail(
    bench: Bench, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    bench.answer, bench.kind = (b"{}",), "application/json"
    status, _, _ = bench.ask(path, body, headers, method=method)
    assert status < 500, bench.log
    bench.check_log()
