"""Undo and redo of pins, goals and claims: what stood stands again, as far as it is there."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import pagefault
from pagefault import CannotUndo, PinsFull, Session
from tests.examples import few
from tests.service.memories import text_of, words

T = TypeVar("T")
POSTGRES = "We decided to use PostgreSQL for the database."
MYSQL = "We decided to use MySQL for the database."


async def goal_of(session: Session) -> str:
    page_id = (await session.status()).auto_pins.goal
    return (await session.page(page_id)).text if page_id else ""


async def pins_of(session: Session) -> set[str]:
    """The texts of the pinned pages: what comes back may be a page of another id."""
    return {(await session.page(page)).text for page in (await session.status()).pinned}


async def held_in(session: Session) -> list[tuple[str, tuple[str, ...]]]:
    """What stands, with the words that it rests on."""
    told = await session.claims()
    return [(claim.value, claim.quotes) for claim in told if claim.status == "standing"]


async def test_a_pin_is_undone_and_redone(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("one")
        await session.pin("msg_1")
        for dry_run in (True, False):
            done = await session.undo(dry_run=dry_run)
            assert (done.what, done.page_ids, done.standing) == ("pin", ("msg_1",), ())
            assert await pins_of(session) == ({"one"} if dry_run else set())
        for dry_run in (True, False):
            assert (await session.redo(dry_run=dry_run)).standing == ("msg_1",)
            assert await pins_of(session) == (set() if dry_run else {"one"})
        assert await pins_of(session) == {"one"}
        await session.unpin("msg_1")
        assert (await session.undo()).what == "unpin"
        assert await pins_of(session) == {"one"}


async def test_what_was_done_first_is_undone_last_and_then_nothing_is_left(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("one")
        with pytest.raises(CannotUndo, match="nothing to undo"):
            await session.undo()
        await session.pin("msg_1")
        await session.goal("Draw the wells.")
        assert [(await session.undo()).what for _ in range(2)] == ["goal", "pin"]
        with pytest.raises(CannotUndo, match="nothing to undo"):
            await session.undo()
        await session.redo()
        await session.goal("Draw the gates.")
        with pytest.raises(CannotUndo, match="nothing to redo"):
            await session.redo()


async def test_the_goal_before_stands_again_pinned(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.goal("Draw the wells.")
        await session.goal("Draw the gates.")
        await session.undo()
        assert await goal_of(session) == "Draw the wells."
        assert await pins_of(session) == {"Draw the wells."}
        await session.undo()
        assert (await goal_of(session), await pins_of(session)) == ("", set())
        await session.redo()
        await session.redo()
        assert await goal_of(session) == "Draw the gates."
        await session.goal("")
        await session.undo()
        assert await goal_of(session) == "Draw the gates."
        assert await pins_of(session) == {"Draw the gates."}


async def test_a_claim_that_another_took_the_place_of_stands_again(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user(POSTGRES)
        first = await held_in(session)
        assert len(first) == 1, "a control: the message makes a claim"
        await session.user(MYSQL)
        second = await held_in(session)
        assert len(second) == 1
        assert second != first
        origins = {claim.origin for claim in await session.claims()}
        assert (await session.undo()).what == "claims"
        assert await held_in(session) == first, "the same words, on the same evidence"
        assert (await session.page("msg_2")).text == MYSQL, "what was said stays"
        await session.redo()
        assert await held_in(session) == second
        await session.undo()
        await session.undo()
        assert await held_in(session) == []
        told = await session.claims()
        assert {one.origin for one in told if one.status != "closing"} - {"runtime"} <= origins
        await session.redo()
        assert await held_in(session) == first
        session.check()


async def test_a_restart_remembers_what_can_be_undone(tmp_path: Path) -> None:
    for step in range(4):
        async with pagefault.open(tmp_path / "m", sync="os") as memory:
            session = await memory.session("s")
            if step == 0:
                await session.user(POSTGRES)
                await session.user(MYSQL)
                await session.goal("Draw the wells.")
                before = await held_in(session)
            elif step == 1:
                assert [(await session.undo()).what for _ in range(2)] == ["goal", "claims"]
            elif step == 2:
                assert [(await session.redo()).what for _ in range(2)] == ["claims", "goal"]
            else:
                assert await held_in(session) == before
                assert await goal_of(session) == "Draw the wells."


async def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user(POSTGRES)
        await session.user(MYSQL)
        await session.undo()
        await memory.forget(session, "msg_1")
        assert await held_in(session) == [], "what was undone does not stand for want of another"
        await memory.forget(session, "msg_2")
        with pytest.raises(CannotUndo, match="forgotten"):
            await session.redo()
        await session.user("one")
        await session.pin("msg_3")
        await session.unpin("msg_3")
        await memory.forget(session, "msg_3")
        with pytest.raises(CannotUndo, match="would bring back msg_3"):
            await session.undo()
        assert await pins_of(session) == set()


@pytest.mark.parametrize("named", [0, 1], ids=["the first", "the one that came back"])
async def test_words_that_came_back_are_forgotten_with_those_they_are_of(
    tmp_path: Path, named: int
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        first = await session.goal("Ship the zanzibar.")
        await session.goal("Rest.")
        [again] = (await session.undo()).standing
        assert first is not None
        await memory.forget(session, (first, again)[named])
    for file in (tmp_path / "m").rglob("*"):
        assert file.is_dir() or b"zanzibar" not in file.read_bytes(), file


async def test_a_fork_undoes_for_itself_alone(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user(POSTGRES)
        await session.goal("Draw the wells.")
        await session.checkpoint("then")
        await session.goal("Draw the gates.")
        fork = await session.fork("f", checkpoint="then")
        assert [(await fork.undo()).what for _ in range(2)] == ["goal", "claims"]
        assert (await goal_of(fork), await held_in(fork)) == ("", [])
        assert await goal_of(session) == "Draw the gates."
        assert len(await held_in(session)) == 1
        await session.undo()
        assert await goal_of(session) == "Draw the wells."
        await fork.redo()
        assert len(await held_in(fork)) == 1


async def test_another_opening_undoes_what_the_first_did(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.goal("Draw the wells.")
        await session.goal("Draw the gates.")
    async with pagefault.open(tmp_path / "m", sync="os") as other:
        seen = await other.session("s")
        async with pagefault.open(tmp_path / "m", sync="os") as memory:
            await (await memory.session("s")).undo()
        assert (await seen.redo()).what == "goal"
        assert await goal_of(seen) == "Draw the gates."


async def test_history_says_that_a_person_undid_it_and_what(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user("one")
        await session.pin("msg_1")
        await session.undo()
        pinned, unpinned = (await session.history("msg_1", actor="user"))[-2:]
        assert (pinned.what, unpinned.what) == ("pinned", "unpinned")
        assert (unpinned.cause, str(unpinned.actor)) == (pinned.seq, "user")
        assert unpinned.tier_before == unpinned.tier_after


async def test_an_undo_begins_no_epoch_of_its_own(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.user(POSTGRES)
        await session.request()
        await session.goal("Draw the wells.")
        await session.user("Go on.")
        await session.request()
        epoch = (await session.status()).epoch
        await session.undo()
        await session.undo()
        await session.user("And on.")
        await session.request()
        assert (await session.status()).epoch == epoch


async def test_the_next_request_tells_what_was_undone_and_what_stands_again(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        for text in (POSTGRES, MYSQL, "Go on."):
            await session.user(text)
            shown = text_of(await session.request())
        assert "clm_2" in shown
        [again] = (await session.undo()).standing
        for text in ("And on.", "And further on."):
            await session.user(text)
            shown = text_of(await session.request())
        assert "Undone: clm_2 is taken back." in shown
        assert again in shown
        assert (await session.recall("Which database do we use?")).hits


async def test_a_pin_that_has_no_room_any_more_does_not_come_back(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=2_000) as memory:
        session = await memory.session("s")
        large = await session.user(words(80))
        await session.pin(large)
        await session.unpin(large)
        await session.user("Go on.")
        await session.configure(window=850)
        before = await session.history(actor="user")
        with pytest.raises(PinsFull):
            await session.undo()
        assert await session.history(actor="user") == before, "nothing was written"


SAYINGS = [
    "We decided to use PostgreSQL for the database.",
    "We decided to use MySQL for the database.",
    "We decided to use Redis for the cache.",
    "I prefer short answers.",
]
GOALS = ["", "Draw the wells.", "Draw the gates."]


class UndoMachine(RuleBasedStateMachine):
    """Any acts, undone and redone, over restarts: a list of states, and a place in it."""

    @initialize()
    def open(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._loop = asyncio.new_event_loop()
        self._open()
        for number in range(3):
            self._do(self._session.document(f"plain{number}"))
        self.states: list[Any] = [self._seen()]
        self.place = 0

    def _do(self, awaited: Awaitable[T]) -> T:
        async def waited() -> T:
            return await awaited

        return self._loop.run_until_complete(waited())

    def _open(self) -> None:
        self._opening = pagefault.open(self._folder.name, sync="os")
        self._memory = self._do(self._opening.__aenter__())
        self._session = self._do(self._memory.session("s"))

    def _seen(self) -> Any:
        async def seen() -> Any:
            session = self._session
            held = sorted(await held_in(session))
            return await goal_of(session), await pins_of(session), held

        return self._do(seen())

    def _acted(self, before: Any, *, has_acted: bool | None = None) -> None:
        seen = self._seen()
        if (seen != before) if has_acted is None else has_acted:
            del self.states[self.place + 1 :]
            self.states.append(seen)
            self.place += 1

    @rule(number=st.integers(1, 3))
    def pin(self, number: int) -> None:
        before = self._seen()
        self._do(self._session.pin(f"art_{number}"))
        self._acted(before)

    @rule(number=st.integers(1, 3))
    def unpin(self, number: int) -> None:
        before = self._seen()
        self._do(self._session.unpin(f"art_{number}"))
        self._acted(before)

    @rule()
    def unpin_the_goal(self) -> None:
        before = self._seen()
        page_id = self._do(self._session.status()).auto_pins.goal
        if page_id:
            self._do(self._session.unpin(page_id))
            self._acted(before)

    @rule(text=st.sampled_from(GOALS))
    def goal(self, text: str) -> None:
        stands = bool(self._seen()[0])
        self._do(self._session.goal(text))
        self._acted(None, has_acted=bool(text) or stands)

    @rule(text=st.sampled_from(SAYINGS))
    def say(self, text: str) -> None:
        before = self._seen()
        self._do(self._session.user(text))
        self._acted(before)

    @rule()
    def undo(self) -> None:
        if self.place == 0:
            with pytest.raises(CannotUndo):
                self._do(self._session.undo())
        else:
            self._do(self._session.undo())
            self.place -= 1

    @rule()
    def redo(self) -> None:
        if self.place + 1 == len(self.states):
            with pytest.raises(CannotUndo):
                self._do(self._session.redo())
        else:
            self._do(self._session.redo())
            self.place += 1

    @rule()
    def restart(self) -> None:
        self._do(self._opening.__aexit__(None, None, None))
        self._open()

    @invariant()
    def is_as_it_was(self) -> None:
        if hasattr(self, "states"):
            assert self._seen() == self.states[self.place]
            self._session.check()

    def teardown(self) -> None:
        if hasattr(self, "_memory"):
            self._do(self._opening.__aexit__(None, None, None))
            self._loop.close()
            self._folder.cleanup()


TestUndoMachine = UndoMachine.TestCase
TestUndoMachine.settings = few(4, torture=60, stateful_step_count=25)
