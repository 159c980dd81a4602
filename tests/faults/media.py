"""File systems made for a test: ext4 in a file, a small tmpfs, a view that cannot be written.

They need root, on Linux, and are gone when their block ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

IMAGE_BYTES = 64 * 1024 * 1024


def _found(tool: str) -> str | None:
    """Where a tool is: those for root stand outside of many users' PATH."""
    return shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")


def _run(tool: str, *words: str | Path) -> None:
    command = [_found(tool) or tool, *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def _unmount(folder: Path) -> None:
    done = subprocess.run(["umount", str(folder)], capture_output=True, check=False, timeout=300)
    if done.returncode:
        _run("umount", "-l", folder)


def need_mounts(*tools: str) -> None:
    """Skips where this test may not mount."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting needs root, on Linux")
    for tool in ("mount", "umount", *tools):
        if _found(tool) is None:
            pytest.skip(f"there is no `{tool}`")


def _mount(*words: str | Path) -> None:
    try:
        _run("mount", *words)
    except subprocess.CalledProcessError as refused:
        pytest.skip(f"mounting is refused here: {refused.stderr.decode().strip()}")


class Ext4:
    """An ext4 file system in a file, mounted at `folder`."""

    def __init__(self, image: Path, folder: Path) -> None:
        self._image = image
        self.folder = folder
        with image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        _run("mkfs.ext4", "-q", "-F", image)
        folder.mkdir()
        _mount("-o", "loop", image, folder)

    def again(self) -> None:
        """Mount it anew, as after a boot: its journal is replayed."""
        _unmount(self.folder)
        _run("mount", "-o", "loop", self._image, self.folder)


@contextmanager
def ext4(folder: Path) -> Iterator[Ext4]:
    need_mounts("mkfs.ext4", "losetup")
    made = Ext4(folder / "disk.img", folder / "disk")
    try:
        yield made
    finally:
        _unmount(made.folder)


class Tmpfs:
    """A file system in memory, of a size that can be changed."""

    def __init__(self, folder: Path, kib: int) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder)

    def resize(self, kib: int) -> None:
        _run("mount", "-o", f"remount,size={kib}k", self.folder)

    def fill(self) -> Path:
        """Take all the space that is left."""
        path = self.folder / "filling"
        with path.open("ab", buffering=0) as file:
            for size in (1 << 16, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue
        return path


@contextmanager
def tmpfs(folder: Path, kib: int) -> Iterator[Tmpfs]:
    need_mounts()
    made = Tmpfs(folder, kib)
    try:
        yield made
    finally:
        _unmount(folder)


@contextmanager
def unwritable(source: Path, folder: Path) -> Iterator[Path]:
    """`source` once more, at `folder`, where nothing can be written, by nobody."""
    need_mounts()
    folder.mkdir()
    _mount("--bind", source, folder)
    try:
        _run("mount", "-o", "remount,bind,ro", folder)
        yield folder
    finally:
        _unmount(folder)
