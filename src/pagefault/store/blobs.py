"""Blobs as files: `blobs/ab/cd/abcd…`, named by HMAC-SHA256 under the root's secret, in hex."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from pagefault.model.errors import StoreCorrupt, StoreError, StoreReadOnly
from pagefault.store.disk import Disk
from pagefault.store.segment_format import TEMPORARY

_NAME: Final = re.compile(r"[0-9a-f]{64}")


class DirectoryBlobs:
    """`BlobStore` in a directory, which several processes may use at once.

    A blob is written under a temporary name and then renamed, so a name that exists is whole. What
    a crash left half written stays until `gc`: another process may be writing it now.
    """

    def __init__(
        self,
        directory: Path,
        *,
        secret: bytes,
        read_only: bool = False,
        disk: Disk | None = None,
    ) -> None:
        self._directory = directory
        self._secret = secret
        self._read_only = read_only
        self._disk = disk or Disk()
        self._count = count()

    def put(self, data: bytes) -> str:
        """As the contract says. A blob that is there but damaged is made whole again."""
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        name = self._name(data)
        path = self._path(name)
        try:
            if self._is_there(path, data):
                self._disk.sync_directory(path.parent)  # whoever wrote it may not have got so far
                return name
            self._disk.make_directory(path.parent)
            self._disk.place(path, self._temporary(path), data)
        except OSError as failure:
            raise _failed(name, "written", failure) from failure
        return name

    def get(self, name: str) -> bytes:
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError:
            raise KeyError(name) from None
        except OSError as failure:
            raise _failed(name, "read", failure) from failure
        if self._name(data) != name:
            raise StoreCorrupt(f"blob {name} is damaged: its bytes have another name")
        return data

    def holds(self, name: str) -> bool:
        try:
            return self._path(name).is_file()
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
            for half in path.parent.glob(f"{name}.*{TEMPORARY}"):  # the same bytes, or some of them
                self._disk.unlink(half)
            was_there = path.is_file()
            self._disk.unlink(path)
            self._disk.sync_directory(path.parent)
        except FileNotFoundError:
            return False
        except OSError as failure:
            raise _failed(name, "deleted", failure) from failure
        return was_there

    def expire(self, name: str, before_s: float) -> bool:
        """Delete a blob that nobody has put since a time (in seconds since 1970).

        Who puts it at this moment keeps it: it is put aside first, and back if it is fresh.
        """
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        path = self._path(name)
        aside = self._temporary(path)
        try:
            self._disk.rename(path, aside)
            if aside.stat().st_mtime >= before_s:
                self._disk.rename(aside, path)
                return False
            self._disk.unlink(aside)
            self._disk.sync_directory(path.parent)
        except FileNotFoundError:
            return False
        except OSError as failure:
            raise _failed(name, "deleted", failure) from failure
        return True

    def put_at(self, name: str) -> tuple[float, int] | None:
        """When a blob was last put, in seconds since 1970, and its bytes; nothing if it is gone."""
        try:
            told = self._path(name).stat()
        except FileNotFoundError:
            return None
        return told.st_mtime, told.st_size

    def names(self) -> Iterator[str]:
        """Every name, in order, as of when each directory was reached."""
        for path in sorted(self._directory.glob("*/*/*")):
            if _NAME.fullmatch(path.name):
                yield path.name

    def _is_there(self, path: Path, data: bytes) -> bool:
        """Whether it is, whole; it counts as put now, so that no `gc` takes it."""
        try:
            if path.read_bytes() != data:
                return False
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def _temporary(self, path: Path) -> Path:
        return path.with_name(f"{path.name}.{os.getpid()}.{next(self._count)}{TEMPORARY}")

    def _name(self, data: bytes) -> str:
        return hmac.digest(self._secret, data, "sha256").hex()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):  # a name from outside must not leave the directory
            raise KeyError(name)
        return self._directory / name[:2] / name[2:4] / name


def _failed(name: str, what: str, failure: OSError) -> StoreError:
    return StoreError(
        f"blob {name} cannot be {what}: {failure.strerror}",
        hint="make room, or see that blobs/ can be read and written; then try again",
    )
