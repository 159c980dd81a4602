"""Procedures, as users state them: "to deploy, run `make build`, then `make ship`".

By rules, as for claims: a procedure is a whole message, so that nothing of it is left out, and a
step keeps its prohibitions. Two forms are accepted: a purpose with two steps or more, in a sentence
or in a list below it, and what to do when (or before, or after) using a tool, which needs one step.
A message that quotes, asks, supposes or adds anything is no procedure.

What this gets wrong: the last step's words may retract everything ("..., then ship was the plan").
They are in the step, and the procedure is recalled only in a turn that names the whole purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pagefault.language.english_statements import (
    DENIED,
    LISTED,
    NEXT,
    OCCASION,
    OCCASIONS,
    PURPOSE,
    SUPPOSED,
)
from pagefault.model.kinds import USERS, Role
from pagefault.model.page import Evidence
from pagefault.truth.claim import Utterance
from pagefault.truth.subjects import subject_key

_TEXT_MAX: Final = 2_000
STEPS_MAX: Final = 12
"""Anything longer is a document, and too long to recall as a whole."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """`subject` is its purpose ("deploy"), as written; `steps` are in order.

    `evidence` has the span of the subject, then that of each step.
    """

    subject: str
    steps: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def text(self) -> str:
        """The procedure in one line."""
        if len(self.steps) == 1:
            return f"Procedure: {self.subject}: {self.steps[0]}"
        numbered = (f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        return f"Procedure: {self.subject}: {' '.join(numbered)}"


_ITEM: Final = re.compile(r"^[ \t]*(?:\d+[.)]|[-*])[ \t]+(?P<step>\S[^\n]*)$", re.MULTILINE)
_PLAIN: Final = re.compile(
    r"(?:[ \t]*(?:\d+[.)]|-)[ \t])?(?:[\w \t,:`'’/+=@$%&*~<>→#]|-(?=\S)|\.(?=\S))*\.?[ \t]*"
)
"""A line that is one sentence, without quotations, brackets or dashes."""


def procedures(turn: Utterance) -> list[Procedure]:
    """The procedures that a turn states. Only a user's own words can."""
    text = turn.text.strip()
    if turn.role is not Role.USER or turn.origin not in USERS or len(text) > _TEXT_MAX:
        return []
    start = turn.text.index(text)
    for pattern, least in ((LISTED, 2), (PURPOSE, 2), (OCCASION, 1)):
        found = pattern.fullmatch(turn.text, start, start + len(text))
        if found is None or SUPPOSED.search(text.lower()) or _is_denied(found):
            continue
        if not all(_PLAIN.fullmatch(line) for line in text.split("\n")):
            return []  # asked last: it reads the whole text
        begins, ends = found.span("steps")
        cut = _listed if pattern is LISTED else _steps
        steps = list(cut(turn.text, begins, ends))
        if least <= len(steps) <= STEPS_MAX:
            return [_procedure(turn, found.span("subject"), steps)]
    return []


def _listed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for item in _ITEM.finditer(text, start, end):
        yield item.span("step")


def _is_denied(found: re.Match[str]) -> bool:
    return DENIED.search(found["subject"].lower()) is not None


def _steps(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for found in NEXT.finditer(text, start, end):
        if found.start() > at:
            yield at, found.start()
        at = found.end()
    if at < end:
        yield at, end


def _procedure(
    turn: Utterance, subject: tuple[int, int], steps: list[tuple[int, int]]
) -> Procedure:
    return Procedure(
        subject=_written(turn.text, subject),
        steps=tuple(_written(turn.text, step) for step in steps),
        evidence=tuple(_span(turn, *piece) for piece in (subject, *steps)),
    )


def _span(turn: Utterance, start: int, end: int) -> Evidence:
    said = turn.text[start:end].rstrip(".")
    first = len(turn.text[:start].encode())
    return Evidence(page_id=turn.page_id, start=first, end=first + len(said.encode()))


def _written(text: str, piece: tuple[int, int]) -> str:
    return " ".join(text[slice(*piece)].split()).rstrip(".,; ")


def bears_on(subject: str, message: str) -> bool:
    """Whether a message names a procedure's purpose: every significant word of it."""
    words = set(subject_key(OCCASIONS.sub("", subject)).split())
    return bool(words) and words <= set(subject_key(message).split())
