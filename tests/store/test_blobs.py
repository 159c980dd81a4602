"""Both blob stores keep the same contract; and what only the directory promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.model.errors import StoreCorrupt, StoreError, StoreReadOnly
from pagefault.store.api import BlobStore
from pagefault.store.embedded.blobs import DirectoryBlobs
from pagefault.store.embedded.disk import Disk
from pagefault.store.in_memory.log import MemoryBlobs
from pagefault.testing.log_contract import BlobStoreContract
from tests.store.logs import SECRET


class TestMemoryBlobs(BlobStoreContract):
    @pytest.fixture
    def blobs(self) -> BlobStore:
        return MemoryBlobs(secret=SECRET)


class TestDirectoryBlobs(BlobStoreContract):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> BlobStore:
        return DirectoryBlobs(tmp_path / "blobs", secret=SECRET)


def _only_file(directory: Path) -> Path:
    (path,) = (path for path in directory.rglob("*") if path.is_file())
    return path


def test_blobs_outlive_the_object_and_are_named_by_the_secret(tmp_path: Path) -> None:
    name = DirectoryBlobs(tmp_path, secret=SECRET).put(b"x")
    assert DirectoryBlobs(tmp_path, secret=SECRET).get(name) == b"x"
    assert DirectoryBlobs(tmp_path / "other", secret=b"another").put(b"x") != name


def test_every_changed_bit_of_a_blob_is_noticed(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=SECRET)
    name = blobs.put(b"some bytes")
    path = _only_file(tmp_path)
    for bit in range(8 * 10):
        damaged = bytearray(b"some bytes")
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(StoreCorrupt):
            blobs.get(name)
    path.write_bytes(b"")
    with pytest.raises(StoreCorrupt):
        blobs.get(name)
    assert blobs.put(b"some bytes") == name, "putting it again heals it"
    assert blobs.get(name) == b"some bytes"


def test_a_crash_while_writing_leaves_no_blob(tmp_path: Path) -> None:
    class Crash(BaseException): ...

    class Crashing(Disk):
        def rename(self, old: Path, new: Path) -> None:
            raise Crash

    blobs = DirectoryBlobs(tmp_path, secret=SECRET, disk=Crashing())
    with pytest.raises(Crash):
        blobs.put(b"half written")
    assert list(blobs.names()) == []
    assert _only_file(tmp_path).read_bytes() == b"half written"
    again = DirectoryBlobs(tmp_path, secret=SECRET)
    assert _only_file(tmp_path).exists(), "another process may be writing it: `gc` removes it"
    again.delete(again.put(b"half written"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "a forget leaves no half"


def test_a_blob_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    class Failing(Disk):
        def sync(self, fd: int) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space"):
        DirectoryBlobs(tmp_path, secret=SECRET, disk=Failing()).put(b"too much")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_blobs_opened_for_reading_write_nothing(tmp_path: Path) -> None:
    name = DirectoryBlobs(tmp_path, secret=SECRET).put(b"x")
    blobs = DirectoryBlobs(tmp_path, secret=SECRET, read_only=True)
    assert blobs.get(name) == b"x"
    with pytest.raises(StoreReadOnly):
        blobs.put(b"y")
    with pytest.raises(StoreReadOnly):
        blobs.delete(name)


def test_blobs_are_for_their_owner_alone(tmp_path: Path) -> None:
    DirectoryBlobs(tmp_path / "blobs", secret=SECRET).put(b"x")
    for path in (tmp_path / "blobs").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


def test_a_blob_goes_through_the_disk_or_stays(tmp_path: Path) -> None:
    """So a test's disk may fail it, and a simulated one sees it."""

    class Stubborn(Disk):
        def unlink(self, path: Path) -> None:
            raise OSError(5, "Input/output error")

    name = DirectoryBlobs(tmp_path, secret=SECRET).put(b"x")
    with pytest.raises(StoreError, match="cannot be deleted: Input/output error"):
        DirectoryBlobs(tmp_path, secret=SECRET, disk=Stubborn()).delete(name)
    blobs = DirectoryBlobs(tmp_path, secret=SECRET)
    assert blobs.get(name) == b"x"
    assert blobs.delete(name)
    assert not blobs.delete(name)


def test_no_folder_tells_how_the_name_of_a_deleted_blob_began(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=SECRET)
    kept, gone, old = (blobs.put(data) for data in (b"kept", b"PIN 4711", b"old"))
    assert blobs.delete(gone)
    assert blobs.expire(old, before_s=float("inf"))
    folders = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*/")}
    assert folders == {kept[:2], f"{kept[:2]}/{kept[2:4]}"}


def test_folders_that_an_older_version_left_are_removed(tmp_path: Path) -> None:
    blobs = DirectoryBlobs(tmp_path, secret=SECRET)
    kept = blobs.put(b"kept")
    (tmp_path / "0a" / "bc").mkdir(parents=True)
    blobs.remove_empty_folders()
    assert {path.name for path in tmp_path.iterdir()} == {kept[:2]}
    assert blobs.get(kept) == b"kept"


def test_a_blob_is_put_though_another_takes_its_folder_away(tmp_path: Path) -> None:
    class Raced(Disk):
        taken = 0

        def make_directory(self, path: Path) -> None:
            super().make_directory(path)
            if self.taken < 3 and path.parent.parent == tmp_path:
                self.taken += 1
                path.rmdir()

    disk = Raced()
    blobs = DirectoryBlobs(tmp_path, secret=SECRET, disk=disk)
    assert blobs.get(blobs.put(b"x")) == b"x"
    assert disk.taken == 3
