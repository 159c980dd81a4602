"""A request that fits is sent on while the memory writes down what is said in it; its client reads
nothing of the answer before. What no longer fits waits: only what is written may leave a window.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagefault.proxy import forwarding, intake
from pagefault.store.embedded.disk import Disk
from tests.proxy.histories import body, long_talk, user
from tests.proxy.standing import SESSION, standing
from tests.proxy.upstream import Call, Say, Seen, Upstream, always

NOT_LOGGED = "x-pagefault-not-logged"
WAIT_S = 300.0  # for what comes at once; a wait that must not end is shorter


class SlowDisk:
    """Writes nothing while it is held. `is_asked` once it was asked to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.free, self.is_asked = threading.Event(), threading.Event()
        self.free.set()
        write = Disk.write

        def slow(disk: Disk, fd: int, data: bytes | memoryview) -> int:
            self.is_asked.set()
            assert self.free.wait(WAIT_S)
            return write(disk, fd, data)

        patch.setattr(Disk, "write", slow)

    def hold(self) -> None:
        self.free.clear()
        self.is_asked.clear()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    slow = SlowDisk(monkeypatch)
    yield slow
    slow.free.set()


@pytest.mark.parametrize("window", [0, 100_000])
async def test_a_long_history_that_fits_is_sent_before_it_is_written_and_answered_after(
    window: int, disk: SlowDisk, tmp_path: Path
) -> None:
    has_come = threading.Event()

    def script(_: Seen) -> Say:
        has_come.set()
        return Say(text="Noted.")

    talk = [*long_talk(20), user("and now?")]
    with Upstream(script) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=window) as to:
            disk.hold()
            post = to.http.post("/v1/messages", json=body(*talk), headers=SESSION)
            asking = asyncio.create_task(post)
            assert await asyncio.to_thread(has_come.wait, WAIT_S)
            done, _ = await asyncio.wait([asking], timeout=0.2)
            assert not done
            disk.free.set()
            answer = await asking
            assert (answer.status_code, "x-pagefault-not-logged" in answer.headers) == (200, False)
            [session] = await to.sessions()
            logged = await to.logged(session)
            assert logged[-2:] == ["and now?", "Noted."]
            assert len(logged) == len(talk) + 1


async def test_what_does_not_fit_is_written_before_it_is_sent(
    disk: SlowDisk, tmp_path: Path
) -> None:
    talk = [*long_talk(20), user("and now?")]
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=1_500) as to:
            disk.hold()
            post = to.http.post("/v1/messages", json=body(*talk), headers=SESSION)
            asking = asyncio.create_task(post)
            assert await asyncio.to_thread(disk.is_asked.wait, WAIT_S)
            await asyncio.wait([asking], timeout=0.2)
            assert not upstream.seen
            disk.free.set()
            await asking
            [seen] = upstream.seen
            assert len(seen.body["messages"]) < len(talk)


@pytest.mark.parametrize("window", [0, 1_500])
async def test_a_disk_that_hangs_keeps_no_answer_back(
    window: int, disk: SlowDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "STALLED_S", 0.2)
    talk = [*long_talk(20), user("and now?")]
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream, root=tmp_path / "m", window=window) as to:
            disk.hold()
            async with asyncio.timeout(WAIT_S):
                for _ in range(2):
                    answer = await to.http.post("/v1/messages", json=body(*talk), headers=SESSION)
                    assert (answer.status_code, answer.headers[NOT_LOGGED]) == (200, "memory")
            disk.free.set()
            monkeypatch.setattr(intake, "STALLED_S", WAIT_S)
            answer = await to.http.post("/v1/messages", json=body(*talk), headers=SESSION)
            assert NOT_LOGGED not in answer.headers
            [session] = await to.sessions()
            assert len(await to.logged(session)) == len(talk) + 1


async def test_a_disk_that_hangs_while_a_call_is_served_ends_the_answer(
    disk: SlowDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "STALLED_S", 0.2)

    def script(_: Seen) -> Say:
        disk.hold()
        return Say(text="A moment.", calls=(Call("c1", "search_pages", {"query": "gate"}),))

    with Upstream(script) as upstream:
        root, window = tmp_path / "m", 100_000
        async with standing(upstream, root=root, window=window, faults=True) as to:
            async with asyncio.timeout(WAIT_S):
                asked = body(user("Which gate?"))
                # A request that gets marks is logged before it is sent, so only the call waits.
                headers = SESSION | {"x-pagefault-mark": "on"}
                answer = await to.http.post("/v1/messages", json=asked, headers=headers)
            disk.free.set()
            assert [one["text"] for one in answer.json()["content"]] == ["A moment."]
            assert len(upstream.seen) == 1
