"""Targets for a session's figures, and red flags.

A missed target is reported; a red flag needs a person's attention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Final

from pagefault.model.kinds import FaultReason, LayoutName

_HOLDS: Final[dict[str, Callable[[float, float], bool]]] = {"<": lt, ">": gt, "≤": le, "≥": ge}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a figure: <, >, ≤ or ≥ `bound`. If it names a layout, it does not apply to the
    other: there the figure is reported, and never a red flag. The same is true of figures without
    an aim.
    """

    name: str
    relation: str
    bound: float
    source: str
    layout: LayoutName | None = None
    is_aim: bool = True
    rests_on: str = ""  # the figure that counts the denominator
    least: int = 0  # of the denominator, before it can be judged

    def waits_for(self, figures: Mapping[str, Any]) -> str:
        """The minimum count for judging it; empty if it is reached."""
        if not self.rests_on or (figures.get(self.rests_on) or 0) >= self.least:
            return ""
        return f"{self.least:,} {self.rests_on.replace('_', ' ')}"

    def is_met(self, value: float) -> bool:
        return _HOLDS[self.relation](value, self.bound)

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure beside its target. `is_met` is None if there is no figure, or if it is too early to
    judge: then `waits_for` is the minimum count.
    """

    target: Target
    value: float | None
    is_met: bool | None
    is_red_flag: bool
    waits_for: str = ""
    is_aim: bool = True  # for this session's layout

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.target.name,
            "value": self.value,
            "target": str(self.target),
            "source": self.target.source,
            "met": self.is_met,
            "aim": self.is_aim,
            "red_flag": self.is_red_flag,
            "waits_for": self.waits_for or None,
        }


LOOKUPS_MIN: Final = 100
"""Minimum look-ups for a hit rate: the first of an opening are all misses."""

_FULL: Final = LayoutName.DEVELOPER  # the stable one keeps a lean window

TARGETS: Final = (
    # No aim: its denominator grows with the window, whatever is needed, and hardly any conversation
    # misses it. The same bound is applied to the pages needed.
    Target("fault_rate", "<", 0.05, "000", is_aim=False, rests_on="page_references", least=100),
    Target("fault_rate_needed", "<", 0.05, "000", rests_on="pages_needed", least=50),
    Target("thrash_index", "<", 0.5, "000", rests_on="turns", least=10),
    Target("recall_success", ">", 0.95, "000", rests_on="recalls", least=5),
    Target("compression_ratio", ">", 10.0, "000", rests_on="summarised_tokens", least=1_000),
    Target("context_utilisation", ">", 0.9, "000", _FULL, rests_on="requests", least=10),
    Target("effective_tokens", ">", 0.6, "000", _FULL, rests_on="requests", least=10),
    Target("prefetch_hit_rate", ">", 0.6, "000", rests_on="prefetched", least=20),
    Target(  # no aim: a record's own bytes outweigh a short text
        "metadata_overhead", "<", 0.1, "000", is_aim=False, rests_on="pages", least=20
    ),
    Target("fault_p95_ms", "<", 500.0, "000"),
    Target("tlb_hit_rate", ">", 0.8, "000", rests_on="lookups", least=LOOKUPS_MIN),
    Target("prefix_breaks_outside_epochs", "≤", 0.0, "ours", LayoutName.STABLE),
    Target("epochs_share", "≤", 0.15, "ours", LayoutName.STABLE, rests_on="requests", least=20),
    Target("regret", "≤", 1.10, "ours", LayoutName.STABLE, rests_on="requests", least=20),
)
"""The minimum counts are ours: a share of fewer says little about the future."""

REASONS: Final = {
    FaultReason.USER_REQUESTED_RECALL: Target("user_requested_recall", "≥", 0.20, "000"),
    FaultReason.RESOLVE_REFERENCE: Target("resolve_reference", "≤", 0.60, "000"),
    FaultReason.TOOL_PREREQ: Target("tool_prereq", "≤", 0.40, "000"),
    FaultReason.SPECULATIVE: Target("speculative", "≤", 0.20, "000"),
}
"""The red flags among the reasons of faults, as shares of all reasons given."""

REASONS_MIN: Final = 10
"""Minimum faults for a share of reasons to be a red flag."""


def judge(figures: Mapping[str, Any]) -> list[Judged]:
    """A session's figures beside their targets, then its reasons for faults."""
    layout = figures["layout"]
    judged = [
        _judged(target, figures.get(target.name), layout, target.waits_for(figures))
        for target in TARGETS
    ]
    reasons: Mapping[str, int] = figures["faults_by_reason"]
    asked = sum(reasons.values())
    for reason, target in REASONS.items():
        share = reasons.get(reason, 0) / asked if asked >= REASONS_MIN else None
        early = f"{REASONS_MIN} faults" if asked < REASONS_MIN else ""
        judged.append(_judged(target, share, layout, early))
    return judged


def _judged(target: Target, value: float | None, layout: str, early: str) -> Judged:
    is_aim = target.is_aim and target.layout in (None, layout)
    if value is None or early:
        told = None if value is None else round(value, 4)
        return Judged(target, told, None, is_red_flag=False, waits_for=early, is_aim=is_aim)
    is_met = target.is_met(value)
    flag = not is_met and is_aim
    return Judged(target, round(value, 4), is_met, is_red_flag=flag, is_aim=is_aim)
