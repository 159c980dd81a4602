"""What a provider allows: which items stand and leave together, and what may be shown shorter.

Three rules, of which the providers' own answers are the source (each refuses a request that breaks
one, with status 400):

* A result without its call is refused, and a call without its result: the two are one group. They
  may be in two turns, where a user typed while a tool ran; when the call's turn leaves, the result
  leaves the message that opens the next one.
* Signed thinking is bound to what stood before it in its turn. So nothing of a turn is changed that
  stands before the last such item of it. Turns may leave whole.
* What the model has not seen yet is shown to it whole: the newest message, and the results of its
  latest calls. So is what somebody pinned, as long as its turn is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pagefault.window.slots import Form, Item, ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """`stubs` says whether a result may give way to a stub at all."""

    stubs: bool = True

    def turns(self, items: Sequence[Item]) -> list[int]:
        """Where turns begin: with the first of the opening items that stand in a row."""
        return [
            at for at, item in enumerate(items) if item.opens and not (at and items[at - 1].opens)
        ]

    def orphans(self, items: Sequence[Item], first: int) -> Iterator[int]:
        """The results at or after `first` whose calls stand before it."""
        calls = {item.call for item in items[:first] if item.kind is ItemKind.CALL}
        for at in range(first, len(items)):
            if items[at].kind is ItemKind.RESULT and items[at].call in calls:
                yield at

    def is_bound(self, items: Sequence[Item], start: int) -> bool:
        """Whether the turn that begins there holds bound thinking: then nothing is put into it."""
        return self._bound(items)[start] >= start

    def may_be(self, form: Form, items: Sequence[Item], first: int) -> list[int]:
        """The items at or after `first` that may have this form, oldest first."""
        if form is not Form.STUB or not self.stubs:
            return []
        seen = max((at for at, item in enumerate(items) if item.is_models), default=0)
        bound = self._bound(items)
        return [
            at
            for at in range(first, seen)
            if items[at].kind is ItemKind.RESULT and at > bound[at]
            if items[at].kept and not items[at].pinned
        ]

    def _bound(self, items: Sequence[Item]) -> list[int]:
        """For each item the last one of its turn that holds bound thinking; -1 where none does."""
        starts = [0, *self.turns(items), len(items)]
        bound: list[int] = []
        for start, end in pairwise(starts):
            last = max((at for at in range(start, end) if items[at].binds), default=-1)
            bound += [last] * (end - start)
        return bound
