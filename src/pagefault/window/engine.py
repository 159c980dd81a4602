"""One step of the engine: what the next request shows, and whether an epoch comes before it.

The theory, in short. A provider keeps the prefix of a request: what is sent again, byte for byte
from the beginning, costs a tenth or less of what is new. So nothing that was sent is changed, and
what is new is appended. A conversation has no end and a window has one: at some time the beginning
has to change. As one change costs what a hundred cost (all behind the first of them is written
anew), changes wait and are made together. That moment is an *epoch*.

What survives it: the newest turn, whole; before it as many turns as the target has room for, whole
as well, since half a turn is nothing that a model could follow. Should the newest turn alone take
more than its share, as an agent's does that works for an hour on one prompt, its oldest results
become stubs: the calls stay, so the model knows what it did, and most of the tokens are in the
results. Of these as few as keep epochs rare, since the model is still at work with them. What has
left is not lost: the memory has it (an item that it has not got never leaves).

Why it pays: with a target of a third of the window, two thirds of one have to be said before the
next epoch, which writes a third anew, where a window that slides writes all of it every time.
`policy/epochs.py` has the arithmetic of when.

Sessions of the library, their developer layout and proxied conversations all take this step. What
they differ in they hand in. A `Schedule` says when an epoch begins: a prefix that a provider keeps
stays until rewriting it pays, a message that is made anew for each request does not. A `Choice`
offers what might leave: whole turns and stubs (`turns.py`), or pages by a policy
(`service/window/eviction.py`). A `Renderer` weighs slots and makes the bytes of them. A `Law` knows
what a provider refuses.

Nothing here sees a text. The same window and the same items give the same slots, and these the same
bytes: after a restart, for a retry, on another branch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from pagefault.window.law import Law
from pagefault.window.slots import FRONT, Form, Item, Slot, Window

WINDOW_FULL: Final = "window_full"
WORTH_SHARE: Final = 0.1
"""Of its room, what an epoch has to spare after which the request is too large all the same."""


class Renderer(Protocol):
    """Makes a request of slots; one per wire and layout."""

    def measure(self, slots: Sequence[Slot]) -> int:
        """The tokens of the whole request that shows these."""
        ...


class Schedule(Protocol):
    """When an epoch begins. Tokens as the renderer counts them."""

    @property
    def room_tokens(self) -> float:
        """The most that a request may take; asked again once an epoch begins."""
        ...

    def due(self, tokens: int) -> str:
        """Why an epoch begins before a request of so many tokens; "" if none does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenFull:
    """The schedule of who pays nothing for waiting."""

    room_tokens: float

    def due(self, tokens: int) -> str:
        return WINDOW_FULL if tokens > self.room_tokens else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an epoch might leave: a window, and `without` what the request would put in."""

    window: Window
    without: Set[str] = frozenset()


OfferT_co = TypeVar("OfferT_co", bound=Offer, covariant=True)
Offers = Generator[OfferT_co, int, None]
"""Offers, the best first, each answered by the tokens of the request that it would make. The first
that fits is taken; where none does, the very first.
"""


class Choice(Protocol[OfferT_co]):
    """What leaves with an epoch."""

    def offers(self, window: Window, items: Sequence[Item], reason: str) -> Offers[OfferT_co]:
        """At least one; that of the same window says that nothing may leave. May raise what
        refuses the request, where nothing that it could offer fits.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[OfferT_co]):
    """What a request shows. `changed` is the first slot that differs from what was sent before;
    without an epoch, the first that is new.
    """

    slots: tuple[Slot, ...]
    tokens: int
    changed: int
    epoch: str = ""  # why one began, or ""
    offer: OfferT_co | None = None  # with which it began
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
    """The window from here on, and the request. `items` are the conversation's, from its beginning
    to the newest; an earlier request showed the first `known` of them.

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
    # Before the first item there is the front alone, and only an epoch changes that.
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
    """The first that fits, with its slots and its tokens; else the very first."""
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
    """Every item, the absent ones too, and what is put in, in the order of the request. The first
    so many items are left out, if they come `after` them.
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
    """Which item is the first that is shown. All are, where the client took that one back."""
    if not window.first:
        return 0
    return next((at for at, item in enumerate(items) if item.id == window.first), 0)


def _agreeing(before: Sequence[Slot], after: Sequence[Slot]) -> int:
    """With how many slots both begin."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
