"""A directory that knows which of its bytes and names are on stable storage.

The files are real, in a real directory; this module tracks what a power cut would leave of them. It
assumes of the disk only what `store/embedded/disk.py` says. So unsynced data may survive wholly, in
part, torn at any byte, with its blocks in any order, or not at all; and each unsynced name may be
old or new, independently of the others.

Changes are reported as they are made (`wrote`, `truncated`, `renamed` …). Unreported changes are
detected by comparison: names by inode number, bytes by reading them. `strays` lists the files that
were changed without a report.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

Image = dict[str, bytes | None]
"""The contents of a directory: bytes by path, `None` for a directory, parents first."""

BLOCKS: Final = (512, 4096)
"""Sectors of disks and pages of kernels: what lies between two multiples survives as one."""


@dataclass(frozen=True, slots=True)
class _Write:
    offset: int
    data: bytes

    def to(self, content: bytearray) -> None:
        if self.offset > len(content):
            content.extend(bytes(self.offset - len(content)))
        content[self.offset : self.offset + len(self.data)] = self.data

    def blocks(self, size: int) -> Iterator[_Write]:
        at, end = self.offset, self.offset + len(self.data)
        while at < end:
            upto = min(end, (at // size + 1) * size)
            yield _Write(at, self.data[at - self.offset : upto - self.offset])
            at = upto


@dataclass(frozen=True, slots=True)
class _Truncate:
    length: int

    def to(self, content: bytearray) -> None:
        if len(content) > self.length:
            del content[self.length :]
        else:
            content.extend(bytes(self.length - len(content)))


@dataclass(eq=False, slots=True)
class _File:
    """`fd` stays open so that the inode number is not reused."""

    fd: int
    durable: bytes = b""
    pending: list[_Write | _Truncate] = field(default_factory=list)

    def read(self) -> bytes:
        return os.pread(self.fd, os.fstat(self.fd).st_size, 0)

    def expected(self) -> bytes:
        content = bytearray(self.durable)
        for change in self.pending:
            change.to(content)
        return bytes(content)


@dataclass(frozen=True, slots=True)
class _Naming:
    """A name removed, added, or both: a rename is one change."""

    node: _File | _Directory
    old: str = ""
    new: str = ""

    def to(self, names: dict[str, _File | _Directory]) -> None:
        if self.old and names.get(self.old) is self.node:
            del names[self.old]
        if self.new:
            names[self.new] = self.node


@dataclass(eq=False, slots=True)
class _Directory:
    path: Path
    durable: dict[str, _File | _Directory] = field(default_factory=dict)
    current: dict[str, _File | _Directory] = field(default_factory=dict)
    pending: list[_Naming] = field(default_factory=list)

    def change(self, naming: _Naming) -> None:
        naming.to(self.current)
        self.pending.append(naming)


class Medium:
    """Invariant: `durable` plus all pending changes is what is really there, after `_look` has
    compared.
    """

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.strays: set[str] = set()
        self.reordered: set[str] = set()  # files of the last `survivors` that got holes
        self._chance = chance
        self._nodes: dict[int, _File | _Directory] = {}
        self._adopt()

    def close(self) -> None:
        for node in self._nodes.values():
            if isinstance(node, _File):
                os.close(node.fd)
        self._nodes.clear()

    # --- what is reported ---------------------------------------------------------------------

    def wrote(self, inode: int, offset: int, data: bytes) -> None:
        self._file(inode).pending.append(_Write(offset, data))

    def truncated(self, inode: int, length: int) -> None:
        self._file(inode).pending.append(_Truncate(length))

    def synced(self, inode: int) -> None:
        file = self._file(inode)
        file.durable = file.expected()
        file.pending.clear()

    def created(self, path: Path) -> None:
        directory = self._directory(path.parent)
        directory.change(_Naming(self._node(path), new=path.name))

    def opened(self, path: Path) -> None:
        """Note an opened file, which may have been created without a report."""
        self._compare(self._directory(path.parent))

    def renamed(self, old: Path, new: Path) -> None:
        directory = self._directory(old.parent)
        directory.change(_Naming(self._node(new), old=old.name, new=new.name))

    def unlinked(self, path: Path) -> None:
        directory = self._directory(path.parent)
        if path.name in directory.current:
            directory.change(_Naming(directory.current[path.name], old=path.name))

    def removed(self, path: Path, inode: int) -> None:
        """Note a removed directory, whose inode may be reused."""
        self.unlinked(path)
        self._nodes.pop(inode, None)

    def directory_synced(self, path: Path) -> None:
        if not path.is_relative_to(self.root):
            return
        directory = self._directory(path)
        self._compare(directory)
        directory.durable = dict(directory.current)
        directory.pending.clear()

    # --- what is left -------------------------------------------------------------------------

    def contents(self) -> Image:
        """Everything there now: what a kill leaves."""
        self._look(self._top)
        return dict(self._image(self._top, "", after_cut=False))

    def survivors(self) -> Image:
        """A random state that a power cut may leave."""
        self._look(self._top)
        self.reordered.clear()
        return dict(self._image(self._top, "", after_cut=True))

    def restore(self, image: Image, *, durable: bool) -> None:
        """Make the directory hold exactly this. None of its files may be open any more. If
        `durable`, all of it is on stable storage now; else what was unsynced still is, because a
        power cut may follow a kill.
        """
        self.close()
        for path in self.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        for name, data in image.items():
            path = self.root / name
            if data is None:
                path.mkdir(mode=0o700)
            else:
                path.write_bytes(data)
                path.chmod(0o600)
        if durable:
            self._adopt()
        else:
            self._find_again(self._top)

    def _find_again(self, directory: _Directory) -> None:
        """Attach the same nodes to files that were created anew."""
        self._nodes[directory.path.stat().st_ino] = directory
        for name, node in directory.current.items():
            path = directory.path / name
            if isinstance(node, _Directory):
                self._find_again(node)
            else:
                node.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                self._nodes[path.stat().st_ino] = node

    def _adopt(self) -> None:
        self._top = _Directory(self.root)
        self._nodes[self.root.stat().st_ino] = self._top
        self._settle(self._top)
        self.strays.clear()

    def settle(self) -> None:
        """Treat everything there as durable."""
        self._look(self._top)
        self._settle(self._top)

    def _settle(self, directory: _Directory) -> None:
        self._compare(directory)
        directory.durable = dict(directory.current)
        directory.pending.clear()
        for node in directory.current.values():
            if isinstance(node, _Directory):
                self._settle(node)
            else:
                node.durable = node.read()
                node.pending.clear()

    def _image(
        self, directory: _Directory, prefix: str, *, after_cut: bool
    ) -> Iterator[tuple[str, bytes | None]]:
        names = self._names(directory) if after_cut else directory.current
        for name, node in sorted(names.items()):
            path = prefix + name
            if isinstance(node, _Directory):
                yield path, None
                yield from self._image(node, path + "/", after_cut=after_cut)
            else:
                yield path, self._bytes(path, node) if after_cut else node.read()

    def _names(self, directory: _Directory) -> dict[str, _File | _Directory]:
        names = dict(directory.durable)
        pending = directory.pending
        match self._chance.choice(("none", "all", "first", "some", "some")):
            case "none":
                pending = []
            case "first":
                pending = pending[: self._chance.randint(0, len(pending))]
            case "some":
                pending = [naming for naming in pending if self._chance.random() < 0.5]
        for naming in pending:
            naming.to(names)
        return names

    def _bytes(self, path: str, file: _File) -> bytes:
        if not file.pending:
            return file.durable
        content = bytearray(file.durable)
        pending = file.pending
        match self._chance.choice(("none", "all", "torn", "torn", "blocks", "blocks")):
            case "none":
                pending = []
            case "torn":
                upto = self._chance.randrange(len(pending))
                torn = pending[upto]
                pending = pending[:upto]
                if isinstance(torn, _Write):
                    cut = self._chance.randint(0, len(torn.data))
                    pending = [*pending, _Write(torn.offset, torn.data[:cut])]
            case "blocks":
                pending = self._blocks(path, pending)
        for change in pending:
            change.to(content)
        return bytes(content)

    def _blocks(self, path: str, pending: list[_Write | _Truncate]) -> list[_Write | _Truncate]:
        """Some blocks of the unsynced data; a missing block before a surviving one is a hole."""
        size = self._chance.choice(BLOCKS)
        kept: list[_Write | _Truncate] = []
        missing = False
        for change in pending:
            for part in change.blocks(size) if isinstance(change, _Write) else [change]:
                if self._chance.random() < 0.6:
                    kept.append(part)
                    if missing:
                        self.reordered.add(path)
                else:
                    missing = True
        return kept

    # --- comparing with what is really there --------------------------------------------------

    def _look(self, directory: _Directory) -> None:
        self._compare(directory)
        for name, node in directory.current.items():
            if isinstance(node, _Directory):
                self._look(node)
                continue
            found = node.read()
            if found != node.expected():
                self.strays.add(str((directory.path / name).relative_to(self.root)))
                node.pending += [_Truncate(0), _Write(0, found)]

    def _compare(self, directory: _Directory) -> None:
        """Note names that changed without a report."""
        real = {path.name: self._node(path) for path in directory.path.iterdir()}
        gone = {n: node for n, node in directory.current.items() if real.get(n) is not node}
        come = {n: node for n, node in real.items() if directory.current.get(n) is not node}
        for name, node in gone.items():
            new = next((n for n, other in come.items() if other is node), "")
            directory.change(_Naming(node, old=name, new=new))
            come.pop(new, None)
        for name, node in come.items():
            directory.change(_Naming(node, new=name))

    def _node(self, path: Path) -> _File | _Directory:
        inode = path.stat().st_ino
        node = self._nodes.get(inode)
        if node is None:
            if path.is_dir():
                node = _Directory(path)
            else:
                node = _File(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            self._nodes[inode] = node
        return node

    def _file(self, inode: int) -> _File:
        node = self._nodes[inode]
        assert isinstance(node, _File)
        return node

    def _directory(self, path: Path) -> _Directory:
        node = self._node(path)
        assert isinstance(node, _Directory)
        return node
