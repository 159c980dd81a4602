"""A conversation that several processes take part in: what one wrote, the others go on from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.model.events import OriginalBody, Relayed
from pagefault.model.ids import PageId
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.history.history import Json
from pagefault.proxy.history.trie import Trie
from pagefault.proxy.wires.wire import Answered
from pagefault.service.session import Session
from tests.proxy.histories import COUNTER, WIRE, body, history, model, reminder, user

HERE = [user("Hi"), model("Hello."), user("I am here.")]
ELSEWHERE = [user("Hi"), model("Hello."), user("I am elsewhere.")]
UNSAID = reminder("Today is Monday.")


@asynccontextmanager
async def conversing(root: Path) -> AsyncIterator[Conversation]:
    """The conversation as a process of its own has it."""
    async with pagefault.open(root, sync="os") as memory:
        yield Conversation(
            memory=memory,
            name="talk",
            wire=WIRE,
            counter=COUNTER,
            clock=SystemClock(),
            window_tokens=600,
        )


async def receive(to: Conversation, *messages: Json) -> Passed:
    passed = await to.receive(body(*messages), history(*messages))
    assert to.problem == ""
    return passed


async def requests(root: Path) -> list[int]:
    """The numbers of the requests that the log tells of."""
    async with pagefault.open(root, read_only=True) as memory:
        session = await memory.session("talk", create=False)
        events = await memory.passed_on(session, texts=False)
    return [event.body.request for event in events if isinstance(event.body, Relayed)]


async def test_what_another_wrote_just_before_us_is_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = Session._say_each

    async def after_another(session: Session, *args: object, **named: object) -> list[list[PageId]]:
        monkeypatch.setattr(Session, "_say_each", say)
        async with conversing(tmp_path) as other:
            await receive(other, *ELSEWHERE)
            await receive(other, *ELSEWHERE)
        return await say(session, *args, **named)  # type: ignore[arg-type]

    async with conversing(tmp_path) as to:
        await receive(to, *HERE[:1])
    async with conversing(tmp_path) as to:
        monkeypatch.setattr(Session, "_say_each", after_another)
        await receive(to, *HERE)
        await receive(to, *HERE)
    *earlier, last = await requests(tmp_path)
    assert last > max(earlier)


async def test_a_session_that_another_began_is_taken_up(tmp_path: Path) -> None:
    async with conversing(tmp_path) as to:
        await receive(to, user(UNSAID))  # nothing that can be written: there is no session yet
        async with conversing(tmp_path) as other:
            await receive(other, user(UNSAID), model("A cat."), user("Whose?"))
        await receive(to, user(UNSAID), model("A cat."), user("Whose is it?"))
    assert await requests(tmp_path) == [0, 1]


async def restored_under_an_answer(root: Path) -> list[tuple[str, str]]:
    """Each text of the log, and the one it follows: an answer comes here after another process
    wrote to its session, and after another request read what that wrote.
    """
    asked, answer = HERE, model("Good to know.")
    async with conversing(root) as to:
        async with conversing(root) as other:
            await receive(other, user("Hi"))
            passed = await to.receive(body(*asked), history(*asked))
            assert "being written to" in to.problem
            await receive(other, user("Hi"), model("Hello?"), user("Where are you?"))
        await receive(to, user("Hi"))
        items = history(*asked, answer).placed[len(history(*asked).placed) :]
        await to.answered(passed, Answered(tuple(items), complete=True))
        await receive(to, *asked, answer, user("Bye."))
    async with pagefault.open(root, read_only=True) as memory:
        session = await memory.session("talk", create=False)
        said = [e.body for e in await memory.passed_on(session) if isinstance(e.body, OriginalBody)]
        texts = {one.page_id: (await session.page(one.page_id)).text for one in said}
    return [(texts.get(one.follows, ""), texts[one.page_id]) for one in said]


ONCE = [
    ("", "Hi"),
    ("Hi", "Hello?"),
    ("Hello?", "Where are you?"),
    ("Hi", "Hello."),
    ("Hello.", "I am here."),
    ("I am here.", "Good to know."),
    ("Good to know.", "Bye."),
]


async def test_an_answer_under_way_while_another_writes_is_kept_once_and_behind_its_question(
    tmp_path: Path,
) -> None:
    assert await restored_under_an_answer(tmp_path) == ONCE


async def test_control_an_answer_kept_by_a_tree_that_was_replaced_fails_the_test_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trie, "has", lambda trie, path: True)
    assert ("Where are you?", "Good to know.") in await restored_under_an_answer(tmp_path)
