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
    """`BlobStore` in a directory. Constructing it removes what a crash left half written.

    A blob is written under a temporary name and then renamed, so a name that exists is whole.
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
        if not read_only:
            for path in directory.glob(f"*/*/*{TEMPORARY}"):
                self._disk.unlink(path)

    def put(self, data: bytes) -> str:
        """As the contract says. A blob that is there but damaged is made whole again."""
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        name = self._name(data)
        path = self._path(name)
        try:
            if path.is_file() and path.read_bytes() == data:
                self._disk.sync_directory(path.parent)  # whoever wrote it may not have got so far
                return name
            self._disk.make_directory(path.parent)
            own = f"{name}.{os.getpid()}.{next(self._count)}{TEMPORARY}"
            self._disk.place(path, path.with_name(own), data)
        except OSError as failure:
            raise StoreError(f"blob {name} cannot be written: {failure.strerror}") from failure
        return name

    def get(self, name: str) -> bytes:
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError:
            raise KeyError(name) from None
        except OSError as failure:
            raise StoreError(f"blob {name} cannot be read: {failure.strerror}") from failure
        if self._name(data) != name:
            raise StoreCorrupt(f"blob {name} is damaged: its bytes have another name")
        return data

    def delete(self, name: str) -> bool:
        if self._read_only:
            raise StoreReadOnly("these blobs were opened for reading")
        try:
            path = self._path(name)
        except KeyError:
            return False
        try:
            path.unlink()
            self._disk.sync_directory(path.parent)
        except FileNotFoundError:
            return False
        except OSError as failure:
            raise StoreError(f"blob {name} cannot be deleted: {failure.strerror}") from failure
        return True

    def names(self) -> Iterator[str]:
        """Every name, in order, as of when each directory was reached."""
        for path in sorted(self._directory.glob("*/*/*")):
            if _NAME.fullmatch(path.name):
                yield path.name

    def _name(self, data: bytes) -> str:
        return hmac.digest(self._secret, data, "sha256").hex()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):  # a name from outside must not leave the directory
            raise KeyError(name)
        return self._directory / name[:2] / name[2:4] / name
