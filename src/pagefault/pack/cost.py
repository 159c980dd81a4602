"""The cost of a request, in effective input tokens.

Of a request of N tokens, C are read from the cache, V are its volatile tail, which is never
cached, and the rest is written to the cache:

    EIC = r * C + w * (N - C - V) + V        in uncached input tokens

and `cliff_factor` times that if the request is over the price list's cliff.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pagefault.model.prices import PriceList


def effective_input_cost(
    prices: PriceList, prompt_tokens: int, cached_tokens: int, *, volatile_tokens: int = 0
) -> float:
    """EIC above. A prefix too short to be cached costs plain input."""
    fresh = prompt_tokens - cached_tokens - volatile_tokens
    assert fresh >= 0, "more cached than there is"
    write = prices.write if prices.cacheable(prompt_tokens - volatile_tokens) else 1.0
    cost = prices.read * cached_tokens + write * fresh + volatile_tokens
    over = prices.cliff_tokens is not None and prompt_tokens > prices.cliff_tokens
    return cost * prices.cliff_factor if over else cost


@dataclass(slots=True)
class Account:
    """The sums over a run of calls under one price list."""

    prices: PriceList
    calls: int = 0
    cost: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prompt_tokens_max: int = 0
    written_tokens: int = 0
    survivals: list[float] = field(default_factory=list)

    def add(
        self,
        prompt_tokens: int,
        cached_tokens: int,
        *,
        volatile_tokens: int = 0,
        survival: float | None = None,
    ) -> None:
        """Add a call; `survival` is None for the first, which has no predecessor."""
        self.calls += 1
        self.cost += effective_input_cost(
            self.prices, prompt_tokens, cached_tokens, volatile_tokens=volatile_tokens
        )
        self.prompt_tokens += prompt_tokens
        self.cached_tokens += cached_tokens
        self.prompt_tokens_max = max(self.prompt_tokens_max, prompt_tokens)
        self.written_tokens += prompt_tokens - cached_tokens - volatile_tokens
        if survival is not None:
            self.survivals.append(survival)

    @property
    def prefill_tokens(self) -> int:
        """Tokens not read from the cache: the work of the engine, and a proxy for its latency."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def prefix_reuse(self) -> float:
        """The share of all prompt tokens read from the cache."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def prefix_survival(self) -> float:
        """The mean share of a request that the next one begins with; ignores cache lifetimes."""
        return sum(self.survivals) / len(self.survivals) if self.survivals else 1.0

    @property
    def rewrite_factor(self) -> float:
        """Written tokens as a multiple of the largest prompt."""
        return self.written_tokens / self.prompt_tokens_max if self.prompt_tokens_max else 0.0


def ratio(ours: Sequence[Account], theirs: Sequence[Account]) -> float:
    """Our cost over theirs, on the same conversations: below 1 is cheaper."""
    return sum(one.cost for one in ours) / sum(one.cost for one in theirs)
