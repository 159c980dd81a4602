"""What a proxied conversation with an agent weighs on disk: the log and its index, beside the text.

    python benchmarks/proxied.py [FILE ...]

A client of Chat Completions sends its whole history with each request, and a provider in this
process answers as the conversation goes. FILE has conversations as `bench retrieval` reads them,
one a line: a `tool` turn is the result of a call of the answer before it, made up with its name and
an argument. Without FILE one is made up: an agent that looks things up, long turns beside short.

Prints a line of JSON for each conversation: bytes for each byte of text (of messages, results and
arguments of calls), of the log by types of records, less what of it is text, and of the index.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

from pagefault.lab.kernel import words
from pagefault.model.clock import SystemClock
from pagefault.pack.count import O200k
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.server import Proxy
from pagefault.service.bootstrap import open_memory

Json = dict[str, Any]

WINDOW: Final = 32_000
ROUNDS: Final = 60
TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
]


def made_up(chance: random.Random) -> list[Json]:
    """An agent: what it is asked, a call or two and their results, an answer."""
    turns: list[Json] = []
    for _ in range(ROUNDS):
        turns.append({"role": "user", "text": words(chance, 30)})
        for _ in range(chance.choice((1, 1, 2))):
            turns.append({"role": "assistant", "text": words(chance, 12)})
            turns.append({"role": "tool", "text": words(chance, 80)})
        turns.append({"role": "assistant", "text": words(chance, 60)})
    return turns


def messages_of(turns: list[Json]) -> list[Json]:
    """The turns as a client and its provider write them."""
    messages: list[Json] = []
    for number, turn in enumerate(turns):
        text, call = turn["text"], f"call_{number:024x}"
        if turn["role"] == "tool" and messages and messages[-1]["role"] != "user":
            asking = next(one for one in reversed(messages) if one["role"] == "assistant")
            function = {"name": "look_up", "arguments": json.dumps({"query": text[:24]})}
            calls = asking.setdefault("tool_calls", [])
            calls.append({"id": call, "type": "function", "function": function})
            messages.append({"role": "tool", "tool_call_id": call, "content": text})
        else:
            role = "user" if turn["role"] == "user" else "assistant"
            messages.append({"role": role, "content": text})
    return messages


def text_of(message: Json) -> int:
    calls = message.get("tool_calls", ())
    told = [message["content"], *(one["function"]["arguments"] for one in calls)]
    return sum(len(one.encode()) for one in told)


class Provider:
    """Answers each request with `answer`."""

    def __init__(self) -> None:
        self.answer: Json = {}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # then the client has gone
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                size = next(int(one[15:]) for one in head if one.startswith(b"content-length:"))
                await reader.readexactly(size)
                reason = "tool_calls" if self.answer.get("tool_calls") else "stop"
                choice = {"index": 0, "message": self.answer, "finish_reason": reason}
                usage = {"prompt_tokens": 4_000, "completion_tokens": 80, "total_tokens": 4_080}
                told = json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": usage})
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"content-length: %d\r\n\r\n" % len(told.encode()))
                writer.write(told.encode())
                await writer.drain()
        writer.close()


async def post(proxy: Proxy, messages: list[Json]) -> None:
    body = json.dumps({"model": "m", "tools": TOOLS, "messages": messages}).encode()
    requests = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not requests:
            await asyncio.sleep(3_600)
        return requests.pop()

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200, message

    path = "/v1/chat/completions"
    headers = [(b"host", b"127.0.0.1"), (b"x-pagefault-session", b"measured")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "headers": headers, "http_version": "1.1"}
    await asyncio.create_task(proxy(cast(Any, scope), receive, cast(Any, send)))


async def weigh(name: str, messages: list[Json], home: Path) -> Json:
    provider = Provider()
    async with provider.listening() as url, open_memory(home, window=WINDOW) as memory:
        relay = Relay(url, Patience())
        proxy = Proxy(memory=memory, relay=relay, counter=O200k(), clock=SystemClock())
        for at, message in enumerate(messages):
            if at and message["role"] == "assistant":
                provider.answer = message
                await post(proxy, messages[:at])
        await proxy.settled()
        await relay.aclose()
    return {"conversation": name, **sizes(messages, home)}


def sizes(messages: list[Json], home: Path) -> Json:
    text = sum(map(text_of, messages))
    by_type: Counter[str] = Counter()
    for path in sorted((home / "log").iterdir()):
        for line in path.read_bytes().splitlines(keepends=True):
            record = json.loads(line)
            kind = record.get("type", "segment")
            by_type[kind] += len(line) - len((record.get("payload") or {}).get("text", "").encode())
    log = sum(path.stat().st_size for path in (home / "log").iterdir())
    index = sum(path.stat().st_size for path in home.glob("index.db*"))
    return {
        "messages": len(messages),
        "text_per_message": round(text / len(messages)),
        "log_per_text": round(log / text, 2),
        "index_per_text": round(index / text, 2),
        "both_per_text": round((log + index) / text, 2),
        "beside_text_by_type": {kind: round(n / text, 3) for kind, n in by_type.most_common()},
    }


def conversations(files: list[str]) -> Iterator[tuple[str, list[Json]]]:
    if not files:
        yield "made up", made_up(random.Random(7))
    for file in files:
        for line in Path(file).read_text().splitlines():
            told = json.loads(line)
            yield told["id"], told["turns"]


def main() -> None:
    for name, turns in conversations(sys.argv[1:]):
        with tempfile.TemporaryDirectory() as directory:
            told = asyncio.run(weigh(name, messages_of(turns), Path(directory) / "memory"))
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
