"""Claims of a session: written in the same append as the turn they come from, and found first.

Which claims hold is a fold of the claims' own records. It is made on demand, and made again after
claims were written or forgotten elsewhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pagefault.language.analyzer import forms_of, query_terms, query_words
from pagefault.language.english import ENGLISH
from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import (
    Draft,
    OriginalBody,
    PageBody,
)
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import (
    MODEL_GENERATED,
    RUNTIME,
    USER_APPROVED,
    CheckOutcome,
    ClaimType,
    EventType,
    Kind,
    Origin,
    Role,
    RulingKind,
    Validator,
)
from pagefault.model.page import NO_FACTS, CardFacts, ClaimRef, Derived, Evidence, Page, PageRow
from pagefault.model.reprs import outline
from pagefault.model.trust import is_untrusted
from pagefault.pack.layout import Exchange, Recalled, Shown
from pagefault.service.derived.asof import NEVER, AsOf, as_of
from pagefault.service.derived.claim_book import book_of, claim_pages
from pagefault.service.derived.elsewhere import ClaimElsewhere, Elsewhere
from pagefault.service.derived.labels import Labels
from pagefault.service.derived.procedures import Procedures
from pagefault.service.runtime import Runtime
from pagefault.service.window.claim_pages import CLAIM, held_as_written
from pagefault.service.window.content import is_user_message
from pagefault.service.window.derived_drafts import Made, write_derived
from pagefault.service.window.state import SessionState
from pagefault.store.api import PageFilter
from pagefault.store.languages import languages_in
from pagefault.truth.claim import Authority, Claim, Utterance, wording
from pagefault.truth.claims import ClaimBook, ClaimEntry, held_of
from pagefault.truth.held import Held, Status
from pagefault.truth.lapses import Ruled

IMPORTANCE: Final = {
    ClaimType.DECISION: 0.95,
    ClaimType.RETRACTION: 0.95,
    ClaimType.RULE: 0.9,
    ClaimType.PREFERENCE: 0.85,
    ClaimType.FACT: 0.8,
    ClaimType.TASK: 0.8,
    ClaimType.PROJECT_FACT: 0.8,
    ClaimType.PROCEDURE: 0.8,
    ClaimType.GOTCHA: 0.8,
    ClaimType.GLOSSARY: 0.8,
    ClaimType.ENTITY: 0.8,
    ClaimType.CONTEXT: 0.8,
}
_GRAMMAR: Final = frozenset(
    query_terms(" ".join(sorted(ENGLISH.stop_words | ENGLISH.function_words)))
)
_WORD: Final = re.compile(r"\w+")
_ALL: Final = 2**31
_WALL: Final = Utterance(PageId(""), Role.TOOL, RUNTIME, "")
"""A placeholder for texts that nobody can agree to: handed in, or not shown."""


class WouldBlock(Exception):
    """The log would have to be read: call again in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """The result of a claim's check: `outcome` is "pass" or "fail"."""

    outcome: CheckOutcome
    at_ms: int
    validators: tuple[Validator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEdit:
    """One event in a claim's history. `what`: made, edited or confirmed ("edited"), merged,
    superseded, retracted, "checked: pass" or "checked: fail", ended, contradicted. `claim_id` is
    the claim that caused it, that contradicts it, or that was merged into it.
    """

    at_ms: int
    what: str
    claim_id: PageId = PageId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimInfo:
    """A claim, its status, and its evidence. `cards.py` presents it as a memory card.

    `authority` is "user" or "proposed"; `status` "standing", "superseded", "merged" (a proposal
    that says what another claim says, and is further proof of it), "retracted", "stale"
    (a source changed or cannot be read any more), "expired" (its time is over), "untrusted" (its
    memory is not adopted, so nothing in it has authority), "withdrawn" (by a person, with its
    sources) or "closing" (it retracted another, and holds nothing itself); `why` explains stale and
    expired. `closed_by` is the claim that replaced or retracted it, or that it was merged into.

    `derived_from` are its premises, as they read now; `contradicts` those recorded as
    contradicting it. `made_ms` is when it was first made; `checked` the last check with a
    result. `digest` is what `confirm` takes, for a proposed claim. `evidence` includes that of
    the proposals merged into it. `elsewhere` has claims of the user's other sessions that say the
    same: those that did when it, or one of these proposals, was formed, and any formed later.
    """

    claim_id: PageId
    type: str
    subject: str
    value: str
    text: str
    status: str
    closed_by: PageId
    supersedes: PageId
    authority: str
    origin: Origin
    turn: int
    evidence: tuple[Evidence, ...]
    quotes: tuple[str, ...]  # the words at each span of evidence; empty if they are gone
    why: str = ""
    derived_from: tuple[PageId, ...] = ()
    contradicts: tuple[PageId, ...] = ()
    merges: tuple[PageId, ...] = ()
    restates: PageId = PageId("")
    facts: CardFacts = NO_FACTS
    made_ms: int = 0
    checked: LastCheck | None = None
    digest: str = ""
    history: tuple[ClaimEdit, ...] = ()
    elsewhere: tuple[ClaimElsewhere, ...] = ()

    @property
    def became(self) -> str:
        """The status and the claim that closed it, as in "superseded by clm_7"."""
        how = "into" if self.status == Status.MERGED else "by"
        return f"{self.status} {how} {self.closed_by}" if self.closed_by else self.status

    def __repr__(self) -> str:
        return outline(self.claim_id, self.type, self.became, self.why, self.authority, self.value)


class Claims:
    """The claims that one session can see: the fold, and whether it is out of date."""

    def __init__(
        self, runtime: Runtime, session: SessionNo, procedures: Procedures, labels: Labels
    ) -> None:
        self._procedures = procedures
        self._labels = labels
        self._runtime = runtime
        self._session = session
        self._book = ClaimBook()
        self._as_of: AsOf = NEVER  # when the fold was made
        self._words: frozenset[str] = frozenset()  # of subjects and values
        self._languages: tuple[str, ...] = ()  # of claims, besides the defaults of scripts
        self._words_as_of: AsOf = NEVER

    def drafts(
        self,
        said: Sequence[Draft],
        state: SessionState,
        blocks: Collection[PageId] = (),
        *,
        may_block: bool = True,
    ) -> list[Draft]:
        """Drafts of the claims and procedures in new messages; `blocks`, which are only parts of a
        message, make none. Raises `WouldBlock` if it would have to read the log and may not.
        """
        if not self._runtime.extracts_claims:
            return []
        if not any(
            is_user_message(draft.body) or draft.body.supersedes
            for draft in said
            if isinstance(draft.body, PageBody)
        ):
            return []
        from pagefault.truth.extract import extract  # with its rules, which are only needed here

        before = _shown_before(state)
        written: list[Draft] = []
        claimed = 0
        book: ClaimBook | None = None
        for draft in said:
            body = draft.body
            assert isinstance(body, PageBody)
            turn = Utterance(body.page_id, body.role, draft.origin, body.text, body.speaker)
            is_users = is_user_message(body)
            # Part of a message says less than the whole.
            is_whole = is_users and body.parts == 1 and body.page_id not in blocks
            # For an old message, or one after another, what was said lately is not its context.
            follows = body.follows if isinstance(body, OriginalBody) else ""
            follows_it = not follows or [follows] == [one.page_id for one in before]
            shown_before = before if follows_it and not body.supersedes else []
            found = [self._closing(body, state)]
            if is_whole:
                claims = extract(turn, shown_before)
                found.append([self._weighed(one, shown_before, state, may_block) for one in claims])
            for claims in filter(None, found):
                if book is None:
                    book = self.book(state).copy()
                number = state.numbers.get(CLAIM, 0) + claimed
                entries = book.entries(claims, CLAIM, number, self._runtime.clock.now_ms())
                for place, entry in enumerate(entries, number + 1):
                    book.fold(held_of(PageId(f"{CLAIM}_{place}"), entry))
                made = [made_of(entry) for entry in entries]
                claimed += len(made)
                written += self._written(made, draft, state, written)
            if is_whole:
                written += self._procedures.drafts(turn, draft, state, written)
            if is_users and not body.supersedes:
                before = []
            else:
                shown = turn if body.kind is Kind.TRANSCRIPT else _WALL
                before = [*before[-1:], shown]  # two are enough
        return written

    def _weighed(
        self, claim: Claim, before: Sequence[Utterance], state: SessionState, may_block: bool
    ) -> Claim:
        """A claim with its remaining authority. A "yes" agrees to a model's words: if an untrusted
        text was in the window when the model wrote them, they may be that text's, and a "yes" does
        not show that. Such a claim is proposed. Others have the digest of the words.
        """
        if claim.origin != USER_APPROVED or not before:
            return claim
        if not (may_block or self._labels.is_current(state)):
            raise WouldBlock
        label = MODEL_GENERATED
        with suppress(ArchiveMissing):  # then the window's contents are unknown
            shown = state.read_page(before[-1].page_id)
            label = self._labels.label(shown)
            if not is_untrusted(label):
                return replace(claim, digest=self._runtime.quarantine.digest(shown))
        text = wording(claim.type, claim.value)
        return replace(claim, text=text, authority=Authority.PROPOSED, origin=label)

    def _closing(self, body: PageBody, state: SessionState) -> list[Claim]:
        """Retractions of every claim that rests on words that an edit replaces.

        They have the user's authority, whoever said the words: the client replaced them, and a
        claim on words that are nowhere any more has no basis. Nobody said that, so it is a note of
        ours, which no search finds.
        """
        if not body.supersedes or body.part:
            return []
        row = state.table.find(body.supersedes)
        if row is None:
            return []
        wanted = PageFilter(after_order=row.order - 1, before_order=row.order + row.parts)
        scope = self._runtime.scope(self._session)
        old = self._runtime.index.pages(scope, wanted, limit=row.parts)
        return [
            Claim(
                type=ClaimType.RETRACTION,
                subject="",
                value="",
                text="No longer said",
                evidence=(Evidence(page_id=body.page_id, start=0, end=len(body.text.encode())),),
                authority=Authority.USER,
                origin=RUNTIME,
                confidence=1.0,
                resting_on=tuple(page.page_id for page in old),
            )
        ]

    def is_current(self, state: SessionState) -> bool:
        """Whether the folds are cached, so that nothing waits for the store."""
        return self._as_of == self._state_of(state) and self._procedures.is_current(state)

    def _state_of(self, state: SessionState) -> AsOf:
        made = as_of(state, CLAIM, self._runtime.journal.forgets)
        return made._replace(made=made.made + state.rulings) if made.made else made

    def book(self, state: SessionState) -> ClaimBook:
        """The fold of every claim that the session can see. Reads the store if it must."""
        now = self._state_of(state)
        if now != self._as_of:
            book = book_of(self._runtime, self._session)  # this thread's own: others may run
            self._book, self._as_of = book, now
        return self._book

    def telling(self, query: str, state: SessionState) -> str:
        """The words of a query that occur in some claim's subject or value: only these
        discriminate.

        Among a few claims most words of a question are rare, and would outweigh those that count.
        """
        if self._words_as_of != self._state_of(state):
            scope = self._runtime.scope(self._session).derived
            self._languages = languages_in(self._runtime.index, scope)
            book = self.book(state)
            said = (f"{held.subject}\n{held.value}".replace("_", " ") for held in book)
            self._words = frozenset(chain.from_iterable(map(self._forms, said))) - _GRAMMAR
            self._words_as_of = self._as_of
        query = query.replace("_", " ")
        telling = self._forms(query) & self._words
        words = _WORD.findall(query)
        return " ".join(word for word in words if not telling.isdisjoint(self._forms(word)))

    def _forms(self, text: str) -> frozenset[str]:
        """The forms of a text's words in every language of the claims: one word, or a short
        question, need not show its language.
        """
        return forms_of(query_words(text, self._languages))

    def pages(self) -> list[Page]:
        """Every claim that can be read, oldest first."""
        return claim_pages(self._runtime, self._session)

    def current(self, rows: Sequence[PageRow], state: SessionState) -> list[tuple[PageId, PageRow]]:
        """Each of these claims, with the one that holds now: itself, or the last that closed it."""
        book = self.book(state)
        known = {row.page_id: row for row in rows}
        found: list[tuple[PageId, PageRow]] = []
        for row in rows:
            latest = book.latest(row.page_id)
            now = known.get(latest) or state.table.find(latest)
            if now is not None:
                found.append((row.page_id, now))
        return found

    def told(
        self, state: SessionState, now_ms: int | None = None, *, elsewhere: bool = True
    ) -> list[ClaimInfo]:
        """Every claim with its status, oldest first; expiry is as of `now_ms`, by default now.
        Without `elsewhere`, no other session is read.
        """
        book = self.book(state)
        is_withdrawn = self._runtime.quarantine.is_withdrawn
        read = [
            (self._withdrawn(page) if is_withdrawn(page.row) else book.find(page.page_id), page)
            for page in self.pages()
        ]
        # One that is not in the book was made while it was read.
        known = [(held, page, self._quotes(page, state)) for held, page in read if held is not None]
        proofs = {held.claim_id: (page, quotes) for held, page, quotes in known}
        merged = {
            one: [proofs[held.claim_id] for held in more if held.claim_id in proofs]
            for one, more in book.merged().items()
        }
        others = Elsewhere(self._runtime, self._runtime.scope(self._session))
        named = defaultdict[PageId, list[ClaimRef]](list)
        for _, page, _ in known if elsewhere else ():
            earlier = page.derived.elsewhere if page.derived else ()
            named[book.now(page.page_id)] += (*earlier, *others.later.get(page.page_id, ()))
        gone = [held for held, _, quotes in known if held.has_evidence and not all(quotes)]
        if gone:  # in an archive that is away: claims that rest on these are not proved, either
            book = book.copy()
            book.lost(one.claim_id for one in gone)
        at_ms = self._runtime.clock.now_ms() if now_ms is None else now_ms
        return [
            self._told(
                held,
                [(page, quotes), *merged.get(page.page_id, ())],
                book,
                others.read(named.get(page.page_id, ())),
                now_ms=at_ms,
            )
            for held, page, quotes in known
        ]

    def _withdrawn(self, page: Page) -> Held:
        held = held_as_written(page, is_adopted=self._runtime.is_adopted)
        return replace(held, status=Status.WITHDRAWN)

    def _told(
        self,
        held: Held,
        proofs: Sequence[tuple[Page, tuple[str, ...]]],
        book: ClaimBook,
        elsewhere: tuple[ClaimElsewhere, ...],
        *,
        now_ms: int,
    ) -> ClaimInfo:
        """A claim. The first of `proofs` is its own page, the others the proposals merged into it;
        each with the words that it quotes.
        """
        (page, quotes), *more = proofs
        derived = page.derived
        assert derived is not None
        told = dict(zip(derived.evidence, quotes, strict=True))
        for other, words in more:
            assert other.derived is not None
            told |= {s: w for s, w in zip(other.derived.evidence, words, strict=True) if w}
        status, why = held.status, ""
        lapse = book.lapses(now_ms).get(page.page_id)
        if status is Status.STANDING and lapse is not None:
            status, why = lapse.status, lapse.told.partition(": ")[2]
        elif status is Status.STANDING and not self._runtime.is_adopted:
            status = Status.UNTRUSTED
        check = book.checked(page.page_id)
        return ClaimInfo(
            claim_id=page.page_id,
            type=derived.claim_type,
            subject=derived.subject,
            value=derived.value,
            text=page.text,
            status=str(status),
            closed_by=held.closed_by,
            supersedes=derived.supersedes,
            authority=str(held.authority),
            origin=page.row.origin,
            turn=page.row.turn,
            evidence=tuple(told),
            quotes=tuple(told.values()),
            why=why,
            derived_from=tuple(map(book.now, held.premises)),
            contradicts=tuple(book.against(page.page_id)),
            merges=derived.merges,
            restates=derived.restates,
            facts=derived.card,
            made_ms=book.made_ms(page.page_id) or page.row.at_ms,
            checked=None if check is None else _checked(check),
            digest=self._runtime.quarantine.digest(page)
            if held.authority is Authority.PROPOSED and held.status is Status.STANDING
            else "",
            history=_history(book, held, [other for other, _ in more]),
            elsewhere=elsewhere,
        )

    def _quotes(self, page: Page, state: SessionState) -> tuple[str, ...]:
        assert page.derived is not None
        return tuple(self._quote(span, state) for span in page.derived.evidence)

    def _quote(self, span: Evidence, state: SessionState) -> str:
        row = state.table.find(span.page_id)
        if row is None:
            return ""
        try:
            stored = self._runtime.pages.read(row).text.encode()
        except (RecordGone, ArchiveMissing):
            return ""
        return stored[span.start : span.end].decode(errors="replace")

    def _written(
        self, made: Sequence[Made], cause: Draft, state: SessionState, before: Sequence[Draft]
    ) -> list[Draft]:
        return write_derived(
            made,
            session=self._session,
            state=state,
            clean=self._runtime.journal.clean,
            turn=cause.turn,
            before=before,
        )


def _history(book: ClaimBook, held: Held, merged: Sequence[Page]) -> tuple[ClaimEdit, ...]:
    """The history of a claim, oldest first, from the first of those it replaced."""
    found: list[ClaimEdit] = []
    for one in book.versions(held.claim_id):
        what = "made"
        if one.merges:
            what = "merged"
        elif one.restates:
            what = "edited"
        elif one.supersedes:
            what = "superseded"
        found.append(ClaimEdit(at_ms=one.made_ms, what=what, claim_id=one.claim_id))
    for kind in (RulingKind.CHECKED, RulingKind.ENDED, RulingKind.CONTRADICTED):
        for ruled in book.rulings(held.claim_id, kind):
            what = f"checked: {ruled.body.outcome}" if kind is RulingKind.CHECKED else str(kind)
            found.append(ClaimEdit(at_ms=ruled.at_ms, what=what, claim_id=ruled.body.other))
    found += [ClaimEdit(at_ms=p.row.at_ms, what="merged", claim_id=p.page_id) for p in merged]
    closer = book.find(held.closed_by)
    if held.status is Status.MERGED:
        found.append(ClaimEdit(at_ms=held.made_ms, what=str(held.status), claim_id=held.closed_by))
    elif closer is not None:
        found.append(
            ClaimEdit(at_ms=closer.made_ms, what=str(held.status), claim_id=closer.claim_id)
        )
    return tuple(sorted(found, key=lambda one: one.at_ms))


def _checked(check: Ruled) -> LastCheck:
    body = check.body
    return LastCheck(outcome=body.outcome, at_ms=check.at_ms, validators=body.validators)


def made_of(entry: ClaimEntry) -> Made:
    """A claim as a draft of its page."""
    claim = entry.claim
    return Made(
        event_type=EventType.CLAIM,
        text=claim.text,
        origin=claim.origin,
        derived=Derived(
            provenance=claim.pages,
            evidence=claim.evidence,
            supersedes=entry.supersedes,
            claim_type=str(claim.type),
            subject=claim.subject,
            value=claim.value,
            restates=entry.restates,
            merges=entry.merges,
            repeats=entry.repeats,
            card=claim.card,
            digest=claim.digest,
        ),
        importance=IMPORTANCE[claim.type],
        confidence=claim.confidence,
    )


def _shown_before(state: SessionState) -> list[Utterance]:
    """What the window shows since the user's message, the newest last; two are enough. Forgotten
    texts in between count as shown, too.
    """
    opening = {page.page_id for page in state.newest_user}
    shown: list[Utterance] = []
    order = state.order_next
    for entry in state.layout.latest():
        match entry:
            case Shown(page=page) if page.row.order != order - 1:
                break
            case Shown(page=page) if page.page_id in opening:
                return shown[::-1]
            case Shown(page=page) if page.row.kind is Kind.TRANSCRIPT:
                order = page.row.order
                shown.append(Utterance(page.page_id, page.row.role, page.row.origin, page.text))
            case Recalled() | Exchange(said=""):
                continue
            case _:
                break
        if len(shown) > 1:
            break
    return shown[::-1] if order == 0 else [_WALL, *shown[::-1]]
