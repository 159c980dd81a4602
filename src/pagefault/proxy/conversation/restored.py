"""Reads the records of a conversation from which its tree of histories is rebuilt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final

from pagefault.guard.screen import is_redacted
from pagefault.model.events import (
    HISTORY_START,
    Called,
    Event,
    OriginalBody,
    PageBody,
    Relayed,
    Returned,
    Said,
)
from pagefault.model.ids import NOTHING, PageId, Seq
from pagefault.proxy.history.history import digest, unmarked
from pagefault.proxy.history.trie import FIRST, Change, Logged


def logged(events: Sequence[Event]) -> tuple[list[tuple[Logged, list[PageId]]], set[int]]:
    """The items logged of a client's history, each with its pages, and the orders of all pages."""
    texts: list[list[OriginalBody]] = []
    orders: set[int] = set()
    for event in events:
        body = event.body
        if not isinstance(body, PageBody):
            continue
        orders.add(body.order)
        if not isinstance(body, OriginalBody):
            continue
        if body.follows:
            texts.append([body])
        elif texts and body.part and body.part_of == texts[-1][0].page_id:
            texts[-1].append(body)
    found: list[tuple[Logged, list[PageId]]] = []
    for parts in texts:
        first, text = parts[0], "".join(part.text for part in parts)
        call = _CALL.match(text) if isinstance(first, Called) else None
        call_id = first.call_id if isinstance(first, Said | Called | Returned) else ""
        found.append(
            (
                Logged(
                    page_id=first.page_id,
                    follows=FIRST if first.follows == HISTORY_START else first.follows,
                    supersedes=first.supersedes,
                    role=str(first.role),
                    words=digest(text),
                    text=text[call.end() :] if call else text if call_id else "",
                    call_id=call_id,
                    first=first.order,
                    last=first.order + first.parts - 1,
                ),
                [part.page_id for part in parts],
            )
        )
    return found, orders


def compacted(events: Sequence[Event]) -> set[str]:
    """The last page of each request in which a client had compacted, if that page
    was new with it.
    """
    found, new = set[str](), set[str]()
    for event in events:
        match event.body:
            case OriginalBody(page_id=page_id):
                new.add(page_id)
            case Relayed(change=change, upto=upto):
                if change == Change.COMPACTED and upto in new:
                    found.add(upto)
                new.clear()
    return found


def sent_before(
    messages: Sequence[tuple[Seq, PageId, str]],
    events: Sequence[Event],
    key_of: Callable[[PageId], str],
    with_calls: Collection[str],
) -> tuple[str, dict[str, Any]]:
    """The model that was asked last, and the messages that were sent to it, without marks, by the
    keys of their last nodes. `messages` are the client's own (`messages_of`). Left out are those of
    keys `with_calls`, which were sent with calls of memory's tools beside them, and those that had
    a secret anywhere, also in their thinking: the log has them redacted.
    """
    asked = [(event.seq, event.body.model) for event in events if isinstance(event.body, Relayed)]
    model = asked[-1][1] if asked else ""
    since = max((seq for seq, other in asked if other != model), default=NOTHING)
    found: dict[str, Any] = {}
    for seq, page, told in messages:
        key = key_of(page)
        if key and key not in with_calls and seq > since and not is_redacted(told):
            with suppress(ValueError, RecursionError):
                found[key] = unmarked(json.loads(told))
    return model, found


_CALL: Final = re.compile(r"\[calls [^\]]*\] ")
