"""When to rewrite the prefix: rules that take the facts of a call and answer yes or no.

Between epochs, *dead* tokens (those that the next epoch would remove) stay in the prompt, and every
call pays to read them: the rent, `read * dead`. An epoch removes all of them at once and makes the
provider rewrite the tokens that survive behind the first removal. The premium is what this call
costs more with the epoch than without:

    warm    B = (write - read) * surviving - read * dead
    cold    B = -write * dead              everything is written anew anyway: less of it is cheaper

`BreakEven` fires when the rent paid since the last epoch reaches the premium, the classic answer to
"how long to rent before buying". If edits become dead oldest first and stay dead, it pays at most
three times the cost of the best epochs in hindsight (twice, if the premium does not grow). In
steady growth it fires at the optimum, n = sqrt(2 B / (read * d)) calls apart if each call adds d
dead tokens; `docs/policies.md` has the argument. It estimates neither growth nor deaths.

Rules are stateless values. The only state between two calls is one number, the accrued rent. The
facts carry it in and the decision carries it out, so that the record of the call can store it: a
restart restores it from there, and a plan made twice pays once.
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
LEEWAY: Final = 1.05
"""By how much an epoch aims above the least length that is cached. It misses its target by a page
or so, and a request just too short to be cached costs as much as ten that are cached.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """The next call, as it would be without an epoch. Tokens are counted by the model or by us, as
    long as all are counted alike: rules only compare them.

    `surviving_tokens` is what an epoch now would rewrite: the tokens that stay behind the first
    removal, and those that the epoch itself adds (summaries, kept lines), less the message that is
    new in this call either way. If a provider finds a prefix only at marks, it counts from the last
    mark before the first removal.
    """

    prompt_tokens: int  # of the whole request
    room_tokens: int  # the limit of a request: window, price cliff, quality budget
    dead_tokens: int  # by how much an epoch now would shorten it, all pending edits together
    surviving_tokens: int
    is_cold: bool = False  # the provider's cache has lapsed, or the model changed
    calls_since: int = 0  # requests sent since the last epoch
    accrued: float = 0.0  # rent since the last epoch, from the last decision; 0 after an epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether an epoch comes before the call, why, and the state to record with the call.

    `reason` is "" unless it fires. `premium` is the B of the decision: negative if the epoch pays
    for itself with this call.
    """

    fire: bool
    reason: str
    accrued: float  # rent paid since the last epoch, this call included; 0 if it fires
    premium: float


class EpochRule(Protocol):
    """A pure function of the facts. An implementation is a frozen value: only its options differ.

    ENSURES: fires if the request exceeds its room; otherwise never fires without dead tokens.
    Whether an epoch can make the request fit is up to the caller.
    """

    @property
    def prices(self) -> PriceList: ...

    def decide(self, call: CallFacts) -> Decision: ...


def tokens_to_leave(prices: PriceList, tokens: float, *, miss_share: float) -> float:
    """How many tokens an epoch should leave: `tokens`, or the least length that the provider
    caches, M, if that costs less.

    A shorter prompt is never cached, so every call pays all of it as plain input. One of M tokens
    pays `write * M` in the `miss_share` of calls that find no cache, and `read * M` in the others.
    The longer prompt is the cheaper one if

        (read + miss_share * (write - read)) * M  <  tokens
    """
    least = LEEWAY * prices.min_tokens
    per_token = prices.read + miss_share * (prices.write - prices.read)
    return max(tokens, least) if per_token * least < tokens else tokens


def rent(prices: PriceList, call: CallFacts) -> float:
    """The cost of reading the dead tokens in this call, without an epoch."""
    return (prices.write if call.is_cold else prices.read) * call.dead_tokens


def premium(prices: PriceList, call: CallFacts) -> float:
    """The extra cost of this call with an epoch: B above."""
    if call.is_cold:
        return -prices.write * call.dead_tokens
    rewritten = (prices.write - prices.read) * call.surviving_tokens
    return rewritten - prices.read * call.dead_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Fires when the rent paid on dead tokens reaches `beta` times the premium, when the cache is
    cold, or when they take more than `dead_share_max` of the prompt.

    `beta` trades cost for residency: 1 is the optimum of the model above; a larger value means
    fewer epochs and pages that stay longer. `dead_share_max` of 1 disables the cap.
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
    """Flush when full: the baseline that ignores prices."""

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
    """An epoch every `calls` calls, like a timer."""

    prices: PriceList
    calls: int = 4

    def decide(self, call: CallFacts) -> Decision:
        return _decided(self.prices, call, EVERY_N if call.calls_since >= self.calls else "")


def _decided(prices: PriceList, call: CallFacts, reason: str) -> Decision:
    """The decision for `reason`, if there are dead tokens. A full window takes precedence."""
    if call.prompt_tokens > call.room_tokens:
        reason = WINDOW_FULL
    elif call.dead_tokens <= 0:
        reason = ""
    accrued = 0.0 if reason else call.accrued + rent(prices, call)
    return Decision(
        fire=bool(reason), reason=reason, accrued=accrued, premium=premium(prices, call)
    )
