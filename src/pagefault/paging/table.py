"""The page table: maps a page's id to its place and residency.

A session may have a million pages, so the table has entries only for pages in the window or on
their way there. Every other page is a GHOST, whose row comes from the index on demand, through the
TLB.

Invariants:
 (1) A page with an entry here is not a GHOST; a page without one is.
 (2) The state of an entry changes by `residency.step` alone.
 (3) A pinned page has a pin whether or not it is resident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pagefault.model.ids import PageId, TurnNo
from pagefault.model.kinds import Level, Tier
from pagefault.model.page import PageRow
from pagefault.model.residency import Cause, Residency, step, tier_of
from pagefault.paging.tlb import TLB


@dataclass(slots=True)
class PageTableEntry:
    """The table's record of a page in the window."""

    row: PageRow
    level: Level
    residency: Residency = Residency.GHOST
    last_turn: TurnNo = TurnNo(0)
    accesses: int = 0

    @property
    def tier(self) -> Tier:
        """Where its content is: the window while resident, else where it is read from."""
        in_window = self.residency in (Residency.CLEAN, Residency.DIRTY)
        return tier_of(self.row, in_window=in_window)


class PageTable:
    """The entries of one session. `find_row` is called on a miss and may read the index."""

    def __init__(self, find_row: Callable[[PageId], PageRow | None], tlb: TLB) -> None:
        self._find_row = find_row
        self.tlb = tlb
        self._entries: dict[PageId, PageTableEntry] = {}
        self._loading: dict[PageId, None] = {}  # faults under way
        self._pins: dict[PageId, None] = {}

    def has(self, page_id: PageId) -> bool:
        """Whether the session has such a page. Counts neither hit nor miss."""
        return page_id in self._entries or self._find_row(page_id) is not None

    def find(self, page_id: PageId) -> PageRow | None:
        """The page's row, or None if the session has no such page."""
        entry = self._entries.get(page_id)
        if entry is not None:
            self.tlb.hits += 1
            return entry.row
        row = self.tlb.lookup(page_id)
        if row is None:
            row = self._find_row(page_id)
            if row is not None:
                self.tlb.insert(row)
        return row

    def known(self, page_id: PageId) -> PageRow | None:
        """The page's row if the table or the TLB has it; counts as a hit only then."""
        entry = self._entries.get(page_id)
        if entry is not None:
            self.tlb.hits += 1
            return entry.row
        return self.tlb.lookup(page_id) if page_id in self.tlb else None

    def entry(self, page_id: PageId) -> PageTableEntry | None:
        """The entry of a page in or entering the window; None for a ghost."""
        return self._entries.get(page_id)

    def residents(self) -> Iterator[PageTableEntry]:
        return iter(self._entries.values())

    @contextmanager
    def faults(self) -> Iterator[None]:
        """A block of faults. At its end every page is loaded or its fault has failed, even after an
        exception: a page that stayed LOADING could never be faulted again.
        """
        try:
            yield
        finally:
            for page_id in [*self._loading]:
                self.failed(page_id)

    def begin_fault(self, row: PageRow, level: Level) -> PageTableEntry:
        """GHOST to LOADING, until `loaded`, `failed` or the end of the surrounding `faults` block.
        A page in the window may not fault.
        """
        entry = self._entries.get(row.page_id) or PageTableEntry(row, level)
        entry.residency = step(entry.residency, Cause.FAULTED)
        self._entries[row.page_id] = entry
        self._loading[row.page_id] = None
        return entry

    def loaded(self, page_id: PageId, turn: TurnNo) -> None:
        """The fault's content is in the window."""
        entry = self._entries[page_id]
        entry.residency = step(entry.residency, Cause.LOADED)
        del self._loading[page_id]
        self.touched(page_id, turn)

    def failed(self, page_id: PageId) -> None:
        """A fault failed: its page could not be read, or was refused."""
        self._leave(page_id, Cause.FAILED)

    def admitted(self, row: PageRow, level: Level, turn: TurnNo) -> None:
        """A page entered the window with the record that made or recalled it."""
        entry = self._entries.get(row.page_id)
        if entry is None:
            entry = PageTableEntry(row, level)
            entry.residency = step(entry.residency, Cause.ADMITTED)
            self._entries[row.page_id] = entry
        elif entry.residency is Residency.LOADING:
            step(entry.residency, Cause.ADMITTED)  # refused: `loaded` is awaited
        self.touched(row.page_id, turn)

    def derived(self, row: PageRow, level: Level, turn: TurnNo) -> None:
        """A derived page entered the window before its record was written."""
        entry = self._entries.get(row.page_id) or PageTableEntry(row, level)
        entry.residency = step(entry.residency, Cause.DERIVED)
        self._entries[row.page_id] = entry
        self.touched(row.page_id, turn)

    def flushed(self, row: PageRow) -> None:
        """A page's record is in the log, at `row.seq`. The page need not be in the window."""
        entry = self._entries.get(row.page_id)
        if entry is not None and entry.residency is Residency.DIRTY:
            entry.residency = step(entry.residency, Cause.FLUSHED)
            entry.row = row

    def touched(self, page_id: PageId, turn: TurnNo) -> None:
        entry = self._entries.get(page_id)
        if entry is not None:
            entry.accesses += 1
            entry.last_turn = turn

    def evicted(self, page_id: PageId) -> None:
        self._leave(page_id, Cause.EVICTED)

    def invalidated(self, page_id: PageId) -> None:
        """Drop every trace of the page except its pin."""
        if page_id in self._entries:
            self._leave(page_id, Cause.INVALIDATED)
        self.tlb.invalidate(page_id)

    def pin(self, page_id: PageId) -> None:
        self._pins[page_id] = None

    def unpin(self, page_id: PageId) -> None:
        self._pins.pop(page_id, None)

    def is_pinned(self, page_id: PageId) -> bool:
        return page_id in self._pins

    def pins(self) -> list[PageId]:
        """The pinned pages, in pinning order."""
        return list(self._pins)

    def check(self, resident: Iterable[PageId]) -> None:
        """The invariants, and agreement with the working set's members, `resident`."""
        assert all(e.residency is not Residency.GHOST for e in self._entries.values()), "(1)"
        settled = {p for p, e in self._entries.items() if e.residency is not Residency.LOADING}
        assert self._entries.keys() - settled == self._loading.keys()
        assert settled == set(resident), "table and working set disagree"

    def _leave(self, page_id: PageId, cause: Cause) -> None:
        entry = self._entries[page_id]
        entry.residency = step(entry.residency, cause)
        del self._entries[page_id]
        self._loading.pop(page_id, None)
        self.tlb.insert(entry.row)
