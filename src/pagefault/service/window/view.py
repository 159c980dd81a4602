"""The engine's view of a session's layout: items, a window, and the cost of slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pagefault.model.ids import Seq
from pagefault.model.kinds import ItemKind
from pagefault.model.page import Page
from pagefault.pack.layout import Entry, Exchange, Front, Note, Recalled, Shown, pages_of
from pagefault.service.window.state import SessionState
from pagefault.window.law import Law
from pagefault.window.slots import FRONT, Form, Item, Slot, Window

LAW: Final = Law()
"""That of every provider; calls and their results are one item here, and are never parted."""


class View:
    """A `Renderer`. Its items are what the layout holds, followed by the `pages` that the next
    request would bring, which a layout puts before the newest message. What left earlier is no
    longer an item.

    The slots in front are the epoch's own, and one for each page and line that it put there.
    """

    def __init__(self, state: SessionState, pages: Sequence[Page]) -> None:
        self._state = state
        self._pages: dict[str, Page] = {page.page_id: page for page in pages}
        self._entries: dict[str, Entry] = {}
        self._fronts: dict[tuple[str, ...], Front] = {}
        self.items: list[Item] = []
        self.window = Window(epoch=str(state.epoch))
        for entry in state.layout.entries():
            if isinstance(entry, Front):
                front = _named(state.epoch, entry)
                self.window = Window(epoch=str(state.epoch), front=front, forms=_levels(entry))
                continue
            for item in _items(entry):
                self.items.append(item)
                self._entries[item.id] = entry
        self.items += (Item(id=one, kind=ItemKind.MESSAGE) for one in self._pages)

    def begin(self, epoch: int, front: Front, verbatim_from: Seq) -> Window:
        """The window of an epoch that puts this in front, and leaves messages and calls in their
        places from there on. What was brought out of its place leaves it.
        """
        named = _named(epoch, front)
        self._fronts[named] = front
        leaves = {
            item
            for item, entry in self._entries.items()
            if entry.seq < verbatim_from or isinstance(entry, Recalled)
        }
        forms = _levels(front) | dict.fromkeys(leaves, Form.ABSENT)
        return Window(epoch=str(epoch), front=named, forms=forms)

    def measure(self, slots: Sequence[Slot]) -> int:
        """For a developer message without its listing, which takes what is left."""
        front = self._fronts.get(tuple(slot.id for slot in slots if slot.anchor == FRONT))
        shown = [slot.id for slot in slots if not slot.anchor and slot.form is not Form.ABSENT]
        brought = [self._pages[one] for one in shown if one in self._pages]
        layout = self._state.layout
        if front is None:
            tokens = layout.tokens_unlisted(brought)
        else:
            entries = list({id(e): e for one in shown if (e := self._entries.get(one))}.values())
            tokens = layout.tokens_showing([front, *entries] if front else entries, brought)
        return tokens + self._state.tail_tokens(brought)


def _items(entry: Entry) -> Iterator[Item]:
    match entry:
        case Shown(page=page):
            yield Item(id=page.page_id, kind=ItemKind.MESSAGE)
        case Recalled(seq=seq):
            pages = pages_of(entry)
            yield from (Item(id=page.page_id, kind=ItemKind.MESSAGE) for page in pages)
            if not pages:  # it only says which page elsewhere is the newer
                yield Item(id=f"named {seq}", kind=ItemKind.OPAQUE)
        case Exchange(cause=cause, seq=seq):
            yield Item(id=f"calls {cause} {seq}", kind=ItemKind.CALL)
        case Note(seq=seq):
            yield Item(id=f"note {seq}", kind=ItemKind.OPAQUE)


def _named(epoch: int, front: Front) -> tuple[str, ...]:
    pages = (*front.core, *(page for page, _ in front.summaries), *front.kept)
    lines = {"claims left out": front.claims_left_out, "older": front.older}
    return (
        f"epoch {epoch}",
        *(f"front {page.page_id}" for page in pages),
        *(f"{line}: {count}" for line, count in lines.items() if count),
    )


def _levels(front: Front) -> dict[str, Form]:
    return {f"front {page.page_id}": Form(level) for page, level in front.summaries}
