"""The SQLite index and its specification in dicts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from pagefault.model.errors import StoreReadOnly
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.kinds import Kind, Role
from pagefault.model.page import Scope
from pagefault.store.embedded import batch
from pagefault.store.embedded import index as index_module
from pagefault.store.embedded.batch import FRESH_MAX
from pagefault.store.embedded.connections import IndexUnusable, checking_vfs
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.place import place_of
from pagefault.testing.index_contract import PageIndexContract, containing, whole
from pagefault.testing.index_machine import IndexMachine
from pagefault.testing.records import Records
from tests.examples import few


class TestSqliteIndex(PageIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SqliteIndex]:
        index = SqliteIndex.create(tmp_path / "index.db", root_id="root")
        yield index
        index.close()


class TestSqliteIndexWithoutWaiting(TestSqliteIndex):
    """As every page is once it has left `fresh`."""

    @pytest.fixture(autouse=True)
    def _nothing_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batch, "FRESH_MAX", 0)


class TestSqliteIndexInMemory(PageIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[SqliteIndex]:
        index = SqliteIndex.create(":memory:", root_id="root")
        yield index
        index.close()


class TestMemoryIndex(PageIndexContract):
    @pytest.fixture
    def index(self) -> MemoryIndex:
        return MemoryIndex()


class TestIndexLife(IndexMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = few(6, torture=100, stateful_step_count=25)


def filled(path: Path, texts: list[str]) -> SqliteIndex:
    records = Records()
    records.open("planning")
    for text in texts:
        records.say(1, text)
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    return index


@pytest.mark.parametrize("pages", [3, FRESH_MAX + 3])
def test_no_byte_of_a_forgotten_word_is_left_in_any_file(tmp_path: Path, pages: int) -> None:
    index = filled(tmp_path / "index.db", ["xylophagous quokkas"] + ["tea and cake"] * pages)
    assert b"quokka" in everything(tmp_path)
    index.forget([Seq(2)], [])
    assert b"quokka" not in everything(tmp_path)
    assert b"xylophag" not in everything(tmp_path)
    assert len(containing(index, whole(1), "tea")) == pages
    assert index.check() == []
    index.close()


def test_no_byte_of_a_forgotten_session_is_left_in_any_file(tmp_path: Path) -> None:
    index = filled(tmp_path / "index.db", ["xylophagous quokkas"] * 200)
    index.forget([Seq(seq) for seq in range(1, 202)], [SessionNo(1)])
    for word in (b"quokka", b"xylophag", b"planning", b"id-1"):
        assert word not in everything(tmp_path)
    index.close()


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def test_no_sentence_can_be_read_back(tmp_path: Path) -> None:
    index = filled(tmp_path / "index.db", ["the quokka ate seven green apples"])
    index.close()
    assert b"quokka ate" not in everything(tmp_path)


def test_what_was_applied_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    filled(path, ["tea"] * 300).close()
    index = SqliteIndex.open(path, root_id="root")
    assert index.applied_seq() == 301
    assert index.candidates(whole(1), ["tea"], limit=1).frequencies == (300,)
    index.close()


def check_that_the_past_is_not_looked_through() -> None:
    """A session is opened by its last records, and by the few of certain types."""
    steps = [looked_at(pages) for pages in (200, 4_000)]
    assert max(steps) < 1.1 * min(steps), f"steps of SQLite's machine: {steps}"


def looked_at(pages: int) -> int:
    """How far SQLite steps to find the last records, and those of two types, among so many."""
    index = filled(Path(":memory:"), ["tea"] * pages)
    steps = 0

    def stepped() -> bool:
        nonlocal steps
        steps += 1
        return False

    with index._connections.bare() as db:
        db.set_progress_handler(stepped, 1)
    assert len(index.events(SessionNo(1), after=Seq(pages - 9))) == 10
    assert index.events(SessionNo(1), types=("session_opened", "packed")) == [1]
    index.close()
    return steps


def test_asking_for_records_does_not_look_through_the_past_of_a_session() -> None:
    check_that_the_past_is_not_looked_through()


def test_looking_through_the_past_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    every = """
        SELECT seq, turn FROM event WHERE session = ?1 AND seq > ?2
        AND (?3 IS NULL OR type IN (SELECT value FROM json_each(?3))) ORDER BY seq
    """
    monkeypatch.setitem(index_module._SQL._texts, "events_of", every)
    with pytest.raises(AssertionError, match="steps"):
        check_that_the_past_is_not_looked_through()


def test_the_index_of_another_root_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    filled(path, ["tea"]).close()
    with pytest.raises(IndexUnusable, match="root_id"):
        SqliteIndex.open(path, root_id="another")


def test_an_index_of_another_analyzer_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.db"
    filled(path, ["tea"]).close()
    monkeypatch.setattr(index_module, "ANALYZER", 999)
    with pytest.raises(IndexUnusable, match="analyzer"):
        SqliteIndex.open(path, root_id="root")


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 400])
def test_a_file_that_is_no_index_is_to_be_rebuilt(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(IndexUnusable):
            SqliteIndex.open(path, root_id="root", read_only=read_only)


def test_a_missing_file_is_to_be_rebuilt_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with pytest.raises(IndexUnusable, match="not there"):
        SqliteIndex.open(path, root_id="root")
    assert not path.exists()


def test_a_reader_is_refused_every_write(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    writer = filled(path, ["tea"])
    reader = SqliteIndex.open(path, root_id="root", read_only=True)
    records = Records(after=2)
    with pytest.raises(StoreReadOnly):
        reader.apply([records.say(1, "cake", order=1)])
    with pytest.raises(StoreReadOnly):
        reader.forget([Seq(2)], [])
    assert containing(reader, whole(1), "tea") == {Seq(2)}
    reader.close()
    writer.close()


def test_a_reader_sees_what_another_process_applied_since(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    writer = filled(path, ["tea"])
    reader = SqliteIndex.open(path, root_id="root", read_only=True)
    records = Records(after=2)
    records.say(
        1, "cake", order=1, role=Role.TOOL, kind=Kind.ARTIFACT
    )  # words the reader never met
    writer.apply(records.events)
    row = reader.page_at(Seq(3))
    assert row is not None
    assert (row.role, row.kind) == ("tool", "artifact")
    reader.close()
    writer.close()


def test_a_reader_counts_no_page_that_another_process_forgot(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    records = Records()
    records.open("planning")
    records.say(1, "tea")
    records.say(1, "cake")
    records.open("fork", parent=1, parent_seq=3)
    records.say(1, "what the fork does not see")
    writer = SqliteIndex.create(path, root_id="root")
    writer.apply(records.events)
    reader = SqliteIndex.open(path, root_id="root", read_only=True)
    seen = Scope(((SessionNo(4), Seq(5)), (SessionNo(1), Seq(3))))
    assert reader.candidates(seen, ["tea"], limit=5).pages == 2
    writer.forget([Seq(2)], [])
    assert reader.candidates(seen, ["tea"], limit=5).pages == 1
    reader.close()
    writer.close()


@pytest.mark.parametrize("where", ["file", "memory"])
def test_threads_read_while_one_writes(tmp_path: Path, where: str) -> None:
    path = ":memory:" if where == "memory" else tmp_path / "index.db"
    index = SqliteIndex.create(path, root_id="root")
    records = Records()
    records.open("planning")
    for _ in range(300):
        records.say(1, "tea")
    failures: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                found = index.candidates(whole(1), ["tea"], limit=5)
                assert found.frequencies == (found.pages,), "each query sees one state"
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for event in records.events:
        index.apply([event])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert index.candidates(whole(1), ["tea"], limit=5).pages == 300
    index.close()


def test_check_tells_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    filled(path, ["tea", "cake"]).close()
    vandal = apsw.Connection(str(path), vfs=checking_vfs())
    vandal.execute("DELETE FROM event WHERE seq = 2; DELETE FROM page WHERE seq = 3")
    vandal.close()
    index = SqliteIndex.open(path, root_id="root")
    assert index.check() == [
        "a page lacks its record or its terms: 2",
        f"terms stand at no page: {place_of(SessionNo(1), 1)}",
        "a session's counts are not those of its pages: 1",
        "a session's bytes are not those of its records: 1",
    ]
    index.close()


def test_requirement_004_finds_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    records = Records()
    records.open("planning")
    records.say(1, "tea", kind=Kind.ARTIFACT, page_id="art_1")
    index = SqliteIndex.create(path, root_id="root")
    index.apply(records.events)
    index.close()
    db = apsw.Connection(str(path))
    assert db.execute("SELECT event_type, page_id FROM events ORDER BY seq").fetchall() == [
        ("session_opened", None),
        ("document", "art_1"),
    ]
    assert db.execute("SELECT page_id, modality FROM artifacts").fetchall() == [("art_1", "text")]
    assert db.execute("SELECT name FROM sessions").fetchall() == [("planning",)]
    assert db.execute("SELECT count(*) FROM event_fts WHERE event_fts MATCH 'x'").fetchall() == [
        (0,)
    ]
    db.close()


def test_an_index_costs_about_as_many_bytes_as_the_text(tmp_path: Path) -> None:
    words = [f"word{number % 700}" for number in range(60 * 2_000)]
    texts = [" ".join(words[at : at + 53]) for at in range(0, len(words), 60)]
    filled(tmp_path / "index.db", texts).close()
    assert (tmp_path / "index.db").stat().st_size < 1.1 * sum(map(len, texts))


def test_a_scope_of_no_session_finds_nothing(tmp_path: Path) -> None:
    index = filled(tmp_path / "index.db", ["tea"])
    assert index.candidates(Scope(()), ["tea"], limit=5).pages == 0
    assert index.candidates(whole(77), ["tea"], limit=5).pages == 0
    index.close()
