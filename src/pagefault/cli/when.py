"""Times as people type them: a day or a moment, by their own clock."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.times import is_date

_AGO: Final = re.compile(r"(\d{1,4}) (minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_DAYS_BACK: Final = {"today": 0, "yesterday": 1}
_HINT: Final = '2026-03-01, 2026-03-01T18:30, yesterday, "3 days ago", "2 hours ago"'


def first_ms(text: str, now: datetime, zone: tzinfo | None = None) -> int:
    """The beginning of the time in `text`, in milliseconds since 1970. Raises `BadInput`.

    A time without a zone is in `zone`, or else in this computer's. `now` has its zone.
    """
    return _ms(_span(text, now, zone)[0])


def after_ms(text: str, now: datetime, zone: tzinfo | None = None) -> int:
    """The end of the time in `text`: of a day its end, of a moment itself."""
    return _ms(_span(text, now, zone)[1])


def last_ms(text: str, now: datetime, zone: tzinfo | None = None) -> int:
    """The last millisecond of the time in `text`: the end of a day, a moment itself."""
    begins, ends = _span(text, now, zone)
    return _ms(ends) - 1 if ends > begins else _ms(begins)


def _span(text: str, now: datetime, zone: tzinfo | None) -> tuple[datetime, datetime]:
    text = " ".join(text.split())
    try:
        moment = _moment(text, now)
        if moment is not None:
            moment = _placed(moment, zone)
            return moment, moment
        day = datetime.combine(_day(text, now.astimezone(zone)), time())
        return _placed(day, zone), _placed(day + timedelta(days=1), zone)
    except (ValueError, OverflowError):
        raise BadInput(f"{text!r} is not a time", hint=_HINT) from None


def _moment(text: str, now: datetime) -> datetime | None:
    """A time of a day, if it is one."""
    ago = _AGO.fullmatch(text)
    if text.casefold() == "now":
        return now
    if ago and ago[2].casefold() in ("minute", "hour"):
        return now - timedelta(**{f"{ago[2].casefold()}s": int(ago[1])})
    if ago or is_date(text) or text.casefold() in _DAYS_BACK:
        return None
    return datetime.fromisoformat(text)


def _day(text: str, today: datetime) -> datetime:
    """The named day."""
    if text.casefold() in _DAYS_BACK:
        return today - timedelta(days=_DAYS_BACK[text.casefold()])
    ago = _AGO.fullmatch(text)
    if ago is None:
        return datetime.fromisoformat(text)
    number, unit = int(ago[1]), ago[2].casefold()
    if unit in ("day", "week"):
        return today - timedelta(days=number * (7 if unit == "week" else 1))
    months = today.year * 12 + today.month - 1 - number * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    day = min(today.day, monthrange(year, month + 1)[1])  # a month before the 31st: the last day
    return today.replace(year=year, month=month + 1, day=day)


def _placed(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
