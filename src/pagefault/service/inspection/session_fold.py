"""All folds of a session, from one read of its records, kept up to date as more come.

A session's verbs run each of these folds alone. Callers that show many of them, or show them again
and again, use this: a record is read once.

Invariants:
 (1) Every fold has seen the same records, those up to `upto`.
 (2) Nothing is unfolded: after a forget, or when the map has twice its columns, the owner makes
     another fold (`is_outgrown`).

Blocks on the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pagefault.model.events import Event, Faulted, Packed, Relayed
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.model.kinds import Level
from pagefault.model.page import SessionRow
from pagefault.pack import layout
from pagefault.pack.bill import Bill, BillItem, add_up
from pagefault.pack.count import tools_tokens
from pagefault.paging.pressure import Callback, Gauge, Pressure
from pagefault.service.inspection import ledger
from pagefault.service.inspection.bill import RequestFold
from pagefault.service.inspection.brought import Brought, BroughtFold
from pagefault.service.inspection.memory_map import COLUMNS, MemoryMap, map_fold
from pagefault.service.inspection.recollections import Recollection, RecollectionFold
from pagefault.service.inspection.relayed_window import RelayedWindow
from pagefault.service.inspection.report import Folded, Folding
from pagefault.service.inspection.residents import Residents
from pagefault.service.inspection.timetravel import InWindow, in_window
from pagefault.service.restore import records, restore_at
from pagefault.service.runtime import Runtime
from pagefault.service.window.state import SessionState

AT_ONCE: Final = 128
"""Records folded before others are let in: some ten milliseconds of work."""
JUDGED_MAX: Final = 30_000
NEAR: Final = 64
"""Neighbours on either side whose windows are kept from the fold that a request needs. Whoever
looks at a request looks at the next, and both need nearly the same records.
"""


@dataclass(frozen=True, slots=True)
class HeldWindow:
    """The contents of a request: its pages in order, and the tokens of everything else.

    `framing` is what surrounds pages: ids, speakers, times, and calls of memory's tools. In a
    proxied request it cannot be told from the client's instructions and tools: all are `undivided`.
    """

    pages: tuple[InWindow, ...]
    rules_tokens: int = 0
    tools_tokens: int = 0
    framing_tokens: int = 0
    undivided_tokens: int = 0


def held_of(pages: tuple[InWindow, ...], tokens: int, *, rules: int, tools: int) -> HeldWindow:
    """The contents of a request of ours of `tokens`."""
    framing = max(0, _beside(pages, tokens) - rules - tools)
    return HeldWindow(pages, rules, tools, framing)


def _beside(pages: tuple[InWindow, ...], tokens: int) -> int:
    return max(0, tokens - sum(one.tokens for one in pages))


def _as_it_is(entry: layout.Entry) -> layout.Entry:
    """The entry as it is now: a copy if it can still grow."""
    if isinstance(entry, layout.Exchange):
        return replace(entry, calls=list(entry.calls), pages=list(entry.pages))
    return entry


class SessionFold:
    """For one thread at a time."""

    def __init__(
        self,
        runtime: Runtime,
        row: SessionRow,
        *,
        columns: int = COLUMNS,
        judged_max: int = JUDGED_MAX,
    ) -> None:
        """A session with more records than `judged_max` is not judged: that would take longer than
        all the rest.
        """
        self.upto = NOTHING  # the last folded record
        self.row = row
        self.requests = RequestFold(runtime, row)
        self.brought: list[tuple[Brought, ...]] = []  # by the first request to show it again
        self.brought_pages = self.brought_tokens = 0
        self.gauge = Gauge()  # the pressure on the window, request by request
        self.runtime = runtime
        self._columns = columns
        self._scope = runtime.scope(row.session)
        self._map = map_fold(runtime, row, columns=columns)
        self._recollections = RecollectionFold(row, Residents(runtime.limits))
        is_judged = len(runtime.index.events(row.session)) <= judged_max
        self._report = Folding(runtime, row.session, self.requests.ledger) if is_judged else None
        self._partial: list[tuple[Seq, str, tuple[PageId, Level, int]]] = []
        self._brought = BroughtFold()
        self._unsent: list[Brought] = []  # since the previous request
        self._window_tokens = 0

    def on_pressure(self, callback: Callback) -> Callable[[], None]:
        """As `Session.on_pressure`, for requests of this session packed or passed on by anybody."""
        return self.gauge.on_change(callback)

    @property
    def is_passed_on(self) -> bool:
        """Whether a proxy passes the session's requests on."""
        return isinstance(self._map.window, RelayedWindow)

    @property
    def pressure(self) -> Pressure:
        return self.gauge.level

    @property
    def is_outgrown(self) -> bool:
        """Whether the map has so many columns that a new fold would have fewer."""
        return len(self._map.marks) > 2 * self._columns * self._map.step

    def advance(self, let_in: Callable[[], None] = lambda: None) -> None:
        """Fold newer records; `let_in` is called now and then, for callers that must not block
        others for long. If it raises, the rest is folded the next time.
        """
        for number, event in enumerate(records(self.runtime, self._scope, after=self.upto), 1):
            self._fold(event)
            self.upto = event.seq
            if number % AT_ONCE == 0:
                let_in()

    def _fold(self, event: Event) -> None:
        self.requests.fold(event)
        self._map.fold(event)
        self._recollections.fold(event)
        if self._report is not None:
            self._report.fold(event)
        brought = self._brought.fold(event)
        if event.session != self.row.session:
            return
        self._unsent += brought
        self.brought_pages += len(brought)
        self.brought_tokens += sum(self.requests.size_of(one.page_id) for one in brought)
        match event.body:
            case Packed(tokens=tokens) if isinstance(self._map.window, Residents):
                self._sent(tokens, self._map.window.window_tokens)
            case Relayed() as body if isinstance(self._map.window, RelayedWindow):
                self._sent(body.tokens, body.window_tokens)
            case Faulted(refusal="", already_mapped=False, relayed=False) as body if body.level:
                part = body.page_id, Level(body.level), body.tokens
                self._partial.append((event.seq, body.call_id, part))
            case _:
                pass  # it is not a request, and shows no page in part

    def _sent(self, tokens: int, window_tokens: int) -> None:
        self._window_tokens = window_tokens
        self.brought.append(tuple(self._unsent))
        if window_tokens:
            asked = sum(one.reason is not None for one in self._unsent)
            self.gauge.note(tokens / window_tokens, asked)
        self._unsent = []

    # --- results ------------------------------------------------------------------------------

    @property
    def window_tokens(self) -> int:
        """The window of the newest request; 0 if it has none, or there was no request."""
        return self._window_tokens

    def items(self) -> list[BillItem]:
        return self.requests.items()

    def bill(self, items: Iterable[BillItem]) -> Bill:
        every = (*items, *self.requests.formations())
        return add_up(((one.session, one) for one in every), by="session", per_million={})

    def map(self, items: Sequence[BillItem], *, rows: int) -> MemoryMap:
        """As `MapFold.map`."""
        return self._map.map(items, rows=rows)

    def recollections(self) -> list[Recollection]:
        return self._recollections.told()

    def folded(self) -> Folded | None:
        """The folds by which `report` judges the session, if it is judged."""
        return None if self._report is None else self._report.folded()

    def held(self, number: int) -> dict[int, Callable[[], HeldWindow]]:
        """Functions that return the contents of request `number` and of its neighbours in the same
        epoch, up to `NEAR` before and after it, by their numbers. One fold serves them all.
        """
        entries, window = self.requests.entries, self._map.window
        entry = entries[number]
        if isinstance(window, RelayedWindow):
            pages = tuple(
                InWindow(one.row.page_id, one.level, one.tokens, one.place)
                for one in window.seen_by(entry.seq)
            )
            undivided = _beside(pages, entry.packed.tokens)
            return {number: partial(HeldWindow, pages, undivided_tokens=undivided)}
        first = last = number
        while first > max(number - NEAR, 0) and not entries[first].epoch:
            first -= 1
        while last < min(number + NEAR, len(entries) - 1) and not entries[last + 1].epoch:
            last += 1
        found = self._folded_upto(first, last)
        return found if number in found else self._folded_upto(number, number)

    def _folded_upto(self, first: int, last: int) -> dict[int, Callable[[], HeldWindow]]:
        entries = self.requests.entries
        wanted = {entries[number].seq: number for number in range(first, last + 1)}
        found: dict[int, Callable[[], HeldWindow]] = {}

        def look(event: Event, state: SessionState) -> None:
            number = wanted.get(event.seq)
            if number is not None:
                tools = tools_tokens(state.counter, state.layout.tools)
                rules = state.layout.head_tokens - tools
                shown = list(map(_as_it_is, state.layout.entries()))
                found[number] = partial(self._told, entries[number], shown, rules, tools)

        restore_at(self.runtime, self.row, entries[last].seq, after_each=look)
        return found

    def _told(
        self, entry: ledger.Entry, shown: Sequence[layout.Entry], rules: int, tools: int
    ) -> HeldWindow:
        in_part = {call: part for seq, call, part in self._partial if seq <= entry.seq}
        pages = tuple(in_window(shown, in_part))
        return held_of(pages, entry.packed.tokens, rules=rules, tools=tools)
