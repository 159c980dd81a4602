"""The ledger says what a call should have cost, and why it did not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pagefault.model.prices import PriceList
from pagefault.model.request import Usage
from pagefault.pack.ledger import Broke, Disagreement, Sending, line, summary, to_dict

PRICES = PriceList(
    name="t", as_of="2026-11", read=0.1, write=1.25, output=5.0, ttl_s=300.0, min_tokens=1_024
)
FIRST = Sending(prompt_tokens=4_000, before_tokens=None)
NEXT = Sending(
    prompt_tokens=4_300, before_tokens=4_000, shared_tokens=4_000, matchable_tokens=4_000
)


def test_a_call_that_only_appends_reads_all_that_was_sent() -> None:
    told = line(PRICES, replace(NEXT, volatile_tokens=40))
    assert told.broke is Broke.NOTHING
    assert told.survival == 1.0
    assert told.predicted_cached == 4_000
    assert told.predicted_cost == pytest.approx(400 + 1.25 * 260 + 40)


@pytest.mark.parametrize(
    ("call", "prices", "why"),
    [
        (FIRST, PRICES, Broke.FIRST),
        (replace(NEXT, is_cold=True), PRICES, Broke.COLD),
        (replace(NEXT, shared_tokens=0, matchable_tokens=0, tools_changed=True), PRICES, "tools"),
        (replace(NEXT, shared_tokens=1_500, matchable_tokens=1_500, epoch="x"), PRICES, "epoch"),
        (replace(NEXT, shared_tokens=1_500, matchable_tokens=1_500), PRICES, "prefix"),
        (NEXT, replace(PRICES, min_tokens=8_000), Broke.BELOW_MINIMUM),
        (NEXT, replace(PRICES, quantum=128), Broke.QUANTUM),
        (replace(NEXT, matchable_tokens=3_000), PRICES, Broke.QUANTUM),
    ],
)
def test_every_divergence_has_its_reason(call: Sending, prices: PriceList, why: str) -> None:
    assert line(prices, call).broke.startswith(why)


@pytest.mark.parametrize(
    ("cached", "disagreement"),
    [
        (4_000, Disagreement.NOTHING),
        (3_968, Disagreement.NOTHING),  # the provider counts framing elsewhere
        (2_000, Disagreement.LESS),
        (0, Disagreement.NONE_AT_ALL),
    ],
)
def test_what_the_provider_reports_is_held_against_the_prediction(
    cached: int, disagreement: Disagreement
) -> None:
    usage = Usage(input_tokens=4_300, output_tokens=9, cached_tokens=cached)
    told = line(PRICES, NEXT, usage)
    assert told.disagreement is disagreement
    assert told.reported_cost == pytest.approx(0.1 * cached + 1.25 * (4_300 - cached))


def test_the_provider_counts_in_tokens_of_its_own() -> None:
    usage = Usage(input_tokens=5_590, output_tokens=9, cached_tokens=5_200)  # 1.3 of ours
    assert line(PRICES, NEXT, usage).disagreement is Disagreement.NOTHING
    few = replace(usage, cached_tokens=4_000)  # as many as we count, and too few for it
    assert line(PRICES, NEXT, few).disagreement is Disagreement.LESS


def test_a_cache_that_lives_longer_than_listed_is_told_too() -> None:
    usage = Usage(input_tokens=4_300, output_tokens=9, cached_tokens=4_000)
    told = line(PRICES, replace(NEXT, is_cold=True), usage)
    assert told.broke is Broke.COLD
    assert told.disagreement is Disagreement.MORE


def test_what_was_reported_as_written_is_what_costs_the_surcharge() -> None:
    usage = Usage(input_tokens=4_300, output_tokens=9, cached_tokens=4_000, cache_write_tokens=200)
    assert line(PRICES, NEXT, usage).reported_cost == pytest.approx(400 + 250 + 100)


def test_no_report_is_no_disagreement_with_a_figure() -> None:
    assert line(PRICES, NEXT).disagreement is Disagreement.UNREPORTED
    nothing = Usage(input_tokens=0, output_tokens=0)
    assert line(PRICES, NEXT, nothing).disagreement is Disagreement.UNREPORTED


def test_the_sums_of_a_session() -> None:
    usage = Usage(input_tokens=4_300, output_tokens=9, cached_tokens=4_000)
    lines = [
        line(PRICES, FIRST),
        line(PRICES, NEXT, usage),
        line(PRICES, replace(NEXT, shared_tokens=1_500, matchable_tokens=1_500, epoch="full")),
        line(PRICES, replace(NEXT, shared_tokens=1_500, matchable_tokens=1_500)),
    ]
    told = summary(PRICES, lines)
    json.dumps([told, *map(to_dict, lines)], allow_nan=False)
    assert told["calls"] == 4
    assert told["epochs"] == 1
    assert told["prefix_breaks_outside_epochs"] == 1
    assert told["prefix_survival"] == pytest.approx((1.0 + 0.375 + 0.375) / 3)
    assert told["effective_input_cost"] == pytest.approx(sum(one.predicted_cost for one in lines))
    assert told["effective_input_cost_reported"] == pytest.approx(lines[1].reported_cost)
    assert told["calls_reported"] == 1
    assert told["broke"] == {"first": 1, "epoch": 1, "prefix_changed": 1}
    assert told["disagreements"] == {"unreported": 3}
    assert summary(PRICES, [])["prefix_survival"] == 1.0


def test_what_a_provider_does_not_say_of_its_cache_is_not_taken_for_nothing() -> None:
    silent = Usage(input_tokens=4_300, output_tokens=9)
    told = line(PRICES, NEXT, silent)
    assert told.disagreement is Disagreement.CACHE_UNREPORTED
    assert told.reported_cost is None
    sums = summary(PRICES, [told])
    assert sums["effective_input_cost_reported"] is None
    assert sums["prefix_reuse_reported"] is None


@pytest.mark.parametrize("counted", [12, 1_900, 9_000])
def test_a_prompt_that_the_provider_counts_quite_otherwise_is_flagged(counted: int) -> None:
    usage = Usage(input_tokens=counted, output_tokens=9, cached_tokens=0)
    assert line(PRICES, NEXT, usage).disagreement is Disagreement.COUNTED


def test_a_template_around_a_short_prompt_is_no_other_count() -> None:
    short = Sending(prompt_tokens=40, before_tokens=None)
    usage = Usage(input_tokens=240, output_tokens=9, cached_tokens=0)
    assert line(PRICES, short, usage).disagreement is Disagreement.NOTHING
