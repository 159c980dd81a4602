"""The data of one language. The code that reads it is the same for all languages; what a language
lacks is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Final, NamedTuple


class Script(StrEnum):
    """Of letters. A text in none of these has no known language."""

    LATIN = auto()
    CYRILLIC = auto()
    GREEK = auto()
    ARMENIAN = auto()
    HEBREW = auto()
    ARABIC = auto()
    DEVANAGARI = auto()
    TAMIL = auto()
    HAN = auto()
    KANA = auto()
    HANGUL = auto()


class Cue(StrEnum):
    """The meaning of a phrase. A language has a regular expression for each, in lower case.

    Those of a question are searched in the detected languages of a message, by `patterns.cue`.
    Those of a statement, from `DECISION` on, are searched in every text: none may occur in a text
    of another language with another meaning, as Spanish *sin* would.
    """

    ASKS = auto()  # begins a sentence that asks for something
    POINTS_BACK = auto()  # anywhere: refers to something said before
    WONDERS = auto()  # anywhere: somebody forgot, or wants to know, what a clause asks, or names it
    WHEN = auto()  # at the start
    HOW_MANY = auto()
    WHO_OR_WHERE = auto()  # at the start
    JOINTLY = auto()  # all named people, together
    INTERROGATIVE = auto()
    INVERTED = auto()  # a verb before its subject: a question
    TELL_ME = auto()
    LEADS_IN = auto()  # may precede a question: "and"
    JOINS_CLAUSES = auto()  # between two questions
    RELATIVE = auto()  # a relative clause
    PERSON = auto()  # a pronoun in place of a name
    RECALLS = auto()  # asks for something said before
    CORRECTS = auto()  # says that the answer before it was wrong

    DECISION = auto()
    PREFERENCE = auto()
    FACT = auto()
    STATED = auto()
    TURNING = auto()  # takes something back
    NEGATION = auto()
    TIME = auto()
    SPEAKER = auto()  # the first person; case counts
    ASKS_AT_END = auto()  # a sentence without a question mark
    ABBREVIATION = auto()  # before a full stop that ends nothing; case counts
    AFTER_ORDINAL = auto()  # after a number and a full stop that makes it an ordinal; case counts
    DATE = auto()  # a specific day, as an entity; case counts
    NUMBER = auto()  # not written in digits
    TASK_NUMBER = auto()  # before the number of a task
    NAME_JOINER = auto()  # inside a name; case counts
    COURTESY = auto()  # a whole sentence of greeting, thanks or farewell
    SMALL_TALK = auto()  # a whole sentence


class Holiday(NamedTuple):
    """When a holiday begins, and how many `days` it has. It begins on `day` of `month`; if `month`
    is 0, `day` days after Easter Sunday. With a `weekday` (0 is Monday), it begins on the first
    such day from then on.
    """

    month: int
    day: int
    days: int = 1
    weekday: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dates:
    """How days are written. Months, weekdays, units, seasons, ordinals and parts are regular
    expressions of their names, as written: including abbreviations, but not the full stop after
    them; so are holidays.

    The others are templates with groups: `{d}` a day, `{month}`, `{y}` a year, `{weekday}`,
    `{unit}`, `{n}` a number, `{nth}`, `{part}`, `{season}`, `{holiday}`; `{d2}`, `{month2}`,
    `{y2}` and so on in another branch. If a date without a preposition could be another word, put
    the preposition into the template.
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]  # from Monday
    units: Mapping[str, str]  # of "day", "week", "weekend", "month", "year"
    near: Mapping[str, int] = field(default_factory=dict)  # words, with the number of days back
    numbers: Mapping[str, int] = field(default_factory=dict)
    days: Mapping[str, int] = field(default_factory=dict)  # of a month, in words
    seasons: tuple[str, ...] = ()  # from spring, each three months long, starting in March
    ordinals: Mapping[str, int] = field(default_factory=dict)  # of weeks in a month; -1 is the last
    parts: Mapping[str, str] = field(default_factory=dict)  # to "early", "mid", "late"
    date: str = ""
    part: str = ""  # of a month
    span: str = ""  # of a month, in digits: groups `d` to `d2`, `d3` to `d4`, `d5` to `d6`
    nth: str = ""  # the weekday, weekend or week of a month
    season: str = ""
    last_season: str = ""
    this_season: str = ""
    year: str = ""
    ago: str = ""
    last: str = ""  # the unit before this one
    before_last: str = ""  # the unit before that
    this: str = ""
    weekday: str = ""  # the last such weekday
    weekday_of_last_week: str = ""
    holidays: Mapping[str, Holiday] = field(default_factory=dict)  # longer names first
    holiday: str = ""
    before_holiday: str = ""  # the unit before one, or several
    after_holiday: str = ""
    short: str = ""  # `{d}`, and perhaps a number `{m}` of a month, in digits; case counts
    doubtful_months: Set[str] = frozenset()  # lower-case ones that are also other words
    before_a_month: str = r"(?!)"  # what marks such a word as a month; by default nothing


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def counted(text: str) -> dict[str, int]:
    """The words of a text, numbered from 1; several of one number are joined with `/`."""
    return {one: at for at, each in enumerate(text.split(), 1) for one in each.split("/")}


NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """`code` is from ISO 639. `snowball` is the name of its stemmer, empty if there is none.

    Words are in lower case, with their diacritics. `stop_words` are grammatical: queries leave them
    out, and language detection counts them. `function_words` are other grammatical words, which may
    be searched for. `fillers` are further words of nearly every conversation, on any subject: no
    topic, and no news.
    """

    code: str
    script: Script
    snowball: str = ""
    stop_words: Set[str] = NONE
    function_words: Set[str] = NONE
    fillers: Set[str] = NONE
    pleasantries: Set[str] = NONE  # in thanks, praise, greetings and wishes
    around_pleasantries: Set[str] = NONE  # other words of such a sentence
    assents: Set[str] = NONE  # a sentence with one may be an answer or an order
    breaks: str = ""  # grammatical characters, at which a run without blanks is split
    greetings: Set[str] = NONE  # may begin a text before its content
    elisions: Set[str] = NONE  # words before an apostrophe that are separate words
    irregular: str = ""  # lines of a word, a colon and the forms that no rule maps to it
    opposites: Set[str] = NONE  # one more or less of them inverts a text's meaning
    names_nothing: Set[str] = NONE  # capitalised, but not names
    times: Set[str] = NONE  # a page with one of them says when
    numbers: Set[str] = NONE  # and with one of these, how many
    exact_numbers: tuple[str, ...] = ()  # words that must not be lost from a text
    anything: Set[str] = NONE  # what a question about a day and nothing else may say besides;
    # where there are no blanks, its characters
    calendar: Set[str] = NONE  # times that are neither topic nor name
    joins: Set[str] = NONE  # joins two names
    dates: Dates | None = None
    cues: Mapping[Cue, str] = field(default_factory=dict)
