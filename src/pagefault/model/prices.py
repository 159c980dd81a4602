"""Price lists: the cost of a prompt token that is read from a cache, written to one, or neither.

Every figure is per token, relative to one uncached input token, so that lists of different
providers, and of an engine that costs time, are comparable. Ratios change with every generation of
models: no other code contains one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.signatures import check_fields, checked


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """One provider's rules for prompt caching, as of a month.

    Raises `BadInput` for a list in which a cached token costs more than a written one: no epoch
    rule makes sense then.
    """

    name: str
    as_of: str  # a month, "2026-11"
    read: float  # a token read from the cache
    write: float  # a token written to it: 1.0 without a surcharge
    output: float  # a generated token
    ttl_s: float | None  # unused for longer, the cache is cold; None: only by eviction
    min_tokens: int = 0  # a shorter prefix is not cached
    quantum: int = 1  # a cached prefix is a multiple of this many tokens
    takes_marks: bool = False  # a prefix is cached up to a mark only, not up to any end
    cliff_tokens: int | None = None  # a longer request is priced at `cliff_factor`
    cliff_factor: float = 1.0
    whole_units: bool = False  # a prefix matches only where an earlier request ended

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.read <= self.write or self.write <= 0 or self.output < 0:
            raise BadInput(
                f"the price list {self.name!r} is invalid: read {self.read}, write {self.write}",
                hint="prices are per token, in uncached input tokens, with 0 <= read <= write",
            )

    @property
    def ratio(self) -> float:
        """The cost of a rewrite relative to reading the same tokens in one call: (w - r) / r."""
        return (self.write - self.read) / self.read if self.read else float("inf")

    def is_cold(self, idle_s: float) -> bool:
        """Whether a cache last used so many seconds ago has expired."""
        return self.ttl_s is not None and idle_s > self.ttl_s

    def cacheable(self, prefix_tokens: int) -> int:
        """How many of a prefix's tokens this provider's cache can hold."""
        if prefix_tokens < self.min_tokens:
            return 0
        return prefix_tokens - prefix_tokens % self.quantum

    def room(self, tokens: int) -> int:
        """A budget of `tokens`, capped at the cliff."""
        return tokens if self.cliff_tokens is None else min(tokens, self.cliff_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One timed call of a local engine: prefill and decoding separately, in seconds."""

    prefilled_tokens: int  # evaluated, not from the engine's cache
    prefill_s: float
    prompt_tokens: int  # the whole context that decoding attended to
    decoded_tokens: int
    decode_s: float


_CALLS_MIN: Final = 3  # a line always fits two points


@checked
def calibrate(calls: Iterable[Measured], *, name: str = "local", as_of: str) -> PriceList:
    """The price list of an engine that costs time.

    The unit is the time to prefill one token. Keeping a token costs what it adds to the decoding of
    every generated one: the slope of seconds per generated token over context length, times the
    tokens generated in a call. (A dead token costs rent even without a bill.) Writing costs the
    prefill, 1.0, and a cache in the engine's memory never expires by time.

    Raises `BadInput` unless at least three calls, of different context lengths, did both.
    """
    seen = [c for c in calls if c.prefilled_tokens > 0 and c.decoded_tokens > 0]
    lengths = {call.prompt_tokens for call in seen}
    prefill_s = fsum(call.prefill_s for call in seen)
    if len(seen) < _CALLS_MIN or len(lengths) < 2 or prefill_s <= 0:
        raise BadInput(
            f"{len(seen)} timed calls over {len(lengths)} lengths of context are too few to "
            "derive a price",
            hint="time at least three calls that prefill and decode, short and long contexts",
        )
    prefill_token_s = prefill_s / sum(call.prefilled_tokens for call in seen)
    base_s, slope_s = _line([(c.prompt_tokens, c.decode_s / c.decoded_tokens) for c in seen])
    decoded = sum(call.decoded_tokens for call in seen) / len(seen)
    mean_tokens = sum(call.prompt_tokens for call in seen) / len(seen)
    read = min(max(slope_s, 0.0) * decoded / prefill_token_s, 1.0)
    output = max(base_s + slope_s * mean_tokens, 0.0) / prefill_token_s
    return PriceList(name=name, as_of=as_of, read=read, write=1.0, output=output, ttl_s=None)


def _line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Intercept and slope of the least-squares line."""
    mean_x = fsum(x for x, _ in points) / len(points)
    mean_y = fsum(y for _, y in points) / len(points)
    spread = fsum((x - mean_x) ** 2 for x, _ in points)
    slope = fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return mean_y - slope * mean_x, slope
