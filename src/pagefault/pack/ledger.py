"""The ledger: the predicted cost of every call, the provider's report, and why they differ.

A line is a pure function of the facts of one call, so a ledger is a fold of the log. Our counts and
the provider's are of different tokens, so the prediction is scaled to the provider's prompt before
the two are compared. A report that says nothing of the cache is not compared with the prediction,
and has no cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from pagefault.model.prices import PriceList
from pagefault.model.request import Usage
from pagefault.pack.cost import Account, effective_input_cost

_TOLERANCE: Final = 0.02  # of the prompt: framing is counted in other places than a provider does
_COUNTS_FACTOR: Final = 2.0  # no two tokenizers in use are so far apart on a whole prompt
_COUNTS_SLACK: Final = 200  # tokens that a provider may add to any prompt: templates, tools


class Broke(StrEnum):
    """Why a call could not read all of the previous request from the cache."""

    NOTHING = ""
    FIRST = "first"  # there is none before it
    COLD = "cold"  # the cache had lapsed
    TOOLS_CHANGED = "tools_changed"
    EPOCH = "epoch"
    CLIENT_CHANGED = "client_changed"  # a proxy's client: a branch, a compaction, another model
    PREFIX_CHANGED = "prefix_changed"  # outside an epoch: a mistake
    UNMARKED = "unmarked"  # the client marks nothing, and the provider caches at marks alone
    BELOW_MINIMUM = "below_minimum"  # the prefix is too short to be cached
    QUANTUM = "quantum"  # the last part of it is no full step, or stands behind the last mark


class Disagreement(StrEnum):
    """How a provider's report differs from the prediction."""

    NOTHING = ""
    UNREPORTED = "unreported"
    COUNTED = "counted_otherwise"  # the prompt itself: what arrived is not what we think was sent
    CACHE_UNREPORTED = "cache_unreported"  # nothing is said of the cache: nothing can be judged
    LESS = "less_cached"  # lapsed early, evicted, or routed to another machine: unknown to us
    NONE_AT_ALL = "nothing_cached"  # caching is off, not supported, or gone: unknown to us
    MORE = "more_cached"  # it lives longer than listed, or another session shares the prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """The facts of a call when it is sent; tokens by our count.

    `before_tokens` is the length of the previous request, less its tail, None if there is none;
    `shared_tokens` is the common prefix with it; `matchable_tokens` is the part of that prefix that
    the provider's cache can match (all of it, unless the cache matches only at marks).
    `client_changed`: a proxy's client continued from something other than the previous request.
    `is_unmarked`: it set no marks, for a provider that caches at marks alone; `was_unmarked`: nor
    did any request before, so that nothing was written to the cache.
    """

    prompt_tokens: int
    before_tokens: int | None
    shared_tokens: int = 0
    matchable_tokens: int = 0
    volatile_tokens: int = 0
    is_cold: bool = False
    epoch: str = ""  # its reason, where the call began one
    tools_changed: bool = False
    client_changed: bool = False
    is_unmarked: bool = False
    was_unmarked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One call. Costs are in effective input tokens, by our count. `reported_cost` is computed from
    the provider's figures, in its own tokens, and is None if these say nothing of the cache.
    """

    prompt_tokens: int
    volatile_tokens: int
    survival: float | None  # of the previous request; None if this continues none
    predicted_cached: int
    predicted_cost: float
    broke: Broke
    epoch: str
    reported: Usage | None
    reported_cost: float | None
    disagreement: Disagreement


def line(prices: PriceList, call: Sending, usage: Usage | None = None) -> Line:
    """The ledger's line for a call and its report."""
    cached = 0
    is_empty = call.is_cold or call.is_unmarked or call.was_unmarked
    if call.before_tokens is not None and not is_empty:
        cached = prices.cacheable(call.matchable_tokens)
    volatile = call.prompt_tokens if call.is_unmarked else call.volatile_tokens
    cost = effective_input_cost(prices, call.prompt_tokens, cached, volatile_tokens=volatile)
    survival = None
    if call.before_tokens is not None and not call.client_changed:
        survival = call.shared_tokens / call.before_tokens if call.before_tokens else 1.0
    return Line(
        prompt_tokens=call.prompt_tokens,
        volatile_tokens=volatile,
        survival=survival,
        predicted_cached=cached,
        predicted_cost=cost,
        broke=_broke(call, cached),
        epoch=call.epoch,
        reported=usage,
        reported_cost=None
        if usage is None
        else reported_cost(prices, usage, is_unwritten=call.is_unmarked),
        disagreement=_disagreement(prices, call, cached, usage),
    )


def _broke(call: Sending, cached: int) -> Broke:
    if call.before_tokens is None:
        return Broke.FIRST
    if call.is_unmarked or call.was_unmarked:
        return Broke.UNMARKED
    if call.is_cold:
        return Broke.COLD
    if cached >= call.before_tokens:
        return Broke.NOTHING
    if call.tools_changed:
        return Broke.TOOLS_CHANGED
    if call.epoch:
        return Broke.EPOCH
    if call.client_changed:
        return Broke.CLIENT_CHANGED
    if call.shared_tokens < call.before_tokens:
        return Broke.PREFIX_CHANGED
    return Broke.QUANTUM if cached else Broke.BELOW_MINIMUM


def reported_cost(prices: PriceList, usage: Usage, *, is_unwritten: bool = False) -> float | None:
    """The cost by the report. Written tokens are those it reports. If it reports none at all, every
    token not read counts as written, unless it is known that none was (`is_unwritten`). None if the
    report says nothing of the cache.
    """
    if usage.cached_tokens is None:
        return None
    rest = max(usage.input_tokens - usage.cached_tokens, 0)
    if not usage.cache_write_tokens and not is_unwritten:
        return effective_input_cost(prices, rest + usage.cached_tokens, usage.cached_tokens)
    plain = max(rest - usage.cache_write_tokens, 0)
    return effective_input_cost(
        prices, rest + usage.cached_tokens, usage.cached_tokens, volatile_tokens=plain
    )


def _disagreement(
    prices: PriceList, call: Sending, cached: int, usage: Usage | None
) -> Disagreement:
    if usage is None or not usage.input_tokens:
        return Disagreement.UNREPORTED
    scale = usage.input_tokens / call.prompt_tokens if call.prompt_tokens else 1.0
    less, more = sorted((usage.input_tokens, call.prompt_tokens))
    if more > _COUNTS_FACTOR * less + _COUNTS_SLACK:
        return Disagreement.COUNTED
    if usage.cached_tokens is None:
        return Disagreement.CACHE_UNREPORTED
    off = usage.cached_tokens - cached * scale
    # One step for the provider's rounding in its tokens, one for ours in our tokens.
    if abs(off) <= 2 * prices.quantum * max(scale, 1.0) + _TOLERANCE * usage.input_tokens:
        return Disagreement.NOTHING
    if off > 0:
        return Disagreement.MORE
    return Disagreement.LESS if usage.cached_tokens else Disagreement.NONE_AT_ALL


def summary(prices: PriceList, lines: Iterable[Line]) -> dict[str, Any]:
    """The sums, as one object of plain values. Ratios over nothing are those of a perfect run.

    `prefix_breaks_outside_epochs` counts calls that could have shared the whole previous request
    and did not: zero, unless somebody changed what was sent.
    """
    account, reported, reports = Account(prices), 0.0, 0
    broke: Counter[str] = Counter()
    disagreements: Counter[str] = Counter()
    breaks = epochs = read = prompts = 0
    for one in lines:
        account.add(
            one.prompt_tokens,
            one.predicted_cached,
            volatile_tokens=one.volatile_tokens,
            survival=one.survival,
        )
        broke[one.broke] += 1
        disagreements[one.disagreement] += 1
        epochs += bool(one.epoch)
        breaks += one.survival is not None and one.survival < 1.0 and not one.epoch
        if one.reported is not None and one.reported_cost is not None:
            reports += 1
            reported += one.reported_cost
            read += one.reported.cached_tokens or 0
            prompts += one.reported.input_tokens
    return {
        "calls": account.calls,
        "effective_input_cost": account.cost,
        "effective_input_cost_reported": reported if reports else None,
        "calls_reported": reports,
        "prefix_reuse": account.prefix_reuse,
        "prefix_reuse_reported": read / prompts if prompts else None,
        "prefix_survival": account.prefix_survival,
        "prefix_breaks_outside_epochs": breaks,
        "prefill_tokens": account.prefill_tokens,
        "rewrite_factor": account.rewrite_factor,
        "epochs": epochs,
        "broke": {reason: count for reason, count in sorted(broke.items()) if reason},
        "disagreements": {name: count for name, count in sorted(disagreements.items()) if name},
    }


def to_dict(one: Line) -> dict[str, Any]:
    """A line as plain values."""
    return asdict(one)
