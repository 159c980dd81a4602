"""Conversations in other languages: what is asked of them is found, and nothing is where nothing is
asked. `languages/` has them, written as people talk; docs/recall.md tells what each reaches.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pytest

import pagefault
from pagefault import SearchFilter
from pagefault.language.days import days_named
from pagefault.recall import search
from pagefault.recall.gate import gate
from pagefault.represent.topics import topic_tags
from pagefault.service.turn.auto_recall import is_chat

FILES: Final = sorted(Path(__file__).with_name("languages").glob("*.toml"))
SAID: Final = SearchFilter(kinds=("transcript",))
TODAY: Final = date(2026, 3, 18)  # a Wednesday
AMONG: Final = 5


@dataclass(frozen=True)
class Talk:
    language: str
    turns: list[str]  # "user: …", "assistant: …"
    questions: list[list[str]]  # each with words of the turn that answers
    quiet: list[str]  # nothing is to be brought in for these
    empty: list[str]  # words that are no topic
    dated: tuple[list[str], ...] = ()  # each with the first day and the last that it means
    month: str = ""  # a question about March


TALKS: Final = [Talk(**tomllib.loads(file.read_text(encoding="utf-8"))) for file in FILES]
talks: Final = pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.language)

UNFOUND: Final = {"ar": 1, "fr": 2}
"""Relatives that no stemmer leads together (خيمة and its plural خيام, *se marier* and *mariage*),
and an answer that has no word of its question (*quels jours*, "le mardi").
"""
LOUD: Final = {"fr": 1}  # a greeting that is a question
EMPTY_TAGS: Final = {"es": 1}  # of a line whose words of grammar might all be English names


async def held(memory: pagefault.Memory, talk: Talk) -> tuple[pagefault.Session, dict[str, str]]:
    """A session of what was said, and the text of each page."""
    session = await memory.session(talk.language)
    said: dict[str, str] = {}
    for turn in talk.turns:
        role, _, text = turn.partition(": ")
        say = session.user if role == "user" else session.assistant
        said[await say(text)] = text
    return session, said


async def unfound(talk: Talk) -> list[str]:
    missed = []
    async with pagefault.open(":memory:") as memory:
        session, said = await held(memory, talk)
        for question, answer in talk.questions:
            result = await session.recall(question, limit=AMONG, wanted=SAID)
            if not any(answer in said[hit.page.page_id] for hit in result.hits):
                missed.append(question)
    return missed


@talks
async def test_what_was_said_is_found_in_other_forms_of_its_words(talk: Talk) -> None:
    missed = await unfound(talk)
    assert len(missed) <= UNFOUND.get(talk.language, 0), missed


async def test_control_asked_as_if_all_was_english_less_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "languages_in", lambda index, scope: ())
    missed = [question for talk in TALKS for question in await unfound(talk)]
    assert len(missed) > sum(UNFOUND.values())


@talks
async def test_courtesy_and_nonsense_bring_nothing_in(talk: Talk) -> None:
    loud = []
    async with pagefault.open(":memory:") as memory:
        session, _ = await held(memory, talk)
        for message in talk.quiet:
            hits = (await session.recall(message, limit=50)).hits
            if not is_chat(message) and gate(message).admitted(hits):
                loud.append(message)
    assert len(loud) <= LOUD.get(talk.language, 0), loud


@talks
def test_days_are_understood_as_the_language_tells_them(talk: Talk) -> None:
    for question, first, last in talk.dated:
        found = [(str(one.first), str(one.last)) for one in days_named(question, today=TODAY)]
        assert found == [(first, last)], question
    if talk.month:
        [march] = days_named(talk.month, today=TODAY)
        assert march.of_any_year
        assert (march.first.month, march.last.day) == (3, 31)


@talks
async def test_a_month_alone_finds_what_was_said_in_it(talk: Talk) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session(talk.language)
        turns = [turn.partition(": ")[2] for turn in talk.turns[:3]]
        for text, day in zip(turns, ("2026-02-10", "2026-03-12", "2026-05-02"), strict=True):
            await session.user(text, occurred_at=day)
        found = await session.recall(talk.month or "in March", wanted=SAID)
        assert found.hits[0].occurred_at == "2026-03-12"
        others = [hit.relevance for hit in found.hits[1:]]
        assert found.hits[0].relevance > 2 * max(others, default=0)


@talks
def test_no_word_of_grammar_is_a_topic(talk: Talk) -> None:
    tags = [tag for turn in talk.turns for tag in topic_tags(turn.partition(": ")[2])]
    empty = [tag for tag in tags if tag in talk.empty]
    assert len(empty) <= EMPTY_TAGS.get(talk.language, 0), empty
    assert len(tags) > 2 * len(talk.turns)


@talks
def test_a_conversation_as_a_whole_is_about_no_word_of_grammar(talk: Talk) -> None:
    tags = topic_tags("\n".join(turn.partition(": ")[2] for turn in talk.turns))
    assert tags
    assert not set(tags) & set(talk.empty)


@pytest.mark.parametrize(
    ("written", "days"),
    [
        ("17.08.2026", {(17, 8)}),
        ("3.8.2026", {(3, 8)}),
        ("17/08/2026", {(17, 8)}),
        ("8/17/2026", {(17, 8)}),
        ("03/08/2026", {(3, 8), (8, 3)}),
        ("2026-08-17", {(17, 8)}),
        ("32.08.2026", set()),
        ("1.2.2.2026", set()),
    ],
)
def test_a_day_in_digits_is_read_as_it_is_written(written: str, days: set[tuple[int, int]]) -> None:
    found = days_named(f"What happened on {written}?")
    assert {(one.first.day, one.first.month) for one in found} == days
    assert {one.first.year for one in found} <= {2026}
