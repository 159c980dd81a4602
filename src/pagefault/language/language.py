"""What the program knows of one language. All of it is data; the code that reads it is the same for
every language, and what a language does not tell is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Final


class Script(StrEnum):
    """Of letters. What is in none of these has no language that we know."""

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
    """What a phrase shows. Of each a language has a regular expression, in small letters.

    Those of a question are looked for in the languages that a message tells, by `patterns.cue`.
    Those of a statement, from `DECISION` on, are looked for in every text: none may stand in a text
    of another language with another meaning, as Spanish *sin* would.
    """

    ASKS = auto()  # at the beginning of a sentence that asks for something
    POINTS_BACK = auto()  # anywhere: to what was said before
    WHEN = auto()  # at the beginning
    HOW_MANY = auto()
    WHO_OR_WHERE = auto()  # at the beginning
    JOINTLY = auto()  # all who are named, together
    INTERROGATIVE = auto()
    INVERTED = auto()  # a verb before its subject: it asks
    TELL_ME = auto()
    LEADS_IN = auto()  # what may stand before a question: "and"
    JOINS_CLAUSES = auto()  # between two questions
    RELATIVE = auto()  # a clause that goes on
    PERSON = auto()  # a pronoun that stands for a name
    RECALLS = auto()  # asks for something said before
    CORRECTS = auto()  # says that the answer before it was wrong

    DECISION = auto()
    PREFERENCE = auto()
    FACT = auto()
    STATED = auto()
    TURNING = auto()  # takes back
    NEGATION = auto()
    TIME = auto()
    SPEAKER = auto()  # the first person; case counts
    ASKS_AT_END = auto()  # a sentence without a mark
    ABBREVIATION = auto()  # before a stop that ends nothing; case counts
    DATE = auto()  # of a certain day, as an entity; case counts
    NUMBER = auto()  # that is not written in digits
    TASK_NUMBER = auto()  # before the number of a task
    NAME_JOINER = auto()  # inside a name; case counts
    COURTESY = auto()  # a whole sentence that greets, thanks or takes leave
    SMALL_TALK = auto()  # a whole sentence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dates:
    """How days are told. Months, weekdays, units, seasons, ordinals and parts are regular expressions
    of their names, as they are written: with the abbreviations, but for a stop after them.

    The others are templates with groups: `{d}` a day, `{month}`, `{y}` a year, `{weekday}`,
    `{unit}`, `{n}` a number, `{nth}`, `{part}`, `{season}`; `{d2}`, `{month2}`, `{y2}` and so on in
    another branch. Of a date without a preposition that could be another word, write the
    preposition into the template.
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]  # from Monday
    units: Mapping[str, str]  # of "day", "week", "weekend", "month", "year"
    near: Mapping[str, int] = field(default_factory=dict)  # words, and how many days back
    numbers: Mapping[str, int] = field(default_factory=dict)
    seasons: tuple[str, ...] = ()  # from spring, each of three months from March
    ordinals: Mapping[str, int] = field(default_factory=dict)  # of weeks in a month; -1 is the last
    parts: Mapping[str, str] = field(default_factory=dict)  # to "early", "mid", "late"
    date: str = ""
    part: str = ""  # of a month
    nth: str = ""  # the weekday, weekend or week of a month
    season: str = ""
    last_season: str = ""
    this_season: str = ""
    year: str = ""
    ago: str = ""
    last: str = ""  # the unit before this one
    this: str = ""
    weekday: str = ""  # the last one of that name
    weekday_of_last_week: str = ""
    doubtful_months: Set[str] = frozenset()  # also other words, in small letters
    before_a_month: str = ""  # what shows that such a word is a month


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """`code` is ISO 639's. `snowball` is the name of its stemmer, empty where there is none.

    Words are in small letters, written with the marks that they have. `stop_words` are those of
    grammar: a query is asked without them, and by them a text tells its language; `function_words`
    are others of grammar that may be asked for. `fillers` are others that nearly every conversation has, whatever it is about: no topic, and no news.
    """

    code: str
    script: Script
    snowball: str = ""
    stop_words: Set[str] = NONE
    function_words: Set[str] = NONE
    fillers: Set[str] = NONE
    pleasantries: Set[str] = NONE  # of thanks, praise, greetings and wishes
    around_pleasantries: Set[str] = NONE  # what such a sentence says besides
    assents: Set[str] = NONE  # a sentence with one may be an answer or an order
    breaks: str = ""  # characters of grammar, at which a run without blanks is cut
    greetings: Set[str] = NONE  # what a text may begin with before it says something
    elisions: Set[str] = NONE  # what stands before an apostrophe and is a word by itself
    irregular: str = ""  # lines of a word, a colon and forms that no rule leads back to it
    opposites: Set[str] = NONE  # one more or less of them turns what a text says
    names_nothing: Set[str] = NONE  # no names, though a capital begins them
    times: Set[str] = NONE  # a page with one of them tells when
    numbers: Set[str] = NONE  # and with one of these, how many
    exact_numbers: tuple[str, ...] = ()  # words that must not be lost from a text
    anything: Set[str] = NONE  # what a question about a day and nothing else may say besides;
    # where there are no blanks, its characters
    calendar: Set[str] = NONE  # times that are neither topic nor name
    joins: Set[str] = NONE  # joins two names
    dates: Dates | None = None
    cues: Mapping[Cue, str] = field(default_factory=dict)
