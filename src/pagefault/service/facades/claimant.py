"""What is held true of a session, by those who say so: claims that are stated, and taken back.

The sure way: rules find claims in few messages, and search finds the rest as talk. As every verb
that writes, each runs whole or not at all, and a retry with the same `key` finds what was done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pagefault.model.errors import BadInput
from pagefault.model.events import Draft
from pagefault.model.ids import PageId
from pagefault.model.page import NO_FACTS, CardFacts, Evidence, FileQuote, Quote
from pagefault.model.signatures import checked_verbs
from pagefault.service.arguments import a_short_text
from pagefault.service.facades.parts import SessionParts, check_open
from pagefault.service.turn.stated_claims import (
    Stated,
    StatedClaims,
    a_channel,
    a_kind,
    check_facts,
)


@checked_verbs(usable=check_open)
class Claimant(SessionParts):
    """The verbs by which something comes to be held true, and not to be any more."""

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
    ) -> PageId:
        """Hold `value` true, on the `evidence` of what was said: words, `Quote`s or spans of pages,
        or words of a file (`FileQuote`), which have to be there; or because of the claims that it
        is `derived_from`, which hold. Once one of these does not, this one is stale.

        Returns the claim's id; that of the claim that says so already, if one stands. `kind` is
        "decision", "preference", "fact", "project_fact", "procedure", "gotcha", "task" (where some
        work stands), "glossary", "entity", "context" or "rule" (which every request recites).
        `facts` say where it is true, whose it is and how long it is trusted.

        `origin` is the channel that the claim came through: "user_typed" if the user states it, who
        need not have used these words; of what a model proposes "model_generated". It has the
        user's authority if that is the user's channel and all the evidence was typed by the user;
        else it is proposed: recalled, never in the core.

        It takes the place of the claim on the same `subject`, or of `replaces`, a claim's id; what
        is proposed takes the place of nothing that has the user's authority. Raises `BadInput` for
        words that nobody said, and `NoSuchPage`.
        """
        if not value.strip():
            raise BadInput("a claim of blanks says nothing", hint="say what is held true")
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
    ) -> PageId:
        """Hold true what was said, word for word: `claim`, with the words themselves as evidence.

        They have to stand in the page `page_id`, or, without one, in anything that was said: what
        the user typed counts first, the newest before the rest. What was not said yet is logged
        first, by `user` or `document`.
        """
        return await self._state_claim(
            "",
            [Quote(words, page_id)],
            kind=kind,
            subject=subject,
            replaces=replaces,
            origin=origin,
            key=key,
        )

    async def retract(self, claim_id: str, *, origin: str = "user_typed", key: str = "") -> PageId:
        """Take a claim back: it is kept, and holds no more. Returns the id of the note of that.

        Raises `BadInput` if it does not stand, and where something else than the user's channel
        would take back what has the user's authority.
        """
        channel = a_channel(origin)
        return await self._plan(
            lambda claims: claims.plan_retraction(PageId(claim_id), channel, key)
        )

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
        return await self._plan(lambda claims: claims.plan(stated))

    async def _plan(self, plan: Callable[[StatedClaims], tuple[list[Draft], PageId]]) -> PageId:
        async def verb() -> PageId:
            planned = self._runtime.journal.forgets
            await self.owned.written()  # whose word a page is, the log tells
            claims = StatedClaims(self.owned, self._claims, self._labels)
            drafts, page_id = await asyncio.to_thread(plan, claims)
            await self.owned.commit(drafts, planned=planned)
            return page_id

        return await self.owned.whole(verb)
