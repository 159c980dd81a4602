"""Blobs as files: `blobs/ab/cd/abcd…`, named by HMAC-SHA256 under the root's secret, in hex."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError, StoreReadOnly
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.files import is_file, is_folder, names, open_file, read, status
from pagefault.store.embedded.segment_format import TEMPORARY

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_PAIR: Final = re.compile(r"[0-9a-f]{2}")
_TRIES: Final = 100  # of a put, while others remove its folders

BLOB_BYTES_MAX: Final = 1 << 30
"""The largest artifact, whatever a memory's own limit; a larger file is not read."""


class DirectoryBlobs:
    """`BlobStore` in a directory, which several processes may use at once.

    A blob is written under a temporary name and then renamed, so a name that exists is complete.
    What a crash left half written stays until `gc`: another process may be writing it now.
    """

    def __init__(
        self,
        directory: Path,
        *,
        secret: bytes,
        read_only: bool = False,
        disk: Disk | None = None,
        doubt: str = "",
    ) -> None:
        """`doubt` says why `secret` cannot be the one that named these blobs; empty if it can."""
        self._directory = directory
        self._secret = secret
        self._read_only = read_only
        self._disk = disk or Disk()
        self._doubt = doubt
        self._count = count()

    def put(self, data: bytes) -> str:
        """As in the contract. A damaged blob of that name is repaired."""
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        name = self._name(data)
        path = self._path(name)
        for tries_left in reversed(range(_TRIES)):
            try:
                if self._is_there(path, data):
                    self._disk.sync_directory(path.parent)  # its writer may not have got that far
                    return name
                self._disk.make_directory(path.parent)
                self._disk.place(path, self._temporary(path), data)
                return name
            except FileNotFoundError as failure:  # another process deleted a blob and its folder
                if not tries_left:
                    raise _failed(name, "written", failure) from failure
            except OSError as failure:
                raise _failed(name, "written", failure) from failure
        raise AssertionError("the last try returns or raises")

    def get(self, name: str) -> bytes:
        try:
            data = read(self._path(name), BLOB_BYTES_MAX)
        except FileNotFoundError:
            raise KeyError(name) from None
        except OSError as failure:
            raise _failed(name, "read", failure) from failure
        if self._doubt:
            raise StoreCorrupt(f"blob {name} cannot be checked: {self._doubt}")
        if self._name(data) != name:
            raise StoreCorrupt(f"blob {name} is damaged: its bytes have another name")
        return data

    def holds(self, name: str) -> bool:
        try:
            return is_file(self._path(name))
        except KeyError:
            return False

    def delete(self, name: str) -> bool:
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        try:
            path = self._path(name)
        except KeyError:
            return False
        try:
            for half in names(path.parent):
                if half.startswith(f"{name}.") and half.endswith(TEMPORARY):
                    self._disk.unlink(path.with_name(half))  # the same bytes, or some of them
            was_there = is_file(path)
            self._disk.unlink(path)
            self._leave(path.parent)
        except FileNotFoundError:
            return False
        except OSError as failure:
            raise _failed(name, "deleted", failure) from failure
        return was_there

    def expire(self, name: str, before_s: float) -> bool:
        """Delete a blob that nobody has put since a time (in seconds since 1970).

        A concurrent put keeps it: the blob is moved aside first, and moved back if it is fresh.
        """
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        path = self._path(name)
        aside = self._temporary(path)
        try:
            self._disk.rename(path, aside)
            if status(aside).st_mtime >= before_s:
                self._disk.rename(aside, path)
                return False
            self._disk.unlink(aside)
            self._leave(path.parent)
        except FileNotFoundError:
            return False
        except OSError as failure:
            raise _failed(name, "deleted", failure) from failure
        return True

    def put_at(self, name: str) -> tuple[float, int] | None:
        """When a blob was last put (seconds since 1970), and its size in bytes; None if gone."""
        try:
            st = status(self._path(name))
        except FileNotFoundError:
            return None
        return st.st_mtime, st.st_size

    def names(self) -> Iterator[str]:
        """Every name, in order, as of reading each directory."""
        for path in self._files():
            if _NAME.fullmatch(path.name):
                yield path.name

    def leftovers(self) -> Iterator[Path]:
        """Blobs that are half written, or being written."""
        return (path for path in self._files() if path.name.endswith(TEMPORARY))

    def _files(self) -> Iterator[Path]:
        for first in _folders(self._directory):
            for second in _folders(self._directory / first):
                inside = self._directory / first / second
                for name in names(inside):
                    if is_file(inside / name):
                        yield inside / name

    def remove_empty_folders(self) -> None:
        """Remove empty folders that an older version left: a folder's name is the beginning of its
        blobs' names, which with the secret confirms a guess at their bytes.
        """
        for first in _folders(self._directory):
            for second in _folders(self._directory / first):
                self._leave(self._directory / first / second)
            self._disk.remove_directory(self._directory / first)

    def _leave(self, inside: Path) -> None:
        """After a deletion, leave no folder that shows how the blob's name began."""
        with suppress(FileNotFoundError):  # another process did the same
            self._disk.sync_directory(inside)
            if self._disk.remove_directory(inside):
                self._disk.remove_directory(inside.parent)

    def _is_there(self, path: Path, data: bytes) -> bool:
        """Whether the blob exists and is intact. Marks it as put now, so that no `gc` takes it."""
        try:
            fd = open_file(path)
            try:
                st = os.fstat(fd)
                if (st.st_size, st.st_nlink) != (len(data), 1) or os.pread(
                    fd, len(data), 0
                ) != data:
                    return False
                os.utime(fd)
                # `expire` may have moved it aside before it was marked. If it is found here after
                # the mark, `expire` will restore it or never take it.
                return os.path.samestat(st, status(path))
            finally:
                os.close(fd)
        except FileNotFoundError:
            return False

    def _temporary(self, path: Path) -> Path:
        return path.with_name(f"{path.name}.{os.getpid()}.{next(self._count)}{TEMPORARY}")

    def _name(self, data: bytes) -> str:
        return hmac.digest(self._secret, data, "sha256").hex()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):  # a name from outside must not leave the directory
            raise KeyError(name)
        return self._directory / name[:2] / name[2:4] / name


def _folders(path: Path) -> list[str]:
    """The folders of blobs in one folder: two digits each."""
    try:
        return [name for name in names(path) if _PAIR.fullmatch(name) and is_folder(path / name)]
    except OSError:
        return []


def _failed(name: str, what: str, failure: OSError) -> StoreError:
    return StoreError(
        f"blob {name} cannot be {what}: {failure.strerror}",
        hint="make room, or see that blobs/ can be read and written; then try again",
    )
