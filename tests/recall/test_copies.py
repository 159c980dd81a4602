"""Pages that say the same stand for one another in a search, and pages that do not never hide."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault import Memory, Session
from pagefault.language import analyzer
from pagefault.language.analyzer import analyze
from pagefault.model.kinds import Role
from pagefault.recall import search
from pagefault.recall.search import SearchHit
from pagefault.store import said
from pagefault.store.likeness import LONG_TERMS, bucket, likeness, say_the_same
from tests.examples import few

FEW_WORDS = "Restart the gateway of the harbour cluster, then tell the watch about it."

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "o", "u")]


def plain_words(count: int, seed: int = 0) -> list[str]:
    """Made words, in small letters, of which none tells more than another."""
    chance = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(chance.choices(SYLLABLES, k=4))] = None
    return list(words)


WORDS = plain_words(2 * LONG_TERMS)
LONG = (
    f"{FEW_WORDS} {' '.join(WORDS)}. It listens on port 8080 of host web-3, and Ann may change it."
)


@pytest.fixture
async def memory(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setenv("PAGEFAULT_CLAIMS__EXTRACT", "off")
    async with pagefault.open(":memory:", window=8_000) as memory:
        yield memory


async def heard(memory: Memory, *texts: str) -> Session:
    session = await memory.session("s")
    for text in texts:
        await session.user(text)
        await session.assistant("Noted, as ever, without another word on it.")
    return session


async def found(session: Session, query: str = "restart gateway harbour") -> list[SearchHit]:
    return [
        hit for hit in (await session.recall(query, limit=50)).hits if hit.page.role is Role.USER
    ]


def told(hits: Sequence[SearchHit]) -> list[set[str]]:
    return [{hit.page.page_id, *(row.page_id for row in hit.also)} for hit in hits]


# --- what is a copy -------------------------------------------------------------------------------

COPIES = {
    "written otherwise": FEW_WORDS.upper().replace(",", " --"),
    "with other marks": "restart the gateway of the harbour cluster; then tell the watch about it!",
}
LONG_COPIES = {
    "greeted": f"Hi again, please just read this: {LONG}",
    "a word mended": LONG.replace(WORDS[40], WORDS[40] + "r"),
    "a word left out": LONG.replace(f"{WORDS[50]} ", ""),
    "quoted": "\n".join(f"> {line}" for line in LONG.split(". ")).replace("> ", "*"),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
async def test_a_few_words_said_again_are_one_hit(memory: Memory, copy: str) -> None:
    [hit] = await found(await heard(memory, FEW_WORDS, copy))
    assert told([hit]) == [{"msg_1", "msg_3"}]


@pytest.mark.parametrize("copy", LONG_COPIES.values(), ids=LONG_COPIES)
async def test_a_long_text_sent_again_nearly_as_it_was_is_one_hit(
    memory: Memory, copy: str
) -> None:
    assert copy != LONG
    [hit] = await found(await heard(memory, LONG, copy))
    assert told([hit]) == [{"msg_1", "msg_3"}]


async def test_one_word_more_among_few_is_another_text(memory: Memory) -> None:
    hits = await found(await heard(memory, FEW_WORDS, f"{FEW_WORDS[:-1]} {WORDS[0]}."))
    assert len(hits) == 2


# --- what never is --------------------------------------------------------------------------------

CHANGES = {
    "a port": ("port 8080", "port 8081"),
    "a host": ("host web-3", "host web-4"),
    "a negation": ("may change it", "may not change it"),
    "a contraction": ("listens", "doesn't listen"),
    "its opposite": ("may change", "may keep"),
    "a name": ("Ann may", "Ben may"),
    "a sign": ("port 8080", "port <8080"),
    "an identifier": ("host web-3", "host webThree"),
}


def changed(text: str, change: tuple[str, str]) -> str:
    assert change[0] in text
    return text.replace(*change)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("text", [LONG, LONG[LONG.index("It listens") :]], ids=["long", "short"])
async def test_what_tells_something_else_is_never_hidden(
    memory: Memory, text: str, change: tuple[str, str]
) -> None:
    hits = await found(await heard(memory, text, changed(text, change)), "listens on port of host")
    assert told(hits) in ([{"msg_1"}, {"msg_3"}], [{"msg_3"}, {"msg_1"}])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_control_by_the_words_alone_it_would_be(
    memory: Memory, change: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the upper half, every one of these changes is folded away."""
    monkeypatch.setattr(said, "_PIECES", said._Pieces())  # remembers nothing yet
    monkeypatch.setattr(said, "told_by", lambda piece: "")
    hits = await found(
        await heard(memory, LONG, changed(LONG, change)), "restart the harbour gateway"
    )
    assert told(hits) == [{"msg_1", "msg_3"}]


SWAPPED = {
    "names": (
        "Anna pays Bob for the boat.",
        "Bob pays Anna for the boat.",
        "who pays for the boat",
    ),
    "no names": (
        "the baker pays the smith for the boat",
        "the smith pays the baker for the boat",
        "who pays for the boat",
    ),
    "German": (
        "Der Hund jagt den Kater durch das Boot.",
        "Der Kater jagt den Hund durch das Boot.",
        "wer jagt durch das Boot",
    ),
    "said twice there": (
        "Anna and Bob have a boat. Anna pays Bob.",
        "Anna and Bob have a boat. Bob pays Anna.",
        "who pays for the boat",
    ),
    "Chinese": ("猫追狗，在船上。", "狗追猫，在船上。", "谁在船上"),
    "names in a long text": (
        f"{' '.join(WORDS)}. Anna pays Bob for the boat.",
        f"{' '.join(WORDS)}. Bob pays Anna for the boat.",
        "who pays for the boat",
    ),
    "numbers in a long text": (
        f"{' '.join(WORDS)}. The boat moved from berth 4 to berth 9.",
        f"{' '.join(WORDS)}. The boat moved from berth 9 to berth 4.",
        "which berth has the boat",
    ),
}


@pytest.mark.parametrize(("one", "other", "query"), SWAPPED.values(), ids=SWAPPED)
async def test_the_same_words_in_another_order_are_another_text(
    memory: Memory, one: str, other: str, query: str
) -> None:
    hits = await found(await heard(memory, one, other), query)
    assert sorted(map(sorted, told(hits))) == [["msg_1"], ["msg_3"]]


@pytest.mark.parametrize(("one", "other", "query"), SWAPPED.values(), ids=SWAPPED)
async def test_control_in_the_same_order_they_are_one_hit(
    memory: Memory, one: str, other: str, query: str
) -> None:
    hits = await found(await heard(memory, one, one), query)
    assert told(hits) == [{"msg_1", "msg_3"}]


async def test_a_second_not_is_another_text(memory: Memory) -> None:
    hits = await found(
        await heard(
            memory,
            "Do not restart the gateway, and do drain the harbour.",
            "Do not restart the gateway, and do not drain the harbour.",
        )
    )
    assert len(hits) == 2


async def test_a_tools_result_that_differs_in_a_word_is_another_result(memory: Memory) -> None:
    session = await memory.session("s")
    await session.tool_result(LONG, name="status")
    await session.tool_result(LONG.replace(WORDS[40], WORDS[41]), name="status")
    await session.tool_result(LONG, name="status")
    hits = (await session.recall("restart gateway harbour", limit=50)).hits
    assert sorted(map(len, told(hits))) == [1, 2]


async def test_what_two_people_say_of_themselves_is_not_the_same(memory: Memory) -> None:
    session = await memory.session("s")
    for speaker in ("Ann", "Ben"):
        await session.user("I moved to the harbour.", speaker=speaker)
    assert len((await session.recall("who moved to the harbour", limit=50)).hits) == 2


async def test_yesterday_is_another_day_each_day(memory: Memory) -> None:
    session = await memory.session("s")
    for day in ("2026-03-01", "2026-03-02", "2026-03-02"):
        await session.user("The gateway fell over yesterday.", occurred_at=f"{day}T09:00:00Z")
    hits = (await session.recall("gateway fell over", limit=50)).hits
    assert sorted(map(len, told(hits))) == [1, 2]


async def test_a_question_is_not_what_answers_it(memory: Memory) -> None:
    hits = await found(await heard(memory, "The gateway is down?", "The gateway is down."))
    assert len(hits) == 2


async def test_who_asks_for_the_word_that_differs_finds_the_page_that_has_it(
    memory: Memory,
) -> None:
    other = "zeppelin"
    session = await heard(memory, LONG, LONG.replace(WORDS[40], other))
    for query in (f"gateway {other}", f"gateway {WORDS[40]}"):
        hits = await found(session, query)
        assert told(hits) in ([{"msg_1"}, {"msg_3"}], [{"msg_3"}, {"msg_1"}])
        assert hits[0].page.page_id == ("msg_3" if other in query else "msg_1")


# --- which one stands -----------------------------------------------------------------------------


async def test_copies_take_no_others_place(memory: Memory) -> None:
    """Of more copies than search reorders, all are told with one hit, and the others are found."""
    session = await memory.session("s")
    for _ in range(search.SHORTLIST + 20):
        await session.user(FEW_WORDS)
    others = [await session.user(f"The gateway has {count} valves.") for count in (2, 3, 4)]
    result = await session.recall("restart the gateway of the harbour", limit=4)
    [copies, *rest] = sorted(result.hits, key=lambda hit: -len(hit.also))
    assert len(copies.also) == search.SHORTLIST + 19
    assert sorted(hit.page.page_id for hit in rest) == others
    assert result.total == 4


async def test_the_best_of_copies_stands_for_them_however_few_are_asked_for(
    memory: Memory,
) -> None:
    session = await memory.session("s")
    said = []
    for word in plain_words(9, seed=6):
        await session.assistant(f"{word} is the word.")
    for beside in ("It rains.", "So the gateway of the harbour will restart.", "It snows."):
        said.append(await session.user(LONG))
        await session.assistant(beside)
        for word in plain_words(9, seed=5):
            await session.assistant(f"{word} is the word.")
    whole = await session.recall("restart gateway harbour", limit=50)
    [best] = [hit for hit in whole.hits if hit.also]
    assert best.page.page_id == said[1], "what stands beside it tells for it"
    assert sorted([best.page.page_id, *(row.page_id for row in best.also)]) == said
    few = await session.recall("restart gateway harbour", limit=2)
    assert few.hits == whole.hits[:2]
    assert few.total == whole.total
    assert best in few.hits
    bounded = await session.recall("restart gateway harbour", limit=50, tokens=best.page.tokens)
    assert bounded.total == whole.total
    assert bounded.left_out == whole.total - len(bounded.hits)
    less = await session.recall("restart gateway harbour", limit=50, tokens=best.page.tokens - 1)
    shown = {hit.page.page_id for hit in less.hits}
    assert not shown & set(said), "none of them has room"


# --- the numbers ----------------------------------------------------------------------------------

TELLING = ["not", "never", "8080", "8081", "Ann", "web-3", "<", "don't"]
PIECES = [*WORDS, *TELLING, "über", "不"]


def drawn(chance: random.Random, count: int) -> list[str]:
    return chance.choices(PIECES, k=count)


texts = st.builds(
    drawn, st.randoms(use_true_random=False), st.one_of(st.integers(0, 30), st.integers(150, 400))
)


def number(words: Sequence[str]) -> int:
    text = " ".join(words)
    it = said.said_by(text)
    return likeness(it.told, it.order, by="user")


@few(30)
@given(texts, st.randoms(use_true_random=False))
def test_texts_in_another_order_say_the_same_only_if_they_are_long_and_of_plain_words(
    words: list[str], chance: random.Random
) -> None:
    shuffled = words[:]
    chance.shuffle(shuffled)
    plain = [word for word in words if word in WORDS]
    is_long = len({*words} & {*WORDS}) >= LONG_TERMS and "über" not in words and "不" not in words
    if not is_long:
        assert (number(words) == number(shuffled)) == (words == shuffled)
    elif plain == words:
        assert number(words) == number(shuffled)
    assert -(2**63) <= number(words) < 2**63


def test_what_is_remembered_of_words_holds_no_file() -> None:
    """Each in a text of its own, as a tool returns them: a long line of JSON without a blank."""
    for at in range(50):
        for line in (f"{at}{'ab9' * 100}", f"{at}{'[7],' * 100}"):
            assert number([line, "and", "so"]) != number(["so", "and", line])
            assert analyze(line)
    for remembered in (said._PIECES, analyzer._TERMS):
        assert remembered, "words are"
        assert max(map(len, remembered)) <= analyzer.TERM_CHARS_MAX


@few(30)
@given(texts, st.data())
def test_likeness_is_symmetric_and_keeps_to_its_bucket(
    words: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(words)))
    other = [
        *words[:at],
        *data.draw(st.lists(st.sampled_from(PIECES), max_size=2)),
        *words[at + 1 :],
    ]
    one, two = number(words), number(other)
    assert say_the_same(one, one)
    assert say_the_same(one, two) == say_the_same(two, one)
    if say_the_same(one, two):
        assert bucket(one) == bucket(two)


@few(30)
@given(texts, st.data(), st.sampled_from(TELLING))
def test_a_text_that_tells_one_thing_more_is_never_the_same(
    words: list[str], data: st.DataObject, telling: str
) -> None:
    at = data.draw(st.integers(0, len(words)))
    more = [*words[:at], telling, *words[at:]]
    is_name_again = telling == "Ann" and telling in words
    assert is_name_again or not say_the_same(number(words), number(more))
