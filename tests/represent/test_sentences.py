"""Units cover a text and tear nothing apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.represent.sentences import UNIT_CHARS_MAX, Manner, units
from tests.represent.texts import texts


def cut(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in units(text)]


@given(st.one_of(texts(), st.text()))
def test_units_leave_out_nothing_but_white_space_and_never_overlap(text: str) -> None:
    found = units(text)
    at = 0
    for unit in found:
        assert at <= unit.start < unit.end <= len(text)
        assert not text[at : unit.start].strip()
        assert text[unit.start : unit.end].strip()
        assert unit.end - unit.start <= UNIT_CHARS_MAX
        at = unit.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith paid 3.5 vs. 4.0, e.g. at 10:30 a.m. today.", None),
        ("Der Umzug ist am 3. März, und der 2. Stock ist frei.", None),
        (
            "Vom 3. bis 5. Mai sind wir weg. Dann nicht.",
            ["Vom 3. bis 5. Mai sind wir weg.", "Dann nicht."],
        ),
        ("I am 12. My brother is 5.", ["I am 12.", "My brother is 5."]),
        ("Es sind 3. Und dann 4.", ["Es sind 3.", "Und dann 4."]),
        ("See v1.2.3. Then go.", ["See v1.2.3.", "Then go."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("Wait… what?! Yes.", ["Wait…", "what?!", "Yes."]),
        ("我决定了。你呢？好！", ["我决定了。", "你呢？", "好！"]),
        ("a\nb\r\nc\u2028d", ["a", "b", "c", "d"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str] | None) -> None:
    assert cut(text) == ([text] if sentences is None else sentences)


def test_lines_of_code_are_units_with_their_indentation() -> None:
    text = "Look:\n```python\ndef f(x):\n    return x. y\n```\nNice. Done."
    assert cut(text) == [
        "Look:", "```python", "def f(x):", "    return x. y", "```", "Nice.", "Done.",
    ]  # fmt: skip
    assert [unit.manner for unit in units(text)].count(Manner.CODE) == 4


def test_a_dump_on_one_line_is_cut_where_nothing_is_torn() -> None:
    for one in ("👨‍👩‍👧‍👦", "🇵🇹", "e\u0301", "👍🏽"):
        assert all(piece == one * (len(piece) // len(one)) for piece in cut(one * 900))
    assert max(map(len, cut("x" * 100_000))) == UNIT_CHARS_MAX
    assert "".join(cut("word " * 1_000)).count("word") == 1_000
