"""Checks of claims, as records: the findings for each, or a person's verdict.

A check with the same finding as the last one is written at most once an hour. Trust is counted in
days, so an earlier one says nothing new, and a loop cannot fill the log with checks of one claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import ClaimRuled, Draft
from pagefault.model.ids import PageId
from pagefault.model.kinds import Actor, CheckOutcome, RulingKind, Validator
from pagefault.model.times import HOUR_MS
from pagefault.service.derived.claims import Claims
from pagefault.service.ownership import Owned
from pagefault.service.turn.claim_validators import ClaimCheck, Look, Validators, outcome_of
from pagefault.service.turn.stated_claims import StatedClaims
from pagefault.truth.held import Held


class ClaimChecks:
    """Plans the check records of one session. Blocks on the store and on the disk."""

    def __init__(
        self, owned: Owned, claims: Claims, stated: StatedClaims, root: Path | None
    ) -> None:
        self._owned = owned
        self._claims = claims
        self._stated = stated
        self._validators = Validators(owned, root)

    def plan(
        self, claim_ids: Sequence[PageId], verdict: CheckOutcome | None
    ) -> tuple[list[Draft], tuple[ClaimCheck, ...]]:
        """The records of checks of these claims, or of all that hold, and the result of each.
        Checks without a result are not written.
        """
        book = self._claims.book(self._owned.state)
        held = [self._stated.standing(book, one) for one in claim_ids] or book.standing()
        if verdict is not None:
            looks = [Look(validator=Validator.PERSON, ref=claim_ids[0], outcome=verdict)]
            told = [self._check(claim_ids[0], looks)]
            return [self._draft(told[0], Actor.USER)], tuple(told)
        told = []
        for one in held:
            with suppress(RecordGone, ArchiveMissing, KeyError):  # it cannot be checked
                page = self._owned.state.read_page(one.claim_id)
                looks = [*self._validators.look(page), *self._premises(one)]
                told.append(self._check(one.claim_id, looks))
        return [self._draft(one, Actor.SYSTEM) for one in told if one.done], tuple(told)

    def _premises(self, held: Held) -> Iterator[Look]:
        """Whether the premises of a claim hold."""
        book = self._claims.book(self._owned.state)
        holding = {one.claim_id for one in book.holding(self._owned.runtime.clock.now_ms())}
        for premise in map(book.now, held.premises):
            is_right = premise in holding
            yield Look(
                validator=Validator.SOURCES,
                ref=premise,
                outcome=CheckOutcome.PASS if is_right else CheckOutcome.FAIL,
                why="" if is_right else "it does not hold any more",
            )

    def _check(self, claim_id: PageId, looks: Sequence[Look]) -> ClaimCheck:
        """The outcome of the findings. If a source fails, nothing is written: the claim is stale
        anyway, and valid again once the source is.
        """
        outcome = outcome_of(looks)
        failed = {one.validator for one in looks if one.outcome is CheckOutcome.FAIL}
        check = ClaimCheck(claim_id=claim_id, outcome=outcome, looks=tuple(looks))
        is_told = outcome is not CheckOutcome.UNKNOWN and Validator.SOURCES not in failed
        return replace(check, done=is_told and self._is_news(check))

    def _is_news(self, check: ClaimCheck) -> bool:
        """Whether the last check had another outcome or author, or was an hour ago."""
        last = self._claims.book(self._owned.state).checked(check.claim_id)
        if last is None or Validator.PERSON in check.validators:
            return True
        is_other = (check.outcome, check.validators) != (last.body.outcome, last.body.validators)
        return is_other or self._owned.runtime.clock.now_ms() - last.at_ms >= HOUR_MS

    def _draft(self, check: ClaimCheck, actor: Actor) -> Draft:
        ruling = ClaimRuled(
            claim_id=check.claim_id,
            what=RulingKind.CHECKED,
            outcome=check.outcome,
            validators=check.validators,
        )
        return self._owned.draft(ruling, actor)
