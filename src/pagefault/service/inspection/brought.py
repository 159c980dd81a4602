"""What was brought back: pages that the window did not show, and that were fetched for a message.

One definition for every figure and view. A page is brought back by a `page_fault` that loads it; a
message or a document also by a recall, or by its pin. What is derived is not brought back when the
runtime adds it: a new claim comes with the next request though its words never left, and an epoch
puts claims and summaries in front of a conversation. A page counts each time.

A fold of the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pagefault.model.events import DerivedBody, Event, Faulted, Packed, Relayed
from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason


@dataclass(frozen=True, slots=True)
class Brought:
    """A page that was brought back. `reason` is the model's, if it asked for the page; None if the
    runtime brought it.
    """

    page_id: PageId
    reason: FaultReason | None = None


@dataclass(slots=True)
class BroughtFold:
    """A fold over the records of a session, its ancestors' before them."""

    _derived: set[PageId] = field(default_factory=set)

    def fold(self, event: Event) -> tuple[Brought, ...]:
        """What this record brings back."""
        match event.body:
            case DerivedBody(page_id=page_id):
                self._derived.add(page_id)
            case Faulted(refusal="", already_mapped=False) as body:
                return (Brought(body.page_id, body.reason),)
            case Packed(recalled=recalled):
                return self._recalled(one.page_id for one in recalled)
            case Relayed(recalled=recalled, core=core):
                front = frozenset(core)
                return self._recalled(one for one in recalled if one not in front)
            case _:
                pass  # it brings nothing
        return ()

    def _recalled(self, page_ids: Iterable[PageId]) -> tuple[Brought, ...]:
        return tuple(Brought(one) for one in page_ids if one not in self._derived)
