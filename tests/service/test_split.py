"""A long text becomes parts that fit, and joined they are the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.pack.count import O200k
from pagefault.service.turn.split import split

WORDS = st.sampled_from(
    [
        "word", "Antidisestablishmentarianism", "x" * 200, "数据库", "我们决定使用它。", "データ",
        "데이터베이스", "قاعدة", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷🇯🇵", "e\u0301", "\u0301" * 40, "क्‍ष", "1️⃣",
        ".", "!", "? ", " ", "\n", "\n\n", "\r\n", "\t", "\x00", '."', "https://example.org/?q=1",
        "0" * 50, "_", "    ", "<|endoftext|>",
    ]
)  # fmt: skip
TEXTS = st.lists(WORDS | st.text(st.characters(codec="utf-8"), max_size=8), max_size=60).map(
    "".join
)
COUNTER = O200k()


class Counting:
    """The real counter, and how much it was asked."""

    def __init__(self) -> None:
        self.calls = self.characters = 0

    def count(self, text: str) -> int:
        return self.count_all([text])[0]

    def count_all(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        self.characters += sum(map(len, texts))
        return COUNTER.count_all(texts)


@settings(deadline=None)  # the first count loads the vocabulary
@given(TEXTS, st.integers(1, 60))
def test_joined_the_parts_are_the_text_and_each_fits(text: str, tokens_max: int) -> None:
    parts = split(text, tokens_max, COUNTER)
    assert "".join(part for part, _ in parts) == text
    assert [tokens for _, tokens in parts] == COUNTER.count_all([part for part, _ in parts])
    for part, tokens in parts:
        assert tokens <= tokens_max or len(part) == 1
        assert part or text == ""


@settings(deadline=None)
@given(st.text("ab \n.", max_size=400), st.integers(1, 20))
def test_no_two_neighbours_would_have_fitted_into_half_a_part(text: str, tokens_max: int) -> None:
    """Parts are filled: a text is not cut into crumbs."""
    parts = split(text, tokens_max, COUNTER)
    small = [a + b for (_, a), (_, b) in pairwise(parts)]
    assert sum(2 * tokens <= tokens_max for tokens in small) <= len(parts) // 2


class Jealous:
    """Two words cost more together than apart, as `emp` and `gon` do in o200k (1 + 1, and 3)."""

    def count(self, text: str) -> int:
        return len(text) + 3 * text.count("b c")

    def count_all(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


def test_pieces_that_take_more_together_than_apart_still_fit() -> None:
    assert COUNTER.count_all(["emp", "gon", "empgon"]) == [1, 1, 3]
    parts = split("b c " * 20, 4, Jealous())
    assert "".join(part for part, _ in parts) == "b c " * 20
    assert all(tokens <= 4 for _, tokens in parts)


def test_a_text_that_fits_is_one_part() -> None:
    assert split("hello world", 2, COUNTER) == [("hello world", 2)]
    assert split("", 1, COUNTER) == [("", 0)]


PARAGRAPH = "One short line.\nAnother one, which is longer."


@pytest.mark.parametrize(
    ("seam", "text"),
    [
        ("\n\n", "\n\n".join([PARAGRAPH] * 40)),
        ("\n", "\n".join(["a line of words without an end"] * 80)),
        (". ", " ".join(["This is a sentence of some words."] * 80)),
        ("。", "我们决定使用这个数据库。" * 60),
        ("」", "「我们决定使用它。」" * 60),
        (" ", "word " * 400),
    ],
)
def test_a_text_is_cut_where_a_reader_would_pause(seam: str, text: str) -> None:
    parts = [part for part, _ in split(text, 50, COUNTER)]
    assert len(parts) > 3
    assert all(part.endswith(seam) for part in parts[:-1])


@pytest.mark.parametrize(
    "character", ["👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "क्‍ष", "1️⃣", "\r\n", "각"], ids=ascii
)
def test_what_a_reader_sees_as_one_character_is_not_cut(character: str) -> None:
    whole = unicodedata.normalize("NFD", character) if character == "각" else character
    parts = [part for part, _ in split("x" + whole * 300, 64, COUNTER)]
    assert len(parts) > 1
    for part in parts:
        assert part.removeprefix("x").replace(whole, "") == ""


def test_a_character_that_alone_takes_too_much_is_cut_all_the_same() -> None:
    """Otherwise a letter with a thousand accents would be a page larger than the window."""
    parts = split("e" + "\u0301" * 2_000, 64, COUNTER)
    assert all(tokens <= 64 for _, tokens in parts)


@pytest.mark.parametrize(
    "unit",
    ["word ", "x", "数", "👩‍👩‍👧‍👦", "🇩🇪", "\u0301", "\n", " ", "line\n",
     ". ", ".\"", "a.\n\n", "abc. Def! "],
    ids=ascii,
)  # fmt: skip
def test_a_megabyte_is_counted_a_bounded_number_of_times(unit: str) -> None:
    """No quadratic blow-up: each character is counted at most once a level of cutting."""
    text = unit * (1_000_000 // len(unit.encode()))
    counter = Counting()
    parts = split(text, 1_024, counter)
    assert "".join(part for part, _ in parts) == text
    assert counter.characters <= 20 * len(text)
    assert counter.calls <= 8 * len(parts) + 10


@pytest.mark.parametrize(
    "unit",
    ["x", "\n", " ", "a\n", "[", "!?", "e\u0301", "\u200d", "🇩🇪", "word ", "数据库。", "Aé/+9"],
    ids=ascii,
)
def test_a_text_of_many_blocks_is_cut_like_a_short_one(unit: str) -> None:
    """Whatever it says: each part fits, and together they are the text."""
    text = unit * (300_000 // len(unit)) + "end"
    parts = split(text, 500, COUNTER)
    assert "".join(part for part, _ in parts) == text
    assert [tokens for _, tokens in parts] == COUNTER.count_all([part for part, _ in parts])
    assert max(tokens for _, tokens in parts) <= 500
    half_full = [part for part, tokens in parts if tokens < 250]
    assert len(half_full) <= len(parts) // 3 + 1
