"""Whether something is in memory, and if not, why not: never said, or said and retracted.

Search results say nothing about what was not found. Here the claims relevant to a question are
followed to their current status, so that a retracted one is neither returned as valid nor passed
over as if it had never been said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pagefault.language.analyzer import forms_of, query_words
from pagefault.model.ids import PageId
from pagefault.model.kinds import ClaimType
from pagefault.model.page import Scope
from pagefault.model.reprs import outline
from pagefault.recall.analyzed import has_question_mark
from pagefault.recall.search import SearchHit
from pagefault.service.derived.claims import ClaimInfo
from pagefault.service.lookup.session_search import ANSWERS_COVERAGE
from pagefault.store.api import PageIndex
from pagefault.store.languages import languages_in
from pagefault.store.rarity import rarity

PAGES_MAX: Final = 5
# A choice, not fitted: docs/decisions/096 has what it came to on sentences written afterwards.
ABOUT: Final = 0.6  # of what the best page has of a question: then a claim has the same subject


class Unknown(StrEnum):
    """Why something is not in memory."""

    NEVER_SAID = "never_said"  # no page and no claim has half of the question's content words
    RETRACTED = "retracted"
    STALE = "stale"  # a source changed
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    NOT_HELD = "not_held"  # it was discussed, and no claim of the requested kind holds it


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Whether memory has an answer. `claims` are those that hold, or, if none does, those that did;
    `pages` are relevant messages. If nothing holds, `reason` says why (never_said, retracted,
    stale, expired, withdrawn, not_held), and `told` is the same as a sentence.
    """

    is_known: bool
    claims: tuple[PageId, ...] = ()
    pages: tuple[PageId, ...] = ()
    reason: str = ""
    told: str = ""

    def __repr__(self) -> str:
        found = ", ".join([*self.claims, *self.pages])
        return outline("known" if self.is_known else self.reason, found, self.told)


_TOLD: Final = {
    Unknown.RETRACTED: "{claim} said so and was taken back by {by}",
    Unknown.STALE: "{claim} said so and is stale: {why}",
    Unknown.EXPIRED: "{claim} said so and is expired: {why}",
    Unknown.WITHDRAWN: "{claim} said so and was withdrawn",
}


def known_of(
    claims: Mapping[PageId, ClaimInfo],
    found: Sequence[SearchHit],
    said: Sequence[SearchHit],
    kinds: Collection[ClaimType] = (),
    withdrawn: Sequence[PageId] = (),
) -> Knowledge:
    """What is known, given every claim, and the claims and pages found. With `kinds` only claims of
    these count, and no page does. `withdrawn` claims, which no search finds, are the reason only
    where nothing found is. Pure.
    """
    bear = [hit.page.page_id for hit in found if _bears(hit)]
    if kinds:
        bear = [one for one in bear if one in claims and claims[one].type in kinds]
    now = list(dict.fromkeys(_now(one, claims) for one in bear))
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
    gone = tuple(one for one in withdrawn if not kinds or claims[one].type in kinds)
    if gone and (kinds or not pages):
        why = _TOLD[Unknown.WITHDRAWN].format(claim=gone[0])
        return Knowledge(
            is_known=False,
            claims=gone,
            pages=pages,
            reason=str(Unknown.WITHDRAWN),
            told=f"not in memory: {why}",
        )
    if pages and kinds:
        named = " or ".join(sorted(kind.replace("_", " ") for kind in kinds))
        told = f"not in memory: it was discussed, but no {named} about it was recorded"
        return Knowledge(is_known=False, pages=pages, reason=str(Unknown.NOT_HELD), told=told)
    if pages:
        return Knowledge(is_known=True, pages=pages)
    return Knowledge(
        is_known=False, reason=str(Unknown.NEVER_SAID), told="not in memory: nobody said it here"
    )


def about(
    index: PageIndex,
    scope: Scope,
    query: str,
    found: Sequence[ClaimInfo],
    said: Sequence[str],
) -> frozenset[PageId]:
    """The claims that match about as much of a question as the best page that is not itself a
    question; `said` are the texts of the relevant pages.

    Claims are few, so a claim about another thing may have all those words of a question that any
    claim has. Messages show which words count: *payment provider* was discussed, and a claim about
    the mail provider has half of it.
    """
    languages = tuple({*languages_in(index, scope), *languages_in(index, scope.derived)})
    words = query_words(query, languages)
    counted = index.candidates(scope, words, limit=0)
    weights = [rarity(counted.pages, one) if one else 0.0 for one in counted.frequencies]

    def told(text: str) -> float:
        forms = forms_of(query_words(text, languages))
        has = (not forms.isdisjoint(forms_of([word])) for word in words)
        return sum(weight for weight, there in zip(weights, has, strict=True) if there)

    stated = [text for text in said if not has_question_mark(text)]
    least = ABOUT * max(map(told, stated), default=0.0)
    return frozenset(
        one.claim_id
        for one in found
        if told("\n".join((one.subject, one.value, *one.quotes)).replace("_", " ")) >= least
    )


def withdrawn_about(claims: Iterable[ClaimInfo], query: str) -> list[PageId]:
    """The withdrawn claims that have half of a question's words. A withdrawn page is weighted in no
    search, so each word counts the same.
    """
    words = query_words(query)
    found = []
    for one in claims:
        if one.status == Unknown.WITHDRAWN:
            forms = forms_of(query_words(f"{one.subject}\n{one.value}"))
            has = sum(not forms.isdisjoint(forms_of([word])) for word in words)
            if words and has >= ANSWERS_COVERAGE * len(words):
                found.append(one.claim_id)
    return found


def _bears(hit: SearchHit) -> bool:
    """Whether the page itself is relevant: its neighbours do not count."""
    return hit.coverage >= ANSWERS_COVERAGE and hit.why != "neighbours"


def _now(claim_id: PageId, claims: Mapping[PageId, ClaimInfo]) -> PageId:
    """The last claim that replaced a claim, if any did; for a retracted one, itself."""
    seen: set[PageId] = set()
    while claim_id in claims and claim_id not in seen:
        seen.add(claim_id)
        closer = claims.get(claims[claim_id].closed_by)
        if claims[claim_id].status not in ("superseded", "merged") or closer is None:
            break
        claim_id = closer.claim_id
    return claim_id
