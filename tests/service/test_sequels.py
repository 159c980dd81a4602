"""What a question brings in that has none of its words, and how it is told what is newer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import pagefault
from pagefault import Memory, Session
from pagefault.engine.scripted import Passage, passages_of

WINDOW = 2_000


@pytest.fixture
async def memory(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    async with pagefault.open(":memory:", window=WINDOW) as memory:
        yield memory


async def goes_by(session: Session, turns: int = 40) -> None:
    """So much talk about something else that what was said before has left the window."""
    for number in range(turns):
        await session.user(f"Row {number} of the ledger was ink, {number * 7} lines of it.")
        await session.assistant(f"Then row {number} is copied, and its ink is dry by evening. " * 2)
        await session.request()


async def shown(session: Session, question: str) -> list[Passage]:
    """The pages that the request shows with this question, in their order, but for that itself."""
    await session.user(question)
    request = await session.request()
    assert request.tokens <= WINDOW
    pages = [page for message in request.messages for page in passages_of(message)]
    return [page for page in pages if page.text != question]


def texts(pages: list[Passage]) -> list[str]:
    return [page.text for page in pages]


async def chosen(session: Session, answer: str) -> None:
    await session.user("Which firmware for the heron feeder?")
    await session.assistant("There are Calypso and Dorado, both of them stable.")
    await session.user(answer)
    await session.assistant("Noted.")


async def test_a_choice_comes_with_the_question_that_it_answers(memory: Memory) -> None:
    session = await memory.session("s")
    await chosen(session, "Dorado, then.")
    await goes_by(session)
    assert "Dorado, then." in texts(await shown(session, "What does the heron feeder run?"))


async def test_what_was_said_since_of_something_else_does_not_come(memory: Memory) -> None:
    session = await memory.session("s")
    await session.user("The heron feeder runs on Calypso.")
    await session.assistant("Noted.")
    await goes_by(session, 6)
    since = ("Calypso crashed last night, so Dorado has taken over.", "The kiln cracked on Sunday.")
    for text in since:
        await session.user(text)
        await session.assistant("Noted, and thank you for telling me so soon.")
        await goes_by(session, 6)
    await goes_by(session)
    pages = texts(await shown(session, "What does the heron feeder run?"))
    assert [text for text in since if text in pages] == [since[0]]


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "The heron feeder runs on Calypso.",
            "Calypso crashed last night, so Dorado has taken over.",
            "What does the heron feeder run on?",
        ),
        (
            "Der Futterautomat am Teich läuft mit Calypso.",
            "Calypso ist heute Nacht abgestürzt, jetzt übernimmt Dorado.",
            "Womit läuft der Futterautomat?",
        ),
        (
            "Always flush the heron tank on Fridays.",
            "Never flush the heron tank on Fridays.",
            "When is the heron tank flushed?",
        ),
        (
            "Use tabs in the feeder code.",
            "Don't use tabs in the feeder code.",
            "Tabs in the feeder?",
        ),
    ],
)
async def test_what_was_said_since_stands_before_what_it_may_change_and_says_so(
    memory: Memory, old: str, new: str, question: str
) -> None:
    session = await memory.session("s")
    first = await session.user(old)
    await session.assistant("Noted.")
    await goes_by(session, 6)
    second = await session.user(new)
    await session.assistant("Noted.")
    await goes_by(session)
    pages = await shown(session, question)
    by_id = {page.page_id: page for page in pages}
    assert {first, second} <= by_id.keys(), "neither hides the other"
    assert first in by_id[second].newer_than
    assert second in by_id[first].older_than
    order = list(by_id)
    assert order.index(second) < order.index(first)


async def test_what_says_the_same_again_is_not_marked(memory: Memory) -> None:
    session = await memory.session("s")
    for _ in range(2):
        await session.user("The heron feeder runs on Calypso.")
        await session.assistant("Noted.")
        await goes_by(session, 6)
    await goes_by(session)
    pages = await shown(session, "What does the heron feeder run on?")
    assert "The heron feeder runs on Calypso." in texts(pages)
    assert not any(page.newer_than or page.older_than for page in pages)


async def test_marks_are_the_same_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    async with pagefault.open(tmp_path, window=WINDOW) as memory:
        session = await memory.session("s")
        await session.user("The heron feeder runs on Calypso.")
        await session.assistant("Noted.")
        await session.user("Calypso crashed last night, so Dorado has taken over.")
        await session.assistant("Noted.")
        await goes_by(session)
        assert any(page.newer_than for page in await shown(session, "What runs the heron feeder?"))
        before = await session.request()
    async with pagefault.open(tmp_path, window=WINDOW) as memory:
        session = await memory.session("s")
        assert (await session.request()).messages == before.messages
