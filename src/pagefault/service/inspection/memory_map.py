"""The memory map: which messages of a conversation each of its requests showed.

One row for each message, one column for each request. A message is in the window, or has left it
and is only on disk, or was brought back: it is shown, and an earlier request since it was said did
not show it. This depends only on what the requests showed, so the same rule covers a recall, a
fault, what an epoch kept, and what a proxy quoted.

A long conversation has more of both than fit into a picture. Then a column represents several
requests, of which it shows the last, and a row several messages: brought back if one of them was,
in the window if at least half of those said by then were.

A fold of the log. Blocks on the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Any, Final

from pagefault.model.events import Event, OriginalBody, Packed, Relayed
from pagefault.model.ids import PageId, Seq, TurnNo
from pagefault.model.kinds import NOT_SAID, Level, Role
from pagefault.model.page import SessionRow
from pagefault.model.reprs import counted
from pagefault.pack.bill import BillItem
from pagefault.service.inspection.bill import RequestFold
from pagefault.service.inspection.map_drawing import draw
from pagefault.service.inspection.relayed_window import RelayedWindow
from pagefault.service.inspection.residents import Residents
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime

ROWS: Final = 400
COLUMNS: Final = 360


class MapPlace(StrEnum):
    """Where a request had a message."""

    IN_WINDOW = "in_window"
    BROUGHT_BACK = "brought_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapColumn:
    """The requests `first` to `last`, counted from 0, shown as of the last of them.

    `tokens`, `shared_tokens` and `without_tokens` are of that request, by our count: what was sent,
    its common prefix with the previous request, which a provider's cache can hold, and what would
    have been sent without paging, an estimate. `reported_cached_tokens` is the provider's own
    report, None if there was none. `rewrite` is why one of these requests rewrote its beginning.
    """

    first: int
    last: int
    seq: Seq
    turn: TurnNo
    at_ms: int
    tokens: int
    shared_tokens: int
    without_tokens: int
    reported_cached_tokens: int | None = None
    rewrite: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSpan:
    """The columns `first` to `last`, in which a row was in this place."""

    first: int
    last: int
    place: MapPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRow:
    """The messages `first` to `last`, in the order in which they were said. `since` is the first
    column that could have shown one of them; `role` is that of the first of them.
    """

    first: PageId
    last: PageId
    messages: int
    tokens: int
    role: Role
    at_ms: int
    since: int
    spans: tuple[MapSpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMap:
    """The map of one conversation: its `messages` and its `requests`."""

    messages: int
    requests: int
    columns: tuple[MapColumn, ...]
    rows: tuple[MapRow, ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The place of each row over time, for a table or a chart: a dict for each of its spans,
        with its first and last request. A row that no request showed has none.
        """
        return [
            {
                "row": number,
                "first": row.first,
                "last": row.last,
                "messages": row.messages,
                "tokens": row.tokens,
                "role": str(row.role),
                "at_ms": row.at_ms,
                "place": str(span.place),
                "first_request": self.columns[span.first].first,
                "last_request": self.columns[span.last].last,
            }
            for number, row in enumerate(self.rows)
            for span in row.spans
        ]

    def __repr__(self) -> str:
        rewrites = sum(bool(one.rewrite) for one in self.columns)
        return (
            f"Memory map · {counted(self.messages, 'message')} · "
            f"{counted(self.requests, 'request')} · {counted(rewrites, 'rewrite')}"
        )

    def _repr_html_(self) -> str:
        return draw(self)


def memory_map(runtime: Runtime, row: SessionRow, *, rows: int, columns: int) -> MemoryMap:
    """The map of a session, with at most so many rows and columns. A fork's requests are its own;
    its messages include those of its ancestors.
    """
    requests = RequestFold(runtime, row)
    fold = map_fold(runtime, row, columns=columns)
    for event in records(runtime, runtime.scope(row.session)):
        requests.fold(event)
        fold.fold(event)
    return fold.map(requests.items(), rows=rows)


def map_fold(runtime: Runtime, row: SessionRow, *, columns: int) -> MapFold:
    """A fold with at most so many columns for the current number of requests."""
    relayed = runtime.index.events(row.session, types=("relayed",))
    number = len(relayed or runtime.index.events(row.session, types=("packed",)))
    window = RelayedWindow() if relayed else Residents(runtime.limits)
    return MapFold(row, window, step=max(1, -(-number // columns)))


def _columns(
    items: Sequence[BillItem], ends: Sequence[int], marks: Sequence[tuple[Seq, TurnNo]]
) -> Iterator[MapColumn]:
    first = 0
    for end in ends:
        item = items[end]
        seq, turn = marks[end]
        report = item.report
        yield MapColumn(
            first=first,
            last=end,
            seq=seq,
            turn=turn,
            at_ms=item.at_ms,
            tokens=item.tokens,
            shared_tokens=min(item.shared, item.tokens),
            without_tokens=item.without,
            reported_cached_tokens=None if report is None else report.cached_tokens,
            rewrite=next((one.epoch for one in items[first : end + 1] if one.epoch), ""),
        )
        first = end + 1


@dataclass(slots=True, eq=False)
class _Message:
    """A message and its places: past `spans`, and its current `place` since the column `open`.
    `asked` requests came before the message.
    """

    page_id: PageId
    tokens: int
    role: Role
    at_ms: int
    asked: int
    spans: list[tuple[int, int, MapPlace]] = field(default_factory=list)
    place: MapPlace | None = None
    open: int = 0


@dataclass(slots=True)
class MapFold:
    """A fold over the records of a session, its ancestors' before them; every `step` requests are a
    column, the last of which may have fewer.
    """

    session: SessionRow
    window: Residents | RelayedWindow
    step: int
    messages: list[_Message] = field(default_factory=list)
    marks: list[tuple[Seq, TurnNo]] = field(default_factory=list)  # of the session's own requests
    _by_page: dict[PageId, _Message] = field(default_factory=dict)
    _ended: int = 0  # columns
    _shown: dict[int, _Message] = field(default_factory=dict)  # by the last of these
    _pages: tuple[PageId, ...] = ()  # shown by the newest request, if it was not proxied

    def fold(self, event: Event) -> None:
        self.window.fold(event)
        body = event.body
        if isinstance(body, OriginalBody) and body.event_type not in NOT_SAID:
            self._fold_said(event, body)
        elif isinstance(body, self._request()) and event.session == self.session.session:
            self.marks.append((event.seq, event.turn))
            if isinstance(self.window, Residents):
                self._pages = tuple(self.window.pages)
            if len(self.marks) % self.step == 0:
                self._end_column()

    def _fold_said(self, event: Event, body: OriginalBody) -> None:
        first = self._by_page.get(body.part_of) if body.part else None
        if first is not None:
            first.tokens += body.tokens
            self._by_page[body.page_id] = first
            return
        said = _Message(body.page_id, body.tokens, body.role, event.at_ms, len(self.marks))
        self._by_page[body.page_id] = said
        self.messages.append(said)

    def _request(self) -> type[Packed | Relayed]:
        return Packed if isinstance(self.window, Residents) else Relayed

    def _showing(self) -> dict[int, _Message]:
        """The pages that the newest request showed."""
        pages: Iterable[PageId] = self._pages
        if isinstance(self.window, RelayedWindow):
            seen = self.window.seen_by(self.marks[-1][0])
            pages = (one.row.page_id for one in seen if one.level < Level.REFERENCE)
        return {id(one): one for one in map(self._by_page.get, pages) if one is not None}

    def _end_column(self) -> None:
        found = self._showing()
        for number, one in self._shown.items():
            if number not in found:
                assert one.place is not None, "it was shown"
                one.spans.append((one.open, self._ended - 1, one.place))
                one.place = None
        for one in found.values():
            if one.place is None:
                one.place, one.open = self._enters(one), self._ended
        self._shown = found
        self._ended += 1

    def _enters(self, one: _Message) -> MapPlace:
        """The place of a page that the previous column did not show, and the next one does."""
        is_new = one.asked // self.step == self._ended
        return MapPlace.IN_WINDOW if is_new else MapPlace.BROUGHT_BACK

    def map(self, items: Sequence[BillItem], *, rows: int) -> MemoryMap:
        """The map so far; `items` are the session's requests (`bill.py`). With 0 rows it is only
        the columns, which takes no time.
        """
        ends = [number * self.step - 1 for number in range(1, self._ended + 1)]
        is_open = len(self.marks) > self._ended * self.step
        if is_open:
            ends.append(len(self.marks) - 1)
        placed: list[_Placed] = []
        if rows:
            last = self._showing() if is_open else {}
            placed = [self._placed(one, last, is_open=is_open) for one in self.messages]
        return MemoryMap(
            messages=len(self.messages),
            requests=len(self.marks),
            columns=tuple(_columns(items, ends, self.marks)),
            rows=tuple(_rows(placed, len(ends), rows)) if rows else (),
        )

    def _placed(self, one: _Message, last: Mapping[int, _Message], *, is_open: bool) -> _Placed:
        spans = list(one.spans)
        is_last = id(one) in last
        if one.place is not None:
            spans.append((one.open, self._ended - 1 + is_last, one.place))
        elif is_last:
            spans.append((self._ended, self._ended, self._enters(one)))
        columns = self._ended + is_open
        since = one.asked // self.step if one.asked < len(self.marks) else columns
        return _Placed(one, since, spans)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A message, the first column that could have shown it, and the columns that did."""

    of: _Message
    since: int
    spans: Sequence[tuple[int, int, MapPlace]]


def _rows(messages: Sequence[_Placed], columns: int, most: int) -> Iterator[MapRow]:
    step = -(-len(messages) // most) if messages else 1
    for start in range(0, len(messages), step):
        group = messages[start : start + step]
        yield MapRow(
            first=group[0].of.page_id,
            last=group[-1].of.page_id,
            messages=len(group),
            tokens=sum(one.of.tokens for one in group),
            role=group[0].of.role,
            at_ms=group[0].of.at_ms,
            since=group[0].since,
            spans=tuple(_spans(group, columns)),
        )


def _spans(group: Sequence[_Placed], columns: int) -> Iterator[MapSpan]:
    """The places of a group, column by column, joined."""
    said, shown, back = (
        _counts(columns, ((one.since, columns - 1) for one in group)),
        _counts(columns, (span[:2] for one in group for span in one.spans)),
        _counts(
            columns,
            (span[:2] for one in group for span in one.spans if span[2] is MapPlace.BROUGHT_BACK),
        ),
    )
    places = [
        MapPlace.BROUGHT_BACK
        if back[at]
        else (MapPlace.IN_WINDOW if shown[at] and 2 * shown[at] >= said[at] else None)
        for at in range(columns)
    ]
    first = 0
    for at in range(1, columns + 1):
        if at == columns or places[at] is not places[first]:
            place = places[first]
            if place is not None:
                yield MapSpan(first=first, last=at - 1, place=place)
            first = at


def _counts(columns: int, spans: Iterable[tuple[int, int]]) -> list[int]:
    """How many of these spans each column is in."""
    steps = [0] * (columns + 1)
    for first, last in spans:
        if first <= last:
            steps[first] += 1
            steps[last + 1] -= 1
    return list(accumulate(steps))[:columns]
