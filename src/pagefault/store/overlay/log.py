"""The log and blobs of an overlay: old ones from the lower layer, new ones from memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreError, StoreReadOnly
from pagefault.model.events import Draft, Event
from pagefault.model.ids import NOTHING, IdMinter, Seq, SessionNo
from pagefault.model.progress import Progress
from pagefault.store.api import BlobStore, EventLog, LogReport
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


class OverlayLog:
    """An `EventLog`: what the lower log held when this was made, and what was appended here."""

    def __init__(
        self,
        base: EventLog,
        *,
        secret: bytes,
        clock: Clock,
        minter: IdMinter,
        after: Seq = Seq(FIRST - 1),
    ) -> None:
        self._base = base
        self._upto = base.head()
        self._own = MemoryLog(secret=secret, clock=clock, minter=minter, after=after)

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        return self._own.append(drafts)

    def sync(self) -> None: ...

    def get(self, seq: Seq) -> Event:
        return (self._own if seq >= FIRST else self._base).get(seq)

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        last = self._upto if upto is None else min(upto, self._upto)
        old = self._base.read(after, last) if after < last else iter(())
        return chain(old, self._own.read(after, upto))

    def head(self) -> Seq:
        return self._own.head()

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        return self._base.out_of_reach(below(seqs))

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        return self._base.archived(below(seqs))

    def is_current(self) -> bool:
        return True  # the upper layer is private, and later records of the lower are not read

    def refresh(self, acknowledged: Seq | None = None) -> None: ...

    @property
    def refusal(self) -> StoreError | None:
        return None

    def check_writable(self) -> None: ...

    def recover(self, acknowledged: Seq) -> bool:
        return True

    def check_reach(self, seqs: Collection[Seq]) -> None:
        self._base.check_reach(below(seqs))

    def known(self) -> LogReport:
        return LogReport()

    def audit(self, progress: Progress | None = None) -> LogReport:
        return LogReport()

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        return self._own.read(after)

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event]:
        return self._own.read(after)

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        old = (event for event in self._base.of_type(type, after) if event.seq <= self._upto)
        return chain(old, self._own.of_type(type, after))

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        old = below(seqs)
        return chain(self._base.lines(old), self._own.lines(seqs[len(old) :]))

    def beside(self, acknowledged: Seq) -> OverlayLog:
        return self

    def hash_key(self, session: SessionNo, key: str) -> str:
        return self._base.hash_key(session, key)

    def erase(self, seqs: Collection[Seq]) -> int:
        check_above(seqs)
        return self._own.erase(seqs)

    def payload(self, seq: Seq) -> bytes:
        return (self._own if seq >= FIRST else self._base).payload(seq)

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        check_above([event.seq for event in events])
        return self._own.stage(events, going)

    def revise(self, vouched: str) -> list[str]:
        return self._own.revise(vouched)

    def unstage(self) -> None:
        self._own.unstage()

    def close(self) -> None: ...


class OverlayBlobs:
    """A `BlobStore` whose new blobs stay in memory."""

    def __init__(self, base: BlobStore, secret: bytes) -> None:
        self._base = base
        self._own = MemoryBlobs(secret)

    def put(self, data: bytes) -> str:
        return self._own.put(data)

    def get(self, name: str) -> bytes:
        return self._own.get(name) if self._own.holds(name) else self._base.get(name)

    def holds(self, name: str) -> bool:
        return self._own.holds(name) or self._base.holds(name)

    def delete(self, name: str) -> bool:
        return self._own.delete(name)

    def names(self) -> Iterator[str]:
        return iter(sorted({*self._own.names(), *self._base.names()}))
