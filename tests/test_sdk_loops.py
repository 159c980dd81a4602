"""The loops of the documentation, run by the real clients of OpenAI and Anthropic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pagefault
from tests.proxy.upstream import Call, Say, Seen, Upstream, in_turn
from tests.service.pairs import check_body
from tests.test_docs import ROOT, blocks, execute

CLOCK: dict[str, Any] = {
    "name": "clock",
    "description": "Tells the time.",
    "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}},
}
READ: dict[str, Any] = {
    "type": "function",
    "function": {"name": "read", "description": "Reads a file.", "parameters": {}},
}


def clock(zone: str) -> dict[str, str]:
    return {"zone": zone, "time": "12:00"}


def read(number: int = 0) -> str:
    if number == 3:
        raise OSError("no such file")
    return f"File {number} says: " + f"line of file {number}. " * 60


FUNCTIONS: dict[str, Callable[..., Any]] = {"clock": clock, "read": read}


class Provider:
    """Refuses, as real ones do, calls and results that do not stand together."""

    def __init__(self, format: str, *says: Say) -> None:
        self._format = format
        self._next = in_turn(*says)

    def __call__(self, seen: Seen) -> Say:
        try:
            check_body(self._format, seen.body)
        except AssertionError:
            return Say(status=400)
        return self._next(seen)


def _openai(url: str) -> Any:
    import openai  # slow to import, and each process of a run collects this file

    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def _anthropic(url: str) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


SDKS = {
    "openai": ("docs/library.md", "client.chat", _openai),
    "anthropic": ("docs/tools.md", "client.messages", _anthropic),
}


@pytest.fixture(params=SDKS)
def sdk(request: pytest.FixtureRequest) -> tuple[str, Any, Any]:
    """The name of a format, the loop that the documentation has for it, and a client."""
    page, word, connect = SDKS[request.param]
    [code] = [code for code in blocks(ROOT / page, "python") if word in code]
    names: dict[str, Any] = {}
    execute(code, names)
    return request.param, names["answer"], connect


@pytest.fixture
def session(tmp_path: Path) -> Iterator[pagefault.sync.Session]:
    with pagefault.sync.open(tmp_path / "m", window=3_000) as memory:
        yield memory.session("s")


def test_the_client_is_sent_native_pairs_and_the_model_answers(
    sdk: tuple[str, Any, Any], session: pagefault.sync.Session
) -> None:
    format, answer, connect = sdk
    says = [
        Say(
            text="Let me look.",
            calls=(
                Call("call_1", "clock", {"zone": "Oslo"}),
                Call("call_2", "search_pages", {"query": "Oslo"}),
                Call("call_3", "clock", {"place": "Lima"}),
                Call("call_4", "sundial", {}),
            ),
            input_tokens=700,
            cached_tokens=640,
        ),
        Say(text="It is noon in Oslo.", input_tokens=900),
    ]
    with Upstream(Provider(format, *says)) as upstream, connect(upstream.url) as client:
        told = answer(session, client, "m", "What time is it in Oslo?", [CLOCK, READ], FUNCTIONS)
    assert told == "It is noon in Oslo."
    first, second = (seen.body for seen in upstream.seen)
    named = [tool.get("name") or tool["function"]["name"] for tool in first["tools"]]
    assert named == ["page_fault", "search_pages", "clock", "read"]
    text = str(second["messages"])
    assert "12:00" in text
    assert "unexpected keyword argument" in text
    assert "KeyError" in text
    assert "Let me look." in text
    reported = session.ledger()[0].reported
    assert reported is not None
    assert reported.cached_tokens == 640
    assert session.open_calls() == []


def test_a_long_turn_of_a_real_client_pages_and_is_never_refused(
    sdk: tuple[str, Any, Any], session: pagefault.sync.Session
) -> None:
    format, answer, connect = sdk
    says = [
        Say(calls=tuple(Call(f"call_{n}", "read", {"number": 2 * turn + n}) for n in range(2)))
        for turn in range(12)
    ]
    with (
        Upstream(Provider(format, *says, Say(text="All read."))) as upstream,
        connect(upstream.url) as client,
    ):
        told = answer(session, client, "m", "Read every file.", [READ], FUNCTIONS)
    assert told == "All read."
    assert len(upstream.seen) == 13
    assert session.status().epoch > 0
    assert "File 23 says" in str(upstream.seen[-1].body)
    assert "File 0 says" not in str(upstream.seen[-1].body)
    assert session.recall("line of file 0").hits


def test_a_result_that_nothing_can_keep_is_a_failed_call_and_the_turn_goes_on(
    sdk: tuple[str, Any, Any], session: pagefault.sync.Session
) -> None:
    format, answer, connect = sdk
    says = [Say(calls=(Call("call_1", "read", {}),)), Say(text="It cannot be read.")]
    with Upstream(Provider(format, *says)) as upstream, connect(upstream.url) as client:
        told = answer(session, client, "m", "Read it.", [READ], {"read": lambda: {1, 2}})
    assert told == "It cannot be read."
    assert "BadInput" in str(upstream.seen[-1].body)


def test_a_loop_that_was_stopped_in_a_call_goes_on_with_the_next_question(
    sdk: tuple[str, Any, Any], session: pagefault.sync.Session
) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    format, answer, connect = sdk
    says = [
        Say(calls=(Call("call_1", "read", {}), Call("call_2", "clock", {"zone": "Oslo"}))),
        Say(text="Here I am."),
    ]
    functions = {**FUNCTIONS, "read": interrupted}
    with Upstream(Provider(format, *says)) as upstream, connect(upstream.url) as client:
        with pytest.raises(KeyboardInterrupt):
            answer(session, client, "m", "Read it.", [CLOCK, READ], functions)
        assert [call.call_id for call in session.open_calls()] == ["call_1", "call_2"]
        assert answer(session, client, "m", "Are you there?", [CLOCK, READ], FUNCTIONS)
    assert str(upstream.seen[-1].body).count("cancelled") == 2
