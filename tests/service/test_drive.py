"""A driven turn ends, whatever the engine does, and an engine that fails loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pagefault
from pagefault import Reply, Request, ScriptedEngine, ToolCall
from pagefault.model.errors import EngineGarbled, EngineUnreachable
from pagefault.model.kinds import Role
from pagefault.model.request import Usage
from tests.service.memories import Replies, calls, check_request, fault, search, text_of, words


async def _open_session(memory: pagefault.Memory, turns: int = 30) -> pagefault.Session:
    session = await memory.session("s")
    await session.user("Maria keeps the keys to the observatory in the blue drawer.")
    for number in range(turns):
        await session.user(f"Apple {number} grows beside pears: {words(30, f't{number}w')}")
        await session.assistant(f"Noted apple {number}.")
    await session.user("What of the apples?")
    return session


async def test_the_scripted_engine_finds_faults_and_cites(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=2_500) as memory:
        session = await _open_session(memory)
        await session.request()
        await session.user("Where does Maria keep the keys to the observatory?")
        pieces: list[str] = []
        answer = await session.run(ScriptedEngine(), on_text=pieces.append)
        assert "blue drawer" in answer.text
        assert answer.citations == ("msg_1",)
        assert answer.citations_invalid == ()
        assert answer.complete
        assert "".join(pieces) == answer.text
        assert (await session.page(answer.page_id)).text == answer.text
        await session.user("Who won the chess tournament in Reykjavik?")
        declined = await session.run(ScriptedEngine())
        assert declined.citations == ()


NEVER_STOPS = [
    calls(search("apple pear", limit=50, call_id="same")),
    calls(*[search("apple pear", limit=50) for _ in range(30)]),
    calls(*[fault(f"msg_{n}", call_id="") for n in range(1, 40)]),
    calls(ToolCall("c", "rm", '{"x": "' + "yz " * 320), text="thinking " * 500),
    calls(*[ToolCall("", "page_fault", "[" * 999) for _ in range(20)], text="hm"),
    calls(ToolCall("c" * 999, "x" * 999, "y" * 99_999)),
    calls(ToolCall("c", "page_fault", "\ud800"), text="\ud800"),
]


@pytest.mark.parametrize(
    ("reply", "window"),
    [
        pytest.param(reply, window, marks=() if (number + turn) % 3 == 0 else pytest.mark.torture)
        for number, reply in enumerate(NEVER_STOPS)
        for turn, window in enumerate((1_500, 2_500, 8_000))
    ],
)
async def test_a_model_that_never_stops_calling_is_stopped(
    tmp_path: Path, reply: Reply, window: int
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=window) as memory:
        session = await _open_session(memory)
        engine = Replies(reply)
        answer = await session.run(engine)
        assert not answer.complete
        assert 1 <= answer.requests <= memory.limits.steps_per_turn_max
        assert answer.faults <= memory.limits.faults_per_turn_max
        for request in engine.requests:
            check_request(request, "What of the apples?")
            ids = [call.call_id for m in request.messages for call in m.tool_calls]
            results = [m.call_id for m in request.messages if m.role is Role.TOOL]
            assert ids == results, "every call has its result, in order"
            assert len(set(ids)) == len(ids), "two calls of one id"
        session.check()
        await session.user("Thanks.")
        check_request(await session.request(), "Thanks.")
        assert (await session.run(Replies(Reply(text="Bye.")))).complete


async def test_malformed_calls_are_answered_so_that_a_model_can_correct_itself(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await _open_session(memory)

        def corrected(request: Request) -> Reply:
            refusals = [json.loads(m.content) for m in request.messages if m.role is Role.TOOL]
            codes = [refusal["error"]["code"] for refusal in refusals]
            assert codes == ["bad_arguments", "unknown_tool", "bad_arguments"]
            return calls(fault("msg_1", call_id="ok"))

        engine = Replies(
            calls(
                ToolCall("a", "page_fault", '{"page_id": 7}'),
                ToolCall("b", "browse", "{}"),
                ToolCall("c", "page_fault", '{"page_id": "msg_1", "target_level": 9}'),
            ),
            corrected,
            Reply(text="In the blue drawer [ref: msg_1]. And [ref: msg_999]."),
        )
        answer = await session.run(engine)
        assert answer.complete
        assert answer.faults == 1
        assert answer.citations == ("msg_1", "msg_999")
        assert answer.citations_invalid == ("msg_999",)


async def test_an_engine_that_fails_midway_loses_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await _open_session(memory)
        await session.request()
        pages = (await session.status()).pages
        failing = Replies(
            calls(fault("msg_1"), text="Let me look."), EngineUnreachable("no answer", hint="wait")
        )
        with pytest.raises(EngineUnreachable):
            await session.run(failing)
        assert (await session.status()).pages == pages, "half an answer was kept"
        assert (await session.status()).faults_left == 1
        session.check()
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        engine = Replies(Reply(text="In the blue drawer [ref: msg_1]."))
        answer = await session.run(engine)
        assert engine.requests[0].messages == failing.requests[-1].messages
        assert answer.citations_invalid == ()
        assert (await session.status()).pages == pages + 1


async def test_an_engine_without_a_reply_is_the_engines_fault(tmp_path: Path) -> None:
    class Silent:
        async def reply(self, request: Request):  # type: ignore[no-untyped-def]
            yield "words, and no reply"

    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("Hello")
        with pytest.raises(EngineGarbled):
            await session.run(Silent())
        assert (await session.run(Replies(Reply(text="")))).text == ""


async def test_a_model_that_counts_more_is_sent_less(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await _open_session(memory)
        engine = Replies(
            lambda request: Reply(
                text="ok", usage=Usage(input_tokens=int(1.5 * request.tokens), output_tokens=1)
            )
        )
        for number in range(16):
            await session.user(f"More of apple {number}? {words(120, f'm{number}w')}")
            await session.run(engine)
        first, *others = engine.requests
        assert first.factor == 1.0
        assert {round(request.factor, 1) for request in others} == {1.5}
        assert 2_000 < max(request.tokens for request in others) <= 4_000 / 1.5
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("s")
        await session.user("still?")
        assert round((await session.request()).factor, 1) == 1.5


async def test_a_count_is_of_the_request_that_was_sent_whatever_was_configured_since(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=8_000) as memory:
        session = await memory.session("s")
        await session.user(f"Hello. {words(300)}")
        request = await session.request()
        await session.configure(window=9_000)
        await session.observe(Usage(input_tokens=request.tokens, output_tokens=1))
        await session.user("Again")
        assert (await session.request()).factor == 1.0


async def test_a_smaller_count_changes_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("Hello")
        await session.run(Replies(Reply(text="ok", usage=Usage(input_tokens=1, output_tokens=1))))
        await session.user("Again")
        assert (await session.request()).factor == 1.0


async def test_an_absurd_count_does_not_end_the_session(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await _open_session(memory)
        usage = Usage(input_tokens=10**12, output_tokens=1)
        await session.run(Replies(Reply(text="ok", usage=usage)))
        await session.user("Still there?")
        request = await session.request()
        check_request(request, "Still there?")
        assert "Still there?" in text_of(request)
