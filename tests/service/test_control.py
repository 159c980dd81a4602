"""Control modes: what memory keeps of a conversation, and what it brings back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.kinds import ControlMode
from tests.service.traces import Files, canary

DARK = [mode for mode in ControlMode if not mode.captures]
SECRET = canary("said while nothing is kept")


def sizes(root: Path) -> dict[str, bytes]:
    """The log, whole: what is written of conversations."""
    return {path.name: path.read_bytes() for path in (root / "log").iterdir()}


def shown(request: pagefault.Request) -> str:
    return "\n".join(message.content for message in request.messages) + request.tail


async def talk(session: pagefault.Session, text: str, answer: str = "Noted.") -> str:
    await session.user(text)
    request = await session.request()
    await session.assistant(answer)
    return shown(request)


@pytest.mark.parametrize("mode", DARK)
async def test_what_is_said_while_nothing_is_kept_leaves_no_byte(tmp_path: Path, mode: str) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root, window=4_000) as memory:
        session = await memory.session("talk")
        await talk(session, "The harbour is in Lisbon.")
        await session.set_control(mode)
        before = sizes(root)
        for number in range(12):  # longer than the window: epochs, summaries, claims
            await talk(session, f"We decided to use {SECRET} number {number} for the ledger." * 20)
        await session.document(f"{SECRET} in a document", title=SECRET)
        await session.artifact(SECRET.encode() * 100, name=f"{SECRET}.txt", text=SECRET)
        await session.goal(f"Find {SECRET}")
        assert (await session.recall(SECRET)).hits, "the control: here it is found"
        assert SECRET in await talk(session, f"And {SECRET}?")
        assert sizes(root) == before, "nothing is written"
        assert not (await memory.recall(SECRET)).hits
        assert (await session.status()).control == mode
    assert not Files(root).traces({"said": SECRET})
    async with pagefault.open(root) as memory:
        session = await memory.session("talk", create=False)
        assert session.control == mode, "it outlives the process"
        assert [row.page_id for row in await memory.pages(session)] == ["msg_1", "msg_2"]
        await talk(session, f"Once more: {SECRET}.")
    assert not Files(root).traces({"said": SECRET})
    async with pagefault.open(root) as memory:
        assert (await memory.verify()).problems == ()


async def test_control_with_capture_the_same_words_are_written(tmp_path: Path) -> None:
    """The test above looks where they would be."""
    async with pagefault.open(tmp_path / "m") as memory:
        await talk(await memory.session("talk"), f"It is {SECRET}.")
    assert Files(tmp_path / "m").traces({"said": SECRET})


@pytest.mark.parametrize("mode", DARK)
async def test_a_conversation_goes_on_from_what_was_written_once_it_is_kept_again(
    tmp_path: Path, mode: str
) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        await talk(session, "The harbour is in Lisbon.")
        await session.set_control(mode)
        assert "Lisbon" in await talk(session, f"It is {SECRET}.")
        await session.set_control("assist")
        told = await talk(session, "Where is the harbour?")
        assert "Lisbon" in told
        assert SECRET not in told
        ids = [row.page_id for row in await memory.pages(session)]
        assert ids == ["msg_1", "msg_2", "msg_3", "msg_4"]
    async with pagefault.open(tmp_path / "m") as memory:
        assert not (await memory.recall(SECRET)).hits
        assert (await memory.verify()).problems == ()


async def test_of_a_session_that_begins_incognito_nothing_is_written(tmp_path: Path) -> None:
    root, name = tmp_path / "m", canary("name")
    async with pagefault.open(root) as memory:
        session = await memory.session(name, system=f"Say {SECRET}.", control="incognito")
        assert SECRET in await talk(session, f"It is {SECRET}.")
        assert await memory.session(name) is session
        assert await memory.sessions() == []
        with pytest.raises(pagefault.BadInput):
            await session.set_control("assist")
        with pytest.raises(pagefault.StoreReadOnly):
            await session.fork("aside")
        assert [row.page_id for row in await memory.pages(session)] == ["msg_1", "msg_2"]
    assert not Files(root).traces({"said": SECRET, "name": name})
    async with pagefault.open(root) as memory:
        with pytest.raises(pagefault.SessionNotFound):
            await memory.session(name, create=False)


@pytest.mark.parametrize("mode", ["off", "capture_only"])
async def test_nothing_is_brought_in_where_the_mode_says_so(tmp_path: Path, mode: str) -> None:
    async with pagefault.open(tmp_path / "m", window=2_000) as memory:
        session = await memory.session("talk")
        await talk(session, "I live in Oslo. Always answer in French. The parrot is Zebulon.")
        for number in range(12):
            await talk(session, f"Filler number {number} about nothing in particular at all. " * 12)
        fork = await session.fork("control")
        assert "Zebulon" in await talk(fork, "What is the parrot called?")
        await session.set_control(mode)
        await session.user("What is the parrot called?")
        request = await session.request()
        assert "Zebulon" not in shown(request)
        assert "Oslo" not in shown(request)
        assert "French" not in shown(request)
        assert request.tools == ()
        assert (await session.recall("parrot")).hits, "a person may ask"
        await session.assistant("I don't know.")
        await session.set_control("assist")
        assert "Zebulon" in await talk(session, "What is the parrot called?")


async def test_capture_only_keeps_what_is_said(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk", control="capture_only")
        await talk(session, "We decided to use PostgreSQL for the database.")
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        assert session.control == "capture_only"
        assert (await session.recall("PostgreSQL")).hits
        assert len(await session.claims()) == 1


async def test_paused_brings_back_what_was_kept(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=2_000) as memory:
        session = await memory.session("talk")
        await talk(session, "The parrot is Zebulon.")
        for number in range(12):
            await talk(session, f"Filler number {number} about nothing in particular at all. " * 12)
        await session.set_control("paused")
        assert "Zebulon" in await talk(session, "What is the parrot called?")


async def test_a_mode_for_the_whole_memory_reaches_every_session(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        session = await memory.session("talk")
        await talk(session, "Hello")
        await other.set_control("paused")
        assert await memory.control() == "paused"
        assert (await memory.session("talk")) is session
        assert session.control == "paused"
        before = sizes(root)
        await talk(session, f"It is {SECRET}.")
        await talk(await memory.session("new"), f"It is {SECRET}.")
        assert sizes(root) == before
        await memory.set_control("assist")
        assert session.control == "assist"
        await session.set_control("off")
        assert await memory.controls() == {session.session_id: "off"}, "the last that was said"
    assert not Files(root).traces({"said": SECRET})


@pytest.mark.parametrize("mode", DARK)
async def test_a_mode_that_another_process_gives_a_session_counts_whoever_writes_to_it(
    tmp_path: Path, mode: str
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        session = await memory.session("talk")
        await talk(session, "Hello")
        await other.set_control(mode, session="talk")
        assert (await memory.session("talk")).control == mode
        await talk(session, f"It is {SECRET}.")
        await other.set_control("assist", session="talk")
        assert (await memory.session("talk")).control == "assist"
        assert [row.page_id for row in await memory.pages(session)] == ["msg_1", "msg_2"]
        with pytest.raises(pagefault.SessionNotFound):
            await other.set_control("off", session="nobody")
    assert not Files(root).traces({"said": SECRET})


@pytest.mark.parametrize("mode", DARK)
@pytest.mark.parametrize("session", ["", "talk"])
async def test_a_mode_of_another_process_reaches_a_session_that_is_at_hand(
    tmp_path: Path, mode: str, session: str
) -> None:
    """Not only once it is asked for again: nothing more is written from then on."""
    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        talks = await memory.session("talk")
        await talk(talks, "The harbour is in Lisbon.")
        await other.set_control(mode, session=session)
        before = sizes(root)
        await talk(talks, f"It is {SECRET}.")
        await talks.document(SECRET, title="A page")
        await talks.pin("msg_1")
        assert (await talks.recall(SECRET)).hits, "it goes on, as if it had been switched here"
        assert (await talks.status()).control == talks.control == mode
        assert sizes(root) == before
        await other.set_control("assist", session=session)
        shown_then = await talk(talks, "Where is the harbour?")
        assert "Lisbon" in shown_then
        assert SECRET not in shown_then
        assert talks.control == "assist"
        assert sizes(root) != before, "the control: it is written again"
    assert not Files(root).traces({"said": SECRET})


async def test_a_mode_that_comes_while_a_verb_plans_stops_it_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagefault.service.turn.append import Saying

    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        session = await memory.session("talk")
        await talk(session, "Hello")
        plan = Saying.known

        async def planned(self: Saying, items: Any) -> Any:
            await other.set_control("paused")
            monkeypatch.setattr(Saying, "known", plan)
            return await plan(self, items)

        monkeypatch.setattr(Saying, "known", planned)
        with pytest.raises(pagefault.StoreBusy, match="paused"):
            await session.user(f"It is {SECRET}.")
        before = sizes(root)
        await session.user(f"It is {SECRET}.")  # as the error says
        assert (session.control, sizes(root)) == ("paused", before)
    assert not Files(root).traces({"said": SECRET})


@pytest.mark.parametrize("by_another", [False, True], ids=["here", "by another process"])
async def test_a_mode_that_comes_while_a_session_begins_counts_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_another: bool
) -> None:
    from pagefault.service.journal import Journal

    root = tmp_path / "m"
    opens = Journal.open_session
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        pauses: list[asyncio.Task[None]] = []

        async def open_session(self: Journal, *given: Any) -> Any:
            monkeypatch.setattr(Journal, "open_session", opens)
            by = other if by_another else memory
            pauses.append(asyncio.create_task(by.set_control("paused")))
            await asyncio.wait(pauses, timeout=None if by_another else 0.2)
            return await opens(self, *given)

        monkeypatch.setattr(Journal, "open_session", open_session)
        session = await memory.session("talk")
        await asyncio.gather(*pauses)
        await talk(session, f"It is {SECRET}.")
        assert session.control == "paused"
        assert await memory.control_of("talk") == "paused"
    assert not Files(root).traces({"said": SECRET})


async def test_a_fork_of_a_session_that_another_process_pauses_meanwhile_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagefault.service.journal import Journal

    opens = Journal.open_session
    async with pagefault.open(tmp_path / "m") as memory, pagefault.open(tmp_path / "m") as other:
        session = await memory.session("talk")
        await talk(session, "Hello")

        async def open_session(self: Journal, *given: Any) -> Any:
            await other.set_control("paused")
            return await opens(self, *given)

        monkeypatch.setattr(Journal, "open_session", open_session)
        with pytest.raises(pagefault.StoreReadOnly, match="paused"):
            await session.fork("aside")
        assert [row.name for row in await memory.sessions()] == ["talk"]


async def test_of_two_modes_the_one_that_was_set_last_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the second comes while sessions are given the first."""
    have = pagefault.Memory._have
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        await talk(session, "Hello")
        second: list[asyncio.Task[None]] = []

        async def having(self: pagefault.Memory, *given: Any) -> None:
            monkeypatch.setattr(pagefault.Memory, "_have", have)
            second.append(asyncio.create_task(memory.set_control("off")))
            await asyncio.wait(second, timeout=0.2)
            await have(self, *given)

        monkeypatch.setattr(pagefault.Memory, "_have", having)
        await memory.set_control("capture_only")
        await asyncio.gather(*second)
        await talk(session, f"It is {SECRET}.")
        assert session.control == "off"
    assert not Files(tmp_path / "m").traces({"said": SECRET})


async def test_other_sessions_are_written_as_before(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        [one, two] = [await memory.session("one"), await memory.session("two")]
        await talk(one, "Hello")
        await other.set_control("paused", session="one")
        await talk(two, "We use Postgres.")
        assert two.control == "assist"
        assert (await other.recall("Postgres")).hits


async def test_what_is_shared_by_a_session_that_is_paused_elsewhere_is_not_written(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory, pagefault.open(root) as other:
        session = await memory.session("talk")
        await memory.create_region("plans")
        await session.mount("plans", "rw")
        await other.set_control("paused")
        with pytest.raises(pagefault.StoreReadOnly):
            await session.share(SECRET, "plans")
        with pytest.raises(pagefault.StoreReadOnly):
            await memory.create_region("more")
        with pytest.raises(pagefault.StoreReadOnly):
            await session.fork("aside")
    assert not Files(root).traces({"said": SECRET})


async def test_nothing_is_forgotten_by_its_age_while_nothing_is_written(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await talk(await memory.session("talk"), "Hello")
        await memory.set_retention("7d")
        await memory.set_control("paused")
        with pytest.raises(pagefault.StoreReadOnly):
            await memory.expire()
        assert await memory.keep_retention() == ""


async def test_what_another_verb_was_doing_is_not_written_after_the_switch(tmp_path: Path) -> None:
    root = tmp_path / "m"
    async with pagefault.open(root) as memory:
        session = await memory.session("talk")
        results = await asyncio.gather(
            *(session.user(f"Message {number}.") for number in range(20)),
            session.set_control("paused"),
            *(session.user(f"{SECRET} {number}.") for number in range(20)),
            return_exceptions=True,
        )
        failed = [one for one in results if isinstance(one, BaseException)]
        assert all(isinstance(one, pagefault.StoreBusy) for one in failed)
    told = Files(root).traces({"said": SECRET})
    assert not told or failed == []


async def test_forgetting_reaches_what_an_unkept_conversation_shows(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("talk")
        page = await session.user(f"It is {SECRET}.")
        await session.request()
        await session.assistant("Noted.")
        await session.set_control("incognito")
        assert SECRET in await talk(session, "Go on.")
        await memory.forget("talk", page)
        assert SECRET not in await talk(session, "Go on.")
    assert not Files(tmp_path / "m").traces({"said": SECRET})


async def test_an_unknown_mode_is_refused_and_changes_nothing() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        wrong: Any = "private"
        with pytest.raises(pagefault.BadInput):
            await session.set_control(wrong)
        with pytest.raises(pagefault.BadInput):
            await memory.set_control(wrong)
        assert session.control == "assist"


@pytest.mark.parametrize("root", [":memory:", "files"])
async def test_the_sync_face_has_it_too(tmp_path: Path, root: str) -> None:
    where = root if root == ":memory:" else str(tmp_path / "m")

    def run() -> None:
        with pagefault.sync.open(where, control="capture_only") as memory:
            session = memory.session("talk")
            assert session.control == "capture_only"
            session.set_control("off")
            session.user("Hello")
            assert session.status().control == "off"

    import asyncio

    await asyncio.to_thread(run)
