"""What a fault tells of its effects is what the window shows."""

from __future__ import annotations

import json

import pytest

import pagefault
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from tests.service.memories import fault, faulted, words

LIMITS = Limits(recall_tokens_max=0, faults_per_turn_max=3)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_a_fault_lists_what_left_because_of_it_and_pages_leave_with_epochs_alone(
    layout: str, level: int
) -> None:
    async with open_memory(":memory:", window=2_000, limits=LIMITS, layout=layout) as memory:
        session = await memory.session("s")
        left_later = 0
        for number in range(30):
            await session.user(f"Topic{number}: {words(60, f't{number}w')}")
            await session.request()
            if number > 12:
                for nth in (1, 2):
                    before = set(session.resident())
                    page_id, call_id = f"msg_{number - 9 - nth}", f"c{number}{nth}"
                    told = await faulted(session, fault(page_id, level=level, call_id=call_id))
                    if "error" in told:
                        continue
                    effects = told["effects"]
                    assert effects["evictions"] == sorted(before - set(session.resident()))
                full = set(session.resident())
                await session.request()
                left_later += bool(full - set(session.resident()))
            await session.assistant("I see.")
        assert left_later, "the window was never full, so nothing is shown"


async def test_a_page_that_is_mapped_already_displaces_nothing() -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        session = await memory.session("s")
        await session.user("Is the blue drawer locked?")
        await session.request()
        told = await faulted(session, fault("msg_1"))
        assert told["effects"] == {
            "promoted_to_working_set": False,
            "tokens_est": 0,
            "evictions": [],
        }


def test_the_synchronous_face_is_told_the_same() -> None:
    with pagefault.sync.open(":memory:", window=4_000) as memory:
        session = memory.session("s")
        session.document("The blue drawer is locked. " * 30, title="drawers")
        session.user("Is it locked?")
        session.request()
        told = json.loads(session.call(fault("art_1", level=2)))
        assert told["effects"]["evictions"] == []
