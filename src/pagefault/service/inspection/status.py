"""A session's status: counts, budgets, pressure, and what is kept automatically."""

from __future__ import annotations

from dataclasses import dataclass

from pagefault.model.kinds import ClaimType
from pagefault.model.page import is_derived
from pagefault.model.reprs import bar, counted, inert
from pagefault.pack.count import tools_tokens
from pagefault.paging.budget import TokenBudget, token_budget
from pagefault.paging.pressure import Gauge
from pagefault.service.window.state import SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoPins:
    """What is kept without a user's pin.

    The head (system prompt and rules) and the tools are frozen at the start; the active goal is
    pinned; rules and preferences are in the core; every plan spares the last turns if it can.
    """

    head_tokens: int
    tools_tokens: int
    goal: str  # the page of the active goal, or ""
    claims: tuple[str, ...]
    last_turns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureStatus:
    level: str  # low, medium, high, critical
    used: float  # share of the window that the last request took
    thresholds: tuple[float, ...]  # of medium, high, critical
    fault_rate: float  # recent faults per request


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchStatus:
    """Since this session was opened here. `pagefault` folds the same from the log."""

    loaded: int
    used: int
    waiting: int
    cancelled: int
    failure: str = ""  # the latest, of a caller's strategy

    @property
    def hit_rate(self) -> float | None:
        return self.used / self.loaded if self.loaded else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The contents of a session, counted."""

    session_id: str
    name: str
    turns: int
    pages: int  # said and handed in; derived pages are not counted
    window_tokens: int
    request_tokens: int
    mode: str
    control: str  # the mode: off, capture_only, assist, paused, incognito
    epoch: int
    requests: int
    resident_pages: int
    pinned: tuple[str, ...]
    faults_left: int
    tlb_hits: int
    tlb_misses: int
    dirty_pages: tuple[str, ...]  # derived, and not written yet
    compressed: tuple[str, ...]  # whose shorter form the next epoch keeps
    budget: TokenBudget
    auto_pins: AutoPins
    pressure: PressureStatus
    prefetch: PrefetchStatus
    resident_derived: int = 0  # of `resident_pages`: summaries and claims
    layout: str = "stable"
    pack_hits: int = 0  # repeated requests of the developer layout
    pack_misses: int = 0

    @property
    def tlb_hit_rate(self) -> float | None:
        """Of page look-ups, since this session was opened here."""
        asked = self.tlb_hits + self.tlb_misses
        return self.tlb_hits / asked if asked else None

    def __repr__(self) -> str:
        """The essentials; the fields have the rest."""
        used, all_ = self.request_tokens, self.window_tokens
        derived = self.resident_derived
        lines = (
            ("Session", f"{inert(self.name or self.session_id)!r} · {counted(self.turns, 'turn')}"),
            (
                "Window",
                f"{bar(used / all_ if all_ else 0)} {used:,} of {all_:,} tokens · "
                f"pressure {self.pressure.level}",
            ),
            (
                "Shown",
                f"{counted(self.resident_pages - derived, 'page')} of {self.pages:,} · "
                f"{derived:,} made of others · {len(self.pinned):,} pinned",
            ),
            (
                "Requests",
                f"{self.requests:,} · {counted(self.epoch, 'rewrite')}",
            ),
            ("Calls", f"{counted(self.faults_left, 'page')} may still be loaded in this turn"),
            ("Memory", f"{self.control.replace('_', ' ')} · {self.mode} · {self.layout} layout"),
        )
        return "\n".join(f"{name:<9}{told}" for name, told in lines)


def status_of(
    state: SessionState, gauge: Gauge, prefetch: PrefetchStatus, *, session_id: str, name: str
) -> Status:
    request_tokens = state.layout.tokens()
    tools = tools_tokens(state.counter, state.layout.tools)
    tail = state.tail_tokens()
    used = request_tokens / state.window_room
    return Status(
        session_id=session_id,
        name=name,
        turns=state.turn + 1,
        pages=state.order_next,
        window_tokens=state.window_tokens,
        request_tokens=request_tokens,
        mode=str(state.asked_mode),
        control=str(state.control),
        epoch=state.epoch,
        requests=state.request_next,
        resident_pages=len(state.working_set),
        pinned=tuple(state.pins_there()),
        faults_left=state.calls.budget.faults_left,
        tlb_hits=state.table.tlb.hits,
        tlb_misses=state.table.tlb.misses,
        dirty_pages=tuple(state.l1.dirty()),
        compressed=tuple(page for page, made in state.compressed.items() if made != page),
        budget=token_budget(
            state.working_set.residents(),
            total=state.window_room,
            request=request_tokens + tail,
            head=state.layout.head_tokens - tools,
            tools=tools,
            tail=tail,
        ),
        auto_pins=_auto_pins(state, tools),
        pressure=PressureStatus(
            level=(gauge.level_at(used) if gauge.is_idle else gauge.level).name.lower(),
            used=round(used if gauge.is_idle else gauge.used, 4),
            thresholds=gauge.thresholds,
            fault_rate=round(gauge.fault_rate, 3),
        ),
        prefetch=prefetch,
        resident_derived=sum(is_derived(page_id) for page_id in state.working_set),
        layout=str(state.layout_name),
        pack_hits=state.pack_hits,
        pack_misses=state.pack_misses,
    )


def _auto_pins(state: SessionState, tools: int) -> AutoPins:
    claims = {
        page.page_id: page.derived.claim_type
        for page in state.core.values()
        if page.derived is not None
    }
    goal = [page_id for page_id, claim_type in claims.items() if claim_type == ClaimType.GOAL]
    first = state.turn - state.limits.last_turns_kept
    last = [
        page_id
        for page_id in state.working_set
        if state.turn_of(page_id) > first and not is_derived(page_id)
    ]
    return AutoPins(
        head_tokens=state.layout.head_tokens - tools,
        tools_tokens=tools,
        goal=goal[-1] if goal else "",
        claims=tuple(
            p for p, kind in claims.items() if kind in (ClaimType.RULE, ClaimType.PREFERENCE)
        ),
        last_turns=tuple(last),
    )
