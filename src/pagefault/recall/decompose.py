"""Splits a message into the questions it asks, so that the words of one do not decide for the
others: *where is the spare key, and when does the ferry leave?*

Uses form alone, in the languages detected in the message, or all if none is. The whole message is
searched as well, because a page that answers two of its questions is the best result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from pagefault.language.analyzer import is_telling
from pagefault.language.known import told_or_latin
from pagefault.language.language import Cue, Language
from pagefault.language.patterns import joined
from pagefault.recall.ranking import Ranking, together

PARTS_MAX: Final = 4  # a longer list of questions is not answered by a few pages
READ_MAX: Final = 2_000  # characters: a longer message is a paste, not questions
RAISED_MAX: Final = 3.0
"""Each question's scores are scaled up so that its best page equals the overall best, but by no
more than this factor: *and what do you think?* finds nothing.
"""

_END: Final = re.compile(
    r"(?<=[?!？！؟])\s+|(?<=[。？！])|\n+"
    r"|(?<=[a-z0-9)]{3}\.)(?<!\bProf\.)\s+(?=[^a-z])"  # not "Dr. Seuss", "J. K. Rowling"
)
_NAME: Final = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-Þ][^\W\d_]+(?: [A-ZÀ-Þ][^\W\d_]+)*")


class _Cues:
    """Patterns of clauses that ask, for the languages of a message."""

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
            # Anchored at the first of several blanks; starting at each would be quadratic.
            rf"(?:,|(?<![\s,]))\s+(?:{joins})(?=(?P<interrogative>{interrogative})|{inverted})",
            re.IGNORECASE,
        )
        self.unfinished = re.compile(rf"\b(?:{interrogative})\Z", re.IGNORECASE)
        """As in "When and where is it"."""
        self.relative = re.compile(rf"\w\W+(?:{relative})", re.IGNORECASE)
        self.person = re.compile(person, re.IGNORECASE)


_cues: Final = lru_cache(maxsize=64)(_Cues)


def decompose(message: str) -> tuple[str, ...]:
    """The questions in a message; empty if the whole message is one. A question with *her* or
    *them* gets the last name mentioned before it.
    """
    if len(message) > READ_MAX:
        return ()
    parts: list[str] = []
    name = ""
    cues = _cues(told_or_latin(message))
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
    """The clauses of a message, and whether each asks."""
    for sentence in filter(None, map(str.strip, _END.split(message))):
        if not cues.asks.search(sentence):
            yield sentence, False
            continue
        begin = 0
        for joint in cues.joint.finditer(sentence):
            before = sentence[begin : joint.start()]
            # "... that is old and is the best of all" is one question.
            goes_on = not joint["interrogative"] and cues.relative.search(before)
            if not goes_on and not cues.unfinished.search(before):
                yield before, True
                begin = joint.end()
        yield sentence[begin:], True


def merged(whole: Ranking, parts: Sequence[Ranking]) -> Ranking:
    """Merge the hits for a message with those for its questions, keeping each place's best score.

    If the whole message finds nothing, the first question that finds something sets the scale for
    the others.
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
    """The factor that scales a ranking to the best score of `to`. A short page found by meaning
    alone may score below zero; it stays as it is.
    """
    best, wanted = float(ranking.scores[0]), float(to.scores[0])
    return min(wanted / best, RAISED_MAX) if best > 0 < wanted else 1.0
