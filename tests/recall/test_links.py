"""Pages that have no word of a question, found by what its best pages name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import pagefault
from pagefault import SearchFilter
from pagefault.recall import links
from pagefault.service.memory import Memory
from pagefault.service.session import Session

SAID = SearchFilter(kinds=("transcript",))


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with pagefault.open(":memory:") as memory:
        yield memory


async def talk(memory: Memory, *said: str, between: int = 12) -> Session:
    session = await memory.session("talk")
    for text in said:
        await session.user(text)
        for number in range(between):
            await session.assistant(f"Noted, remark {number} of a grey afternoon.")
    return session


async def found(
    memory: Memory, session: Session, query: str, wanted: SearchFilter = SAID
) -> dict[str, float]:
    """What is found, in order, and how much each page has by a link."""
    hits = (await session.recall(query, limit=50, wanted=wanted)).hits
    return {(await memory.read(hit.page)).text: hit.parts["link"] for hit in hits}


FIX = "The login fix is ABC-7."
WAITS = "ABC-7 waits for a certificate from the vendor."


async def test_a_task_that_the_best_page_names_leads_to_the_others_that_name_it(
    memory: Memory,
) -> None:
    links_of = await found(memory, await talk(memory, FIX, WAITS), "Why is the login fix late?")
    assert next(iter(links_of)) == FIX
    assert links_of[WAITS] > 0
    assert links_of[FIX] == 0


async def test_what_is_found_so_counts_in_the_total_and_has_parts_that_add_up(
    memory: Memory,
) -> None:
    session = await talk(memory, FIX, WAITS)
    result = await session.recall("Why is the login fix late?", limit=50, wanted=SAID)
    assert result.total == len(result.hits)
    for hit in result.hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        assert set(hit.parts) == set(result.hits[0].parts)


async def test_a_name_is_a_weaker_bond_than_a_task(memory: Memory) -> None:
    said = ["The login fix is ABC-7, ask Ilse Karga.", WAITS, "We owe Ilse Karga a coffee."]
    links_of = await found(memory, await talk(memory, *said), "Why is the login fix late?")
    assert links_of[said[1]] > links_of[said[2]] > 0


async def test_what_many_pages_name_is_no_bond(memory: Memory) -> None:
    many = [f"ABC-7 again, remark {number}." for number in range(links.RARE_MAX + 1)]
    links_of = await found(
        memory, await talk(memory, FIX, *many, between=2), "Why is the login fix late?"
    )
    assert not any(links_of.values())


async def test_what_many_pages_name_is_no_bond_though_few_of_them_are_looked_at(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "STRETCHES_MAX", 12)
    tasks = [f"ABC-7 again, remark {number}." for number in range(16)]
    both = "ABC-7 is for Zorro to mend."
    names = [f"Zorro rode by, remark {number}." for number in range(16)]
    said = ["The login fix is ABC-7, ask Zorro.", *tasks, *names, both]
    links_of = await found(memory, await talk(memory, *said), "Why is the login fix late?")
    assert not any(links_of.values())


async def test_a_page_that_tells_little_of_the_question_leads_nowhere(memory: Memory) -> None:
    session = await talk(memory, FIX, WAITS)
    links_of = await found(memory, session, "login of the harbour pilot at the mayor's office")
    assert not any(links_of.values())


async def test_what_is_found_through_a_page_does_not_outrank_it(memory: Memory) -> None:
    """It stands beside other answers, too, and by that and the link it would lead."""
    waits, asked = "ABC-7 waits for the bootloader.", "What was ABC-7?"
    session = await talk(memory, waits, between=8)
    await session.user("The bootloader is reviewed on Friday, in the large room by the stairs.")
    await session.user("The new bootloader is flashed in forty seconds, so it is quick.")
    await session.user(asked)
    found_by = list(await found(memory, session, "bootloader"))
    assert asked in found_by
    assert found_by.index(waits) < found_by.index(asked)


async def test_what_only_stands_beside_an_answer_leads_nowhere(memory: Memory) -> None:
    """The best pages are three here, and the third is none but the answer's neighbour."""
    said = ["The bus is RS-485, with terminators.", "Noted, RS-485.", "We chose Postgres.", "Good."]
    session = await talk(memory, *said, between=0)
    links_of = await found(memory, session, "Postgres")
    assert next(iter(links_of)) == "We chose Postgres."
    assert not any(links_of.values())


async def test_a_link_leads_to_nothing_that_is_not_wanted(memory: Memory) -> None:
    session = await talk(memory, FIX)
    await session.assistant(WAITS)
    typed = SearchFilter(kinds=("transcript",), origins=("user_typed",))
    query = "Why is the login fix late?"
    assert WAITS in await found(memory, session, query)
    assert WAITS not in await found(memory, session, query, typed)


async def test_what_was_forgotten_is_not_linked(memory: Memory) -> None:
    session = await talk(memory, FIX)
    await memory.forget(session.name, page_id=await session.user(WAITS))
    assert WAITS not in await found(memory, session, "Why is the login fix late?")


async def test_links_are_followed_over_every_session(memory: Memory) -> None:
    await talk(memory, FIX)
    other = await memory.session("other")
    page_id = await other.user(WAITS)
    hits = (await memory.recall("Why is the login fix late?", limit=50)).hits
    assert any(hit.session_id == other.session_id and hit.page.page_id == page_id for hit in hits)
