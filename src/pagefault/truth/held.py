"""A claim that was written down, and what became of it."""

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
    RETRACTED = "retracted"
    STALE = "stale"  # its evidence is not there any more
    UNTRUSTED = "untrusted"  # it would stand, were its memory vouched for
    WITHDRAWN = "withdrawn"  # a person took it back with what it rests on
    CLOSING = "closing"  # a retraction: it closed another, and holds nothing itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    claim_id: PageId
    type: ClaimType
    subject: str
    value: str
    authority: Authority
    pages: tuple[PageId, ...]
    supersedes: PageId = PageId("")
    status: Status = Status.STANDING
    closed_by: PageId = PageId("")


def kind_of(kind: ClaimType) -> str:
    """Decisions and facts contradict each other; all other kinds only their own."""
    return str(kind) if kind in _APART else "held"


_APART: Final = (ClaimType.PREFERENCE, ClaimType.RULE, ClaimType.TASK)
