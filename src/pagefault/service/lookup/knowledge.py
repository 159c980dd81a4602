"""Whether something is in memory, and if not, why not: never said, or said and taken back.

What a search finds says nothing of what it did not find. Here the claims that bear on a question
are followed to what became of them, so that what was retracted is not told as if it held, and is
not passed over as if it had never been said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pagefault.model.ids import PageId
from pagefault.recall.search import SearchHit
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.lookup.session_search import ANSWERS_COVERAGE

PAGES_MAX: Final = 5


class Unknown(StrEnum):
    """Why something is not in memory."""

    NEVER_SAID = "never_said"  # no page and no claim has half of what the question tells
    RETRACTED = "retracted"
    STALE = "stale"  # what it rested on changed
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Whether memory has an answer. `claims` are those that hold, or, where none does, those that
    did; `pages` those that were said and bear on it. Where nothing holds, `reason` says why
    (never_said, retracted, stale, expired, withdrawn), and `told` the same in a sentence.
    """

    is_known: bool
    claims: tuple[PageId, ...] = ()
    pages: tuple[PageId, ...] = ()
    reason: str = ""
    told: str = ""


_TOLD: Final = {
    Unknown.RETRACTED: "{claim} said so and was taken back by {by}",
    Unknown.STALE: "{claim} said so and is stale: {why}",
    Unknown.EXPIRED: "{claim} said so and is expired: {why}",
    Unknown.WITHDRAWN: "{claim} said so and was withdrawn",
}


def known_of(
    claims: Mapping[PageId, ClaimInfo], found: Sequence[SearchHit], said: Sequence[SearchHit]
) -> Knowledge:
    """What is known, given every claim, those found and the pages found. Pure."""
    now = list(dict.fromkeys(_now(hit.page.page_id, claims) for hit in found if _bears(hit)))
    bearing = [claims[one] for one in now if one in claims]
    pages = tuple(hit.page.page_id for hit in said if _bears(hit))[:PAGES_MAX]
    holding = tuple(one.claim_id for one in bearing if one.status == "standing")
    if holding:
        return Knowledge(is_known=True, claims=holding, pages=pages)
    for one in bearing:
        if one.status in tuple(Unknown):
            reason = Unknown(one.status)
            why = _TOLD[reason].format(claim=one.claim_id, by=one.closed_by, why=one.why)
            return Knowledge(
                is_known=False,
                claims=tuple(each.claim_id for each in bearing),
                pages=pages,
                reason=str(reason),
                told=f"not in memory: {why}",
            )
    if pages:
        return Knowledge(is_known=True, pages=pages)
    return Knowledge(
        is_known=False, reason=str(Unknown.NEVER_SAID), told="not in memory: nobody said it here"
    )


def _bears(hit: SearchHit) -> bool:
    """Whether a page says it: what stands around a page says nothing of the page."""
    return hit.coverage >= ANSWERS_COVERAGE and hit.why != "neighbours"


def _now(claim_id: PageId, claims: Mapping[PageId, ClaimInfo]) -> PageId:
    """The claim that took a claim's place last, if any did; one that was taken back, itself."""
    seen: set[PageId] = set()
    while claim_id in claims and claim_id not in seen:
        seen.add(claim_id)
        closer = claims.get(claims[claim_id].closed_by)
        if claims[claim_id].status != "superseded" or closer is None:
            break
        claim_id = closer.claim_id
    return claim_id
