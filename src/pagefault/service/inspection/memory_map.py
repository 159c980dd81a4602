"""The memory map: which messages of a conversation each of its requests showed.

One row for each message, one column for each request. A message is in the window, or it has left it
and is only on disk, or it was brought back: it is shown, and an earlier request since it was said
did not show it. That is told from what the requests showed and from nothing else, so it is the same
rule for a recall, for a fault, for what an epoch kept, and for what a proxy quoted.

A long conversation has more of both than a picture has room for. Then a column stands for several
requests, of which it shows the last, and a row for several messages: brought back if one of them
was, in the window if at least half of those said by then were.

A fold of the log. Blocks on the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Any, Final

from pagefault.model.events import Event, OriginalBody, Packed, Relayed, Shared
from pagefault.model.ids import PageId, Seq, TurnNo
from pagefault.model.kinds import Level, Role
from pagefault.model.page import SessionRow
from pagefault.model.reprs import counted
from pagefault.pack.bill import BillItem
from pagefault.service.inspection.bill import items_of
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
    """The requests `first` to `last`, counted from 0, as the last of them was sent.

    `tokens`, `shared_tokens` and `without_tokens` are of that request, by our count: what was sent,
    how much of it begins as the request before did, so that a provider's cache can hold it, and
    what would have been sent without paging, an estimate. `reported_cached_tokens` is the
    provider's own word, None where it gave none. `rewrite` is why the beginning was written anew,
    by one of these requests.
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
    """A row was in this place in the columns `first` to `last`."""

    first: int
    last: int
    place: MapPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRow:
    """The messages `first` to `last`, in the order in which they were said. `since` is the first
    column that could have shown one of them; `role` is of the first of them.
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
    """The map of one conversation: `messages` of it, and `requests`."""

    messages: int
    requests: int
    columns: tuple[MapColumn, ...]
    rows: tuple[MapRow, ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Where each row was and when, for a table or a chart: a dict for each of its spans, with
        the requests that it goes from and to. A row that no request showed has none.
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
    its messages are those of its ancestors, too.
    """
    items = items_of(runtime, row)
    ends = _ends(len(items), columns)
    is_proxied = any(runtime.index.events(row.session, types=("relayed",)))
    window = RelayedWindow() if is_proxied else Residents(runtime.limits)
    fold = _Fold(row, window, frozenset(ends))
    for event in records(runtime, runtime.scope(row.session)):
        fold.fold(event)
    shown = tuple(_columns(items, ends, fold.marks))
    return MemoryMap(
        messages=len(fold.messages),
        requests=len(items),
        columns=shown,
        rows=tuple(_rows(fold.messages, len(shown), rows)),
    )


def _ends(number: int, most: int) -> list[int]:
    """The last of each bucket of requests."""
    step = -(-number // most) if number else 1
    ends = list(range(step - 1, number, step))
    return ends if not number or (ends and ends[-1] == number - 1) else [*ends, number - 1]


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
    """A message and where columns had it. `open` is the column that its last span began in."""

    page_id: PageId
    tokens: int
    role: Role
    at_ms: int
    since: int
    spans: list[tuple[int, int, MapPlace]] = field(default_factory=list)
    place: MapPlace | None = None
    open: int = 0


@dataclass(slots=True)
class _Fold:
    """Folds the records of a session, its ancestors' before them."""

    session: SessionRow
    window: Residents | RelayedWindow
    ends: frozenset[int]  # the requests that columns show
    messages: list[_Message] = field(default_factory=list)
    marks: list[tuple[Seq, TurnNo]] = field(default_factory=list)  # of the session's own requests
    _by_page: dict[PageId, _Message] = field(default_factory=dict)
    _column: int = 0
    _shown: list[_Message] = field(default_factory=list)

    def fold(self, event: Event) -> None:
        self.window.fold(event)
        body = event.body
        if isinstance(body, OriginalBody) and not isinstance(body, Shared):
            self._fold_said(event, body)
        elif isinstance(body, self._request()) and event.session == self.session.session:
            self.marks.append((event.seq, event.turn))
            if len(self.marks) - 1 in self.ends:
                self._end_column(self._pages())

    def _fold_said(self, event: Event, body: OriginalBody) -> None:
        first = self._by_page.get(body.part_of) if body.part else None
        if first is not None:
            first.tokens += body.tokens
            self._by_page[body.page_id] = first
            return
        said = _Message(body.page_id, body.tokens, body.role, event.at_ms, self._column)
        self._by_page[body.page_id] = said
        self.messages.append(said)

    def _request(self) -> type[Packed | Relayed]:
        return Packed if isinstance(self.window, Residents) else Relayed

    def _pages(self) -> Iterable[PageId]:
        if isinstance(self.window, Residents):
            return self.window.pages
        return (seen.row.page_id for seen in self.window.seen() if seen.level < Level.REFERENCE)

    def _end_column(self, pages: Iterable[PageId]) -> None:
        found = {id(one): one for one in map(self._by_page.get, pages) if one is not None}
        for one in self._shown:
            if id(one) not in found:
                _close(one, self._column - 1)
        for one in found.values():
            if one.place is None:
                is_new = one.since == self._column
                one.place = MapPlace.IN_WINDOW if is_new else MapPlace.BROUGHT_BACK
                one.open = self._column
        self._shown = list(found.values())
        self._column += 1
        if len(self.marks) - 1 == max(self.ends):
            for one in self._shown:
                _close(one, self._column - 1)
            self._shown = []


def _close(one: _Message, last: int) -> None:
    assert one.place is not None, "it was shown"
    one.spans.append((one.open, last, one.place))
    one.place = None


def _rows(messages: Sequence[_Message], columns: int, most: int) -> Iterator[MapRow]:
    step = -(-len(messages) // most) if messages else 1
    for start in range(0, len(messages), step):
        group = messages[start : start + step]
        yield MapRow(
            first=group[0].page_id,
            last=group[-1].page_id,
            messages=len(group),
            tokens=sum(one.tokens for one in group),
            role=group[0].role,
            at_ms=group[0].at_ms,
            since=group[0].since,
            spans=tuple(_spans(group, columns)),
        )


def _spans(group: Sequence[_Message], columns: int) -> Iterator[MapSpan]:
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
