"""Times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pagefault.cli.when import after_ms, first_ms, last_ms
from pagefault.model.errors import BadInput

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)  # half past midnight of the first of April there


def told(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, BERLIN)
    return moment.isoformat(timespec="minutes" if not moment.second else "seconds")[:19]


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2026-03-01", "2026-03-01T00:00+01", "2026-03-02T00:00+01"),
        ("2026-03-29", "2026-03-29T00:00+01", "2026-03-30T00:00+02"),  # clocks change that night
        ("today", "2026-04-01T00:00+02", "2026-04-02T00:00+02"),
        ("Yesterday", "2026-03-31T00:00+02", "2026-04-01T00:00+02"),
        ("3 days ago", "2026-03-29T00:00+01", "2026-03-30T00:00+02"),
        ("1 week  ago", "2026-03-25T00:00+01", "2026-03-26T00:00+01"),
        ("2 months ago", "2026-02-01T00:00+01", "2026-02-02T00:00+01"),
        ("1 year ago", "2025-04-01T00:00+02", "2025-04-02T00:00+02"),
        ("2 hours ago", "2026-03-31T22:30+02", "2026-03-31T22:30+02"),
        ("now", "2026-04-01T00:30+02", "2026-04-01T00:30+02"),
        ("2026-03-01T18:30", "2026-03-01T18:30+01", "2026-03-01T18:30+01"),
        ("2026-03-01T18:30Z", "2026-03-01T19:30+01", "2026-03-01T19:30+01"),
    ],
)
def test_a_day_is_a_whole_one_by_the_users_clock(text: str, first: str, after: str) -> None:
    assert told(first_ms(text, NOW, BERLIN)) == first
    assert told(after_ms(text, NOW, BERLIN)) == after
    last = after_ms(text, NOW, BERLIN) - (first != after)
    assert last_ms(text, NOW, BERLIN) == last


def test_a_month_before_the_last_of_a_long_one_is_the_last_of_a_short_one() -> None:
    now = datetime(2026, 3, 31, 12, tzinfo=UTC)
    assert told(first_ms("1 month ago", now, BERLIN)) == "2026-02-28T00:00+01"


def test_without_a_zone_it_is_this_computers() -> None:
    here = datetime(2026, 3, 1).astimezone()
    assert first_ms("2026-03-01", NOW) == int(here.timestamp() * 1000)
    assert after_ms("2026-03-01", NOW) - first_ms("2026-03-01", NOW) >= 23 * 3_600_000
    assert first_ms("1 minute ago", NOW) == int((NOW - timedelta(minutes=1)).timestamp() * 1000)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "3 days", "2026-02-30", "9999 years ago", "1e9", "tomorrow?"],
)
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        first_ms(text, NOW, BERLIN)
    assert "yesterday" in refused.value.hint
