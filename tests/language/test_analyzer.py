"""What two words must have in common to match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.language.analyzer import (
    TERM_CHARS_MAX,
    analyze,
    other_languages,
    query_terms,
    query_words,
)
from pagefault.language.known import told
from pagefault.language.sought import alternatives
from pagefault.store.said import said_by


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("plans", "The plan was good."),
        ("deciding", "We decided."),
        ("Café", "cafe\u0301 au lait"),
        ("STRASSE", "Straße"),
        ("full width", "ＦＵＬＬ ｗｉｄｔｈ"),
        ("Caroline", "Caroline's painting"),
        ("Caroline", "Caroline’s painting"),
        ("don't", "I don’t know"),
        ("foo_bar.py", "see foo_bar.py."),
        ("foo bar", "see src/foo_bar.py"),
        ("foo_bar.py", "see src/lib/foo_bar.py"),
        ("foobar", "call fooBar()"),
        ("foo_bar", "call FooBar"),
        ("http server", "class HTTPServer"),
        ("index.py", r"C:\work\index.py"),
        ("followup", "a follow-up"),
        ("1200", "it cost 1,200 dollars"),
        ("3.54.1", "SQLite 3.54.1 is out"),
        ("2023-05-07", "on 2023-05-07."),
        ("10:30", "at 10:30"),
        ("MP-229", "closes MP-229"),
        ("msg_12", "[ref: msg_12]"),
        ("データ", "大きなデータベース"),
        ("검색", "한국어 검색 기능"),
        ("GIL", "Python的GIL"),
        ("50k", "the budget is $50K"),
        ("oeuvre", "son Œuvre"),
        ("cœur", "coeur"),
        ("lodz", "in Łódź"),
        ("Ægir", "Aegir"),
        ("nut allergy", "Ann is allergic to nuts"),
        ("when did they choose", "their choice"),
        ("favourite colour", "my favorite color"),
    ],
)
def test_all_of_a_query_is_found_in(query: str, text: str) -> None:
    assert set(query_terms(query)) <= set(analyze(text))


@pytest.mark.parametrize(
    ("query", "text"), [("3.5", "35"), ("cat", "category"), ("東京", "京都"), ("new", "news")]
)
def test_what_only_looks_alike_does_not_match(query: str, text: str) -> None:
    assert not set(query_terms(query)) & set(analyze(text))


def test_a_term_stands_as_often_as_its_word() -> None:
    assert analyze("Tea, tea and TEA") == ["tea", "tea", "and", "tea"]


def test_stop_words_are_left_out_of_a_query() -> None:
    assert query_terms("What did we decide about the database?") == analyze("decide database")
    assert query_terms("What's the plan") == ["plan"]
    assert query_terms("whats the plan, im sure you didnt say") == ["plan", "sure", "say"]


def test_words_of_grammar_that_french_joins_are_left_out_too() -> None:
    asked = query_words("Que s'est-il passé, et y a-t-il du lait dans le porte-monnaie ?", ["fr"])
    terms = [alternatives(one)[-1] for one in asked]
    assert terms == ["pass", "lait", "portemonnai", "port", "monnai"]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


@pytest.mark.parametrize("text", ["", "   ", "?!… -- ***", "\x00\x01"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert analyze(text) == query_terms(text) == []


@given(st.text())
def test_terms_are_short_bare_and_survive_any_engine(text: str) -> None:
    for term in analyze(text):
        assert 0 < len(term) <= TERM_CHARS_MAX
        assert not any(char.isspace() for char in term)
        assert term.isprintable()
        assert all(char.isalnum() or char in ".:-" or not char.isascii() for char in term)


@given(st.text(), st.text())
def test_a_text_has_the_terms_of_its_lines(one: str, other: str) -> None:
    assert analyze(f"{one}\n\n{other}") == analyze(one) + analyze(other)


SPELLED = [
    "The plumber came on Tuesday.",
    "Der Klempner kam am Dienstag, nicht am Montag.",
    "Сантехник приходил во вторник.",
    "می\u200cخواهم کتاب\u200cها را بخوانم",
    "प्लंबर मंगलवार को आया था",
    "管道工星期二来了",
    "配管工は火曜日に来ました",
    "ช่างประปามาวันอังคาร ราคาน้ำ",
    "배관공은 화요일에 왔어요",
]


@given(st.sampled_from(SPELLED), st.lists(st.integers(0, 45), max_size=9), st.data())
def test_what_does_not_show_changes_no_term(
    spelled: str, places: list[int], data: st.DataObject
) -> None:
    text = spelled
    for at in places:
        unseen = data.draw(st.sampled_from("\u00ad\u200c\u200d\u200e\u061c\u2060\ufeff\ufe0f"))
        text = text[:at] + unseen + text[at:]
    assert analyze(text) == analyze(spelled)
    assert query_terms(text) == query_terms(spelled)
    assert other_languages(text) == other_languages(spelled)
    assert told(text) == told(spelled)
    assert said_by(text).terms == said_by(spelled).terms


def test_a_zero_width_space_separates_words() -> None:
    assert analyze("red\u200bboat") == ["red", "boat"]


@given(st.text())
def test_a_query_finds_the_text_it_was_copied_from(text: str) -> None:
    assert set(query_terms(text)) <= set(analyze(text))


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        ("painted", "painting", True),
        ("kitchens", "kitchen", True),
        ("Café", "cafe", True),
        ("fooBar", "foo_bar", True),
        ("ran", "run", True),
        ("mice", "mouse", True),
        ("bought", "buying", True),
        ("rose", "rise", False),
        ("car", "automobile", False),
        ("kitchne", "kitchen", False),
    ],
)
def test_words_match_as_the_design_says(one: str, other: str, match: bool) -> None:
    assert bool(set(analyze(one)) & set(analyze(other))) is match


def test_how_many_asks_for_a_number_and_not_for_the_word_many() -> None:
    assert query_words("How many dogs and how much food do I have?") == ["dog", "food"]
