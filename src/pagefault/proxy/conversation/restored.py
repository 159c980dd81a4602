"""Reads the records of a conversation from which its tree of histories is rebuilt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
from pagefault.model.ids import PageId
from pagefault.proxy.history.history import digest
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


_CALL: Final = re.compile(r"\[calls [^\]]*\] ")
