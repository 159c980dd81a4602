"""Forgetting: no byte is left under the root, whenever it was interrupted, and no id comes back."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import pagefault
from pagefault.model.errors import (
    NoSuchPage,
    RecordGone,
    SessionNotFound,
    StoreBusy,
)
from pagefault.model.ids import PageId
from pagefault.model.page import is_derived
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
from tests.adopted import copied
from tests.service.memories import (
    fault,
    faulted,
    files_with,
    search,
    shown,
    text_of,
    unsealed,
    words,
)

SECRET = 'Zanzibarqux "keeps" her Wumpustines \u00e9t\u00e9 in Gryphonburgh'
STEMS = ("zanzibarqux", "wumpustin", "gryphonburgh", "keeps")


def _shapes(text: str) -> set[bytes]:
    """The ways in which a text could stand in a file."""
    shapes = {
        text.encode(),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
        text.lower().encode(),
    }
    shapes |= {json.dumps(text, ensure_ascii=ascii_).encode()[1:-1] for ascii_ in (True, False)}
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + text.encode())
        shapes.add(whole[4 : len(whole) // 4 * 4 - 8])
    return (
        shapes
        | {stem.encode() for stem in STEMS[:3]}
        | {word.encode() for word in text.split() if len(word) > 8}
    )


def check_nowhere(root: Path) -> None:
    """Nothing of the secret is in any file under the root, in any shape."""
    for shape in _shapes(SECRET):
        for path in sorted(root.rglob("*")):
            assert not path.is_file() or shape not in path.read_bytes(), f"{shape!r} is in {path}"


async def _secret_session(memory: pagefault.Memory) -> pagefault.Session:
    """A secret that was said, recalled, faulted, searched, pinned and sent; others around it."""
    session = await memory.session("s")
    await session.user("We met in the harbour.")
    await session.user(SECRET, speaker="Ana", occurred_at="2023-05-08")
    await session.assistant("I shall not repeat that.")
    for number in range(12):
        await session.user(f"Topic{number} was discussed: {words(100, f't{number}w')}")
        await session.request()
    await session.user("Where does she keep her things?")
    await session.call(fault("msg_2"))
    await session.request()
    await session.pin("msg_1")
    return session


async def _check_forgotten(memory: pagefault.Memory, page_id: str = "msg_2") -> None:
    for row in await memory.sessions():
        session = await memory.session(row.session_id, create=False)
        with pytest.raises((NoSuchPage, RecordGone)):
            await session.page(page_id)
        hits = [hit.page.page_id for hit in (await session.recall(SECRET, limit=50)).hits]
        assert page_id not in hits
        assert (await session.recall("zanzibarqux wumpustines")).hits == ()
        assert page_id not in [page.page_id for page in await memory.pages(session, limit=500)]
        await session.user("What was it again, in the harbour?")
        request = await session.request()
        assert page_id not in shown(request)
        assert "Wumpustines" not in text_of(request)
        refused = await faulted(session, fault(page_id))
        assert refused["error"]["code"] in {"unknown_page", "forgotten"}
        assert (await faulted(session, search("wumpustines")))["results"] == []
        session.check()
    assert (await memory.verify()).problems == ()


async def test_a_forgotten_page_is_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        fork = await session.fork("f")
        await fork.user("And on the fork?")
        await fork.request()
        with pytest.raises(AssertionError):
            check_nowhere(root)  # the control: it was there
        epoch = (await session.status()).epoch
        forgotten = await memory.forget("s", "msg_2")
        assert forgotten.done
        assert forgotten.pages == ("msg_2", "sum_1"), "what sums it up goes with it"
        assert forgotten.seen_from == ("f",)
        assert forgotten.beyond_reach
        check_nowhere(root)
        await session.request()
        assert (await session.status()).epoch == epoch + 1
        assert (await session.status()).pinned == ("msg_1",)
        pages = (await session.status()).pages
        assert await session.user("next") == f"msg_{pages + 1}"
        check_nowhere(root)
    check_nowhere(root)
    async with pagefault.open(root) as memory:
        await _check_forgotten(memory)
    for path in root.glob("index.db*"):
        path.unlink()
    async with pagefault.open(root) as memory:
        await _check_forgotten(memory)


def _no_log(self: SegmentLog, seqs: Any) -> int:
    return len(set(seqs))


def _no_index(self: SqliteIndex, seqs: Any, sessions: Any) -> None: ...


def _only_rows(self: SqliteIndex, seqs: Any, sessions: Any) -> None:
    with self._connections.write() as db:
        for seq in seqs:
            db.execute("DELETE FROM page WHERE seq = ?", (seq,))
            db.execute("DELETE FROM event WHERE seq = ?", (seq,))


@pytest.mark.parametrize(
    ("weakened", "by"),
    [
        ((SegmentLog, "erase"), _no_log),
        ((SqliteIndex, "forget"), _no_index),
        ((SqliteIndex, "forget"), _only_rows),
    ],
)
async def test_control_a_build_that_does_not_erase_is_caught(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    weakened: tuple[type, str],
    by: Callable[..., Any],
) -> None:
    monkeypatch.setattr(*weakened, by)
    with pytest.raises(AssertionError, match="is in"):
        await test_a_forgotten_page_is_nowhere(tmp_path)


async def test_every_part_of_a_long_text_is_forgotten(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=4_000) as memory:
        session = await memory.session("s")
        await session.document("Another document.")
        pages = await session.document(f"{SECRET}\n\n{words(900)}\n\n{SECRET}", title=SECRET)
        assert len(pages) > 2
        await session.user("What is in there?")
        await session.request()
        assert (await memory.forget("s", pages[1])).pages == tuple(pages)
        check_nowhere(root)
        assert files_with(root, b"word777") == []
        await session.request()
        check_nowhere(root)
        assert (await session.page("art_1")).text == "Another document."
        assert await session.document("next") == [f"art_{len(pages) + 2}"]


async def test_a_forgotten_session_is_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        other = await memory.session("other")
        await other.user("I stay.")
        session = await memory.session("Gryphonburgh papers", system=SECRET)
        await session.user(SECRET, key="k")
        await session.run(pagefault.ScriptedEngine())
        await session.call(search(SECRET), said=SECRET)
        await session.configure(system=SECRET + "!")
        with pytest.raises(AssertionError):
            check_nowhere(root)
        forgotten = await memory.forget("Gryphonburgh papers")
        assert len(forgotten.pages) == 2
        check_nowhere(root)
        for refused in (
            session.user("more"),
            session.request(),
            session.page("msg_1"),
            session.recall("anything"),
            session.fork(),
            session.status(),
            session.pin("msg_1"),
            memory.session("Gryphonburgh papers", create=False),
        ):
            with pytest.raises(SessionNotFound):
                await refused
        assert (await other.page("msg_1")).text == "I stay."
        anew = await memory.session("Gryphonburgh papers")
        assert await anew.user("Something else.") == "msg_1"
    for path in root.glob("index.db*"):
        path.unlink()
    async with pagefault.open(root) as memory:
        assert [row.name for row in await memory.sessions()] == ["Gryphonburgh papers", "other"]
        assert (await memory.verify()).problems == ()


def _bytes_under(root: Path) -> dict[str, bytes]:
    """Every file but SQLite's shared memory, where it notes who reads."""
    paths = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".db-shm"]
    return {path.name: path.read_bytes() for path in paths}


async def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        await session.assistant("As you said [ref: msg_2, msg_3].")
        before = await session.request()
        bytes_before = _bytes_under(root)
        plan = await memory.forget("s", "msg_2", dry_run=True)
        assert not plan.done
        assert plan.pages == ("msg_2", "sum_1")
        assert len(plan.quoted_by) == 1
        whole = await memory.forget("s", dry_run=True)
        said = [page_id for page_id in whole.pages if not is_derived(PageId(page_id))]
        assert len(said) == (await session.status()).pages
        assert _bytes_under(root) == bytes_before
        assert (await session.request()).messages == before.messages
        with pytest.raises(NoSuchPage):
            await memory.forget("s", "msg_999")
        with pytest.raises(SessionNotFound):
            await memory.forget("nobody", "msg_1")


async def test_a_page_forgotten_on_a_fork_is_gone_from_its_parent(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user(SECRET)
        await session.request()
        fork = await session.fork("f")
        await fork.user("Forget it.")
        sibling = await session.fork("g")
        forgotten = await memory.forget("f", "msg_1")
        assert set(forgotten.seen_from) == {"s", "g"}
        check_nowhere(tmp_path / "m")
        for one in (session, fork, sibling):
            assert "Wumpustines" not in text_of(await one.request())
        await _check_forgotten(memory, "msg_1")


async def test_after_a_restart_the_epoch_is_still_due(tmp_path: Path) -> None:
    """Forgotten, then restarted: the request is the same as without the restart."""
    requests = []
    for name in ("kept", "restarted"):
        async with pagefault.open(tmp_path / name, sync="os", window=3_000) as memory:
            session = await _secret_session(memory)
            before = await session.request()
            epoch = (await session.status()).epoch
            await memory.forget("s", "msg_2")
            if name == "kept":
                requests.append((await session.request()).messages)
                assert (await session.status()).epoch == epoch + 1
        if name == "restarted":
            async with pagefault.open(tmp_path / name) as memory:
                session = await memory.session("s")
                requests.append((await session.request()).messages)
                assert (await session.status()).epoch == epoch + 1
        async with pagefault.open(tmp_path / name) as memory:
            session = await memory.session("s")
            assert (await session.request()).messages == requests[-1]
            assert (await session.status()).epoch == epoch + 1
    assert unsealed(requests[0]) == unsealed(requests[1])
    assert unsealed(requests[0]) != unsealed(before.messages)


async def test_an_interrupted_forget_is_finished_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root as a kill would leave it before and after each step."""
    root, images = tmp_path / "m", tmp_path / "images"
    images.mkdir()

    def photographed(method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            shutil.copytree(root, images / f"before {name}")
            result = method(*args, **options)
            shutil.copytree(root, images / f"after {name}")
            return result

        return wrapper

    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        pages = (await session.status()).pages
        monkeypatch.setattr(SegmentLog, "erase", photographed(SegmentLog.erase, "erase"))
        monkeypatch.setattr(SqliteIndex, "forget", photographed(SqliteIndex.forget, "forget"))
        await memory.forget("s", "msg_2")
        monkeypatch.undo()
    assert len(list(images.iterdir())) == 4
    for image in images.iterdir():
        if image.name != "after forget":
            with pytest.raises(AssertionError):
                check_nowhere(image)
        for without_index in (False, True):
            copy = tmp_path / f"{image.name} {without_index}"
            copied(image, copy)
            if without_index:
                for path in copy.glob("index.db*"):
                    path.unlink()
            async with pagefault.open(copy) as memory:
                check_nowhere(copy)
                session = await memory.session("s", create=False)
                assert await session.user("next") == f"msg_{pages + 1}"
                await _check_forgotten(memory)


async def test_control_an_opening_that_finishes_nothing_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Store.finish_forgetting
    monkeypatch.setattr(Store, "finish_forgetting", lambda self: 0)
    undo = monkeypatch.undo
    monkeypatch.setattr(monkeypatch, "undo", lambda: None)
    try:
        with pytest.raises(AssertionError):
            await test_an_interrupted_forget_is_finished_at_the_next_opening(tmp_path, monkeypatch)
    finally:
        undo()
    assert Store.finish_forgetting is finish


async def test_a_reader_is_in_nobodys_way_and_sees_it_no_more(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        async with pagefault.open(root, read_only=True) as reading:
            watched = await reading.session("s")
            assert (await watched.recall("zanzibarqux")).hits
            assert (await watched.page("msg_2")).text == SECRET
            await memory.forget("s", "msg_2")
            check_nowhere(root)
            with pytest.raises((NoSuchPage, RecordGone)):
                await watched.page("msg_2")
            assert (await watched.recall("zanzibarqux")).hits == ()
            assert "Wumpustines" not in text_of(await session.request())
            await session.user("It goes on.")


async def test_what_is_in_the_middle_of_a_reading_delays_the_end_of_a_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.store.embedded.connections._BUSY_MS", 50)
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        reader = apsw.Connection(str(root / "index.db"), flags=apsw.SQLITE_OPEN_READONLY)
        reader.execute("BEGIN; SELECT count(*) FROM page").fetchall()
        with pytest.raises(StoreBusy, match="erased from the log"):
            await memory.forget("s", "msg_2")
        assert "Wumpustines" not in text_of(await session.request())
        assert (await session.recall("zanzibarqux")).hits == ()
        await session.user("It goes on.")
    reader.execute("COMMIT; BEGIN; SELECT count(*) FROM page").fetchall()
    async with pagefault.open(root) as memory:
        [notice] = memory.notices
        assert "still to be forgotten" in notice
    reader.close()
    async with pagefault.open(root) as memory:
        assert memory.notices == []
        check_nowhere(root)
        await _check_forgotten(memory)


async def test_forgetting_while_others_talk_loses_nothing_of_theirs(tmp_path: Path) -> None:
    """Also what is said to a session while it is being forgotten goes with it."""
    root = tmp_path / "m"
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        doomed, other = await memory.session("doomed"), await memory.session("other")

        async def talk(session: pagefault.Session, text: str) -> int:
            for number in range(40):
                try:
                    await session.user(f"{text} {number}")
                    await session.request()
                except SessionNotFound:
                    return number
            return 40

        talking = [
            asyncio.create_task(talk(doomed, SECRET)),
            asyncio.create_task(talk(other, "I stay")),
        ]
        while (await doomed.status()).pages < 5:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)
        await memory.forget("doomed")
        check_nowhere(root)
        said, stayed = await asyncio.gather(*talking)
        assert 5 <= said < 40
        assert stayed == (await other.status()).pages == 40
        check_nowhere(root)
        assert (await memory.verify()).problems == ()


async def test_whoever_stops_waiting_for_a_forget_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    begun, erase = asyncio.Event(), pagefault.Memory._erase

    async def begins(self: pagefault.Memory, *given: Any) -> Any:
        begun.set()
        return await erase(self, *given)

    monkeypatch.setattr(pagefault.Memory, "_erase", begins)
    async with pagefault.open(root, sync="os", window=3_000) as memory:
        session = await _secret_session(memory)
        impatient = asyncio.create_task(memory.forget("s", "msg_2"))
        await begun.wait()
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        await session.user("What was it?")
        for _ in range(6_000):
            if (await memory.pages(session, limit=3))[1].page_id != "msg_2":
                break
            await asyncio.sleep(0.01)
    check_nowhere(root)


async def test_a_session_is_named_by_itself_as_well(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        kept, session = await memory.session("kept"), await memory.session()
        await kept.user("Stay.")
        await session.user("Go.")
        await session.user("Go too.")
        assert (await memory.forget(session, "msg_1")).pages == ("msg_1",)
        assert (await memory.forget(session)).session_id == session.session_id
        assert [row.session_id for row in await memory.sessions()] == [kept.session_id]
        with pytest.raises(SessionNotFound):
            await memory.forget(session)
        assert (await kept.page("msg_1")).text == "Stay."


async def test_a_tools_name_that_was_forgotten_and_came_again_is_a_filter(tmp_path: Path) -> None:
    """In this process and in another, which knew the name from before."""
    root = tmp_path / "m"
    wanted = pagefault.SearchFilter(origins=("tool:weather",))
    async with (
        pagefault.open(root, sync="os") as memory,
        pagefault.open(root, read_only=True) as other,
    ):
        session = await memory.session("s")
        await session.user("How is the weather?")
        for number in range(2):
            [page] = await session.tool_result(f"Rain {number}.", name="weather")
            await session.tool_result("A map.", name=f"maps{number}")
            for place in (memory, other):
                hits = (await place.recall("rain", wanted=wanted)).hits
                assert [hit.page.page_id for hit in hits] == [page]
            await memory.forget("s", page)
            for place in (memory, other):
                assert (await place.recall("rain", wanted=wanted)).hits == ()
