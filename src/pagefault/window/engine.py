"""One step of the engine: what the next request shows, and whether an epoch comes before it.

The theory, in short. A provider caches the prefix of a request: bytes that repeat from the
beginning cost a tenth or less of new ones. So what was sent never changes, and new items are
appended. But a conversation grows without limit and a window does not, so at some point the prefix
must change. One change costs as much as a hundred, because everything behind the first is
rewritten. So changes wait and are made together, at an *epoch*.

An epoch keeps the newest turn, and before it as many turns as the target has room for, all whole,
since a model cannot follow half a turn. If the newest turn alone exceeds its share, as when an
agent works for an hour on one prompt, its oldest results become stubs. The calls stay, so the model
knows what it did, and most of the tokens are in the results. Only as many become stubs as keep
epochs rare, since the model is still using them. What left is not lost: the memory has it (an item
that it does not have never leaves).

Why it pays: with a target of a third of the window, two thirds of a window must be said before the
next epoch, which rewrites a third. A sliding window rewrites all of it every time.
`policy/epochs.py` has the arithmetic of when.

Library sessions, their developer layout and proxied conversations all take this step. They differ
in the arguments. A `Schedule` decides when an epoch begins: a cached prefix stays until rewriting
it pays, while a message that is rebuilt for each request need not. A `Choice` offers what might
leave: whole turns and stubs (`turns.py`), or pages by a policy (`service/window/eviction.py`). A
`Renderer` measures slots and renders them. A `Law` has the rules of a provider.

The engine never sees text. The same window and the same items give the same slots, and these the
same bytes: after a restart, for a retry, on another branch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from pagefault.window.law import Law
from pagefault.window.slots import FRONT, Form, Item, Slot, Window

WINDOW_FULL: Final = "window_full"
WORTH_SHARE: Final = 0.1
"""The least share of the room that an epoch must free if the request will exceed it anyway."""


class Renderer(Protocol):
    """Renders slots into a request; one per wire format and layout."""

    def measure(self, slots: Sequence[Slot]) -> int:
        """The tokens of the whole request that shows these slots."""
        ...


class Schedule(Protocol):
    """When an epoch begins. Tokens as the renderer counts them."""

    @property
    def room_tokens(self) -> float:
        """The limit of a request; read again once an epoch begins."""
        ...

    def due(self, tokens: int) -> str:
        """The reason for an epoch before a request of so many tokens; "" for none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenFull:
    """The schedule if waiting costs nothing."""

    room_tokens: float

    def due(self, tokens: int) -> str:
        return WINDOW_FULL if tokens > self.room_tokens else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A possible outcome of an epoch: a window, and the ids `without` which the request is sent."""

    window: Window
    without: Set[str] = frozenset()


OfferT_co = TypeVar("OfferT_co", bound=Offer, covariant=True)
Offers = Generator[OfferT_co, int, None]
"""Offers, the best first, each answered by the tokens of the resulting request. The first that fits
is taken; if none does, the very first.
"""


class Choice(Protocol[OfferT_co]):
    """Chooses what leaves with an epoch."""

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[OfferT_co]:
        """At least one offer; the unchanged window means that nothing may leave. May raise the
        error that refuses the request, if no possible offer fits.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[OfferT_co]):
    """What a request shows. `changed` is the first slot that differs from the last request;
    without an epoch, the first new one.
    """

    slots: tuple[Slot, ...]
    tokens: int
    changed: int
    epoch: str = ""  # the reason for an epoch, or ""
    offer: OfferT_co | None = None  # that the epoch took
    fits: bool = True


def step(
    window: Window,
    items: Sequence[Item],
    *,
    law: Law,
    renderer: Renderer,
    schedule: Schedule,
    choice: Choice[OfferT_co],
    known: int = 0,
) -> tuple[Window, Plan[OfferT_co]]:
    """The window from here on, and the request. `items` is the whole conversation, oldest first; an
    earlier request showed the first `known` of them.

    An epoch begins if one is due, and enough may leave for the request to fit, or to be worth it.
    """
    shown, slots = window, lay_out(window, items, law)
    tokens = renderer.measure(slots)
    reason, offer = schedule.due(tokens), None
    if reason:
        taken = _taken(choice.offers(window, items, reason), items, law, renderer, schedule)
        least = tokens - WORTH_SHARE * schedule.room_tokens
        if taken[0].window == window or taken[2] > max(schedule.room_tokens, least):
            reason = ""
        else:
            offer, slots, tokens = taken
            window = offer.window
    # Before the first item there is only the front, and only an epoch changes that.
    is_front = not known and offer is None
    before = () if is_front else lay_out(shown, items[:known], law)
    return window, Plan(
        slots=slots,
        tokens=tokens,
        changed=len(shown.front) if is_front else _agreeing(before, slots),
        epoch=reason,
        offer=offer,
        fits=tokens <= schedule.room_tokens,
    )


def _taken(
    offers: Offers[OfferT_co],
    items: Sequence[Item],
    law: Law,
    renderer: Renderer,
    schedule: Schedule,
) -> tuple[OfferT_co, tuple[Slot, ...], int]:
    """The first offer that fits, with its slots and its tokens; else the very first."""
    first: tuple[OfferT_co, tuple[Slot, ...], int] | None = None
    offer = next(offers)
    while True:
        slots = lay_out(offer.window, items, law, without=offer.without)
        tokens = renderer.measure(slots)
        if tokens <= schedule.room_tokens:
            return offer, slots, tokens
        first = first or (offer, slots, tokens)
        try:
            offer = offers.send(tokens)
        except StopIteration:
            return first


def lay_out(
    window: Window,
    items: Sequence[Item],
    law: Law,
    *,
    without: Set[str] = frozenset(),
    after: int = 0,
) -> tuple[Slot, ...]:
    """The slots of all items, absent ones included, and of insertions, in the order of the request.
    With `after`, the first so many items are left out.
    """
    first = _first(window, items)
    gone = set(law.orphans(items, first)) if first else set()
    slots = [Slot(one, window.forms.get(one, Form.WHOLE), FRONT) for one in window.front]
    for at, item in enumerate(items[after:], after):
        is_absent = at < first or at in gone or item.id in without
        if not is_absent:
            slots += [Slot(one, anchor=item.id) for one in item.before]
        slots.append(
            Slot(item.id, Form.ABSENT if is_absent else window.forms.get(item.id, Form.WHOLE))
        )
    return tuple(slots)


def _first(window: Window, items: Sequence[Item]) -> int:
    """The index of the first item shown. All are shown if the client removed that item."""
    if not window.first:
        return 0
    return next((at for at, item in enumerate(items) if item.id == window.first), 0)


def _agreeing(before: Sequence[Slot], after: Sequence[Slot]) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
