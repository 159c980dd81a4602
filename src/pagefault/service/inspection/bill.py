"""The bill of sessions, folded from their logs: `pack/bill.py` defines counts and comparisons.

For a proxied session both sides are in the records of its requests. For a session of the library
only what was packed is: without us, it is assumed to send all that was said, done or handed in by
then, and its instructions, each time. Its host's tools and the framing of requests are not
included, so that side comes out a little too cheap.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from pagefault.model.catalogue import UNKNOWN, find_model
from pagefault.model.events import (
    CallRefused,
    Event,
    Faulted,
    FormationBegun,
    FormationEnded,
    MemoryCalled,
    OriginalBody,
    Packed,
    PageBody,
    Priced,
    Relayed,
    Searched,
    SessionConfigured,
    SessionOpened,
)
from pagefault.model.ids import PageId
from pagefault.model.kinds import NOT_SAID
from pagefault.model.page import SessionRow
from pagefault.model.prices import PriceList
from pagefault.model.request import Usage
from pagefault.pack.bill import Bill, BillItem, add_up
from pagefault.pack.count import MESSAGE_TOKENS
from pagefault.pack.ledger import Broke, Disagreement, Line
from pagefault.service.inspection.ledger import Entry, Ledger
from pagefault.service.inspection.relayed import SERVED
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime

_PROXYS: Final = ("relayed", "reported", "formation_begun", "formation_ended")
_GOES_ON: Final = ("same", "extended", SERVED)
_UNSETTLED: Final = 64  # of the newest requests, which may yet get a report
_PROVIDERS_DOING: Final = (Disagreement.LESS, Disagreement.NONE_AT_ALL)


class BillBy(StrEnum):
    """The rows of a bill."""

    SESSION = "session"
    DAY = "day"  # of UTC
    MODEL = "model"


def bill_of(
    runtime: Runtime,
    rows: Collection[SessionRow],
    *,
    by: BillBy,
    after_ms: int | None,
    before_ms: int | None,
    per_million: Mapping[str, float],
) -> Bill:
    """The bill of the requests of these sessions from one time to before another. Blocks on the
    store.
    """
    named = [
        (_row_of(item, by), item)
        for row in sorted(rows, key=lambda row: row.opened_at_ms)
        for item in items_of(runtime, row)
        if (after_ms is None or item.at_ms >= after_ms)
        and (before_ms is None or item.at_ms < before_ms)
    ]
    if by is BillBy.DAY:
        named.sort(key=lambda one: one[0])
    return add_up(named, by=str(by), per_million=per_million)


def _row_of(item: BillItem, by: BillBy) -> str:
    match by:
        case BillBy.SESSION:
            return item.session
        case BillBy.MODEL:
            return item.model or "no model named"
        case BillBy.DAY:
            return datetime.fromtimestamp(item.at_ms / 1000, UTC).date().isoformat()


def items_of(runtime: Runtime, row: SessionRow) -> list[BillItem]:
    """The requests of a session, oldest first."""
    fold = RequestFold(runtime, row)
    proxied = runtime.events_of(row.session, _PROXYS)
    if any(isinstance(event.body, Relayed) for event in proxied):
        for event in proxied:
            fold.fold(event)
    elif any(runtime.index.events(row.session, types=("packed",))):
        for event in records(runtime, runtime.scope(row.session)):
            fold.fold(event)
    return [*fold.items(), *fold.formations()]


# --- proxied requests -----------------------------------------------------------------------------


@dataclass(slots=True)
class _PassedOn:
    """Weighs the proxied requests, in order."""

    called: str
    configured: PriceList | None
    before: Entry | None = None
    own: int = 0  # tokens of the client's previous request
    added: int = 0  # and of our additions to it

    def item(self, entry: Entry) -> BillItem:
        told = entry.relayed
        assert told is not None, "it is a proxied session's"
        model = find_model(told.model)
        prices = self.configured or (model.prices if model.is_known else None)
        entry, is_restart = _as_it_went_on(entry, self.before, prices or UNKNOWN.prices)
        is_ours = told.change == SERVED
        without, shared = _clients(entry, self.own, is_restart=is_restart)
        line = entry.line(prices or UNKNOWN.prices)
        item = BillItem(
            session=self.called,
            model=told.model,
            at_ms=entry.at_ms,
            tokens=told.tokens,
            predicted_cached=line.predicted_cached,
            before=entry.before_tokens,
            shared=entry.shared_tokens,
            new=max(0, without - shared),
            without=self.own if is_ours else without,
            without_shared=0 if prices and prices.takes_marks and entry.was_unmarked else shared,
            is_ours=is_ours,
            left=told.left_tokens,
            added=told.added_tokens,
            added_new=max(0, told.added_tokens - self.added),
            is_cold=entry.packed.is_cold,
            is_unmarked=bool(prices and prices.takes_marks and entry.is_unmarked),
            is_marked_here=bool(prices and prices.takes_marks and told.is_marked_here),
            epoch=told.epoch,
            broke=_why(line, told),
            window=model.window_tokens if model.is_known else 0,
            usage=line.reported,
            disagreement=line.disagreement,
            prices=prices,
        )
        self.before = entry
        if not is_ours:
            self.own, self.added = without, told.added_tokens
        return item


def _as_it_went_on(entry: Entry, before: Entry | None, prices: PriceList) -> tuple[Entry, bool]:
    """The first request after a restart of the proxy, whose record compares it with none: the same
    bytes are sent again then, so only time and the client can have cost it the cache.
    """
    told = entry.relayed
    if before is None or told is None or told.before >= 0:
        return entry, False
    goes_on = told.change in _GOES_ON and not told.epoch
    is_cold = prices.is_cold((entry.at_ms - before.at_ms) / 1000)
    shared = min(before.packed.tokens, told.tokens) if goes_on else 0
    packed = replace(entry.packed, is_cold=is_cold, shared=shared)
    before_tokens = before.packed.tokens
    went_on = replace(entry, packed=packed, before_tokens=before_tokens, shared_tokens=shared)
    return went_on, True


def _clients(entry: Entry, own: int, *, is_restart: bool) -> tuple[int, int]:
    """What the client sent, and how much of that it had sent before: as recorded, or for a record
    of an older version, as it must have been.
    """
    told = entry.relayed
    assert told is not None
    without = told.client_tokens or told.tokens + told.left_tokens
    if told.client_tokens and not is_restart:
        return without, min(told.client_shared, without)
    goes_on = told.change in _GOES_ON
    return without, min(own, without) if goes_on else min(entry.shared_tokens, without)


def _why(line: Line, told: Relayed | None = None) -> str:
    """Why not all of the previous request was read from the cache, or ""."""
    if line.broke is Broke.FIRST:
        return ""
    if line.broke is Broke.CLIENT_CHANGED and told is not None:
        return told.change
    is_whole = line.broke in (Broke.NOTHING, Broke.QUANTUM)
    if is_whole and line.disagreement in _PROVIDERS_DOING:
        return "provider"
    return str(line.broke)


# --- packed requests ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asked:
    """The history behind a request when it was packed."""

    full: int  # tokens of all that had been said
    shared: int  # of these, at the request before
    brought: int  # tokens from recall and faults since then
    is_ours: bool  # nothing had been said since: the model had called memory's tools
    model: str


@dataclass(slots=True)
class _Tried:
    """A request to form memory, and the provider's count for it, if reported."""

    at_ms: int
    tokens: int
    read: int  # tokens of the last request's content, with which it begins
    model: str
    usage: Usage | None = None


@dataclass(slots=True)
class RequestFold:
    """A fold of a session's requests, over the session's records, its ancestors' before them. For a
    proxied session, its requests and the reports on them are enough.
    """

    runtime: Runtime
    row: SessionRow
    ledger: Ledger = field(init=False)
    _asked: list[_Asked] = field(default_factory=list)
    _sizes: dict[PageId, int] = field(default_factory=dict)
    _said: int = 0
    _system: int = 0
    _before: int = 0
    _brought: int = 0
    _calls: int = 0  # of memory's tools, since the previous request
    _news: int = 0  # pages since then
    _model: str = ""
    _relayed: list[int] = field(default_factory=list)  # which of the entries were proxied
    _is_relayed: bool = False
    _tried: list[_Tried] = field(default_factory=list)
    _settled: list[BillItem] = field(default_factory=list)
    _weighing: _PassedOn = field(init=False)  # after these

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.row.session)
        self._weighing = self._weighs()

    def fold(self, event: Event) -> None:
        known = len(self.ledger.entries)
        self.ledger.fold(event)
        if len(self.ledger.entries) > known and isinstance(event.body, Relayed):
            self._relayed.append(known)
        match event.body:
            case SessionOpened(system=system) | SessionConfigured(system=system):
                self._system = self.runtime.counter.count(system) if system else 0
            case Priced(model=model):
                self._model = model
            case Faulted(refusal="", already_mapped=False, tokens=tokens):
                self._calls += 1
                self._brought += tokens
            case Faulted() | Searched() | CallRefused() | MemoryCalled():
                self._calls += 1
            case PageBody() as body:
                self._sizes[body.page_id] = body.tokens
                if isinstance(body, OriginalBody) and body.event_type not in NOT_SAID:
                    self._news += 1
                    self._said += body.tokens + (0 if body.part else MESSAGE_TOKENS)
            case Packed() as packed:
                self._fold_packed(packed, is_own=len(self.ledger.entries) > known)
            case FormationBegun(tokens=tokens) as begun if tokens and self._is_own(event):
                self._tried.append(
                    _Tried(event.at_ms, tokens, self._read(begun), self._asked_model())
                )
            case FormationEnded(input_tokens=counted) as ended if (
                counted and self._tried and self._is_own(event)
            ):
                self._tried[-1].usage = Usage(
                    input_tokens=counted,
                    output_tokens=ended.output_tokens,
                    cached_tokens=ended.cached_tokens,
                )
            case _:
                pass  # it neither adds to the history nor is a request

    def _fold_packed(self, packed: Packed, *, is_own: bool) -> None:
        full = self._system + self._said
        brought = sum(self._sizes.get(one.page_id, 0) for one in packed.recalled)
        if is_own:
            self._asked.append(
                _Asked(
                    full=full,
                    shared=self._before,
                    brought=self._brought + brought,
                    is_ours=bool(self._calls and not self._news),
                    model=self._model,
                )
            )
        self._before, self._brought, self._calls, self._news = full, 0, 0, 0

    def _is_own(self, event: Event) -> bool:
        return event.session == self.row.session

    def _asked_model(self) -> str:
        """The last model of a proxied session; else the one whose prices apply."""
        last = self.ledger.entries[-1].relayed if self.ledger.entries else None
        return self._model if last is None else last.model

    def _read(self, begun: FormationBegun) -> int:
        sent = self.ledger.entries[-1].packed.tokens if self.ledger.entries else 0
        return min(sent, begun.tokens) if begun.reads_window else 0

    def formations(self) -> list[BillItem]:
        """The requests so far to form memory, oldest first."""
        return [self._formation(one) for one in self._tried]

    def _formation(self, tried: _Tried) -> BillItem:
        model = find_model(tried.model)
        priced = self.ledger.entries[-1].priced if self.ledger.entries else None
        prices = self._weighing.configured or priced or (model.prices if model.is_known else None)
        return BillItem(
            session=self._weighing.called,
            model=tried.model,
            at_ms=tried.at_ms,
            tokens=tried.tokens,
            predicted_cached=(prices or UNKNOWN.prices).cacheable(tried.read),
            is_ours=True,
            is_formation=True,
            usage=tried.usage,
            disagreement=Disagreement.NOTHING if tried.usage else Disagreement.UNREPORTED,
            prices=prices,
        )

    def size_of(self, page_id: PageId) -> int:
        """The tokens of a page; 0 if no record has it."""
        return self._sizes.get(page_id, 0)

    @property
    def entries(self) -> list[Entry]:
        """The entries behind `items`, in the same order: only the proxied ones, if there
        are any.
        """
        every = self.ledger.entries
        return [every[number] for number in self._relayed] if self._relayed else every

    def items(self) -> list[BillItem]:
        """The requests so far, oldest first. Those that can get no report any more are weighed
        once.
        """
        count = len(self._relayed or self.ledger.entries)
        settled = max(0, count - _UNSETTLED)
        if self._is_relayed is not bool(self._relayed):  # the first proxied one, after others
            self._is_relayed, self._settled, self._weighing = True, [], self._weighs()
        for number in range(len(self._settled), settled):
            self._settled.append(self._item(self._weighing, number))
        rest = replace(self._weighing)
        return self._settled + [self._item(rest, n) for n in range(settled, count)]

    def _weighs(self) -> _PassedOn:
        default = self.runtime.epochs.prices
        configured = default if default != UNKNOWN.prices else None
        return _PassedOn(self.row.called, configured)

    def _item(self, weighing: _PassedOn, number: int) -> BillItem:
        if self._relayed:
            return weighing.item(self.ledger.entries[self._relayed[number]])
        entry, asked = self.ledger.entries[number], self._asked[number]
        model = find_model(asked.model)
        known = model.prices if model.is_known else None
        prices = weighing.configured or entry.priced or known
        line = entry.line(prices or UNKNOWN.prices)
        return BillItem(
            session=weighing.called,
            model=asked.model,
            at_ms=entry.at_ms,
            tokens=entry.packed.tokens,
            predicted_cached=line.predicted_cached,
            volatile=entry.packed.tail,
            before=entry.before_tokens,
            shared=entry.shared_tokens,
            new=entry.new_tokens,
            without=asked.full,
            without_shared=min(asked.shared, asked.full),
            is_ours=asked.is_ours,
            left=max(0, asked.full - entry.packed.tokens),
            added=asked.brought,
            added_new=asked.brought,
            is_cold=entry.packed.is_cold,
            epoch=entry.epoch,
            broke=_why(line),
            window=model.window_tokens if model.is_known else 0,
            usage=line.reported,
            disagreement=line.disagreement,
            prices=prices,
        )
