"""Where a client marks nothing for the cache, the proxy does, if it was asked to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pagefault import BillRow
from pagefault.proxy.history.history import Json, unmarked
from pagefault.proxy.layout.own_marks import MARK, marked
from pagefault.proxy.layout.prefix import Again
from tests.proxy.histories import COUNTER, FACT, call, long_talk, model, result, text, user
from tests.proxy.histories import body as unnamed
from tests.proxy.standing import Standing, post, standing
from tests.proxy.strict import strict
from tests.proxy.upstream import Call, Say, Seen, Upstream

MODEL = "claude-sonnet-5"  # caches at marks alone
LOOKBACK = 20
TOOLS = [{"name": "Read", "input_schema": {"type": "object"}, "description": "reads " * 200}]


def body(*messages: Json, **more: Any) -> Json:
    return {**unnamed(*messages, **more), "model": MODEL}


def agents_turns(turns: int, results: int) -> list[Json]:
    """A client's history in which each turn calls for so many results at once."""
    said: list[Json] = [user(FACT)]
    for n in range(turns):
        ids = [f"c{n}_{k}" for k in range(results)]
        said.append(model(*(call(one, path=f"{one}.txt") for one in ids)))
        said.append(user(*(result(one, f"{one} says " + f"leaf{n} " * 30) for one in ids)))
    return said


class AtMarks:
    """A provider whose cache holds a prefix where a mark stands, and finds it within twenty blocks
    before a mark: by whole blocks, as Anthropic documents it.
    """

    def __init__(self, *replies: Say) -> None:
        self.replies = list(replies)
        self.held: set[str] = set()
        self.asked: list[int] = []  # the tokens of each request
        self.read: list[int] = []  # and of these from the cache

    def __call__(self, seen: Seen) -> Say:
        blocks = list(_blocks(seen.body))
        keys, sizes, sofar, total = [], [], "", 0
        for block in blocks:
            said = json.dumps(unmarked(block))
            sofar, total = f"{hash((sofar, said))}", total + len(said.split())
            keys.append(sofar)
            sizes.append(total)
        marks = [n for n, one in enumerate(blocks) if "cache_control" in one]
        found = [
            at
            for mark in marks
            for at in range(mark, max(-1, mark - LOOKBACK - 1), -1)
            if keys[at] in self.held
        ]
        self.held |= {keys[mark] for mark in marks}
        cached = sizes[max(found)] if found else 0
        written = sizes[max(marks)] - cached if marks else 0
        self.asked.append(total)
        self.read.append(cached)
        say = self.replies.pop(0) if self.replies else Say(text="Understood.")
        return Say(
            text=say.text, calls=say.calls, thinking=say.thinking,
            input_tokens=total, cached_tokens=cached, written_tokens=written,
        )  # fmt: skip


def _blocks(body: Json) -> Iterator[Json]:
    yield from body.get("tools") or ()
    for message in [{"role": "system", "content": body["system"]}, *body["messages"]]:
        content = message["content"]
        for one in [text(content)] if isinstance(content, str) else content:
            yield {"of": message["role"], **one}


async def asked(to: Standing, said: list[Json], **more: Any) -> BillRow:
    for upto in range(1, len(said) + 1, 2):
        answer = await post(to, body(*said[:upto], tools=TOOLS, **more))
        assert answer.status_code == 200, answer.text
    await to.proxy.settled()
    return (await to.memory.bill()).total


# --- on the wire ----------------------------------------------------------------------------------


async def test_a_client_that_marks_nothing_reads_its_history_from_the_cache() -> None:
    """Its turns have more results than the provider looks back over."""
    cache = AtMarks()
    with Upstream(strict(cache, COUNTER, 1_000_000)) as upstream:
        async with standing(upstream, marks=True, body_bytes_max=10_000_000) as to:
            told = await asked(to, agents_turns(6, 25))
        seen = [json.dumps(one.body).count('"cache_control"') for one in upstream.seen]
    assert max(seen) == 4
    assert cache.read == [0, *cache.asked[:-1]], "all of the request before, each time"
    assert told.cached_tokens == sum(cache.read)
    assert told.without_cached_tokens == told.unmarked.requests == 0
    assert told.marked_here.requests == told.requests
    assert told.without_cost == told.without_tokens, "plain input, without us"
    assert told.marks_saved == pytest.approx(told.net)
    assert told.marks_saved > 0.4 * told.without_cost


async def test_control_without_the_option_its_bytes_go_on_and_nothing_is_cached() -> None:
    cache, said = AtMarks(), agents_turns(3, 25)
    with Upstream(cache) as upstream:
        async with standing(upstream, body_bytes_max=10_000_000) as to:
            told = await asked(to, said)
        assert upstream.seen[-1].body == body(*said, tools=TOOLS)
        assert not any(b"cache_control" in one.raw for one in upstream.seen)
    assert not any(cache.read)
    assert told.marked_here.requests == told.marks_saved == 0
    assert told.unmarked.requests == told.requests
    assert told.marking_saves > 0


def test_control_one_mark_at_the_end_misses_a_long_turn() -> None:
    """Which is what the mark at the end of the request before is for."""
    cache = AtMarks()
    said = agents_turns(2, 25)
    for upto in (3, 5):
        *before, last = said[:upto]
        whole = {"role": "user", "content": [*last["content"][:-1], last["content"][-1] | MARK]}
        cache(Seen("POST", "/v1/messages", {}, json.dumps(body(*before, whole)).encode()))
    assert cache.read == [0, 0]


@pytest.mark.parametrize("where", ["a block", "the request"])
async def test_where_a_client_marks_itself_nothing_is_added(where: str) -> None:
    said = [user(FACT), model("Noted."), user(text("And now?", mark=where == "a block"))]
    whole = body(*said, tools=TOOLS) | ({} if where == "a block" else dict(MARK))
    with Upstream(AtMarks()) as upstream:
        async with standing(upstream, marks=True) as to:
            await post(to, whole)
            told = (await _bill(to)).marked_here
    assert upstream.seen[0].body == whole
    assert told.requests == 0


async def test_a_header_decides_for_a_request_and_is_not_sent_on() -> None:
    with Upstream(AtMarks()) as upstream:
        for default, told in ((True, "off"), (False, "on")):
            async with standing(upstream, marks=default) as to:
                to.http.headers["x-pagefault-mark"] = told
                await post(to, body(user(FACT)))
                assert (b"cache_control" in upstream.seen[-1].raw) is (told == "on")
                assert "x-pagefault-mark" not in upstream.seen[-1].headers
                to.http.headers["x-pagefault-mark"] = "please"
                assert (await post(to, body(user(FACT)))).status_code == 400


async def test_other_formats_and_models_of_others_have_none() -> None:
    chat = {"model": MODEL, "messages": [{"role": "user", "content": FACT}]}
    with Upstream(AtMarks()) as upstream:
        async with standing(upstream, marks=True) as to:
            await post(to, body(user(FACT)) | {"model": "deepseek-v4-pro"})
            upstream.script = lambda _: Say(text="Understood.")
            await post(to, chat, "/v1/chat/completions")
    assert not any(b"cache_control" in one.raw for one in upstream.seen)


async def test_under_a_window_what_stays_is_read_and_calls_of_memory_s_are_marked_too() -> None:
    cache = AtMarks()
    with Upstream(strict(cache, COUNTER, 1_000_000)) as upstream:
        async with standing(upstream, window=1_700, marks=True) as to:
            await asked(to, long_talk(20))
            search = Call("s", "search_pages", {"query": "launch code of project Heron"})
            cache.replies = [Say(calls=(search,)), Say(text="It is 7741.")]
            answer = await post(to, body(*long_talk(20), user("And Heron?"), tools=TOOLS))
            told = await _bill(to)
    assert answer.json()["content"] == [text("It is 7741.")]
    assert told.rewritten.requests > 0
    assert told.memory_calls.requests == 1
    assert cache.read[-1] > 0.8 * cache.asked[-1]
    assert told.cached_tokens > 0.6 * told.tokens
    assert told.marked_here.requests == told.requests


# --- where marks may stand ------------------------------------------------------------------------


def places(request: Json) -> list[str]:
    return [str(one.get("name") or one.get("text") or one.get("id")) for one in _marks(request)]


def _marks(request: Json) -> list[Json]:
    return [one for one in _blocks(request) if "cache_control" in one]


def test_marks_stand_on_blocks_that_may_bear_one() -> None:
    thinking = {"type": "thinking", "thinking": "…", "signature": "s"}
    aside = {"role": "system", "content": [text("The day is over.")]}
    tools = [*TOOLS, TOOLS[0] | {"name": "Rare", "defer_loading": True}]
    said = [{"role": "user", "content": "One."}, model("Two.", thinking), user("Three.", ""), aside]
    request = body(*said, tools=tools)
    told = marked(request, Again(messages=2))
    assert places(told) == ["Read", "You help.", "Two.", "Three."]
    assert unmarked(told)["messages"] == said
    assert marked(told, Again(messages=2)) == told
    assert request == body(*said, tools=tools), "the client's own values stay as they are"


def test_a_message_that_grew_is_marked_where_it_ended_before() -> None:
    said = [user("One."), model("Two."), user(result("c", "Three."), "Four.", "Five.")]
    told = marked(body(*said), Again(messages=2, blocks=2))
    assert places(told) == ["You help.", "Four.", "Five."]


def test_nothing_is_marked_that_is_not_there() -> None:
    bare = {"messages": [user("")]}
    assert marked(bare, Again()) == bare


async def _bill(to: Standing) -> BillRow:
    await to.proxy.settled()
    return (await to.memory.bill()).total
