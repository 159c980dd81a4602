"""A log that lost its end: what was acknowledged is missed, and not written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Lost
from pagefault.model.ids import NOTHING, Seq
from pagefault.model.kinds import Sync
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.root import rebuild, repair
from tests.store.roots import make_root, make_segments_tiny, open_root, snapshot, tools, write

TURNS = 30


def _cut_two_lines(root: Path) -> None:
    last = max((root / "log").glob("*.jsonl"))
    if last.read_bytes().count(b"\n") < 3:  # it has no two records to lose
        last.unlink()
        last = max((root / "log").glob("*.jsonl"))
    lines = last.read_bytes().splitlines(keepends=True)
    last.write_bytes(b"".join(lines[:-2]))


def _delete_the_last(root: Path) -> None:
    max((root / "log").glob("*.jsonl")).unlink()


def _delete_all(root: Path) -> None:
    for path in (root / "log").glob("*.jsonl"):
        path.unlink()


LOSSES = {"two lines": _cut_two_lines, "a file": _delete_the_last, "all files": _delete_all}


@pytest.fixture(params=LOSSES)
def short(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root that lost its end."""
    make_segments_tiny(monkeypatch)
    root = tmp_path / "m"
    make_root(root, TURNS).close()
    LOSSES[request.param](root)
    return root


HEAD = TURNS + 1


def _check(root: Path) -> None:
    """It is damage: nothing is written, nothing is built, the index stays as the witness."""
    before, index = snapshot(root), (root / "index.db").read_bytes()
    for read_only in (False, True):
        store = open_root(root, read_only=read_only)
        assert store.index.applied_seq() == HEAD
        there = store.log.head()
        assert there < HEAD
        with pytest.raises(StoreCorrupt, match=f"ends at {there}, and the index has seen {HEAD}"):
            store.log.get(Seq(HEAD))
        assert any("missing" in problem for problem in store.verify().problems)
        if not read_only:
            with pytest.raises(StoreCorrupt, match="acknowledged record") as told:
                write(store, ["on top of it"])
            assert "backup" in told.value.hint
        store.close()
    with pytest.raises(StoreCorrupt, match="acknowledged record"):
        rebuild(root, **tools())  # type: ignore[arg-type]
    with pytest.raises(StoreCorrupt, match="acknowledged record"):
        backup(root, root.with_name("copy"), clock=SystemClock())
    assert snapshot(root) == before
    assert (root / "index.db").read_bytes() == index


def test_a_log_that_lost_its_end_is_damaged(short: Path) -> None:
    _check(short)


def test_control_an_index_that_promises_nothing_lets_it_go_unnoticed(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteIndex, "promised_seq", lambda index: NOTHING)
    with pytest.raises(AssertionError):
        _check(short)


def test_after_a_repair_the_numbers_of_what_was_lost_stay_taken(short: Path) -> None:
    there = open_root(short, read_only=True)
    head = there.log.head()
    there.close()
    report = repair(short, **tools())  # type: ignore[arg-type]
    assert sum(last - first + 1 for first, last in report.lost) == HEAD - head
    store = open_root(short)
    assert store.log.head() == store.index.applied_seq() == HEAD
    assert all(isinstance(store.log.get(Seq(n)).body, Lost) for n in range(head + 1, HEAD + 1))
    assert store.verify().problems == ()
    assert store.refusal is None
    store.close()
    assert not repair(short, **tools()).lost  # type: ignore[arg-type]


# --- where it was not promised ------------------------------------------------------------------


def _lose_what_was_not_synced(root: Path) -> None:
    log = root / "log" / "00000001.g0.jsonl"
    synced = len(log.read_bytes())
    store = open_root(root, sync=Sync.OS)
    write(store, ["told to the kernel"])
    store.close()
    log.write_bytes(log.read_bytes()[:synced])


def test_what_only_the_kernel_was_told_may_be_gone_after_a_power_cut(tmp_path: Path) -> None:
    make_root(tmp_path, 3).close()
    _lose_what_was_not_synced(tmp_path)
    store = open_root(tmp_path)
    assert store.refusal is None
    assert "had seen record" in store.rebuilt
    assert store.index.applied_seq() == store.log.head() == 4
    store.close()


def test_what_was_synced_before_that_may_not(tmp_path: Path) -> None:
    make_root(tmp_path, 3).close()
    _lose_what_was_not_synced(tmp_path)
    _cut_two_lines(tmp_path)
    store = open_root(tmp_path, sync=Sync.OS)
    assert isinstance(store.refusal, StoreCorrupt)
    store.close()


@pytest.mark.parametrize("closes", [True, False])
def test_whoever_opens_it_or_syncs_later_promises_what_the_kernel_was_told(
    tmp_path: Path, closes: bool
) -> None:
    make_root(tmp_path, 3).close()
    store = open_root(tmp_path) if not closes else None
    hasty = open_root(tmp_path, sync=Sync.OS)
    write(hasty, ["told to the kernel"])
    assert hasty.index.promised_seq() < hasty.index.applied_seq()
    hasty.close()
    if store is None:
        store = open_root(tmp_path)
    else:
        with store.writing():
            store.lease(store.index.sessions()[0].session)
    assert store.index.promised_seq() == store.index.applied_seq() == store.log.head()
    store.close()


def test_an_interrupted_rebuild_leaves_the_old_index(tmp_path: Path) -> None:
    make_root(tmp_path, 3).close()
    before = (tmp_path / "index.db").read_bytes()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(tmp_path, **tools(), progress=interrupt)  # type: ignore[arg-type]
    assert (tmp_path / "index.db").read_bytes() == before
    assert rebuild(tmp_path, **tools()).records == 4  # type: ignore[arg-type]
