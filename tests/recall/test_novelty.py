"""What knows nothing does not stand above what does: asked of a session, as a user would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

import pagefault
from pagefault import SearchFilter, SearchHit

SAID = SearchFilter(kinds=("transcript", "artifact"))
PORTS = "\n".join(
    f"Unit {n} listens on port {8000 + n}. The admin port of unit {n} is {9000 + n}."
    for n in range(1, 12)
)
EVERYDAY = [
    ("user", "The train to Kiel was late again this morning."),
    ("assistant", "Noted."),
    ("user", "Lunch is pasta with tomatoes from the garden."),
    ("assistant", "Noted."),
]


@pytest.fixture
async def memory() -> AsyncIterator[pagefault.Memory]:
    async with pagefault.open(":memory:") as memory:
        yield memory


async def found(
    memory: pagefault.Memory, said: Sequence[tuple[str, str]], query: str, *, limit: int = 10
) -> list[tuple[str, SearchHit]]:
    """Each hit with the text of its page."""
    session = await memory.session("talk")
    for who, text in said:
        if who == "document":
            await session.document(text, title="manual")
        elif who == "user":
            await session.user(text)
        else:
            await session.assistant(text)
    hits = (await session.recall(query, limit=limit, wanted=SAID)).hits
    return [((await memory.read(hit.page)).text, hit) for hit in hits]


REFUSED = {
    "English": (
        PORTS,
        "What is the admin port of unit 7?",
        ["I don't know.", "Sorry, I have no idea.", "That is beyond what anybody told me so far."],
        "admin port of unit 7",
    ),
    "German": (
        "Die Wache Nord hat den Wartungsanschluss 9007.",
        "Welchen Wartungsanschluss hat die Wache Nord?",
        ["Das weiß ich leider nicht.", "Keine Ahnung, tut mir leid."],
        "Wartungsanschluss Wache Nord",
    ),
    "Russian": (
        "Порт управления станции Север: 9007.",
        "Какой порт управления у станции Север?",
        ["К сожалению, я не знаю.", "Понятия не имею."],
        "порт управления станции Север",
    ),
    "Chinese": (
        "北站的管理端口是9007。",
        "北站的管理端口是多少？",
        ["对不起，我不知道。", "没有人告诉过我。"],
        "北站的管理端口",
    ),
    "Arabic": (
        "منفذ إدارة المحطة الشمالية هو 9007.",
        "ما هو منفذ إدارة المحطة الشمالية؟",
        ["لا أعرف.", "ليست لدي فكرة عن ذلك."],
        "منفذ إدارة المحطة الشمالية",
    ),
}


@pytest.mark.parametrize("before", [True, False], ids=["told before", "told after"])
@pytest.mark.parametrize("language", REFUSED)
async def test_a_refusal_does_not_stand_above_the_source(
    memory: pagefault.Memory, language: str, before: bool
) -> None:
    source, question, refusals, query = REFUSED[language]
    asked = [turn for no in refusals for turn in (("user", question), ("assistant", no))]
    told = [("document", source)]
    hits = await found(memory, [*told, *asked] if before else [*asked, *told], query)
    assert hits[0][0] == source
    assert hits[0][1].relevance > max(hit.relevance for text, hit in hits if text in refusals)


CELLAR_KEY = {
    "English without a mark": (
        "The cellar key hangs behind the blue door.",
        "where is the cellar key",
        "I do not know where the cellar key is.",
    ),
    "Thai": (
        "กุญแจห้องใต้ดินแขวนอยู่หลังประตูสีฟ้า",
        "กุญแจห้องใต้ดินอยู่ที่ไหน",
        "ฉันไม่รู้ว่ากุญแจห้องใต้ดินอยู่ที่ไหน",
    ),
    "Thai that ends with a vowel": (
        "กุญแจห้องใต้ดินแขวนอยู่หลังประตูสีฟ้า",
        "กุญแจห้องใต้ดินหาที่ไหนดี",
        "ฉันไม่รู้ว่ากุญแจห้องใต้ดินหาที่ไหนดี",
    ),
    "Chinese without a mark": (
        "地窖的钥匙挂在蓝色的门后面。",
        "地窖的钥匙在哪里",
        "我不知道地窖的钥匙在哪里。",
    ),
    "Japanese": (
        "地下室の鍵は青いドアの後ろに掛かっています。",
        "地下室の鍵はどこですか？",
        "地下室の鍵がどこにあるかわかりません。",
    ),
    "Turkish": (
        "Kiler anahtarı mavi kapının arkasında asılı.",
        "Kilerin anahtarı nerede?",
        "Kilerin anahtarının nerede olduğunu bilmiyorum.",
    ),
}


@pytest.mark.parametrize("before", [True, False], ids=["told before", "told after"])
@pytest.mark.parametrize("language", CELLAR_KEY)
async def test_what_was_told_stands_above_its_question_and_refusal_without_marks_and_inflected(
    memory: pagefault.Memory, language: str, before: bool
) -> None:
    source, question, refusal = CELLAR_KEY[language]
    asked = [("user", question), ("assistant", refusal)]
    told = [("user", source)]
    said = [*told, *EVERYDAY, *asked] if before else [*asked, *EVERYDAY, *told]
    hits = await found(memory, said, question)
    assert hits[0][0] == source


async def test_a_statement_that_is_searched_word_for_word_stays_first(
    memory: pagefault.Memory,
) -> None:
    """Its mark says that it was not asked; without one it does where nothing else tells of it."""
    dog, milk = "My dog is called Rex.", "buy milk at the harbour"
    said = [("user", dog), *EVERYDAY, ("user", "My dog Rex is ill."), ("user", milk), *EVERYDAY]
    assert (await found(memory, said, dog))[0][0] == dog
    assert (await found(memory, [], milk))[0][0] == milk


async def test_an_answer_that_says_something_still_stands_above_its_question(
    memory: pagefault.Memory,
) -> None:
    """It has none of the words, and nothing else tells: its question does."""
    said = [("user", "What did Ann paint?"), ("assistant", "A red barn by the lake."), *EVERYDAY]
    hits = await found(memory, said, "What did Ann paint?")
    assert hits[0][0] == "A red barn by the lake."
    assert hits[0][1].why == "neighbours"


async def test_an_acknowledgement_is_not_offered_beside_what_was_told(
    memory: pagefault.Memory,
) -> None:
    said = [
        ("user", "The office moves to Hafenstrasse 12 in May."),
        ("assistant", "Noted."),
        *EVERYDAY,
    ]
    hits = await found(memory, said, "office moves")
    assert hits[0][0] == said[0][1]
    assert "Noted." not in {text for text, _ in hits}


async def test_what_says_something_beside_what_was_told_is_offered_below_it(
    memory: pagefault.Memory,
) -> None:
    """It may be the answer, in other words: nothing else of the list is lost for it."""
    said = [
        ("assistant", "What colour did you choose for the kitchen?"),
        ("user", "The fronts get moss green, with oak above."),
        *EVERYDAY,
        ("assistant", "Kitchen colours look best by daylight. Choose in the morning."),
    ]
    hits = await found(memory, said, "colour chosen for the kitchen")
    assert said[1][1] in [text for text, _ in hits]


async def test_what_stands_far_from_the_words_is_not_offered(memory: pagefault.Memory) -> None:
    said = [*EVERYDAY, ("user", "The ferry to Amrum leaves at noon."), *EVERYDAY]
    hits = await found(memory, said, "when does the ferry leave?")
    assert hits[0][0].startswith("The ferry")
    assert "Noted." not in {text for text, _ in hits}


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("What is the admin port of unit 7?", "What is the admin port of unit 7?"),
        ("What is the admin port of unit 7?", "admin port unit 7"),
        ("And the admin port of unit 7?", "what's the admin port of unit 7"),
    ],
)
async def test_the_question_itself_does_not_stand_above_what_answers_it(
    memory: pagefault.Memory, question: str, query: str
) -> None:
    said = [("user", question), *EVERYDAY, *EVERYDAY, ("document", PORTS)]
    hits = await found(memory, said, query)
    assert hits[0][0] == PORTS
    order = [text for text, _ in hits]
    assert question not in order or order.index(question) > 0


@pytest.mark.parametrize(
    "answer",
    [
        "The admin port of unit 7 is 9007.",
        "By the manual it is the one above nine thousand: admin port 9007 of unit 7 [ref: art_1].",
    ],
    ids=["says it again", "cites it"],
)
async def test_an_answer_does_not_stand_above_the_source_that_it_quotes(
    memory: pagefault.Memory, answer: str
) -> None:
    said = [
        ("document", PORTS),
        *EVERYDAY,
        ("user", "What is the admin port of unit 7?"),
        ("assistant", answer),
    ]
    hits = await found(memory, said, "What is the admin port of unit 7?")
    order = [text for text, _ in hits]
    assert order.index(PORTS) < order.index(answer)


async def test_an_answer_with_news_keeps_its_place(memory: pagefault.Memory) -> None:
    """It has no source: what stands before it says something else of the same."""
    said = [
        ("user", "The lighthouse of Amrum is closed to visitors in winter, says the harbour."),
        *EVERYDAY,
        ("assistant", "The lighthouse of Amrum was built in 1874."),
    ]
    hits = await found(memory, said, "When was the lighthouse of Amrum built?")
    assert hits[0][0] == "The lighthouse of Amrum was built in 1874."


async def test_the_order_is_that_of_the_score_and_the_parts_add_up(
    memory: pagefault.Memory,
) -> None:
    source, question, refusals, query = REFUSED["English"]
    said = [turn for no in refusals for turn in (("user", question), ("assistant", no))]
    hits = [hit for _, hit in await found(memory, [*said, ("document", source)], query)]
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert 0 <= hit.relevance <= 1
    assert len({hit.relevance for hit in hits}) > 1
