"""A time zone that fails, as one of a caller's own may."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import Never


class LostZone(tzinfo):
    def utcoffset(self, dt: datetime | None) -> timedelta:
        raise RuntimeError("no zone is known here")

    def dst(self, dt: datetime | None) -> Never:
        raise RuntimeError("no zone is known here")

    def tzname(self, dt: datetime | None) -> Never:
        raise RuntimeError("no zone is known here")
