"""Claims that a person or a program states and retracts: the sure way to hold something true.

Authority comes from the channel and from the evidence, never from the words: a stated claim has the
user's if it came through a channel of the user's *and* every quotation is in text that a user
typed. Otherwise it has the least trusted of these origins, and is only proposed: it can be
recalled, is never in the core, and closes nothing that has the user's authority.

A claim replaces the one that it names, or the one on its subject. The records are those of claims
found in a message, so every fold takes them as such; a person's are an action that `undo` reverts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from pagefault.language.language import Cue
from pagefault.language.patterns import shows
from pagefault.model.defaults import TAIL_TOKENS
from pagefault.model.errors import ArchiveMissing, BadInput, NoSuchPage, RecordGone
from pagefault.model.events import Draft, PageBody, expected
from pagefault.model.ids import PageId, told_near
from pagefault.model.kinds import (
    GOAL_SUBJECT,
    LOCAL_FILE,
    RUNTIME,
    USERS,
    ClaimType,
    Kind,
    Origin,
    actor_of,
)
from pagefault.model.page import NO_FACTS, CardFacts, Evidence, FileQuote, Page, Quote
from pagefault.model.signatures import check_fields
from pagefault.model.trust import least_trusted
from pagefault.service.arguments import a_count, a_short_text, an_origin
from pagefault.service.derived.claims import Claims, made_of
from pagefault.service.derived.evidence import EvidenceFinder, QuotedWords
from pagefault.service.derived.file_evidence import find_in_file
from pagefault.service.derived.labels import Labels
from pagefault.service.ownership import Owned
from pagefault.service.window.claim_pages import authority_of
from pagefault.service.window.content import page_of
from pagefault.truth.claim import Authority, Claim, wording
from pagefault.truth.claims import ClaimBook, ClaimEntry, may_close
from pagefault.truth.held import Held, Status

VALUE_CHARS: Final = 500
"""Of a claim's value: it is one line, and the core holds many."""
KINDS: Final = tuple(kind for kind in ClaimType if kind not in ("goal", "retraction"))
TASK_STATE: Final = "task_state"
"""Requirement 004's card kind `task`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A claim to be stated; without a `value`, it has the words of the first quotation. `further`
    evidence is taken as far as it exists and lowers no authority.
    """

    value: str
    evidence: Sequence[str | Quote | Evidence | FileQuote]
    kind: ClaimType
    subject: str
    replaces: PageId
    origin: Origin
    key: str
    how: str = ""  # how the claim came about, if its text should say so
    derived_from: tuple[PageId, ...] = ()
    facts: CardFacts = NO_FACTS
    further: Sequence[Evidence] = ()


def a_kind(text: str) -> ClaimType:
    """A kind of claim that can be stated. Raises `BadInput`."""
    if text in KINDS:
        return ClaimType(text)
    if text == TASK_STATE:
        return ClaimType.TASK
    hints = {
        ClaimType.GOAL: "`Session.goal` sets the goal",
        ClaimType.RETRACTION: "`Session.retract` takes a claim back",
    }
    raise BadInput(
        f"{text!r:.80} is not a kind of claim that can be stated",
        hint=next((hint for kind, hint in hints.items() if kind == text), "")
        or f"one of {', '.join(KINDS)}",
    )


def check_facts(facts: CardFacts, kind: str) -> CardFacts:
    """Raise `BadInput` for facts that a claim cannot have."""
    check_fields(facts)
    for called in ("project_id", "branch", "path", "owner"):
        a_short_text(getattr(facts, called), called=called)
    for called in ("decay_days", "max_age_days"):
        a_count(getattr(facts, called) or 0, called=called)
    if facts.files:
        raise BadInput("files are evidence", hint="evidence=[FileQuote(words, path)]")
    if kind == ClaimType.RULE and (facts.decay_days or facts.max_age_days):
        raise BadInput(
            "a rule is recited until it is retracted, so it takes no days",
            hint="state it as a decision, or omit the days",
        )
    return facts


def a_channel(text: str) -> Origin:
    """The channel that the claim came through. Raises `BadInput`, also for our internal ones."""
    origin = an_origin(text)
    if origin == RUNTIME:
        raise BadInput("a claim needs a channel", hint="name the channel it came through")
    return origin


class StatedClaims:
    """Plans the records of one session. Blocks on the store."""

    def __init__(self, owned: Owned, claims: Claims, labels: Labels) -> None:
        self._owned = owned
        self._labels = labels
        self._runtime = owned.runtime
        self._claims = claims

    def plan(self, stated: Stated) -> tuple[list[Draft], PageId]:
        """The records of a claim, and its id; no records if it holds already, or was stated with
        this key.
        """
        known = self.known(stated.key, is_retraction=False)
        if known:
            return [], known
        claim, book = self.claim(stated), self._claims.book(self._owned.state)
        now_ms = self._runtime.clock.now_ms()
        old = self.closable(book, stated.replaces, claim.authority) if stated.replaces else None
        same = book.same(claim, now_ms)
        if same is not None:
            if old not in (None, same):
                raise BadInput(
                    f"{same.claim_id} already says that",
                    hint=f"`Session.retract` takes {stated.replaces} back",
                )
            return [], same.claim_id
        self.check_rival(book, claim, old)
        entry = book.entry(claim, now_ms, old)
        assert entry is not None, "what stands already was told apart before"
        draft = self.draft(entry, stated.origin, stated.key)
        if claim.type is ClaimType.RULE and claim.authority is Authority.USER:
            self.check_recited(draft, entry.supersedes)
        return [draft], page_id_of(draft)

    def plan_retraction(
        self, claim_id: PageId, origin: Origin, key: str
    ) -> tuple[list[Draft], PageId]:
        """The records that retract a claim, and the id of the retraction note."""
        known = self.known(key, is_retraction=True)
        if known:
            return [], known
        authority = authority_of(origin)
        book = self._claims.book(self._owned.state)
        old = self.closable(book, claim_id, authority)
        claim = Claim(
            type=ClaimType.RETRACTION,
            subject="",  # its words are erased with it
            value="",
            text=wording(ClaimType.RETRACTION, "it no longer holds"),
            evidence=(),
            authority=authority,
            origin=origin,
            confidence=1.0,
        )
        entry = book.entry(claim, self._runtime.clock.now_ms(), old)
        assert entry is not None, "it closes what was named"
        draft = self.draft(entry, origin, key)
        return [draft], page_id_of(draft)

    def known(self, key: str, *, is_retraction: bool) -> PageId | None:
        """The claim stated, or the retraction note written, with this key before. Raises `BadInput`
        if the key belongs to another call.
        """
        self._runtime.journal.clean(key)
        pages = self._runtime.pages_of_key(self._owned.session, key)
        if not pages:
            return None
        row = self._runtime.index.find_page(self._owned.scope.derived, pages[0])
        held = self._claims.book(self._owned.state).find(pages[0])
        closes = held is not None and held.status is Status.CLOSING
        if row is None or row.kind is not Kind.CLAIM or closes != is_retraction:
            raise BadInput(
                f"this key was used for {pages[0]}, which is something else",
                hint="a key belongs to a single call: use another",
            )
        return pages[0]

    def claim(self, stated: Stated) -> Claim:
        """A claim from a statement, on evidence that is in the pages. Raises `BadInput`,
        `NoSuchPage` and `RecordGone`.
        """
        clean = self._runtime.journal.clean
        if not (stated.evidence or stated.derived_from):
            raise BadInput(
                "a claim needs evidence",
                hint='evidence=["words that were said"], or `Session.remember` for the words alone',
            )
        owned = self._owned
        finder = EvidenceFinder(self._runtime, owned.session, self._labels, owned.called)
        quoted = [one for one in stated.evidence if not isinstance(one, FileQuote)]
        in_files = [one for one in stated.evidence if isinstance(one, FileQuote)]
        found = [finder.find(one) for one in quoted]
        files = tuple(find_in_file(self._runtime.keyed, one) for one in in_files)
        premises, labels = self.premises(stated.derived_from)
        value = " ".join(clean(stated.value or found[0].words).split())
        check_whole(found, value)
        if not value:
            raise BadInput("a claim must not be blank", hint="state what holds")
        if len(value) > VALUE_CHARS:
            raise BadInput(
                f"a claim of {len(value):,} characters: it takes at most {VALUE_CHARS}",
                hint="state it in one line; the evidence has the rest",
            )
        subject = " ".join(clean(stated.subject).split())
        if subject == GOAL_SUBJECT:
            raise BadInput(f"{subject!r} is the goal's", hint="`Session.goal` sets the goal")
        said = value if subject.casefold() in value.casefold() else f"{subject}: {value}"
        in_all = (*stated.facts.files, *files)
        sources = [one.origin for one in found] + labels + [LOCAL_FILE for _ in in_all]
        is_users = stated.origin in USERS and USERS.issuperset(sources)
        origin = stated.origin if is_users else least_trusted([stated.origin, *sources])
        for span in stated.further:
            with suppress(BadInput, NoSuchPage, RecordGone, ArchiveMissing):
                one = finder.find(span)
                found += [one] if not is_users or one.origin in USERS else []
        return Claim(
            type=stated.kind,
            subject=subject,
            value=value,
            text=wording(stated.kind, said, how=stated.how),  # it is found by its subject, too
            evidence=tuple(dict.fromkeys(one.span for one in found)),
            authority=authority_of(origin),
            origin=origin,
            confidence=1.0,
            premises=premises,
            card=replace(stated.facts, files=in_all),
        )

    def premises(self, derived_from: Sequence[PageId]) -> tuple[tuple[PageId, ...], list[Origin]]:
        """The premises of a claim, as they read now, and the origin of each. Raises `BadInput` if
        one does not hold, and `NoSuchPage`.
        """
        state = self._owned.state
        book = self._claims.book(state)
        lapsed = book.lapses(self._runtime.clock.now_ms())
        found: dict[PageId, Origin] = {}
        for claim_id in derived_from:
            held = self.standing(book, book.now(claim_id))
            if held.claim_id in lapsed:
                raise BadInput(
                    f"{held.claim_id} does not hold: {lapsed[held.claim_id].told}",
                    hint="check it (`Session.validate_claims`), or rest the claim on another",
                )
            found[held.claim_id] = self._labels.label(state.read_page(held.claim_id))
        return tuple(found), list(found.values())

    def closable(self, book: ClaimBook, claim_id: PageId, authority: Authority) -> Held:
        """The claim with this id, if it holds and the channel may close it."""
        held = self.standing(book, claim_id)
        if not may_close(authority, held):
            raise BadInput(
                f"{claim_id} has the user's authority, and this one is only proposed",
                hint="it takes the user's own channel, and words that the user typed",
            )
        return held

    def standing(self, book: ClaimBook, claim_id: PageId) -> Held:
        """The claim with this id, if it holds. Raises `BadInput` and `NoSuchPage`."""
        held = book.find(claim_id)
        if held is None:
            row = self._runtime.index.find_page(self._owned.scope.derived, claim_id)
            if row is not None and row.kind is Kind.CLAIM:
                raise BadInput(f"{claim_id} is a goal", hint="`Session.goal` sets another")
            near = told_near(claim_id, self._owned.state.numbers)
            raise NoSuchPage(claim_id, self._owned.called, near, "claim")
        if held.status is Status.CLOSING:
            raise BadInput(
                f"{claim_id} retracts another claim and states nothing itself",
                hint="restate what was retracted, or use `Session.undo`",
            )
        if held.status is not Status.STANDING:
            raise BadInput(
                f"{claim_id} no longer holds: {held.closed_by} closed it",
                hint="`Session.claims` lists what holds",
            )
        return held

    @staticmethod
    def check_rival(book: ClaimBook, claim: Claim, old: Held | None) -> None:
        """Raise `BadInput` if a claim would close two: the named one, and the one on its
        subject.
        """
        rival = book.rival(claim)
        if old is not None and rival is not None and rival != old:
            raise BadInput(
                f"{rival.claim_id} is on the same subject, and so is {old.claim_id}",
                hint=f"replace {rival.claim_id}, and take the other back with `Session.retract`",
            )

    def draft(
        self, entry: ClaimEntry, channel: Origin, key: str, *, before: Sequence[Draft] = ()
    ) -> Draft:
        """The record of a claim; `before` are those of the same batch."""
        made = made_of(entry)
        if entry.claim.type is ClaimType.RETRACTION:  # forgotten with the claim that it retracted
            made = replace(made, derived=replace(made.derived, provenance=(entry.supersedes,)))
        [draft] = self._owned.derive([made], before=before)
        return replace(draft, actor=actor_of(channel), key=key)

    def check_recited(self, draft: Draft, *instead: PageId) -> None:
        """Raise `BadInput` unless all the user's rules that hold could be recited with this one."""
        assert isinstance(draft.body, PageBody)
        page, state = page_of(expected(draft), draft.body), self._owned.state
        if not state.claims.recites([page]):
            raise BadInput(
                f"this rule is longer than the {TAIL_TOKENS} tokens available for recited rules",
                hint="shorten it, or state it as a decision, which is recalled when relevant",
            )
        rules: list[Page] = [one for one in state.claims.rules() if one.page_id not in instead]
        if not state.claims.recites([*rules, page]):
            raise BadInput(
                f"the {TAIL_TOKENS} tokens in which rules are recited are taken by "
                + ", ".join(one.page_id for one in rules),
                hint="replace one of these, retract it with `Session.retract`, or shorten it",
            )


def check_whole(found: Sequence[QuotedWords], value: str) -> None:
    """Raise `BadInput` if a quotation leaves out its negation, and the claim asserts it."""
    for one in found:
        if one.denial and not shows(Cue.NEGATION, value):
            raise BadInput(
                f"{one.row.page_id} denies these words: “{one.denial}”",
                hint="quote them with what denies them, or say in the claim that it is not so",
            )


def page_id_of(draft: Draft) -> PageId:
    assert isinstance(draft.body, PageBody)
    return draft.body.page_id
