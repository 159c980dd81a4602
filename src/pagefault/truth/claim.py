"""A claim: one thing that is held true, whose words it rests on, and how much it may be trusted."""

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
    """One page of a conversation, as far as claims are concerned: its text as it is stored."""

    page_id: PageId
    role: Role
    origin: Origin
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody decided, rules, prefers or tells.

    `value` is a sentence as it was written, whole. `subject` is what it is about; empty where that
    cannot be told, and then it takes nothing's place. `text` is the whole in one line. A retraction
    names what no longer stands: a choice (`instead_of`), or words of what was said (`about`).
    """

    type: ClaimType
    subject: str
    value: str
    text: str
    evidence: tuple[Evidence, ...]  # of a message: the first is in the turn that made the claim
    authority: Authority
    origin: Origin
    confidence: float
    instead_of: str = ""  # the choice that this one takes the place of, if it was named
    about: str = ""
    resting_on: tuple[PageId, ...] = ()  # of a retraction: it closes all that rests on these pages
    premises: tuple[PageId, ...] = ()  # the claims that it was derived from
    card: CardFacts = NO_FACTS
    digest: str = ""  # of what a person was shown who agreed to it

    @property
    def pages(self) -> tuple[PageId, ...]:
        """The pages that it rests on, each once, the newest first; then its premises."""
        spans = (span.page_id for span in self.evidence)
        return tuple(dict.fromkeys((*spans, *self.premises)))


def wording(kind: ClaimType, value: str, *, how: str = "") -> str:
    """A claim in one line; `how` it came to be one: agreed, proposed. Nothing is put around the
    value that could change what it says.
    """
    name = kind.replace("_", " ").capitalize()
    return f"{name}{f' ({how})' if how else ''}: {value}"
