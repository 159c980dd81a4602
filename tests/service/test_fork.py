"""Forks: the parent's past by reference, none of its future, and a life of their own."""

from __future__ import annotations

from pathlib import Path

import pagefault
from pagefault import ScriptedEngine
from tests.service.memories import check_request, fault, faulted, shown, text_of, words


def _log_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / "log").iterdir())


async def test_a_fork_shares_its_parents_pages_by_reference(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=4_000) as memory:
        session = await memory.session("s")
        for number in range(50):
            await session.user(f"Topic{number}: {words(60, f't{number}w')}")
        size = _log_bytes(tmp_path / "m")
        forks = [await session.fork(f"f{number}") for number in range(10)]
        assert _log_bytes(tmp_path / "m") - size < 10 * 700
        assert size > 20_000
        for fork in forks:
            assert (await fork.status()).pages == 50
            assert (await fork.page("msg_1")).text == (await session.page("msg_1")).text


async def test_a_fork_sees_the_past_and_not_the_future(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("The past was postgres.")
        await session.pin("msg_1")
        parent = await session.request()
        fork = await session.fork("f")
        await session.user("The future is zanzibar.")
        await fork.user("And here it is wumpus.")
        assert (await fork.status()).pinned == ("msg_1",)
        assert (await fork.page("msg_2")).text == "And here it is wumpus."
        assert (await session.page("msg_2")).text == "The future is zanzibar."
        assert (await fork.recall("zanzibar")).hits == ()
        assert (await session.recall("wumpus")).hits == ()
        assert len((await fork.recall("postgres")).hits) >= 1
        for one, other in ((session, "wumpus"), (fork, "zanzibar")):
            request = await one.request()
            assert request.messages[: len(parent.messages)] == parent.messages
            assert other not in text_of(request)
            rows = await memory.pages(one)
            assert [row.page_id for row in rows] == ["msg_1", "msg_2"]
    async with pagefault.open(tmp_path / "m") as memory:
        fork = await memory.session("f", create=False)
        assert "wumpus" in text_of(await fork.request())
        assert await fork.user("on it goes") == "msg_3"


async def test_questions_on_forks_do_not_help_each_other(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("Maria keeps the keys to the observatory in the blue drawer.")
        for number in range(40):
            await session.user(f"Topic{number}: {words(40, f't{number}w')}")
        await session.request()
        before = await session.request()
        asked = "Where does Maria keep the keys to the observatory?"
        answers = []
        for number in range(3):
            fork = await session.fork(f"q{number}")
            page_id = await fork.user(asked)
            answers.append(await fork.run(ScriptedEngine()))
            assert page_id == "msg_42"
        assert len({(a.text, a.requests, a.faults, a.request_tokens) for a in answers}) == 1
        assert "blue drawer" in answers[0].text
        assert (await session.request()).messages == before.messages


async def test_a_fork_of_a_fork_of_a_busy_session(tmp_path: Path) -> None:
    """Forked at every point of a turn; ids go on; each still packs the same after a restart."""
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        for number in range(12):
            newest = f"Topic{number}: {words(40, f't{number}w')}"
            await session.user(newest)
            await session.request()
            if number % 3 == 0:
                await session.call(fault(f"msg_{number // 2 + 1}"))
            if number % 2:
                session = await session.fork(f"fork{number}")
                check_request(await session.request(), newest)
            await session.assistant(f"Answer {number}")
            session.check()
        assert [row.page_id for row in await memory.pages(session)] == [
            f"msg_{number}" for number in range(1, 25)
        ]
        found = (await session.recall("Topic0")).hits
        assert found[0].page.page_id == "msg_1"
        names = [row.name for row in await memory.sessions()]
        requests = {name: await (await memory.session(name)).request() for name in names}
    for path in (tmp_path / "m").glob("index.db*"):
        path.unlink()
    async with pagefault.open(tmp_path / "m") as memory:
        for name, request in requests.items():
            assert (await (await memory.session(name)).request()).messages == request.messages
        assert (await memory.verify()).problems == ()


async def test_a_fork_in_the_middle_of_a_turn_has_what_is_left_of_its_faults(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=2_500) as memory:
        session = await memory.session("s")
        for number in range(30):
            await session.user(f"Topic{number}: {words(40, f't{number}w')}")
            await session.request()
        await session.call(fault("msg_1"))
        await session.request()
        fork = await session.fork("f")
        assert (await fork.status()).faults_left == 1
        assert "page" in await faulted(fork, fault("msg_2"))
        assert "error" in await faulted(fork, fault("msg_3"))
        assert (await session.status()).faults_left == 1


async def test_forks_live_on_when_their_parent_is_forgotten(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("The parent said zanzibarqux.")
        await session.document("zanzibarqux in full", title="t")
        fork = await session.fork("f")
        await fork.user("The fork said wumpus.")
        await fork.request()
        grandchild = await fork.fork("g")
        await grandchild.user("The grandchild said gryphon.")
        forgotten = await memory.forget("s")
        assert set(forgotten.seen_from) == {"f", "g"}
        for one, words_there in ((fork, "wumpus"), (grandchild, "gryphon")):
            request = await one.request()
            assert "zanzibarqux" not in text_of(request)
            assert words_there in text_of(request)
            assert "msg_1" not in shown(request)
            assert (await one.recall("zanzibarqux")).hits == ()
        assert "wumpus" in text_of(await grandchild.request())
        assert await fork.user("and on") == "msg_3"
        assert await fork.document("another") == ["art_2"]
        before = await fork.request()
    for path in (tmp_path / "m").glob("index.db*"):
        path.unlink()
    async with pagefault.open(tmp_path / "m") as memory:
        fork = await memory.session("f", create=False)
        assert (await fork.request()).messages == before.messages
        assert await fork.user("and on again") == "msg_4"
        assert (await memory.verify()).problems == ()


async def test_no_epoch_of_a_fork_has_the_number_of_one_that_was_forgotten(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=1_500) as memory:
        session = await memory.session("s")
        for number in range(12):
            await session.user(f"Topic{number}: {words(90, f't{number}w')}")
            await session.request()
        fork = await session.fork("f")
        begun = (await fork.status()).epoch
        assert begun > 1
        sent = await fork.request()
        await memory.forget("s")
    async with pagefault.open(tmp_path / "m") as memory:
        fork = await memory.session("f", create=False)
        await fork.user("And now?")
        request = await fork.request()
        assert request.messages[: len(sent.messages)] != sent.messages
        assert (await fork.status()).epoch == begun + 1


async def test_a_search_of_all_shows_a_page_that_forks_share_once(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("The red wheel has thirty-six spokes.")
        fork = await session.fork("f")
        await fork.user("And the blue wheel?")
        await (await fork.fork("g")).user("No wheel at all.")
        found = await memory.recall("wheel spokes", limit=20)
        seqs = [hit.page.seq for hit in found.hits]
        assert len(seqs) == len(set(seqs)) == found.total == 3
        for name in ("s", "f", "g"):
            hits = (await (await memory.session(name)).recall("spokes")).hits
            assert [str(hit.page.page_id) for hit in hits].count("msg_1") == 1
