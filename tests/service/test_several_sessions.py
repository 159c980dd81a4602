"""Asking several sessions of a memory: what they see, as if there were nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import pagefault
from pagefault import Memory, SearchFilter
from pagefault.model.errors import BadInput, SessionNotFound
from pagefault.recall.search import SearchResult

Talks = Mapping[str, tuple[str, ...]]

ANN: Talks = {
    "planning": (
        "We decided to run the greenhouse heating on wood chips.",
        "The compressor must not run on Sundays.",
        "Wood chips come from the mill in Aalen, 40 cubic metres a month.",
    ),
    "workshop": (
        "The mill asked whether the greenhouse still wants wood chips.",
        "Bob repairs the compressor on Tuesday.",
    ),
}
BOB: Talks = {
    "orchard": ("The greenhouse of the orchard is heated with straw.", "Wood chips? No, straw.")
}
CROWD: Talks = {f"aisle{n}": (f"Aisle {n} of the greenhouse is dry.",) for n in range(9)}
QUESTIONS = (
    "greenhouse heating",
    "wood chips",
    "What did we decide about the compressor?",
    "straw",
)


async def fill(memory: Memory, *talks: Talks) -> None:
    for talk in talks:
        for name, lines in talk.items():
            session = await memory.session(name)
            for at, line in enumerate(lines):
                await session.user(line, occurred_at=f"2026-11-{at + 2:02}T09:00:00Z")
                await session.assistant("Noted.", occurred_at=f"2026-11-{at + 2:02}T09:00:30Z")


def told(result: SearchResult, names: dict[str, str]) -> list[tuple[object, ...]]:
    return [
        (names[hit.session_id], hit.page.page_id, hit.excerpt, round(hit.relevance, 3))
        for hit in result.hits
    ]


async def asked(memory: Memory, question: str, wanted: SearchFilter) -> list[tuple[object, ...]]:
    names = {row.session_id: row.name for row in await memory.sessions()}
    return told(await memory.recall(question, limit=20, wanted=wanted), names)


@pytest.mark.parametrize("crowd", [{}, CROWD], ids=["few", "many"])
@pytest.mark.parametrize("root", [":memory:", "m"])
async def test_all_sessions_by_name_are_everything(tmp_path: Path, root: str, crowd: Talks) -> None:
    where = root if root == ":memory:" else tmp_path / root
    async with pagefault.open(where) as memory:
        await fill(memory, ANN, BOB, crowd)
        for question in QUESTIONS:
            everything = await asked(memory, question, SearchFilter())
            assert everything, question
            wanted = SearchFilter(sessions=(*ANN, *BOB, *crowd))
            assert await asked(memory, question, wanted) == everything
        recent = await memory.recent(3, SearchFilter(sessions=(*ANN, *BOB, *crowd)))
        assert recent.hits == (await memory.recent(3)).hits


@pytest.mark.parametrize("crowd", [{}, CROWD], ids=["few", "many"])
@pytest.mark.parametrize("root", [":memory:", "m"])
async def test_what_others_said_changes_nothing_of_what_some_find(
    tmp_path: Path, root: str, crowd: Talks
) -> None:
    found = []
    for at, talks in enumerate(([ANN, crowd], [BOB, ANN, crowd], [ANN, BOB, crowd])):
        where = root if root == ":memory:" else tmp_path / f"{root}{at}"
        async with pagefault.open(where) as memory:
            await fill(memory, *talks)
            wanted = SearchFilter(sessions=(*ANN, *crowd))
            found.append([await asked(memory, question, wanted) for question in QUESTIONS])
    assert found[0] == found[1] == found[2]
    assert not any("straw" in str(hit) for hits in found[1] for hit in hits)


async def test_a_fork_among_them_brings_what_it_was_forked_off_by_then(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await fill(memory, {"planning": ANN["planning"][:1]})
        planning = await memory.session("planning")
        await planning.fork("variant")
        await planning.user("Said later: wood chips are too dear.")
        wanted = SearchFilter(sessions=("variant",))
        texts = [str(hit[2]) for hit in await asked(memory, "wood chips", wanted)]
        assert texts == [ANN["planning"][0]]
        both = SearchFilter(sessions=("variant", "planning"))
        assert len(await asked(memory, "wood chips", both)) == 2


async def test_a_region_is_seen_by_those_that_may_look_into_it(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await fill(memory, ANN, BOB)
        await memory.create_region("shelf")
        planning, orchard = await memory.session("planning"), await memory.session("orchard")
        await planning.mount("shelf", "rw")
        await planning.promote("msg_1", "shelf")
        wanted = SearchFilter(sessions=("orchard",))
        before = await memory.recall("heating on wood chips", wanted=wanted)
        assert "region:shelf" not in {hit.source for hit in before.hits}
        await orchard.mount("shelf")
        [first, *_] = (await memory.recall("heating on wood chips", wanted=wanted)).hits
        assert (first.source, first.page.page_id[:4]) == ("region:shelf", "shr_")


async def test_of_no_session_nothing_is_found(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await fill(memory, ANN)
        nothing = SearchFilter(sessions=())
        assert (await memory.recall("wood chips", wanted=nothing)).hits == ()
        assert (await memory.recent(wanted=nothing)).hits == ()


async def test_what_cannot_be_asked_so_is_refused(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        await fill(memory, ANN)
        with pytest.raises(SessionNotFound):
            await memory.recall("wood", wanted=SearchFilter(sessions=("planning", "nobody")))
        with pytest.raises(BadInput, match="several"):
            SearchFilter(session="planning", sessions=("workshop",))
        with pytest.raises(BadInput, match="is a list"):
            SearchFilter(sessions="planning")
        planning = await memory.session("planning")
        with pytest.raises(BadInput, match="only what it sees"):
            await planning.recall("wood", wanted=SearchFilter(sessions=("planning",)))
