"""What may come between the sending of a request and its log: somebody changes what is kept, or the
client leaves.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.proxy.conversation.request_log import RequestLog
from pagefault.service.journal import Journal
from pagefault.service.session import Session
from tests.proxy.histories import body, model, user
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Say, Seen, Upstream, always
from tests.service.traces import Files, canary

SECRET, LATER = canary("in flight"), canary("said once it is paused")
OPENED, SAID, APPENDED = (Journal, "open_session"), (Session, "_say_each"), (Journal, "append")


class Held:
    """Holds the next call of a method from when it is made until the block ends."""

    def __init__(self, patch: pytest.MonkeyPatch, of: type, name: str) -> None:
        self._patch, self._of, self._name = patch, of, name
        self._real = getattr(of, name)
        self._has_come, self._goes_on = asyncio.Event(), asyncio.Event()

    def hold(self) -> None:
        async def held(*args: Any, **more: Any) -> Any:
            self._patch.setattr(self._of, self._name, self._real)
            self._has_come.set()
            await self._goes_on.wait()
            return await self._real(*args, **more)

        self._patch.setattr(self._of, self._name, held)

    async def __aenter__(self) -> None:
        await self._has_come.wait()

    async def __aexit__(self, *_: object) -> None:
        self._goes_on.set()


async def is_well(to: Standing) -> bool:
    await to.proxy.settled()
    told = (await to.http.get("/healthz")).json()
    return bool(told["ok"] and not told["not_logged"])


async def given_back(to: Standing) -> list[Any]:
    """The client's own JSON of each message."""
    [name] = await to.sessions()
    session = await to.memory.session(name, create=False)
    seqs = dict.fromkeys(item.message_seq for item in await session.items() if item.message_seq)
    return [json.loads(await session.client_json(seq)) for seq in seqs]


@pytest.mark.parametrize("by_another", [False, True], ids=["here", "by another process"])
@pytest.mark.parametrize(
    ("is_begun", "moment"),
    [(False, OPENED), (False, SAID), (True, SAID), (False, APPENDED), (True, APPENDED)],
    ids=["opened", "said first", "said", "appended first", "appended"],
)
async def test_nothing_is_kept_that_is_logged_after_a_pause_and_nothing_lost_by_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_begun: bool,
    moment: tuple[type, str],
    by_another: bool,
) -> None:
    root = tmp_path / "m"
    held = Held(monkeypatch, *moment)
    said = [user("The gander is called Ilse."), model("Noted.")] if is_begun else []
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=root) as to, pagefault.open(root) as another:
            if is_begun:
                await post(to, body(*said[:1]))
                await to.proxy.settled()
            by = another if by_another else to.memory
            said.append(user(f"It is {SECRET}."))
            held.hold()
            answer = asyncio.create_task(post(to, body(*said)))
            async with held:
                pause = asyncio.create_task(by.set_control("paused"))
                # Here it waits for what is being opened or appended.
                has_to_wait = moment is not SAID and not by_another
                await asyncio.wait([pause], timeout=0.2 if has_to_wait else None)
            assert (await answer).status_code == 200
            await pause
            assert await is_well(to)
            assert has_to_wait or not Files(root).traces({"said": SECRET})
            said += [model("Noted."), user(f"Now it is {LATER}.")]
            await post(to, body(*said))
            assert await is_well(to)
            assert not Files(root).traces({"said": LATER})
            await by.set_control("assist")
            said += [model("Noted."), user("And the goose?")]
            assert "x-pagefault-not-logged" not in (await post(to, body(*said))).headers
            assert await is_well(to)
            [name] = await to.sessions()
            assert await to.logged(name) == [one["content"][0]["text"] for one in [*said, said[-2]]]
            assert await given_back(to) == said
            assert upstream.seen[-1].body == body(*said)
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()


async def test_what_was_written_of_a_request_while_it_was_paused_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words were in the log before, so that the session has grown by nothing."""
    held = Held(monkeypatch, RequestLog, "record")

    def script(seen: Seen) -> Say:
        return Say(status=500) if len(seen.body["messages"]) == 1 else Say(text="Noted.")

    said = [user("The gander is called Ilse.")]
    with Upstream(script) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            held.hold()
            answer = asyncio.create_task(post(to, body(*said)))
            async with held:
                await to.memory.set_control("paused")
            assert (await answer).status_code == 500
            await to.proxy.settled()
            await to.memory.set_control("assist")
            said.append(user("And the goose?"))
            await post(to, body(*said))
            assert await given_back(to) == said
            assert await is_well(to)


async def test_a_client_that_leaves_while_its_words_are_written_leaves_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, *SAID)
    said = [user("The gander is called Ilse.")]
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m") as to:
            held.hold()
            answer = asyncio.create_task(post(to, body(*said)))
            async with held:
                answer.cancel()
                await asyncio.wait([answer])
            [name] = await to.sessions()
            assert await to.logged(name) == ["The gander is called Ilse."]
            said += [model("Noted."), user("And the goose?")]
            await post(to, body(*said))
            assert len(await to.logged(name)) == 4
            assert await is_well(to)
