"""OpenTelemetry is told what the proxy counts, a span for each request, and no word of any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isnan
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

import opentelemetry.metrics
import opentelemetry.trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.proxy.histories import FACT, body, user
from tests.proxy.standing import SESSION, Standing, post, standing, talk
from tests.proxy.upstream import Call, Say, Upstream, always

MODEL = "claude-opus-5"


class Told:
    """What an SDK exports."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())

    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        scopes = [scope for one in data.resource_metrics for scope in one.scope_metrics]
        return {one.name: list(one.data.data_points) for s in scopes for one in s.metrics}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """What is global in a program, for one test alone."""
    told = Told()
    monkeypatch.setattr(opentelemetry.trace, "get_tracer", told.tracers.get_tracer)
    monkeypatch.setattr(opentelemetry.metrics, "get_meter", told.meters.get_meter)
    yield told
    told.tracers.shutdown()
    told.meters.shutdown()


async def counts(to: Standing) -> dict[tuple[str, ...], float]:
    """The same as `/metrics` has them."""
    from prometheus_client.parser import text_string_to_metric_families

    families = text_string_to_metric_families((await to.http.get("/metrics")).text)
    return {
        (family.name, *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
        if family.type in ("counter", "gauge")
        and family.name.startswith("pagefault")
        and not family.name.endswith("_created")
    }


async def test_each_request_is_a_span_with_figures_and_no_word(told: Told) -> None:
    with Upstream(lambda _: Say(text="Noted.", input_tokens=100, cached_tokens=60)) as upstream:
        async with standing(upstream, window=500) as to:
            said = await talk(to, 6)
            trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
            last = body(*said, user("What is the launch code of project Heron?"))
            await to.http.post(
                "/v1/messages", json=last | {"model": MODEL}, headers=trace | SESSION
            )
            await to.proxy.settled()
            requests = to.proxy.requests
    spans = told.spans()
    assert len(spans) == requests == 8
    last_span = spans[-1]
    assert last_span.name == f"chat {MODEL}"
    assert last_span.kind is SpanKind.CLIENT
    assert f"{last_span.parent.trace_id:x}" == "a" * 32, "the client's own trace goes on"
    attributes = dict(last_span.attributes)
    assert (
        attributes.items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": MODEL,
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10,
            "gen_ai.usage.cache_read.input_tokens": 60,
            "pagefault.outcome": "answered",
            "pagefault.recalled_pages": 1,
        }.items()
    )
    assert last_span.status.status_code is StatusCode.UNSET
    assert last_span.end_time >= last_span.start_time
    assert any(dict(one.attributes)["pagefault.left_tokens"] for one in spans)
    assert "Heron" in FACT
    whole = "".join(one.to_json() for one in spans)
    for word in ("Heron", "garden", "Noted", SESSION["x-pagefault-session"], SESSION["x-api-key"]):
        assert word not in whole


async def test_what_fails_and_what_memory_serves_is_told(told: Told) -> None:
    search = Call("s", "search_pages", {"query": "launch code"})
    says = [Say(calls=(search,), input_tokens=50), Say(text="7741", input_tokens=70)]
    with Upstream(lambda _: says.pop(0) if says else Say(status=529)) as upstream:
        async with standing(upstream, window=500, faults=True) as to:
            await post(to, body(user(FACT)))
            await post(to, body(user("And now?")))
            await to.http.get("/healthz")
            await to.proxy.settled()
    served, refused = told.spans()
    assert [dict(event.attributes) for event in served.events] == [{"pagefault.calls": 1}]
    assert served.attributes["gen_ai.usage.input_tokens"] == 70
    assert served.attributes["gen_ai.usage.output_tokens"] == 20
    assert refused.attributes["error.type"] == "refused_upstream"
    assert refused.status.status_code is StatusCode.ERROR


async def test_metrics_are_those_that_prometheus_reads(told: Told) -> None:
    with Upstream(lambda _: Say(text="Noted.", input_tokens=100, cached_tokens=60)) as upstream:
        async with standing(upstream, window=500) as to:
            await talk(to, 6)
            await to.proxy.settled()
            exported, read = told.metrics(), await counts(to)
    flat = {
        (name.replace(".", "_", 1), *sorted(point.attributes.values())): point.value
        for name, points in exported.items()
        for point in points
        if hasattr(point, "value")
    }
    rates = {"pagefault_evictions_per_minute"}
    assert {key: v for key, v in flat.items() if key[0] not in rates} == {
        key: v for key, v in read.items() if key[0] not in rates and not isnan(v)
    }, "but for rates of what never was, which OpenTelemetry has no word for"
    assert exported["pagefault.added"][0].count == 7
    usage = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in exported["gen_ai.client.token.usage"]
    }
    assert usage == {"input": 700, "output": 70}
    assert exported["gen_ai.client.operation.duration"][0].count == 7
    assert "Heron" not in json.dumps(str(exported))


async def test_control_without_an_sdk_nothing_is_told(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(__import__("sys").modules, "opentelemetry.sdk")
    with Upstream(always()) as upstream:
        async with standing(upstream) as to:
            await post(to, body(user("Hello")))
            await to.proxy.settled()
    assert told.spans() == []
