"""`root.json` and `secret`: a root's identity, the key of its hashes, and the repair of both.

Invariants:
 (1) `secret` is written before `root.json`: a root that exists has its secret.
 (2) Damage to either shows: `root.json` is sealed, and has enough of the secret to recognise it.
 (3) A damaged secret affects only what it keys; a damaged `root.json` hides everything.
"""

from __future__ import annotations

import errno
import hmac
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreCorrupt, StoreError, StoreIncompatible, StoreMissing
from pagefault.model.ids import IdMinter
from pagefault.store import codec
from pagefault.store.embedded import sealed
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.archive import MARK, Archive
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import FACTS_BYTES_MAX
from pagefault.store.embedded.files import NotPlain, names, open_file, read
from pagefault.store.embedded.inventory import take_inventory
from pagefault.store.embedded.segment_format import Header, file_name, parse_header

FORMAT: Final = 4
"""The format of a root as a whole. 1, 2 and 3 had an earlier log format: see `upgrade.py`."""


@dataclass(frozen=True, slots=True)
class RootFacts:
    """A root's identity: its id, its project, and the key of its hashes."""

    id: str
    project: str
    secret: bytes
    doubt: str = ""  # why this cannot be the secret that the root was made with


def make_root(
    path: Path,
    *,
    disk: Disk,
    minter: IdMinter,
    clock: Clock,
    project: str,
    entropy: Callable[[int], bytes],
    adoptions: Adoptions | None,
) -> None:
    """Make a root of an empty folder and adopt it. Call it under the lock."""
    if _has_log(path):
        check_there(path)
    root_id, secret = minter.mint(), entropy(32)
    facts = {"format": FORMAT, "id": root_id, "project": project, "made_ms": clock.now_ms()}
    if adoptions is not None:  # first: a kill in between leaves no root
        adoptions.add(path, root_id, is_new=True)
    key = path / "secret"
    with explained(path):
        disk.place(key, key.with_name("secret.tmp"), secret.hex().encode())
        _place_root(path, {**facts, "check": _check(secret)}, disk)


def is_missing(path: Path) -> bool:
    """Whether there is nothing of a memory at `path`."""
    return not os.path.lexists(path / "root.json") and not _has_log(path)


def check_there(path: Path, hint: str = "`root` or PAGEFAULT_HOME says where") -> None:
    """Raise `StoreMissing`, with this hint, if there is no memory at `path`; `StoreCorrupt` if it
    exists but cannot be opened.
    """
    if os.path.lexists(path / "root.json"):
        return
    if path.is_file():
        raise StoreMissing(f"there is no memory at {path}: it is a file", hint=hint)
    if _has_log(path):
        raise StoreCorrupt(
            f"{path} has a log but no root.json",
            hint="put root.json and secret back from a backup: hashes are keyed with them",
        )
    raise StoreMissing(f"there is no memory at {path}", hint=hint)


def _has_log(path: Path) -> bool:
    try:
        return bool(names(path / "log"))
    except FileNotFoundError:
        return False
    except OSError:  # its name is taken by something else
        return True


def read_root(path: Path, *, or_doubt: bool = False, of_any_format: bool = False) -> RootFacts:
    """The content of `root.json` and `secret`. `StoreCorrupt` if damaged; with `or_doubt`, a
    changed secret does not raise: without it everything can be read, but nothing written safely.

    `StoreIncompatible` for a root of another format, unless it may be `of_any_format`.
    """
    try:
        facts = facts_in(path)
        if not of_any_format:
            _check_format(path, facts)
        if not (isinstance(facts["id"], str) and isinstance(facts["project"], str)):
            raise ValueError("its id and its project are texts")
        text = read(path / "secret", FACTS_BYTES_MAX)
        doubt = "" if _is_secret(text, facts) else f"{path / 'secret'} is damaged"
        secret = b"" if doubt else bytes.fromhex(text.decode())
        root = RootFacts(facts["id"], facts["project"], secret, doubt)
    except (FileNotFoundError, NotPlain, ValueError, KeyError, TypeError) as problem:
        raise StoreCorrupt(
            f"{path} cannot be read as a memory root: {problem}",
            hint="`pagefault repair` mends a flipped bit; else put root.json and secret back from "
            "a backup",
        ) from problem
    except OSError as failure:  # says nothing about their content
        raise StoreError(
            f"{failure.filename or path} cannot be opened: {failure.strerror}",
            hint="close other files or allow more of them (`ulimit -n`)"
            if failure.errno in (errno.EMFILE, errno.ENFILE)
            else "see that it can be read, then open this memory again",
        ) from failure
    if root.doubt and not or_doubt:
        raise damaged_secret(root)
    return root


def _check_format(path: Path, facts: dict[str, Any]) -> None:
    told = facts["format"]
    if told == FORMAT and facts.get(UPGRADING):
        raise StoreIncompatible(
            f"the upgrade of {path} did not finish", hint="`pagefault upgrade` resumes it"
        )
    if told > FORMAT:
        raise StoreIncompatible(f"{path} is of format {told}; this version reads {FORMAT}")
    if told < FORMAT:
        raise StoreIncompatible(
            f"{path} is of format {told}, which this version does not read",
            hint=f"`pagefault upgrade` converts it to format {FORMAT} and verifies it",
        )


UPGRADING: Final = "upgrading"
"""In a `root.json` while the log of its format may not be in place yet."""


def set_format(path: Path, disk: Disk, *, is_upgrading: bool) -> None:
    """Record that a root has this format, or will after its upgrade. Call it under the lock."""
    facts = facts_in(path) | {"format": FORMAT, UPGRADING: is_upgrading}
    if not is_upgrading:
        del facts[UPGRADING]
    if "check" not in facts:
        secret = read(path / "secret", FACTS_BYTES_MAX)
        if not _is_secret(secret, facts):
            raise damaged_secret(
                RootFacts(facts["id"], facts["project"], b"", f"{path / 'secret'} is damaged")
            )
        facts["check"] = _check(bytes.fromhex(secret.decode()))
    _place_root(path, facts, disk)


def facts_in(path: Path) -> dict[str, Any]:
    """The content of `root.json`, of any format. `ValueError` if it is damaged."""
    return sealed.decode(read(path / "root.json", FACTS_BYTES_MAX), unsealed=_UNSEALED)


_UNSEALED: Final = ("format", "id", "project", "made_ms")
"""The keys of `root.json` in the first version of format 1, which did not seal it."""


_SECRET_DIGITS: Final = b"0123456789abcdef"
_SECRET_LENGTH: Final = 64


def _check(secret: bytes) -> str:
    """What `root.json` keeps of the secret: enough to recognise it, and none of it."""
    return codec.short(
        hmac.digest(secret, b"pagefault secret", "sha256")[: codec.CUT_BYTES]
    ).decode()


def _is_secret(text: bytes, facts: dict[str, Any]) -> bool:
    """Whether this is the secret as written, as far as the root can verify it."""
    if len(text) != _SECRET_LENGTH or not set(text) <= set(_SECRET_DIGITS):
        return False
    return "check" not in facts or _check(bytes.fromhex(text.decode())) == facts["check"]


def damaged_secret(root: RootFacts) -> StoreCorrupt:
    return StoreCorrupt(
        f"{root.doubt}: keys that were used, and artifacts, cannot be recognised",
        hint="everything but artifacts can be read; `pagefault repair` mends one wrong digit, else "
        "put the file back from a backup",
    )


def _place_root(path: Path, facts: dict[str, Any], disk: Disk) -> None:
    file = path / "root.json"
    disk.place(file, file.with_name("root.json.tmp"), sealed.encode(facts))


# --- repair --------------------------------------------------------------------------------------


def mend_root(path: Path, disk: Disk) -> list[Path]:
    """Repair `root.json`, `secret` and the archive's mark if damaged. Returns what was repaired."""
    mended: list[Path] = []
    file, key = path / "root.json", path / "secret"
    try:
        facts = facts_in(path)
    except (OSError, ValueError):
        facts = _facts_again(path, disk)
        _place_root(path, facts, disk)
        mended.append(file)
    text = _bytes_of(key)
    if not _is_secret(text, facts):
        whole = _secret_again(text, facts)
        if whole is None:
            raise damaged_secret(RootFacts(facts["id"], facts["project"], b"", f"{key} is damaged"))
        disk.place(key, key.with_name("secret.tmp"), whole)
        mended.append(key)
    archive = Archive(path / "log")
    if archive.is_there and not archive.is_marked(facts["id"]):
        archive.mark(facts["id"], disk)
        mended.append(archive.directory / MARK)
    return mended


def _facts_again(path: Path, disk: Disk) -> dict[str, Any]:
    """The content of `root.json` before it was damaged: recovered if one bit flipped, else taken
    from the segments, with the damaged file set aside.
    """
    file = path / "root.json"
    damaged = _bytes_of(file)
    line = sealed.unflipped(damaged)
    if line is not None:
        return sealed.decode(line)
    inventory = take_inventory(path / "log")
    roots = {
        (header.root, header.project)
        for number, generation in inventory.generations.items()
        if number not in inventory.archived
        and (header := _header(path / "log" / file_name(number, generation))) is not None
    }
    if len(roots) != 1:
        raise StoreCorrupt(
            f"{file} is damaged, and the log cannot tell what it contained",
            hint="restore it from a backup",
        )
    [(root, project)] = roots
    aside = path / "quarantine"
    disk.make_directory(aside)
    disk.place(aside / "root.json", aside / "root.json.tmp", damaged)
    facts = {
        "format": FORMAT,
        "id": root,
        "project": project,
        "made_ms": 0,  # unknown now, and nothing depends on it
    }
    secret = _bytes_of(path / "secret")
    return (
        {**facts, "check": _check(bytes.fromhex(secret.decode()))}
        if _is_secret(secret, {})
        else facts
    )


def _bytes_of(file: Path) -> bytes:
    """The bytes of a small file; empty if it cannot be read."""
    try:
        return read(file, FACTS_BYTES_MAX)
    except (OSError, ValueError):
        return b""


def _header(path: Path) -> Header | None:
    with open(open_file(path), "rb") as file:
        return parse_header(file.readline(65_536))


def _secret_again(text: bytes, facts: dict[str, Any]) -> bytes | None:
    """The secret that differs from this text in one digit, if there is one."""
    if "check" not in facts or len(text) != _SECRET_LENGTH:
        return None
    for at in range(len(text)):
        for digit in _SECRET_DIGITS:
            whole = text[:at] + bytes([digit]) + text[at + 1 :]
            if _is_secret(whole, facts):
                return whole
    return None


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Within this block failures are reported as those of creating a memory, with a remedy."""
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"cannot make a memory at {path}: {problem.strerror}",
            hint="choose another place with `root` or PAGEFAULT_HOME, or make room and permissions",
        ) from problem
