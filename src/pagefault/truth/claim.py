"""A claim: one thing that is held true, whose words it rests on, and how much it may be trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType, Origin, Role
from pagefault.model.page import Evidence


class Authority(StrEnum):
    """`user`: the user said it, or agreed to it right after it was shown. `proposed`: all else."""

    USER = "user"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class Turn:
    """One page of a conversation, as far as claims are concerned: its text as it is stored."""

    page_id: PageId
    role: Role
    origin: Origin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody decided, prefers or knows.

    `subject` is what it is about, normalised ("database"); empty where that is not known. `value`
    is as it was written. `text` is the whole in one line. A retraction names by `value` or
    `subject` what no longer stands; by neither, it is about what `about` says: the pages whose
    claims it takes back. A change may point so too ("scrap that, …").
    """

    type: ClaimType
    subject: str
    value: str
    text: str
    evidence: tuple[Evidence, ...]  # never empty; the first is in the turn that made the claim
    authority: Authority
    origin: Origin
    confidence: float
    instead_of: str = ""  # the value that this one replaces, if it was named
    changes: bool = False  # it takes the place of something, and need not say of what
    returns: bool = False  # its value held before, of a subject that it need not name
    topic: str = ""  # what was spoken of before a change that has no subject
    about: tuple[PageId, ...] = ()

    @property
    def pages(self) -> tuple[PageId, ...]:
        """The pages that it rests on, each once, the newest first."""
        return tuple(dict.fromkeys(span.page_id for span in self.evidence))


def wording(kind: ClaimType, subject: str, value: str, old: str = "") -> str:
    """A claim in one line."""
    about = f" for {_the(subject)}" if subject else ""
    was = f" (instead of {old})" if old else ""
    match kind:
        case ClaimType.DECISION:
            return f"Decision: use {value}{about}{was}"
        case ClaimType.PREFERENCE:
            return f"Preference: {value}{about}{was}"
        case ClaimType.FACT:
            return f"Fact: {subject}: {value}" if subject else f"Fact: {value}"
        case ClaimType.RULE:
            return f"Rule: {value}{about}{was}"
        case ClaimType.GOAL:
            return value
        case ClaimType.RETRACTION:
            return f"No longer: {value or subject or 'what was said before'}"


def _the(subject: str) -> str:
    """With its article, where a common noun has lost it."""
    if re.match(r"(?:[A-Z][\w'-]* |my |our |[a-z]+ing\b)", subject) or "_" in subject:
        return subject
    return f"the {subject}"
