"""A proxy that is left running lets other processes write to its sessions once they are idle."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.defaults import LEASE_IDLE_S
from pagefault.model.errors import RecordGone, SessionBusy
from pagefault.proxy import kept
from pagefault.proxy.history.history import Json
from pagefault.service.bootstrap import open_memory
from pagefault.service.idle_leases import give_up_idle
from pagefault.service.memory import Memory
from pagefault.service.root import parts
from tests.proxy.histories import FACT, body, long_talk, model, user
from tests.proxy.standing import KEY, Standing, post, standing
from tests.proxy.test_what_stays import SEAL
from tests.proxy.upstream import Say, Seen, Upstream, always

ASKED = user("What is the launch code of project Heron, and who keeps it?")
TOLD = model("Hello.")


class Clock(SystemClock):
    """The machine's, so many seconds later."""

    def __init__(self) -> None:
        self.later_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + int(self.later_s * 1_000)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("Hello.")) as up:
        yield up


@asynccontextmanager
async def running(upstream: Upstream, root: Path, clock: Clock) -> AsyncIterator[Standing]:
    async with standing(upstream, root=root, window=600, memory_clock=clock) as to:
        yield to


@asynccontextmanager
async def another(root: Path, clock: Clock) -> AsyncIterator[Memory]:
    """The memory as another process has it: a command, or the studio."""
    async with open_memory(root, sync="os", clock=clock) as memory:
        yield memory


async def idle(to: Standing, clock: Clock, seconds: float = LEASE_IDLE_S) -> None:
    await to.proxy.settled()
    clock.later_s += seconds
    await give_up_idle(to.memory, to.proxy.under_way)


async def ask(to: Standing, *messages: Json) -> None:
    answer = await post(to, body(*messages))
    assert answer.status_code == 200
    assert "x-pagefault-not-logged" not in answer.headers
    await to.proxy.settled()


async def conversation(root: Path, upstream: Upstream, way: str) -> list[bytes]:
    """What a provider was sent of a conversation, in the middle of which something was forgotten:
    "here", in the proxy, or by "another" process; or nothing ("idle", "busy").
    """
    upstream.seen.clear()
    clock = Clock()
    async with running(upstream, root, clock) as to:
        said = long_talk(14)
        for upto in range(9, len(said), 10):
            await ask(to, *said[:upto])
        await ask(to, *said, ASKED)
        assert FACT in upstream.seen[-1].raw.decode(), "it left the window, and was quoted"
        if way != "busy":
            await idle(to, clock)
        [name] = await to.sessions()
        if way == "here":
            await to.memory.forget(name, "msg_1")
        if way == "another":
            async with another(root, clock) as memory:
                await memory.forget(name, "msg_1")
        said += [ASKED, TOLD, user("And who else has it? " + "word " * 30)]
        await ask(to, *said)
        await ask(to, *said, TOLD, user("Go on."))
        if way in ("here", "another"):
            session = await to.memory.session(name, create=False)
            with pytest.raises(RecordGone):
                await session.page("msg_1")
            assert FACT not in await to.logged(name), "what the client repeats is not logged anew"
    return [SEAL.sub(b"", seen.raw) for seen in upstream.seen]


async def test_what_another_process_forgets_is_gone_from_what_is_sent_as_if_the_proxy_had_done_it(
    upstream: Upstream, tmp_path: Path
) -> None:
    sent = {
        way: await conversation(tmp_path / way, upstream, way)
        for way in ("busy", "idle", "here", "another")
    }
    assert sent["idle"] == sent["busy"], "giving a lease up changes no byte"
    assert sent["another"] == sent["here"]
    assert FACT.encode() not in sent["another"][-2] + sent["another"][-1]
    assert FACT.encode() in sent["idle"][-2], "the control"


async def test_a_conversation_that_is_not_idle_says_when_to_try_again(
    upstream: Upstream, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(upstream, tmp_path, clock) as to, another(tmp_path, clock) as memory:
        await ask(to, user(FACT))
        [name] = await to.sessions()
        used = (await memory.sessions())[0].last_used_ms
        for seconds, again_s in ((0, range(69, 71)), (40, range(29, 31))):
            await idle(to, clock, seconds)
            with pytest.raises(SessionBusy) as refused:
                await memory.forget(name, "msg_1")
            found = re.search(r"try again in (\d+) seconds", refused.value.hint)
            assert found is not None
            assert int(found[1]) in again_s
        await idle(to, clock, 20)
        assert (await memory.sessions())[0].last_used_ms == used, "giving it up is no use"
        await memory.forget(name, "msg_1")
        assert (await memory.verify()).problems == ()


async def test_a_session_with_a_request_under_way_stays_leased_however_long_that_takes(
    tmp_path: Path,
) -> None:
    clock, release, loop = Clock(), threading.Event(), asyncio.get_running_loop()
    arrived = asyncio.Event()

    def slowly(_: Seen) -> Say:
        loop.call_soon_threadsafe(arrived.set)
        return Say(text="Hello.", pieces=(release,))

    with Upstream(slowly) as upstream:
        async with running(upstream, tmp_path, clock) as to, another(tmp_path, clock) as memory:
            asking = asyncio.create_task(post(to, body(user(FACT))))
            await arrived.wait()
            for _ in range(3_000):  # it is sent before it is logged
                if (rows := await memory.sessions()) and rows[0].pages:
                    break
                await asyncio.sleep(0.02)
            clock.later_s += 10 * LEASE_IDLE_S
            await give_up_idle(to.memory, to.proxy.under_way)
            [row] = rows
            with pytest.raises(SessionBusy):
                await memory.forget(row.name, "msg_1")
            release.set()
            await asking
            await idle(to, clock)
            await memory.forget(row.name, "msg_1")


async def test_the_lease_of_a_conversation_that_was_let_go_is_given_up_too(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "CONVERSATIONS_MAX", 1)
    monkeypatch.setattr(parts, "RECENT_SESSIONS", 1)
    clock = Clock()
    async with running(upstream, tmp_path, clock) as to, another(tmp_path, clock) as memory:
        for name in ("ana", "ben", "cem"):
            headers = {"x-pagefault-session": name, "x-api-key": KEY}
            await to.http.post("/v1/messages", json=body(user(FACT)), headers=headers)
        await idle(to, clock)
        assert to.memory._store.leases.held() == []
        for row in await memory.sessions():
            await memory.forget(row.name, "msg_1")
