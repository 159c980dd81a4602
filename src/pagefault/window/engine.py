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

Nothing here sees a text. A `Renderer` weighs slots and makes the bytes of them; a `Law` knows what
a provider refuses. The same window and the same items give the same slots, and these the same
bytes: after a restart, for a retry, on another branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pagefault.window.law import Law
from pagefault.window.slots import FRONT, Form, Item, Slot, Window

WINDOW_FULL: Final = "window_full"


class Renderer(Protocol):
    """Makes a request of slots; one per wire and layout.

    ENSURES: in two forms an item differs by as much in `weigh` as the request does in `measure`.
    An absent slot may weigh something: instructions that stay when what stands around them leaves.
    """

    def weigh(self, slot: Slot) -> int:
        """The tokens of one slot, with whatever frames it."""
        ...

    def measure(self, slots: Sequence[Slot]) -> int:
        """The tokens of the whole request that shows these."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a step is told beside the items. Tokens as the renderer counts them."""

    room_tokens: float  # the most that the request may take
    target_tokens: float  # what is left of it when turns leave
    stub_target_tokens: float  # and when results become stubs, within a turn
    at: str = ""  # the id of the node that the request ends with: an epoch is named after it
    front: tuple[str, ...] = ()  # what an epoch puts before the turns that stay
    known: int = 0  # of the items, how many an earlier request showed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a request shows. `changed` is the first slot that differs from what was sent before;
    without an epoch, the first that is new.
    """

    slots: tuple[Slot, ...]
    tokens: int
    changed: int
    epoch: str = ""  # why one began, or ""
    fits: bool = True


def step(
    window: Window, items: Sequence[Item], facts: Facts, *, law: Law, renderer: Renderer
) -> tuple[Window, Plan]:
    """The window from here on, and the request. `items` are the conversation's, from its beginning
    to the newest.

    An epoch begins if the request would not fit, and something may leave.
    """
    before = lay_out(window, items[: facts.known], law)
    slots = lay_out(window, items, law)
    tokens = renderer.measure(slots)
    reason = ""
    if tokens > facts.room_tokens:
        after = _rewritten(window, items, facts, law, renderer)
        if after is not None:
            window, reason = after, WINDOW_FULL
            slots = lay_out(window, items, law)
            tokens = renderer.measure(slots)
    return window, Plan(
        slots=slots,
        tokens=tokens,
        changed=_agreeing(before, slots),
        epoch=reason,
        fits=tokens <= facts.room_tokens,
    )


def lay_out(window: Window, items: Sequence[Item], law: Law) -> tuple[Slot, ...]:
    """Every item, the absent ones too, and what is put in, in the order of the request."""
    first = _first(window, items)
    gone = set(law.orphans(items, first)) if first else set()
    slots = [Slot(one, anchor=FRONT) for one in window.front]
    for at, item in enumerate(items):
        is_absent = at < first or at in gone
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


def _rewritten(
    window: Window, items: Sequence[Item], facts: Facts, law: Law, renderer: Renderer
) -> Window | None:
    """The window of an epoch that begins here; nothing where it would change nothing.

    What the model has not seen leaves with its turn only if the request fits no other way.
    """
    first = _first(window, items)
    may_leave = next((at for at, item in enumerate(items) if not item.kept), len(items))
    starts = [at for at in law.starts(items) if first < at <= may_leave]
    unseen = law.unseen_from(items)
    spares = [at for at in starts if at <= unseen]

    def without(start: int, *, front: tuple[str, ...] = facts.front) -> Window:
        front = () if law.is_bound(items, start) else front
        return replace(window, first=items[start].id, front=front)

    def is_enough(start: int) -> bool:
        """Whether what stays of the conversation is no more than the target."""
        bare = lay_out(without(start, front=()), items, law)
        return renderer.measure(bare) <= facts.target_tokens

    after = window
    if spares:
        first = spares[_least(len(spares), lambda n: is_enough(spares[n]))]
        after = without(first)
    after = _with_stubs(after, items, first, facts, law, renderer)
    if starts and starts[-1] > unseen and not _fits(after, items, facts, law, renderer):
        last = _with_stubs(without(starts[-1]), items, starts[-1], facts, law, renderer)
        if _fits(last, items, facts, law, renderer):
            first, after = starts[-1], last
    if after == window:
        return None
    shown = {item.id for item in items[first:]}
    forms = {id_: form for id_, form in after.forms.items() if id_ in shown}
    return replace(after, epoch=facts.at, forms=forms)


def _fits(
    window: Window, items: Sequence[Item], facts: Facts, law: Law, renderer: Renderer
) -> bool:
    return renderer.measure(lay_out(window, items, law)) <= facts.room_tokens


def _with_stubs(
    window: Window, items: Sequence[Item], first: int, facts: Facts, law: Law, renderer: Renderer
) -> Window:
    """The same with the oldest results as stubs, as many as their target takes."""
    over = renderer.measure(lay_out(window, items, law)) - facts.stub_target_tokens
    forms = dict(window.forms)
    for at in law.may_be(Form.STUB, items, first):
        item = items[at].id
        if over <= 0:
            break
        if item not in forms:
            spared = renderer.weigh(Slot(item)) - renderer.weigh(Slot(item, Form.STUB))
            if spared > 0:
                forms[item] = Form.STUB
                over -= spared
    return replace(window, forms=forms) if forms != window.forms else window


def _least(count: int, holds: Callable[[int], bool]) -> int:
    """The least number below `count` from which on it holds, which it does from some number on;
    else the last.
    """
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _agreeing(before: Sequence[Slot], after: Sequence[Slot]) -> int:
    """With how many slots both begin."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
