"""Words that begin alike find one another, and count less than the word itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault.language.kin import LETTERS, kin_of
from pagefault.recall.kin import KIN
from pagefault.recall.search import RELEVANCE_MIN, Searcher, SearchResult
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.testing.index_contract import whole
from pagefault.testing.records import Records

FILLER = "Nothing worth a word was said on that grey afternoon."

KIN_OF = {
    "English": ("The analytical part hung below the roof.", "What of the analysis?"),
    "German": ("Die Heizungsanlage macht Lärm.", "Was ist mit der Heizung im Keller?"),
    "German, the other way": ("Die Heizung macht Lärm.", "Heizungsanlage kaputt?"),
    "Polish": ("Kupiliśmy nowe mieszkania w mieście.", "mieszkaniowe"),
    "Georgian": ("ბიბლიოთეკაში ვიყავი.", "ბიბლიოთეკარი"),
    "Chinese, doubled": ("我妈上周搬家了。", "妈妈住哪里？"),
    "code": ("configParser fell over", "the configuration"),
}


def searched(text: str, query: str) -> SearchResult:
    records, index = Records(), MemoryIndex()
    records.open("talk")
    for _ in range(30):
        records.say(1, FILLER)
    records.say(1, text)
    for _ in range(30):
        records.say(1, FILLER)
    index.apply(records.events)
    return Searcher(index).search(whole(1), query, limit=3)


@pytest.mark.parametrize(("text", "query"), KIN_OF.values(), ids=KIN_OF)
def test_a_word_is_found_by_one_that_begins_like_it(text: str, query: str) -> None:
    hits = searched(text, query).hits
    assert hits[0].page.order == 30
    assert hits[0].why == "words"
    assert RELEVANCE_MIN <= hits[0].coverage <= KIN + 0.01


@pytest.mark.parametrize(("text", "query"), KIN_OF.values(), ids=KIN_OF)
def test_control_without_kin_it_is_not(
    text: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.recall.search.kin_of", lambda terms: {})
    assert 30 not in [hit.page.order for hit in searched(text, query).hits[:1]]


def test_a_large_memory_is_not_searched_for_kin(monkeypatch: pytest.MonkeyPatch) -> None:
    text, query = KIN_OF["English"]
    records = 62  # with that of the session
    monkeypatch.setattr("pagefault.recall.search.KIN_RECORDS_MAX", records)
    assert searched(text, query).hits
    monkeypatch.setattr("pagefault.recall.search.KIN_RECORDS_MAX", records - 1)
    assert not searched(text, query).hits


def test_the_word_itself_counts_more_than_its_kin() -> None:
    records, index = Records(), MemoryIndex()
    records.open("talk")
    for text in ("The analytical vote was loud.", FILLER, FILLER, "They made an analysis, loud."):
        records.say(1, text)
    index.apply(records.events)
    hits = Searcher(index).search(whole(1), "Who analyses?", limit=2).hits
    assert hits[0].page.order == 3


@pytest.mark.parametrize(
    "term",
    ["port", "8080", "v1234567", "web3server", "fooba7r", ("de", "dec"), "日本", "3.5.12345"],
)
def test_short_words_numbers_and_names_with_digits_have_no_kin(term: str) -> None:
    assert kin_of([term]) == {}


def test_a_word_of_several_languages_has_the_kin_of_each() -> None:
    [kin] = kin_of([("heizungen", "heizung", "hzung")]).values()
    assert kin == ("heizungen"[:LETTERS] + "*", "hzung*")


async def test_the_excerpt_marks_the_kin_that_was_found(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, sync="os") as memory:
        session = await memory.session("s")
        await session.user("The analytical part hung below the roof.")
        [hit] = (await session.recall("What of the analysis?")).hits
        assert [hit.excerpt[first:last] for first, last in hit.marks] == ["analytical"]
