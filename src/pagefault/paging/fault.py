"""Fault limits, enforced exactly as advertised, before anything is loaded.

Invariants:
 (1) A refusal changes nothing and spends nothing.
 (2) `faults_left` and `tokens_left` are what the model may still spend in this turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import FaultRefused
from pagefault.model.ids import PageId
from pagefault.model.kinds import FaultReason, Level

THRESHOLDS: Final[dict[str, tuple[FaultReason, ...]]] = {
    "explicit": (FaultReason.USER_REQUESTED_RECALL,),
    "referenced": (
        FaultReason.USER_REQUESTED_RECALL,
        FaultReason.RESOLVE_REFERENCE,
        FaultReason.TOOL_PREREQ,
    ),
    "speculative": tuple(FaultReason),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLimits:
    """What a model may fault in one turn. `threshold` names the loosest reason that is granted.

    `paged_in_max`, if not 0, bounds the tokens of recall and faults together, calls included. With
    long calls it is the first limit reached.
    """

    faults_max: int
    tokens_max: int
    threshold: str
    paged_in_max: int = 0

    def __post_init__(self) -> None:
        if self.threshold not in THRESHOLDS:
            raise ValueError(f"threshold is one of {', '.join(THRESHOLDS)}, not {self.threshold!r}")
        if self.faults_max < 0 or self.tokens_max < 0:
            raise ValueError("fault limits are not negative")

    @property
    def reasons(self) -> tuple[FaultReason, ...]:
        """The granted reasons, for the tool's description."""
        return THRESHOLDS[self.threshold]


class FaultBudget:
    """The faults and tokens left in the current turn."""

    def __init__(self, limits: FaultLimits, *, spent: Sequence[int] = ()) -> None:
        """`spent` has the tokens of each fault served earlier in this turn, under other limits."""
        self.limits = limits
        self.faults_left = limits.faults_max - len(spent)
        self.tokens_left = limits.tokens_max - sum(spent)

    def renew(self) -> None:
        """A new turn began."""
        self.faults_left = self.limits.faults_max
        self.tokens_left = self.limits.tokens_max

    def grant(
        self,
        page_id: PageId,
        level: Level,
        reason: FaultReason,
        offers: Mapping[Level, int],
        room_tokens: int,
    ) -> Level:
        """The level to serve: the one asked for, or the one that `serve_level` chooses instead.

        `offers` has the existing levels and their tokens; `room_tokens` is what the window could
        free. Spends nothing: `spend` does, once the page is in. Raises `FaultRefused`, which names
        the levels that would be granted.
        """
        if self.faults_left < 1:
            raise self._refusal("fault_limit", "no faults are left in this turn", page_id)
        if reason not in self.limits.reasons:
            names = ", ".join(self.limits.reasons)
            raise self._refusal(
                "reason_not_allowed", f"faults are granted for these reasons: {names}", page_id
            )
        served = serve_level(level, offers)
        cost, most = offers[served], max(0, min(self.tokens_left, room_tokens))
        if cost > most:
            cheaper = {other: tokens for other, tokens in offers.items() if tokens <= most}
            code = "token_limit" if cost > self.tokens_left else "no_room"
            raise self._refusal(
                code,
                f"the page takes {cost:,} tokens at level {int(served)}; {most:,} are left",
                page_id,
                cheaper,
            )
        return served

    def spend(self, tokens: int) -> None:
        self.faults_left -= 1
        self.tokens_left -= tokens

    def _refusal(
        self, code: str, why: str, page_id: PageId, offers: Mapping[Level, int] | None = None
    ) -> FaultRefused:
        return FaultRefused(
            code,
            why,
            page_id=page_id,
            faults_left=max(0, self.faults_left),
            levels=tuple(map(int, offers or ())),
            tokens=tuple((offers or {}).values()),
        )


def serve_level(asked: Level, offers: Mapping[Level, int]) -> Level:
    """The level on offer that answers a request for `asked`.

    The same level if it exists; else the nearest fuller one, so that nothing asked for is missing;
    else the fullest. A larger `asked` never gets a longer answer.
    """
    fuller = [level for level in offers if level <= asked]
    return max(fuller) if fuller else min(offers)
