"""Recognising the days that a question, or a page about another day than its own, names."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, timedelta
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from pagefault.language.known import DEFAULT, LATIN, may_be_other, told, told_or_latin
from pagefault.language.language import Dates, Holiday, Language, Script
from pagefault.language.literals import Literals, may_match, needed

_ISO: Final = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR_LAST: Final = re.compile(
    r"(?<![\w.])(\d{1,2})([./]|(?<!-\d-)(?<!-\d\d-)-)(\d{1,2})\2((?:19|20)\d\d)(?!\w)"
)
_YEAR: Final = r"(?:19|20)\d\d"
_YEAR_NEEDED: Final = needed(_YEAR)
_ZEROS: Final = "\u0660\u06f0\u0966\uff10"  # Arabic, Persian, Devanagari, full-width
_ASCII_DIGITS: Final = {ord(zero) + at: str(at) for zero in _ZEROS for at in range(10)}
_OTHER_DIGIT: Final = re.compile("[" + "".join(map(chr, _ASCII_DIGITS)) + "]")
_ENDS: Final = ("d", "d2", "d3", "d4", "d5", "d6")  # groups of `Dates.span`: first and last days
_UNIT_DAYS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


class Nth(NamedTuple):
    """Days relative to a month's weekdays: from the first, second, … such weekday, or the last if
    `number` is -1. Without a weekday, a week counted from the first of the month, or the one that
    ends with its last day.
    """

    number: int
    weekday: int | None
    days: int


class FromHoliday(NamedTuple):
    """The days of a holiday, or `number` units after it (before it, if negative).

    Where it lasts several days, single days count from any of them: the day after Christmas is the
    26th to one, and the 27th to another.
    """

    holiday: Holiday
    number: int = 0
    unit: str = ""


class Days(NamedTuple):
    """From `first` to `last`, inclusive. With `of_any_year` they are in a leap year that represents
    any year; `nth` identifies days whose dates differ by year. A season may extend into the next
    year.
    """

    first: date
    last: date
    of_any_year: bool = False
    nth: Nth | FromHoliday | None = None


def days_named(query: str, *, today: date | None = None) -> tuple[Days, ...]:
    """Dates, months, years and holidays, and times relative to `today`, if given, in the languages
    of the query. Of nested ranges only the innermost: other languages may understand less of a
    date.
    """
    query = _in_ascii_digits(query)
    languages = told_or_latin(query)
    holidays = [
        days for one, text in _read_by(tuple(languages), query) for days in one.holidays(text)
    ]
    named = [*holidays, *_named(query, languages, today), *_in_short(query, languages, today)]
    return _innermost(_in_the_year(named))


def days_told(text: str, on: date) -> tuple[date, date] | None:
    """The first days (from, to; inclusive) that a text written on this day names, other than that
    day; those of any year are put into the nearest year. None for a text of unknown language.
    """
    text = _in_ascii_digits(text)
    languages = told(text) if on.year > _YEARS_BACK + 1 and on.year < date.max.year - 1 else ()
    found = _named(text, languages, on) if languages else ()
    if any(map(_is_a_year, found)) and any(one.of_any_year for one in found):
        placed: dict[Days, Days] = {}
        for clause in _CLAUSES.split(text):  # a text may name a year and, elsewhere, a month
            named = _named(clause, languages, on)
            for one, then in zip(named, _in_the_year(named), strict=True):
                if then != one:
                    placed.setdefault(one, then)
        found = tuple(placed.get(one, one) for one in found)
    for one in found:
        years = range(on.year - 1, on.year + 2) if one.of_any_year else (on.year,)
        spans = [of_year(one, year) if one.of_any_year else one[:2] for year in years]
        first, last = min(spans, key=lambda span: max(span[0] - on, on - span[1]))
        if not first == last == on:
            return first, last
    return None


def _in_ascii_digits(text: str) -> str:
    return text.translate(_ASCII_DIGITS) if _OTHER_DIGIT.search(text) else text


def _named(query: str, languages: Sequence[Language], today: date | None) -> tuple[Days, ...]:
    known = _read_by(tuple(languages), query)
    found = [days for one, text in known for days in one.dates(text)]
    found += days_in_digits(query)
    found += [days for one, text in known for days in one.seasons(text)]
    found += [days for one, text in known for days in one.years(text)]
    if today is not None:
        found += [days for one, text in known for days in one.relative(text, today)]
    return _innermost(found)


_CLAUSES: Final = re.compile(r"[,;.!?…]\s|[。！？，；،؛؟।\n]")


def _in_the_year(found: Sequence[Days]) -> Sequence[Days]:
    """Put days of any year into the year named beside them, if only one is: *in October last
    year*, *in 2024 at Easter*.
    """
    whole = {one for one in found if _is_a_year(one)}
    if len(whole) != 1:
        return found
    [(year, *_)] = whole
    return [Days(*of_year(one, year.year)) if one.of_any_year else one for one in found]


def _is_a_year(one: Days) -> bool:
    year = one.first.year
    return not one.of_any_year and one[:2] == (date(year, 1, 1), date(year, 12, 31))


def _innermost(found: Sequence[Days]) -> tuple[Days, ...]:
    """The different ones, less those that properly contain another. A text may name thousands."""
    different = _of_one_year(dict.fromkeys(found))
    dated = _Spans(one[:2] for one in different if not one.of_any_year)
    within: dict[int, list[tuple[date, date]]] = {}
    for one in different:
        year = one.first.year
        within.setdefault(year, []).append(of_year(one, year) if one.of_any_year else one[:2])
    of_years = {year: _Spans(spans) for year, spans in within.items()}

    def holds_another(one: Days) -> bool:
        if not one.of_any_year:
            return dated.any_within(one.first, one.last)
        return any(spans.any_within(*of_year(one, year)) for year, spans in of_years.items())

    return tuple(one for one in different if not holds_another(one))


def _of_one_year(found: Iterable[Days]) -> dict[Days, None]:
    """Those of any year that are also found of one year as the first such, and the others."""
    places: dict[tuple[date, date], tuple[int, Days]] = {}
    for at, one in enumerate(found):
        if not one.of_any_year:
            places.setdefault(one[:2], (at, one))
    years = {first.year for first, _ in places}

    def of_one(one: Days) -> Days:
        spans = [of_year(one, year) for year in years] if one.of_any_year else []
        return min((places[span] for span in spans if span in places), default=(0, one))[1]

    return dict.fromkeys(map(of_one, found))


class _Spans:
    """First and last days, to be asked whether any are within others."""

    def __init__(self, spans: Iterable[tuple[date, date]]) -> None:
        self._spans = sorted(set(spans))
        ends = [last for _, last in reversed(self._spans)]
        self._ends = [*accumulate(ends, min)][::-1]  # the earliest one from here on

    def any_within(self, first: date, last: date) -> bool:
        """Whether any are a proper part of these days."""
        begin = bisect_left(self._spans, (first, date.min))
        if bisect_left(self._spans, (first, last)) > begin:
            return True  # it begins with them, and ends before
        later = bisect_right(self._spans, (first, date.max))
        return later < len(self._ends) and self._ends[later] <= last


def months_named(query: str) -> Iterator[tuple[str, int]]:
    """The months that a query names, as written, with their numbers."""
    for one, text in _read_by(tuple(told_or_latin(query)), query):
        yield from one.months(text)


def days_in_digits(query: str) -> Iterator[Days]:
    """Days and months written as 2026-10-08 and 2026-10; days as 8.10.2026, and as 8/10/2026 or
    8-10-2026, which yield both readings if both are possible.
    """
    if not may_match(query, _YEAR_NEEDED):
        return
    for match in _ISO.finditer(query):
        found = _of(int(match[1]), int(match[2]), match[3])
        if found is not None:
            yield found
    for match in _YEAR_LAST.finditer(query):
        one, between, other, year = match.groups()
        orders = [(one, other)] if between == "." else [(one, other), (other, one)]
        yield from filter(None, (_of(int(year), int(month), day) for day, month in orders))


def _in_short(query: str, languages: Sequence[Language], today: date | None) -> Iterator[Days]:
    """Days in digits without a year: *am 14.3.*, *on the 9th*. One without a month is the last such
    day before today, if that is given. Only of a question: a page may mean the next one.
    """
    if not _DIGIT.search(query):
        return
    if tuple(languages) == (DEFAULT[Script.LATIN],) and may_be_other(query):
        languages = LATIN
    templates = (one.dates.short for one in languages if one.dates is not None)
    for template in filter(None, templates):
        for match in _short(template).finditer(query):
            number, month = _part(match, "d"), _part(match, "m")
            found = _of(None, int(month), number) if month else _last_such_day(int(number), today)
            if found is not None:
                yield found


def _last_such_day(number: int, today: date | None) -> Days | None:
    """The last day with this number in its month, before today."""
    if today is None:
        return None
    earlier = (_before(today, back) for back in range(1, _BACK_TO_THE_SAME_DAY + 1))
    return next((_around(day, 0) for day in earlier if day.day == number), None)


_BACK_TO_THE_SAME_DAY: Final = 61  # at most: on the 31st of July, the last one is that of May


@cache
def _short(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{([dm]\d?)\}", r"(?P<\1>\\d{1,2})", template))


_DIGIT: Final = re.compile(r"\d")


def of_year(one: Days, year: int) -> tuple[date, date]:
    """The first and last of days of any year, in this year."""
    if isinstance(one.nth, FromHoliday):
        return _from_holiday(one.nth, year)
    if one.nth is not None:
        return _nth(one.nth, year, one.first.month)
    goes_on = one.last < one.first
    return _in_year(one.first, year), _in_year(one.last, year + goes_on)


def _nth(nth: Nth, year: int, month: int) -> tuple[date, date]:
    length = monthrange(year, month)[1]
    if nth.weekday is None:
        first = length - nth.days + 1 if nth.number < 0 else 1 + nth.days * (nth.number - 1)
        return date(year, month, first), date(year, month, min(first + nth.days - 1, length))
    days = [day for day in range(1, length + 1) if date(year, month, day).weekday() == nth.weekday]
    at = days[min(nth.number, len(days)) - 1] if nth.number > 0 else days[-1]
    begins = date(year, month, at)
    return begins, begins + timedelta(nth.days - 1)


def _from_holiday(one: FromHoliday, year: int) -> tuple[date, date]:
    """The days meant in this year. One unit is the whole unit next to the holiday: the week before
    Easter has seven days. Of more units only the distance counts: two weeks after Easter is as many
    days as Easter has, fourteen days later. Weekends are counted as such.
    """
    first, last = (day.toordinal() for day in _celebrated(one.holiday, year))
    number, length = one.number, _UNIT_DAYS.get(one.unit, 0)
    if number and one.unit == "weekend":
        day = last + 1 if number > 0 else first - 2
        # The first day of the calendar is a Monday: a Saturday's ordinal is 6 modulo 7.
        saturday = day + (6 - day) % 7 if number > 0 else day - (day - 6) % 7
        first = saturday + 7 * (number - 1 if number > 0 else number + 1)
        last = first + 1
    elif number == 1 and length > 1:
        first, last = last + 1, last + length
    elif number == -1 and length > 1:
        first, last = first - length, first - 1
    else:
        first, last = first + number * length, last + number * length
    return _on(first), _on(last)


def _on(ordinal: int) -> date:
    return date.fromordinal(min(max(1, ordinal), date.max.toordinal()))


def _celebrated(holiday: Holiday, year: int) -> tuple[date, date]:
    first = date(year, holiday.month, holiday.day) if holiday.month else _easter(year)
    if not holiday.month:
        first += timedelta(holiday.day)
    if holiday.weekday is not None:
        first += timedelta((holiday.weekday - first.weekday()) % 7)
    return first, first + timedelta(holiday.days - 1)


def _easter(year: int) -> date:
    """Easter Sunday of the Western churches (Meeus, "Astronomical Algorithms", 1991)."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    i = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    month, day = divmod(h + i - 7 * ((a + 11 * h + 22 * i) // 451) + 114, 31)
    return date(year, month, day + 1)


def _in_year(day: date, year: int) -> date:
    """The same day of another year; for February 29, the last of February if need be."""
    return day.replace(year=year, day=min(day.day, monthrange(year, day.month)[1]))


_ANY_YEAR: Final = 2000


class _Names:
    """Regular expressions, each with what it names. They are compiled on first use."""

    def __init__(self, names: Mapping[str, int | str]) -> None:
        self.pattern = "|".join(f"(?:{name})" for name in names)
        self._names = names

    def meant(self, text: str) -> int | str | None:
        return next((means for name, means in self._compiled if name.fullmatch(text)), None)

    @cached_property
    def needed(self) -> tuple[Literals, ...]:
        return needed(self.pattern)

    @cached_property
    def _compiled(self) -> Sequence[tuple[re.Pattern[str], int | str]]:
        return [(re.compile(name, re.IGNORECASE), means) for name, means in self._names.items()]


_NEVER: Final = r"(?!)"
_PLACE: Final = re.compile(r"\{(d|month|y|weekday|unit|nth|n|part|season|holiday)(\d?)\}")
_UNIT: Final = re.compile(r"\{unit(\d?)\}")
_MONTH: Final = re.compile(r"\{month(\d?)\}月?")  # also 月, where a number names the month
NEEDED: Final = ("month", "weekday", "unit", "season", "holiday")
"""What days are named by, besides years: each branch of a template has one of these places."""
_PART_DAYS: Final = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}
_SEASON_MONTHS: Final = 3
_YEARS_BACK: Final = 3  # in which a season may have ended
_SPRING: Final = 3  # begins in March


class _Text:
    """A text for one reader, in lower case, and what was found in it."""

    def __init__(self, text: str) -> None:
        self.text = text.lower()
        self.found: dict[str, list[re.Match[str]]] = {}
        self._has: dict[Literals, bool] = {}

    def has(self, each: Iterable[Literals]) -> bool:
        """Whether at least one string of each set occurs."""
        for some in each:
            has = self._has.get(some)
            if has is None:
                has = self._has[some] = any(map(self.text.__contains__, some))
            if not has:
                return False
        return True


class _Template:
    """A template with names in its places. What only its pattern tells is worked out for the first
    text that has the names: a process may read a single question.
    """

    def __init__(self, pattern: str, name_needed: tuple[Literals, ...]) -> None:
        self.name_needed = name_needed
        self._pattern = pattern

    @cached_property
    def needed(self) -> tuple[Literals, ...]:
        return needed(self._pattern)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern)


class _Reader:
    """Recognises days as one language writes them."""

    def __init__(self, told: Dates, script: Script) -> None:
        self._told = told
        self._templates: dict[str, _Template] = {}
        self._names = {
            "month": _Names({name: at for at, name in enumerate(told.months, 1)}),
            "weekday": _Names({name: at for at, name in enumerate(told.weekdays)}),
            "unit": _Names({name: unit for unit, name in told.units.items()}),
            "d": _Names({**told.days, r"\d{1,2}": 0}),
            "n": _Names({**told.numbers, r"\d{1,3}": 0}),
            "nth": _Names(told.ordinals),
            "part": _Names(told.parts),
            "season": _Names({name: at for at, name in enumerate(told.seasons)}),
            "holiday": _Names({name: at for at, name in enumerate(told.holidays)}),
        }
        self._holidays = [*told.holidays.values()]
        self._beside_months = (self._relative(told.nth), self._relative(told.part))
        has_blanks = script not in (Script.HAN, Script.KANA)
        # "Last October" and "this May", where months have names, not numbers.
        of_units = (told.last, told.this) if has_blanks else ("", "")
        self._of_months = [_UNIT.sub(r"{month\1}", one) for one in of_units]
        near = "|".join(f"(?:{word})" for word in told.near) or _NEVER
        names = (self._names[name].pattern for name in NEEDED)
        self._needed = needed("|".join(filter(None, (*names, near, _YEAR))))
        self._near = re.compile(rf"(?<!\w)(?:{near})(?!\w)" if has_blanks else near)
        self._near_days = _Names(told.near)

    def may_name(self, query: _Text) -> bool:
        """Whether a text may name days. Most texts name none."""
        return query.has(self._needed)

    def dates(self, query: _Text) -> Iterator[Days]:
        narrower = self._within_months(query)
        yield from (days for days, _ in narrower)
        taken = _places(within for _, within in narrower)
        for month, number, year, span in self._dates(query):
            if _overlaps(span, taken):
                continue
            found = _of(int(year) if year else None, self._month(month), number or None)
            if found is not None:
                yield found

    def months(self, query: _Text) -> Iterator[tuple[str, int]]:
        """Each month as written, and its number."""
        for month, _, _, _ in self._dates(query):
            yield month, self._month(month)
        for template in (self._told.part, self._told.nth):
            for match in self._found(template, query):
                month = _part(match, "month")
                yield month, self._month(month)

    def _relative(self, template: str) -> str:
        """The template with *last month* or *this month* in the place of a month's name."""
        last, this = (
            _UNIT.sub(lambda _: f"(?:{self._told.units['month']})", one)
            for one in (self._told.last, self._told.this)
        )
        return _MONTH.sub(lambda at: f"(?:(?P<last{at[1]}>{last})|{this})", template)

    def _within_months(
        self, query: _Text, today: date | None = None
    ) -> list[tuple[Days, tuple[int, int]]]:
        """Parts of months that are named or, with `today`, of this month and the last one; and
        their positions.
        """
        found: list[tuple[Days, tuple[int, int]]] = []
        by_nth, by_part = (
            (self._told.nth, self._told.part) if today is None else self._beside_months
        )
        for match in self._found(self._told.span, query) if today is None else ():
            written = (match.groupdict().get(name) for name in _ENDS)
            first, last = (int(one) for one in written if one)
            if 1 <= first < last:
                days = self._of_month(match, None, (first, last), today=None)
                found.append((days, match.span()))
        for match in self._found(by_nth, query):
            number = int(self._names["nth"].meant(_part(match, "nth")) or 1)
            if _part(match, "weekday"):
                nth = Nth(number, self._weekday(match), 1)
            elif self._unit(match) == "weekend":
                nth = Nth(number, _SATURDAY, 2)
            elif self._unit(match) in ("day", "week"):
                nth = Nth(number, None, _UNIT_DAYS[self._unit(match)])
            else:
                continue
            if nth.weekday is None and number > _WEEKS:
                continue
            found.append((self._of_month(match, nth, today=today), match.span()))
        for match in self._found(by_part, query):
            part = str(self._names["part"].meant(_part(match, "part")))
            days = self._of_month(match, None, _PART_DAYS[part], today=today)
            found.append((days, match.span()))
        return found

    def _of_month(
        self,
        match: re.Match[str],
        nth: Nth | None,
        days: tuple[int, int] = (1, 31),
        *,
        today: date | None,
    ) -> Days:
        if today is None:
            year, month = int(_part(match, "y") or 0), self._month(_part(match, "month"))
        else:
            first = _unit_back("month", today, 1 if _part(match, "last") else 0).first
            year, month = first.year, first.month
        within = year or _ANY_YEAR
        length = monthrange(within, month)[1]
        first, last = (date(within, month, min(day, length)) for day in days)
        if year and nth is not None:
            return Days(*_nth(nth, within, month))
        return Days(first, last, not year, nth)

    def seasons(self, query: _Text) -> Iterator[Days]:
        """Seasons, of a given year or of any."""
        for match in self._found(self._told.season, query):
            year = _part(match, "y")
            yield self._season(match, int(year) if year else None)

    def _season(self, match: re.Match[str], year: int | None) -> Days:
        number = int(self._names["season"].meant(_part(match, "season")) or 0)
        first = _SPRING + _SEASON_MONTHS * number
        last = (first + _SEASON_MONTHS - 2) % 12 + 1
        within = year or _ANY_YEAR
        ends = within + (last < first) * (year is not None)
        length = monthrange(ends, last)[1]
        return Days(date(within, first, 1), date(ends, last, length), year is None)

    def holidays(self, query: _Text) -> Iterator[Days]:
        """Holidays and days counted from them, of a given year or of any."""
        seen: set[int] = set()
        sides = (
            (self._told.before_holiday, -1),
            (self._told.after_holiday, 1),
            (self._told.holiday, 0),
        )
        for template, side in sides:
            for match in self._found(template, query) if self._holidays else ():
                if _overlaps(match.span(), seen):
                    continue
                seen.update(range(*match.span()))
                number = _number(self._names["n"], _part(match, "n")) if side else 0
                name = self._names["holiday"].meant(_part(match, "holiday"))
                holiday = self._holidays[int(name or 0)]
                meant = FromHoliday(holiday, side * number, self._unit(match) if side else "")
                year = _part(match, "y")
                spans = _from_holiday(meant, int(year) if year else _ANY_YEAR)
                yield Days(*spans) if year else Days(*spans, of_any_year=True, nth=meant)

    def _dates(self, query: _Text) -> Iterator[tuple[str, str, str, tuple[int, int]]]:
        """Month, day and year as written, and their positions."""
        for match in self._found(self._told.date, query):
            month, number, year = (_part(match, name) for name in ("month", "d", "y"))
            number = number and str(_number(self._names["d"], number))
            is_doubtful = month.casefold() in self._told.doubtful_months and not (number or year)
            before = query.text[max(0, match.start() - _CHARS_BEFORE) : match.start()]
            if not is_doubtful or re.search(self._told.before_a_month, before):
                yield month, number, year, match.span()

    def _month(self, name: str) -> int:
        return int(self._names["month"].meant(name) or 0)

    def years(self, query: _Text) -> Iterator[Days]:
        """Years alone, outside a date or a season."""
        whole = _places(
            match.span()
            for template in (self._told.date, self._told.season)
            for match in self._found(template, query)
        )
        for match in self._found(self._told.year, query):
            if match.end() - 1 not in whole:
                year = int(_part(match, "y"))
                yield Days(date(year, 1, 1), date(year, 12, 31))

    def relative(self, query: _Text, today: date) -> Iterator[Days]:
        for match in self._near.finditer(query.text) if query.has(self._near_days.needed) else ():
            yield _around(_before(today, int(self._near_days.meant(match[0]) or 0)), 0)
        for match in self._found(self._told.ago, query):
            count = _number(self._names["n"], _part(match, "n"))
            days = _UNIT_DAYS[self._unit(match)]
            yield _around(_before(today, count * days), days // 4)
        of_months = self._within_months(query, today)
        yield from (days for days, _ in of_months)
        narrower = _places(span for _, span in (*of_months, *self._within_months(query)))
        for match in self._found(self._told.weekday, query):
            if _overlaps(match.span(), narrower):
                continue
            back = (today.weekday() - self._weekday(match) - 1) % 7 + 1
            yield _around(_before(today, back), 0)
        for match in self._found(self._told.weekday_of_last_week, query):
            yield _around(_before(today, today.weekday() + 7 - self._weekday(match)), 0)
        for template, back in (
            (self._told.before_last, 2),  # first: it contains the last one's words
            (self._told.last, 1),
            (self._told.this, 0),
        ):
            for match in self._found(template, query):
                unit = self._unit(match)
                if unit != "day" and not _overlaps(match.span(), narrower):
                    yield _unit_back(unit, today, back)
                    narrower.update(range(*match.span()))
        if not _YEARS_BACK < today.year < date.max.year:
            return
        for template, is_last in zip(self._of_months, (True, False), strict=True):
            for match in self._found(template, query):
                month = self._month(_part(match, "month"))
                first = date(today.year - (is_last and month >= today.month), month, 1)
                yield Days(first, first.replace(day=monthrange(first.year, month)[1]))
        for match in self._found(self._told.this_season, query):
            yield self._season(match, today.year)
        for match in self._found(self._told.last_season, query):
            years = range(today.year, today.year - _YEARS_BACK, -1)
            yield next(one for one in (self._season(match, y) for y in years) if one.last < today)

    def _found(self, template: str, query: _Text) -> Sequence[re.Match[str]]:
        if not template:
            return ()
        found = query.found.get(template)
        if found is None:
            known = self._templates.get(template)
            if known is None:
                known = self._templates[template] = self._template(template)
            may_match = query.has(known.name_needed) and query.has(known.needed)
            found = [*known.compiled.finditer(query.text)] if may_match else []
            query.found[template] = found
        return found

    def _template(self, template: str) -> _Template:
        kind = self._kind_needed(template)
        name_needed = self._names[kind].needed if kind else ()
        return _Template(_PLACE.sub(self._group, template), name_needed)

    def _kind_needed(self, template: str) -> str:
        """The kind of names of which every match of this template has one; "" if there is none."""
        if "{month}" in template:
            return "month"
        if template in self._beside_months:
            return "unit"  # the month
        places = (place[1] for place in _PLACE.finditer(template))
        return next((place for place in places if place in NEEDED), "")

    def _group(self, place: re.Match[str]) -> str:
        what = _YEAR if place[1] == "y" else self._names[place[1]].pattern
        return f"(?P<{place[1]}{place[2]}>{what})"

    def _weekday(self, match: re.Match[str]) -> int:
        return int(self._names["weekday"].meant(_part(match, "weekday")) or 0)

    def _unit(self, match: re.Match[str]) -> str:
        return str(self._names["unit"].meant(_part(match, "unit")))


_reader: Final = cache(_Reader)


@lru_cache(maxsize=2)  # a question's days and months are requested one after the other
def _read_by(languages: tuple[Language, ...], text: str) -> list[tuple[_Reader, _Text]]:
    known = [_reader(one.dates, one.script) for one in languages if one.dates is not None]
    read = ((one, _Text(text)) for one in known)
    return [(one, query) for one, query in read if one.may_name(query)]


_CHARS_BEFORE: Final = 40  # in which what marks a word as a month stands
_SATURDAY: Final = 5
_WEEKS: Final = 4  # whole ones in a month


def _places(spans: Iterable[tuple[int, int]]) -> set[int]:
    """The characters that any of these cover: of one template no two overlap."""
    return {at for span in spans for at in range(*span)}


def _overlaps(span: tuple[int, int], taken: Set[int]) -> bool:
    return not taken.isdisjoint(range(*span))


def _number(names: _Names, written: str) -> int:
    """A number in digits or in a word; 1 if none is written."""
    if not written:
        return 1
    return int(written) if written.isdecimal() else int(names.meant(written) or 0)


def _part(match: re.Match[str], name: str) -> str:
    """The match of a template's group, in any of its branches; empty if none."""
    groups = match.groupdict()
    return next((groups[one] for one in (name, f"{name}2", f"{name}3") if groups.get(one)), "")


def _of(year: int | None, month: int, day: str | None) -> Days | None:
    """A day or a whole month; None if it does not exist."""
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


def _unit_back(unit: str, today: date, back: int) -> Days:
    """The unit that lies `back` units before the present one: 0 is this week, 1 last week."""
    match unit:
        case "year":
            year = max(1, today.year - back)
            return Days(date(year, 1, 1), date(year, 12, 31))
        case "month":
            first = today.replace(day=1)
            for _ in range(back):
                first = _before(first, 1).replace(day=1)
            return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
        case _:
            monday = _before(today, today.weekday() + 7 * back)
            first = monday + timedelta(5) if unit == "weekend" else monday
            return Days(first, monday + timedelta(6))


def _around(day: date, reach: int) -> Days:
    return Days(_before(day, reach), day + timedelta(reach))


def _before(day: date, days: int) -> date:
    return _on(day.toordinal() - days)
