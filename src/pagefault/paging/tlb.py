"""The translation look-aside buffer: a cache of recent look-ups of page rows.

It holds copies of the index's rows and is never the truth: dropping all of it is always safe.
"""

from __future__ import annotations

from pagefault.model.defaults import TLB_ENTRIES
from pagefault.model.ids import PageId
from pagefault.model.page import PageRow


class TLB:
    """An LRU cache of at most `entries_max` rows."""

    def __init__(self, entries_max: int = TLB_ENTRIES) -> None:
        if entries_max < 1:
            raise ValueError("a TLB has room for at least one entry")
        self._entries_max = entries_max
        self._rows: dict[PageId, PageRow] = {}
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, page_id: object) -> bool:
        return page_id in self._rows

    def lookup(self, page_id: PageId) -> PageRow | None:
        """The row, counted as a hit, or None, counted as a miss."""
        row = self._rows.pop(page_id, None)
        if row is None:
            self.misses += 1
            return None
        self._rows[page_id] = row
        self.hits += 1
        return row

    def insert(self, row: PageRow) -> None:
        self._rows.pop(row.page_id, None)
        while len(self._rows) >= self._entries_max:
            del self._rows[next(iter(self._rows))]
        self._rows[row.page_id] = row

    def invalidate(self, page_id: PageId) -> None:
        self._rows.pop(page_id, None)

    def count_anew(self) -> None:
        """Reset the counts: look-ups made while folding a log are nobody's."""
        self.hits = self.misses = 0

    def flush(self) -> None:
        """Drop every row. The counts of hits and misses stay."""
        self._rows.clear()
