"""The posting lists that an index caches between queries."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pagefault.model.events import Said
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import Scope
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.postings import SqlitePostings
from pagefault.store.embedded.postings_cache import PostingsCache, SessionPostings
from pagefault.store.likely import Numbers
from pagefault.store.place import Span, place_of
from pagefault.testing.records import Records

SESSION = Scope.whole(SessionNo(1))
WORDS = ["tea", "cake", "mi*"]


def records_saying(*texts: str) -> Records:
    records = Records()
    records.open("planning")
    for text in texts:
        records.say(1, text)
    return records


def frequencies(index: SqliteIndex, scope: Scope = SESSION) -> tuple[int, ...]:
    found = index.candidates(scope, WORDS, limit=9)
    assert found.frequencies == index.candidates(scope, WORDS, limit=0).frequencies
    assert found.counts.astype(bool).sum() == sum(found.frequencies)
    index._postings_cache.check()
    return found.frequencies


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def test_a_list_is_read_once_while_pages_are_added(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = records_saying("tea", "tea with milk", "cake")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    assert frequencies(index) == (2, 1, 1)
    read: list[str] = []
    real = SqlitePostings._read

    def reading(self: SqlitePostings, word: str, span: Span) -> Numbers:
        read.append(word)
        return real(self, word, span)

    monkeypatch.setattr(SqlitePostings, "_read", reading)
    before = records.events[-1].seq
    index.apply([records.say(1, "cake and mint"), records.say(1, "tea")])
    assert frequencies(index) == (3, 2, 2)
    assert frequencies(index, Scope(((SessionNo(1), before),))) == (2, 1, 1)
    assert read == []
    index.close()


def test_a_new_word_is_not_sought_in_pages_that_were_added(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = records_saying("plum", "tea")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    assert frequencies(index) == (1, 0, 0)  # from here on, pages are added to the lists
    index.apply([records.say(1, "plum tea"), records.say(1, "cake")])
    read: list[tuple[str, int]] = []
    real = SqlitePostings._read

    def reading(self: SqlitePostings, word: str, span: Span) -> Numbers:
        read.append((word, span.last - span.origin))
        return real(self, word, span)

    monkeypatch.setattr(SqlitePostings, "_read", reading)
    assert index.candidates(SESSION, ["plum"], limit=9).frequencies == (2,)
    assert read[0] == ("plum", 1)
    assert {last for _, last in read} == {1}
    assert frequencies(index) == (2, 1, 0)
    index.close()


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_what_another_process_erased_is_in_no_cached_list(path: Path, is_forgotten: bool) -> None:
    records = records_saying("tea", "tea with milk", "cake")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    other = SqliteIndex.open(path, root_id="root")
    assert frequencies(index) == frequencies(other) == (2, 1, 1)
    tea = records.events[1]
    if is_forgotten:
        other.forget([tea.seq], ())
    else:
        assert isinstance(tea.body, Said)
        other.revise([replace(tea, body=replace(tea.body, text="cake"))])
    assert frequencies(index) == ((1, 1, 1) if is_forgotten else (1, 2, 1))
    other.close()
    index.close()


def test_what_another_process_wrote_is_found(path: Path) -> None:
    records = records_saying("tea", "cake")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    other = SqliteIndex.open(path, root_id="root")
    assert frequencies(index) == frequencies(other) == (1, 1, 0)
    other.apply([records.say(1, "milk tea")])
    assert frequencies(index) == (2, 1, 1)
    index.apply([records.say(1, "cake")])
    assert frequencies(other) == frequencies(index) == (2, 2, 1)
    other.close()
    index.close()


def test_a_moment_sees_nothing_that_is_added_meanwhile(path: Path) -> None:
    records = records_saying("tea", "cake")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    assert frequencies(index) == (1, 1, 0)  # from here on, lists are cached
    with index.moment():
        assert index.candidates(SESSION, ["tea"], limit=0).frequencies == (1,)
        more = [records.say(1, "tea and cake"), records.say(1, "plum")]
        writer = threading.Thread(target=index.apply, args=(more,))
        writer.start()
        writer.join()
        assert frequencies(index) == (1, 1, 0)
        assert index.candidates(SESSION, ["plum"], limit=0).frequencies == (0,)
    assert frequencies(index) == (2, 2, 0)
    assert index.candidates(SESSION, ["plum"], limit=0).frequencies == (1,)
    index.close()


def lists_of(cache: PostingsCache, session: int, applied: int) -> SessionPostings:
    found = cache.of(SessionNo(session), end=2_000, applied=Seq(applied), erased=0)
    assert found is not None
    return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> PostingsCache:
    monkeypatch.setattr("pagefault.store.embedded.postings_cache.BYTES_MAX", 10_000)
    return PostingsCache()


def test_the_session_used_longest_ago_is_dropped(small: PostingsCache) -> None:
    for session in (1, 2, 3):
        lists_of(small, session, 9).keep("tea", np.arange(700))
    assert lists_of(small, 1, 9).find("tea") is None
    assert lists_of(small, 3, 9).counts(["tea"]) == [700]


def test_an_import_into_a_session_does_not_fill_memory_with_its_lists(small: PostingsCache) -> None:
    lists_of(small, 1, 9).keep("tea", np.arange(0))
    pages = [(place_of(SessionNo(1), order), "tea and cake") for order in range(400)]
    small.add(pages[:200], after=Seq(9), upto=Seq(10))
    assert lists_of(small, 1, 10).counts(["tea"]) == [200]
    small.add(pages[200:], after=Seq(10), upto=Seq(11))
    assert lists_of(small, 1, 11).counts(["tea"]) == [None]
