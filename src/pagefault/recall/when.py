"""The days that a question names, and how near to them a page was said.

People tell of what happened on the same day or in those that follow, and now and then announce it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagefault.language.known import told_or_all
from pagefault.language.language import Dates, Script

LASTING_DAYS: Final = 7.0  # a week after the day, a page is 1/e as near
BEFORE: Final = 3.0  # so much sooner ends nearness before the day
YEARS_MAX: Final = 200  # of which a date without a year is looked at in

_ISO: Final = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR_LAST: Final = re.compile(r"(?<![\w.])(\d{1,2})([./])(\d{1,2})\2((?:19|20)\d\d)(?!\w)")
_UNIT_DAYS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


class Days(NamedTuple):
    """From `first` to `last`, inclusive. Of any year if `of_any_year`: theirs is then a leap year
    that stands for it.
    """

    first: date
    last: date
    of_any_year: bool = False


def days_named(query: str, *, today: date | None = None) -> tuple[Days, ...]:
    """Dates, months and years, and what is relative to `today`, if that is known, as the languages
    say it that the query tells.
    """
    known = [_reader(one.dates, one.script) for one in told_or_all(query) if one.dates is not None]
    found = [days for one in known for days in one.dates(query)]
    found += days_in_digits(query)
    found += [days for one in known for days in one.years(query)]
    if today is not None:
        found += [days for one in known for days in one.relative(query, today)]
    return tuple(dict.fromkeys(found))


def months_named(query: str) -> Iterator[tuple[str, int]]:
    """The months that a query names, as it writes them, and which of the year each is."""
    for one in told_or_all(query):
        if one.dates is not None:
            yield from _reader(one.dates, one.script).months(query)


def days_in_digits(query: str) -> Iterator[Days]:
    """Days and months written as 2026-10-08 and 2026-10; days as 8.10.2026, and as 8/10/2026, which
    is one of two wherever both can be.
    """
    for match in _ISO.finditer(query):
        found = _of(int(match[1]), int(match[2]), match[3])
        if found is not None:
            yield found
    for match in _YEAR_LAST.finditer(query):
        one, between, other, year = match.groups()
        orders = [(one, other)] if between == "." else [(one, other), (other, one)]
        yield from filter(None, (_of(int(year), int(month), day) for day, month in orders))


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


class _Names:
    """Regular expressions and what each of them names."""

    def __init__(self, names: Mapping[str, int | str]) -> None:
        self.pattern = "|".join(f"(?:{name})" for name in names)
        self._names = [(re.compile(name, re.IGNORECASE), means) for name, means in names.items()]

    def meant(self, text: str) -> int | str | None:
        return next((means for name, means in self._names if name.fullmatch(text)), None)


_PLACE: Final = re.compile(r"\{(d|month|y|weekday|unit|n)(\d?)\}")


class _Reader:
    """Reads days as one language says them."""

    def __init__(self, told: Dates, script: Script) -> None:
        self._told = told
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._names = {
            "month": _Names({name: at for at, name in enumerate(told.months, 1)}),
            "weekday": _Names({name: at for at, name in enumerate(told.weekdays)}),
            "unit": _Names({name: unit for unit, name in told.units.items()}),
            "n": _Names({**told.numbers, r"\d{1,3}": 0}),
        }
        near = "|".join(f"(?:{word})" for word in told.near) or r"(?!)"
        has_blanks = script not in (Script.HAN, Script.KANA)
        self._near = re.compile(rf"(?<!\w)(?:{near})(?!\w)" if has_blanks else near, re.IGNORECASE)
        self._near_days = _Names(told.near)

    def dates(self, query: str) -> Iterator[Days]:
        for month, number, year in self._dates(query):
            found = _of(int(year) if year else None, self._month(month), number or None)
            if found is not None:
                yield found

    def months(self, query: str) -> Iterator[tuple[str, int]]:
        """Each month as it is written, and its number."""
        for month, _, _ in self._dates(query):
            yield month, self._month(month)

    def _dates(self, query: str) -> Iterator[tuple[str, str, str]]:
        """Month, day and year as they are written."""
        for match in self._found(self._told.date, query):
            month, number, year = (_part(match, name) for name in ("month", "d", "y"))
            is_doubtful = month.casefold() in self._told.doubtful_months and not (number or year)
            before = query[: match.start()]
            if not is_doubtful or re.search(self._told.before_a_month, before, re.IGNORECASE):
                yield month, number, year

    def _month(self, name: str) -> int:
        return int(self._names["month"].meant(name) or 0)

    def years(self, query: str) -> Iterator[Days]:
        """Years alone: that of a date is part of it."""
        dates = [match.span() for match in self._found(self._told.date, query)]
        for match in self._found(self._told.year, query):
            if not any(start < match.end() <= end for start, end in dates):
                year = int(_part(match, "y"))
                yield Days(date(year, 1, 1), date(year, 12, 31))

    def relative(self, query: str, today: date) -> Iterator[Days]:
        for match in self._near.finditer(query):
            yield _around(_before(today, int(self._near_days.meant(match[0]) or 0)), 0)
        for match in self._found(self._told.ago, query):
            number = _part(match, "n")
            count = int(number) if number.isdecimal() else int(self._names["n"].meant(number) or 0)
            days = _UNIT_DAYS[self._unit(match)]
            yield _around(_before(today, count * days), days // 4)
        for match in self._found(self._told.weekday, query):
            back = (today.weekday() - self._weekday(match) - 1) % 7 + 1
            yield _around(_before(today, back), 0)
        for match in self._found(self._told.weekday_of_last_week, query):
            yield _around(_before(today, today.weekday() + 7 - self._weekday(match)), 0)
        for template, is_this in ((self._told.last, False), (self._told.this, True)):
            for match in self._found(template, query):
                unit = self._unit(match)
                if unit != "day":
                    yield _last(unit, today, is_this=is_this)

    def _found(self, template: str, query: str) -> Iterator[re.Match[str]]:
        if template not in self._patterns:
            source = _PLACE.sub(self._group, template) or r"(?!)"
            self._patterns[template] = re.compile(source, re.IGNORECASE)
        return self._patterns[template].finditer(query)

    def _group(self, place: re.Match[str]) -> str:
        fixed = {"d": r"\d{1,2}", "y": r"(?:19|20)\d\d"}
        what = fixed.get(place[1]) or self._names[place[1]].pattern
        return f"(?P<{place[1]}{place[2]}>{what})"

    def _weekday(self, match: re.Match[str]) -> int:
        return int(self._names["weekday"].meant(_part(match, "weekday")) or 0)

    def _unit(self, match: re.Match[str]) -> str:
        return str(self._names["unit"].meant(_part(match, "unit")))


_reader: Final = cache(_Reader)


def _part(match: re.Match[str], name: str) -> str:
    """What stands at a place of a template, in whichever of its branches; empty for nothing."""
    groups = match.groupdict()
    return next((groups[one] for one in (name, f"{name}2", f"{name}3") if groups.get(one)), "")


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
