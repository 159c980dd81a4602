"""How something is done, as a user states it: "to deploy, run `make build`, then `make ship`".

By rules, as claims are. Two forms are believed: a purpose with two steps or more, in a sentence or
in a list under it, and what is done when (or before, or after) a tool is used, which needs one.
The whole sentence, or the whole list, is purpose and steps, so that nothing of it is left out; a
step keeps what it forbids. What is somebody else's, asked, supposed or taken back by what stands
beside it tells no procedure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pagefault.model.kinds import USERS, Role
from pagefault.model.page import Evidence
from pagefault.truth import english
from pagefault.truth.claim import Turn
from pagefault.truth.extract import is_turned
from pagefault.truth.parts import folded
from pagefault.truth.subjects import subject_key
from pagefault.truth.voice import FOREIGN, Sentence, own, sentences

STEPS_MAX: Final = 12
"""More is a document, and no page that a turn could bring in whole."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """`subject` is what it is for ("deploy"), as it was written; `steps` what is done, in order.

    `evidence` has the span of the subject, then that of each step.
    """

    subject: str
    steps: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def text(self) -> str:
        """The whole in one line."""
        if len(self.steps) == 1:
            return f"Procedure: {self.subject}: {self.steps[0]}"
        numbered = (f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        return f"Procedure: {self.subject}: {' '.join(numbered)}"


_VERB: Final = (
    r"(?:run|call|use|open|start|stop|build|push|pull|check|set|execute|do|go|create|update|edit"
    r"|apply|deploy|merge|tag|restart|install|fetch|copy|log|send|ask|load|read|write|wait|bump"
    r"|export|import|commit|rebase|test|verify|delete|remove|add|make|put|enter|click|type)"
)
_LEAD: Final = r"(?:(?:first|always|just|please|you|we|i|should|must|have to|need to|then),?\s+)*"
_PURPOSE: Final = re.compile(
    rf"^(?:(?:please|remember|note|fyi|btw|so|ok|okay)[:,]?\s+)*(?:in order )?to "
    rf"(?P<subject>[a-z][^,:;]{{1,50}}?)\s*[,:]\s*{_LEAD}(?P<steps>{_VERB}\b.*)$",
    re.IGNORECASE,
)
_OCCASION: Final = re.compile(
    rf"^(?:(?:please|remember|note|fyi|btw|so|ok|okay)[:,]?\s+)*(?P<subject>(?:when|whenever|before"
    rf"|after) (?:you |we |i )?(?:call|calling|use|using|run|running|deploy|deploying|release"
    rf"|releasing) [^,:;]{{2,50}}?),\s*{_LEAD}(?P<steps>{_VERB}\b.*)$",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    r"^(?:how (?:we|to)|to) (?P<subject>[a-z][^\n:?]{1,50}):[ \t]*\n"
    r"(?P<steps>(?:[ \t]*(?:\d+[.)]|[-*])[ \t]+\S[^\n]*(?:\n|\Z)){2,})",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:\d+[.)]|[-*])[ \t]+(?P<step>\S[^\n]*)$", re.MULTILINE)
_NEXT: Final = re.compile(
    r"\s*(?:,?\s+(?:and\s+)?(?:then|next|after that|finally|lastly),?\s+|\s*(?:→|->)\s*"
    rf"|,\s+(?:and\s+)?(?={_VERB}\b)|\s+and\s+(?={_VERB}\b))",
    re.IGNORECASE,
)
_LABELS: Final = re.compile(
    r"[ \t]*(?:how (?:we|to)|(?:in order )?to) [^\n:]{1,50}:", re.IGNORECASE
)
_SUPPOSED: Final = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|whether|would|could|might)\b"
)
_DENIED: Final = re.compile(r"\b(?:not|never|no longer|without)\b|n't\b")


def procedures(turn: Turn) -> list[Procedure]:
    """What a turn tells of how things are done. Only a user's own words tell any."""
    if turn.role is not Role.USER or turn.origin not in USERS:
        return []
    if not _MAYBE.search(turn.text) or english.OTHER_VOICES.search(folded(turn.text)):
        return []
    return [*_in_lists(turn), *_in_sentences(turn)]


_MAYBE: Final = re.compile(r"\b(?:to|how|when|whenever|before|after) \w+", re.IGNORECASE)


def _in_lists(turn: Turn) -> Iterator[Procedure]:
    """A list under its purpose; only where nothing else is said, which could be about it."""
    plain = own(turn.text, _LABELS)
    for found in _LISTED.finditer(plain):
        beside = plain[: found.start()] + plain[found.end() :]
        if FOREIGN in plain or english.DENIES.search(folded(beside)) or ":" in beside:
            continue
        if english.REVERSES.match(folded(plain[found.end() :]).lstrip()) or _is_denied(found):
            continue
        begins = found.start("steps")
        steps = [
            (begins + item.start("step"), begins + item.end("step"))
            for item in _ITEM.finditer(found["steps"])
        ]
        if len(steps) <= STEPS_MAX:
            yield _procedure(turn, found.span("subject"), steps)


def _in_sentences(turn: Turn) -> Iterator[Procedure]:
    said = sentences(turn.text, _LABELS)
    for number, sentence in enumerate(said):
        if not sentence.own or sentence.asks or _SUPPOSED.search(folded(sentence.plain)):
            continue
        if is_turned(said, number):
            continue
        for pattern, least in ((_PURPOSE, 2), (_OCCASION, 1)):
            found = pattern.match(sentence.plain)
            if found is None or _is_denied(found):
                continue
            steps = list(_steps(sentence, *found.span("steps")))
            if least <= len(steps) <= STEPS_MAX:
                at = sentence.start
                where = (at + found.start("subject"), at + found.end("subject"))
                yield _procedure(turn, where, steps)
                break


def _is_denied(found: re.Match[str]) -> bool:
    return _DENIED.search(folded(found["subject"])) is not None


def _steps(sentence: Sentence, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for found in _NEXT.finditer(sentence.plain, start, end):
        if found.start() > at:
            yield sentence.start + at, sentence.start + found.start()
        at = found.end()
    if at < end:
        yield sentence.start + at, sentence.start + end


def _procedure(turn: Turn, subject: tuple[int, int], steps: list[tuple[int, int]]) -> Procedure:
    return Procedure(
        subject=_written(turn.text, subject),
        steps=tuple(_written(turn.text, step) for step in steps),
        evidence=tuple(_span(turn, *piece) for piece in (subject, *steps)),
    )


def _span(turn: Turn, start: int, end: int) -> Evidence:
    said = turn.text[start:end].rstrip(".")
    first = len(turn.text[:start].encode())
    return Evidence(page_id=turn.page_id, start=first, end=first + len(said.encode()))


def _written(text: str, piece: tuple[int, int]) -> str:
    return " ".join(text[slice(*piece)].split()).rstrip(".,; ")


def bears_on(subject: str, message: str) -> bool:
    """Whether a message names what a procedure is for: every telling word of it."""
    words = set(subject_key(_OCCASIONS.sub("", subject)).split())
    return bool(words) and words <= set(subject_key(message).split())


_OCCASIONS: Final = re.compile(
    r"^(?:when|whenever|before|after) (?:you |we |i )?(?:call|calling|use|using|run|running)\s+",
    re.IGNORECASE,
)
