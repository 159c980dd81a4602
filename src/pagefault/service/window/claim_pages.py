"""Claims from their pages, for the folds of claims."""

from __future__ import annotations

from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import PAGE_PREFIX, USERS, ClaimType, Kind, Origin
from pagefault.model.page import Page
from pagefault.truth.claim import Authority
from pagefault.truth.held import Held
from pagefault.truth.lifetimes import decay_days, in_ms, max_age_days

CLAIM: Final = PAGE_PREFIX["claim"]


def is_claim(page_id: PageId) -> bool:
    """Whether this page is a claim."""
    return page_id.startswith(f"{CLAIM}_")


def held_as_written(page: Page, *, is_adopted: bool) -> Held:
    """The claim on a page. If nobody vouches for the memory, it is only proposed."""
    derived = page.derived
    assert page.row.kind is Kind.CLAIM
    assert derived is not None
    kind = ClaimType(derived.claim_type)
    return Held(
        claim_id=page.page_id,
        type=kind,
        subject=derived.subject,
        value=derived.value,
        authority=authority_of(page.row.origin) if is_adopted else Authority.PROPOSED,
        pages=derived.provenance,
        supersedes=derived.supersedes,
        merges=derived.merges,
        restates=derived.restates,
        repeats=derived.repeats,
        premises=()
        if kind is ClaimType.RETRACTION  # it names its claim: both are forgotten together
        else tuple(filter(is_claim, derived.provenance)),
        made_ms=page.row.at_ms,
        decay_ms=in_ms(decay_days(kind, derived.card)),
        max_age_ms=in_ms(max_age_days(derived.card)),
        has_evidence=all(span.start < span.end for span in derived.evidence),
    )


def authority_of(origin: Origin) -> Authority:
    return Authority.USER if origin in USERS else Authority.PROPOSED
