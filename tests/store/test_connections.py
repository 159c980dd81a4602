"""Connections to the index's file: what an error leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.store.connections import Connections


def _count_after_a_failed_reading(path: Path) -> int:
    """Rows that a thread sees: two when its reading fails half-way, then a third is added."""
    connections = Connections(path, read_only=False)
    with connections.write() as db:
        db.execute("CREATE TABLE said (text); INSERT INTO said VALUES ('one'), ('two')")
    kept: list[object] = []  # as the frames of a traceback keep it
    with pytest.raises(MemoryError):
        _fail_half_way(connections, kept)
    with connections.write() as db:
        db.execute("INSERT INTO said VALUES ('three')")
    with connections.read() as db:
        ((count,),) = db.execute("SELECT count(*) FROM said")
    connections.close()
    return int(count)


def _fail_half_way(connections: Connections, kept: list[object]) -> None:
    with connections.read() as db:
        rows = db.execute("SELECT text FROM said")
        kept += [rows, next(rows)]
        raise MemoryError


def test_after_a_reading_that_failed_the_same_thread_sees_the_present(tmp_path: Path) -> None:
    assert _count_after_a_failed_reading(tmp_path / "index.db") == 3


def test_control_a_reader_that_is_kept_sees_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connections, "_discard", lambda self, connection: None)
    assert _count_after_a_failed_reading(tmp_path / "index.db") == 2
