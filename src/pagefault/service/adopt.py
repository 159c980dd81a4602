"""Vouching for a memory that was made elsewhere, or by somebody else."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from pagefault.model.clock import SystemClock
from pagefault.model.errors import ArchiveMissing, StoreCorrupt, StoreError, StoreIncompatible
from pagefault.model.ids import IdMinter
from pagefault.model.signatures import checked
from pagefault.service.bootstrap import user_adoptions
from pagefault.store.embedded.connections import SUFFIXES
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.root import rebuild
from pagefault.store.embedded.root_file import RootFacts, check_there, read_root


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A memory, and whether its user vouches for it: now, and before."""

    path: Path
    root_id: str
    is_adopted: bool
    was_adopted: bool


@checked
def adopt(root: str | Path, *, revoke: bool = False) -> Adoption:
    """Vouch for the memory at `root`, on this machine, for this user; or `revoke` that.

    From then on it may be written, and what it claims has the authority of who said it. The index
    that came along is replaced by one that is made from the log. Adopting twice changes nothing.

    Raises `StoreMissing` if there is no memory, `StoreCorrupt` if nobody can open it, `StoreBusy`
    if another process has it open for writing, `StoreError` if it cannot be noted.
    """
    path = Path(os.path.realpath(Path(root).expanduser()))
    check_there(path)
    facts, adoptions = facts_of(path), user_adoptions()
    was_adopted = adoptions.holds(path, facts.id)
    if revoke:
        adoptions.remove(path, facts.id)
    elif not was_adopted:
        _discard_index(path)
        adoptions.add(path, facts.id)
        clock = SystemClock()
        try:
            # Each command says so, and what helps.
            with suppress(StoreCorrupt, ArchiveMissing, StoreIncompatible):
                minter = IdMinter(clock, SystemRandom())
                rebuild(path, clock=clock, minter=minter, adoptions=adoptions)
        except BaseException:
            adoptions.remove(path, facts.id)
            raise
    return Adoption(path=path, root_id=facts.id, is_adopted=not revoke, was_adopted=was_adopted)


def let_go(root: Path) -> None:
    """Leave nothing noted of a memory that was made for a moment, and is about to be deleted."""
    path = Path(os.path.realpath(root))
    with suppress(StoreError):  # then a note is left, of a folder that is not there any more
        user_adoptions().drop(path, facts_of(path).id)


def facts_of(path: Path) -> RootFacts:
    """What the root at `path` says of itself. `StoreCorrupt`, with what can be done, if nothing: a
    root that nobody vouches for cannot be repaired, and one that does not say which it is cannot be
    vouched for.
    """
    try:
        return read_root(path, or_doubt=True, of_any_format=True)
    except StoreCorrupt as damage:
        if user_adoptions().holds(path, None):
            raise
        raise StoreCorrupt(
            damage.message,
            hint="copy root.json and secret once more from where this memory came from, then adopt "
            "it; without them, look for another copy or a backup",
        ) from damage


def _discard_index(path: Path) -> None:
    """Remove what is derived and came along: nobody knows what it was made of, and from now on it
    would be believed.
    """
    disk = Disk()
    try:
        for name in ("index.db", "vectors.db"):
            for suffix in SUFFIXES:
                disk.unlink(path / f"{name}{suffix}")
    except OSError as failure:
        raise StoreError(
            f"the index at {path} cannot be replaced: {failure.strerror}",
            hint="make its folder writable, then adopt it again",
        ) from failure


def is_adopted(root: Path) -> bool:
    """Whether the memory at `root` is vouched for."""
    path = Path(os.path.realpath(root))
    return user_adoptions().holds(path, facts_of(path).id)
