"""The proxy's metrics for Prometheus: sums over all conversations, without words or names of any.

The gauges are named after `MemoryMetrics` of requirement 000. They cover the cached conversations;
rates are over the last minute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pagefault.model.clock import Clock
from pagefault.model.errors import PagefaultError, not_installed
from pagefault.service.heat_counts import HeatCounts

if TYPE_CHECKING:
    from pagefault.model.request import Usage
    from pagefault.proxy.conversation.passed import Passed, Window
    from pagefault.proxy.http.relay import Headers
    from pagefault.service.turn.formation import Formed

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_MINUTE_S: Final = 60.0
OPERATORS: Final = "operator"  # in place of a format: tests of the proxy, such as canaries


class Outcome(StrEnum):
    """How a request ended: exactly one of these."""

    OWN = "own"  # answered here, being about the proxy
    ANSWERED = "answered"  # by the provider, to the end
    REFUSED_HERE = "refused_here"
    REFUSED_UPSTREAM = "refused_upstream"  # the provider's error was passed on
    UNREACHABLE = "unreachable"  # the provider
    CUT_OFF = "cut_off"  # the provider broke an answer off
    CLIENT_GONE = "client_gone"
    STOPPED = "stopped"  # the proxy stopped meanwhile
    FAILED = "failed"  # ours


@dataclass(frozen=True, slots=True)
class HeatGauges:
    """Sources for the gauges of hot and cold memory. NaN if there is no value."""

    counts: HeatCounts
    hot_percent: Callable[[], float]
    recall_ms: Callable[[], float]


class _LastMinute:
    """A sum over the last minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: deque[tuple[float, int]] = deque()

    def note(self, count: int) -> None:
        self._noted.append((self._clock.monotonic_s(), count))
        self._let_go()  # whether or not anybody asks

    def sum(self) -> float:
        self._let_go()
        return float(sum(count for _, count in self._noted))

    def _let_go(self) -> None:
        earliest_s = self._clock.monotonic_s() - _MINUTE_S
        while self._noted and self._noted[0][0] < earliest_s:
            self._noted.popleft()

    def __len__(self) -> int:
        return len(self._noted)


class Metrics:
    """Metrics of one proxy. `windows` returns the windows of cached conversations, `kept` how many
    texts the memory has cached and how many it may, `heat` the use of hot memory, `is_writable`
    whether the memory can be written.

    Raises `CallerError` without prometheus-client.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        windows: Callable[[], Sequence[Window]],
        kept: Callable[[], tuple[int, int]],
        heat: HeatGauges,
        is_writable: Callable[[], bool],
    ) -> None:
        try:
            from prometheus_client import (
                CollectorRegistry,
                Counter,
                Gauge,
                Histogram,
                ProcessCollector,
            )
        except ImportError:
            raise not_installed("the proxy needs the package prometheus-client", "proxy") from None
        self._windows = windows
        self._evicted = _LastMinute(clock)
        self._paged, self._faults = _LastMinute(clock), _LastMinute(clock)
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)

        def counter(name: str, told: str, *labels: str) -> Counter:
            return Counter(f"pagefault_{name}", told, labels, registry=self.registry)

        def histogram(name: str, told: str) -> Histogram:
            name = f"pagefault_{name}"
            return Histogram(name, told, buckets=SECONDS, registry=self.registry)

        def gauge(name: str, told: str, value: Callable[[], float]) -> None:
            Gauge(f"pagefault_{name}", told, registry=self.registry).set_function(value)

        self._requests = counter("requests", "Requests, by how they ended.", "format", "outcome")
        self._not_logged = counter("not_logged", "Requests that were not written down.", "why")
        gauge("memory_writable", "1 where the memory can be written.", is_writable)
        self._recoveries = counter("recoveries", "Times that the memory could be written again.")
        self._sent = counter("sent_tokens", "Tokens of requests that were read, as sent on.")
        self._left = counter("left_tokens", "Tokens of their conversations that they left out.")
        self._epochs = counter("epochs", "Requests whose beginning was rewritten.", "why")
        self._recalled = counter("recalled_pages", "Pages that were quoted before a message.")
        self._served = counter("served_calls", "Calls of memory's tools that were answered.")
        self._over = counter("over_window", "Requests larger than their window.")
        self._formed = counter("formations", "Ranges formed into memory, by outcome.", "outcome")
        self._forming = counter("formation_tokens", "Tokens of asking for that.", "kind")
        self._reported = counter("reported_tokens", "Tokens by the providers' count.", "kind")
        self._added = histogram("added_seconds", "From a whole request to its being sent on.")
        self._first = histogram("first_byte_seconds", "From a request to the answer's beginning.")
        gauge("l0_utilization", "Tokens of the newest requests, of their windows.", self._l0)
        gauge(
            "l1_utilization",
            "Texts that are kept at hand, of the most.",
            lambda: kept()[0] / kept()[1],
        )
        gauge(
            "evictions_per_minute", "Pages that left windows in the last minute.", self._evicted.sum
        )
        gauge("fault_rate", "Faults for each paged request, in the last minute.", self._fault_rate)
        gauge("compression_ratio", "Tokens of conversations, of what is sent of them.", self._ratio)
        self._count_heat(heat, gauge)
        tiers = Gauge(
            "pagefault_pages_by_tier",
            "Pages that windows show (L0), and texts that are kept at hand (L1).",
            ("tier",),
            registry=self.registry,
        )
        tiers.labels("L0").set_function(lambda: sum(one.shown for one in windows()))
        tiers.labels("L1").set_function(lambda: kept()[0])

    @staticmethod
    def _count_heat(
        heat: HeatGauges, gauge: Callable[[str, str, Callable[[], float]], None]
    ) -> None:
        """Requirement 002's metrics, over all sessions since the memory was opened."""
        counts = heat.counts
        gauge("memory_hot_utilization", "Per cent of hot memory that is used.", heat.hot_percent)
        gauge("memory_spill_count", "Acts by which items left hot memory.", lambda: counts.spills)
        gauge("memory_recall_count", "Recalls of warm and cold items.", lambda: counts.recalls)
        gauge("memory_promotion_count", "Items that became hot.", lambda: counts.promotions)
        gauge("memory_recall_latency_ms", "Median of such a recall.", heat.recall_ms)
        gauge("memory_hit_rate", "Per cent of them that found something.", counts.hit_percent)

    def ended(self, wire: str, outcome: Outcome, not_logged: str) -> None:
        self._requests.labels(wire or "other", outcome).inc()
        if not_logged and wire != OPERATORS:
            self._not_logged.labels(not_logged).inc()

    def recovered(self) -> None:
        """Requests are logged again."""
        self._recoveries.inc()

    def arrived(self, headers: Headers) -> None:
        """A request arrived."""

    def sent_on(self, added_s: float, passed: Passed | None, wire: str) -> None:
        """A request goes on, `added_s` after its body had come; `wire` is its format, if it was
        read.
        """
        self._added.observe(added_s)
        if passed is None or passed.composed is None:
            return
        composed = passed.composed
        self._paged.note(1)
        self._sent.inc(composed.tokens)
        self._left.inc(composed.left_tokens)
        self._recalled.inc(passed.recalled)
        self._over.inc(composed.over)
        if composed.epoch:
            self._epochs.labels(composed.epoch).inc()
            self._evicted.note(passed.evicted)

    def began(self, first_byte_s: float) -> None:
        """An answer began, this long after its request."""
        self._first.observe(first_byte_s)

    def served(self, calls: int, faults: int) -> None:
        """A reply made this many calls of memory's tools, of which so many were faults."""
        self._served.inc(calls)
        self._faults.note(faults)

    def reported(self, usage: Usage) -> None:
        kinds = {
            "input": usage.input_tokens,
            "cached": usage.cached_tokens or 0,
            "cache_written": usage.cache_write_tokens,
            "output": usage.output_tokens,
        }
        for kind, tokens in kinds.items():
            self._reported.labels(kind).inc(tokens)

    def formed(self, one: Formed | PagefaultError) -> None:
        """A range was formed into memory, or will be tried again."""
        if isinstance(one, PagefaultError):
            self._formed.labels("failed").inc()
            return
        self._formed.labels(one.outcome).inc()
        kinds = {
            "input": one.input_tokens or one.tokens,
            "cached": one.cached_tokens or 0,
            "output": one.output_tokens,
        }
        for kind, tokens in kinds.items():
            self._forming.labels(kind).inc(tokens)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus, version 0.0.4."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def _l0(self) -> float:
        shares = [one.tokens / one.window_tokens for one in self._windows() if one.window_tokens]
        return sum(shares) / len(shares) if shares else 0.0

    def _ratio(self) -> float:
        shown = sum(one.tokens for one in self._windows())
        return (shown + sum(one.left_tokens for one in self._windows())) / shown if shown else 1.0

    def _fault_rate(self) -> float:
        return self._faults.sum() / (self._paged.sum() or 1.0)


class NoMetrics:
    """Counts nothing and needs no package, for a proxy that nobody can ask."""

    def ended(self, wire: str, outcome: Outcome, not_logged: str) -> None: ...

    def recovered(self) -> None: ...

    def arrived(self, headers: Headers) -> None: ...

    def sent_on(self, added_s: float, passed: Passed | None, wire: str) -> None: ...

    def began(self, first_byte_s: float) -> None: ...

    def served(self, calls: int, faults: int) -> None: ...

    def reported(self, usage: Usage) -> None: ...

    def formed(self, one: Formed | PagefaultError) -> None: ...

    def text(self) -> bytes:
        return b""
