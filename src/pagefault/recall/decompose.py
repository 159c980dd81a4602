"""The questions that one message asks, each by itself, so that what one of them names does not
decide for all: *where is the spare key, and when does the ferry leave?*

By form alone, of English questions; a message that shows none of it stays whole. The whole is
searched in any case, as a page that answers two of its questions is the best of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pagefault.recall.rank import Ranked, Ranking
from pagefault.store.analyzer import is_telling

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
_INTERROGATIVE: Final = r"(?:who|whom|whose|what|which|when|where|why|how)\b"
_INVERTED: Final = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\s+"
    r"(?:i|we|you|he|she|it|they|there|this|that|the|my|our|your|his|her|its|their)\b"
)
_ASKS: Final = re.compile(
    r"[?？؟]|^\W*(?:(?:please|and|also|so)\W+)*"
    rf"(?:{_INTERROGATIVE}|{_INVERTED}|(?:tell|remind|show)\s+me\b)",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    # From the first of several blanks alone: from each, a run of them would take its square.
    r"(?:,|(?<![\s,]))\s+(?:and|or|but)\s+(?:also\s+|then\s+)?"
    rf"(?=(?P<interrogative>{_INTERROGATIVE})|{_INVERTED})",
    re.IGNORECASE,
)
_UNFINISHED: Final = re.compile(rf"\b{_INTERROGATIVE}\Z", re.IGNORECASE)  # "when and where is it"
_RELATIVE: Final = re.compile(r"\w\W+(?:that|who|which)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-Þ][^\W\d_]+(?: [A-ZÀ-Þ][^\W\d_]+)*")
_PERSON: Final = re.compile(r"\b(?:he|she|they|him|her|them|his|their)\b", re.IGNORECASE)


def decompose(message: str) -> tuple[str, ...]:
    """The questions in a message, unless one is all of it. One that speaks of *her* or *them* is
    given the last name before it.
    """
    if len(message) > READ_MAX:
        return ()
    parts: list[str] = []
    name = ""
    for clause, asks in _clauses(message):
        names = _NAME.findall(clause)
        if asks and is_telling(clause):
            means_name = not names and _PERSON.search(clause)
            parts.append(f"{clause} {name}" if name and means_name else clause)
        name = names[-1] if names else name
    if len(parts) > PARTS_MAX or parts == [message.strip()]:
        return ()
    return tuple(parts)


def _clauses(message: str) -> Iterator[tuple[str, bool]]:
    """What a message consists of, and whether each part asks."""
    for sentence in filter(None, map(str.strip, _END.split(message))):
        if not _ASKS.search(sentence):
            yield sentence, False
            continue
        begin = 0
        for joint in _JOINT.finditer(sentence):
            before = sentence[begin : joint.start()]
            # "... that is old and is the best of all" asks one thing.
            goes_on = not joint["interrogative"] and _RELATIVE.search(before)
            if not goes_on and not _UNFINISHED.search(before):
                yield before, True
                begin = joint.end()
        yield sentence[begin:], True


def merged(whole: Ranking, parts: Sequence[Ranking]) -> Ranking:
    """What was found for a message and for the questions in it: each place as it does best.

    Where nothing bears on the message as a whole, the first question that finds something is what
    the others are raised to.
    """
    found = [ranking for ranking in (whole, *parts) if ranking.places]
    if not found:
        return whole
    first = found[0]
    if len(found) == 1:  # in its order already
        return Ranking(first.places, max(whole.total, len(first.places)))
    best: dict[int, Ranked] = {one.place: one for one in first.places}
    for ranking in found[1:]:
        raised = _raised(ranking.places[0].score, first.places[0].score)
        for one in ranking.places:
            known = best.get(one.place)
            if known is None or known.score < raised * one.score:
                best[one.place] = one.times(raised)
    places = sorted(best.values(), key=lambda one: (-one.score, one.place))
    return Ranking(tuple(places), max(whole.total, len(places)))


def _raised(best: float, to: float) -> float:
    """How many times as much what has this best score is worth. A short page that is near in
    meaning alone may be worth less than nothing: it stays as it is.
    """
    return min(to / best, RAISED_MAX) if best > 0 < to else 1.0
