"""The requests of a proxied session, as they were passed on.

The client decides what such a session's window holds. What the session would pack itself says
nothing about it; these records do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pagefault.model.events import HISTORY_START, Draft, Event, Relayed, Reported
from pagefault.model.kinds import DERIVED_TYPES, NOT_SAID, EventType
from pagefault.model.request import Usage
from pagefault.service.inspection.received import FromClient, Kept, drafts_of

if TYPE_CHECKING:
    from pagefault.service.ownership import Owned
    from pagefault.service.runtime import Runtime

SAID_TYPES: Final = tuple(one for one in EventType if one not in DERIVED_TYPES | NOT_SAID)
"""The record types of messages and texts handed in."""
SERVED: Final = "served"
"""The `Relayed.change` of a request that follows calls of memory's tools."""
CALL_TYPES: Final = ("searched", "faulted", "call_refused", "memory_called")
"""The record types of the model's calls of memory's tools."""


@dataclass(slots=True, kw_only=True)
class Telling:
    """The records of a request that is passed on: the request, the new `messages` in it, as far as
    these can be stored, and its provider's count.
    """

    relayed: Relayed | None = None
    messages: Sequence[FromClient] = ()
    reported: Reported | None = None
    kept: Kept = field(default_factory=Kept)  # once it is written

    async def drafts(self, owned: Owned) -> tuple[list[Draft], int | None]:
        """Drafts of it, in the current turn, and the plan that they rest on. Within a verb."""
        planned = owned.runtime.journal.forgets
        self.kept = Kept()
        if self.messages:
            look = partial(drafts_of, owned.runtime, owned.state, owned.scope, self.messages)
            self.kept = await asyncio.to_thread(look)
        told = [owned.draft(body) for body in (self.relayed, self.reported) if body is not None]
        return [*self.kept.drafts, *told], planned if self.kept.drafts else None

    def written(self, events: Sequence[Event]) -> None:
        """Note that it is written, as the first of these."""
        at = len(self.kept.drafts)
        if self.relayed is not None:
            self.kept = replace(self.kept, request=events[at].seq)


async def tell(owned: Owned, telling: Telling) -> Kept:
    """Write it by itself."""

    async def verb() -> Kept:
        drafts, planned = await telling.drafts(owned)
        telling.written(await owned.commit(drafts, planned=planned))
        return telling.kept

    return await owned.whole(verb)


def reported(request: int, usage: Usage) -> Reported:
    """The provider's report for a request that was passed on."""
    return Reported(
        request=request,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        relayed=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxied:
    """The requests of a session that a proxy passed on, and `last`, the newest of them. `served` of
    them are the proxy's own: the model had called memory's tools, and was asked again.
    """

    requests: int
    served: int
    epochs: int
    recalled_pages: int
    over_window: int  # requests larger than their window
    stubs: int  # results of tools that the newest epoch left as stubs
    reports: int  # of providers
    reported_tokens: int  # in the newest report, in the provider's tokens
    last: Relayed

    def to_dict(self) -> dict[str, Any]:
        """As plain values, the newest request's under `last`."""
        last = asdict(self.last)
        return {
            "requests": self.requests,
            "served": self.served,
            "epochs": self.epochs,
            "recalled_pages": self.recalled_pages,
            "over_window": self.over_window,
            "stubs": self.stubs,
            "reports": self.reports,
            "reported_tokens": self.reported_tokens,
            "last": last | {name: list(last[name]) for name in ("recalled", "core", "stubs")},
        }


def proxied_of(bodies: Iterable[object]) -> Proxied | None:
    """From records; None if nothing was passed on."""
    bodies = list(bodies)
    sent = [body for body in bodies if isinstance(body, Relayed)]
    reports = [body for body in bodies if isinstance(body, Reported) and body.relayed]
    if not sent:
        return None
    return Proxied(
        requests=len(sent),
        served=sum(one.change == SERVED for one in sent),
        epochs=sum(bool(one.epoch) for one in sent),
        recalled_pages=sum(len(one.recalled) for one in sent),
        over_window=sum(one.is_over for one in sent),
        stubs=len(next((one.stubs for one in reversed(sent) if one.epoch), ())),
        reports=len(reports),
        reported_tokens=reports[-1].input_tokens if reports else 0,
        last=sent[-1],
    )


def find_said(runtime: Runtime, names: Sequence[str], keys: Sequence[Callable[[str], str]]) -> str:
    """As `Memory.find_said`. Only the index is asked: no text is read."""
    best, most = "", 0
    for name in names:
        count = _count_said(runtime, name, keys)
        if count > most:
            best, most = name, count
    return best


def _count_said(runtime: Runtime, name: str, keys: Sequence[Callable[[str], str]]) -> int:
    """How many texts a session has, each equal to the next of these; 0 if one differs, or was
    forgotten.
    """
    row = runtime.index.find_session(name)
    if row is None:
        return 0
    said, pages, follows = 0, 0, HISTORY_START
    for key in keys:
        seq = runtime.index.find_key(row.session, runtime.hash_key(row.session, key(follows)))
        first = None if seq is None else runtime.index.page_at(seq)
        if first is None:
            break
        said, pages, follows = said + 1, pages + first.parts, first.page_id
    return said if pages == row.pages else 0
