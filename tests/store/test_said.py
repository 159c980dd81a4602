"""What is found piece by piece is what a look at the whole text finds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault.language.analyzer import analyze_told
from pagefault.store import said
from pagefault.store.said import TELLS_NUMBER, TELLS_TIME, said_by, told_in

PIECES = [
    *("the", "Ann", "yesterday", "three", "8080", "don't", "src/foo-bar.py", "fooBar", "1,200"),
    *(
        "naïve",
        "well\u2014known",
        "\u201cquoted\u201d",
        "\u00b4",
        "x\u0301",
        "中文",
        "カタカナ",
        "и",
        "한국어",
    ),
]


@settings(max_examples=200)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30))
def test_pieces_tell_what_the_whole_text_does(pieces: list[str]) -> None:
    text = " ".join(pieces)
    by_pieces, as_a_whole = said_by(text), said._said_in_languages(text, text.split())
    assert by_pieces == as_a_whole
    assert by_pieces.terms == Counter(analyze_told(text)[0])
    assert [*told_in(text)] == [*by_pieces.told]


def test_a_word_of_another_language_has_the_text_looked_at_as_a_whole() -> None:
    german = "Wir haben das nicht so gemeint, und die Häuser sind alt."
    assert said_by(german).languages == ("de",)
    assert "haus" in said_by(german).terms
    assert [*told_in(german)] == [*said_by(german).told] != []
    assert "haus" not in said_by("Häuser \u2014 alone").terms, "control: nothing tells a language"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("It runs.", 0),
        ("It ran yesterday.", TELLS_TIME),
        ("On port 8080 \u2014 the gateway.", TELLS_NUMBER),
        ("Three times yesterday", TELLS_TIME | TELLS_NUMBER),
        ("", 0),
    ],
)
def test_a_time_and_a_number_are_marked(text: str, marks: int) -> None:
    assert said_by(text).marks == marks
