"""`/healthz` tells what is true now: what is in the way of keeping, and not what once was."""

from __future__ import annotations

import asyncio
import fcntl
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.guard.screen import Screen
from pagefault.model.errors import ScreenFailed
from pagefault.service.memory import Memory
from pagefault.service.recovery import hurry
from pagefault.service.session import Session
from tests.proxy.histories import body, model, user
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Say, Seen, Upstream, always


async def health(to: Standing) -> tuple[bool, int]:
    await to.proxy.settled()
    told = (await to.http.get("/healthz")).json()
    return told["ok"], told["not_logged"]


async def test_a_line_of_the_log_has_no_gap_where_there_is_nothing_to_tell() -> None:
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream) as to:
            await health(to)
            await to.proxy.settled()
            assert any(re.fullmatch(r"GET /healthz 200 \d+ ms", line) for line in to.log)


WELL, AILING = (True, 0), (False, 1)


@pytest.mark.parametrize("is_begun", [True, False], ids=["begun", "not yet begun"])
async def test_a_pause_in_mid_flight_is_no_ailment_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_begun: bool
) -> None:
    came, goes_on = threading.Event(), threading.Event()
    begins, begun = asyncio.Event(), asyncio.Event()
    begin = Memory.session

    def slowly(_: Seen) -> Say:
        came.set()
        assert goes_on.wait(300)
        return Say(text="Noted.")

    async def session(self: Memory, name: str = "", *, create: bool = True, **how: Any) -> Session:
        if create:
            await begins.wait()
        found = await begin(self, name, create=create, **how)
        begun.set()
        return found

    monkeypatch.setattr(Memory, "session", session)
    with Upstream(slowly) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            answer = asyncio.create_task(post(to, body(user("The gander is called Ilse."))))
            await asyncio.to_thread(came.wait, 60)
            if is_begun:
                begins.set()
                await begun.wait()
            await to.memory.set_control("paused")
            begins.set()
            goes_on.set()
            assert (await answer).status_code == 200
            assert await health(to) == WELL
            await to.memory.set_control("assist")
            assert await health(to) == WELL
            said = [user("The gander is called Ilse."), model("Noted."), user("And the goose?")]
            await post(to, body(*said))
            [name] = await to.sessions()
            assert len(await to.logged(name)) == 4


async def test_a_conversation_that_another_process_has_ails_as_long_as_that(tmp_path: Path) -> None:
    with Upstream(always("Noted.")) as upstream:
        async with pagefault.open(tmp_path / "m") as other:
            async with standing(upstream, root=tmp_path / "m") as to:
                await post(to, body(user("One.")))
                [name] = await to.sessions()
            session = await other.session(name)
            await session.user("Something else.")
            async with standing(upstream, root=tmp_path / "m") as to:
                answer = await post(to, body(user("One."), model("Noted."), user("Two.")))
                assert answer.headers["x-pagefault-not-logged"] == "memory"
                assert [await health(to) for _ in range(2)] == [AILING] * 2
                await other.close()
                assert await health(to) == WELL


async def test_where_secrets_cannot_be_told_nothing_is_kept_and_nothing_is_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Screen.clean

    def fails(self: Screen, text: str) -> str:
        if "gander" in text:
            raise ScreenFailed("the search for secrets failed")
        return whole(self, text)

    said = [user("The gander is called Ilse.")]
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            with monkeypatch.context() as failing:
                failing.setattr(Screen, "clean", fails)
                answer = await post(to, body(*said))
                assert answer.status_code == 200
                assert answer.headers["x-pagefault-not-logged"] == "memory"
                assert upstream.seen[-1].body == body(*said)
            said += [model("Noted."), user("And the goose?")]
            answer = await post(to, body(*said))
            assert "x-pagefault-not-logged" not in answer.headers
            assert await health(to) == WELL
            [name] = await to.sessions()
            kept = await to.logged(name)
    assert kept == ["The gander is called Ilse.", "Noted.", "And the goose?", "Noted."]


async def test_a_memory_that_was_deleted_is_told_and_nothing_is_made_in_its_place(
    tmp_path: Path,
) -> None:
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            await post(to, body(user("One.")))
            await to.proxy.settled()
            shutil.rmtree(tmp_path / "m")
            answer = await post(to, body(user("One."), model("Noted."), user("Two.")))
            assert answer.json()["content"] == [{"type": "text", "text": "Noted."}]
            assert answer.headers["x-pagefault-not-logged"] == "memory"
            assert await health(to) == AILING
            assert not (tmp_path / "m").exists()
            assert any("was deleted while open" in line for line in to.log)


async def test_a_memory_that_another_process_locks_is_waited_for_once(tmp_path: Path) -> None:
    said = [user("One.")]
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            hurry(to.memory, 0.05)
            await post(to, body(*said))
            await to.proxy.settled()
            with (tmp_path / "m" / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for words in ("Two.", "Three."):
                    said += [model("Noted."), user(words)]
                    answer = await post(to, body(*said))
                    assert answer.status_code == 200
                    assert answer.headers["x-pagefault-not-logged"] == "memory"
                    assert await health(to) == AILING
            assert await health(to) == WELL
            said += [model("Noted."), user("Four.")]
            assert "x-pagefault-not-logged" not in (await post(to, body(*said))).headers
            [name] = await to.sessions()
            kept = await to.logged(name)
    assert kept == [*(one["content"][0]["text"] for one in said), "Noted."]
