"""Conversion between written times and milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from pagefault.model.errors import BadInput

DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000

_DATE: Final = re.compile(r"\d{4}-?\d\d-?\d\d")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def iso_text(at: datetime) -> str:
    """A time in ISO 8601. Raises `BadInput` if its zone fails."""
    try:
        return at.isoformat()
    except Exception as failure:  # a zone runs the caller's code
        raise BadInput(
            f"the datetime's time zone is unusable: {failure!r:.80}",
            hint="a zone of datetime or zoneinfo, or ISO 8601: 2026-03-05T08:45:00Z",
        ) from failure


def iso_ms(text: str) -> int | None:
    """An ISO 8601 time in milliseconds, or None. Without a zone of its own it is in UTC."""
    if not text:
        return None  # the usual case; raising and catching an error takes a microsecond
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return (at.astimezone(UTC) - _EPOCH) // _MS
    except (ValueError, OverflowError):  # the first and last days of the calendar have no UTC
        return None


def iso_utc(at_ms: int) -> str:
    """A time for programs: ISO 8601, UTC."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def is_date(text: str) -> bool:
    """Whether this is a day without a time."""
    return _DATE.fullmatch(text) is not None
