"""The counter is exact: the counts below are those of another implementation of o200k."""

from __future__ import annotations

import pytest
import toktok
from hypothesis import given
from hypothesis import strategies as st

from pagefault.pack.count import O200k

REFERENCE = [
    ("", 0),
    ("a", 1),
    ("hello world", 2),
    ("Hello, world!", 4),
    ("The quick brown fox jumps over the lazy dog.", 10),
    (" leading and trailing ", 4),
    ("tabs\tand\nnewlines\n\n\n", 6),
    ("1234567890", 4),
    ("3.14159 and 2,718,281", 11),
    ("don't can't we'll they've", 4),
    ("snake_case camelCase kebab-case", 7),
    ("def f(x: int) -> int:\n    return x ** 2\n", 16),
    ("https://example.org/a/b?c=d&e=f#g", 12),
    ("数据库选型已经决定了", 6),
    ("日本語のテキストです。", 8),
    ("한국어 텍스트", 5),
    ("Привет, мир", 4),
    ("مرحبا بالعالم", 4),
    ("नमस्ते दुनिया", 5),
    ("👩\u200d👩\u200d👧\u200d👦 🇩🇪 🙂", 16),
    ("e\u0301 é ﬁ", 4),
    ("<VM:CONTEXT>\nU (msg_1): hi\n</VM:CONTEXT>", 20),
    ("[ref: msg_302]", 7),
    ("A" * 40, 5),
    ("\x00\x07", 2),
    ('{"page_id":"msg_17","target_level":0}', 13),
]


@pytest.mark.parametrize(("text", "tokens"), REFERENCE)
def test_a_text_has_as_many_tokens_as_o200k_gives_it(text: str, tokens: int) -> None:
    assert O200k().count(text) == tokens


def test_many_texts_are_counted_as_each_alone() -> None:
    texts = [text for text, _ in REFERENCE]
    assert O200k().count_all(texts) == [tokens for _, tokens in REFERENCE]


def test_text_that_looks_like_a_special_token_is_ordinary_text() -> None:
    assert O200k().count("<|endoftext|>") > 1


def test_half_a_surrogate_pair_is_counted_as_a_question_mark() -> None:
    assert O200k().count("half \ud83d of it") == O200k().count("half ? of it")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_any_text_has_the_tokens_that_the_tokenizer_itself_counts(texts: list[str]) -> None:
    assert O200k().count_all(texts) == toktok.batch_count(texts, "o200k_base", threads=1)
