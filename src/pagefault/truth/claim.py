"""A claim: one thing that is held true, its evidence, and its authority."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType, Origin, Role
from pagefault.model.page import NO_FACTS, CardFacts, Evidence


class Authority(StrEnum):
    """`user`: the user said it, or agreed to it right after it was shown. `proposed`: all else."""

    USER = "user"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A page of a conversation, as claims need it: its stored text."""

    page_id: PageId
    role: Role
    origin: Origin
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A decision, rule, preference or fact.

    `value` is a whole sentence, as written. `subject` is what it is about; empty if unknown, and
    then it replaces nothing. `text` is the claim in one line. A retraction names what no longer
    holds: a choice (`instead_of`), or words that were said (`about`).
    """

    type: ClaimType
    subject: str
    value: str
    text: str
    evidence: tuple[Evidence, ...]  # in messages: the first is in the turn that made the claim
    authority: Authority
    origin: Origin
    confidence: float
    instead_of: str = ""  # the choice that this one replaces, if named
    about: str = ""
    resting_on: tuple[PageId, ...] = ()  # of a retraction: it closes all that rests on these
    premises: tuple[PageId, ...] = ()  # the claims that it was derived from
    card: CardFacts = NO_FACTS
    digest: str = ""  # of what was shown to the person who approved it

    @property
    def pages(self) -> tuple[PageId, ...]:
        """The pages that it rests on, without duplicates, newest first; then its premises."""
        spans = (span.page_id for span in self.evidence)
        return tuple(dict.fromkeys((*spans, *self.premises)))


def wording(kind: ClaimType, value: str, *, how: str = "") -> str:
    """A claim in one line; `how` it arose: agreed, proposed. Nothing around the value changes its
    meaning.
    """
    name = kind.replace("_", " ").capitalize()
    return f"{name}{f' ({how})' if how else ''}: {value}"
