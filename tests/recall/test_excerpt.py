"""Hits show the part of a page that was found, with the words that match."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault.recall.excerpt import CHARS_MAX, excerpt, narrowed


def marked(text: str, query: str) -> list[str]:
    shown = excerpt(text, query)
    return [shown.text[start:end] for start, end in shown.marks]


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("Ann has two allergies.", "allergy", ["allergies"]),
        ("She paid for the tickets.", "who pays the ticket?", ["paid", "tickets"]),
        ("Das Café ist zu.", "cafe", ["Café"]),
        ("Das Cafe\u0301 ist zu.", "café", ["Cafe\u0301"]),
        ("看，办公室搬到汉堡。", "办公室", ["办公室"]),
        ("港の近くのカフェ。", "カフェ", ["カフェ"]),
        ("הסיסמה החדשה היא שלום", "הסיסמה", ["הסיסמה"]),
        ("Порт открыт.", "порт", ["Порт"]),
        ("see src/foo-bar.py", "bar", ["bar"]),
        ("call fooBar() now", "bar", ["fooBar"]),
        ("it costs 1,200 euros", "1200", ["1,200"]),
        ("２０２６ ｏｆｆｉｃｅ", "office", ["ｏｆｆｉｃｅ"]),
        ("ราคาน้ำมันขึ้น", "น้ำมัน", ["น้ำมัน"]),
        ("กาแฟร้อนมาก", "ร้อน", ["ร้อน"]),
        ("ໜັງສືຢູ່ນີ້", "ໜັງສື", ["ໜັງສື"]),
        (unicodedata.normalize("NFD", "배관공은"), "배관", [unicodedata.normalize("NFD", "배관")]),
        ("من می\u200cخواهم بروم", "میخواهم", ["می\u200cخواهم"]),
        ("办\u2060公室在汉堡", "办公室", ["办公室"]),
        ("das Donau\u00addampf\u00adschiff", "Donaudampfschiff", ["Donaudampfschiff"]),
        ("see foo\ufeffbar.py", "foobar", ["foobar"]),
        ("see config_\u2060file", "configfile", ["config_file"]),
        ("write user@\ufeffexample.com", "userexamplecom", ["user@example.com"]),
        ("it costs 1,\u2060200 euros", "1200", ["1,200"]),
        ("nothing of it", "ferry", []),
    ],
)
def test_words_are_marked_as_the_index_matches_them(
    text: str, query: str, words: list[str]
) -> None:
    assert marked(text, query) == words


def test_an_excerpt_is_where_most_of_the_words_stand_together() -> None:
    talk = "We talked about the ferry and the weather. " * 40
    text = f"{talk}The spare key of the ferry lies in the blue box. {talk}"
    shown = excerpt(text, "spare key blue box ferry")
    assert "spare key of the ferry lies in the blue box" in shown.text
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert len(shown.text) <= CHARS_MAX
    assert "spare key" in narrowed(shown, 60).text
    assert len(narrowed(shown, 60).text) <= 60


def test_nothing_in_an_excerpt_acts_on_a_terminal() -> None:
    text = "before\x1b[31m\x07 the \u202eferry\u202c\r\n\n\tleaves\x00 at\u2028noon \U000e0041"
    shown = excerpt(text, "ferry noon")
    assert shown.text.isprintable()
    assert marked(text, "ferry noon") == ["ferry", "noon"]


@given(st.text(max_size=400), st.text(max_size=30), st.integers(20, CHARS_MAX))
def test_marks_lie_in_the_excerpt_whatever_is_said(text: str, query: str, chars: int) -> None:
    for shown in (excerpt(text, query), narrowed(excerpt(text, query), chars)):
        assert "\n" not in shown.text
        assert len(shown.text) <= CHARS_MAX
        last = 0
        for start, end in shown.marks:
            assert last <= start < end <= len(shown.text)
            last = end
    assert len(shown.text) <= chars


@given(st.text(st.sampled_from("ab ctéx.-_'漢かน้ำ\u200d\u00ad"), max_size=400), st.integers(3, 90))
def test_a_line_reads_the_same_whichever_way_it_is_made(text: str, chars: int) -> None:
    plain = " ".join(text.split())
    broken = plain.replace(" ", "\n")  # read character by character
    assert excerpt(plain, "ab cté x", chars_max=chars) == excerpt(
        broken, "ab cté x", chars_max=chars
    )


async def test_words_with_characters_that_do_not_show_are_found_and_marked() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        await session.user("The gar\u2060den gate is locked.")
        await session.user("Die Haus\u00adtür klemmt.")
        for query, words in (("\ufeffgarden", ["garden"]), ("Haustür", ["Haustür"])):
            hit = (await session.recall(query)).hits[0]
            assert [hit.excerpt[a:b] for a, b in hit.marks] == words


async def test_hits_say_what_they_were_found_by() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        await session.user("What did Ann paint?")
        await session.assistant("A red barn by the lake.")
        await session.user("Here is a long story. " * 60 + "The ferry has two bridges.")
        answer, _ = (await session.recall("what did Ann paint", limit=2)).hits
        assert (answer.why, answer.excerpt, answer.marks) == (
            "neighbours", "A red barn by the lake.", (),
        )  # fmt: skip
        ferry = (await session.recall("bridge of the ferry")).hits[0]
        assert ferry.why == "words"
        assert [ferry.excerpt[a:b] for a, b in ferry.marks] == ["ferry", "bridges"]
        recent = (await session.recent(1)).hits[0]
        assert recent.excerpt.startswith("Here is a long story.")
        assert not recent.marks
        assert recent.why == ""


async def test_what_is_found_by_its_title_shows_the_title_marked() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("talk")
        await session.document("Slates first, then the gutter.", title="Roof repairs")
        [hit] = (await session.recall("How do we repair the roof?")).hits
        assert hit.excerpt == "Roof repairs · Slates first, then the gutter."
        assert [hit.excerpt[a:b] for a, b in hit.marks] == ["Roof", "repairs"]
        [hit] = (await session.recall("slates")).hits
        assert hit.excerpt == "Slates first, then the gutter."
