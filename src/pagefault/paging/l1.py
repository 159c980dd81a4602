"""L1: a write-back cache of representations, each dirty until its record is written.

Its contents are in the log or can be derived again, so losing it loses nothing.

Invariants, true between any two public calls:
 (1) A page here is CLEAN or DIRTY, and changes by `residency.step` alone.
 (2) A dirty page stays until it is flushed, however many there are.
 (3) It has at most `pages_max` clean pages; the least recently used is dropped first.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.ids import PageId
from pagefault.model.kinds import Level
from pagefault.model.page import Page, PageRow
from pagefault.model.residency import Cause, Residency, step


@dataclass(slots=True)
class _Held:
    page: Page
    residency: Residency


class L1:
    def __init__(self, pages_max: int) -> None:
        if pages_max < 0:
            raise ValueError("a cache has no negative size")
        self._pages_max = pages_max
        self._held: dict[PageId, _Held] = {}  # least recently used first
        self._made: dict[tuple[PageId, Level], PageId] = {}

    def __len__(self) -> int:
        return len(self._held)

    def find_row(self, page_id: PageId) -> PageRow | None:
        """The row of a cached representation. Does not count as a use."""
        held = self._held.get(page_id)
        return None if held is None else held.page.row

    def page(self, page_id: PageId) -> Page | None:
        """A representation by its own id."""
        held = self._held.pop(page_id, None)
        if held is None:
            return None
        self._held[page_id] = held
        return held.page

    def find(self, page_id: PageId, level: Level) -> Page | None:
        """The representation of a page at a level."""
        made = self._made.get((page_id, level))
        return None if made is None else self.page(made)

    def derived(self, page: Page) -> None:
        """Add a new representation that is not written yet."""
        self._put(page, Cause.DERIVED)

    def flushed(self, page: Page) -> None:
        """The record is in the log, and `page` is read from it. It need not be cached yet."""
        is_dirty = self.is_dirty(page.page_id)
        self._put(page, Cause.FLUSHED if is_dirty else Cause.ADMITTED)
        self._trim()

    def met(self, page: Page) -> None:
        """Note that a representation was read from the log, or used again."""
        if self.page(page.page_id) is None:
            self.flushed(page)

    def is_dirty(self, page_id: PageId) -> bool:
        held = self._held.get(page_id)
        return held is not None and held.residency is Residency.DIRTY

    def dirty(self) -> list[PageId]:
        """The pages to flush, in order of use."""
        return [p for p, held in self._held.items() if held.residency is Residency.DIRTY]

    def check(self) -> None:
        """Every invariant, slowly."""
        states = {held.residency for held in self._held.values()}
        assert states <= {Residency.CLEAN, Residency.DIRTY}, "(1)"
        assert len(self._held) - len(self.dirty()) <= self._pages_max, "(3)"
        assert set(self._made.values()) == set(self._held), "both ways in lead to the same pages"

    def _put(self, page: Page, cause: Cause) -> None:
        assert page.derived is not None
        held = self._held.pop(page.page_id, None)
        before = Residency.GHOST if held is None else held.residency
        is_met_again = before is Residency.CLEAN and cause is Cause.ADMITTED
        residency = before if is_met_again else step(before, cause)
        self._held[page.page_id] = _Held(page, residency)
        asked = (page.derived.represents, Level(page.derived.level))
        other = self._made.get(asked)
        if other is not None and other != page.page_id:
            self._held.pop(other, None)  # made twice, by two processes: the later one serves
        self._made[asked] = page.page_id

    def _trim(self) -> None:
        clean = len(self._held) - len(self.dirty())
        for page_id, held in list(self._held.items()):
            if clean <= self._pages_max:
                break
            if held.residency is Residency.CLEAN:
                step(held.residency, Cause.EVICTED)
                assert held.page.derived is not None
                del self._held[page_id]
                del self._made[held.page.derived.represents, Level(held.page.derived.level)]
                clean -= 1
