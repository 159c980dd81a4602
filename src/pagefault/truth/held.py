"""A claim as recorded, and its current status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType
from pagefault.truth.claim import Authority


class Status(StrEnum):
    STANDING = "standing"
    SUPERSEDED = "superseded"
    MERGED = "merged"  # it says what another does, and is further proof of that
    RETRACTED = "retracted"
    STALE = "stale"  # its evidence changed, or is gone
    EXPIRED = "expired"  # its time is over, until it is checked again
    UNTRUSTED = "untrusted"  # it would stand if its memory were adopted
    WITHDRAWN = "withdrawn"  # a person withdrew it with its evidence
    CLOSING = "closing"  # a retraction: it closed another, and holds nothing itself


class LapseReason(StrEnum):
    """Why a claim that nothing closed does not hold."""

    SOURCE = "source"  # a claim that it rests on no longer holds
    EVIDENCE = "evidence"  # words that it rests on are gone
    FAILED = "failed"  # its last check failed
    UNCHECKED = "unchecked"  # it was not checked for longer than its kind is trusted
    OLD = "old"  # it was made too long ago
    ENDED = "ended"  # a ruling said that its time is over


_EXPIRED: Final = frozenset({LapseReason.UNCHECKED, LapseReason.OLD, LapseReason.ENDED})


@dataclass(frozen=True, slots=True)
class Lapse:
    """Why a claim does not hold; `by` is the claim that it rests on, if that is the reason."""

    why: LapseReason
    by: PageId = PageId("")

    @property
    def status(self) -> Status:
        return Status.EXPIRED if self.why in _EXPIRED else Status.STALE

    @property
    def told(self) -> str:
        """The same in a few words, as a label in the window: never words of a claim."""
        match self.why:
            case LapseReason.SOURCE:
                why = f"it rests on {self.by}, which no longer holds"
            case LapseReason.EVIDENCE:
                why = "words that it rests on are gone"
            case LapseReason.FAILED:
                why = "the last check of it failed"
            case LapseReason.UNCHECKED:
                why = "not checked for too long"
            case LapseReason.OLD:
                why = "made too long ago"
            case LapseReason.ENDED:
                why = "its time is over"
        return f"{self.status}: {why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """`premises` are the claims that it was derived from; times are in milliseconds. A claim is
    trusted for `decay_ms` since it was made or passed a check, and `max_age_ms` in total; None is
    forever. `has_evidence` says whether all words that it rests on exist, according to its record.
    """

    claim_id: PageId
    type: ClaimType
    subject: str
    value: str
    authority: Authority
    pages: tuple[PageId, ...]
    supersedes: PageId = PageId("")
    merges: tuple[PageId, ...] = ()
    restates: PageId = PageId("")
    repeats: PageId = PageId("")
    premises: tuple[PageId, ...] = ()
    made_ms: int = 0
    decay_ms: int | None = None
    max_age_ms: int | None = None
    has_evidence: bool = True
    status: Status = Status.STANDING
    closed_by: PageId = PageId("")

    @property
    def closes(self) -> tuple[PageId, ...]:
        """The claims that it replaces or retracts."""
        return (*((self.supersedes,) if self.supersedes else ()), *self.merges)


def kind_of(kind: ClaimType) -> str:
    """Kinds that may contradict each other: decisions and facts; any other kind only itself."""
    return str(kind) if kind in _APART else "held"


_TOGETHER: Final = frozenset(
    {ClaimType.DECISION, ClaimType.FACT, ClaimType.PROJECT_FACT, ClaimType.GOAL}
)
_APART: Final = frozenset(ClaimType) - _TOGETHER - {ClaimType.RETRACTION}
