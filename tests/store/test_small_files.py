"""The small files of a root: a flipped bit anywhere in them is noticed, and mended if it can be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.model.errors import PagefaultError, StoreCorrupt, StoreIncompatible
from pagefault.store import codec
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.archiver import archive
from pagefault.store.embedded.backup import ENDS, backup, restore
from pagefault.store.embedded.lock import TEXT_BYTES
from pagefault.store.embedded.presence import Presence, living
from pagefault.store.embedded.root import open_store, repair
from pagefault.store.embedded.root_file import FORMAT, read_root
from pagefault.store.store import Store
from tests.store.logs import StillClock, memory_log
from tests.store.roots import make_segments_tiny

CLOCK = StillClock()


def _tools() -> dict[str, Any]:
    return {"clock": CLOCK, "minter": memory_log()._minter}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory with an archive and an artifact."""
    make_segments_tiny(monkeypatch)
    path = tmp_path / "memory"
    with pagefault.sync.open(path) as memory:
        session = memory.session("talk")
        for number in range(30):
            session.user(f"message {number} of this talk", key=f"key {number}")
        session.artifact(b"some bytes", name="some.bin", media_type="application/octet-stream")
    archive(path, clock=CLOCK)
    assert Archive(path / "log").is_there
    return path


def _open(root: Path, *, read_only: bool = False) -> Store:
    return open_store(root, read_only=read_only, **_tools())


def _each_flipped(file: Path, see: Callable[[], None]) -> None:
    """Calls `see` once for each bit of the file, while that bit is another."""
    whole = file.read_bytes()
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        try:
            see()
        except BaseException as error:
            error.add_note(f"bit {bit % 8} of byte {bit // 8} of {file.name}")
            raise
    file.write_bytes(whole)


@pytest.mark.parametrize("name", ["root.json", "secret"])
def test_any_flipped_bit_of_a_root_is_noticed_when_it_is_opened(root: Path, name: str) -> None:
    def see() -> None:
        with pytest.raises(PagefaultError):
            read_root(root)

    _each_flipped(root / name, see)


def test_any_flipped_bit_of_the_archives_mark_is_noticed(root: Path) -> None:
    root_id = read_root(root).id

    def see() -> None:
        assert not Archive(root / "log").is_marked(root_id)

    _each_flipped(root / "archive" / "archive.json", see)


def test_any_flipped_bit_of_where_a_backup_ends_is_noticed(root: Path, tmp_path: Path) -> None:
    backup(root, tmp_path / "backup", clock=CLOCK)
    restored = tmp_path / "restored"

    def see() -> None:
        with pytest.raises(StoreCorrupt, match=ENDS):
            restore(tmp_path / "backup", restored, clock=CLOCK)

    file = tmp_path / "backup" / ENDS
    whole = file.read_bytes()
    for bit in range(0, 8 * len(whole), 23):  # a restoration for each bit takes minutes
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        see()
    file.write_bytes(whole)
    restore(tmp_path / "backup", restored, clock=CLOCK)


def test_no_flipped_bit_of_a_beat_makes_who_lives_seem_suspended(tmp_path: Path) -> None:
    clock = SystemClock()
    tools = {**_tools(), "clock": clock}
    here = Presence(tmp_path, lease_s=30, beats=False, **tools)
    whole = here._path.read_bytes()
    assert (found := living(here.directory, here.instance, clock)) is not None
    for bit in range(8 * TEXT_BYTES, 8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        here._path.write_bytes(data)
        found = living(here.directory, here.instance, clock)
        assert found is not None
        assert found.beat_age_s == 0, f"bit {bit}"
    here.close()


@pytest.mark.parametrize(("name", "place"), [("root.json", 30), ("secret", 7)])
def test_repair_mends_a_flipped_bit_of_a_root_and_nothing_is_written_twice(
    root: Path, name: str, place: int
) -> None:
    whole = (root / name).read_bytes()
    data = bytearray(whole)
    data[place] ^= 2
    (root / name).write_bytes(data)
    with pytest.raises(StoreCorrupt) as told, pagefault.sync.open(root) as memory:
        memory.session("talk", create=False).user("message 3 of this talk", key="key 3")
    assert "pagefault repair" in told.value.hint
    report = repair(root, **_tools())
    assert root / name in report.rewritten
    assert (root / name).read_bytes() == whole
    with pagefault.sync.open(root) as memory:
        session = memory.session("talk", create=False)
        assert session.user("message 3 of this talk", key="key 3") == "msg_4"
        assert session.status().pages == 31
        assert memory.verify().problems == ()


def test_with_a_damaged_secret_everything_but_artifacts_is_read_and_nothing_written(
    root: Path,
) -> None:
    (root / "secret").write_bytes(b"0" * 64)
    with pagefault.sync.open(root) as memory:
        session = memory.session("talk", create=False)
        assert session.page("msg_4").text == "message 3 of this talk"
        assert session.recall("message").hits
        with pytest.raises(StoreCorrupt, match="secret is damaged"):
            session.user("more", key="key 3")
        [problem] = memory.verify().problems
        assert "secret is damaged" in problem
    with pytest.raises(StoreCorrupt, match="secret is damaged"):
        repair(root, **_tools())


def test_a_root_json_that_is_lost_to_damage_is_made_again_from_the_log(root: Path) -> None:
    facts = json.loads((root / "root.json").read_bytes())
    (root / "root.json").write_bytes(b"nothing of it is left")
    with pytest.raises(StoreCorrupt):
        _open(root)
    repair(root, **_tools())
    again = json.loads((root / "root.json").read_bytes())
    for name in ("format", "id", "project", "check"):
        assert again[name] == facts[name], name
    assert (root / "quarantine" / "root.json").read_bytes() == b"nothing of it is left"
    with pagefault.sync.open(root) as memory:
        assert memory.verify().problems == ()


def test_verify_finds_a_damaged_mark_of_the_archive_and_repair_makes_it_again(root: Path) -> None:
    mark = root / "archive" / "archive.json"
    whole = mark.read_bytes()
    mark.write_bytes(whole.replace(b"root", b"toot"))
    store = _open(root)
    found = store.verify()
    store.close()
    assert any("archive.json is damaged" in problem for problem in found.problems)
    assert any("pagefault repair" in advice for advice in found.advice)
    repair(root, **_tools())
    assert mark.read_bytes() == whole


@pytest.mark.parametrize("is_sealed", [True, False])
@pytest.mark.parametrize("told", [1, 2, 3, FORMAT + 1])
def test_a_root_of_another_format_is_refused_by_name_and_left_as_it_is(
    root: Path, told: int, is_sealed: bool
) -> None:
    facts = json.loads((root / "root.json").read_bytes()) | {"format": told}
    del facts["crc"]
    if is_sealed:
        line = codec.seal(json.dumps(facts).encode()[:-1])
    else:
        line = json.dumps({n: facts[n] for n in ("format", "id", "project", "made_ms")}).encode()
    (root / "root.json").write_bytes(line)
    for read_only in (True, False):
        with pytest.raises(StoreIncompatible) as caught:
            _open(root, read_only=read_only)
        assert f"is of format {told}" in caught.value.message
        assert ("pagefault upgrade" in caught.value.hint) == (told < FORMAT)
    assert (root / "root.json").read_bytes() == line
