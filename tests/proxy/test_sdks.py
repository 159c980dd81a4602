"""The real SDKs read the same through the proxy as from the provider, and the provider is asked the
same: each operation is done both ways, and what was read and what was sent are compared.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.proxy.standing import KEY, standing
from tests.proxy.upstream import Say, Upstream, always

ASKED: list[Any] = [{"role": "user", "content": "Grüße 👋 \u2028"}]
MANY_BYTES = 2_000_000  # more than `standing` has the proxy read
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
USAGE = {"completion_tokens": 12, "prompt_tokens": 9, "total_tokens": 21, "new": [1.50, None]}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "ü"}, "finish_reason": "stop"}
CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "ü"}],
    "stop_sequence": None,
    "new": {"x": 1e-7},
    "usage": {"input_tokens": 25, "output_tokens": 15},
}
FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 1,
    "created_at": 1,
    "filename": "ü",
    "purpose": "batch",
    "status": "processed",
}
ANSWERS: Mapping[str, Any] = {
    "/chat/completions": CHAT | {"usage": USAGE},
    "/responses": RESPONSE,
    "/responses/resp_1": RESPONSE,
    "/messages": MESSAGE,
    "/messages/count_tokens": {"input_tokens": 2095},
    "/files": FILE,
    "/files/file%2F1%20%25": FILE,
    "/files/file-1/content": b"\x00\xff" * 1000,
    "/embeddings": {
        "object": "list",
        "model": "m",
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
        "data": [{"object": "embedding", "index": 0, "embedding": [-0.009327292, 1e-9]}],
    },
    "/models": {"object": "list", "data": [], "has_more": False},
}


@dataclass
class Provider:
    url: str = ""
    seen: list[Any] = field(default_factory=list)

    def asked(self) -> list[Any]:
        seen, self.seen = self.seen, []
        return seen


@contextmanager
def provider() -> Iterator[Provider]:
    """One that answers by the path, with headers that providers send, and writes down the bytes."""
    known = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = sorted(
                (name.lower(), value)
                for name, value in self.headers.items()
                if name.lower() not in _OURS
            )
            shown = body if len(body) < 10_000 else len(body)
            said = re.sub(
                r"(?<=-)[0-9a-f]{32}|(?<=boundary=)[0-9a-f]{32}", "…", f"{headers} {shown!r}"
            )
            known.seen.append((self.command, self.path, said))
            status = int(self.headers.get("x-status") or 200)
            answer = ANSWERS.get(self.path.split("?")[0].removeprefix("/v1"), {"error": self.path})
            if status >= 400:
                answer = {"type": "error", "error": {"type": "overloaded_error", "message": "ü"}}
            self.send_response(status)
            for name, value in (
                *(("x-request-id", "req_1"), ("request-id", "req_2"), ("retry-after-ms", "1")),
                *(("x-ratelimit-remaining-requests", "4999"), ("set-cookie", "a=1; path=/")),
                *(("set-cookie", "b=2; path=/"), ("x-should-retry", "false"), ("cf-ray", "")),
            ):
                self.send_header(name, value)
            raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_header("content-type", "application/json")
            if status != 204:
                self.send_header("content-length", str(len(raw)))
            self.end_headers()
            if status != 204 and self.command != "HEAD":
                self.wfile.write(raw)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    serving.start()
    known.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        serving.join(timeout=300)


_OURS = ("host", "connection", "accept-encoding")  # which the proxy decides


class To:
    """The SDKs, pointed at an address."""

    def __init__(self, url: str) -> None:
        import anthropic  # slow to import, and each process of a run collects this file
        import openai

        self.url = url
        self.openai: Any = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
        self.anthropic: Any = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)

    def chat(self, **more: Any) -> Any:
        return self.openai.chat.completions.create(model="m", messages=ASKED, **more)

    def message(self, **more: Any) -> Any:
        return self.anthropic.messages.create(model="m", max_tokens=9, messages=ASKED, **more)


def _raw(to: To) -> Any:
    raw = to.openai.chat.completions.with_raw_response.create(model="m", messages=ASKED)
    left = ("date", "server", "connection")
    headers = sorted(one for one in raw.headers.multi_items() if one[0] not in left)
    return headers, raw.request_id, raw.http_response.content, raw.parse()


def _odd(to: To) -> Any:
    """Bytes that no SDK writes, and ways to write a path."""
    http = to.openai._client
    said = b'{ "messages":[{"role":"user","content":"\\u00e9\\/ \xc3\xa9"}], "f":1.00, "i":1E5}\n'
    paths = ("/v1/models/?a=%20+b&&c=%zz", "/v1//models", "/v1/a%2fb%C3%A9;v=1", "/v1/a..b?../x")
    asked = [("GET", path) for path in paths]
    asked += [("HEAD", "/v1/models"), ("OPTIONS", "/v1/chat/completions"), ("PUT", "/v1/x")]
    told = [http.request(method, to.url + path) for method, path in asked]
    told.append(http.post(f"{to.url}/v1/chat/completions", content=said))
    told.append(http.delete(f"{to.url}/v1/x", headers={"x-status": "204"}))
    return [(one.status_code, one.text) for one in told]


FUNCTION = {"name": "weather", "description": "d", "parameters": SCHEMA}
OPERATIONS: Mapping[str, Callable[[To], Any]] = {
    "a chat": To.chat,
    "what an SDK knows nothing of": lambda to: to.chat(
        extra_body={"big": 12345678901234567890123, "f": 1.0, "e": 1e-300, "z": -0.0},
        extra_query={"a b": "c&d=é"},
        extra_headers={"x-own": "1"},
        n=3,
        seed=2**53 + 1,
    ),
    "calls of an older kind": lambda to: to.chat(functions=[FUNCTION], function_call="auto"),
    "a raw response": _raw,
    "a refusal": lambda to: to.chat(extra_headers={"x-status": "429"}),
    "a failure": lambda to: to.message(extra_headers={"x-status": "529"}),
    "a stored response": lambda to: to.openai.responses.create(
        model="m", previous_response_id="resp_1", input="more"
    ),
    "a response later": lambda to: [
        to.openai.responses.create(model="m", input="x", background=True),
        to.openai.responses.retrieve("resp_1"),
    ],
    "a message": lambda to: to.message(extra_body={"big": 2**70}, metadata={"user_id": "u"}),
    "a beta": lambda to: to.anthropic.beta.messages.create(
        model="m", max_tokens=9, messages=ASKED, betas=["a-1", "b-2"]
    ),
    "a count": lambda to: to.anthropic.messages.count_tokens(model="m", messages=ASKED),
    "a file": lambda to: [
        to.openai.files.create(file=("ü.jsonl", b"{}\n" * 99), purpose="batch"),
        to.openai.files.retrieve("file/1 %"),
        to.openai.files.content("file-1").content,
    ],
    "a file larger than what is read": lambda to: to.openai.files.create(
        file=("large", b"x" * MANY_BYTES), purpose="batch"
    ),
    "vectors": lambda to: to.openai.embeddings.create(model="m", input=["a", "ü"]),
    "a list": lambda to: [list(to.openai.models.list()), list(to.anthropic.models.list())],
    "an odd request": _odd,
}


def _read(do: Callable[[To], Any], to: To) -> Any:
    """What a program reads of it: all fields, or the error with its headers."""
    try:
        return _plain(do(to))
    except Exception as error:
        told = getattr(error, "response", None)
        headers = getattr(told, "headers", {})
        return type(error).__name__, str(error).replace(to.url, ""), headers.get("x-request-id")


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.model_dump() if hasattr(value, "model_dump") else value


@pytest.mark.parametrize("window", [0, 8_000], ids=["kept", "paged"])
async def test_an_sdk_reads_and_asks_the_same_as_without_the_proxy(window: int) -> None:
    with provider() as known, Upstream(always()) as unused:
        async with standing(unused, url=known.url, window=window) as to:
            alone, proxied = To(known.url), To(to.url)
            differing = {}
            for name, do in OPERATIONS.items():
                plain = await asyncio.to_thread(_read, do, alone), known.asked()
                through = await asyncio.to_thread(_read, do, proxied), known.asked()
                assert plain[1], f"{name} asked the provider nothing"
                if plain != through:
                    differing[name] = plain, through
            for one in (alone, proxied):
                one.openai.close()
                one.anthropic.close()
    assert differing == {}


async def test_an_answer_in_one_piece_does_not_tell_of_memorys_tools() -> None:
    asked: list[list[str]] = []

    def repeats(seen: Any) -> Any:
        asked.append([one["name"] for one in seen.body["tools"]])
        told = RESPONSE | {"tools": seen.body["tools"]}
        return Say(raw=json.dumps(told).encode())

    tools = [{"type": "function", **FUNCTION, "strict": False}]

    def create(url: str) -> Any:
        return To(url).openai.responses.create(model="m", input="x", tools=tools, store=False)

    with Upstream(repeats) as upstream:
        async with standing(upstream, window=8_000) as to:
            read = await asyncio.to_thread(create, to.url)
    assert asked == [["weather", "page_fault", "search_pages"]]
    assert [one.name for one in read.tools] == ["weather"]
