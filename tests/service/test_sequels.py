"""What a question brings in that has none of its words, and how it is told what is newer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import pagefault
from pagefault import Limits, Memory, Session
from pagefault.engine.scripted import Passage, newer_of, passages_of

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


async def test_a_change_is_told_where_the_same_was_asked_before_of_something_else(
    memory: Memory,
) -> None:
    session = await memory.session("s")
    first = await session.user("The heron feeder runs on Calypso.")
    await session.assistant("Noted.")
    await goes_by(session, 6)
    second = await session.user("Calypso is gone, Dorado drives the heron feeder now.")
    await session.assistant("Noted.")
    await goes_by(session)
    for about in ("the kiln", "the loom"):
        await session.user(f"My aunt rang up and wonders about {about}. What shall I answer her?")
        await session.assistant("I don't know.")
    asked = "My aunt rang up and wonders about the heron feeder. What shall I answer her?"
    by_id = {page.page_id: page for page in await shown(session, asked)}
    assert first in by_id[second].newer_than


async def test_a_short_sentence_has_the_words_of_a_longer_one_that_tells_its_language(
    memory: Memory,
) -> None:
    session = await memory.session("s")
    await session.user("¿Qué hay sobre el coche de la empresa?")
    await session.assistant("Dos candidatos, el Dacia y el Ibiza viejo.")
    first = await session.user("Me quedo con el Ibiza viejo sin dudarlo.")
    await session.assistant("Apuntado.")
    await goes_by(session, 6)
    second = await session.user("Tacha el Ibiza viejo, de momento sin nada para el coche.")
    await session.assistant("Apuntado.")
    await goes_by(session)
    pages = {page.page_id: page for page in await shown(session, "¿Qué era lo del coche?")}
    assert first in pages[second].newer_than
    assert second in pages[first].older_than


@pytest.mark.parametrize("knows", [True, False])
async def test_of_two_pages_that_came_back_apart_a_line_says_which_is_the_newer(
    knows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    async with pagefault.open(tmp_path, window=WINDOW) as memory:
        session = await memory.session("s")
        first = await session.user("The fair is in Riverside Barn, and the judge is Pym.")
        await session.assistant("Noted.")
        await goes_by(session, 20)
        second = await session.user("Riverside Barn burnt down, the fair moves to the Tannery.")
        await session.assistant("Noted.")
        await goes_by(session, 20)
        assert second in {page.page_id for page in await shown(session, "Tannery, moves?")}
        await session.assistant("I see.")
        with monkeypatch.context() as apart:
            apart.setattr("pagefault.recall.sequels.LATER_MAX", 0)
            pages = {one.page_id: one for one in await shown(session, "Which judge, Pym?")}
        assert not pages[first].older_than
        assert not pages[second].newer_than
        await session.assistant("I see.")
        if not knows:
            monkeypatch.setattr("pagefault.service.turn.auto_recall.NAMED_MAX", 0)
        for question in ("Where is the fair?", "And where is the fair, again?"):
            await shown(session, question)
            request = await session.request()
            told = [newer_of(message) for message in request.messages]
            assert list(filter(None, told)) == [{second: (first,)}] * knows, "once"
            await session.assistant("I see.")
        before = await session.request()
    async with pagefault.open(tmp_path, window=WINDOW) as memory:
        session = await memory.session("s")
        assert (await session.request()).messages == before.messages


@pytest.mark.parametrize("is_crowded", [False, True])
async def test_of_what_was_said_since_only_the_last_stands_before_other_found_pages(
    is_crowded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    if is_crowded:  # the control: all of it does
        monkeypatch.setattr("pagefault.recall.sequels._beside", list)
    feeder = ("runs on Calypso", "is painted green", "leaks at the hinge", "stands by the sluice")
    said = {f"The heron feeder {what}." for what in feeder}
    since = (
        "Calypso crashed last night, so Dorado has taken over.",
        "Calypso costs too much for what our little club can pay in a year.",
        "Calypso was written by two brothers in a shed outside of Bergen.",
        "Calypso comes with a booklet that nobody here has ever read.",
    )
    limits = Limits(paged_in_tokens_max=220)
    async with pagefault.open(":memory:", window=1_000, mode="passive", limits=limits) as memory:
        session = await memory.session("s")
        for text in (*sorted(said), *since):
            await session.user(text)
            await session.assistant("Noted.")
        await goes_by(session, 20)
        pages = set(texts(await shown(session, "What of the heron feeder, what does it run on?")))
    assert since[-1] in pages
    assert (said <= pages) is not is_crowded
