"""The model of a store: its acknowledged records in a list, and those that may or may not be there.

Everything acknowledged is there, in order and without gaps. Of unacknowledged batches, the first
few may be there, each whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pagefault.model.events import (
    Draft,
    Erased,
    Event,
    ForgetBegun,
    ForgetDone,
    Lost,
    PageBody,
    SessionOpened,
    erased,
)
from pagefault.model.ids import Seq, SessionNo
from pagefault.store.api import BlobStore
from pagefault.store.in_memory.index import MemoryIndex


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The records to forget, and the words that identify their texts."""

    seqs: frozenset[Seq]
    sessions: tuple[SessionNo, ...]
    words: tuple[str, ...]


@dataclass(slots=True)
class StoreModel:
    """`index` is the fold of `events`, made of dicts."""

    events: list[Event] = field(default_factory=list)
    doubtful: list[Sequence[Draft] | Forgetting] = field(default_factory=list)
    begun: dict[Seq, Forgetting] = field(default_factory=dict)  # without a receipt so far
    forgotten: list[str] = field(default_factory=list)  # words that no file may have
    blobs: dict[str, bytes] = field(default_factory=dict)
    blobs_doubtful: set[str] = field(default_factory=set)  # put or deleted, not acknowledged
    index: MemoryIndex = field(default_factory=MemoryIndex)

    def sessions(self) -> list[SessionNo]:
        """Sessions that were not forgotten, in order."""
        return [e.session for e in self.events if isinstance(e.body, SessionOpened)]

    def pages(self, session: SessionNo) -> list[Event]:
        return [e for e in self.events if e.session == session and isinstance(e.body, PageBody)]

    def acknowledge(self, events: Iterable[Event]) -> None:
        for event in events:
            assert event.seq == len(self.events) + 1, "seqs have a gap"
            self.events.append(event)
            self.index.apply([event])
            if isinstance(event.body, ForgetDone):
                self._erase(self.begun.pop(event.body.begun))

    def _erase(self, gone: Forgetting) -> None:
        for seq in gone.seqs:
            event = self.events[seq - 1]
            self.events[seq - 1] = erased(event)
        self.index.forget(gone.seqs, gone.sessions)
        self.forgotten += gone.words

    # --- comparing ----------------------------------------------------------------------------

    def check_records(self, found: Sequence[Event]) -> None:
        """Everything acknowledged is in `found`, unchanged."""
        assert len(found) >= len(self.events), "an acknowledged record is gone"
        going = self._going()
        for event, other in zip(self.events, found, strict=False):
            if event.seq in going and isinstance(other.body, Erased):
                event = erased(event)
            assert event == other, "an acknowledged record is not as it was"

    def _going(self) -> set[Seq]:
        """Records that may be gone, because their forgetting was begun or may have been."""
        plans = [*self.begun.values(), *self.doubtful]
        return {seq for plan in plans if isinstance(plan, Forgetting) for seq in plan.seqs}

    def adopt(self, found: Sequence[Event], *, holes: bool) -> None:
        """Accept what a new process finds as the truth; with `holes`, also parts of a batch, since
        its other records were lost.
        """
        self.check_records(found)
        tail = list(found[len(self.events) :])
        if not holes:
            assert len(tail) in set(self._lengths(tail)), "a batch is there in part"
        drafts = [d for one in self.doubtful if not isinstance(one, Forgetting) for d in one]
        forgettings = [one for one in self.doubtful if isinstance(one, Forgetting)]
        for event in tail:
            if isinstance(event.body, ForgetBegun):
                [plan] = forgettings
                assert set(_spread(event.body)) == plan.seqs, "another forgetting was begun"
                self.begun[event.seq] = plan
            elif not isinstance(event.body, ForgetDone):
                assert drafts, "a record is there that nobody asked for"
                draft = drafts.pop(0)
                if not (holes and isinstance(event.body, Lost)):
                    assert (event.body, event.turn) == (draft.body, draft.turn), (
                        "a record is there that nobody asked for"
                    )
        self.doubtful.clear()
        self.index = MemoryIndex()
        self.index.apply(self.events)
        self.acknowledge(tail)

    def _lengths(self, tail: Sequence[Event]) -> Iterator[int]:
        """Possible lengths of the tail: whole batches, from the first on."""
        ours = sum(isinstance(e.body, ForgetBegun | ForgetDone) for e in tail)
        length = ours
        yield length
        for batch in self.doubtful:
            if not isinstance(batch, Forgetting):
                length += len(batch)
                yield length

    def check_nowhere(self, files: dict[str, bytes | None]) -> None:
        """No file has a word of what was forgotten."""
        for word in self.forgotten:
            needle = word.encode()
            for name, data in files.items():
                assert data is None or needle not in data, f"{word} was forgotten, and is in {name}"

    def check_keys(self) -> None:
        keys = [(event.session, event.key) for event in self.events if event.key]
        assert len(keys) == len(set(keys)), "a retried key was written twice"

    def check_blobs(self, blobs: BlobStore) -> None:
        names = set(blobs.names())
        assert self.blobs.keys() <= names, "an acknowledged blob is gone"
        assert names <= self.blobs.keys() | self.blobs_doubtful, "a blob is there that was deleted"
        for name, data in self.blobs.items():
            assert blobs.get(name) == data
        for name in names:
            blobs.get(name)  # it is whole, or this raises


def _spread(body: ForgetBegun) -> Iterator[Seq]:
    return (Seq(seq) for first, last in body.targets for seq in range(first, last + 1))
