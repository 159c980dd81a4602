"""Calls of the host's tools in the window: each with its result, or neither.

The text of a reply, its calls and their results are records of their own, and come one by one, the
results in any order. They share one `cause`, and together are one `Exchange`, which a layout shows,
moves and evicts whole. Every record has the amount of its text that is shown
(`OriginalBody.shown`), decided when it was written (`allotted`), so that a restart, which may know
less of that window, shows the same.

No request is packed while a call waits for its result (`awaited`). So a record without its
counterpart in a fold lost it since, to a forget or to damage: a call then has no result, visibly,
and a result is quoted like any page out of its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pagefault.guard.neutralise import neutralise
from pagefault.model.events import Called, Draft, OriginalBody, Returned, Said, expected
from pagefault.model.ids import Seq
from pagefault.model.page import Page
from pagefault.model.request import CALL_ID_MAX, ToolCall
from pagefault.pack import render
from pagefault.pack.layout import Entry, Exchange, Layout
from pagefault.service.window.content import page_of

if TYPE_CHECKING:
    from pagefault.service.window.state import SessionState

NO_RESULT: Final = "(no result)"
FAILED: Final = "The call failed."
_STUB_TOKENS: Final = 150  # of a call, and of a result, with no text shown, about
_CALL: Final = re.compile(r"\[calls [^\]]*\] ")


def called(name: str, arguments: str) -> str:
    """The text of a call, as it is stored, searched and quoted."""
    return f"[calls {name}] {arguments}"


def awaited(entries: Iterable[Entry]) -> Iterator[tuple[Exchange, ToolCall]]:
    """The calls that wait for a result, in order, with their arguments as stored."""
    for entry in entries:
        if isinstance(entry, Exchange) and entry.awaited:
            for call, _, _ in entry.calls:
                if call.call_id in entry.awaited:
                    arguments = _CALL.sub("", entry.awaited[call.call_id], count=1)
                    yield entry, ToolCall(call.call_id, call.name, arguments)


def exchange_of(entries: Sequence[Entry], cause: Seq) -> Exchange | None:
    """The exchange with that cause among entries that were not sent yet."""
    if entries and isinstance(entries[-1], Exchange) and entries[-1].cause == cause:
        return entries[-1]
    found = (e for e in reversed(entries) if isinstance(e, Exchange) and e.of_host)
    return next((entry for entry in found if entry.cause == cause), None)


def answered(entries: Sequence[Entry], cause: Seq, call_id: str) -> Exchange | None:
    """The exchange with that cause in which that call was made."""
    of_cause = (e for e in reversed(entries) if isinstance(e, Exchange) and e.cause == cause)
    return next((e for e in of_cause if any(c.call_id == call_id for c, _, _ in e.calls)), None)


def place_of(layout: Layout, cause: Seq, body: Said | Called | Returned) -> Exchange | None:
    """The exchange that a record belongs to: a new one for the first record of a reply, none for a
    record whose exchange is lost. Text begins one, unless calls alone came before it.
    """
    if isinstance(body, Returned) or (isinstance(body, Called) and body.part):
        return answered(layout.pending, cause, body.call_id)
    found = exchange_of(layout.pending, cause)
    if found is None or (isinstance(body, Said) and body.part == 0 and found.of_host):
        found = Exchange(cause=cause, seq=cause, said="")
        layout.add(found)
    return found


def shown_parts(body: OriginalBody) -> int:
    return max(0, min(body.shown, body.parts))


def take(exchange: Exchange, page: Page, body: Said | Called | Returned) -> None:
    """Add one more part of text, of a call or of a result.

    All parts of a call are shown, or none: truncated arguments are useless.
    """
    exchange.of_host = True
    shown = shown_parts(body)
    if body.part < shown:
        exchange.pages.append(page)
    if isinstance(body, Called):
        _take_call(exchange, page, body)
        return
    if body.part >= max(shown, 1):
        return
    text = _told(_parts(exchange, page), page, shown)
    if isinstance(body, Said):
        exchange.said = text
        return
    if body.is_error:
        exchange.failed.add(body.call_id)
        text = f"{FAILED}\n{text}"
    place = _place(exchange, body.call_id)
    exchange.calls[place] = (exchange.calls[place][0], text, None)
    exchange.awaited.pop(body.call_id, None)


def _take_call(exchange: Exchange, page: Page, body: Called) -> None:
    if body.part == 0:
        rest = render.rest(page, 0, body.parts * body.tokens)
        arguments = json.dumps({"arguments_not_shown": rest}, ensure_ascii=False)
        call = ToolCall(body.call_id, body.title, arguments)
        exchange.calls.append((call, NO_RESULT, None))
        exchange.awaited[body.call_id] = ""
        if body.given_id:
            exchange.renamed[body.call_id] = body.given_id
    if body.call_id in exchange.awaited:
        exchange.awaited[body.call_id] += page.text
    if body.part + 1 == body.parts == shown_parts(body):
        text = "".join(part.text for part in _parts(exchange, page))
        call = ToolCall(
            body.call_id, body.title, neutralise(_CALL.sub("", text, count=1), citations=True)
        )
        place = _place(exchange, body.call_id)
        exchange.calls[place] = (call, *exchange.calls[place][1:])


def _place(exchange: Exchange, call_id: str) -> int:
    return next(n for n, (call, _, _) in enumerate(exchange.calls) if call.call_id == call_id)


def _parts(exchange: Exchange, page: Page) -> list[Page]:
    """The parts of the page's text that the exchange shows."""
    first = page.part_of or page.page_id
    return [one for one in exchange.pages if first in (one.page_id, one.part_of)]


def _told(parts: Sequence[Page], page: Page, shown: int) -> str:
    told = [render.message(parts)] if parts else []
    left = page.row.parts - shown
    if left > 0 and page.row.part + 1 == max(shown, 1):
        told.append(render.rest(page, shown, left * page.row.tokens))
    return "\n\n".join(told)


def allotted(drafts: Sequence[Draft], state: SessionState, cause: Seq) -> list[Draft]:
    """Drafts of text, calls or results as parts of the exchange with that cause. Each has the
    amount of its text that is shown: as much as fits beside what was not sent yet.

    Text gets a quarter of the room at most, all calls together half of it; a result leaves room to
    say that the results of open calls are not shown. Bytes that a tool returned beside its result
    are not shown.
    """
    made = exchange_of(state.layout.pending, cause)
    exchange = _copy(made) if made is not None else Exchange(cause, cause, "")
    room = state.room_for_results()
    texts = _texts(drafts)
    calls = sum(isinstance(text[0].body, Called) for text in texts)
    placed: list[Draft] = []
    for text in texts:
        first = text[0].body
        assert isinstance(first, OriginalBody)
        before = state.layout.tokens_of([exchange])
        most = state.parts_shown(first)
        match first:
            case Said():
                bound, steps = room // 4, range(most, -1, -1)
            case Called():
                bound, steps = room // 2 // calls, range(first.parts, -1, -first.parts)
            case Returned():
                waiting = sum(call_id != first.call_id for call_id in exchange.awaited)
                bound, steps = room - waiting * _STUB_TOKENS, range(most, -1, -1)
            case _:
                bound, steps = 0, range(0, -1, -1)
        for shown in steps:
            fitted = [_shown(draft, shown, cause) for draft in text]
            trial = _copy(exchange)
            if isinstance(first, Said | Called | Returned):
                for draft in fitted:
                    assert isinstance(draft.body, Said | Called | Returned)
                    take(trial, page_of(expected(draft), draft.body), draft.body)
            took = state.layout.tokens_of([trial]) - before
            if took <= bound or shown == 0:
                break
        exchange, room = trial, room - took
        placed += fitted
    return placed


def _texts(drafts: Sequence[Draft]) -> list[list[Draft]]:
    texts: list[list[Draft]] = []
    for draft in drafts:
        assert isinstance(draft.body, OriginalBody)
        if draft.body.part == 0:
            texts.append([])
        texts[-1].append(draft)
    return texts


def _shown(draft: Draft, shown: int, cause: Seq) -> Draft:
    assert isinstance(draft.body, OriginalBody)
    return replace(draft, body=replace(draft.body, shown=shown), cause=cause)


def _copy(exchange: Exchange) -> Exchange:
    return replace(
        exchange,
        calls=list(exchange.calls),
        pages=list(exchange.pages),
        awaited=dict(exchange.awaited),
        failed=set(exchange.failed),
        renamed=dict(exchange.renamed),
    )


def unused(call_ids: Sequence[str], entries: Iterable[Entry]) -> list[str]:
    """Unique ids to store these calls under: some servers count from 0 in each reply, and a request
    must not have two calls with one id.
    """
    used = {call.call_id for e in entries if isinstance(e, Exchange) for call, _, _ in e.calls}
    named: list[str] = []
    for call_id in call_ids:
        number, name = 1, call_id
        while name in used or (name in call_ids and name != call_id):
            number += 1
            name = call_id[: CALL_ID_MAX - len(f"_{number}")] + f"_{number}"
        used.add(name)
        named.append(name)
    return named


def meant(call_id: str, entries: Iterable[Entry]) -> ToolCall | None:
    """The call that a result with this id answers: one that waits for it and is stored under that
    id, or had it in the reply (`unused`).
    """
    waiting = list(awaited(entries))
    exact = [call for _, call in waiting if call.call_id == call_id]
    renamed = [call for made, call in waiting if made.renamed.get(call.call_id) == call_id]
    return next(iter([*exact, *renamed]), None)
