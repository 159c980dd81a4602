"""OpenTelemetry export: the proxy's metrics, and a span for each request that is read.

Nothing of it is loaded unless the program set up an SDK in this process first; then only its API is
used. Spans follow the conventions for generative AI as far as these fit
(`opentelemetry.io/docs/specs/semconv/gen-ai`, in development). They hold figures, the model's name
and how the request ended, but no words and no names of conversations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pagefault import __version__
from pagefault.model.catalogue import find_model
from pagefault.model.clock import Clock
from pagefault.proxy.metrics import SECONDS, Metrics, Outcome

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Observation
    from opentelemetry.trace import Span

    from pagefault.model.errors import PagefaultError
    from pagefault.model.request import Usage
    from pagefault.proxy.conversation.passed import Passed
    from pagefault.proxy.http.relay import Headers
    from pagefault.service.turn.formation import Formed

_NAME: Final = "pagefault"
_PROVIDERS: Final = {"chat": "openai", "gemini": "gcp.gemini", "messages": "anthropic"}
_TOKENS: Final = tuple(4.0**n for n in range(14))  # as the conventions advise
_TRACE: Final = (b"traceparent", b"tracestate")  # headers, of W3C's Trace Context


@dataclass(slots=True)
class _Request:
    """One request, from its arrival to its end."""

    began_ms: int
    began_s: float
    headers: Mapping[str, str]  # with the client's trace
    span: Span | None = None
    output_tokens: int = 0
    about: dict[str, str] = field(default_factory=dict)


_request: ContextVar[_Request] = ContextVar("_request")


def told_to_telemetry(metrics: Metrics, clock: Clock) -> Metrics | Telemetry:
    """The metrics, exported as well if this process set up an OpenTelemetry SDK."""
    return Telemetry(metrics, clock) if "opentelemetry.sdk" in sys.modules else metrics


class Telemetry:
    """Takes the place of the metrics, and counts in them as well. Uses the providers that are set
    up for the whole process when it is made.
    """

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        from opentelemetry.metrics import get_meter
        from opentelemetry.trace import get_tracer

        self._metrics = metrics
        self._clock = clock
        self._tracer = get_tracer(_NAME, __version__)
        meter = get_meter(_NAME, __version__)
        kinds: Mapping[str, Any] = {
            "counter": meter.create_observable_counter,
            "gauge": meter.create_observable_gauge,
        }
        for family in metrics.registry.collect():
            if family.type in kinds and family.name.startswith(_NAME):
                look = partial(_observed, metrics, family.name)
                name = family.name.replace("_", ".", 1)
                kinds[family.type](name, [look], description=family.documentation)

        def histogram(name: str, told: str, unit: str = "s", buckets: Any = SECONDS) -> Histogram:
            return meter.create_histogram(
                name, unit, told, explicit_bucket_boundaries_advisory=buckets
            )

        self._added = histogram("pagefault.added", "From a whole request to its being sent on.")
        self._first = histogram("pagefault.first_byte", "From a request to its answer's beginning.")
        self._took = histogram("gen_ai.client.operation.duration", "From a request to its end.")
        self._tokens = histogram(
            "gen_ai.client.token.usage", "As the provider counts.", "{token}", _TOKENS
        )

    def arrived(self, headers: Headers) -> None:
        trace = {n.decode(): v.decode("latin-1") for n, v in headers if n.lower() in _TRACE}
        _request.set(_Request(self._clock.now_ms(), self._clock.monotonic_s(), trace))

    def sent_on(self, added_s: float, passed: Passed | None, wire: str) -> None:
        self._metrics.sent_on(added_s, passed, wire)
        self._added.record(added_s)
        one = _request.get(None)
        if one is None or passed is None:
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        operation = "generate_content" if wire == "gemini" else "chat"
        one.about = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _provider(passed.model, wire),
            "gen_ai.request.model": passed.model,
        }
        told: dict[str, str | int] = {**one.about, "pagefault.change": str(passed.match.change)}
        if passed.composed is not None:
            told |= {
                "pagefault.sent_tokens": passed.composed.tokens,
                "pagefault.left_tokens": passed.composed.left_tokens,
                "pagefault.recalled_pages": passed.recalled,
                "pagefault.epoch": passed.composed.epoch,
            }
        one.span = self._tracer.start_span(
            f"{operation} {passed.model}",
            context=extract(one.headers),
            kind=SpanKind.CLIENT,
            attributes=told,
            start_time=one.began_ms * 1_000_000,
        )

    def recovered(self) -> None:
        self._metrics.recovered()

    def began(self, first_byte_s: float) -> None:
        self._metrics.began(first_byte_s)
        self._first.record(first_byte_s)

    def served(self, calls: int, faults: int) -> None:
        self._metrics.served(calls, faults)
        one = _request.get(None)
        if one is not None and one.span is not None:
            one.span.add_event("pagefault.served", {"pagefault.calls": calls})

    def reported(self, usage: Usage) -> None:
        self._metrics.reported(usage)
        one = _request.get(None)
        if one is None or one.span is None:
            return
        one.output_tokens += usage.output_tokens  # of all replies; input tokens are of the last
        told = {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": one.output_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        }
        if usage.cached_tokens is not None:
            told["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
        one.span.set_attributes(told)
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            self._tokens.record(tokens, {**one.about, "gen_ai.token.type": kind})

    def formed(self, one: Formed | PagefaultError) -> None:
        self._metrics.formed(one)

    def ended(self, wire: str, outcome: Outcome, not_logged: str) -> None:
        self._metrics.ended(wire, outcome, not_logged)
        one = _request.get(None)
        if one is None or one.span is None:
            return
        from opentelemetry.trace import Status, StatusCode

        failed = {} if outcome is Outcome.ANSWERED else {"error.type": str(outcome)}
        one.span.set_attributes({"pagefault.outcome": str(outcome), **failed})
        if not_logged:
            one.span.set_attribute("pagefault.not_logged", not_logged)
        if failed:
            one.span.set_status(Status(StatusCode.ERROR))
        took_s = self._clock.monotonic_s() - one.began_s
        self._took.record(took_s, {**one.about, **failed})
        one.span.end(one.began_ms * 1_000_000 + int(took_s * 1e9))

    def text(self) -> bytes:
        return self._metrics.text()


def _observed(metrics: Metrics, name: str, _: Any) -> Iterator[Observation]:
    from opentelemetry.metrics import Observation

    for family in metrics.registry.collect():
        if family.name == name:
            for sample in family.samples:
                if not sample.name.endswith("_created"):
                    yield Observation(sample.value, sample.labels)


def _provider(model: str, wire: str) -> str:
    """The provider's name by the conventions: of the model if known, else of the format."""
    known = find_model(model).provider
    return {"google": "gcp.gemini"}.get(known, known) or _PROVIDERS.get(wire, "openai")
