"""Files of others, changed for the length of a run, and restored however it ends.

What must be restored is recorded in a marker before a byte is changed; the marker is removed once
all is restored. The private proxy of the run restores it when the client has ended; if that was
killed too, `pagefault unwrap` or `pagefault doctor --fix` does. They also remove the run's own file
from which its client reads a token.
"""

from __future__ import annotations

import fcntl
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from pagefault.model.errors import BadInput

FILE_BYTES_MAX: Final = 4_000_000
SETTINGS: Final = ".settings"  # the suffix of a run's own file, beside its marker
_UNFINISHED: Final = ".pagefault"  # the suffix of a file until it is whole


@dataclass(frozen=True, slots=True)
class Swap:
    """In the file at `path`, `new` replaces `old`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Changed:
    path: str
    before: str  # all of it, in base64
    after: str  # the digest of the changed file
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class PutBack:
    """The result for a file: `is_back` unless somebody else changed it so that our text can no
    longer be found in it.
    """

    path: str
    is_back: bool
    is_gone: bool = False  # somebody deleted it: there is nothing to restore


def checked(swaps: Sequence[Swap]) -> None:
    """Raise `BadInput` for a file that cannot be read, or does not contain the text to be
    replaced.
    """
    for swap in swaps:
        if not swap.old or swap.old.encode() not in _read(swap.path):
            raise BadInput(f"{swap.path} does not contain {swap.old!r}")


def swap_in(swaps: Sequence[Swap], marker: Path) -> None:
    """Change the files. The marker is named by the proxy that restores them. Raises `BadInput` for
    a file that another run has changed and not restored yet.
    """
    marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with marker.parent.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, the second finds the first's marker
        unclaimed(swaps, marker.parent)
        checked(swaps)
        _swap_in(swaps, marker)


def unclaimed(swaps: Sequence[Swap], markers: Path) -> None:
    """Raise `BadInput` for a file that a run has changed and not restored yet."""
    taken = {one.path for marker in markers.glob("*.json") for one in _changed_in(marker)}
    for swap in swaps:
        if os.path.realpath(swap.path) in taken:
            raise BadInput(
                f"{swap.path} contains the address of another run of wrap",
                hint="wait for it to end; if it already has, `pagefault unwrap` restores the file",
            )


def _swap_in(swaps: Sequence[Swap], marker: Path) -> None:
    changed: list[_Changed] = []
    after: dict[str, bytes] = {}
    for swap in swaps:
        path = os.path.realpath(swap.path)  # a link's target, so that it stays a link
        before = after.get(path, _read(path))
        after[path] = before.replace(swap.old.encode(), swap.new.encode())
        told = b64encode(before).decode()
        changed.append(_Changed(path, told, _digest(after[path]), swap.old, swap.new))
    body = {"files": [asdict(one) for one in changed]}
    _place(marker, json.dumps(body).encode(), 0o600)
    for path, content in after.items():
        _place(Path(path), content, os.stat(path).st_mode & 0o7777)


def keep_beside(marker: Path, text: str) -> Path:
    """A file that only this user can read, for the duration of the marker's run."""
    path = marker.with_suffix(SETTINGS)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, how, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def put_back(marker: Path) -> list[PutBack]:
    """Restore what a marker records, and remove it once all is restored. Harmless when repeated.
    Files kept beside it are removed, and so is a marker that was not written to its end.

    A file that is as we left it is restored byte for byte. In one that was changed since, only our
    text is replaced with the original.
    """
    for beside in (marker.with_suffix(SETTINGS), _beside(marker)):
        with suppress(OSError):
            beside.unlink()
    changed = _changed_in(marker)
    if not changed:
        return []
    first = {one.path: b64decode(one.before) for one in reversed(changed)}
    found = [_put_back(one, first[one.path]) for one in reversed(changed)]
    if all(one.is_back or one.is_gone for one in found):
        with suppress(OSError):
            marker.unlink()
    return found


def _changed_in(marker: Path) -> list[_Changed]:
    try:
        return [_Changed(**one) for one in json.loads(marker.read_bytes())["files"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _put_back(one: _Changed, first: bytes) -> PutBack:
    """`first` is the file before the run."""
    path = Path(one.path)
    if path.parent.is_dir() and not os.path.lexists(path):
        _beside(path).unlink(missing_ok=True)
        return PutBack(one.path, is_back=False, is_gone=True)
    return PutBack(one.path, _is_put_back(one, first))


def _is_put_back(one: _Changed, first: bytes) -> bool:
    _beside(Path(one.path)).unlink(missing_ok=True)
    try:
        now = _read(one.path)
    except BadInput:
        return False
    before = b64decode(one.before)
    if now in (before, first):
        return True
    if _digest(now) != one.after:
        before = now.replace(one.new.encode(), one.old.encode())
        if before == now:
            return False
    try:
        _place(Path(one.path), before, os.stat(one.path).st_mode & 0o7777)
    except OSError:
        return False
    return True


def _read(path: str | Path) -> bytes:
    try:
        with open(path, "rb") as file:
            found = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if len(found) > FILE_BYTES_MAX:
        raise BadInput(f"{path} is larger than {FILE_BYTES_MAX:,} bytes")
    return found


def _place(path: Path, content: bytes, mode: int) -> None:
    """Replace a file atomically: a reader sees the old or the new."""
    beside = _beside(path)
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(beside, how, mode)
    try:
        with open(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(fd, mode)
            os.fsync(fd)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}{_UNFINISHED}")


def meant(path: Path) -> Path:
    """The file that this one was to become, if it is one that `_place` had not finished."""
    name = path.name
    if name.startswith(".") and name.endswith(_UNFINISHED):
        return path.with_name(name[1 : -len(_UNFINISHED)])
    return path


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
