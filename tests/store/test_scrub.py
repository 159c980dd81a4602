"""A log lets records read otherwise: the chain holds, a receipt vouches, and nothing else fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.errors import StoreCorrupt, StoreLatched
from pagefault.model.events import Event, PageBody, Redacted
from pagefault.model.ids import Seq, SessionNo
from pagefault.store import codec
from pagefault.store.embedded.backup import backup
from pagefault.store.embedded.staging import NAME, Staging
from pagefault.store.store import Store
from tests.store.roots import make_root, open_root


def _otherwise(event: Event, text: str = "something else") -> Event:
    assert isinstance(event.body, PageBody)
    return replace(event, body=replace(event.body, text=text), key="")


def _scrub(store: Store, seq: int) -> None:
    with store.writing():
        store.lease(SessionNo(1))
        store.scrub([_otherwise(store.log.get(Seq(seq)))], [Redacted(rule="given.1", count=1)])


def _line(root: Path, seq: int) -> bytes:
    lines = b"".join(path.read_bytes() for path in sorted(root.glob("log/*.jsonl"))).split(b"\n")
    return next(line for line in lines if b'"seq":%d,' % seq in line[:60]) + b"\n"


def test_a_scrubbed_record_confirms_its_new_payload_and_follows_the_one_before(
    tmp_path: Path,
) -> None:
    store = make_root(tmp_path / "m", turns=5)
    before = codec.parse(_line(tmp_path / "m", 3))
    _scrub(store, 3)
    line = _line(tmp_path / "m", 3)
    record, previous = codec.parse(line), codec.parse(_line(tmp_path / "m", 2)).link
    assert (record.link, record.id, record.at) == (before.link, before.id, before.at)
    assert record.salt != before.salt
    assert record.commit != before.commit
    assert codec.confirms(record)
    assert codec.follows(codec.long(previous), line, record)
    assert not codec.follows(b"another link....", line, record)
    assert store.verify().problems == ()
    store.close()


def test_it_can_be_scrubbed_again_and_forgotten(tmp_path: Path) -> None:
    store = make_root(tmp_path / "m", turns=5)
    _scrub(store, 3)
    _scrub(store, 3)
    _scrub(store, 4)
    assert store.verify().problems == ()
    with store.writing():
        store.forget([Seq(3)], [], [])
    assert store.verify().problems == ()
    assert codec.parse(_line(tmp_path / "m", 3)).erased
    store.close()


def test_a_payload_that_nobody_vouched_for_is_found(tmp_path: Path) -> None:
    root = tmp_path / "m"
    make_root(root, turns=5).close()
    [path] = root.glob("log/*.jsonl")
    lines = path.read_bytes().split(b"\n")
    at = next(n for n, line in enumerate(lines) if b'"seq":3,' in line[:60])
    previous = codec.parse(lines[at - 1] + b"\n").link
    event = codec.decode(lines[at] + b"\n")
    forged = codec.revise(
        lines[at] + b"\n", _otherwise(event), salt=bytes(16), previous=codec.long(previous)
    )
    path.write_bytes(b"\n".join([*lines[:at], forged[:-1], *lines[at + 1 :]]))
    store = open_root(root)
    assert any("no scrub vouches for it" in one for one in store.verify().problems)
    _scrub(store, 4)
    assert any("no scrub vouches for it" in one for one in store.verify().problems)
    store.close()


@pytest.mark.parametrize("how", ["missing", "damaged", "another's"])
def test_a_scrub_is_not_finished_with_what_it_was_not_begun_with(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    store = make_root(root, turns=5)
    event = store.log.get(Seq(3))
    with monkeypatch.context() as patched:
        patched.setattr(type(store.log), "revise", _fails)
        with pytest.raises(StoreLatched):
            _scrub(store, 3)
    store.close()
    staged = root / NAME
    if how == "missing":
        staged.unlink()
    elif how == "damaged":
        staged.write_bytes(staged.read_bytes().replace(b"something", b"somethinG"))
    else:
        store = make_root(tmp_path / "third", turns=5)
        store.log.stage([_otherwise(store.log.get(Seq(3)))], [])
        staged.write_bytes((tmp_path / "third" / NAME).read_bytes())
        store.close()
    store = open_root(root)
    assert store.unfinished
    assert store.log.get(Seq(3)) == event, "and until then it reads as before"
    _scrub(store, 3)
    assert store.log.get(Seq(3)) == _otherwise(event), "another scrub is not kept from it"
    assert store.verify().problems == ()
    store.close()


def test_what_was_staged_and_never_begun_goes_at_the_next_opening(tmp_path: Path) -> None:
    root = tmp_path / "m"
    store = make_root(root, turns=5)
    store.log.stage([_otherwise(store.log.get(Seq(3)))], ["0" * 64])
    assert Staging(root).path.exists()
    with pytest.raises(StoreCorrupt):
        store.log.revise("another")
    store.close()
    store = open_root(root)
    assert not Staging(root).path.exists()
    assert store.unfinished == ""
    store.close()


def _fails(*_: object) -> list[str]:
    raise RuntimeError


def test_a_backup_of_a_scrub_under_way_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, copy = tmp_path / "m", tmp_path / "copy"
    store = make_root(root, turns=5)
    event = store.log.get(Seq(3))
    with monkeypatch.context() as patched:
        patched.setattr(type(store.log), "revise", _fails)
        with pytest.raises(StoreLatched):
            _scrub(store, 3)
    store.close()
    backup(root, copy, clock=SystemClock())
    store = open_root(copy)
    assert store.unfinished == ""
    assert store.log.get(Seq(3)) == _otherwise(event)
    assert not (copy / NAME).exists()
    store.close()
