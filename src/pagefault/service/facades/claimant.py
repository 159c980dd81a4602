"""Stated claims: make, edit, confirm, contradict, validate and retract them.

This is the sure way: rules find claims in few messages, and the rest is found by search alone. Like
every verb that writes, each runs whole or not at all, and a retry with the same `key` returns the
first result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pagefault.model.errors import BadInput
from pagefault.model.events import Draft
from pagefault.model.ids import PageId
from pagefault.model.kinds import CheckOutcome
from pagefault.model.page import NO_FACTS, CardFacts, Evidence, FileQuote, Quote
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_path, a_short_text, one_of
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.turn.claim_checks import ClaimChecks
from pagefault.service.turn.claim_revisions import ClaimRevisions, Revision
from pagefault.service.turn.claim_validators import ClaimCheck
from pagefault.service.turn.reflection import Lesson, Reflection
from pagefault.service.turn.stated_claims import (
    Stated,
    StatedClaims,
    a_channel,
    a_kind,
    check_facts,
)


@checked_verbs(usable=check_open)
class Claimant(SessionParts):
    """The verbs that make, change and end claims."""

    async def claim(
        self,
        value: str,
        *,
        evidence: Sequence[str | Quote | Evidence | FileQuote] = (),
        derived_from: Sequence[str] = (),
        kind: str = "decision",
        subject: str = "",
        replaces: str = "",
        facts: CardFacts = NO_FACTS,
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Hold `value` true, on the `evidence` of what was said: words, `Quote`s or spans of pages,
        or words of a file (`FileQuote`), which must be there; or because the claims that it is
        `derived_from` hold. Once one of them no longer holds, this claim is stale.

        Returns the claim's id, or that of an existing claim that says the same. `kind` is
        "decision", "preference", "fact", "project_fact", "procedure", "gotcha", "task" (the state
        of some work), "glossary", "entity", "context" or "rule" (which every request recites).
        `facts` give its scope, its owner and how long it is trusted.

        `origin` is the channel that the claim came through: "user_typed" if the user states it, in
        whatever words; "model_generated" if a model proposes it. It has the user's authority if
        that is the user's channel and the user typed all the evidence. Otherwise it is proposed:
        recalled, but never in the core.

        It replaces the claim on the same `subject`, or the claim whose id is `replaces`; a proposed
        claim replaces nothing that has the user's authority. Raises `BadInput` for words that
        nobody said, and `NoSuchPage`.
        """
        if not value.strip():
            raise BadInput("a claim must not be blank", hint="state what holds")
        return await self._state_claim(
            value,
            evidence,
            kind=kind,
            subject=subject,
            replaces=replaces,
            origin=origin,
            key=key,
            derived_from=derived_from,
            facts=facts,
            dry_run=dry_run,
        )

    async def remember(
        self,
        words: str,
        *,
        page_id: str = "",
        kind: str = "fact",
        subject: str = "",
        replaces: str = "",
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """State a claim in the words that were said: `claim`, with the words themselves as
        evidence.

        The words must be in the page `page_id` or, without one, in anything that was said: what the
        user typed comes first, and the newest before the rest. If nobody has said them yet, log
        them first with `user` or `document`.
        """
        return await self._state_claim(
            "",
            [Quote(words, page_id)],
            kind=kind,
            subject=subject,
            replaces=replaces,
            origin=origin,
            key=key,
            dry_run=dry_run,
        )

    async def retract(
        self, claim_id: str, *, origin: str = "user_typed", key: str = "", dry_run: bool = False
    ) -> PageId:
        """Retract a claim: it is kept, but no longer holds. Returns the id of the retraction note.

        Raises `BadInput` if the claim does not hold, and if a channel other than the user's
        retracts one that has the user's authority. Claims derived from it become stale.

        With `dry_run`, here as everywhere, nothing is written, and the same errors are raised.
        """
        channel = a_channel(origin)
        return await self._plan(
            lambda claims: claims.plan_retraction(PageId(claim_id), channel, key), dry_run=dry_run
        )

    async def edit_claim(
        self,
        claim_id: str,
        *,
        value: str | None = None,
        subject: str | None = None,
        kind: str | None = None,
        evidence: Sequence[str | Quote | Evidence | FileQuote] | None = None,
        derived_from: Sequence[str] | None = None,
        facts: CardFacts | None = None,
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Change a claim; None leaves a field as it is. Returns the claim's new id. The old claim
        is kept, closed and linked, and `undo` restores it.

        A new text makes another claim: what was derived from the old one is stale. Any other change
        leaves it the same claim. Its evidence is searched for again and, with `origin`, decides its
        authority, as for `claim`. Raises as `claim` and `retract` do.
        """
        edit = Revision(
            value=value,
            subject=None if subject is None else a_short_text(subject, called="subject"),
            kind=None if kind is None else a_kind(kind),
            evidence=evidence,
            derived_from=None if derived_from is None else tuple(map(PageId, derived_from)),
            facts=None if facts is None else check_facts(facts, kind or ""),
        )
        channel = a_channel(origin)
        return await self._revise(
            lambda claims: claims.plan_edit(PageId(claim_id), edit, channel, key), dry_run=dry_run
        )

    async def merge_claims(
        self,
        claim_ids: Sequence[str],
        *,
        value: str = "",
        subject: str = "",
        origin: str = "user_typed",
        key: str = "",
        dry_run: bool = False,
    ) -> PageId:
        """Replace several claims of one kind with one, on the evidence of all of them. If they
        differ, `value` is the text that holds. Returns its id; the others are kept, closed and
        linked. Raises as `claim` and `retract` do.
        """
        channel, ids = a_channel(origin), list(map(PageId, claim_ids))
        a_short_text(subject, called="subject")
        return await self._revise(
            lambda claims: claims.plan_merge(ids, value, subject, channel, key), dry_run=dry_run
        )

    async def confirm_claim(
        self, claim_id: str, digest: str, *, key: str = "", dry_run: bool = False
    ) -> PageId:
        """Give a proposed claim the user's authority: a person has read it, and passes the `digest`
        that `claims` returned with exactly this text. Returns the claim's new id; it replaces the
        claim on its subject. For people: no agent should have access to this.

        Raises `BadInput` for another digest, and for a claim that does not hold.
        """
        return await self._revise(
            lambda claims: claims.plan_confirmation(PageId(claim_id), digest, key), dry_run=dry_run
        )

    async def expire_claim(
        self, claim_id: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Expire a claim. It is kept, no request shows it as valid, and what was derived from it is
        stale. `undo` reverts that. Raises as `retract` does.
        """
        channel = a_channel(origin)
        await self._revise(
            lambda claims: claims.plan_end(PageId(claim_id), channel), dry_run=dry_run
        )

    async def contradict_claim(
        self, claim_id: str, other: str, *, origin: str = "user_typed", dry_run: bool = False
    ) -> None:
        """Record that two claims contradict each other. Both stay, each names the other, and a
        person who knows better retracts or edits one. Raises `BadInput` unless both hold, and
        `NoSuchPage`.
        """
        channel = a_channel(origin)
        await self._revise(
            lambda claims: claims.plan_contradiction(PageId(claim_id), PageId(other), channel),
            dry_run=dry_run,
        )

    async def validate_claims(
        self,
        claim_ids: Sequence[str] = (),
        *,
        root: str = "",
        verdict: str = "",
        dry_run: bool = False,
    ) -> tuple[ClaimCheck, ...]:
        """Check claims, or all that hold: whether the words, files, commands and tests that they
        rest on still exist and still say so, and their branch still exists. Files and branches are
        looked up in the project's folder `root`. A claim that fails is stale until it passes; one
        that passes is trusted anew, for as long as its kind is.

        With a `verdict`, "pass" or "fail", a person rules on the named claims, whatever the check
        finds; `undo` reverts that. Raises `BadInput`, and `NoSuchPage` for an id that is not a
        claim's.
        """
        said = one_of(CheckOutcome, verdict, "verdict") if verdict else None
        ids = list(dict.fromkeys(map(PageId, claim_ids)))
        if said is CheckOutcome.UNKNOWN or (said is not None and len(ids) != 1):
            raise BadInput(
                "a verdict is pass or fail, for a single claim",
                hint="leave it out to check all claims",
            )
        folder = a_path(root, called="root") if root else None

        def plan() -> tuple[list[Draft], tuple[ClaimCheck, ...]]:
            return ClaimChecks(self.owned, self._claims, self._stated(), folder).plan(ids, said)

        told = await self.owned.carry_out(plan, dry_run=dry_run)
        return tuple(replace(one, done=False) for one in told) if dry_run else told

    async def reflect(self, *, dry_run: bool = False) -> tuple[Lesson, ...]:
        """Derive lessons from finished work: for each command or test run that failed here and
        later succeeded, a proposed claim of the kind "gotcha", with both results and the files
        changed in between; and for each claim of the kind "task" that `expire_claim` ended, if it
        rests on results that succeeded, a "procedure" on these. Each is proposed once, even if it
        was retracted. Returns all of them.
        """
        self.owned.check_there()
        return await Reflection(self.owned, self._claims, self._labels).reflect(dry_run=dry_run)

    async def _state_claim(
        self,
        value: str,
        evidence: Sequence[str | Quote | Evidence | FileQuote],
        *,
        kind: str,
        subject: str,
        replaces: str,
        origin: str,
        key: str,
        derived_from: Sequence[str] = (),
        facts: CardFacts = NO_FACTS,
        dry_run: bool = False,
    ) -> PageId:
        stated = Stated(
            value=value,
            evidence=evidence,
            kind=a_kind(kind),
            subject=a_short_text(subject, called="subject"),
            replaces=PageId(replaces),
            origin=a_channel(origin),
            key=key,
            derived_from=tuple(map(PageId, derived_from)),
            facts=check_facts(facts, kind),
        )
        return await self._plan(lambda claims: claims.plan(stated), dry_run=dry_run)

    async def _revise(
        self, plan: Callable[[ClaimRevisions], tuple[list[Draft], PageId]], *, dry_run: bool
    ) -> PageId:
        return await self._plan(
            lambda stated: plan(ClaimRevisions(self.owned, self._claims, stated)), dry_run=dry_run
        )

    async def _plan(
        self, plan: Callable[[StatedClaims], tuple[list[Draft], PageId]], *, dry_run: bool = False
    ) -> PageId:
        """Carry out a plan; with `dry_run`, only return the id that it would have."""
        return await self.owned.carry_out(lambda: plan(self._stated()), dry_run=dry_run)

    def _stated(self) -> StatedClaims:
        return StatedClaims(self.owned, self._claims, self._labels)
