"""Which questions a message asks, each by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault.recall.decompose import PARTS_MAX, READ_MAX, decompose, merged
from pagefault.recall.ranking import NOTHING_RANKED, Ranked, Ranking, of_one_part


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (
            "Where is the spare key, and when does the ferry leave?",
            ("Where is the spare key", "when does the ferry leave?"),
        ),
        (
            "Is the invoice paid or has the vendor answered?",
            ("Is the invoice paid", "has the vendor answered?"),
        ),
        ("I went home. Where is the key?", ("Where is the key?",)),
        (
            "Tell me who keeps the key and what Ann paid.",
            ("Tell me who keeps the key", "what Ann paid."),
        ),
        (
            "Wo ist der Schlüssel? Wann fährt die Fähre?",
            ("Wo ist der Schlüssel?", "Wann fährt die Fähre?"),
        ),
        ("鍵はどこですか？船はいつ出ますか？", ("鍵はどこですか？", "船はいつ出ますか？")),
        (
            "Which cities did Ann see? Did she like them?",
            ("Which cities did Ann see?", "Did she like them? Ann"),
        ),
    ],
)
def test_the_questions_of_a_message(message: str, parts: tuple[str, ...]) -> None:
    assert decompose(message) == parts


@pytest.mark.parametrize(
    "message",
    [
        "Where is the key?",
        "When and where is the meeting?",
        "What did Ann, who lives in Bern, say?",
        "What does he have that is old and is his prized possession?",
        "According to Gina, what makes Jon a good guide?",
        "Which book of Dr. Seuss did J. K. Rowling like?",
        "We changed it. I told him when and how.",
        "How are you?",
        "",
        "? ! .",
    ],
)
def test_one_question_or_none_stays_whole(message: str) -> None:
    assert decompose(message) == ()


def test_a_list_of_questions_and_a_long_text_stay_whole() -> None:
    many = " ".join(f"Where is the number {word} key?" for word in "abcdefgh")
    assert many.count("?") > PARTS_MAX
    assert decompose(many) == ()
    assert decompose("I went home. " * READ_MAX + "Where is the key?") == ()


@given(st.text(max_size=300))
def test_parts_are_of_the_message_and_few(message: str) -> None:
    parts = decompose(message)
    assert len(parts) <= PARTS_MAX
    assert all(part and set(part.split()) <= set(message.split()) for part in parts)


def _ranking(**scores: float) -> Ranking:
    return of_one_part(
        ("own",),
        list(map(ord, scores)),
        part="own",
        worth=list(scores.values()),
        relevances=[0.5] * len(scores),
    )


def _rows(ranking: Ranking) -> list[Ranked]:
    return ranking.rows(range(len(ranking)))


def test_the_best_for_one_question_stands_beside_the_best_for_all() -> None:
    found = merged(_ranking(a=6.0, b=5.0, c=2.0), [_ranking(c=2.0, d=1.0), NOTHING_RANKED])
    assert [(chr(one.place), one.score) for one in _rows(found)] == [
        ("a", 6.0), ("c", 6.0), ("b", 5.0), ("d", 3.0),
    ]  # fmt: skip
    assert all(sum(one.parts.values()) == one.score for one in _rows(found))
    assert found.total == 4


def test_a_question_that_tells_next_to_nothing_is_raised_no_further() -> None:
    found = merged(_ranking(a=6.0, b=5.0), [_ranking(c=0.1)])
    assert [chr(one.place) for one in _rows(found)] == ["a", "b", "c"]
    assert found.scores[-1] < 1


def test_what_is_worth_less_than_nothing_stands_last_and_in_its_order() -> None:
    found = merged(_ranking(a=6.0), [_ranking(b=-0.1, c=-0.2), _ranking(d=0.0)])
    assert [(chr(one.place), one.score) for one in _rows(found)] == [
        ("a", 6.0), ("d", 0.0), ("b", -0.1), ("c", -0.2),
    ]  # fmt: skip
    assert merged(_ranking(a=-1.0), [_ranking(b=5.0)]).scores[0] == 5.0


def test_where_the_whole_finds_nothing_its_questions_are_found() -> None:
    found = merged(NOTHING_RANKED, [NOTHING_RANKED, _ranking(a=6.0), _ranking(b=4.0, c=1.0)])
    assert [(chr(one.place), one.score) for one in _rows(found)] == [
        ("a", 6.0), ("b", 6.0), ("c", 1.5),
    ]  # fmt: skip
    assert found.total == 3
    assert not len(merged(NOTHING_RANKED, [NOTHING_RANKED]))


async def test_a_short_question_behind_a_long_tale_is_answered() -> None:
    tale = " ".join(f"Errand{number} of my{number} trip{number}." for number in range(30))
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("The spare key is under the flower pot.")
        assert not (await session.recall(tale)).hits, "of itself it bears on nothing"
        [hit] = (await session.recall(f"{tale} Where is the spare key?")).hits
        assert "flower pot" in (await memory.read(hit.page)).text
