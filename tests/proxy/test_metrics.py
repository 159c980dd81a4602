"""What the proxy counts: each request ends once, in one way, and no name of anybody is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.proxy.histories import FACT, body, user
from tests.proxy.standing import SESSION, Standing, post, standing, talk
from tests.proxy.upstream import Say, Upstream, always


async def told(to: Standing) -> dict[tuple[str, ...], float]:
    """Samples by name and labels, of everything that is not a histogram's."""
    await to.proxy.settled()
    answer = await to.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name.removeprefix("pagefault_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def outcomes(samples: dict[tuple[str, ...], float]) -> Counter[tuple[str, str]]:
    ended = ((key[1:], value) for key, value in samples.items() if key[0] == "requests_total")
    return Counter({(labels[0], labels[1]): int(value) for labels, value in ended})


async def test_however_a_request_ends_it_ends_once() -> None:
    says = {
        "fine": Say(text="Fine."),
        "busy": Say(status=529),
        "cut": Say(text="one two three four", cut_after=2),
        "slow": Say(text="word " * 100, pause_s=0.05),
    }
    with Upstream(lambda seen: says[seen.body["messages"][0]["content"][0]["text"]]) as up:
        async with standing(up, token="a-token-of-sixteen-and-more") as to:
            to.http.headers["x-pagefault-token"] = "a-token-of-sixteen-and-more"
            await post(to, body(user("fine")))
            await post(to, body(user("busy")))
            with suppress(httpx2.HTTPError):
                await post(to, body(user("cut"), stream=True))
            slow = to.http.stream("POST", "/v1/messages", json=body(user("slow"), stream=True))
            async with slow as answer:
                await anext(answer.aiter_raw())
            await to.http.get("/v1/models")
            await to.http.get("/healthz")
            await to.http.get("/", headers={"x-pagefault-token": "another"})
            for _ in range(600):
                seen = outcomes(await told(to))
                if seen["messages", "client_gone"]:
                    break
                await asyncio.sleep(0.1)
            own = seen.pop(("other", "own"))
            assert own >= 1
            assert seen == {
                ("messages", "answered"): 1,
                ("messages", "refused_upstream"): 1,
                ("messages", "cut_off"): 1,
                ("messages", "client_gone"): 1,
                ("other", "answered"): 1,
                ("other", "refused_here"): 1,
            }
            assert sum(seen.values()) + own == to.proxy.requests - 1, "this one is under way"


async def test_a_provider_that_is_away_is_told_apart() -> None:
    with Upstream(always()) as up:
        gone = up.url
    with Upstream(always()) as up:
        async with standing(up, url=gone) as to:
            assert (await post(to, body(user("a")))).status_code == 502
            assert outcomes(await told(to))["messages", "unreachable"] == 1


async def test_hot_and_core_memory_of_a_session_are_quoted_and_counted() -> None:
    with Upstream(always(text="Noted.")) as up:
        async with standing(up, window=4_000) as to:
            said = await talk(to, 2)
            session = await to.memory.session((await to.sessions())[0])
            await session.heat_add("The budget is $50K", type="fact")
            await session.core_append("human", "Name: Ann")
            await session.heat_add("Ann drinks tea", type="fact")
            await session.heat_spill(["note_2"])
            assert (await session.heat_recall("what does Ann drink?")).items
            await post(to, body(*said, user("And now?")))
            sent = str(up.seen[-1].body)
            samples = await told(to)
    assert "The budget is $50K" in sent
    assert "Name: Ann" in sent
    assert "drinks tea" not in sent
    assert samples["memory_hot_utilization",] > 0
    assert samples["memory_spill_count",] == samples["memory_recall_count",] == 1
    assert samples["memory_promotion_count",] == 0
    assert samples["memory_hit_rate",] == 100
    assert samples["memory_recall_latency_ms",] > 0


async def test_paging_is_told_in_sums_without_a_word_or_a_name() -> None:
    with Upstream(lambda seen: Say(text="Noted.", input_tokens=100, cached_tokens=60)) as up:
        async with standing(up, window=500) as to:
            said = await talk(to, 20)
            await post(to, body(*said, user("What is the launch code of project Heron?")))
            samples = await told(to)
            text = (await to.http.get("/metrics")).text
            session = await to.memory.session((await to.sessions())[0])
            proxied = await to.memory.proxied(session)
    assert proxied is not None
    assert samples["recalled_pages_total",] == proxied.recalled_pages > 0
    epochs = {key: value for key, value in samples.items() if key[0] == "epochs_total"}
    assert sum(epochs.values()) == proxied.epochs > 0
    assert samples["reported_tokens_total", "cached"] == 60 * proxied.requests
    assert samples["l0_utilization",] == pytest.approx(proxied.last.tokens / 500, abs=0.01)
    assert samples["compression_ratio",] > 2
    assert samples["evictions_per_minute",] > 10
    assert samples["pages_by_tier", "L0"] < 20
    assert samples["added_seconds_count",] == proxied.requests
    assert "Heron" in FACT
    for word in ("Heron", SESSION["x-pagefault-session"], "garden", "~"):
        assert word not in text
