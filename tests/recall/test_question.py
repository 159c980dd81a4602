"""What a question asks for, by its form."""

from __future__ import annotations

import pytest

from pagefault.language.analyzer import analyze
from pagefault.recall.question import speakers_named, subject


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("What did Ann tell Bob?", {"ann"}),
        ("What did Bob hear from Ann?", {"bob"}),
        ("What do Ann and Bob like?", {"ann", "bob"}),
        ("What do Bob or Ann's friends like?", {"ann", "bob"}),
        ("Did Ann ever go to a lake together with Bob?", {"ann", "bob"}),
        ("What does Bob like?", {"bob"}),
        ("What is liked?", set()),
    ],
)
def test_who_is_named_first_is_asked_for(query: str, asked: set[str]) -> None:
    named = speakers_named(query, frozenset({"ann", "bob"}))
    worth = subject(query, named)
    assert {name for name in worth if worth[name] == 1} == asked
    assert all(0 < worth[name] < 1 for name in named.keys() - asked)


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("What did Mel paint?", "Melanie"),
        ("What did Melanie paint?", "Melanie"),
        ("Did Caro and her brother call?", "Caroline"),
        ("What did MEL paint?", "Melanie"),
        ("Which melons did she buy?", ""),
        ("What did Me paint?", ""),  # too short to tell
        ("Can the car be repaired?", ""),  # no name: it has no capital
        ("Car or bicycle?", ""),  # where every word has one
    ],
)
def test_a_short_name_means_who_speaks_under_the_long_one(query: str, meant: str) -> None:
    speakers = frozenset(analyze("Caroline") + analyze("Melanie"))
    assert list(speakers_named(query, speakers).values()) == analyze(meant)


def test_a_short_name_of_two_speakers_means_neither() -> None:
    speakers = frozenset(analyze("Caroline") + analyze("Carolus"))
    assert speakers_named("What did Caro paint?", speakers) == {}
