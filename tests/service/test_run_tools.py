"""`run` with the host's tools: functions are called, and all that comes of it is logged."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal

import msgspec
import pytest

import pagefault
from pagefault import BadInput, Reply, Request, ToolCall, ToolSpec
from tests.service.pairs import check_pairs


class Model:
    """Says what it is told to, one reply after another, and keeps what it was sent."""

    model = "model-of-tests"

    def __init__(self, *replies: Reply | str | list[ToolCall]) -> None:
        self.replies = list(replies)
        self.sent: list[Request] = []

    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        check_pairs(request)
        self.sent.append(request)
        match self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]:
            case Reply() as reply:
                yield reply
            case str(text):
                yield Reply(text=text)
            case list(calls):
                yield Reply(text="", tool_calls=tuple(calls))

    @property
    def results(self) -> list[str]:
        return [m.content for m in self.sent[-1].messages if m.role == "tool"]


def calls(*names: str, **arguments: Any) -> list[ToolCall]:
    return [ToolCall(f"c{n}", name, json.dumps(arguments)) for n, name in enumerate(names)]


async def answered(model: Model, *tools: Any, **bounds: Any) -> pagefault.Answer:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        answer = await session.run(model, tools=tools, **bounds)
        assert session.open_calls() == list(answer.calls)
        return answer


async def clock(zone: str, seconds: bool = False) -> dict[str, str]:
    """Tells the time.

    In any zone.
    """
    return {"zone": zone, "time": "12:00:00" if seconds else "12:00"}


def add(a: int, b: int = 1) -> int:
    return a + b


async def test_the_model_calls_functions_and_reads_what_they_return() -> None:
    model = Model(
        [ToolCall("x", "clock", {"zone": "Oslo"}), ToolCall("y", "add", {"a": 2})], "Noon, and 3."
    )
    answer = await answered(model, clock, add)
    assert answer.text == "Noon, and 3."
    assert (answer.requests, answer.tool_calls, answer.complete) == (2, 2, True)
    first, second = model.results
    assert first.endswith('{"zone":"Oslo","time":"12:00"}')
    assert second.endswith(": 3")


async def test_a_schema_is_made_of_name_docstring_and_type_hints() -> None:
    model = Model("ok")
    await answered(model, clock)
    [spec] = [tool for tool in model.sent[0].tools if tool.name == "clock"]
    assert spec.description == "Tells the time.\n\nIn any zone."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "zone": {"type": "string"},
            "seconds": {"type": "boolean", "default": False},
        },
        "required": ["zone"],
        "additionalProperties": False,
    }


@dataclasses.dataclass
class Place:
    name: str
    floor: int = 0


class Tool:
    """An object that can be called."""

    __name__ = "finder"

    def __call__(
        self,
        places: list[Place],
        kind: Literal["room", "desk"] = "room",
        most: Annotated[int, msgspec.Meta(ge=1, description="At most this many")] = 3,
        near: str | None = None,
    ) -> str:
        assert all(isinstance(place, Place) for place in places)
        return f"{kind} {places[0].name} {places[0].floor} {most} {near}"


async def test_nested_types_come_as_what_the_function_names() -> None:
    model = Model([ToolCall("x", "finder", {"places": [{"name": "A"}], "most": "2"})], "ok")
    await answered(model, Tool())
    schema = model.sent[0].tools[-1].parameters
    assert schema["properties"]["kind"]["enum"] == ["desk", "room"]
    assert schema["properties"]["most"]["minimum"] == 1
    assert schema["$defs"]["Place"]["properties"]["floor"]["type"] == "integer"
    assert model.results[0].endswith("room A 0 2 None")


def positional(a: int, /) -> int:
    return a


def variadic(*values: int) -> int:
    return sum(values)


def untyped_here(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    raise AssertionError


def strange(event: threading.Event) -> None:
    raise AssertionError


def mangled(__a: int) -> int:
    return __a


@pytest.mark.parametrize("tool", [positional, variadic, untyped_here, strange, mangled, lambda: 1])
async def test_a_function_that_cannot_be_told_to_a_model_is_refused(tool: Any) -> None:
    model = Model("ok")
    with pytest.raises(BadInput):
        await answered(model, tool)
    assert model.sent == []


def broken(a: int) -> int:
    raise RuntimeError(f"disk {a} is full")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("x", "broken", {"a": 7}), "RuntimeError: disk 7 is full"),
        (ToolCall("x", "add", {"a": "many"}), "Expected `int`"),
        (ToolCall("x", "add", {}), "missing required field `a`"),
        (ToolCall("x", "add", {"a": 1, "c": 2}), "unknown field `c`"),
        (ToolCall("x", "add", "{"), "cannot be used"),
        (ToolCall("x", "subtract", {"a": 1}), "there is no tool subtract; there are: add"),
    ],
)
async def test_what_goes_wrong_is_a_failed_call_that_the_model_reads(
    call: ToolCall, why: str
) -> None:
    model = Model([call], "I see.")
    answer = await answered(model, add, broken)
    assert answer.complete
    assert "The call failed." in model.results[0]
    assert why in model.results[0]


async def test_a_result_that_json_cannot_say_is_a_failed_call() -> None:
    def handle() -> object:
        return object()

    model = Model(calls("handle"), "I see.")
    await answered(model, handle)
    assert "not JSON" in model.results[0]


async def test_a_call_that_takes_too_long_fails_and_the_turn_goes_on() -> None:
    stuck = threading.Event()

    async def slow() -> None:
        await asyncio.Event().wait()

    def blocked() -> None:
        stuck.wait()

    model = Model(calls("slow", "blocked"), "Never mind.")
    answer = await answered(model, slow, blocked, timeout_s=0.05)
    stuck.set()
    assert answer.text == "Never mind."
    assert all("took longer than 0.05 s" in result for result in model.results)


async def test_async_functions_of_one_reply_run_side_by_side_and_others_one_by_one() -> None:
    here, running, most = asyncio.Barrier(2), 0, 0
    guard = threading.Lock()

    async def meet(n: int) -> int:
        await here.wait()
        return n

    def alone(n: int) -> int:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with guard:
            running -= 1
        return n

    model = Model(calls("meet", "meet", "alone", "alone", n=1), "Done.")
    answer = await answered(model, meet, alone)
    assert answer.tool_calls == 4
    assert most == 1


async def test_a_model_that_only_calls_is_told_to_answer_and_stopped() -> None:
    model = Model(calls("add", a=1))
    async with pagefault.open(":memory:", limits=pagefault.Limits(steps_per_turn_max=3)) as memory:
        session = await memory.session("s")
        await session.user("Please.")
        answer = await session.run(model, tools=[add], calls_max=4)
    assert not answer.complete
    assert answer.requests == 4 + 3
    assert "no calls are left" in model.results[-1]
    assert not any("no calls are left" in result for result in model.results[:4])


async def test_a_run_that_is_cancelled_leaves_no_call_without_a_result() -> None:
    started = asyncio.Event()

    async def slow(a: int) -> None:
        started.set()
        await asyncio.Event().wait()

    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        run = asyncio.ensure_future(
            session.run(Model(calls("slow", "add", a=1)), tools=[slow, add])
        )
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert session.open_calls() == []
        request = await session.request()
        check_pairs(request)
        assert "cancelled" in str(request.messages)


async def leaves() -> None:
    raise SystemExit(3)


async def is_cancelled() -> None:
    raise asyncio.CancelledError


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


def is_mute() -> None:
    raise Mute


@pytest.mark.parametrize(
    ("tool", "told"),
    [(leaves, "SystemExit(3)"), (is_cancelled, "it was cancelled"), (is_mute, "Mute")],
)
async def test_what_would_end_the_program_or_the_run_is_a_failed_call(
    tool: Callable[..., Any], told: str
) -> None:
    called = [ToolCall("c0", tool.__name__, "{}"), ToolCall("c1", "add", '{"a": 1}')]
    model = Model(called, "ok")
    assert (await answered(model, tool, add)).text == "ok"
    assert told in model.results[0]
    assert model.results[1].endswith(": 2")


async def test_a_time_out_counts_from_when_the_function_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept_s = 0.0

    def naps() -> str:
        nonlocal slept_s
        slept_s += 250
        return "rested"

    # On the clock of the loop, so that the machine's own speed decides nothing.
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: time.monotonic() + slept_s)
    model = Model([ToolCall(f"c{n}", "naps", "{}") for n in range(5)], "ok")
    await answered(model, naps, timeout_s=600)
    assert [result.split(": ")[-1] for result in model.results] == ["rested"] * 5


async def test_objects_whose_call_is_async_run_side_by_side_too() -> None:
    class Meets:
        __name__ = "meets"

        async def __call__(self) -> str:
            await both.wait()
            return "met"

    both = asyncio.Barrier(2)
    model = Model([ToolCall(f"c{n}", "meets", "{}") for n in range(2)], "ok")
    await answered(model, Meets(), timeout_s=300)
    assert [result.split(": ")[-1] for result in model.results] == ["met", "met"]


async def test_two_runs_on_a_session_run_each_call_once() -> None:
    paid: list[int] = []
    both = asyncio.Barrier(2)

    class Together(Model):
        async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
            if not self.sent:
                self.sent.append(request)
                await both.wait()
                yield Reply(text="", tool_calls=tuple(calls("pay", a=len(paid))))
            else:
                yield Reply(text="Paid.")

    async def pay(a: int) -> None:
        paid.append(a)
        await asyncio.sleep(0)

    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        runs = (session.run(Together("ok"), tools=[pay]) for _ in range(2))
        await asyncio.gather(*runs, return_exceptions=True)
        assert len(paid) == 2
        assert session.open_calls() == []


async def test_a_call_that_somebody_else_answers_meanwhile_does_not_end_the_run() -> None:
    async def slow() -> str:
        await session.tool_result("c0", "stopped by hand", is_error=True)
        return "too late"

    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        model = Model([ToolCall("c0", "slow", "{}")], "ok")
        assert (await session.run(model, tools=[slow])).text == "ok"
        assert "stopped by hand" in model.results[0]


async def test_the_model_finds_what_the_window_does_not_show_of_a_result_in_the_same_turn() -> None:
    def read() -> str:
        return "\n".join(f"line {n} of the register" for n in range(3_000)) + "\nzeugma"

    search = ToolCall("c1", "search_pages", '{"query": "zeugma"}')
    model = Model([ToolCall("c0", "read", "{}")], [search], "ok")
    async with pagefault.open(":memory:", window=4_000) as memory:
        session = await memory.session("s")
        await session.user("What is the last word of the register, zeugma or not?")
        await session.run(model, tools=[read])
        found, *_ = json.loads(model.results[-1])["results"]
        assert "zeugma" in (await session.page(found["page_id"])).text


@pytest.mark.parametrize("hops", range(40))
async def test_nor_does_one_that_is_cancelled_while_a_reply_is_written(hops: int) -> None:
    class Cancels(Model):
        async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
            async for piece in super().reply(request):
                yield piece
            waiter.append(asyncio.ensure_future(cancel()))

    async def cancel() -> None:
        for _ in range(hops):
            await asyncio.sleep(0)
        run.cancel()

    waiter: list[asyncio.Future[None]] = []
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        run = asyncio.ensure_future(
            session.run(Cancels(calls("clock", "add", a=1), "Done."), tools=[clock, add])
        )
        await asyncio.wait([run])
        check_pairs(await session.request())
        await asyncio.wait(waiter)


async def test_a_schema_leaves_its_calls_to_the_host_and_the_run_goes_on_after_them() -> None:
    ask = ToolSpec("ask_human", "Asks.", {"properties": {"question": {"type": "string"}}})
    model = Model([*calls("add", a=1), ToolCall("h", "ask_human", {"question": "?"})], "Yes, 2.")
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("May I?")
        answer = await session.run(model, tools=[ask, add])
        assert [call.name for call in answer.calls] == ["ask_human"]
        assert not answer.complete
        with pytest.raises(BadInput, match="waiting for results"):
            await session.run(model, tools=[ask, add])
        await session.tool_result("h", "Go on.")
        answer = await session.run(model, tools=[ask, add])
        assert answer.text == "Yes, 2."
        assert answer.calls == ()


async def test_calls_of_memory_and_of_the_host_are_served_in_one_reply() -> None:
    search = ToolCall("m", "search_pages", {"query": "please"})
    model = Model([*calls("add", a=1), search], "Done.")
    answer = await answered(model, add)
    assert (answer.searches, answer.tool_calls) == (1, 1)
    assert "total_available" in model.results[1]


async def test_a_function_gets_the_whole_arguments_and_the_log_has_no_secret_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "sk-proj-4f9a8b7c6d5e4f3a2b1c"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    got: list[str] = []

    def log_in(token: str, note: str) -> str:
        got.extend((token, note))
        return "ok"

    model = Model(calls("log_in", token=key, note="word " * 2_000), "Done.")
    async with pagefault.open(":memory:", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("Log in.")
        await session.run(model, tools=[log_in])
        assert got == [key, "word " * 2_000]
        assert key not in str(model.sent)
        written = [await session.page(row.page_id) for row in await memory.pages(session)]
        assert not any(key in page.text for page in written)


async def test_a_large_result_is_paged_and_the_window_shows_its_beginning() -> None:
    def read() -> str:
        return "\n".join(f"line {n} says nothing new" for n in range(4_000))

    model = Model(calls("read"), "Long.")
    async with pagefault.open(":memory:", window=6_000) as memory:
        session = await memory.session("s")
        await session.user("Read it.")
        await session.run(model, tools=[read])
        assert "line 0 " in model.results[0]
        assert "not shown here" in model.results[0]
        assert (await session.recall("line 3999 says nothing new")).hits


async def test_without_tools_of_the_hosts_a_strange_call_is_refused_as_before() -> None:
    model = Model(calls("add", a=1), "Hm.")
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Please.")
        answer = await session.run(model)
    assert "unknown_tool" in model.results[0]
    assert answer.tool_calls == 0


@pytest.mark.parametrize("tool", [functools.partial(add, b=2), Tool().__call__])
async def test_methods_are_tools_and_a_partial_needs_a_name(tool: Callable[..., Any]) -> None:
    model = Model("ok")
    if isinstance(tool, functools.partial):
        functools.update_wrapper(tool, add)
    await answered(model, tool)
    assert model.sent[0].tools


def test_the_synchronous_face_runs_functions_that_use_the_session_themselves() -> None:
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        session.user("The word is xylophone.")

        def count_pages() -> int:
            return len(memory.pages(session))

        model = Model(calls("count_pages"), "Two.")
        assert session.run(model, tools=[count_pages]).text == "Two."
        assert model.results[0].endswith(": 2")


def test_ctrl_c_stops_the_model_and_its_calls_on_the_synchronous_face() -> None:
    async def waits() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        session.user("Please.")
        model = Model(calls("waits"))
        with pytest.raises(KeyboardInterrupt):
            session.run(model, tools=[waits])
        assert session.open_calls() == []
        assert len(model.sent) == 1
        assert "cancelled" in str(session.request().messages)


def test_what_an_engine_raises_to_end_the_program_does_and_the_loop_lives() -> None:
    class Exits(Model):
        async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
            yield ""
            raise SystemExit(3)

    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("s")
        session.user("Please.")
        with pytest.raises(SystemExit):
            session.run(Exits("ok"), tools=[add])
        assert session.run(Model("ok"), tools=[add]).text == "ok"
