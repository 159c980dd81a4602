"""Nothing reaches the log unscreened, and what is shown is what was written."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import pagefault
from pagefault import Reply, ToolCall
from pagefault.guard.screen import Screen
from pagefault.model.errors import ScreenFailed
from pagefault.model.request import CALL_ID_MAX
from tests.service.memories import Replies, calls, files_with, search, text_of, words

SECRET = "hunter2-correct-horse"
SECRETS = {"github.token": SECRET}


async def _mention(root: Path) -> None:
    """A secret in everything that a session can be told."""
    async with pagefault.open(root, sync="os", secrets=SECRETS, window=6_000) as memory:
        session = await memory.session(f"about {SECRET}", system=f"The key is {SECRET}.")
        assert await memory.session(f"about {SECRET}") is session
        await session.user(f"My key is {SECRET}!", speaker=SECRET, key=SECRET)
        await session.assistant(f"You said {base64.b64encode(SECRET.encode()).decode()}.")
        await session.document(words(600) + SECRET + words(600), title=SECRET)
        await session.tool_result(json.dumps({"token": SECRET}), name=SECRET, call_id=SECRET)
        await session.user("Is it safe?")
        call = ToolCall(SECRET, "search_pages", json.dumps({"query": SECRET}))
        engine = Replies(
            calls(call, ToolCall(SECRET, SECRET, SECRET), text=f"I look for {SECRET}"),
            Reply(text=f"It is {SECRET}."),
        )
        await session.run(engine)
        request = await session.request()
        assert SECRET not in text_of(request)
        await session.configure(system=f"Now {SECRET}")
        await session.fork(f"fork of {SECRET}")


async def test_a_known_secret_reaches_no_file(tmp_path: Path) -> None:
    await _mention(tmp_path / "m")
    for shape in (SECRET.encode(), base64.b64encode(SECRET.encode()), b"hunter2"):
        assert files_with(tmp_path / "m", shape) == []
    assert files_with(tmp_path / "m", b"[REDACTED:github.token:") != []


async def test_control_without_a_screen_it_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Screen, "clean", lambda self, text: text)
    monkeypatch.setattr(Screen, "clean_body", lambda self, body: body)
    with pytest.raises(AssertionError):
        await test_a_known_secret_reaches_no_file(tmp_path)


async def test_the_screen_is_before_the_split(tmp_path: Path) -> None:
    """A secret that a part's end would cut in two is still found."""
    async with pagefault.open(tmp_path / "m", sync="os", secrets=SECRETS) as memory:
        session = await memory.session("s")
        pages = await session.document(SECRET * 900)
        assert len(pages) > 1
    assert files_with(tmp_path / "m", b"hunter2") == []


async def test_half_of_a_secret_stays_of_no_call_that_is_cut(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", secrets=SECRETS, window=1_000, mode="active"
    ) as memory:
        session = await memory.session("s")
        await session.user("Where is it?")
        long = "t" * (CALL_ID_MAX - 10) + SECRET
        called = ToolCall(long, long, json.dumps({"query": "tea"}))
        # Its words are halved until they leave room: a secret stands across each middle.
        words = "w " * 1_000
        for _ in range(8):
            words = f"{words[: len(words) // 2]}{SECRET}{words[len(words) // 2 :]}"
        await session.run(Replies(calls(called, text=words), Reply(text="I cannot tell.")))
        request = await session.request()
    for piece in (SECRET[:8], SECRET[-8:]):
        assert piece not in text_of(request)
        assert files_with(tmp_path / "m", piece.encode()) == []


async def test_what_was_shown_is_what_was_written(tmp_path: Path) -> None:
    """A call with a secret in it: the request is the same after a restart."""
    async with pagefault.open(tmp_path / "m", sync="os", secrets=SECRETS) as memory:
        session = await memory.session("s")
        await session.user("Where is it?")
        await session.request()
        await session.call(search(SECRET), said=SECRET)
        request = await session.request()
        assert SECRET not in repr(request.messages)
    async with pagefault.open(tmp_path / "m", secrets=SECRETS) as memory:
        session = await memory.session("s")
        assert (await session.request()).messages == request.messages


async def test_a_screen_that_fails_lets_nothing_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", secrets=SECRETS) as memory:
        session = await memory.session("s")
        await session.user("Hello")
        before = await session.request()
        with monkeypatch.context() as broken:
            broken.setattr(Screen, "_replaced", lambda self, text: None)
            for refused in (
                session.user(f"It is {SECRET}"),
                session.document(SECRET),
                session.call(search(SECRET)),
                session.configure(system=SECRET),
            ):
                with pytest.raises(ScreenFailed):
                    await refused
        assert (await session.request()).messages == before.messages
        assert await session.user("go on") == "msg_2"
    assert files_with(tmp_path / "m", SECRET.encode()) == []
