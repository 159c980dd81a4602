"""Who asks for something again and again, and is refused each time, has told nothing of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

import pagefault
from pagefault import SearchFilter, SearchHit

SAID = SearchFilter(kinds=("transcript", "artifact"))


@pytest.fixture
async def memory() -> AsyncIterator[pagefault.Memory]:
    async with pagefault.open(":memory:") as memory:
        yield memory


async def found(
    memory: pagefault.Memory, said: Sequence[tuple[str, str]], query: str
) -> list[tuple[str, SearchHit]]:
    """Each hit with the text of its page."""
    session = await memory.session("talk")
    for who, text in said:
        await (session.user(text) if who == "user" else session.assistant(text))
    hits = (await session.recall(query, limit=20, wanted=SAID)).hits
    return [((await memory.read(hit.page)).text, hit) for hit in hits]


ASKED_AGAIN = {
    "vaccination": (
        "Bruno got his rabies shot from Dr. Keller on 14 June.",
        "When did Bruno get his rabies shot?",
        [
            ("Do you remember the day of Bruno's rabies shot?", "You never told me the day."),
            ("On which date did Bruno get the rabies shot?", "My notes hold nothing on that shot."),
            ("Bruno's rabies shot, when was that again?", "Unfortunately that is not in my files."),
            ("When was the dog's shot against rabies?", "I have no record of any shot for Bruno."),
            ("When did Bruno get his rabies shot?", "It is unclear when Bruno got a rabies shot."),
        ],
    ),
    "key": (
        "The cellar key hangs behind the green coat in the hallway.",
        "Where is the cellar key?",
        [
            ("Where did we leave the cellar key?", "No clue where the cellar key could be."),
            (
                "Any idea where the key of the cellar is?",
                "You have not mentioned a cellar key yet.",
            ),
            ("Where is the cellar key?", "The cellar key has not come up between us."),
            ("Who knows where the cellar key is?", "Where the cellar key is, I cannot tell."),
        ],
    ),
    "migration": (
        "Priya moved the billing database to the Oslo cluster in week 38.",
        "Who moved the billing database?",
        [
            ("Who moved the billing database to another cluster?", "The logs say nothing of it."),
            ("By whom was the billing database moved?", "Nobody is named in what I was given."),
            ("Which of us moved the billing database?", "I could not determine who moved it."),
            ("Who did the move of the billing database?", "Moved by whom? Beyond my knowledge."),
        ],
    ),
    "Portuguese": (
        "O contrato do armazém vence em 30 de setembro, disse a Marta.",
        "Quando vence o contrato do armazém?",
        [
            ("Em que dia vence o contrato do armazém?", "Não encontrei nada sobre esse contrato."),
            ("Sabes quando o contrato do armazém vence?", "Lamento, não tenho essa informação."),
            ("O contrato do armazém vence quando?", "Não sei quando vence o contrato do armazém."),
        ],
    ),
    "Turkish": (
        "Bodrum evinin anahtarı komşumuz Selma Hanım'da duruyor.",
        "Bodrum evinin anahtarı nerede?",
        [
            ("Bodrum evinin anahtarı kimde?", "Bunu bilmiyorum, üzgünüm."),
            ("Bodrum evinin anahtarını nereye koyduk?", "Bu konuda bir kayıt bulamadım."),
            ("Bodrum evinin anahtarı nerede?", "Bodrum evinin anahtarı hakkında bilgim yok."),
        ],
    ),
    "Japanese": (
        "車検は八月三日に田中自動車で済ませた。",
        "車検はいつ済ませた？",
        [
            ("車検はいつだった？", "申し訳ありませんが、分かりません。"),
            ("車検を済ませた日は覚えている？", "その記録は見つかりませんでした。"),
            ("車検はいつ済ませた？", "車検をいつ済ませたかは聞いていません。"),
        ],
    ),
}
ELSEWHERE = [
    ("user", "The trams were full this morning, and it rained."),
    ("assistant", "A good day to read, then."),
    ("user", "Lunch was lentil soup with bread."),
    ("assistant", "That sounds warm."),
]


@pytest.mark.parametrize("where", ["first", "last", "between"])
@pytest.mark.parametrize("topic", ASKED_AGAIN)
async def test_the_one_sentence_that_tells_stands_above_all_that_asked_for_it(
    memory: pagefault.Memory, topic: str, where: str
) -> None:
    source, query, exchanges = ASKED_AGAIN[topic]
    asked = [turn for q, a in exchanges for turn in (("user", q), ("assistant", a))]
    told = [*ELSEWHERE, ("user", source), ("assistant", "Thanks, noted."), *ELSEWHERE]
    half = len(exchanges) // 2 * 2
    said = {
        "first": [*told, *asked],
        "last": [*asked, *told],
        "between": [*asked[:half], *told, *asked[half:]],
    }[where]
    hits = await found(memory, said, query)
    assert hits[0][0] == source
    assert hits[0][1].relevance >= max(hit.relevance for _, hit in hits)


@pytest.mark.parametrize("topic", ASKED_AGAIN)
async def test_one_refusal_in_all_words_of_the_question_does_not_stand_above_it_either(
    memory: pagefault.Memory, topic: str
) -> None:
    source, query, exchanges = ASKED_AGAIN[topic]
    refusal = exchanges[-1][1]  # in words of the question
    asked = [turn for q, _ in exchanges for turn in (("user", q), ("assistant", refusal))]
    hits = await found(memory, [*asked, *ELSEWHERE, ("user", source), *ELSEWHERE], query)
    assert hits[0][0] == source
    assert [text for text, _ in hits].count(refusal) <= 1


async def test_what_a_user_answers_is_told(memory: pagefault.Memory) -> None:
    said = [
        ("user", "I want to plan the summer."),
        ("assistant", "When does the ferry to Gozo leave?"),
        ("user", "The ferry to Gozo leaves at seven from Cirkewwa."),
        *ELSEWHERE,
        ("user", "I wonder how long the ferry to Gozo takes before it can leave again."),
    ]
    hits = await found(memory, said, "When does the ferry to Gozo leave?")
    assert hits[0][0].startswith("The ferry to Gozo leaves at seven")


async def test_an_answer_that_nothing_else_tells_stands_above_its_question(
    memory: pagefault.Memory,
) -> None:
    said = [
        *ELSEWHERE,
        ("user", "Which moons has Neptune, by size?"),
        ("assistant", "Triton, Proteus and Nereid, then small ones."),
        *ELSEWHERE,
    ]
    hits = await found(memory, said, "Which moons has Neptune, by size?")
    assert hits[0][0].startswith("Triton")


@pytest.mark.parametrize("query", ["the", "and so it was", "is it?"])
async def test_words_that_tell_nothing_make_nothing_relevant(
    memory: pagefault.Memory, query: str
) -> None:
    said = [
        ("user", "Is it the one by the door?"),
        ("assistant", "It was the other, and so it goes."),
        ("user", "And so it was the last of the plums."),
    ]
    hits = await found(memory, said, query)
    assert all(hit.relevance < 0.3 for _, hit in hits)


async def test_a_word_that_stands_nearly_everywhere_tells_nothing_in_any_language(
    memory: pagefault.Memory,
) -> None:
    said = [("user", f"Der Wagen {n} ist in der Halle.") for n in range(30)]
    hits = await found(memory, said, "der")
    assert all(hit.relevance < 0.3 for _, hit in hits)
    hits = await found(memory, [], "Wagen 7")
    assert hits[0][1].relevance > 0.5
