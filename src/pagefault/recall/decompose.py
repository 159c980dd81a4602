"""The questions that one message asks, each by itself, so that what one of them names does not
decide for all: *where is the spare key, and when does the ferry leave?*

By form alone, in the languages that the message shows; one without any of it stays whole. The whole
is searched in any case, as a page that answers two of its questions is the best of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from pagefault.language.analyzer import is_telling
from pagefault.language.known import told_or_all
from pagefault.language.language import Cue, Language
from pagefault.language.patterns import joined
from pagefault.recall.ranking import Ranking, together

PARTS_MAX: Final = 4  # a message of more is a list of questions, which no few pages answer
READ_MAX: Final = 2_000  # characters: who pastes more than that asks about it
RAISED_MAX: Final = 3.0
"""The best page for one question of several is worth as much as the best for all of them, but no
more than so many times what it is worth by itself: *and what do you think?* finds nothing.
"""

_END: Final = re.compile(
    r"(?<=[?!？！؟])\s+|(?<=[。？！])|\n+"
    r"|(?<=[a-z0-9)]{3}\.)(?<!\bProf\.)\s+(?=[^a-z])"  # no end: "Dr. Seuss", "J. K. Rowling"
)
_NAME: Final = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-Þ][^\W\d_]+(?: [A-ZÀ-Þ][^\W\d_]+)*")


class _Cues:
    """How clauses that ask are told in the languages of a message."""

    def __init__(self, languages: Sequence[Language]) -> None:
        interrogative, inverted, tell_me, lead_in, joins, relative, person = (
            joined(cue, languages)
            for cue in (
                Cue.INTERROGATIVE,
                Cue.INVERTED,
                Cue.TELL_ME,
                Cue.LEADS_IN,
                Cue.JOINS_CLAUSES,
                Cue.RELATIVE,
                Cue.PERSON,
            )
        )
        self.asks = re.compile(
            rf"[?？؟]|^\W*(?:(?:{lead_in})\W+)*(?:{interrogative}|{inverted}|{tell_me})",
            re.IGNORECASE,
        )
        self.joint = re.compile(
            # From the first of several blanks alone: from each, a run would take its square.
            rf"(?:,|(?<![\s,]))\s+(?:{joins})(?=(?P<interrogative>{interrogative})|{inverted})",
            re.IGNORECASE,
        )
        self.unfinished = re.compile(rf"\b(?:{interrogative})\Z", re.IGNORECASE)
        """"When and where is it" """
        self.relative = re.compile(rf"\w\W+(?:{relative})", re.IGNORECASE)
        self.person = re.compile(person, re.IGNORECASE)


_cues: Final = lru_cache(maxsize=64)(_Cues)


def decompose(message: str) -> tuple[str, ...]:
    """The questions in a message, unless one is all of it. One that speaks of *her* or *them* is
    given the last name before it.
    """
    if len(message) > READ_MAX:
        return ()
    parts: list[str] = []
    name = ""
    cues = _cues(told_or_all(message))
    for clause, asks in _clauses(message, cues):
        names = _NAME.findall(clause)
        if asks and is_telling(clause):
            means_name = not names and cues.person.search(clause)
            parts.append(f"{clause} {name}" if name and means_name else clause)
        name = names[-1] if names else name
    if len(parts) > PARTS_MAX or parts == [message.strip()]:
        return ()
    return tuple(parts)


def _clauses(message: str, cues: _Cues) -> Iterator[tuple[str, bool]]:
    """What a message consists of, and whether each part asks."""
    for sentence in filter(None, map(str.strip, _END.split(message))):
        if not cues.asks.search(sentence):
            yield sentence, False
            continue
        begin = 0
        for joint in cues.joint.finditer(sentence):
            before = sentence[begin : joint.start()]
            # "... that is old and is the best of all" asks one thing.
            goes_on = not joint["interrogative"] and cues.relative.search(before)
            if not goes_on and not cues.unfinished.search(before):
                yield before, True
                begin = joint.end()
        yield sentence[begin:], True


def merged(whole: Ranking, parts: Sequence[Ranking]) -> Ranking:
    """What was found for a message and for the questions in it: each place as it does best.

    Where nothing bears on the message as a whole, the first question that finds something is what
    the others are raised to.
    """
    found = [ranking for ranking in (whole, *parts) if len(ranking)]
    if not found:
        return whole
    first = found[0]
    raised = [one.times(_raised(one, first)) for one in found[1:]]
    best = together([first, *raised]).ordered() if raised else first
    _, rows = np.unique(best.places, return_index=True)
    best = best.taken(np.sort(rows))
    return replace(best, total=max(whole.total, len(best)))


def _raised(ranking: Ranking, to: Ranking) -> float:
    """How many times as much what has this best score is worth. A short page that is near in
    meaning alone may be worth less than nothing: it stays as it is.
    """
    best, wanted = float(ranking.scores[0]), float(to.scores[0])
    return min(wanted / best, RAISED_MAX) if best > 0 < wanted else 1.0
