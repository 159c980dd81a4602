"""Revisions of claims: edits, merges, confirmations, ends, contradictions.

An edit of the words makes another claim in place of the first, so what was derived from the first
is stale. An edit of anything else *restates* it: the same claim, which keeps its age, its checks
and what rests on it. `undo` reverts every revision by a person.

*Confirming* gives a proposed claim the user's authority. It takes the digest of the exact words
that the person was shown, so that no others can be substituted meanwhile; no agent can call it
(`warden.py` says why).
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.errors import BadInput
from pagefault.model.events import ClaimRuled, Draft
from pagefault.model.ids import PageId
from pagefault.model.kinds import USER_APPROVED, ClaimType, Origin, RulingKind, actor_of
from pagefault.model.page import CardFacts, Derived, Evidence, FileQuote, Page, Quote
from pagefault.service.derived.claims import Claims
from pagefault.service.ownership import Owned
from pagefault.service.turn.stated_claims import Stated, StatedClaims, page_id_of
from pagefault.service.window.claim_pages import authority_of, is_claim
from pagefault.truth.claim import Authority, Claim, wording
from pagefault.truth.claims import ClaimBook, ClaimEntry
from pagefault.truth.held import Held
from pagefault.truth.subjects import value_key

CONTRADICTED_MAX: Final = 16  # others that contradict one claim; no claim has more rulings
Given = Sequence[str | Quote | Evidence | FileQuote]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The new values of a claim; None leaves a field as it is."""

    value: str | None
    subject: str | None
    kind: ClaimType | None
    evidence: Given | None
    derived_from: tuple[PageId, ...] | None
    facts: CardFacts | None


class ClaimRevisions:
    """Plans the revision records of one session. Blocks on the store."""

    def __init__(self, owned: Owned, claims: Claims, stated: StatedClaims) -> None:
        self._owned = owned
        self._runtime = owned.runtime
        self._claims = claims
        self._stated = stated

    def plan_edit(
        self, claim_id: PageId, edit: Revision, origin: Origin, key: str
    ) -> tuple[list[Draft], PageId]:
        """The records of an edited claim, and its id; no records if nothing changes."""
        known = self._stated.known(key, is_retraction=False)
        if known:
            return [], known
        book = self._book
        old = self._stated.closable(book, claim_id, authority_of(origin))
        was = self._read(old)
        facts = was.card
        if edit.facts is not None:
            facts = replace(edit.facts, files=() if edit.evidence is not None else facts.files)
        elif edit.evidence is not None:
            facts = replace(facts, files=())
        premises = tuple(filter(is_claim, was.provenance))
        value = was.value if edit.value is None else edit.value
        is_same = value_key(value) == value_key(was.value)  # then what was merged follows it
        claim = self._stated.claim(
            Stated(
                value=value,
                evidence=was.evidence if edit.evidence is None else edit.evidence,
                kind=old.type if edit.kind is None else edit.kind,
                subject=was.subject if edit.subject is None else edit.subject,
                replaces=claim_id,
                origin=origin,
                key=key,
                derived_from=premises if edit.derived_from is None else edit.derived_from,
                facts=facts,
                further=() if is_same or edit.evidence is not None else self._merged(book, old),
            )
        )
        now = was.value, was.subject, old.type, was.evidence, premises, was.card
        then = claim.value, claim.subject, claim.type, claim.evidence, claim.premises, claim.card
        if now == then:
            return [], claim_id
        self._check_sound(book, claim_id, claim.premises)
        self._stated.check_rival(book, claim, old)
        same = value_key(claim.value) == value_key(old.value)
        return self._written(
            claim, origin, key, supersedes=claim_id, restates=claim_id if same else PageId("")
        )

    def plan_merge(
        self, claim_ids: Sequence[PageId], value: str, subject: str, origin: Origin, key: str
    ) -> tuple[list[Draft], PageId]:
        """The records of one claim in place of several, on the evidence of all of them."""
        known = self._stated.known(key, is_retraction=False)
        if known:
            return [], known
        book, authority = self._book, authority_of(origin)
        ids = list(dict.fromkeys(claim_ids))
        if len(ids) < 2:
            raise BadInput("a merge needs at least two claims", hint="`Session.claims` lists them")
        old = [self._stated.closable(book, one, authority) for one in ids]
        read = [self._read(one) for one in old]
        if len({one.type for one in old}) > 1:
            kinds = ", ".join(one.type for one in old)
            raise BadInput(f"only claims of one kind can be merged, and these are {kinds}")
        if not value and len({value_key(one.value) for one in old}) > 1:
            raise BadInput("these claims differ", hint="state what holds: value=…")
        files = tuple(dict.fromkeys(file for one in read for file in one.card.files))
        claim = self._stated.claim(
            Stated(
                value=value or read[0].value,
                evidence=tuple(dict.fromkeys(span for one in read for span in one.evidence)),
                kind=old[0].type,
                subject=subject or next((one.subject for one in read if one.subject), ""),
                replaces=ids[0],
                origin=origin,
                key=key,
                derived_from=tuple(
                    dict.fromkeys(page for one in read for page in filter(is_claim, one.provenance))
                ),
                facts=replace(read[0].card, files=files),
                further=[span for one in old for span in self._merged(book, one)],
            )
        )
        for one in ids:
            self._check_sound(book, one, claim.premises)
        rival = book.rival(claim)
        if rival is not None and rival.claim_id not in ids:
            self._stated.check_rival(book, claim, old[0])
        return self._written(claim, origin, key, supersedes=ids[0], merges=tuple(ids[1:]))

    def plan_confirmation(
        self, claim_id: PageId, digest: str, key: str
    ) -> tuple[list[Draft], PageId]:
        """The records that give a proposed claim the user's authority, and its new id."""
        known = self._stated.known(key, is_retraction=False)
        if known:
            return [], known
        book = self._book
        old = self._stated.standing(book, claim_id)
        page = self._page(old)
        if old.authority is Authority.USER:
            if page.derived is not None and page.derived.digest == digest:
                return [], claim_id  # confirmed earlier with this digest
            raise BadInput(f"{claim_id} is not proposed: it has the user's authority")
        lapse = book.lapses(self._runtime.clock.now_ms()).get(claim_id)
        if lapse is not None:
            raise BadInput(f"{claim_id} does not hold: {lapse.told}", hint="check it, or edit it")
        if not hmac.compare_digest(self._runtime.quarantine.digest(page).encode(), digest.encode()):
            raise BadInput(
                f"this is not the current digest of {claim_id} as it stands",
                hint="`Session.cards` shows its words and their digest",
            )
        was = page.derived
        assert was is not None
        for premise in filter(is_claim, was.provenance):
            rests_on = book.find(book.latest(premise))
            if rests_on is not None and rests_on.authority is not Authority.USER:
                raise BadInput(
                    f"{claim_id} rests on {rests_on.claim_id}, which is not confirmed",
                    hint=f"confirm {rests_on.claim_id} first, or edit what this one rests on",
                )
        said = was.value
        if was.subject and was.subject.casefold() not in said.casefold():
            said = f"{was.subject}: {said}"
        claim = Claim(
            type=old.type,
            subject=was.subject,
            value=was.value,
            text=wording(old.type, said, how="agreed"),
            evidence=was.evidence,
            authority=Authority.USER,
            origin=USER_APPROVED,
            confidence=1.0,
            premises=tuple(filter(is_claim, was.provenance)),
            card=was.card,
            digest=digest,
        )
        rival = book.rival(claim)
        is_other = rival is not None and rival.claim_id != claim_id
        return self._written(
            claim,
            USER_APPROVED,
            key,
            supersedes=rival.claim_id if rival is not None and is_other else claim_id,
            restates=claim_id,
            merges=(claim_id,) if is_other else (),
        )

    def plan_end(self, claim_id: PageId, origin: Origin) -> tuple[list[Draft], PageId]:
        """The record that ends a claim; none if it is expired already."""
        book = self._book
        held = self._stated.closable(book, claim_id, authority_of(origin))
        if book.rulings(held.claim_id, RulingKind.ENDED):
            return [], claim_id
        body = ClaimRuled(claim_id=claim_id, what=RulingKind.ENDED)
        return [self._owned.draft(body, actor_of(origin))], claim_id

    def plan_contradiction(
        self, claim_id: PageId, other: PageId, origin: Origin
    ) -> tuple[list[Draft], PageId]:
        """The record that two claims contradict each other; none if that is known."""
        book = self._book
        if claim_id == other:
            raise BadInput("a claim cannot contradict itself", hint="name two claims")
        for one in (claim_id, other):
            self._stated.standing(book, one)
        for one, another in ((claim_id, other), (other, claim_id)):
            against = book.against(one)
            if another in against:
                return [], claim_id
            if len(against) >= CONTRADICTED_MAX:
                raise BadInput(
                    f"{one} is contradicted by {len(against)} claims already",
                    hint="retract or edit what is wrong",
                )
        body = ClaimRuled(claim_id=claim_id, what=RulingKind.CONTRADICTED, other=other)
        return [self._owned.draft(body, actor_of(origin))], claim_id

    @property
    def _book(self) -> ClaimBook:
        return self._claims.book(self._owned.state)

    def _page(self, held: Held) -> Page:
        return self._owned.state.read_page(held.claim_id)

    def _read(self, held: Held) -> Derived:
        derived = self._page(held).derived
        assert derived is not None
        return derived

    def _merged(self, book: ClaimBook, held: Held) -> list[Evidence]:
        """What the proposals rest on that were merged into a claim."""
        merged = book.merged().get(book.now(held.claim_id), ())
        return [span for one in merged for span in self._read(one).evidence]

    def _check_sound(self, book: ClaimBook, claim_id: PageId, premises: Sequence[PageId]) -> None:
        """Raise `BadInput` if a claim would rest on itself."""
        rests = {claim_id, *(one.claim_id for one in book.resting_on(claim_id))}
        for premise in premises:
            if premise in rests:
                raise BadInput(
                    f"{premise} rests on {claim_id} itself",
                    hint="a claim rests on what was said, or on claims that do not rest on it",
                )

    def _written(
        self,
        claim: Claim,
        channel: Origin,
        key: str,
        *,
        supersedes: PageId,
        restates: PageId = PageId(""),
        merges: tuple[PageId, ...] = (),
    ) -> tuple[list[Draft], PageId]:
        closed = ", ".join((supersedes, *merges))
        claim = replace(claim, text=f"{claim.text} (instead of {closed})")
        entry = ClaimEntry(claim, supersedes, restates, merges)
        draft = self._stated.draft(entry, channel, key)
        if claim.type is ClaimType.RULE and claim.authority is Authority.USER:
            self._stated.check_recited(draft, supersedes, *merges)
        return [draft], page_id_of(draft)
