"""What a search asks of a text besides its words."""

from __future__ import annotations

import pytest

from pagefault.recall.analyzed import AnalyzedText


@pytest.mark.parametrize(
    ("text", "only_asks"),
    [
        ("Where is it?", True),
        ("Where is it? And when? :)", True),
        ("在哪里？", True),
        ("أين هو؟", True),
        ("Where is it? Here.", False),
        ("It is here.", False),
        ("它在这里。", False),
        ("…", True),  # it has no sentence
        ("", True),
    ],
)
def test_a_text_only_asks_if_every_sentence_does(text: str, only_asks: bool) -> None:
    assert AnalyzedText(text).only_asks is only_asks
