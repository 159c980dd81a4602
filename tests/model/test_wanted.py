"""A filter says what is wanted, or at once what is wrong with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from pagefault.model.errors import BadInput
from pagefault.model.wanted import ANY, SearchFilter
from tests.model.zones import LostZone

DAY_MS = 86_400_000


def test_no_filter_wants_everything() -> None:
    assert not ANY.is_some
    assert SearchFilter() == ANY


@pytest.mark.parametrize(
    "time",
    [
        "1970-01-02",
        "1970-01-02T00:00:00Z",
        "1970-01-02T01:00+01:00",
        datetime(1970, 1, 2, tzinfo=UTC),
        datetime(1970, 1, 2),  # noqa: DTZ001
        datetime(1970, 1, 1, 22, tzinfo=timezone(timedelta(hours=-2))),
        DAY_MS,
    ],
)
def test_a_time_may_be_told_in_several_ways(time: Any) -> None:
    assert SearchFilter(since=time).since_ms == DAY_MS


def test_the_last_day_is_wanted_too() -> None:
    assert SearchFilter(until="1970-01-02").until_ms == 2 * DAY_MS
    assert SearchFilter(until="1970-01-02T00:00").until_ms == DAY_MS


def test_a_time_that_ends_where_it_begins_is_empty_and_no_mistake() -> None:
    assert SearchFilter(since="2026-03-05", until="2026-03-05").has_time
    assert SearchFilter(since=5, until=5).has_time
    with pytest.raises(BadInput):
        SearchFilter(since="2026-03-05").between(None, "2026-03-04")


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": datetime(1970, 1, 1, tzinfo=LostZone())},
        {"kinds": ("claims",)},
        {"kinds": "claim"},
        {"modalities": ("smell",)},
        {"origins": ("elsewhere",)},
        {"origins": ("toolbox",)},
        {"since": "soon"},
        {"until": ""},
        {"since": 1 << 70},
        {"since": "2026-03-05", "until": "2026-03-04"},
        {"since": 2, "until": 1},
    ],
)
def test_what_is_named_wrongly_is_refused_with_a_hint(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        SearchFilter(**wrong)
    assert refused.value.hint
