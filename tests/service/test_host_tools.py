"""Calls of the host's own tools: native pairs of call and result, in every format, never parted."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault import BadInput, Session, ToolCall, ToolSpec
from pagefault.engine.formats import FORMATS, to_wire
from pagefault.model.kinds import Role
from tests.examples import few
from tests.service.pairs import check_pairs

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def clock(call_id: str, zone: str = "Oslo") -> ToolCall:
    return ToolCall(call_id, "clock", {"zone": zone})


async def asked(memory: pagefault.Memory, *calls: ToolCall, said: str = "") -> Session:
    """A session whose model has just made these calls."""
    session = await memory.session("s")
    await session.user("What time is it?")
    await session.request()
    await session.assistant(said, calls=calls)
    return session


async def test_a_call_and_its_result_are_a_native_pair_in_every_format() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("c1"), said="Let me look.")
        assert await session.tool_result("c1", "12:00") == ["tool_1"]
        request = await session.request()
        check_pairs(request)
        called, returned = request.messages[-2:]
        assert called.tool_calls == (ToolCall("c1", "clock", '{"zone": "Oslo"}'),)
        assert called.content.endswith("Let me look.")
        assert (returned.role, returned.call_id) == (Role.TOOL, "c1")
        assert returned.content.endswith("12:00")
        assert (await session.page("tool_1")).title == "clock"
        assert (await session.recall("clock Oslo")).hits


async def test_parallel_calls_keep_their_order_whatever_the_order_of_their_results() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"), clock("b"), clock("c"))
        for call_id in "cab":
            await session.tool_result(call_id, f"result of {call_id}")
        request = await session.request()
        check_pairs(request)
        assert [m.call_id for m in request.messages[-3:]] == ["a", "b", "c"]
        assert [m.content[-1] for m in request.messages[-3:]] == ["a", "b", "c"]


async def test_calls_of_memory_among_the_hosts_are_served_in_their_place() -> None:
    async with pagefault.open(":memory:") as memory:
        search = ToolCall("m", "search_pages", {"query": "time"})
        session = await asked(memory, clock("a"), search, clock("b"), said="Both.")
        assert [call.call_id for call in session.open_calls()] == ["a", "b"]
        await session.tool_result("b", "2")
        await session.tool_result("a", "1")
        request = await session.request()
        check_pairs(request)
        assert [call.call_id for call in request.messages[-4].tool_calls] == ["a", "m", "b"]
        assert "total_available" in request.messages[-2].content


async def test_a_call_of_memory_that_the_host_served_itself_joins_the_same_reply() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        await session.request()
        await session.call(ToolCall("m", "search_pages", '{"query": "time"}'))
        await session.assistant("Both.", calls=[clock("a")])
        await session.tool_result("a", "1")
        request = await session.request()
        check_pairs(request)
        assert [call.call_id for call in request.messages[-3].tool_calls] == ["m", "a"]


async def test_a_request_waits_for_every_result_and_names_the_open_calls() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"), clock("b"))
        await session.tool_result("a", "1")
        with pytest.raises(BadInput, match=r"b \(clock\)"):
            await session.request()
        await session.tool_result("b", "cancelled", is_error=True)
        check_pairs(await session.request())


async def test_a_result_is_given_once_and_to_a_call_that_was_made() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"))
        with pytest.raises(BadInput, match="no open call has the id 'z'"):
            await session.tool_result("z", "1")
        await session.tool_result("a", "1", key="once")
        with pytest.raises(BadInput, match="already"):
            await session.tool_result("a", "1")
        assert await session.tool_result("a", "1", key="once") == ["tool_1"]
        assert session.open_calls() == []


async def test_a_failed_call_says_so_in_words_and_where_a_format_has_a_place_for_it() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"))
        await session.tool_result("a", "no such zone", is_error=True)
        last = (await session.request("openai"))["messages"][-1]["content"]
        assert "failed" in last
        assert "no such zone" in last
        block = (await session.request("anthropic"))["messages"][-1]["content"][-1]
        assert block["is_error"] is True
        part = (await session.request("gemini"))["contents"][-1]["parts"][-1]
        assert "no such zone" in part["functionResponse"]["response"]["error"]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"rows": [1, 2], "note": "Ø"}, '{"rows":[1,2],"note":"Ø"}'),
        ([], "[]"),
        (42, "42"),
        (True, "true"),
        ({1: "a", None: [2.5]}, '{"1":"a","null":[2.5]}'),
        (10**20, "100000000000000000000"),
        ({"half": "\ud83d"}, '{"half":"\\ud83d"}'),
        (Role.TOOL, "tool"),
        (None, "(no output)"),
        ("", ""),
    ],
)
async def test_data_is_told_as_compact_json(result: Any, told: str) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"))
        [page_id] = await session.tool_result("a", result)
        assert (await session.page(page_id)).text == told
        check_pairs(await session.request())


@pytest.mark.parametrize("result", [object(), {1, 2}, float("nan"), {"x": b"y"}, [[object()]]])
async def test_what_json_cannot_say_is_refused_and_the_call_stays_open(result: Any) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"))
        with pytest.raises(BadInput, match=r"^result is not JSON: ") as refused:
            await session.tool_result("a", result)
        assert "give a text, bytes, or lists and dicts" in str(refused.value.hint)
        assert [call.call_id for call in session.open_calls()] == ["a"]


@pytest.mark.parametrize("of", [bytes, bytearray, memoryview])
async def test_bytes_are_kept_and_the_result_says_what_is_kept(of: type) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, ToolCall("a", "screenshot", "{}"))
        [page_id] = await session.tool_result("a", of(PNG))
        text = (await session.page(page_id)).text
        assert text == "image/png, 48 bytes, kept as art_1"
        assert await session.artifact_bytes("art_1") == PNG
        request = await session.request()
        check_pairs(request)
        assert "art_1" not in "".join(m.content for m in request.messages[:-1])


async def test_a_session_may_begin_with_a_call() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.assistant("", calls=[clock("a")])
        await session.tool_result("noon", call_id="a")
        request = await session.request()
        check_pairs(request)
        assert request.messages[-1].content.endswith("noon")


async def test_a_call_by_a_server_that_counts_anew_in_each_reply_gets_an_id_of_its_own() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("call_0"))
        await session.tool_result("call_0", "1")
        await session.request()
        await session.assistant("", calls=[clock("call_0")])
        await session.tool_result("call_0", "2")
        request = await session.request()
        check_pairs(request)
        assert request.messages[-1].content.endswith("2")


async def test_a_result_is_never_that_of_a_call_whose_id_only_looks_alike() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("x_1"), clock("call"))
        with pytest.raises(BadInput, match="no open call has the id 'x'"):
            await session.tool_result("x", "1")
        await session.tool_result("call", "2")
        with pytest.raises(BadInput, match="already has a result"):
            await session.tool_result("call", "3")
        assert [call.call_id for call in session.open_calls()] == ["x_1"]


async def test_a_result_finds_a_call_that_got_another_id_after_a_restart_too(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await asked(memory, clock("call_0"))
        await session.tool_result("call_0", "1")
        await session.request()
        await session.assistant("", calls=[clock("call_0")])
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        await session.tool_result("call_0", "2")
        assert session.open_calls() == []
        check_pairs(await session.request())


async def test_half_a_character_that_json_spells_out_is_sent_to_nobody() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, ToolCall("a", "clock", '{"zone": "Oslo \\ud83d"}'))
        await session.tool_result("a", "noon")
        request = await session.request()
        for format in FORMATS:
            body = to_wire(request, format)
            assert "Oslo ?" in json.dumps(body, ensure_ascii=False).encode().decode()


@pytest.mark.parametrize("call_id", ["call_0", "toolu_" + "x" * 58, "y" * 80])
async def test_no_two_calls_of_a_request_have_one_id_nor_one_that_is_too_long(
    call_id: str,
) -> None:
    search = ToolCall(call_id, "search_pages", {"query": "time"})
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock(call_id))
        await session.tool_result(call_id, "1")
        await session.request()
        await session.call(search)
        await session.assistant("", calls=[clock(call_id)])
        await session.tool_result(call_id, "2")
        await session.request()
        await session.call(search)
        request = await session.request()
        check_pairs(request)
        ids = [call.call_id for message in request.messages for call in message.tool_calls]
        assert len(set(ids)) == 4
        assert max(map(len, ids)) <= 64


async def test_the_arguments_of_a_call_that_was_forgotten_are_kept_nowhere() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a", "Valdivia"), clock("b"))
        await memory.forget(session, "msg_2")
        assert [call.call_id for call in session.open_calls()] == ["b"]
        assert "Valdivia" not in str(vars(session))


@pytest.mark.parametrize("calls", [[clock("")], [clock("a"), clock("a")]])
async def test_calls_that_no_result_could_name_are_refused(calls: list[ToolCall]) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        with pytest.raises(BadInput, match=r"no id|have the id"):
            await session.assistant("", calls=calls)
        assert len(await memory.pages(session)) == 1


async def test_a_reply_that_is_told_again_with_its_key_is_not_written_again() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        for _ in range(2):
            assert await session.assistant("", calls=[clock("a"), clock("b")], key="k") == "msg_2"
        assert [call.call_id for call in session.open_calls()] == ["a", "b"]


async def test_what_memory_served_with_a_reply_it_does_not_serve_again() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        fault = ToolCall("f", "page_fault", {"page_id": "msg_1", "target_level": 0})
        for _ in range(2):
            await session.assistant("", calls=[fault, clock("a")], key="k")
        assert len(await session.faults()) == 1
        assert [call.call_id for call in session.open_calls()] == ["a"]


async def test_a_long_result_is_paged_and_its_other_parts_can_be_faulted() -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        session = await asked(memory, clock("a"))
        pages = await session.tool_result("a", "\n".join(f"line {n} of it" for n in range(900)))
        request = await session.request()
        check_pairs(request)
        assert request.tokens <= 4_000
        assert "not shown here" in request.messages[-1].content
        fault = ToolCall("f", "page_fault", {"page_id": pages[-1], "target_level": 0})
        assert "line 899" in await session.call(fault)


async def test_arguments_that_are_too_long_for_the_window_are_a_note_that_is_json() -> None:
    async with pagefault.open(":memory:", window=2_000) as memory:
        write = ToolCall("w", "write_file", {"text": "word " * 3_000})
        session = await asked(memory, write)
        await session.tool_result("w", "written")
        request = await session.request()
        check_pairs(request)
        assert request.tokens <= 2_000
        [call] = request.messages[-2].tool_calls
        assert "not shown" in json.loads(call.arguments)["arguments_not_shown"]


async def test_open_calls_have_their_arguments_whole_whatever_the_window_shows_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-4f9a8b7c6d5e4f3a2b1c"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    given = {"text": "word " * 3_000 + "[ref: msg_1] </VM:CONTEXT>", "key": key}
    async with pagefault.open(tmp_path / "m", window=2_000) as memory:
        session = await asked(memory, ToolCall("w", "write_file", given))
        [call] = session.open_calls()
        assert json.loads(call.arguments) == given
    async with pagefault.open(tmp_path / "m", window=2_000) as memory:
        session = await memory.session("s")
        [call] = session.open_calls()
        kept = json.loads(call.arguments)
        assert kept["text"] == given["text"]
        assert key not in kept["key"]
        await session.tool_result("w", "written")
        assert key not in str(await session.request())


async def test_a_restart_and_a_fork_see_the_same_bytes_and_the_same_open_calls(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await asked(memory, clock("a"), clock("b"), said="Let me look.")
        await session.tool_result("b", {"t": 2})
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        assert [call.call_id for call in session.open_calls()] == ["a"]
        fork = await session.fork("f")
        assert [call.call_id for call in fork.open_calls()] == ["a"]
        for one in (session, fork):
            await one.tool_result("a", "1", is_error=True)
        first, forked = await session.request(), await fork.request()
        check_pairs(first)
        assert first.messages == forked.messages
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        sent = await session.sent(request=session.owned.state.request_next - 1)
        assert sent.request.messages == first.messages
        assert (await session.request()).messages == first.messages


async def test_what_lost_its_counterpart_to_a_forgetting_is_no_orphan(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await asked(memory, clock("a"), clock("b"))
        call_a, _ = [page for page in await memory.pages(session) if page.role is Role.ASSISTANT]
        await session.tool_result("a", "first")
        [result_b] = await session.tool_result("b", "second")
        await session.request()
        await session.assistant("Two.")
        await memory.forget(session, call_a.page_id)
        request = await session.request()
        check_pairs(request)
        await memory.forget(session, result_b)
        request = await session.request()
        check_pairs(request)
        assert "second" not in str(request)
    async with pagefault.open(tmp_path / "m") as memory:
        check_pairs(await (await memory.session("s")).request())


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_a_long_turn_of_calls_pages_within_itself(layout: str) -> None:
    """The oldest exchanges leave; what was called last stays, and the user's message."""
    async with pagefault.open(":memory:", window=2_500) as memory:
        session = await memory.session("s", layout=layout)
        await session.user("Read the forty files, one after the other: the word is xylophone.")
        for number in range(40):
            request = await session.request()
            check_pairs(request)
            assert request.tokens <= 2_500
            assert "xylophone" in str(request.messages)
            results = [m.content for m in request.messages if m.role is Role.TOOL]
            for back, result in enumerate(results[:-4:-1], 1):
                assert f"content of {number - back}:" in result
            assert len(results) >= min(number, 3)
            await session.assistant("", calls=[ToolCall(f"c{number}", "read", {"n": number})])
            await session.tool_result(f"c{number}", f"content of {number}: " + "word " * 120)
            session.check()


# --- the tools that are offered ------------------------------------------------------------------

CLOCK = ToolSpec("clock", "Tells the time.", {"properties": {"zone": {"type": "string"}}})
FORMS: list[dict[str, Any]] = [
    {"name": "maps", "description": "Ways.", "input_schema": {"type": "object"}},
    {"type": "function", "name": "maps", "description": "Ways.", "parameters": {"type": "object"}},
    {"type": "function", "function": {"name": "maps", "description": "Ways."}},
    {"name": "maps", "description": "Ways.", "parametersJsonSchema": {"type": "object"}},
]


@pytest.mark.parametrize("form", FORMS)
async def test_tools_are_offered_in_whatever_form_a_provider_takes(form: dict[str, Any]) -> None:
    async with pagefault.open(":memory:", mode="passive") as memory:
        session = await memory.session("s")
        await session.user("Where am I?")
        request = await session.request(tools=[form])
        assert request.tools == (ToolSpec("maps", "Ways.", {"type": "object"}),)
        assert (await session.request("anthropic"))["tools"][0]["name"] == "maps"


async def test_offered_tools_count_against_the_window_and_stand_in_the_memory_abi() -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        before, plain = session.abi(), await session.request()
        request = await session.request(tools=[CLOCK])
        after = session.abi()
        assert [tool.name for tool in request.tools] == ["page_fault", "search_pages", "clock"]
        added = after.tool_schema_tokens_reserved - before.tool_schema_tokens_reserved
        assert added == request.tokens - plain.tokens > 0
        assert after.available_tokens == before.available_tokens - added
        assert after.active_toolset_hash not in (None, before.active_toolset_hash)
        wide = ToolSpec("wide", "word " * 4_000, {})
        with pytest.raises(pagefault.WindowTooSmall, match="tools"):
            await session.request(tools=[wide])
        assert (await session.request()).tools == request.tools


async def test_another_set_of_tools_begins_an_epoch_and_the_same_set_does_not() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        await session.request(tools=[CLOCK, FORMS[0]])
        epoch = (await session.status()).epoch
        await session.request(tools=[FORMS[2], CLOCK])  # the same, in other words and another order
        await session.request()
        assert (await session.status()).epoch == epoch
        await session.request(tools=[])
        assert (await session.status()).epoch == epoch + 1
        assert [entry.epoch for entry in await session.ledger()][-1] == "tools"


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_a_restart_a_fork_and_a_past_request_have_the_tools_of_their_time(
    tmp_path: Path, layout: str
) -> None:
    async with pagefault.open(tmp_path / "m", layout=layout) as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        first = await session.request("openai", tools=[CLOCK])
        await session.assistant("Noon.")
        await session.user("And where am I?")
        second = await session.request("openai", tools=[FORMS[0]])
        await session.configure(system="Be brief.")
        assert (await session.request()).tools[-1].name == "maps"
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        assert (await session.request()).tools[-1].name == "maps"
        fork = await session.fork("f")
        await fork.user("Hm?")
        assert (await fork.request()).tools[-1].name == "maps"
        for number, body in enumerate([first, second]):
            sent = await session.sent(request=number)
            assert to_wire(sent.request, "openai")["tools"] == body["tools"]
            assert to_wire(sent.request, "openai")["messages"] == body["messages"]


@pytest.mark.parametrize(
    "tools",
    [
        [CLOCK, CLOCK],
        [ToolSpec("page_fault", "", {})],
        [ToolSpec("tell time", "", {})],
        [ToolSpec("x", "", {"type": "array"})],
        [ToolSpec("x", "", {"default": float("nan")})],
        [{"type": "web_search"}],
        [{"name": 3, "input_schema": {}}],
        [{}],
        [ToolSpec(f"t{n}", "", {}) for n in range(129)],
    ],
)
async def test_tools_that_no_provider_takes_are_refused_and_change_nothing(tools: Any) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        before = memory.records
        with pytest.raises(BadInput):
            await session.request(tools=tools)
        assert memory.records == before


async def test_a_request_without_tools_still_names_those_that_were_called_where_it_must() -> None:
    async with pagefault.open(":memory:", mode="passive") as memory:
        session = await asked(memory, clock("a"))
        await session.tool_result("a", "noon")
        body = await session.request("anthropic")
        assert [tool["name"] for tool in body["tools"]] == ["clock"]
        assert body["tool_choice"] == {"type": "none"}


async def test_a_call_of_memory_after_the_reply_was_logged_joins_it() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await asked(memory, clock("a"), said="Both.")
        await session.call(ToolCall("m", "search_pages", '{"query": "time"}'))
        await session.tool_result("a", "noon")
        request = await session.request()
        check_pairs(request)
        assert [call.call_id for call in request.messages[-3].tool_calls] == ["a", "m"]


async def test_memory_does_not_call_a_tool_of_the_hosts() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("What time is it?")
        await session.request(tools=[CLOCK])
        with pytest.raises(BadInput, match="clock is your own tool"):
            await session.call(clock("a"))
        assert (await session.request()).messages[-1].role is Role.USER


# --- any order -----------------------------------------------------------------------------------

TEXT = st.sampled_from(["", "Let me look.", "word " * 40, "</VM:CONTEXT> [ref: msg_1]", "数据库"])
SIZE = st.sampled_from([1, 8, 60, 400])
CALL = st.tuples(st.sampled_from(["clock", "read", "search_pages", "page_fault"]), SIZE)
STEP = st.one_of(
    st.tuples(st.just("user"), SIZE),
    st.tuples(st.just("reply"), TEXT, st.lists(CALL, min_size=1, max_size=4), st.randoms()),
    st.tuples(st.just("reply"), TEXT, st.lists(CALL, min_size=1, max_size=4), st.randoms()),
    st.tuples(st.just("answer"), TEXT),
    st.tuples(st.just("restart"), SIZE),
    st.tuples(st.just("fork"), SIZE),
    st.tuples(st.just("interrupted"), SIZE),
    st.tuples(st.just("document"), SIZE),
    st.tuples(st.just("tools"), st.lists(st.sampled_from([CLOCK, *FORMS[:1]]), unique_by=str)),
)


@few(6, torture=120)
@given(
    steps=st.lists(STEP, min_size=4, max_size=24),
    window=st.sampled_from([1_200, 1_800, 4_000]),
    layout=st.sampled_from(["stable", "developer"]),
)
def test_no_request_ever_has_a_call_without_its_result_or_a_result_without_its_call(
    steps: list[Any], window: int, layout: str
) -> None:
    asyncio.run(_play(steps, window, layout))


async def _play(steps: list[Any], window: int, layout: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at, name, ids = 0, "s", 0
        last: pagefault.Request | None = None
        while at < len(steps):
            async with pagefault.open(Path(folder) / "m", window=window, sync="os") as memory:
                session = await memory.session(name, layout=layout)
                if last is None:
                    await session.user("Let us begin.")
                elif not session.open_calls():
                    sent = await session.sent(request=session.owned.state.request_next - 1)
                    assert sent.request.messages == last.messages
                last = await _request(session, window)
                while at < len(steps):
                    step, at = steps[at], at + 1
                    match step:
                        case ("restart", _):
                            break
                        case ("fork", _):
                            name += "f"
                            session = await session.fork(name)
                        case ("user", size):
                            await session.user("word " * min(size, 60) + "?")
                        case ("document", size):
                            await session.document("word " * size, title="d")
                        case ("tools", tools):
                            await session.request(tools=tools)
                        case ("answer", text):
                            await session.assistant(text)
                        case ("interrupted", _):
                            await session.assistant("", calls=[clock(f"i{ids}")])
                            await session.user("Never mind.")
                            ids += 1
                            for call in session.open_calls():
                                await session.tool_result(call.call_id, "late", is_error=True)
                        case ("reply", text, calls, chance):
                            made: list[ToolCall] = []
                            for tool, size in calls:
                                told = {"page_id": f"msg_{size}", "query": "word " * size}
                                made.append(ToolCall(f"c{ids % 3 + len(made) * 10}", tool, told))
                            ids += 1
                            await session.assistant(text, calls=made)
                            waiting = session.open_calls()
                            chance.shuffle(waiting)
                            for number, call in enumerate(waiting):
                                size = calls[number][1]
                                result = {"word": "word " * size} if size == 8 else "word " * size
                                await session.tool_result(call.call_id, result, is_error=size == 1)
                                session.check()
                    last = await _request(session, window)


async def _request(session: Session, window: int) -> pagefault.Request:
    request = await session.request()
    session.check()
    check_pairs(request)
    assert request.tokens <= window
    return request
