"""Whether a claim may stand in a pack unasked."""

from __future__ import annotations

from enum import StrEnum

from pagefault.model.kinds import CheckOutcome
from pagefault.service.derived.claims import ClaimInfo
from pagefault.truth.claim import Authority
from pagefault.truth.held import Status


class Proof(StrEnum):
    PASS = "pass"  # it holds, on the user's word, and its words are where it says
    UNPROVED = "unproved"  # it would hold, and nobody confirmed it
    STALE = "stale"  # what it rests on changed or is gone, or its time is over
    FAILED = "failed"  # a check of it failed, or a person took it back with what it rests on
    CLOSED = "closed"  # another took its place, or took it back: it is history


def proof_of(claim: ClaimInfo) -> Proof:
    """What is known of a claim now. Nothing but what passes stands in a pack unasked."""
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
        case Status.SUPERSEDED | Status.RETRACTED | Status.CLOSING:
            return Proof.CLOSED
