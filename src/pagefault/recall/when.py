"""The days that a question names, and how near to them a page was said.

People tell of what happened on the same day or in those that follow, and now and then announce it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LASTING_DAYS: Final = 7.0  # a week after the day, a page is 1/e as near
BEFORE: Final = 3.0  # so much sooner ends nearness before the day
YEARS_MAX: Final = 200  # of which a date without a year is looked at in

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH: Final = "|".join(_MONTHS)
_DATE: Final = re.compile(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b({_MONTH})\b"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s*(?:of\s+)?((?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR: Final = re.compile(r"\b(?:in|of|since|during|from)\s+((?:19|20)\d\d)\b(?!-)", re.IGNORECASE)
_IS_A_MONTH: Final = re.compile(
    r"\b(?:in|of|since|until|till|by|during|last|this|early|mid|late|end|before|after)\W+$",
    re.IGNORECASE,
)
"""What stands before `may` and `march` where they are months."""
_AGO: Final = re.compile(
    r"\b(a|an|one|two|three|four|five|six|\d{1,3})\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE
)
_LAST: Final = re.compile(r"\b(last|this|past)\s+(week|weekend|month|year)\b", re.IGNORECASE)
_WEEKDAY: Final = re.compile(rf"\b(?:last|on|this|past)\s+({'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_NEAR_DAYS: Final = {"yesterday": 1, "today": 0, "tonight": 0}
_NEAR: Final = re.compile(rf"\b({'|'.join(_NEAR_DAYS)})\b", re.IGNORECASE)
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_UNIT_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}


class Days(NamedTuple):
    """From `first` to `last`, inclusive. Of any year if `of_any_year`: theirs is then a leap year
    that stands for it.
    """

    first: date
    last: date
    of_any_year: bool = False


def days_named(query: str, *, today: date | None = None) -> tuple[Days, ...]:
    """Dates, months and years, and what is relative to `today`, if that is known."""
    return tuple(
        dict.fromkeys([*_dates(query), *(_relative(query, today) if today is not None else ())])
    )


def days_in_digits(query: str) -> Iterator[Days]:
    """Days and months written as 2026-10-08 and 2026-10."""
    for match in _ISO.finditer(query):
        found = _of(int(match[1]), int(match[2]), match[3])
        if found is not None:
            yield found


def nearness(named: Sequence[Days], days: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each of `days` (ordinals) 0..1: 1 within what is named, less and less around it."""
    near = np.zeros(len(days))
    if not len(days):
        return near
    for one in named:
        for first, last in _spans(one, int(days.min()), int(days.max())):
            away = np.maximum(np.maximum(BEFORE * (first - days), days - last), 0)
            near = np.maximum(near, np.exp(-away / LASTING_DAYS))
    return near


def _spans(one: Days, earliest: int, latest: int) -> Iterator[tuple[int, int]]:
    if not one.of_any_year:
        yield one.first.toordinal(), one.last.toordinal()
        return
    since, until = _year(earliest), _year(latest)
    for year in range(max(since, until - YEARS_MAX), until + 1):
        yield in_year(one.first, year).toordinal(), in_year(one.last, year).toordinal()


def _year(ordinal: int) -> int:
    return date.fromordinal(min(max(ordinal, 1), date.max.toordinal())).year


def in_year(day: date, year: int) -> date:
    """The same day of another year; of February its last, where it has no 29th."""
    return day.replace(year=year, day=min(day.day, monthrange(year, day.month)[1]))


_ANY_YEAR: Final = 2000


def _dates(query: str) -> Iterator[Days]:
    for match in _DATE.finditer(query):
        before, name, after, year = match.groups()
        number = before or after
        is_word = name.lower() in ("may", "march") and not (number or year)
        if is_word and not _IS_A_MONTH.search(query[: match.start()]):
            continue
        found = _of(int(year) if year else None, _MONTHS.index(name.lower()) + 1, number)
        if found is not None:
            yield found
    yield from days_in_digits(query)
    for match in _YEAR.finditer(query):
        yield Days(date(int(match[1]), 1, 1), date(int(match[1]), 12, 31))


def _of(year: int | None, month: int, day: str | None) -> Days | None:
    """A day or a whole month; nothing if there is none such."""
    within = year or _ANY_YEAR
    if not 1 <= month <= 12:
        return None
    last = monthrange(within, month)[1]
    if day is None:
        return Days(date(within, month, 1), date(within, month, last), year is None)
    if not 1 <= int(day) <= last:
        return None
    at = date(within, month, int(day))
    return Days(at, at, year is None)


def _relative(query: str, today: date) -> Iterator[Days]:
    for match in _NEAR.finditer(query):
        yield _around(today - timedelta(_NEAR_DAYS[match[1].lower()]), 0)
    for match in _AGO.finditer(query):
        unit = _UNIT_DAYS[match[2].lower()]
        count = _COUNTS.get(match[1].lower()) or int(match[1])
        yield _around(_before(today, count * unit), unit // 4)
    for match in _WEEKDAY.finditer(query):
        back = (today.weekday() - _WEEKDAYS.index(match[1].lower()) - 1) % 7 + 1
        yield _around(today - timedelta(back), 0)
    for match in _LAST.finditer(query):
        yield _last(match[2].lower(), today, is_this=match[1].lower() == "this")


def _last(unit: str, today: date, *, is_this: bool) -> Days:
    match unit:
        case "year":
            year = today.year if is_this else max(1, today.year - 1)
            return Days(date(year, 1, 1), date(year, 12, 31))
        case "month":
            first = today.replace(day=1)
            if not is_this:
                first = _before(first, 1).replace(day=1)
            return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
        case _:
            monday = _before(today, today.weekday() + (0 if is_this else 7))
            first = monday + timedelta(5) if unit == "weekend" else monday
            return Days(first, monday + timedelta(6))


def _around(day: date, reach: int) -> Days:
    return Days(_before(day, reach), day + timedelta(reach))


def _before(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))
