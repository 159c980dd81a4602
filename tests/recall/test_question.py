"""What a question asks for, by its form."""

from __future__ import annotations

import pytest

from pagefault.recall.question import subject


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
    named = frozenset(name for name in ("ann", "bob") if name in query.casefold())
    worth = subject(query, named)
    assert {name for name in worth if worth[name] == 1} == asked
    assert all(0 < worth[name] < 1 for name in named - asked)
