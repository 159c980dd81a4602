"""What is quoted of a page that is too long to be quoted whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.pack.count import O200k
from pagefault.recall.passages import passage

COUNTER = O200k()


def quoted(text: str, query: str, *, tokens_max: int = 60, tokens_min: int = 5) -> str:
    span = passage(text, query, COUNTER.count_all, tokens_max=tokens_max, tokens_min=tokens_min)
    return "" if span is None else text[slice(*span)]


LISTING = "\n".join(f"src/garden/bed_{n}.py: def water_{n}(litres): ..." for n in range(200))


def test_the_line_that_has_the_rare_word_is_quoted_and_not_the_first_that_has_a_common_one() -> (
    None
):
    told = quoted(LISTING, "where in src/garden is water_137 defined?")
    assert "def water_137(" in told
    assert COUNTER.count(told) <= 60
    assert all(line in LISTING.splitlines() for line in told.splitlines()), "lines are whole"


def test_what_stands_around_it_comes_along_more_of_it_from_behind() -> None:
    lines = [f"Step {n}: look at the gauge." for n in range(40)]
    lines[20] = "Step 20: the valve of tank Orion is turned left."
    told = quoted("\n".join(lines), "Which way is the valve of Orion turned?").splitlines()
    at = told.index(lines[20])
    assert 0 < at < len(told) - at


def test_words_that_stand_together_beat_the_same_words_apart() -> None:
    apart = ["The harbour is closed."] + ["Nothing here."] * 30 + ["The crane stands."] * 3
    text = "\n".join([*apart, *["Nothing there."] * 30, "The harbour crane lifts 40 tonnes."])
    assert "40 tonnes" in quoted(text, "How much does the harbour crane lift?", tokens_max=30)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Хлеб лежит в шкафу. " * 60 + "Ключ висит за дверью. " + "Окно закрыто. " * 60,
         "Где висит ключ?", "Ключ висит за дверью."),
        ("今日は雨です。" * 120 + "金庫の番号は七七四一です。" + "明日は晴れです。" * 120,
         "金庫の番号は？", "金庫の番号は七七四一です。"),
    ],
)  # fmt: skip
def test_a_long_line_is_taken_apart_at_its_sentences(text: str, query: str, expected: str) -> None:
    told = quoted(text, query, tokens_max=160)
    assert expected in told
    assert len(told) < len(text) / 4


def test_where_no_word_bears_on_it_nothing_is_quoted() -> None:
    assert quoted(LISTING, "What does Ana prefer for breakfast?") == ""
    assert quoted(LISTING, "") == ""
    assert quoted("", "anything") == ""


def test_less_than_the_least_is_not_quoted() -> None:
    assert quoted("Orion.\n" + "x" * 4_000, "Orion", tokens_max=20, tokens_min=10) == ""
    assert quoted("Orion.\n" + "x" * 4_000, "Orion", tokens_max=20, tokens_min=1) == "Orion."


WORDS = st.sampled_from(["harbour", "crane", "Ключ", "金庫の番号", "a", "…", "x" * 500, " ", "\r"])


@given(
    lines=st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=30),
    query=st.lists(WORDS, max_size=4).map(" ".join),
    most=st.integers(1, 120),
)
def test_what_is_quoted_is_a_part_that_fits_and_has_a_word_of_the_query(
    lines: list[str], query: str, most: int
) -> None:
    text = "\n".join(lines)
    span = passage(text, query, COUNTER.count_all, tokens_max=most, tokens_min=0)
    if span is None:
        return
    start, end = span
    assert 0 <= start < end <= len(text)
    assert COUNTER.count(text[start:end]) <= most + 1, "a cut may part what was one token"
