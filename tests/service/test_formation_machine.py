"""Each range is formed exactly once, whoever is killed at whatever moment, and whoever forgets."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import pagefault
from pagefault.engine.former import FormationRequest, Proposal, ProposalKind, Proposals
from pagefault.model.errors import EngineUnreachable, PagefaultError
from pagefault.model.events import FormationBegun, FormationEnded
from pagefault.service.ownership import Owned
from pagefault.testing.formers import ScriptedFormer
from tests.examples import few
from tests.warm import python

LIMITS = pagefault.Limits(summarised_tokens_max=120, formation_tries_max=3)
FATES = ("answers", "answers", "fails", "killed", "forgets")


class Killed(BaseException):
    """This process is no more, as far as anybody can tell from the log."""


class Fated(ScriptedFormer):
    """Meets a fate when it is asked: it answers, fails, or the process is killed meanwhile."""

    def __init__(self, machine: FormationMachine, fate: str) -> None:
        super().__init__(lambda given: [_sentence(given)], reads_window=True)
        object.__setattr__(self, "machine", machine)
        object.__setattr__(self, "fate", fate)

    async def form(self, given: FormationRequest) -> Proposals:
        machine, fate = self.machine, self.fate  # type: ignore[attr-defined]
        if fate == "fails":
            raise EngineUnreachable("no answer", hint="wait")
        if fate == "killed":
            raise Killed
        if fate == "forgets":
            with suppress(PagefaultError):
                await machine.memory.forget(machine.session, given.pages[-1].page_id)
        return await super().form(given)


def _sentence(given: FormationRequest) -> Proposal:
    return Proposal(kind=ProposalKind.SUMMARY, text="They talked.", pages=(given.first,))


class FormationMachine(RuleBasedStateMachine):
    """A session that is talked to, formed, killed and opened again, beside what the log says."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="pagefault-formation-")
        self._loop = asyncio.new_event_loop()
        self._opening: Any = None
        self.memory: Any = None
        self.session: Any = None
        self._talked = 0
        self._fold: list[Any] = []

    def _do(self, verb: Any) -> Any:
        return self._loop.run_until_complete(verb)

    def _open(self) -> None:
        self._opening = pagefault.open(
            Path(self._folder.name) / "m", sync="os", window=1_800, limits=LIMITS
        )
        self.memory = self._do(self._opening.__aenter__())
        self.session = self._do(self.memory.session("s"))

    def _close(self) -> None:
        self._do(self._opening.__aexit__(None, None, None))

    def teardown(self) -> None:
        self._close()
        self._loop.close()
        self._folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self._open()

    @rule(turns=st.integers(1, 3), size=st.integers(5, 60))
    def talk(self, turns: int, size: int) -> None:
        for _ in range(turns):
            self._talked += 1
            said = " ".join(f"w{self._talked}" for _ in range(size))
            self._do(self.session.user(f"About it, {said}"))
            self._do(self.session.request())
            self._do(self.session.assistant(f"Noted {self._talked}."))

    @rule(fate=st.sampled_from(FATES))
    def form(self, fate: str) -> None:
        former = Fated(self, fate)
        try:
            self._do(self.session.form(former=former))
        except EngineUnreachable:
            pass
        except Killed:
            self._close()  # what it did not finish, nobody here knows any more
            self._open()

    @rule()
    def reopen(self) -> None:
        self._close()
        self._open()

    @invariant()
    def each_range_is_formed_once(self) -> None:
        if self.session is None:
            return
        events = self._loop.run_until_complete(_records(self.session))
        begun = [e.body for e in events if isinstance(e.body, FormationBegun)]
        ended = [e.body for e in events if isinstance(e.body, FormationEnded)]
        assert max(Counter(one.order_from for one in ended).values(), default=1) == 1
        boundaries: set[tuple[int, int]] = {
            (one.order_from, one.order_to) for some in (begun, ended) for one in some
        }
        for first, last in boundaries:
            for other in boundaries - {(first, last)}:
                assert last < other[0] or other[1] < first, "two ranges have a page in common"
        for tries in Counter(one.order_from for one in begun).values():
            assert tries <= LIMITS.formation_tries_max
        made = [page for one in ended for page in one.made]
        assert len(made) == len(set(made))
        summaries = self._loop.run_until_complete(_summaries(self.session))
        assert summaries <= set(made), "something was formed that no range has an end for"
        open_ones = {one.order_from for one in begun} - {one.order_from for one in ended}
        assert len(open_ones) <= 1, "a range was taken up before the last one ended"
        self.session.check()


async def _records(session: Any) -> list[Any]:
    await session.owned.written()
    types = ("formation_begun", "formation_ended")
    return await asyncio.to_thread(session._runtime.events_of, session.session, types)


async def _summaries(session: Any) -> set[str]:
    """What a former made and is there still."""
    from pagefault.model.kinds import Kind
    from pagefault.store.api import PageFilter

    runtime = session._runtime
    scope = runtime.scope(session.session).derived
    rows = await asyncio.to_thread(
        runtime.index.pages, scope, PageFilter(kinds=(Kind.SUMMARY,)), limit=1_000
    )
    pages = [await asyncio.to_thread(runtime.pages.read, row) for row in rows]
    return {page.page_id for page in pages if page.text.startswith("They talked.")}


def test_each_range_is_formed_exactly_once_over_kills() -> None:
    run_state_machine_as_test(FormationMachine, settings=few(8, stateful_step_count=12))


def test_control_a_build_that_writes_an_end_in_a_batch_of_its_own_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = Owned.commit

    async def torn(self: Owned, drafts: Any, **how: Any) -> Any:
        if len(drafts) > 1 and isinstance(drafts[-1].body, FormationEnded):
            await commit(self, drafts[:-1], **how)
            raise Killed
        return await commit(self, drafts, **how)

    monkeypatch.setattr(Owned, "commit", torn)
    machine = FormationMachine()
    machine.begin()
    machine.talk(turns=3, size=60)
    machine.each_range_is_formed_once()
    machine.form(fate="answers")
    with pytest.raises(AssertionError, match="no range has an end for"):
        machine.each_range_is_formed_once()
    machine.teardown()


_LIFE = """
import asyncio, os, signal, sys
import pagefault
from pagefault.engine.former import Proposal, ProposalKind
from pagefault.testing.formers import ScriptedFormer

async def live(root, dies_at):
    limits = pagefault.Limits(summarised_tokens_max=120)
    async with pagefault.open(root, sync="group", limits=limits) as memory:
        session = await memory.session("s")
        for turn in range(12 if not (await session.status()).pages else 0):
            await session.user(f"About it, {turn}: " + " ".join(f"w{turn}" for _ in range(20)))
            await session.assistant("Noted.")
        asked = []
        def script(given):
            asked.append(given.first)
            if len(asked) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return [Proposal(kind=ProposalKind.SUMMARY, text="They talked.", pages=(given.first,))]
        await session.form(former=ScriptedFormer(script))

asyncio.run(live(sys.argv[1], int(sys.argv[2])))
"""


def test_a_process_that_is_killed_in_the_middle_leaves_a_range_that_another_takes_up(
    tmp_path: Path,
) -> None:
    root, env = tmp_path / "m", {**os.environ, "HOME": str(tmp_path)}
    for dies_at in (2, 1):
        life = subprocess.run(
            [*python(), "-c", _LIFE, str(root), str(dies_at)],
            capture_output=True,
            timeout=300,
            check=False,
            env=env,
        )
        assert life.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), life.stderr.decode()

    async def look() -> None:
        async with pagefault.open(root, limits=LIMITS) as memory:
            session = await memory.session("s", create=False)
            [first, second, *due] = await session.formations()
            assert (first.outcome, first.tries) == ("formed", 1)
            assert (second.outcome, second.tries) == ("begun", 2)
            assert due
            former = ScriptedFormer(lambda given: [_sentence(given)])
            formed = await session.form(former=former)
            assert (formed[0].first, formed[0].tries) == (second.first, 3)
            ranges = [one.first for one in await session.formations()]
            assert len(ranges) == len(set(ranges))

    asyncio.run(look())
