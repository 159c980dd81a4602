"""The verbs of a session, and those of a memory, are façades over one state."""

from __future__ import annotations

import dis
import inspect
from itertools import combinations
from pathlib import Path
from types import CodeType

import pytest

import pagefault
from pagefault.service.facades.claimant import Claimant
from pagefault.service.facades.formations import Formations
from pagefault.service.facades.heater import Heater
from pagefault.service.facades.inspector import Inspector
from pagefault.service.facades.notebook import Notebook
from pagefault.service.facades.packer import Packer
from pagefault.service.facades.parts import SessionParts
from pagefault.service.facades.reader import Reader
from pagefault.service.facades.sharer import Sharer
from pagefault.service.facades.writer import Writer
from pagefault.service.lookup.questions import Asking
from pagefault.service.root.caretaker import Caretaker
from pagefault.service.root.controller import Controller
from pagefault.service.root.curator import Curator
from pagefault.service.root.eraser import Eraser
from pagefault.service.root.historian import Historian
from pagefault.service.root.librarian import Librarian
from pagefault.service.root.parts import MemoryParts
from pagefault.service.root.warden import Warden

FACADES = (Writer, Claimant, Notebook, Heater, Formations, Reader, Packer, Sharer, Inspector)
OF_A_MEMORY = (Caretaker, Controller, Curator, Eraser, Historian, Librarian, Warden)


def _verbs(cls: type) -> set[str]:
    """The public names that a class has itself, not by inheritance."""
    return {name for name in vars(cls) if not name.startswith("_")}


def test_the_verbs_of_a_session_are_those_of_its_facades_and_a_few_that_need_several() -> None:
    public = {name for name, _ in inspect.getmembers(pagefault.Session) if name[0] != "_"}
    of_several = _verbs(pagefault.Session)
    assert of_several == {"control", "fork", "restore", "run", "set_control"}
    assert public == of_several.union(*map(_verbs, (*FACADES, Asking)))
    assert _verbs(SessionParts) == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *combinations((*FACADES, Asking, pagefault.Session), 2),
        *combinations((*OF_A_MEMORY, Asking, pagefault.Memory), 2),
    ],
)
def test_no_verb_stands_in_two(one: type, other: type) -> None:
    assert _verbs(one) & _verbs(other) == set()


def _assigned(cls: type) -> set[str]:
    """The fields that the methods of a class set, and the functions in these."""
    codes = [inspect.unwrap(one).__code__ for one in vars(cls).values() if inspect.isfunction(one)]
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    return {
        step.argval
        for code in codes
        for step in dis.get_instructions(code)
        if step.opname == "STORE_ATTR"
    }


def test_control_the_fields_that_a_class_sets_are_seen() -> None:
    assert {"owned", "pressure", "_given"} <= _assigned(SessionParts)


@pytest.mark.parametrize("facade", FACADES)
def test_a_facade_keeps_nothing_of_its_own(facade: type) -> None:
    assert "__init__" not in vars(facade)
    assert _assigned(facade) <= _assigned(SessionParts)


@pytest.mark.parametrize("facade", OF_A_MEMORY)
def test_a_facade_of_a_memory_keeps_nothing_of_its_own(facade: type) -> None:
    assert "__init__" not in vars(facade)
    assert _assigned(facade) <= _assigned(MemoryParts) | {"epoch_due", "overlay"}  # of a session


async def test_looking_writes_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("work")
        page = await session.user("We picked Postgres.")
        await session.request()
        await session.assistant("Noted.")
        await session.checkpoint("c")
        before = memory.records
        looked = {
            "abi": session.abi(),
            "at": await session.at(checkpoint="c"),
            "checkpoints": await session.checkpoints(),
            "diff": await session.diff(0, 0),
            "fault_counts": session.fault_counts(),
            "faults": await session.faults(),
            "history": await session.history(page),
            "items": await session.items(),
            "ledger": await session.ledger(),
            "memory_map": await session.memory_map(),
            "metrics": await session.metrics(),
            "on_pressure": session.on_pressure(lambda before, now: None),
            "page_at": await session.page_at(page, turn=0),
            "paged_in_tokens": session.paged_in_tokens,
            "prices": session.prices,
            "recollections": await session.recollections(),
            "sent": await session.sent(0),
            "status": await session.status(),
        }
        session.check()
        with pytest.raises(pagefault.BadInput, match="not a message that a client"):
            await session.client_json(1)
        assert {*looked, "check", "client_json"} == _verbs(Inspector)
        assert memory.records == before


async def test_a_verb_that_is_called_wrongly_is_named_by_the_class_that_users_know() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("work")
        with pytest.raises(TypeError, match=r"^Session\.user: .* 'txt'"):
            await session.user("Hello", txt="Hello")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^Session\.recall: .* 'limits'"):
            await session.recall("Hello", limits=2)  # type: ignore[call-arg]
