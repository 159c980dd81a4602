"""Adoption: which memories the user vouches for on this machine.

A memory's claims carry the user's authority: decisions are shown to the model unasked. But a memory
is a folder, and a folder can be cloned, unpacked or copied from anybody. Nothing in it can prove
whose it is: its content was copied along, secret included, and version control gives every file to
whoever checks it out. So the proof is kept elsewhere, in the user's own state folder: a note for
each root that was created here or adopted.

A note has the root's id, its folder's inode and birth time, and its path or device. Apart from the
id, none of these is copied with a folder. An inode's number can be reused, but then the birth time
is later. (On a file system without birth times the number alone decides.) So a memory stays adopted
when it is renamed on its disk, or when its disk gets another number at the next boot. It does not
when it is copied, restored, cloned over another, or seen by another user or from another container.
Nor does it once its folder belongs to another user, or others gain write access that they did not
have.

What this cannot detect: a folder whose files were changed in place, by `git pull` for example,
because adopting a folder under version control adopts everybody who may write there; and a disk
image, which is copied with its inodes and times.

The user's own data folder needs no note: nobody clones anything there.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pagefault.model.errors import NotAdopted, StoreError
from pagefault.store.embedded.birth import born_ns
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import read_facts
from pagefault.store.embedded.files import names

_OTHERS_WRITE: Final = 0o022
_DIGITS: Final = 24


@dataclass(frozen=True, slots=True)
class Adoptions:
    """The notes of one user, in `folder`; `own` is the user's data folder."""

    folder: Path
    own: Path

    def holds(self, root: Path, root_id: str | None) -> bool:
        """Whether the user vouches for this root. `root_id` is None if it is unknown."""
        try:
            st = root.stat()
        except OSError:
            return False
        note = self._find(root, root_id, st)
        if note is not None:
            more = st.st_mode & _OTHERS_WRITE & ~_whole(note.get("mode"))
            return note.get("adopted") is True and note.get("uid") == st.st_uid and not more
        is_own = _real(root) == _real(self.own)
        return is_own and st.st_uid == os.geteuid() and not st.st_mode & _OTHERS_WRITE

    def add(self, root: Path, root_id: str, *, is_new: bool = False) -> None:
        """Vouch for a root from now on. `StoreError` if the note cannot be written. If the id
        `is_new`, there is no other note on it to look for among those on thousands of roots.
        """
        self._note(root, root_id, adopted=True, is_new=is_new)

    def remove(self, root: Path, root_id: str) -> None:
        """Stop vouching for a root."""
        self._note(root, root_id, adopted=False)

    def drop(self, root: Path, root_id: str) -> None:
        """Delete the note of a root that is about to be deleted. `StoreError` if that fails."""
        try:
            for file, _ in list(self._notes(root, root_id, root.stat())):
                Disk().unlink(file)
        except OSError as failure:
            raise StoreError(f"{self.folder} cannot be written: {failure.strerror}") from failure

    def check(self, root: Path, root_id: str) -> None:
        """Raise `NotAdopted` unless the user vouches for it."""
        if not self.holds(root, root_id):
            raise not_adopted(root)

    def _find(self, root: Path, root_id: str | None, st: os.stat_result) -> dict[str, Any] | None:
        return next((note for _, note in self._notes(root, root_id, st)), None)

    def _notes(
        self, root: Path, root_id: str | None, st: os.stat_result
    ) -> Iterator[tuple[Path, dict[str, Any]]]:
        path, born, folder = str(_real(root)), born_ns(root), _real(self.folder)
        for name in self._names(root_id, st):
            try:
                note = read_facts(file := folder / name)
            except (OSError, ValueError):  # an unreadable note vouches for nothing
                continue
            is_there = note.get("path") == path or note.get("device") == st.st_dev
            is_it = note.get("inode") == st.st_ino and note.get("born") in (born, None)
            if is_it and is_there:
                yield file, note

    def _names(self, root_id: str | None, st: os.stat_result) -> Iterator[str]:
        """The names of notes that may be of a root: first the one that it has if neither it nor its
        disk moved, so that an opening need not list the notes on thousands of others.
        """
        at_home, prefix = "", ""
        if root_id is not None:
            yield (at_home := _name(root_id, st))
            prefix = _digest(root_id)
        try:
            noted = names(_real(self.folder))
        except OSError:
            return
        yield from (name for name in noted if name.startswith(prefix) and name != at_home)

    def _note(self, root: Path, root_id: str, *, adopted: bool, is_new: bool = False) -> None:
        disk, folder = Disk(), _real(self.folder)
        try:
            st = root.stat()
            note = {
                "adopted": adopted,
                "root": root_id,
                "path": str(_real(root)),
                "device": st.st_dev,
                "inode": st.st_ino,
                "born": born_ns(root),
                "uid": st.st_uid,
                "mode": st.st_mode & 0o777,
            }
            disk.make_directory(folder)
            file = folder / _name(root_id, st)
            temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
            disk.place(file, temporary, json.dumps(note).encode())
            for other, _ in () if is_new else list(self._notes(root, root_id, st)):
                if other != file:  # noted when its disk had another number
                    disk.unlink(other)
        except OSError as failure:
            raise StoreError(
                f"whose memory {root} is cannot be noted in {folder}: {failure.strerror}",
                hint="see that this folder can be written, or name another by XDG_STATE_HOME",
            ) from failure


def exposed(root: Path) -> str:
    """A sentence if any user of this machine may write in a root's folder; else empty."""
    try:
        if not root.stat().st_mode & stat.S_IWOTH:
            return ""
    except OSError:
        return ""
    return (
        f"any user of this machine may write in {root}, and what they write there has your "
        f"authority: `chmod o-w {root}`"
    )


def not_adopted(root: Path) -> NotAdopted:
    """The error for a root that is not adopted here."""
    return NotAdopted(
        f"the memory at {root} was not created here by you, so it is read-only and its claims have "
        "no authority",
        hint=f"if you trust its contents: `pagefault.adopt({str(root)!r})`",
    )


def _name(root_id: str, st: os.stat_result) -> str:
    return f"{_digest(root_id)}-{_digest(f'{st.st_dev} {st.st_ino}')}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
