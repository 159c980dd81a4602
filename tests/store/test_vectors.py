"""The file of vectors: derived, kept apart, and forgotten with the pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from pagefault.model.errors import StoreError
from pagefault.model.ids import FOREVER, Seq, SessionNo
from pagefault.model.page import EVERYTHING, Scope
from pagefault.store.api import VectorsUnusable
from pagefault.store.embedded import connections as connections_module
from pagefault.store.embedded import vectors as vectors_module
from pagefault.store.embedded.vectors import SqliteVectors
from pagefault.store.place import place_of
from pagefault.store.vector_cache import Vectors

ONE, TWO = SessionNo(1), SessionNo(50)
NONE = Seq(0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors.db"


def rows(count: int, *, seed: int = 0) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((count, 32)).astype(np.float32)
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def pages(session: SessionNo, *orders: int) -> list[tuple[int, Seq]]:
    return [(place_of(session, order), Seq(session + 1 + order)) for order in orders]


def filled(file: Path) -> tuple[SqliteVectors, Vectors]:
    """Five pages of one session, and three of another."""
    vectors = SqliteVectors.create(file, root_id="r")
    made = rows(8)
    assert vectors.put("m", pages(ONE, 0, 1, 2, 3, 4), made[:5], forgotten=NONE)
    assert vectors.put("m", pages(TWO, 0, 1, 2), made[5:], forgotten=NONE)
    return vectors, made


def test_the_nearest_page_of_a_session_is_found_by_its_order(file: Path) -> None:
    vectors, made = filled(file)
    found = vectors.nearest("m", Scope.whole(ONE), made[3], limit=2)
    assert found.places[0] == 3
    assert found.similarities[0] == pytest.approx(1, abs=1e-2)
    assert len(found.places) == 2
    vectors.close()


def test_a_scope_sees_its_sessions_and_no_more_of_them_than_it_may(file: Path) -> None:
    vectors, made = filled(file)
    scope = Scope(((TWO, FOREVER), (ONE, Seq(3))))
    seen = vectors.nearest("m", scope, made[4], limit=50)
    assert sorted(seen.places.tolist()) == [0, 0, 1, 1, 2]
    assert seen.similarities.max() < 0.9
    assert not len(vectors.nearest("m", scope.derived, made[4], limit=50).places)
    vectors.close()


def test_over_everything_a_place_is_that_of_the_index(file: Path) -> None:
    vectors, made = filled(file)
    found = vectors.nearest("m", EVERYTHING, made[6], limit=1)
    assert found.places.tolist() == [place_of(TWO, 1)]
    vectors.close()


def test_what_is_put_later_is_found_at_the_next_question(file: Path) -> None:
    vectors, _ = filled(file)
    later = rows(2, seed=9)
    for scope in (Scope.whole(ONE), EVERYTHING):
        vectors.nearest("m", scope, later[0], limit=1)
    beside = SqliteVectors.open(file, root_id="r")  # by another process, say
    assert beside.put("m", pages(ONE, 5, 6), later, forgotten=NONE)
    assert vectors.nearest("m", Scope.whole(ONE), later[1], limit=1).places.tolist() == [6]
    everywhere = vectors.nearest("m", EVERYTHING, later[0], limit=1)
    assert everywhere.places.tolist() == [place_of(ONE, 5)]
    assert vectors.last_order("m", ONE) == 6
    beside.close()
    vectors.close()


def test_vectors_of_two_models_are_never_compared(file: Path) -> None:
    vectors, made = filled(file)
    assert vectors.put("other", pages(ONE, 0), made[3:4], forgotten=NONE)
    assert vectors.nearest("other", EVERYTHING, made[3], limit=9).places.tolist() == [
        place_of(ONE, 0)
    ]
    assert not len(vectors.nearest("unheard of", EVERYTHING, made[3], limit=9).places)
    assert vectors.last_order("other", ONE) == 0
    assert vectors.last_order("other", TWO) == -1
    vectors.keep_only("other")
    assert vectors.counts() == {"other": 1}
    vectors.close()


def test_what_was_put_is_there_when_it_is_opened_again(file: Path) -> None:
    vectors, made = filled(file)
    vectors.close()
    again = SqliteVectors.open(file, root_id="r", read_only=True)
    assert again.counts() == {"m": 8}
    assert again.nearest("m", Scope.whole(TWO), made[7], limit=1).places.tolist() == [2]
    again.close()


# --- forgetting -----------------------------------------------------------------------------------


def bytes_of(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.iterdir()))


def test_a_forgotten_pages_vector_stands_in_no_file(file: Path) -> None:
    vectors, made = filled(file)
    lost, kept = (made[n].astype("<f2").tobytes() for n in (2, 3))
    vectors.nearest("m", EVERYTHING, made[0], limit=1)
    assert lost in bytes_of(file.parent)
    vectors.forget(Seq(90), [Seq(ONE + 1 + 2)], [])
    assert lost not in bytes_of(file.parent)
    assert kept in bytes_of(file.parent)
    found = vectors.nearest("m", EVERYTHING, made[2], limit=50)
    assert place_of(ONE, 2) not in found.places.tolist()
    vectors.close()


@pytest.mark.parametrize("left_out", ["secure", "empty_log"])
def test_that_check_catches_an_erasure_that_leaves_something_out(
    file: Path, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without emptying SQLite's log, or without writing zeros, the bytes stay."""
    vectors, made = filled(file)
    lost = made[2].astype("<f2").tobytes()
    if left_out == "empty_log":
        monkeypatch.setattr(vectors._connections, "empty_log", lambda: None)
    else:
        monkeypatch.setattr(SqliteVectors, "_erase", lambda self: self._connections.empty_log())
        with vectors._connections.bare() as db:
            db.execute("PRAGMA secure_delete = OFF")
    vectors.forget(Seq(90), [Seq(ONE + 1 + 2)], [])
    assert lost in bytes_of(file.parent)
    vectors.close()


def test_a_forgotten_session_leaves_nothing(file: Path) -> None:
    vectors, made = filled(file)
    vectors.forget(Seq(90), [], [TWO])
    assert vectors.counts() == {"m": 5}
    assert not any(row.astype("<f2").tobytes() in bytes_of(file.parent) for row in made[5:])
    vectors.close()


def test_what_was_made_before_a_forgetting_is_not_put_after_it(file: Path) -> None:
    vectors, _ = filled(file)
    before = vectors.forgotten()
    vectors.forget(Seq(90), [Seq(ONE + 1 + 4)], [])  # while its text is being embedded anew
    assert not vectors.put("n", pages(ONE, 4), rows(1), forgotten=before)
    assert vectors.put("n", pages(ONE, 3), rows(1), forgotten=vectors.forgotten())
    assert vectors.counts() == {"m": 7, "n": 1}
    vectors.close()


def test_what_another_process_forgot_is_not_found_in_memory_either(file: Path) -> None:
    vectors, made = filled(file)
    scope = Scope.whole(ONE)
    assert vectors.nearest("m", scope, made[2], limit=1).places.tolist() == [2]
    beside = SqliteVectors.open(file, root_id="r")
    beside.forget(Seq(90), [Seq(ONE + 1 + 2)], [])
    assert 2 not in vectors.nearest("m", scope, made[2], limit=50).places.tolist()
    beside.close()
    vectors.close()


@pytest.mark.parametrize("is_weakened", [False, True], ids=["sound", "control"])
def test_a_model_that_takes_a_pruned_ones_code_gets_none_of_its_vectors(
    file: Path, is_weakened: bool
) -> None:
    """Of a reader that was open all the while, and keeps what it read."""
    vectors, made = filled(file)
    later = rows(2, seed=9)
    vectors.put("pruned", pages(ONE, 0, 1), later, forgotten=NONE)
    reader = SqliteVectors.open(file, root_id="r", read_only=True)
    scope = Scope.whole(ONE)
    assert reader.nearest("pruned", scope, later[1], limit=1).places.tolist() == [1]
    vectors.keep_only("m")
    if is_weakened:  # who prunes does not say so
        with vectors._connections.write() as db:
            db.execute("DELETE FROM meta WHERE name = 'pruned'")
    vectors.put("next", pages(ONE, 0), made[7:], forgotten=NONE)
    found = reader.nearest("next", scope, made[7], limit=5)
    assert (found.places.tolist() == [0]) is not is_weakened
    if not is_weakened:
        assert found.similarities[0] == pytest.approx(1, abs=1e-2)
    reader.close()
    vectors.close()


def test_of_some_pages_the_nearest_are_found_wherever_they_stand(file: Path) -> None:
    vectors, made = filled(file)
    scope = Scope(((TWO, FOREVER), (ONE, Seq(3))))
    near = vectors.nearest("m", scope, made[1], limit=1, only=np.array([2]))
    assert near.places.tolist() == [1, 2], "the nearest of all, and the nearest wanted"
    places = np.array(sorted(place_of(TWO, order) for order in (0, 2)))
    everywhere = vectors.nearest("m", EVERYTHING, made[1], limit=2, only=places)
    assert set(places.tolist()) < set(everywhere.places.tolist())
    assert len(everywhere.places) <= 4
    vectors.close()


# --- files that are not ours ----------------------------------------------------------------------


def test_a_file_of_another_root_is_not_used(file: Path) -> None:
    filled(file)[0].close()
    with pytest.raises(VectorsUnusable, match="root_id"):
        SqliteVectors.open(file, root_id="another")


@pytest.mark.parametrize("damage", [b"", b"not a database, by any means", bytes(8_192)])
def test_a_file_that_cannot_be_read_is_unusable(file: Path, damage: bytes) -> None:
    file.write_bytes(damage)
    with pytest.raises(VectorsUnusable):
        SqliteVectors.open(file, root_id="r", read_only=True)


def test_a_file_of_other_tables_is_unusable(file: Path) -> None:
    with apsw.Connection(str(file)) as db:
        db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value)")
    db.close()
    with pytest.raises(VectorsUnusable):
        SqliteVectors.open(file, root_id="r")


def unchecked(path: Path, monkeypatch: pytest.MonkeyPatch, *, schema: int) -> None:
    """A file of one vector, of a machine whose SQLite has no checksums."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(vectors_module, "SCHEMA", schema)
        elsewhere.setattr(connections_module, "checking_vfs", lambda: None)
        vectors = SqliteVectors.create(path, root_id="root")
        assert vectors.put("m", [(place_of(SessionNo(1), 0), Seq(2))], rows(1), forgotten=NONE)
        vectors.close()


SCHEMAS = pytest.mark.parametrize("schema", [1, vectors_module.SCHEMA])


@SCHEMAS
def test_vectors_without_checksums_are_kept_and_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int
) -> None:
    path = tmp_path / "vectors.db"
    unchecked(path, monkeypatch, schema=schema)
    now = SqliteVectors.open(path, root_id="root")
    assert now.counts() == {"m": 1}
    assert now.check() == []
    now.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="checksum"):
        SqliteVectors.open(path, root_id="root").check()


@SCHEMAS
def test_vectors_without_checksums_are_read_as_they_are_by_who_only_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int
) -> None:
    path = tmp_path / "vectors.db"
    unchecked(path, monkeypatch, schema=schema)
    before = path.read_bytes()
    with closing(SqliteVectors.open(path, root_id="root", read_only=True)) as read:
        assert read.counts() == {"m": 1}
        assert read.check() == []
    assert path.read_bytes() == before


def test_vectors_without_checksums_are_kept_where_none_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vectors.db"
    unchecked(path, monkeypatch, schema=1)
    monkeypatch.setattr(connections_module, "checking_vfs", lambda: None)
    with closing(SqliteVectors.open(path, root_id="root")) as vectors:
        assert vectors.counts() == {"m": 1}


def test_a_header_that_hides_its_checksums_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    with closing(SqliteVectors.create(path, root_id="root")) as vectors:
        assert vectors.put("m", [(place_of(SessionNo(1), 0), Seq(2))], rows(1), forgotten=NONE)
    data = bytearray(path.read_bytes())
    assert data[20] == 8, "bytes reserved in each page, for its checksum"
    data[20] = 0
    path.write_bytes(data)
    with pytest.raises(VectorsUnusable):
        SqliteVectors.open(path, root_id="root")
    with closing(SqliteVectors.open(path, root_id="root", read_only=True)) as read:
        assert read.check() != []
