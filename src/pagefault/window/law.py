"""What a provider allows: which items stand and leave together, and what may be shown shorter.

Three rules, of which the providers' own answers are the source (each refuses a request that breaks
one, with status 400):

* A result without its call is refused, and a call without its result: the two are one group. They
  may be in two turns, where a user typed while a tool ran; when the call's turn leaves, the result
  leaves the message that opens the next one.
* Signed thinking is bound to what stood before it in its turn. So nothing of a turn is changed that
  stands before the last such item of it. Turns may leave whole.
* What the model has not seen yet is shown to it whole: the newest message, and the results of its
  latest calls, whose turn stays for them though a user typed in the middle of it. So is what
  somebody pinned, as long as its turn is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pagefault.model.kinds import ItemKind
from pagefault.window.slots import Form, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """`stubs` says whether a result may give way to a stub at all."""

    stubs: bool = True

    def turns(self, items: Sequence[Item]) -> list[int]:
        """Where turns begin: with the first of the opening items that stand in a row."""
        return [
            at for at, item in enumerate(items) if item.opens and not (at and items[at - 1].opens)
        ]

    def pairs(self, items: Sequence[Item]) -> dict[int, int]:
        """Of each result the call that it answers: the nearest of its name before it, as some
        servers count their calls anew in each reply.
        """
        found: dict[int, int] = {}
        calls: dict[str, int] = {}
        for at, item in enumerate(items):
            if item.kind is ItemKind.CALL:
                calls[item.call] = at
            elif item.kind is ItemKind.RESULT and item.call in calls:
                found[at] = calls[item.call]
        return found

    def orphans(self, items: Sequence[Item], first: int) -> list[int]:
        """The results at or after `first` whose calls stand before it."""
        return [at for at, call in self.pairs(items).items() if call < first <= at]

    def starts(self, items: Sequence[Item]) -> list[int]:
        """The turns with which a request may begin: not one that is bound, if a result would have
        to be cut out of it.
        """
        return [
            at
            for at in self.turns(items)
            if not (self.is_bound(items, at) and self.orphans(items, at))
        ]

    def unseen_from(self, items: Sequence[Item]) -> int:
        """Where that begins which the model has not seen, with the calls that led to it."""
        seen = max((at for at, item in enumerate(items) if item.is_models), default=-1)
        calls = (call for at, call in self.pairs(items).items() if at > seen)
        return min(calls, default=seen + 1)

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
            if items[at].kept and items[at].is_text and not items[at].pinned
        ]

    def _bound(self, items: Sequence[Item]) -> list[int]:
        """For each item the last one of its turn that holds bound thinking; -1 where none does."""
        starts = [0, *self.turns(items), len(items)]
        bound: list[int] = []
        for start, end in pairwise(starts):
            last = max((at for at in range(start, end) if items[at].binds), default=-1)
            bound += [last] * (end - start)
        return bound
