"""When to rewrite the prefix: rules that are told the facts of a call and answer yes or no.

Between epochs, what no longer earns its place (*dead* tokens: what the next epoch would remove)
stays in the prompt, and every call pays for reading it. That is the rent, `read * dead`. An epoch
removes all of it at once and makes the provider write anew what survives behind the first removal.
That is the premium, what this call costs with the epoch more than without:

    warm    B = (write - read) * surviving - read * dead
    cold    B = -write * dead              everything is written anew anyway: less of it is cheaper

`BreakEven` fires when the rent paid since the last epoch reaches the premium: the answer to "how
long to rent before buying". If edits become dead oldest first and stay dead, it never pays more
than three times what the best choice of epochs in hindsight pays (twice, if the premium does not
grow), and in steady growth it fires at the very optimum, calls apart n = sqrt(2 B / (read * d)) if
each call adds d dead tokens; `docs/policies.md` has the argument. It needs no estimate of growth,
nor of how much dies.

Rules are values without state. What has to be remembered between two calls is one number, the rent
accrued; it is handed in with the facts, and handed back by the decision, so that it can stand in
the record of the call: a restart restores it by reading that, and a plan made twice pays once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from pagefault.model.defaults import DEAD_SHARE_MAX
from pagefault.model.prices import PriceList

WINDOW_FULL: Final = "window_full"
BREAK_EVEN: Final = "break_even"
CACHE_COLD: Final = "cache_cold"
DEAD_SHARE: Final = "dead_share"
EVERY_N: Final = "every_n"

BETA: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """The next call, as it would be if no epoch came first. Tokens as the model counts them, or
    all as we do: rules only compare them.

    `surviving_tokens` is what an epoch now would have to write although it was sent before: what
    stands behind the first removal and stays, and what the epoch itself puts there (summaries,
    lines that are kept), less the message that is new in this call either way. Where a provider
    finds a prefix only at marks, it counts from the last mark before the first removal.
    """

    prompt_tokens: int  # of the whole request
    room_tokens: int  # the most a request may have: window, price cliff, quality budget
    dead_tokens: int  # by how much an epoch now would make it shorter, all pending edits together
    surviving_tokens: int
    is_cold: bool = False  # the provider's cache has lapsed, or another model is asked
    calls_since: int = 0  # requests sent since the last epoch
    accrued: float = 0.0  # rent paid since the last epoch: of the decision before, 0 after an epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether an epoch comes before the call, why, and what to remember with the call.

    `reason` is "" unless it fires. `premium` is the B it was weighed by: negative if the epoch
    pays for itself with this very call.
    """

    fire: bool
    reason: str
    accrued: float  # rent paid since the last epoch, this call included; 0 if it fires
    premium: float


class EpochRule(Protocol):
    """A pure function of the facts. An implementation is a frozen value: only its options differ.

    ENSURES: fires if the request exceeds its room; never fires for nothing otherwise, that is
    without dead tokens. Whether an epoch can make it fit is the caller's business.
    """

    @property
    def prices(self) -> PriceList: ...

    def decide(self, call: CallFacts) -> Decision: ...


def rent(prices: PriceList, call: CallFacts) -> float:
    """What the dead tokens cost with this call if no epoch comes first."""
    return (prices.write if call.is_cold else prices.read) * call.dead_tokens


def premium(prices: PriceList, call: CallFacts) -> float:
    """What this call costs more with an epoch than without: B above."""
    if call.is_cold:
        return -prices.write * call.dead_tokens
    rewritten = (prices.write - prices.read) * call.surviving_tokens
    return rewritten - prices.read * call.dead_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Fires when the rent paid on dead tokens reaches `beta` times the premium, or the cache is
    cold, or they take more than `dead_share_max` of the prompt.

    `beta` trades cost for residency: 1 is the optimum of the model above, more is patience, with
    fewer epochs and pages that stay longer. `dead_share_max` of 1 switches the cap off.
    """

    prices: PriceList
    beta: float = BETA
    dead_share_max: float = DEAD_SHARE_MAX

    def decide(self, call: CallFacts) -> Decision:
        over = premium(self.prices, call)
        reason = ""
        if call.dead_tokens > 0:
            if over <= 0:
                reason = CACHE_COLD if call.is_cold else BREAK_EVEN
            elif call.accrued >= self.beta * over:
                reason = BREAK_EVEN
            elif call.dead_tokens > self.dead_share_max * call.prompt_tokens:
                reason = DEAD_SHARE
        return _decided(self.prices, call, reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyWhenFull:
    """Flush when full: the baseline that knows no prices."""

    prices: PriceList

    def decide(self, call: CallFacts) -> Decision:
        return _decided(self.prices, call, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdOrFull:
    """Wait until the cache has lapsed anyway, or the window is full: the best rule in wide use."""

    prices: PriceList

    def decide(self, call: CallFacts) -> Decision:
        return _decided(self.prices, call, CACHE_COLD if call.is_cold else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryCalls:
    """Every `calls` calls: what a timer would do."""

    prices: PriceList
    calls: int = 4

    def decide(self, call: CallFacts) -> Decision:
        return _decided(self.prices, call, EVERY_N if call.calls_since >= self.calls else "")


def _decided(prices: PriceList, call: CallFacts, reason: str) -> Decision:
    """`reason`, if there is anything to remove; a full window before all."""
    if call.prompt_tokens > call.room_tokens:
        reason = WINDOW_FULL
    elif call.dead_tokens <= 0:
        reason = ""
    accrued = 0.0 if reason else call.accrued + rent(prices, call)
    return Decision(
        fire=bool(reason), reason=reason, accrued=accrued, premium=premium(prices, call)
    )
