"""The report of a session's figures: folds of its log, and what only a running process knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pagefault.model.errors import PagefaultError
from pagefault.model.events import Body, Event, Relayed, Reported
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import LayoutName, Tier
from pagefault.model.reprs import counted
from pagefault.service.inspection.ledger import Ledger, prices_of
from pagefault.service.inspection.metrics import Meter, Tally
from pagefault.service.inspection.relayed import Proxied, proxied_of
from pagefault.service.inspection.targets import LOOKUPS_MIN, Judged, judge
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.room import hot_utilisation
from pagefault.service.window.state import SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """A session's figures by name, those of its turns if requested, and the targets."""

    figures: dict[str, Any]
    turns: list[dict[str, Any]]
    tally: Tally  # the raw counts, to be added to other sessions'
    judged: list[Judged]

    @property
    def red_flags(self) -> list[Judged]:
        return [one for one in self.judged if one.is_red_flag]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One row for each turn, with `per_turn`; else one row, for all of them."""
        return self.turns or [self.figures]

    def __repr__(self) -> str:
        flags = [one.target.name for one in self.red_flags]
        told = f"Metrics · {len(self.figures)} figures · {counted(len(self.turns), 'turn')} apart"
        return f"{told} · {'missed: ' + ', '.join(flags) if flags else 'no target missed'}"

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = dict(self.figures)
        told["targets"] = [one.to_dict() for one in self.judged]
        told["red_flags"] = [one.target.name for one in self.red_flags]
        if self.turns:
            told["per_turn"] = self.turns
        return told


@dataclass(frozen=True, slots=True)
class Folded:
    """The folds of a session's records."""

    meter: Meter
    ledger: Ledger
    archived: frozenset[Seq] = frozenset()  # of the pages' records
    proxied: Proxied | None = None  # what a proxy passed on, if it did


def fold_session(runtime: Runtime, session: SessionNo) -> Folded:
    """Fold every record that the session sees. Blocks on the store."""
    folding = Folding(runtime, session)
    for event in records(runtime, runtime.scope(session)):
        folding.fold(event)
    return folding.folded()


class Folding:
    """A fold of the records that a session sees, for `report`."""

    def __init__(self, runtime: Runtime, session: SessionNo, ledger: Ledger | None = None) -> None:
        """A given `ledger` is fed with records by its owner."""
        scope = runtime.scope(session)

        def text_of(page_id: PageId) -> str:
            row = runtime.index.find_page(scope, page_id)
            try:
                return runtime.pages.read(row).text if row is not None else ""
            except PagefaultError:  # forgotten, damaged, or in an archive that is away
                return ""

        self._runtime, self._session = runtime, session
        self._own_ledger = ledger is None
        self._ledger = Ledger(session) if ledger is None else ledger
        self._meter = Meter(session, limits=runtime.limits, text_of=text_of)
        self._passed_on: list[Body] = []

    def fold(self, event: Event) -> None:
        self._meter.fold(event)
        if self._own_ledger:
            self._ledger.fold(event)
        if event.session == self._session and isinstance(event.body, Relayed | Reported):
            self._passed_on.append(event.body)

    def folded(self) -> Folded:
        """The folds so far."""
        archived = self._runtime.log.archived([row.seq for row in self._meter.rows.values()])
        return Folded(self._meter, self._ledger, archived, proxied_of(self._passed_on))


def report(folded: Folded, runtime: Runtime, state: SessionState, *, per_turn: bool) -> Metrics:
    """The figures, beside their targets. Counts of look-ups are since the session was opened here,
    latencies those of all sessions of this opening.
    """
    prices = prices_of(folded.ledger.entries, runtime.epochs.prices)
    tally = folded.meter.session_total
    figures = folded.ledger.summary(prices, window=state.window_tokens) | tally.figures()
    hits, lookups = state.table.tlb.hits, state.table.tlb.hits + state.table.tlb.misses
    latency = runtime.watch.to_dict()
    figures |= {
        "layout": str(state.layout_name),
        "prices": prices.name,
        "lookups": lookups,
        "tlb_hit_rate": round(hits / lookups, 4) if lookups >= LOOKUPS_MIN else None,
        "latency": latency,
        "fault_p95_ms": latency["fault"]["p95_ms"] if "fault" in latency else None,
        "memory_hot_utilization": hot_utilisation(state),
        "memory_recall_latency_ms": latency["heat_recall"]["p50_ms"]
        if "heat_recall" in latency
        else None,
        "tiers": _tiers(folded, state),
    }
    is_proxied = folded.proxied is not None
    figures["proxied"] = folded.proxied.to_dict() if folded.proxied is not None else None
    if is_proxied or state.layout_name is not LayoutName.STABLE:  # there a full window is a choice
        figures |= {"regret": None, "regret_modelled_share": None}
    turns = []
    if per_turn:
        costs: dict[int, float] = {}
        for entry in folded.ledger.entries:
            cost = entry.line(prices).predicted_cost
            costs[entry.turn] = costs.get(entry.turn, 0.0) + cost
        turns = [
            {"turn": turn}
            | folded.meter.turns[turn].figures()
            | {"effective_input_cost": round(costs.get(turn, 0.0), 1)}
            for turn in sorted(folded.meter.turns)
        ]
    return Metrics(figures=figures, turns=turns, tally=tally, judged=judge(figures))


def _tiers(folded: Folded, state: SessionState) -> dict[str, Any]:
    """The tier of each page that the session sees."""
    tiers = {tier: {"pages": 0, "tokens": 0, "bytes": 0} for tier in Tier}
    rows, sizes = dict(folded.meter.rows), dict(folded.meter.sizes)
    for page_id in state.l1.dirty():  # they have no record yet
        made = state.l1.page(page_id)
        if made is not None:
            rows[page_id], sizes[page_id] = made.row, len(made.text.encode())
    for page_id, row in rows.items():
        found = tiers[state.tier_of(row, is_archived=row.seq in folded.archived)]
        found["pages"] += 1
        found["tokens"] += row.tokens
        found["bytes"] += sizes[page_id]
    return {str(tier): found for tier, found in tiers.items()}
