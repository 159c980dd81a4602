"""What a store owes to the other processes that have its root open."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pagefault.model.errors import SessionBusy, StoreCorrupt, StoreReadOnly
from pagefault.model.events import Draft, Event, SessionLeased
from pagefault.model.ids import Seq, SessionNo
from pagefault.store.embedded import presence as presences
from pagefault.store.embedded.connections import IndexReplaced
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.presence import Presence, living
from pagefault.store.embedded.root import open_store
from pagefault.store.embedded.root_file import read_root
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.embedded.tail import read_tail
from pagefault.store.store import Store
from pagefault.testing.builders import opened, said
from tests.store.logs import StillClock, files, fill, memory_log, open_log


def _open(root: Path, clock: StillClock | None = None, **options: Any) -> Store:
    minter = memory_log()._minter
    return open_store(root, clock=clock or StillClock(), minter=minter, **options)


def _write(store: Store, *drafts: Draft) -> list[Event]:
    with store.writing():
        events = store.append(drafts)
        store.settle(events, sync=True)
    return events


# --- in turn ----------------------------------------------------------------------------------

_TAKER = """
import os, sys, time
from pathlib import Path
from pagefault.model.clock import SystemClock
from pagefault.store.embedded import lock as locking

root, name, wanted, weakened = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
if weakened:
    locking._COURTESY_S = 0.0
    take = locking.take
    turnstiles = set()
    locking.take = lambda fd: True if fd in turnstiles else take(fd)
lock = locking.RootLock(root, clock=SystemClock(), wait_s=60)
lock.acquire()
lock.release()
if weakened:
    turnstiles.add(lock._turnstile)
notes = os.open(root / "notes", os.O_RDWR | os.O_CREAT | os.O_APPEND)
print("ready", flush=True)
sys.stdin.readline()
while True:
    lock.acquire()
    if os.fstat(notes).st_size >= wanted:
        break
    os.write(notes, name.encode())
    time.sleep(0.0005)
    lock.release()
"""


def check_shares(root: Path, *, weakened: str = "") -> None:
    """Two that want the lock again and again hand it to one another, again and again."""
    wanted = 400
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", _TAKER, str(root), name, str(wanted), weakened],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    try:
        for taker in takers:
            assert taker.stdout is not None
            assert taker.stdout.readline() == "ready\n"
        for taker in takers:
            assert taker.stdin is not None
            taker.stdin.write("\n")
            taker.stdin.flush()
        for taker in takers:
            assert taker.wait(timeout=300) == 0
    finally:
        for taker in takers:
            taker.kill()
            taker.communicate()
    notes = (root / "notes").read_text()
    handovers = sum(before != after for before, after in pairwise(notes))
    assert handovers >= wanted / 10, f"one was kept waiting: {notes}"


def test_two_writers_in_a_loop_share(tmp_path: Path) -> None:
    check_shares(tmp_path)


def test_control_without_the_turnstile_one_is_kept_waiting(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="kept waiting"):
        check_shares(tmp_path, weakened="yes")


# --- the end that another wrote ---------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[SegmentLog, SegmentLog]]:
    """Two logs over the same files, as two processes have them. Each in its turn may write."""
    first = open_log(tmp_path, segment_bytes=4_000)
    first.append([opened()])
    second = open_log(tmp_path, segment_bytes=4_000, seed=2)
    yield first, second
    first.close()
    second.close()


def test_each_goes_on_where_the_other_ended(pair: tuple[SegmentLog, SegmentLog]) -> None:
    """Over batches, full segments and erasures."""
    for number in range(60):
        log, other = pair if number % 2 else pair[::-1]
        log.refresh(Seq(0))
        events = log.append([said(f"turn {number}.{n}") for n in range(number % 3 + 1)])
        assert not other.is_current()
        assert other.get(events[-1].seq) == events[-1], "looked for without a lock"
        if number % 7 == 6:
            log.erase([events[0].seq])
            log.append([said("the receipt")])
    for log in pair:
        log.refresh(Seq(0))
        assert log.is_current()
        assert log.verify() == []
    first, second = pair
    assert first.segments > 3
    assert list(first.read()) == list(second.read())


def test_what_is_current_is_not_read_again(
    pair: tuple[SegmentLog, SegmentLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = pair
    assert first.is_current()
    monkeypatch.setattr(SegmentLog, "_survey", None)
    first.append([said("mine")])
    assert first.is_current()
    first.refresh(Seq(0))


def test_a_look_without_the_lock_takes_whole_batches_and_cuts_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, [1])
    reader = open_log(tmp_path, read_only=True, seed=2)
    batch = log.append([said(f"turn {n}") for n in range(3)])
    [path] = files(tmp_path)
    whole = path.read_bytes()
    for cut in range(1, 200, 7):
        path.write_bytes(whole[:-cut])
        reader.refresh()
        assert reader.head() == batch[0].seq - 1
        assert path.read_bytes() == whole[:-cut], "a reader changed something"
    path.write_bytes(whole)
    assert reader.get(batch[-1].seq) == batch[-1]


def test_a_tail_is_read_as_far_as_it_is_chained(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, [1, 2, 1])
    data = files(tmp_path)[0].read_bytes()
    lines = data.splitlines(keepends=True)
    header = log._segments[0].header
    assert header is not None
    whole = read_tail(b"".join(lines[1:]), Seq(1), header.link)
    assert whole.lengths == [len(line) for line in lines[1:]]
    assert whole.link == log._link
    assert not whole.rest
    swapped = read_tail(b"".join([lines[1], lines[3], lines[2]]), Seq(1), header.link)
    assert len(swapped.lengths) == 1
    half = read_tail(b"".join(lines[1:4]), Seq(1), header.link)
    assert len(half.lengths) == 2, "the batch of two is not whole"


def test_damage_that_is_met_while_running_ends_the_writing(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=2_000)
    fill(log, [1] * 12)
    assert log.segments > 2
    path = files(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[data.index(b"turn 2")] ^= 1
    path.write_bytes(data)
    log.append([said("before anybody noticed")])
    with pytest.raises(StoreCorrupt):
        log.get(Seq(2))
    with pytest.raises(StoreCorrupt):
        log.append([said("after")])
    assert log.get(Seq(3)).seq == 3


# --- who is there -----------------------------------------------------------------------------


class _Clock(StillClock):
    """Its seconds go on when they are told to."""

    seconds = 100.0

    def monotonic_s(self) -> float:
        return self.seconds


def _presence(root: Path, clock: _Clock, lease_s: float = 30.0) -> Presence:
    minter = memory_log()._minter
    return Presence(root, clock=clock, minter=minter, lease_s=lease_s, beats=False)


def test_each_sees_the_others_and_how_long_ago_they_beat(tmp_path: Path) -> None:
    clock = _Clock()
    first, second = _presence(tmp_path, clock), _presence(tmp_path, clock)
    assert first.instance != second.instance, "though both mint by one seed"
    assert [other.instance for other in first.others()] == [second.instance]
    clock.seconds += 31
    first.beat()
    found = second.find(first.instance)
    assert found is not None
    assert found.beat_age_s == 0
    assert f"process {os.getpid()} on " in str(found)
    slow = first.find(second.instance)
    assert slow is not None
    assert slow.beat_age_s == 31
    second.close()
    second.close()
    assert first.others() == []
    assert first.find(first.instance) is None, "nobody is another to itself"
    first.close()


def test_the_dead_are_cleared_away_and_nobody_asks_their_pid(tmp_path: Path) -> None:
    directory = tmp_path / "instances"
    directory.mkdir()
    (directory / "dead").write_text(f'{{"pid": {os.getppid()}}}')
    (directory / "garbage").write_bytes(b"\xff")
    assert living(directory, "dead", _Clock()) is None
    here = _presence(tmp_path, _Clock())
    assert [path.name for path in directory.iterdir()] == [here.instance]
    here.close()


def test_one_whose_file_says_nothing_is_there_all_the_same(tmp_path: Path) -> None:
    """As on a full disk: what holds is the lock, and not the text."""
    here, other = _presence(tmp_path, _Clock()), _presence(tmp_path, _Clock())
    (tmp_path / "instances" / other.instance).write_bytes(b"")
    found = here.find(other.instance)
    assert found is not None
    assert (found.beat_age_s, str(found)) == (0.0, "another process")
    other.close()
    here.close()


def test_it_beats_by_itself(tmp_path: Path) -> None:
    clock, beats = _Clock(), 0
    minter = memory_log()._minter
    with pytest.MonkeyPatch.context() as patch:
        done = threading.Event()

        def beat(self: Presence) -> None:
            nonlocal beats
            beats += 1
            if beats > 3:
                done.set()

        patch.setattr(presences.Presence, "beat", beat)
        here = Presence(tmp_path, clock=clock, minter=minter, lease_s=0.01)
        assert done.wait(300)
        here.close()


# --- leases -----------------------------------------------------------------------------------


def test_a_lease_is_taken_over_when_its_holder_has_not_beaten_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Presence, "_beat_on", lambda self, every_s: None)
    clock = _Clock()
    first, second = _open(tmp_path, clock), _open(tmp_path, clock)
    [session] = _write(first, opened())
    number = SessionNo(session.seq)
    _write(first, said("mine", session=number))
    clock.seconds += 30
    with pytest.raises(SessionBusy, match="process"), second.writing():
        second.lease(number)
    clock.seconds += 1
    with second.writing():
        leased = second.lease(number)
    body = second.log.get(leased.seq).body
    assert body == SessionLeased(holder=second.leases.instance, fence=1)
    assert leased.before == 2
    head = second.log.head()
    with pytest.raises(SessionBusy, match="process"), first.writing():
        first.append([said("late", session=number, order=1)])
    assert first.log.head() == head, "nothing was written"
    _write(second, said("theirs", session=number, order=1))
    clock.seconds += 31
    with first.writing():
        again = first.lease(number)
    body = first.log.get(again.seq).body
    assert body == SessionLeased(holder=first.leases.instance, fence=2)
    assert again.before == second.log.head()
    row = first.index.session(number)
    assert row is not None
    assert row.lease_seq == again.seq
    first.close()
    second.close()


def test_a_session_of_ours_is_leased_by_opening_it(tmp_path: Path) -> None:
    store = _open(tmp_path)
    [session] = _write(store, opened())
    with store.writing():
        assert store.lease(SessionNo(session.seq)).seq == session.seq
    assert store.log.head() == session.seq, "that took no record"
    store.close()
    again = _open(tmp_path)
    with again.writing():
        assert again.lease(SessionNo(session.seq)).seq == session.seq + 1
    again.close()


def test_what_only_reads_leases_nothing(tmp_path: Path) -> None:
    store = _open(tmp_path)
    _write(store, opened())
    reader = _open(tmp_path, read_only=True)
    with pytest.raises(StoreReadOnly), reader.writing():
        reader.lease(SessionNo(1))
    reader.close()
    store.close()


# --- the index under readers ------------------------------------------------------------------


def test_a_reader_does_not_mix_an_old_index_with_a_new_one(tmp_path: Path) -> None:
    _open(tmp_path).close()
    root_id = read_root(tmp_path).id
    index = SqliteIndex.open(tmp_path / "index.db", root_id=root_id, read_only=True)
    SqliteIndex.create(tmp_path / "index.db.new", root_id=root_id).close()
    os.replace(tmp_path / "index.db.new", tmp_path / "index.db")
    seen: list[BaseException | int] = []

    def look() -> None:  # in a thread of its own, with a connection of its own
        try:
            seen.append(index.applied_seq())
        except IndexReplaced as replaced:
            seen.append(replaced)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert isinstance(seen[0], IndexReplaced)
    assert "open this memory again" in seen[0].hint
    with pytest.raises(IndexReplaced):  # nor where a thread has the old one open already
        index.applied_seq()
    index.close()
    again = _open(tmp_path, read_only=True)
    assert again.rebuilt == ""
    again.close()


def test_words_that_another_process_met_first_are_learnt(tmp_path: Path) -> None:
    first, second = _open(tmp_path), _open(tmp_path)
    [one] = _write(first, opened("a"))
    _write(first, said("the first word of its kind", session=one.seq))
    [two] = _write(second, opened("b", session_id="s-2"))
    _write(second, said("another", session=two.seq))
    for store in (first, second):
        store.look()
        assert store.index.check() == []
        assert len(store.index.events(SessionNo(two.seq), types=("chat_turn",))) == 1
        store.close()


def test_the_lock_is_let_go_when_an_append_fails(tmp_path: Path) -> None:
    first, second = _open(tmp_path), _open(tmp_path, lock_wait_s=0.01)
    with pytest.raises(RuntimeError), first.writing():
        raise RuntimeError
    assert _write(second, opened())
    first.close()
    second.close()
