"""A log and a blob store, as short as possible: the specification in code."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterator, Sequence

from pagefault.model.clock import Clock
from pagefault.model.errors import StoreError
from pagefault.model.events import Draft, Erased, Event, erased, type_of
from pagefault.model.ids import NOTHING, IdMinter, Seq, SessionNo
from pagefault.model.progress import Progress
from pagefault.store.acceptance import accept, hash_key
from pagefault.store.api import LogReport
from pagefault.store.codec import encode_body


class MemoryLog:
    """`EventLog` in a list. Nothing outlives the process, so `sync` does nothing. Records are
    numbered after `after`.
    """

    def __init__(
        self, *, secret: bytes, clock: Clock, minter: IdMinter, after: Seq = NOTHING
    ) -> None:
        self._secret = secret
        self._clock = clock
        self._minter = minter
        self._after = after
        self._events: list[Event] = []
        self._staged: tuple[list[Event], list[str]] = [], []

    def append(self, drafts: Sequence[Draft]) -> list[Event]:
        at_ms = self._clock.now_ms()
        events = []
        for seq, draft in enumerate(drafts, start=self.head() + 1):
            event = accept(draft, Seq(seq), self._minter.mint(), at_ms, self.hash_key)
            encode_body(event.body)  # refuse here, too, what a file could not hold
            events.append(event)
        self._events += events
        return events

    def sync(self) -> None: ...

    def get(self, seq: Seq) -> Event:
        if not self._after < seq <= self.head():
            raise IndexError(f"the log has records {self._after + 1} to {self.head()}, not {seq}")
        return self._events[seq - self._after - 1]

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        first = max(after - self._after, 0)
        last = None if upto is None else max(upto - self._after, 0)
        return iter(self._events[first:last])

    def head(self) -> Seq:
        return Seq(self._after + len(self._events))

    def out_of_reach(self, seqs: Collection[Seq]) -> dict[Seq, str]:
        return {}

    def archived(self, seqs: Collection[Seq]) -> frozenset[Seq]:
        return frozenset()

    def is_current(self) -> bool:
        return True

    def refresh(self, acknowledged: Seq | None = None) -> None: ...

    @property
    def refusal(self) -> StoreError | None:
        return None

    def check_writable(self) -> None: ...

    def recover(self, acknowledged: Seq) -> bool:
        return True

    def check_reach(self, seqs: Collection[Seq]) -> None: ...

    def known(self) -> LogReport:
        return LogReport()

    def audit(self, progress: Progress | None = None) -> LogReport:
        return LogReport()

    def read_rest(self, after: Seq = NOTHING) -> Iterator[Event]:
        return self.read(after)

    def read_to_fold(self, after: Seq = NOTHING) -> Iterator[Event]:
        return self.read(after)

    def of_type(self, type: str, after: Seq = NOTHING) -> Iterator[Event]:
        return (event for event in self.read(after) if type_of(event.body) == type)

    def lines(self, seqs: Sequence[Seq]) -> Iterator[tuple[Seq, bytes]]:
        return ((seq, b"") for seq in seqs)

    def beside(self, acknowledged: Seq) -> MemoryLog:
        return self

    def hash_key(self, session: SessionNo, key: str) -> str:
        return hash_key(self._secret, session, key)

    def erase(self, seqs: Collection[Seq]) -> int:
        events = [self.get(seq) for seq in set(seqs)]
        changed = [event for event in events if not isinstance(event.body, Erased)]
        for event in changed:
            self._events[event.seq - self._after - 1] = erased(event)
        return len(changed)

    def payload(self, seq: Seq) -> bytes:
        return encode_body(self.get(seq).body)

    def stage(self, events: Sequence[Event], going: Sequence[str]) -> str:
        for event in events:
            if not isinstance(event.body, Erased):
                encode_body(event.body)
        self._staged = list(events), list(going)
        return str(len(events))

    def revise(self, vouched: str) -> list[str]:
        events, going = self._staged
        for event in events:
            is_erased = isinstance(event.body, Erased)
            self._events[event.seq - self._after - 1] = erased(event) if is_erased else event
        return going

    def unstage(self) -> None:
        self._staged = [], []

    def close(self) -> None: ...


class MemoryBlobs:
    """`BlobStore` in a dict."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._blobs: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        name = hmac.digest(self._secret, data, "sha256").hex()
        self._blobs[name] = bytes(data)
        return name

    def get(self, name: str) -> bytes:
        return self._blobs[name]

    def holds(self, name: str) -> bool:
        return name in self._blobs

    def delete(self, name: str) -> bool:
        return self._blobs.pop(name, None) is not None

    def names(self) -> Iterator[str]:
        return iter(sorted(self._blobs))
