"""The calls of a session, from its records: what each should have cost, what the provider reported,
and how near the session's epochs were to the best ones.

A fold of the log. The record of each call says whether the provider's cache was cold, so the same
log gives the same ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import mean
from typing import Any, Final, assert_never

from pagefault.model.catalogue import UNKNOWN, find_model
from pagefault.model.events import (
    Aside,
    EpochBegun,
    Event,
    MemoryAction,
    Packed,
    PageBody,
    Priced,
    Relayed,
    Reported,
    SessionConfigured,
    SessionOpened,
)
from pagefault.model.ids import Seq, SessionNo, TurnNo
from pagefault.model.prices import PriceList
from pagefault.model.reprs import counted, html_table, minute
from pagefault.model.request import Usage
from pagefault.model.signatures import checked
from pagefault.model.times import iso_utc
from pagefault.pack import ledger
from pagefault.pack.cost import effective_input_cost
from pagefault.policy import hindsight

_HEAD_CHANGED: Final = frozenset({"configured", "renderer", "tools"})  # epochs that keep nothing
_ROWS_SHOWN: Final = 30
_FORCED: Final = frozenset(
    {"configured", "renderer", "tools", "forgotten", "scrubbed", "revoked", "lapsed", "lost"}
)
"""Epochs that no choice could have avoided: their cause is neither the window nor the price."""
_CLIENTS_DOING: Final = frozenset(
    {"begun", "branched", "compacted", "edited", "remodelled", "reinstructed"}
)
"""Changes of a proxied history after which a request does not continue the previous one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One call. `before_tokens` is the previous request, without its tail; None if there was none.

    `relayed` is the record of a proxied request; `packed` then says the same in its terms.
    """

    seq: Seq
    turn: TurnNo
    at_ms: int
    packed: Packed
    before_tokens: int | None
    shared_tokens: int
    epoch: str  # its reason, if the call began one
    tools_changed: bool
    reported: Usage | None = None
    relayed: Relayed | None = None
    priced: PriceList | None = None  # the prices given for it, if any
    was_unmarked: bool = False  # as is each request before it

    @property
    def stable_tokens(self) -> int:
        """Of the request, without its volatile tail."""
        return self.packed.tokens - self.packed.tail

    @property
    def new_tokens(self) -> int:
        """What the call added to what had been said, whether or not an epoch came first."""
        if self.before_tokens is not None and self.packed.tokens_without_epoch:
            without = self.packed.tokens_without_epoch - self.packed.tail
            return max(0, without - self.before_tokens)
        return self.stable_tokens - self.shared_tokens

    @checked
    def line(self, prices: PriceList) -> ledger.Line:
        sending = ledger.Sending(
            prompt_tokens=self.packed.tokens,
            before_tokens=self.before_tokens,
            shared_tokens=min(self.shared_tokens, self.packed.tokens),
            matchable_tokens=min(self.shared_tokens, self.packed.tokens),
            volatile_tokens=self.packed.tail,
            is_cold=self.packed.is_cold,
            epoch=self.epoch,
            tools_changed=self.tools_changed,
            client_changed=self._is_clients_doing(),
            is_unmarked=prices.takes_marks and self.is_unmarked,
            was_unmarked=prices.takes_marks and self.was_unmarked,
        )
        return ledger.line(prices, sending, self.reported)

    def _is_clients_doing(self) -> bool:
        """Whether the request begins differently from the previous one because of a client."""
        one = self.relayed
        if one is None or one.epoch:
            return False
        went_as_it_came = not one.window_tokens and one.shared < one.before
        went_back = one.change == "same" and one.tokens < one.before
        return one.change in _CLIENTS_DOING or went_as_it_came or went_back

    @property
    def is_unmarked(self) -> bool:
        """Whether nothing was marked in a format in which providers cache at marks alone."""
        one = self.relayed
        if one is None or one.wire != "messages":
            return False
        return not (one.is_marked or one.is_marked_here)


class Entries(list[Entry]):
    """The calls of a session, oldest first: a list, with methods for a prompt or a data frame.

    Without given prices, the calls' own prices apply (`prices_of`).
    """

    @checked
    def to_dicts(self, prices: PriceList | None = None) -> list[dict[str, Any]]:
        """The calls as plain values: one row of a data frame each. Costs are in input tokens."""
        prices = prices or prices_of(self, UNKNOWN.prices)
        return [
            {
                "request": one.packed.request,
                "turn": one.turn,
                "seq": one.seq,
                "at": iso_utc(one.at_ms),
                "change": one.relayed.change if one.relayed is not None else None,
            }
            | ledger.to_dict(one.line(prices))
            for one in self
        ]

    def __repr__(self) -> str:
        sent, shared = sum(o.packed.tokens for o in self), sum(o.shared_tokens for o in self)
        told = f"Ledger · {counted(len(self), 'request')} · {sent:,} tokens sent"
        if sent:
            told += f", {shared / sent:.0%} of them as in the request before"
        reports = sum(one.reported is not None for one in self)
        return f"{told} · {counted(reports, 'report')} of the provider"

    def _repr_html_(self) -> str:
        last = self[-_ROWS_SHOWN:]
        rows = (
            (
                str(one.packed.request),
                str(one.turn),
                minute(one.at_ms),
                f"{one.packed.tokens:,}",
                f"{one.shared_tokens:,}",
                "" if one.reported is None else f"{one.reported.input_tokens:,}",
                escape(one.epoch.replace("_", " ")),
            )
            for one in last
        )
        head = ("request", "turn", "when", "tokens", "as before", "reported", "rewritten for")
        note = repr(self) + (f" · the last {len(last)} of them" if len(last) < len(self) else "")
        return html_table(head, rows, note)


def prices_of(entries: Sequence[Entry], default: PriceList) -> PriceList:
    """The prices for calls: `default`; or if that is a generic list, the one recorded with the last
    call; for a proxied call, the list of the client's model.
    """
    if not entries or default != UNKNOWN.prices:
        return default
    last = entries[-1]
    if last.relayed is not None:
        return find_model(last.relayed.model).prices
    return last.priced or default


class Ledger:
    """A fold over the records of a session and, for a fork, of its ancestors before them. It keeps
    the session's own calls only.
    """

    def __init__(self, session: SessionNo) -> None:
        self._session = session
        self._before: Packed | None = None
        self._epoch = ""
        self._tools_changed = False
        self._priced: PriceList | None = None
        self._is_unmarked = True  # each proxied request so far
        self.entries = Entries()

    def fold(self, event: Event) -> None:
        match event.body:
            case EpochBegun(reason=reason):
                self._epoch = reason
            case SessionConfigured():
                self._tools_changed = True
            case Priced() as priced:
                self._priced = priced.prices
            case Packed() as packed:
                self._fold_packed(event, packed)
            case Relayed() as relayed:
                if event.session == self._session:
                    self._fold_relayed(event, relayed)
            case Reported() as reported:
                if event.session == self._session:
                    self._fold_reported(reported)
            case PageBody() | SessionOpened():
                pass  # what a request held, not its cost: the request's own record has that
            case undecided:  # none of these is a request that a later one continues
                if not isinstance(undecided, MemoryAction | Aside):
                    assert_never(undecided)

    def _fold_packed(self, event: Event, packed: Packed) -> None:
        before = self._before
        if event.session == self._session:
            changed = self._epoch in _HEAD_CHANGED
            self.entries.append(
                Entry(
                    seq=event.seq,
                    turn=event.turn,
                    at_ms=event.at_ms,
                    packed=packed,
                    before_tokens=None if before is None else before.tokens - before.tail,
                    shared_tokens=0 if changed or before is None else packed.shared,
                    epoch=self._epoch,
                    tools_changed=self._tools_changed,
                    priced=self._priced,
                )
            )
        self._before, self._epoch, self._tools_changed = packed, "", False

    def _fold_relayed(self, event: Event, relayed: Relayed) -> None:
        packed = Packed(
            request=relayed.request,
            renderer=0,
            tokens=relayed.tokens,
            factor=relayed.factor,
            shared=relayed.shared,
            is_cold=relayed.is_cold,
        )
        self.entries.append(
            Entry(
                seq=event.seq,
                turn=event.turn,
                at_ms=event.at_ms,
                packed=packed,
                before_tokens=None if relayed.before < 0 else relayed.before,
                shared_tokens=relayed.shared,
                epoch=relayed.epoch,
                tools_changed=False,
                relayed=relayed,
                was_unmarked=self._is_unmarked and bool(self.entries),
            )
        )
        self._is_unmarked = self._is_unmarked and self.entries[-1].is_unmarked

    def _fold_reported(self, body: Reported) -> None:
        for at in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[at]
            is_of_a_proxy = entry.relayed is not None
            if entry.packed.request == body.request and is_of_a_proxy == body.relayed:
                usage = Usage(
                    input_tokens=body.input_tokens,
                    output_tokens=body.output_tokens,
                    cached_tokens=body.cached_tokens,
                    cache_write_tokens=body.cache_write_tokens,
                )
                self.entries[at] = replace(self.entries[at], reported=usage)
                return

    def lines(self, prices: PriceList) -> list[ledger.Line]:
        return [entry.line(prices) for entry in self.entries]

    def summary(self, prices: PriceList, *, window: int) -> dict[str, Any]:
        """The sums over all calls (`pack/ledger.py`), and the regret of the epochs among them."""
        return (
            ledger.summary(prices, self.lines(prices))
            | timing_of(prices, self.entries, window).to_dict()
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The cost of the chosen epochs, and that of the best choice in hindsight.

    It assumes that an epoch leaves what the session's epochs left on average; `predicted` is the
    cost without that simplification: far from `cost`, the regret means little.
    """

    cost: float
    best: float
    predicted: float

    def to_dict(self) -> dict[str, float | None]:
        if not self.best:
            return {"regret": None, "regret_modelled_share": None}
        return {
            "regret": round(self.cost / self.best, 4),
            "regret_modelled_share": round(self.cost / self.predicted, 4),
        }


def timing_of(prices: PriceList, entries: Sequence[Entry], window: int) -> Timing:
    """The epochs of a session, compared with the best ones. Without calls, all is 0."""
    if not entries:
        return Timing(0.0, 0.0, 0.0)
    epochs = [at for at, entry in enumerate(entries) if at and entry.epoch]
    heads = [entries[at].shared_tokens for at in epochs if entries[at].shared_tokens]
    head = min(heads, default=0)
    sent = [
        hindsight.Sent(
            appended=entry.new_tokens if at else entry.stable_tokens - head,
            is_cold=entry.packed.is_cold,
            volatile=entry.packed.tail,
        )
        for at, entry in enumerate(entries)
    ]
    left = [entries[at].stable_tokens - entries[at].new_tokens for at in epochs]
    aim = round(mean(left)) if left else window
    room = hindsight.room_kept(sent, epochs, head=head, aim=aim, window=window)
    calls = hindsight.aimed(sent, head=head, aim=aim, room=room)
    forced = [at for at in epochs if entries[at].epoch in _FORCED]
    return Timing(
        cost=hindsight.cost_of(prices, calls, epochs),
        best=hindsight.optimum(prices, calls, forced=forced).cost,
        predicted=sum(_cost(prices, entry) for entry in entries),
    )


def _cost(prices: PriceList, entry: Entry) -> float:
    """The cost of a call by reading and writing alone, as `hindsight` counts it."""
    plain = replace(prices, min_tokens=0, quantum=1, cliff_tokens=None)
    cached = 0 if entry.packed.is_cold else entry.shared_tokens
    return effective_input_cost(
        plain, entry.packed.tokens, cached, volatile_tokens=entry.packed.tail
    )
