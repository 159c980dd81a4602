"""The simulated disk leaves what it may leave: all of it, over many seeds, and nothing else."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from pagefault.testing.sim_disk import FILLING, Death, Died, Fault, SimulatedDisk, Syscall
from pagefault.testing.sim_medium import Medium
from pagefault.testing.sim_vfs import IndexVfs

SEEDS = range(200)


def _disk(root: Path, seed: int = 0) -> SimulatedDisk:
    root.mkdir(exist_ok=True)
    chance = random.Random(seed)
    return SimulatedDisk(Medium(root, chance), chance)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SimulatedDisk]:
    disk = _disk(tmp_path / "disk")
    yield disk
    disk.medium.close()


def _write(disk: SimulatedDisk, path: Path, data: bytes, *, sync: bool) -> None:
    fd = disk.append_to(path) if path.exists() else disk.create(path)
    disk.write_all(fd, data)
    if sync:
        disk.sync(fd)
    os.close(fd)


def _after_cuts(root: Path, synced: bytes, unsynced: bytes) -> set[bytes]:
    """Everything that a power cut was seen to leave of a file."""
    left = set()
    for seed in SEEDS:
        disk = _disk(root / str(seed), seed)
        path = disk.medium.root / "file"
        _write(disk, path, synced, sync=True)
        disk.sync_directory(path.parent)
        _write(disk, path, unsynced, sync=False)
        disk.die(Death.POWER)
        disk.revive()
        left.add(path.read_bytes())
        disk.medium.close()
    return left


def test_what_was_synced_survives_and_what_was_not_may_be_torn_anywhere(tmp_path: Path) -> None:
    left = _after_cuts(tmp_path, b"synced,", b"not so")
    assert all(data.startswith(b"synced,") for data in left)
    assert left == {b"synced," + b"not so"[:length] for length in range(7)}


def test_blocks_that_were_not_synced_survive_in_any_order(tmp_path: Path) -> None:
    left = _after_cuts(tmp_path, b"", b"a" * 512 + b"b" * 512 + b"c" * 512)
    assert bytes(512) + b"b" * 512 in left
    assert b"a" * 512 + bytes(512) + b"c" * 512 in left
    assert {data.strip(b"\0")[-1:] for data in left} == {b"", b"a", b"b", b"c"}


def test_a_name_is_the_old_one_or_the_new_until_its_directory_is_synced(tmp_path: Path) -> None:
    seen = set()
    for seed in SEEDS:
        disk = _disk(tmp_path / str(seed), seed)
        root = disk.medium.root
        _write(disk, root / "old", b"1", sync=True)
        _write(disk, root / "gone", b"2", sync=True)
        disk.sync_directory(root)
        disk.rename(root / "old", root / "new")
        (root / "gone").unlink()  # past the disk: it is found out
        disk.die(Death.POWER)
        disk.revive()
        seen.add(tuple(sorted(path.name for path in root.iterdir())))
        disk.medium.close()
    assert seen == {("gone", "old"), ("gone", "new"), ("old",), ("new",)}


def test_a_synced_name_survives(tmp_path: Path) -> None:
    for seed in SEEDS:
        disk = _disk(tmp_path / str(seed), seed)
        path = disk.medium.root / "file"
        disk.place(path, path.with_name("file.new"), b"whole")
        disk.die(Death.POWER)
        disk.revive()
        assert [one.name for one in path.parent.iterdir()] == ["file"]
        assert path.read_bytes() == b"whole"
        disk.medium.close()


def test_a_kill_keeps_what_was_written_and_a_later_cut_may_still_take_it(tmp_path: Path) -> None:
    seen = set()
    for seed in SEEDS:
        disk = _disk(tmp_path / str(seed), seed)
        path = disk.medium.root / "file"
        _write(disk, path, b"x", sync=False)
        disk.sync_directory(path.parent)
        disk.die(Death.KILL)
        disk.revive()
        assert path.read_bytes() == b"x"
        disk.die(Death.POWER)
        disk.revive()
        seen.add(path.read_bytes())
        disk.medium.close()
    assert seen == {b"", b"x"}


def test_a_dead_disk_changes_nothing(disk: SimulatedDisk) -> None:
    path = disk.medium.root / "file"
    disk.die_after(1, Death.KILL)
    fd = disk.create(path)
    with pytest.raises(Died):
        disk.sync(fd)
    with pytest.raises(Died):
        disk.unlink(path)
    os.close(fd)
    path.write_bytes(b"past the disk")
    disk.revive()
    assert path.read_bytes() == b""


def test_a_call_fails_when_it_is_told_to(disk: SimulatedDisk) -> None:
    root = disk.medium.root
    disk.fail(Fault({Syscall.SYNC}, errno.EIO, nth=2))
    _write(disk, root / "a", b"1", sync=True)
    with pytest.raises(OSError, match="Input/output"):
        _write(disk, root / "b", b"1", sync=True)
    _write(disk, root / "c", b"1", sync=True)
    disk.fail(Fault(FILLING, errno.ENOSPC, lasting=True))
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            _write(disk, root / "d", b"1", sync=True)
    disk.heal()
    _write(disk, root / "d", b"1", sync=True)


def test_a_short_write_is_finished_by_whoever_wants_all(disk: SimulatedDisk) -> None:
    disk.short_writes = 1.0
    path = disk.medium.root / "file"
    _write(disk, path, b"all of it" * 50, sync=True)
    assert path.read_bytes() == b"all of it" * 50


# --- SQLite -----------------------------------------------------------------------------------


def _table(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    db.execute("CREATE TABLE IF NOT EXISTS t (x)")
    return db


def test_a_database_is_consistent_after_a_power_cut_and_may_have_lost_its_end(
    tmp_path: Path,
) -> None:
    seen = set()
    for seed in range(60):
        disk = _disk(tmp_path / str(seed), seed)
        path = disk.medium.root / "index.db"
        with IndexVfs(disk):
            db = _table(path)
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            disk.sync_directory(path.parent)
            for number in range(3):
                db.execute("INSERT INTO t VALUES (?)", (f"{number}" * 3_000,))
            disk.die(Death.POWER)
            db.close()
            disk.revive()
            db = _table(path)
            assert db.pragma("integrity_check") == "ok"
            seen.add(len(db.execute("SELECT x FROM t").fetchall()))
            db.close()
        disk.medium.close()
    assert {0, 3} <= seen <= {0, 1, 2, 3}


def test_an_error_of_the_disk_is_sqlites_error(disk: SimulatedDisk) -> None:
    with IndexVfs(disk):
        db = _table(disk.medium.root / "index.db")
        disk.fail(Fault({Syscall.INDEX_WRITE}, errno.ENOSPC))
        with pytest.raises(apsw.FullError):
            db.execute("INSERT INTO t VALUES (1)")
        disk.fail(Fault({Syscall.INDEX_WRITE}, errno.EIO))
        with pytest.raises(apsw.IOError):
            db.execute("INSERT INTO t VALUES (1)")
        disk.heal()
        db.execute("INSERT INTO t VALUES (1)")
        assert db.execute("SELECT x FROM t").fetchall() == [(1,)]
        db.close()


def test_the_usual_vfs_is_back_afterwards_and_other_files_were_never_ours(
    disk: SimulatedDisk, tmp_path: Path
) -> None:
    before = apsw.vfs_names()[0]
    with IndexVfs(disk):
        disk.fail(Fault(set(Syscall), lasting=True))
        db = _table(tmp_path / "elsewhere.db")
        db.execute("INSERT INTO t VALUES (1)")
        db.close()
    assert apsw.vfs_names()[0] == before
