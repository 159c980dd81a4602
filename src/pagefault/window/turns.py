"""Eviction from a conversation that a client sends whole: turns from the front, then results.

Whole turns leave until the target is reached. If the newest turn alone exceeds its share, its
oldest results become stubs, down to a target of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pagefault.window.engine import Offer, Offers, Renderer, lay_out
from pagefault.window.law import Law
from pagefault.window.slots import Form, Item, Slot, Window


class Scales(Renderer, Protocol):
    """A renderer that also measures single slots.

    ENSURES: between two forms of an item, `weigh` changes by as much as `measure` of the request.
    An absent slot may weigh something: instructions that stay when their surroundings leave.
    """

    def weigh(self, slot: Slot) -> int:
        """The tokens of one slot, framing included."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTurns:
    """The choice for clients' conversations. Tokens as the renderer counts them."""

    law: Law
    scales: Scales
    target_tokens: float  # of the request after turns leave
    stub_target_tokens: float  # of the request after results become stubs, within a turn
    at: str = ""  # the id of the request's last node, which names the epoch
    front: tuple[str, ...] = ()  # what an epoch puts before the turns that stay

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[Offer]:
        """Items that the model has not seen leave with their turn only if the request fits no other
        way.
        """
        first = next((at for at, item in enumerate(items) if item.id == window.first), 0)
        may_leave = next((at for at, item in enumerate(items) if not item.kept), len(items))
        starts = [at for at in self.law.starts(items) if first < at <= may_leave]
        unseen = self.law.unseen_from(items)
        spares = [at for at in starts if at <= unseen]
        after = window
        if spares:
            first = spares[_least(len(spares), lambda n: self._is_enough(window, items, spares[n]))]
            after = self._without(window, items, first)
        yield self._offer(window, after, items, first)
        if starts and starts[-1] > unseen:
            after = self._without(window, items, starts[-1])
            yield self._offer(window, after, items, starts[-1])

    def _offer(self, before: Window, after: Window, items: Sequence[Item], first: int) -> Offer:
        after = self._with_stubs(after, items, first)
        if after == before:
            return Offer(window=before)
        shown = {item.id for item in items[first:]}
        forms = {id_: form for id_, form in after.forms.items() if id_ in shown}
        return Offer(window=replace(after, epoch=self.at, forms=forms))

    def _without(self, window: Window, items: Sequence[Item], start: int) -> Window:
        """The window from that turn on."""
        front = () if self.law.is_bound(items, start) else self.front
        return replace(window, first=items[start].id, front=front)

    def _is_enough(self, window: Window, items: Sequence[Item], start: int) -> bool:
        """Whether the rest of the conversation is within the target."""
        bare = replace(window, first=items[start].id, front=())
        return self._tokens(bare, items) <= self.target_tokens

    def _with_stubs(self, window: Window, items: Sequence[Item], first: int) -> Window:
        """The window with the oldest results as stubs, as many as their target needs."""
        over = self._tokens(window, items) - self.stub_target_tokens
        forms = dict(window.forms)
        for at in self.law.may_be(Form.STUB, items, first):
            item = items[at].id
            if over <= 0:
                break
            if item not in forms:
                spared = self.scales.weigh(Slot(item)) - self.scales.weigh(Slot(item, Form.STUB))
                if spared > 0:
                    forms[item] = Form.STUB
                    over -= spared
        return replace(window, forms=forms) if forms != window.forms else window

    def _tokens(self, window: Window, items: Sequence[Item]) -> int:
        return self.scales.measure(lay_out(window, items, self.law))


def _least(count: int, holds: Callable[[int], bool]) -> int:
    """The least number below `count` for which `holds` is true, else the last. `holds` must be
    monotone: true from some number on.
    """
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
