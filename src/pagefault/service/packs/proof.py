"""Whether a claim may be in a pack by default."""

from __future__ import annotations

from enum import StrEnum

from pagefault.model.kinds import CheckOutcome
from pagefault.service.derived.claims import ClaimInfo
from pagefault.truth.claim import Authority
from pagefault.truth.held import Status


class Proof(StrEnum):
    PASS = "pass"  # it holds, with the user's authority, and its evidence exists
    UNPROVED = "unproved"  # it would hold, and nobody confirmed it
    STALE = "stale"  # a source changed or is gone, or its time is over
    FAILED = "failed"  # a check failed, or a person withdrew it with its sources
    CLOSED = "closed"  # replaced or retracted: it is history


def proof_of(claim: ClaimInfo) -> Proof:
    """The proof of a claim now. Only claims that pass are in a pack by default."""
    match Status(claim.status):
        case Status.STANDING:
            return Proof.PASS if claim.authority == Authority.USER else Proof.UNPROVED
        case Status.UNTRUSTED:
            return Proof.UNPROVED
        case Status.STALE | Status.EXPIRED:
            has_failed = claim.checked is not None and claim.checked.outcome is CheckOutcome.FAIL
            return Proof.FAILED if has_failed else Proof.STALE
        case Status.WITHDRAWN:
            return Proof.FAILED
        case Status.SUPERSEDED | Status.MERGED | Status.RETRACTED | Status.CLOSING:
            return Proof.CLOSED
