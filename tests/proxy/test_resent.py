"""What a client sends again is not worked out again, and nobody can tell."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.model.errors import BadInput
from pagefault.model.kinds import EventType
from pagefault.proxy.history import history, parsing, trie
from pagefault.proxy.history.history import Json, digest
from pagefault.proxy.history.parsing import Parsed, parse
from pagefault.proxy.history.readings import ReadBody, Readings
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.layout import beginning
from pagefault.proxy.server import Proxy
from pagefault.service.memory import Memory
from tests.proxy.histories import COUNTER, MARK, body, reminder, result, user

# --- bodies ---------------------------------------------------------------------------------------

TEXTS = st.text(st.sampled_from('aé"\\\n😀\ud800 1</'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**30) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
BODIES = st.dictionaries(st.sampled_from(["messages", "a", "é"]), VALUES, max_size=3)


def spelt(value: Any, how: int) -> bytes:
    """JSON as some client writes it."""
    separators = (",", ":") if how % 2 else (", ", ": ")
    indent = 1 if how % 3 == 2 else None
    text = json.dumps(value, separators=separators, indent=indent, ensure_ascii=how < 4)
    return text.encode("utf-8", "surrogatepass")


def read(data: bytes, reads: Callable[[bytes], Any]) -> str:
    """What is read of it, exactly; NaN is equal to nothing, and 1 to True."""
    try:
        value = reads(data)
    except ValueError:
        return "no JSON"
    return repr(value) if isinstance(value, dict) else "no JSON"


def document_of(before: Parsed | None, data: bytes) -> Json:
    return parse(data, before).document


@given(BODIES, BODIES, st.lists(st.tuples(st.integers(0, 7), st.integers(0), TEXTS), max_size=4))
def test_a_body_is_read_as_if_none_had_been_read_before(
    one: Json, other: Json, changes: Sequence[tuple[int, int, str]]
) -> None:
    data, before = spelt(one | other, 1), None
    for how, at, text in [(1, 0, ""), *changes, (5, 0, "")]:
        if how < 2:
            data = spelt(one | other if how else other | one, at % 8)
        else:  # something is cut out, and something else put in, wherever that is
            at %= len(data) + 1
            put = text.encode("utf-8", "surrogatepass")
            data = data[:at] + put + data[at + how - 2 :]
        told = read(data, json.loads)
        assert read(data, partial(document_of, before)) == told
        if told != "no JSON":
            before = parse(data, before)


def test_what_stands_in_a_body_again_is_the_same_object() -> None:
    said = [user(f"part {n} – 12") for n in range(40)]
    old = parse(spelt(body(*said, max_tokens=9), 1))
    edited = [*said[:9], user("else"), *said[10:], user("more")]
    new = parse(spelt(body(*edited, max_tokens=9), 1), old)
    pairs = zip(old.document["messages"], new.document["messages"], strict=False)
    shared = [a is b for a, b in pairs]
    assert shared == [True] * 9 + [False] + [True] * 30
    assert new.document["system"] is old.document["system"]
    assert new.document == body(*edited, max_tokens=9)


def test_bytes_that_are_not_compared_to_their_end_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""

    def stands(self: Any, begin: int, end: int, at: int) -> bool:
        return end > begin and bool(self._data.startswith(self._old[begin : begin + 8], at))

    monkeypatch.setattr(parsing._Parser, "_stands", stands)
    old, new = (spelt(body(user("one"), user(said)), 1) for said in ("two", "six"))
    assert parse(new, parse(old)).document != json.loads(new)


def test_readings_are_of_one_client_and_in_bounds() -> None:
    readings = Readings(bytes_max=1_000)

    def keep(whose: tuple[str, ...], said: str, old: ReadBody | None = None) -> ReadBody:
        parsed = parse(spelt(body(user(said)), 1))
        new = ReadBody(
            parsed, history.History(messages=[], items=[], instructions="", tools=[]), ""
        )
        readings.keep(whose, new, old)
        return new

    mine = keep(("ana", "messages"), "x" * 200)
    again = mine.parsed.data[:-9] + b"more"
    assert readings.find(("ana", "messages"), again) is mine
    assert readings.find(("ben", "messages"), again) is None, "another's is not even looked at"
    for n in range(9):
        keep((f"{n}", "messages"), "y" * 200)
    assert readings.find(("ana", "messages"), again) is None
    assert readings._bytes <= 1_000


# --- conversations ------------------------------------------------------------------------------

STEPS = (
    *["goes on"] * 6,
    *("retries", "marks", "edits", "blanks", "rewinds", "reminds", "respells", "instructs"),
    *("switches", "restarts", "forgets", "pins", "cuts"),
)


SEAL = re.compile(rb"VM:CONTEXT \d+")  # made with the secret of a memory


class Unread(Readings):
    """Nothing was read before: the whole path, each time."""

    def find(self, whose: tuple[str, ...], data: bytes) -> ReadBody | None:
        return None

    def keep(self, whose: tuple[str, ...], new: ReadBody, old: ReadBody | None) -> None: ...


class Provider(httpx2.AsyncBaseTransport):
    """Answers what it is asked by its digest: words and, now and then, a call."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(SEAL.sub(b"VM:CONTEXT 0", await request.aread()))
        told = json.loads(self.asked[-1])
        chance = Random(digest(json.dumps(told["messages"][-1])))
        content: list[Json] = [{"type": "text", "text": f"So it is {chance.randrange(99)}. " * 5}]
        if "tools" in told and chance.random() < 0.6:
            used = {"type": "tool_use", "id": f"t{len(told['messages'])}", "name": "Read"}
            content.append({**used, "input": {"path": f"{chance.randrange(9)}.txt"}})
        if chance.random() < 0.2:
            content.insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
        usage = {"input_tokens": 10, "output_tokens": 5}
        answer = {"role": "assistant", "content": content, "stop_reason": "end", "usage": usage}
        stream = httpx2.ByteStream(json.dumps(answer).encode())
        return httpx2.Response(200, headers={"content-type": "application/json"}, stream=stream)


@dataclass
class Client:
    """One session of a client, which says what chance has it say."""

    name: str
    chance: Random
    messages: list[Json] = field(default_factory=list)
    more: Json = field(default_factory=dict)
    how: int = 1

    def step(self, step: str) -> None:
        said, chance = self.messages, self.chance
        at = chance.randrange(len(said)) if said else 0
        words = f"{step} of garden {chance.randrange(99)} " * chance.randrange(1, 12)
        match step:
            case "marks":
                for message in said:
                    for block in message["content"]:
                        block.pop("cache_control", None)
                for message in said[-2:]:
                    message["content"][-1]["cache_control"] = MARK
            case "edits" if said:
                said[at] = {**said[at], "content": [{"type": "text", "text": words}]}
            case "blanks" if said:
                for block in said[at]["content"]:
                    if block["type"] == "tool_result":
                        block["content"] = "[Old tool result content cleared]"
            case "rewinds":
                del said[at:]
            case "cuts" if len(said) > 6:
                del said[1 : at // 2 * 2 + 1]
            case "reminds" if said and said[at]["role"] == "user":
                said[at]["content"].insert(0, {"type": "text", "text": reminder(words)})
            case "respells":
                self.how = chance.randrange(8)
                self.more = dict(reversed(self.more.items())) | {"max_tokens": chance.randrange(3)}
            case "instructs":
                said.append({"role": "system", "content": [{"type": "text", "text": words}]})
        if step in ("retries", "respells", "marks") and said and said[-1]["role"] == "user":
            return
        called = [b["id"] for m in said[-1:] for b in m["content"] if b["type"] == "tool_use"]
        blocks: list[Any] = [result(one, words) for one in called]
        said.append(user(*blocks, *([] if blocks and chance.random() < 0.6 else [words])))

    def request(self) -> bytes:
        return spelt(body(*self.messages, tools=[{"name": "Read"}], **self.more), self.how)


async def ask(proxy: Proxy, client: Client) -> Json:
    """The answer to what it says now, once it is logged."""
    given, answer = [client.request()], bytearray()

    async def receive() -> Mapping[str, Any]:
        if given:
            return {"type": "http.request", "body": given.pop(), "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Mapping[str, Any]) -> None:
        answer.extend(message.get("body", b""))

    names = {"host": "localhost", "x-api-key": client.name[0], "x-pagefault-session": client.name}
    await proxy(
        {
            "type": "http",
            "method": "POST",
            "path": "/v1/messages",
            "raw_path": b"/v1/messages",
            "query_string": b"",
            "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in names.items()],
        },
        receive,
        send,
    )
    told = json.loads(bytes(answer))
    return {"role": told["role"], "content": told["content"]}


async def records(memory: Memory) -> list[Any]:
    """All that the log tells, but for names, times and who wrote it."""
    types = (*map(str, EventType), "relayed", "reported", "received")
    return [
        (row.session, event.turn, event.actor, event.origin, event.body)
        for row in sorted(await memory.sessions(), key=lambda row: row.session)
        for event in memory._runtime.events_of(row.session, types)
    ]


async def look_after(memory: Memory, client: Client, chance: Random, *, forgets: bool) -> None:
    """Pin a page of what a client said, or forget it."""
    for row in await memory.sessions():
        if not row.name.startswith(f"{client.name}:"):
            continue
        session = await memory.session(row.name, create=False)
        pages = await memory.pages(session, limit=99)
        page = pages[chance.randrange(len(pages))].page_id
        with suppress(BadInput):  # of words that nobody can vouch for
            await (memory.forget(session, page) if forgets else session.pin(page))
        return


async def played(steps: Sequence[str], seed: int, *, remembers: bool) -> tuple[list[bytes], Any]:
    """What a provider was sent, and what the log tells."""
    provider = Provider()
    relay = Relay("https://provider.test", Patience(), transport=provider)

    def proxy() -> Proxy:
        made = Proxy(
            memory=memory, relay=relay, counter=COUNTER, clock=SystemClock(), window_tokens=700,
            secret=b"s", measures=False,
        )  # fmt: skip
        if not remembers:
            made._intake._readings = Unread()
        return made

    async with pagefault.open(":memory:", sync="os") as memory:
        to, chance = proxy(), Random(seed)
        clients = [Client(name, chance) for name in ("ana", "another", "ben")]
        for step in steps:
            match step:
                case "switches":
                    clients.append(clients.pop(0))
                case "restarts":
                    to = proxy()
                case "forgets" | "pins":
                    await look_after(memory, clients[0], chance, forgets=step == "forgets")
            clients[0].step(step)
            clients[0].messages.append(await ask(to, clients[0]))
        told = await records(memory)
    await relay.aclose()
    return provider.asked, told


async def is_told_apart(
    steps: Sequence[str], seed: int, weaken: Callable[[], None] = lambda: None
) -> bool:
    """Whether anybody can tell a proxy that remembers what it read, `weaken`ed if so, from one that
    does not.
    """
    anew = await played(steps, seed, remembers=False)
    weaken()
    return await played(steps, seed, remembers=True) != anew


@given(st.lists(st.sampled_from(STEPS), min_size=8, max_size=16), st.integers(0, 999))
@settings(max_examples=5)
async def test_what_is_sent_on_and_logged_is_what_it_would_be_if_nothing_were_remembered(
    steps: Sequence[str], seed: int
) -> None:
    assert not await is_told_apart(["goes on", *steps], seed)


def always_alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    return min(len(one), len(other))


@pytest.mark.parametrize(
    ("where", "name", "weak", "steps"),
    [
        (beginning, "in_common", always_alike, ["goes on"] * 4 + ["edits"] * 2),
        (trie, "in_common", always_alike, ["goes on"] * 4 + ["rewinds"] * 2),
        (beginning.Beginning, "is_of", lambda *_, **__: True, ["goes on"] * 24),
    ],
)
async def test_whatever_is_taken_over_too_easily_shows(
    where: Any, name: str, weak: Any, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    assert await is_told_apart(steps, 3, lambda: monkeypatch.setattr(where, name, weak))
