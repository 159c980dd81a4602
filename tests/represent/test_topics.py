"""Topics, entities, tasks, and what must not be lost: found by form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.represent.protected import Guarded, denies, guarded, retained
from pagefault.represent.topics import entities, task_refs, topic_tags


def test_tasks_are_found_however_they_are_written_and_look_alikes_are_not() -> None:
    text = "ABC-123 blocks #42; see issue 7 and PR #42. UTF-8, SHA-256, x#3 and &#39; are none."
    assert task_refs(text) == ("ABC-123", "#42", "#7")


def test_entities_are_names_identifiers_paths_and_dates_as_written() -> None:
    text = (
        "Yesterday Caroline Smith moved to New York. She left on 7 May 2023, with "
        "src/pagefault/cli.py, MyClass and https://example.org/x?y=1."
    )
    assert entities(text) == (
        "Caroline Smith", "New York", "7 May 2023", "src/pagefault/cli.py", "MyClass",
        "https://example.org/x?y=1",
    )  # fmt: skip


def test_a_capital_at_the_beginning_of_a_sentence_makes_no_name() -> None:
    assert entities("Painting is fun. Redis is fast. I like Redis.") == ("Redis",)
    assert entities("However, it works. Great. Thanks, Monday.") == ()


def test_topics_are_the_telling_words_and_small_talk_has_none() -> None:
    tags = topic_tags("The cache evicts pages. Is the cache full? The eviction policy is LRU.")
    assert tags[0] == "cache"
    assert "the" not in tags
    assert "eviction" in tags
    assert topic_tags("Hey! How are you? Thanks, that's great!") == ()
    assert "缓存" in topic_tags("缓存。缓存策略")


@given(st.text())
def test_whatever_the_text_tags_are_few_plain_words(text: str) -> None:
    assert topic_tags(text) == topic_tags(text)
    assert len(topic_tags(text)) <= 5
    assert not any(set(tag) & set(" \n<>[](){}:") for tag in topic_tags(text))
    for found in (*entities(text), *task_refs(text)):
        assert found


@pytest.mark.parametrize(
    ("text", "what", "said"),
    [
        ("see /etc/x.conf now", Guarded.IDENTIFIER, "/etc/x.conf"),
        ("in src/a/b.py:42", Guarded.IDENTIFIER, "src/a/b.py"),
        ("use fooBar", Guarded.IDENTIFIER, "fooBar"),
        ("call run_all()", Guarded.IDENTIFIER, "run_all()"),
        ("mail a.b@c.org.", Guarded.IDENTIFIER, "a.b@c.org"),
        ("with --dry-run please", Guarded.IDENTIFIER, "--dry-run"),
        ("commit 9f3ab21c.", Guarded.IDENTIFIER, "9f3ab21c"),
        (r"at C:\Users\x", Guarded.IDENTIFIER, r"C:\Users\x"),
        ("costs $3.50.", Guarded.NUMBER, "$3.50"),
        ("on 2023-05-07", Guarded.NUMBER, "2023-05-07"),
        ("Three days", Guarded.NUMBER, "three"),
        ("三个月", Guarded.NUMBER, "三"),
        ("I don’t know", Guarded.NEGATION, "don't know"),
        ("no  longer here", Guarded.NEGATION, "no longer"),
        ("tea instead of coffee", Guarded.NEGATION, "instead of coffee"),
        ("不用", Guarded.NEGATION, "不 用"),
    ],
)
def test_what_must_not_be_lost(text: str, what: Guarded, said: str) -> None:
    assert (what, said) in {(token.what, token.text) for token in guarded(text)}


def test_an_option_that_begins_with_no_denies_nothing() -> None:
    assert not [t for t in guarded("use --no-cache") if t.what is Guarded.NEGATION]
    assert denies("we will not")
    assert not denies("a note, another knot")


def test_retained_is_the_share_of_what_must_not_be_lost() -> None:
    assert retained("port 1", "port 1, host db-2") == 0.5
    assert retained("", "nothing to name") == 0.0
    assert retained("", "a plain sentence") == 1.0
