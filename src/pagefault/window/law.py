"""The rules of providers: which items must stay together, and which may be shown shorter.

The providers' own answers are the source (a request that breaks one of the first two rules gets
status 400):

* A call and its result are one group: neither is accepted without the other. If a user typed while
  a tool ran, they are in two turns; when the call's turn leaves, the result leaves the message that
  opens the next one.
* Signed thinking is bound to everything before it in its turn. So nothing in a turn before its last
  such item may change. Turns may leave whole.
* The model sees new input whole: the newest message, and the results of its latest calls, whose
  turn stays for them even if a user typed in the middle of it. The same holds for pinned items, as
  long as their turn is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pagefault.model.kinds import ItemKind
from pagefault.window.slots import Form, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """`stubs` says whether a stub may replace a result at all."""

    stubs: bool = True

    def turns(self, items: Sequence[Item]) -> list[int]:
        """Where turns begin: at the first of each run of opening items."""
        return [
            at for at, item in enumerate(items) if item.opens and not (at and items[at - 1].opens)
        ]

    def pairs(self, items: Sequence[Item]) -> dict[int, int]:
        """For each result the call that it answers: the nearest earlier one of its name, because
        some servers restart their call numbers in each reply.
        """
        found: dict[int, int] = {}
        calls: dict[str, int] = {}
        for at, item in enumerate(items):
            if item.kind is ItemKind.RESULT or item.answers:
                if item.call in calls:
                    found[at] = calls[item.call]
            elif item.kind is ItemKind.CALL or item.call:
                calls[item.call] = at
        return found

    def orphans(self, items: Sequence[Item], first: int) -> list[int]:
        """The results at or after `first` whose calls are before it."""
        return [at for at, call in self.pairs(items).items() if call < first <= at]

    def starts(self, items: Sequence[Item]) -> list[int]:
        """The turns with which a request may begin: not a bound one that would have to lose a
        result.
        """
        return [
            at
            for at in self.turns(items)
            if not (self.is_bound(items, at) and self.orphans(items, at))
        ]

    def unseen_from(self, items: Sequence[Item]) -> int:
        """Where the items begin that the model has not seen, including the calls behind them."""
        seen = max((at for at, item in enumerate(items) if item.is_models), default=-1)
        calls = (call for at, call in self.pairs(items).items() if at > seen)
        return min(calls, default=seen + 1)

    def is_bound(self, items: Sequence[Item], start: int) -> bool:
        """Whether the turn that begins there has bound thinking: then nothing is inserted in it."""
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
        """For each item the last one of its turn with bound thinking; -1 if there is none."""
        starts = [0, *self.turns(items), len(items)]
        bound: list[int] = []
        for start, end in pairwise(starts):
            last = max((at for at in range(start, end) if items[at].binds), default=-1)
            bound += [last] * (end - start)
        return bound
