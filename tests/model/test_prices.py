"""Price lists: what they refuse, what a local engine's timings say, and which model has which."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.model.catalogue import CATALOGUE, UNKNOWN, find_model
from pagefault.model.errors import BadInput
from pagefault.model.prices import Measured, PriceList, calibrate

PRICES = PriceList(
    name="t", as_of="2026-11", read=0.1, write=1.25, output=5.0, ttl_s=300.0, min_tokens=1_024
)


@pytest.mark.parametrize(
    "wrong", [{"read": -0.1}, {"read": 2.0}, {"write": 0.0, "read": 0.0}, {"output": -1.0}]
)
def test_a_list_by_which_keeping_costs_more_than_rewriting_is_refused(
    wrong: dict[str, float],
) -> None:
    with pytest.raises(BadInput, match="is invalid"):
        replace(PRICES, **wrong)  # type: ignore[arg-type]


def test_a_cache_is_cold_when_it_was_not_used_for_its_lifetime() -> None:
    assert not PRICES.is_cold(300.0)
    assert PRICES.is_cold(300.5)
    assert not replace(PRICES, ttl_s=None).is_cold(1e9)


@given(st.integers(0, 5_000), st.sampled_from([1, 16, 128]))
def test_a_cache_holds_whole_steps_from_its_least_size_on(tokens: int, quantum: int) -> None:
    held = replace(PRICES, quantum=quantum).cacheable(tokens)
    assert held <= tokens
    assert held % quantum == 0
    assert (held == 0) == (tokens < 1_024)
    assert tokens - held < quantum or held == 0


def test_no_request_goes_over_the_price_cliff() -> None:
    assert replace(PRICES, cliff_tokens=100_000, cliff_factor=5.0).room(200_000) == 100_000
    assert replace(PRICES, cliff_tokens=100_000, cliff_factor=5.0).room(50_000) == 50_000
    assert PRICES.room(200_000) == 200_000


def engine(prompt: int, prefilled: int, decoded: int) -> Measured:
    """3.3 ms to prefill a token; 12 ms to decode one, and 3.3 us for each token of context."""
    return Measured(
        prefilled_tokens=prefilled,
        prefill_s=0.0033 * prefilled,
        prompt_tokens=prompt,
        decoded_tokens=decoded,
        decode_s=decoded * (0.012 + 3.3e-6 * prompt),
    )


def test_an_engine_that_is_paid_in_seconds_has_a_rent_too() -> None:
    """The rent of a dead token: 100 generated tokens attend to it, at a thousandth of prefill."""
    calls = [engine(prompt, 200, 100) for prompt in (500, 1_000, 4_000, 8_000)]
    prices = calibrate(calls, as_of="2026-11")
    assert prices.read == pytest.approx(0.10)
    assert prices.write == 1.0
    assert prices.output == pytest.approx((0.012 + 3.3e-6 * 3_375) / 0.0033)
    assert not prices.is_cold(1e9)
    longer = calibrate([engine(p, 200, 300) for p in (500, 1_000, 4_000)], as_of="2026-11")
    assert longer.read == pytest.approx(0.30)


def test_a_context_that_costs_nothing_to_keep_has_no_rent() -> None:
    calls = [
        Measured(
            prefilled_tokens=100, prefill_s=1.0, prompt_tokens=n, decoded_tokens=10, decode_s=1.0
        )
        for n in (100, 200, 300)
    ]
    assert calibrate(calls, as_of="2026-11").read == 0.0
    assert calibrate(calls, as_of="2026-11").ratio == float("inf")


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [engine(500, 200, 100), engine(900, 200, 100)],
        [engine(500, 200, 100)] * 5,
        [engine(n, 0, 100) for n in (1, 2, 3)],
        [engine(n, 100, 0) for n in (1, 2, 3)],
    ],
)
def test_timings_that_tell_no_price_are_refused(calls: list[Measured]) -> None:
    with pytest.raises(BadInput, match="are too few to derive a price"):
        calibrate(calls, as_of="2026-11")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("Claude-Opus-5.5", "claude-opus-5-5"),
        ("anthropic/claude-opus-4.5-20251101", "claude-opus-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gemini-3-flash", "gemini"),
        ("local/some-model", None),
        ("local-llama", "local"),
        ("claude-opus-5-7", None),
        ("claude-opus", None),
        ("gpt-5-55", None),
        ("", None),
    ],
)
def test_a_model_is_known_by_its_usual_spellings_and_not_by_its_neighbours(
    name: str, known: str | None
) -> None:
    found = find_model(name)
    assert found.is_known == (known is not None)
    assert found.name == (name if known is None else known)


def test_a_model_that_is_not_known_gets_assumptions_and_says_so() -> None:
    found = find_model("somebody/new-model-9")
    assert "not in the catalogue" in found.note
    assert found.prices == UNKNOWN.prices
    # Cautious: no cheaper to read, and no longer-lived, than the most usual list there is.
    assert found.prices.ttl_s == min(m.prices.ttl_s or 1e9 for m in CATALOGUE)
    assert found.prices.min_tokens == max(m.prices.min_tokens for m in CATALOGUE)
    assert found.room_tokens < found.window_tokens


def test_the_catalogue_is_sound() -> None:
    assert len({model.name for model in CATALOGUE}) == len(CATALOGUE)
    for model in CATALOGUE:
        assert find_model(model.name) is model
        assert 0 < model.room_tokens < model.window_tokens
        assert model.prices.as_of
        assert model.factor >= 1.0
    assert len({model.prices.read for model in CATALOGUE}) > 4  # not one figure for all
