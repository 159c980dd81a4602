"""Usage, as each kind of API reports it, with the whole prompt as its input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.engine.usage import usage_from
from pagefault.model.request import Usage

WHOLE = Usage(input_tokens=100, output_tokens=7, cached_tokens=60, cache_write_tokens=30)


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            WHOLE,
        ),
        (
            {
                "input_tokens": 100,
                "output_tokens": 7,
                "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            WHOLE,
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 7,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
            },
            WHOLE,
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60},
            Usage(input_tokens=100, output_tokens=7, cached_tokens=60),
        ),
        (
            {
                "promptTokenCount": 100,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 3,
                "cachedContentTokenCount": 60,
            },
            Usage(input_tokens=100, output_tokens=7, cached_tokens=60),
        ),
        (
            {"input_tokens": 10, "cache_read_input_tokens": None},
            Usage(input_tokens=10, output_tokens=0),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}},
            Usage(input_tokens=10, output_tokens=0, cached_tokens=0),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": None},
            Usage(input_tokens=10, output_tokens=0, cached_tokens=None),
        ),
        ({}, Usage(input_tokens=0, output_tokens=0)),
        (None, None),
        ([1], None),
    ],
)
def test_the_input_is_the_whole_prompt_whoever_reports(report: object, usage: Usage | None) -> None:
    assert usage_from(report) == usage


_NAMES = [
    "prompt_tokens", "input_tokens", "prompt_tokens_details", "input_tokens_details",
    "cached_tokens", "cache_read_input_tokens", "promptTokenCount", "cachedContentTokenCount",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_whatever_is_reported_is_read_as_far_as_it_goes(report: Any) -> None:
    usage = usage_from(report)
    if usage is not None:
        assert min(usage.input_tokens, usage.cached_tokens or 0, usage.cache_write_tokens) >= 0
