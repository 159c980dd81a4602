"""The log and blobs of an overlay: old ones from the lower layer, new ones from memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreReadOnly
from pagefault.model.events import Event
from pagefault.model.ids import NOTHING, IdMinter, Seq
from pagefault.store.api import BlobStore, EventLog
from pagefault.store.in_memory.log import MemoryBlobs, MemoryLog

FIRST: Final = Seq(1 << 34)
"""The first record of an overlay. It leaves 17 billion to the log below, and a session's number,
which is that of its first record, still fits into a place (`store/place.py`).
"""


def below(seqs: Collection[Seq]) -> list[Seq]:
    """The records among these that are in the lower layer."""
    return [seq for seq in seqs if seq < FIRST]


def check_above(seqs: Collection[int]) -> None:
    """Raise `StoreReadOnly` unless all these records, or sessions, are in the upper layer."""
    if any(seq < FIRST for seq in seqs):
        raise StoreReadOnly("what lies below an overlay is read-only", hint="use the memory itself")


class OverlayLog(MemoryLog):
    """What the lower log held when this was made, and what was appended here."""

    def __init__(
        self,
        base: EventLog,
        *,
        secret: bytes,
        clock: Clock,
        minter: IdMinter,
        after: Seq = Seq(FIRST - 1),
    ) -> None:
        super().__init__(secret=secret, clock=clock, minter=minter, after=after)
        self._base = base
        self._upto = base.head()

    def get(self, seq: Seq) -> Event:
        return super().get(seq) if seq >= FIRST else self._base.get(seq)

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        last = self._upto if upto is None else min(upto, self._upto)
        old = self._base.read(after, last) if after < last else iter(())
        return chain(old, super().read(after, upto))

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        return self._base.out_of_reach(below(seqs))

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        return self._base.archived(below(seqs))

    def check_reach(self, seqs: Collection[Seq]) -> None:
        self._base.check_reach(below(seqs))

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        return super().read(after)

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event]:
        return super().read(after)

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        old = (event for event in self._base.of_type(type, after) if event.seq <= self._upto)
        return chain(old, super().of_type(type, max(after, Seq(FIRST - 1))))

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        old = below(seqs)
        return chain(self._base.lines(old), super().lines(seqs[len(old) :]))

    def erase(self, seqs: Collection[Seq]) -> int:
        check_above(seqs)
        return super().erase(seqs)

    def payload(self, seq: Seq) -> bytes:
        return super().payload(seq) if seq >= FIRST else self._base.payload(seq)

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        check_above([event.seq for event in events])
        return super().stage(events, going)


class OverlayBlobs(MemoryBlobs):
    """New blobs in memory over those of a store."""

    def __init__(self, base: BlobStore, secret: bytes) -> None:
        super().__init__(secret)
        self._base = base

    def get(self, name: str) -> bytes:
        return super().get(name) if super().holds(name) else self._base.get(name)

    def holds(self, name: str) -> bool:
        return super().holds(name) or self._base.holds(name)

    def names(self) -> Iterator[str]:
        return iter(sorted({*super().names(), *self._base.names()}))
