"""Who is offered memory's tools, what they load, and what becomes of it when something fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.errors import StoreLatched
from pagefault.model.events import Faulted
from pagefault.proxy.history.history import Json
from pagefault.proxy.layout.faults import FORMS, OURS, Faults
from pagefault.proxy.wires.pairs import TakenApart
from pagefault.service.ownership import Owned
from pagefault.service.turn.relayed_calls import RelayedCalls
from tests.proxy.callers import (
    CALLERS,
    ChatCaller,
    GeminiCaller,
    MessagesCaller,
    ResponsesCaller,
)
from tests.proxy.histories import FACT
from tests.proxy.recorded import asks_for_summary
from tests.proxy.standing import Standing, post, standing
from tests.proxy.strict import declared
from tests.proxy.test_faults import (
    STREAMED,
    WINDOW,
    WIRES,
    Model,
    blocks,
    leaf,
    load,
    names,
    read_file,
    results,
    search,
    until_it_left,
    watched,
)
from tests.proxy.upstream import Call, Say, Upstream

MARKS = ("page_fault", "search_pages")


async def the_session(to: Standing) -> pagefault.Session:
    await to.proxy.settled()
    [name] = await to.sessions()
    return await to.memory.session(name, create=False)


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


# --- who is offered them ----------------------------------------------------------------------


@WIRES
async def test_they_stand_behind_the_clients_tools_from_the_first_request_on(path: str) -> None:
    with watched(Model()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path]()
            for n in range(3):
                caller.says(leaf(n))
                await caller.ask(to)
    assert [names(seen) for seen in upstream.seen] == [["Read", "page_fault", "search_pages"]] * 3
    assert len({json.dumps(seen.body["tools"]) for seen in upstream.seen}) == 1
    first = declared(upstream.seen[0].body["tools"])[:1]
    assert first == declared(CALLERS[path]().tools())


@WIRES
@pytest.mark.parametrize(
    ("wanted", "window", "tools", "offered"),
    [
        (None, WINDOW, True, True),
        (None, WINDOW, False, False),  # a chat without tools stays one
        (True, WINDOW, False, True),
        (False, WINDOW, True, False),
        (True, 0, True, False),  # nothing ever leaves
    ],
)
async def test_who_is_offered_them(
    path: str, wanted: bool | None, window: int, tools: bool, offered: bool
) -> None:
    with watched(Model()) as upstream:
        async with standing(upstream, window=window, faults=wanted) as to:
            caller = CALLERS[path]()
            caller.says("Hello.")
            await caller.ask(to, **({} if tools else {"tools": []}))
    assert (set(names(upstream.seen[0])) >= OURS) == offered


GEMINI = GeminiCaller.path

AS_JSON: dict[str, Json] = {
    "/v1/chat/completions": {"response_format": {"type": "json_schema", "json_schema": {}}},
    "/v1/messages": {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
    "/v1/responses": {"text": {"format": {"type": "json_schema", "schema": {}}}},
    GEMINI: {"generationConfig": {"responseMimeType": "application/json"}},
}


MUST_CALL: dict[str, Json] = {
    "/v1/chat/completions": {"tool_choice": "required"},
    "/v1/messages": {"tool_choice": {"type": "any"}},
    "/v1/responses": {"tool_choice": "required"},
    GEMINI: {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}


@WIRES
@pytest.mark.parametrize("more", [AS_JSON, MUST_CALL], ids=["json", "must-call"])
async def test_a_conversation_that_begins_with_such_a_request_is_a_passive_one(
    path: str, more: dict[str, Json]
) -> None:
    with watched(Model()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path]()
            for _ in range(2):
                caller.says("Hello.")
                await caller.ask(to, **more[path])
    assert [names(seen) for seen in upstream.seen] == [["Read"]] * 2


async def test_a_stream_of_responses_that_the_provider_keeps_is_a_passive_one() -> None:
    with watched(Model()) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            for stream in (True, False):
                caller = ResponsesCaller(stream=stream)
                caller.says(f"Hello {stream}.")
                to.http.headers["x-session-id"] = str(stream)
                caller.headers = {"x-api-key": "k"}
                await caller.ask(to, store=True)
    assert [len(names(seen)) for seen in upstream.seen] == [1, 3]


async def test_calls_that_a_server_numbers_alike_are_told_apart() -> None:
    """As some gateways do: each call whole, in a piece of its own, and all of them the first."""
    editor = FORMS["chat"].editor(OURS)
    told: list[Json] = []
    for call in (read_file("c1"), search("x", "c2"), read_file("c3"), search("y", "c4")):
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        piece = {"index": 0, "id": call.call_id, "type": "function", "function": function}
        data: Json = {"id": "a", "choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}
        raw = editor.feed("", data, b"data: " + json.dumps(data).encode() + b"\n\n")
        told += [json.loads(raw[6:])["choices"][0]["delta"]["tool_calls"][0]] if raw else []
    assert [(one["index"], one["id"]) for one in told] == [(0, "c1"), (1, "c3")]
    assert [one.call.call_id for one in editor.round().calls] == ["c2", "c4"]
    assert editor.round().has_others


@WIRES
async def test_a_request_that_cannot_offer_them_names_none_of_them(path: str) -> None:
    """One that wants JSON, and one with a tool of that name; the next offers them as before."""
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path]()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(Say(text="I look. ", calls=(search("launch code"),)), Say(text="7741."))
            await caller.ask(to)
            caller.says("Once more.")
            own = json.loads(json.dumps(caller.tools()).replace('"Read"', '"page_fault"'))
            for more in (AS_JSON[path], {"tools": own}):
                await caller.ask(to, **more)
                caller.messages.pop()
                raw = upstream.seen[-1].raw.decode()
                assert "search_pages" not in raw
                assert raw.count('"page_fault"') == ("tools" in more)
            await caller.ask(to)
            before, last = upstream.seen[-4], upstream.seen[-1]
            assert blocks(last)[: len(blocks(before))] == blocks(before)


async def test_who_sums_up_is_offered_none() -> None:
    model = Model()
    headers = {"x-claude-code-session-id": "abc"}
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            to.http.headers.update(headers)
            caller = MessagesCaller()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(Say(text="I look.", calls=(search("launch code"),)), Say(text="7741."))
            await caller.ask(to)
            caller.says(asks_for_summary("claude"))
            await caller.ask(to)
            raw = upstream.seen[-1].raw.decode()
            assert names(upstream.seen[-1]) == ["Read"]
            assert not any(one in raw for one in MARKS)


@WIRES
async def test_a_conversation_that_began_without_them_has_them_from_an_epoch_on(
    path: str, tmp_path: Path
) -> None:
    with watched(Model()) as upstream:
        caller = CALLERS[path]()
        async with standing(upstream, root=tmp_path / "m", window=WINDOW, faults=False) as to:
            caller.says(FACT)
            await caller.ask(to)
        async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
            for n in range(14):
                caller.says(leaf(n))
                await caller.ask(to)
            lines = await to.lines()
        async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
            caller.says("And now?")
            await caller.ask(to)
    offered = [set(names(seen)) >= OURS for seen in upstream.seen]
    first = next(n for n, line in enumerate(lines) if "epoch" in line) + 1
    assert offered == [n >= first for n in range(len(upstream.seen))]
    for seen in upstream.seen:
        told = seen.raw.decode()
        assert ("page_fault loads" in told) <= ("page_fault" in names(seen))


# --- what they may load -----------------------------------------------------------------------


async def test_what_stands_in_the_request_is_not_loaded_again() -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = MessagesCaller()
            await until_it_left(to, caller)
            newest = f"msg_{len(caller.messages) - 1}"
            caller.says("Say the number.")
            model.then(
                Say(calls=(load("msg_1", "call_1"),)),
                Say(calls=(load("msg_1", "call_2"), load(newest, "call_3"))),
                Say(text="7741."),
            )
            await caller.ask(to)
            told = results(upstream.seen[-1])
            assert "7741" in str(told["call_1"])
            for call in ("call_2", "call_3"):
                assert "already mapped" in told[call]["page"]["meta"]["note"]
            session = await the_session(to)
            faults = [one.body for one in await session.faults()]
            mapped = [one.already_mapped for one in faults if isinstance(one, Faulted)]
            assert mapped == [False, True, True]
            now = await session.at(turn=(await session.status()).turns - 1)
            assert [one.page_id for one in now.pages if one.place == "faulted"] == ["msg_1"]


@WIRES
async def test_a_shorter_form_is_loaded_and_sent_again_after_a_restart(
    path: str, tmp_path: Path
) -> None:
    long = "The sluice gate opens at dawn. " + "The miller keeps the key of it in the barn. " * 12
    model = Model()
    caller = CALLERS[path]()
    with watched(model) as upstream:
        for run in range(2):
            async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
                if not run:
                    caller.says(long)
                    await caller.ask(to)
                    for n in range(14):
                        caller.says(leaf(n))
                        await caller.ask(to)
                    caller.says("What of the mill?")
                    short = Call("c1", "page_fault", {"page_id": "msg_1", "target_level": 2})
                    model.then(Say(text="Hm. ", calls=(short,)), Say(text="At dawn."))
                    await caller.ask(to)
                caller.says("And then?")
                await caller.ask(to)
    told = results(upstream.seen[-1])["c1"]["page"]
    assert told["level"] == 2
    assert 0 < len(told["content"]["text"]) < len(long) / 2
    before, last = upstream.seen[-2:]
    assert blocks(last)[: len(blocks(before))] == blocks(before)


@WIRES
async def test_a_turn_loads_as_much_as_its_limits_say_and_then_the_model_answers(
    path: str,
) -> None:
    model = Model()
    limits = pagefault.Limits(faults_per_turn_max=2, searches_per_turn_max=1, steps_per_turn_max=4)
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW, limits=limits) as to:
            caller = CALLERS[path]()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            replies = [
                Say(calls=(load("msg_1", "c1"), load("msg_3", "c2"), load("msg_5", "c3"))),
                Say(calls=(search("launch", "c4"), search("code", "c5"))),
                Say(calls=(search("Heron", "c6"),)),
                Say(text="So be it.", calls=(search("Ilse", "c7"),)),
            ]
            model.then(*replies)
            before = len(upstream.seen)
            read = await caller.ask(to)
            told = results(upstream.seen[-1])
            codes = {call: told[call].get("error", {}).get("code") for call in sorted(told)}
    assert read.text == "So be it."
    assert read.ends[0] in ("stop", "end_turn", "completed")
    assert len(upstream.seen) == before + 4, "as many requests as a turn may have"
    assert set(names(upstream.seen[-1])) >= OURS
    assert codes == {
        "c1": None,
        "c2": None,
        "c3": "fault_limit",
        "c4": None,
        "c5": "search_limit",
        "c6": "step_limit",
    }


async def test_nothing_of_another_branch_or_conversation_is_found_or_loaded() -> None:
    secret = "The sluice gate opens with the word marigold."
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = MessagesCaller()
            await until_it_left(to, caller)
            kept = list(caller.messages)
            caller.says(secret)
            await caller.ask(to)
            session = await the_session(to)
            rows = await to.memory.pages(session, limit=1_000)
            [page] = [row.page_id for row in rows if secret in (await to.memory.read(row)).text]
            caller.messages = kept  # rewound
            caller.says("How does the sluice gate open?")
            model.then(Say(calls=(search("sluice gate", "c1"), load(page, "c2"))), Say(text="No."))
            await caller.ask(to)
            told = results(upstream.seen[-1])
            assert page not in str(told["c1"])
            assert told["c2"]["error"]["code"] == "unknown_page"
            assert "marigold" not in upstream.seen[-1].raw.decode()


@WIRES
async def test_another_answer_to_the_same_message_has_nothing_of_the_first(path: str) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path]()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            asked = list(caller.messages)
            for thinking in ("one", "two"):
                caller.messages = list(asked)
                loads = (load("msg_1"),) if thinking == "one" else (load("msg_3"),)
                model.then(
                    Say(text=f"I look {thinking}. ", calls=loads, thinking=thinking),
                    Say(text=f"So {thinking}."),
                )
                await caller.ask(to)
                caller.says("Thanks.")
                await caller.ask(to)
                raw = upstream.seen[-1].raw.decode()
                assert ('"page_id": "msg_1"' in raw.replace("\\", "").replace('":"', '": "')) == (
                    thinking == "one"
                )
                assert len(results(upstream.seen[-1])) == 1


async def test_a_full_disk_ends_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any, **__: Any) -> Any:
        raise StoreLatched("no space left")

    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = MessagesCaller()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(Say(calls=(load("msg_1"),)), Say(text="7741."))
            monkeypatch.setattr(Owned, "commit", full)
            assert (await caller.ask(to)).text == "7741."
            monkeypatch.undo()
            caller.says("Thanks.")
            assert (await caller.ask(to)).text == "It is green."


async def test_what_is_forgotten_leaves_the_results_too(tmp_path: Path) -> None:
    model = Model()
    with watched(model) as upstream:
        caller = MessagesCaller()
        for run in range(2):
            async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
                if not run:
                    await until_it_left(to, caller)
                    caller.says("Say the number.")
                    model.then(Say(calls=(load("msg_1"),)), Say(text="I have it."))
                    await caller.ask(to)
                    assert FACT in upstream.seen[-1].raw.decode()
                    await to.memory.forget(await the_session(to), "msg_1")
                caller.says("And now?")
                await caller.ask(to)
                assert "Heron" not in upstream.seen[-1].raw.decode()
    assert b"Heron" not in b"".join(
        path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()
    )


# --- when something fails ---------------------------------------------------------------------


@WIRES
@STREAMED
@pytest.mark.parametrize(
    "broken",
    [
        Say(status=429),
        Say(status=500),
        Say(text="It is said to be", cut_after=3),
        Say(status=200, raw=b"what is this?"),
    ],
    ids=["429", "500", "cut", "strange"],
)
async def test_a_provider_that_fails_the_second_time_ends_the_answer_once(
    path: str, stream: bool, broken: Say
) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path](stream=stream)
            caller.says("Say the number.")
            if broken.cut_after >= 0 and not stream:
                broken = Say(status=503)
            model.then(Say(text="I look. ", calls=(search("launch code"),)), broken)
            try:
                read = await caller.ask(to)
            except json.JSONDecodeError:
                assert broken.raw
            else:
                assert read.error
            session = await the_session(to)
            told = await to.memory.proxied(session)
            assert told is not None
            assert (told.requests, told.reports) == (2, 1), "what failed cost nothing that is known"
            caller.messages = caller.messages[:1]
            assert (await caller.ask(to)).text == "It is green.", "and asked again it answers"


@WIRES
async def test_a_client_that_leaves_ends_the_second_request(path: str) -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path](stream=True)
            caller.says("Say the number.")
            slow = Say(text="word " * 200, pause_s=0.05)
            model.then(Say(calls=(search("launch code"),)), slow)
            asking = asyncio.create_task(caller.ask(to))
            await until(lambda: len(upstream.seen) == 2)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await until(lambda: bool(upstream.broken))


async def test_a_call_that_was_cut_at_a_limit_is_not_served() -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = ChatCaller()
            caller.says("Say the number.")
            whole = {
                "id": "c",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "length",
                        "message": {
                            "role": "assistant",
                            "content": "I",
                            "tool_calls": [
                                {
                                    "id": "c1",
                                    "type": "function",
                                    "function": {"name": "search_pages", "arguments": '{"que'},
                                }
                            ],
                        },
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1},
            }
            model.then(Say(raw=json.dumps(whole).encode()))
            read = await caller.ask(to)
            assert (read.text, read.calls, read.ends) == ("I", [], ["length"])
            assert len(upstream.seen) == 1


@STREAMED
async def test_a_memory_that_breaks_ends_no_answer(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            monkeypatch.setattr(RelayedCalls, "serve", breaks)
            caller = MessagesCaller(stream=stream)
            caller.says("Say the number.")
            model.then(Say(text="I look.", calls=(search("launch code"),)))
            read = await caller.ask(to)
            assert (read.text, read.calls, read.ends) == ("I look.", [], ["end_turn"])


async def test_a_client_that_edits_an_answer_loses_the_pair_and_nothing_else() -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = ChatCaller()
            await until_it_left(to, caller)
            caller.says("Say the number.")
            model.then(Say(text="I look. ", calls=(search("launch code"),)), Say(text="7741."))
            await caller.ask(to)
            caller.says("Thanks.")
            await caller.ask(to)
            assert results(upstream.seen[-1])
            at = next(n for n, m in enumerate(caller.messages) if "7741." in str(m["content"]))
            caller.messages[at] = {"role": "assistant", "content": "I told you already."}
            caller.says("Really?")
            await caller.ask(to)
            assert not results(upstream.seen[-1])
            assert "I told you already." in upstream.seen[-1].raw.decode()


# --- controls ---------------------------------------------------------------------------------


@WIRES
async def test_control_without_the_pairs_the_prefix_breaks(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Faults, "taken_apart", lambda _, history, __: TakenApart(history, {}))
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[path]()
            caller.says("Say the number.")
            model.then(Say(text="I look. ", calls=(search("launch code"),)), Say(text="7741."))
            await caller.ask(to)
            caller.says("Thanks.")
            await caller.ask(to)
    before, last = upstream.seen[-2:]
    assert blocks(last)[: len(blocks(before))] != blocks(before)


async def test_calls_that_a_server_does_not_number_pass_as_they_came() -> None:
    """With a number, LangChain would join two calls that came without one."""

    def chunk(finish: str | None, *calls: str) -> bytes:
        told = [{"id": one, "function": {"name": "Read", "arguments": "{}"}} for one in calls]
        choice = {"index": 0, "delta": {"tool_calls": told}, "finish_reason": finish}
        return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()

    answer = chunk(None, "call_1") + chunk("tool_calls", "call_2") + b"data: [DONE]\n\n"
    said = Say(pieces=(answer,), headers={"content-type": "text/event-stream"})
    with Upstream(lambda _: said) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            asked = ChatCaller().body() | {"stream": True}
            got = await post(to, asked, "/v1/chat/completions")
    assert "page_fault" in names(upstream.seen[0])
    assert got.content == answer
