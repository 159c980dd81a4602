"""Adopting a memory that was made elsewhere, or by somebody else."""

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

    From then on it may be written, and its claims have the authority of their origins. The index
    that came with it is replaced by one made from the log. Adopting twice changes nothing.

    Raises `StoreMissing` if there is no memory, `StoreCorrupt` if it cannot be opened, `StoreBusy`
    if another process has it open for writing, and `StoreError` if the adoption cannot be recorded.
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
            # Each command reports it, with a remedy.
            with suppress(StoreCorrupt, ArchiveMissing, StoreIncompatible):
                minter = IdMinter(clock, SystemRandom())
                rebuild(path, clock=clock, minter=minter, adoptions=adoptions)
        except BaseException:
            adoptions.remove(path, facts.id)
            raise
    return Adoption(path=path, root_id=facts.id, is_adopted=not revoke, was_adopted=was_adopted)


def let_go(root: Path) -> None:
    """Remove the adoption record of a temporary memory that is about to be deleted."""
    path = Path(os.path.realpath(root))
    with suppress(StoreError):  # the record of a missing folder does no harm
        user_adoptions().drop(path, facts_of(path).id)


def facts_of(path: Path) -> RootFacts:
    """What the root at `path` says of itself. `StoreCorrupt`, with a remedy, if it says nothing: a
    root that nobody vouches for cannot be repaired, and one without an identity cannot be vouched
    for.
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
    """Remove the derived files that came with it: nobody knows what they were made from, and from
    now on they would be trusted.
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
    """Whether the user vouches for the memory at `root`."""
    path = Path(os.path.realpath(root))
    return user_adoptions().holds(path, facts_of(path).id)
