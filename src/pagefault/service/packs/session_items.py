"""One session's candidates for a pack: read from its log and its index; nothing is written.

What a request may not show by itself is no item either: quarantined, withdrawn and edited pages,
and closed claims. A claim that is stale, failed or unproved is counted and listed as left out,
unless it is asked for; then its line says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pagefault.model import kinds
from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import (
    IMPORT,
    CheckOutcome,
    ClaimType,
    Kind,
    PackType,
    Role,
)
from pagefault.model.page import Evidence, Page, PageRow, SessionRow
from pagefault.model.trust import is_untrusted
from pagefault.pack.citations import sourced, sources
from pagefault.pack.context_forms import one_line
from pagefault.pack.context_pack import (
    SECTIONS,
    LeftOut,
    PackEvidence,
    PackSpan,
)
from pagefault.pack.context_packer import UNRANKED, PackItem
from pagefault.recall.analyzed import has_question_mark
from pagefault.recall.excerpt import excerpt
from pagefault.recall.search import SearchHit
from pagefault.represent.sentences import units
from pagefault.service.derived.claims import ClaimInfo, Claims
from pagefault.service.inspection.work_events import WorkEvent, WorkFilter, find_events
from pagefault.service.lookup.questions import listed, with_sources
from pagefault.service.lookup.session_search import SAID, Finder
from pagefault.service.ownership import Owned
from pagefault.service.packs.gathered import (
    HITS,
    RECENT,
    SAID_ONLY,
    TIERS,
    Closed,
    FixedClock,
    Gathered,
    PackAsked,
    TalkPage,
    Tiers,
    recent_reason,
    says_last,
)
from pagefault.service.packs.proof import Proof, proof_of
from pagefault.service.packs.quoted_pages import Quoted
from pagefault.service.packs.work_items import (
    failed_commands,
    file_items,
    habits,
    run_items,
)
from pagefault.service.runtime import Runtime
from pagefault.service.turn.claim_validators import Validators
from pagefault.service.turn.goals import active_goal
from pagefault.service.window.closed_words import WORDS_CHARS_MIN
from pagefault.store.api import PageFilter
from pagefault.truth.claim import Authority
from pagefault.truth.held import Status

CLAIMS_FOUND: Final = 20  # claims relevant by their own words
EVENTS: Final = 5_000  # the latest ones
SUMMARIES: Final = 3  # the latest
TALK: Final = 200  # the latest messages, candidates for key sentences
DOCUMENTS: Final = 5  # the latest ones
ASKED_CHARS: Final = 300  # of an open question
_CLOSING: Final = 3  # characters in which a question ends: its mark, and closing marks after it


_SECTION_OF: Final = {
    ClaimType.DECISION: "recent_decisions",
    ClaimType.RETRACTION: "recent_decisions",
    ClaimType.TASK: "active_tasks",
    ClaimType.GOAL: "active_tasks",
    ClaimType.PROCEDURE: "procedures",
}
"""The section of a claim; other kinds are in the summary, as in a pack without that section."""

_MARKS: Final = {
    Proof.UNPROVED: "(proposed, not confirmed) ",
    Proof.STALE: "(stale) ",
    Proof.FAILED: "(failed) ",
}


class SessionItems:
    """The items of one session. Blocks only where it is awaited."""

    def __init__(
        self, owned: Owned, runtime: Runtime, claims: Claims, *, session_id: str, name: str
    ) -> None:
        self._owned = owned
        self._runtime = runtime
        self._claims = claims
        self._session_id = session_id
        self.name = name

    async def gather(self, asked: PackAsked, quoted: Quoted, *, searches: bool) -> Gathered:
        """Everything of this session; with `searches` also the pages relevant to the query, or the
        latest.
        """
        owned = self._owned
        owned.check_there()
        await owned.written()
        await owned.refresh()
        runtime = replace(self._runtime, clock=FixedClock(asked.at_ms))
        finder = Finder(owned, runtime, self._claims)
        scope, tiers, found = owned.scope, TIERS[asked.pack_type], Gathered()
        matched: Sequence[SearchHit] = ()
        if asked.query:
            matched = await self._runtime.in_search_thread(
                lambda: finder.claims(scope, asked.query, limit=CLAIMS_FOUND, strict=True)
            )
        if asked.query and searches:
            result = await finder.find(scope, asked.query, limit=HITS, wanted=SAID_ONLY)
            hits = (await with_sources(runtime, result, None, asked.query)).hits
            found.add_found(
                await asyncio.to_thread(lambda: [*quoted.hits(hits, tiers, asked.query)])
            )
        found.add(await asyncio.to_thread(self._read, asked, quoted, matched))
        if searches and says_last(asked, found.matched):
            last = await listed(runtime, scope, SAID_ONLY, limit=RECENT, newest_first=True)
            found.items += await asyncio.to_thread(
                lambda: [*quoted.recent(last.hits, tiers, recent_reason(asked))]
            )
        return found

    def _read(self, asked: PackAsked, quoted: Quoted, matched: Sequence[SearchHit]) -> Gathered:
        found, tiers = Gathered(), TIERS[asked.pack_type]
        self._add_claims(found, asked, quoted, matched)
        if asked.pack_type is not PackType.DIGEST:
            found.items += self._goal(quoted, tiers)
            found.items += self._derived(asked, quoted, tiers)
        if asked.pack_type not in (PackType.DIGEST, PackType.TASK):
            found.talk += self._talk(quoted)
        found.items += self._open_questions(asked, quoted, tiers)
        found.items += self._work(asked, quoted, tiers)
        return found

    # --- claims --------------------------------------------------------------------------------

    def _add_claims(
        self, found: Gathered, asked: PackAsked, quoted: Quoted, matched: Sequence[SearchHit]
    ) -> None:
        tiers = TIERS[asked.pack_type]
        places = {hit.page.page_id: (place, hit) for place, hit in enumerate(matched)}
        is_digest = asked.pack_type is PackType.DIGEST
        claims = self._claims.told(self._owned.state, asked.at_ms, elsewhere=False)
        validators = Validators(self._owned, asked.root) if asked.root is not None else None
        found.closed |= self._closed(claims, quoted, asked.at_ms)
        for claim in claims:
            row = self._owned.state.table.find(claim.claim_id)
            if row is None or row.said_ms < asked.since_ms:
                continue
            proof = proof_of(claim)
            is_news = is_digest and claim.status == "closing" and claim.supersedes != ""
            if proof is Proof.CLOSED and not (is_news and all(claim.quotes)):
                continue
            why_not = claim.why
            if validators is not None and proof in (Proof.PASS, Proof.UNPROVED):
                failed = self._failed(validators, row)
                proof, why_not = (Proof.FAILED, failed) if failed else (proof, why_not)
            found.proofs[proof] += 1
            section = _section_of(ClaimType(claim.type), asked.pack_type)
            if proof not in (Proof.PASS, Proof.CLOSED) and not asked.unproved:
                ref = quoted.ref(self._session_id, claim.claim_id)
                because = f"{proof} claim" + (f": {why_not}" if why_not else "")
                found.left_out.append(LeftOut(ref=ref, section=section, why=because))
                continue
            place, hit = places.get(claim.claim_id, (UNRANKED, None))
            why = f"a {claim.type} that holds" if proof is Proof.PASS else f"a {claim.type}"
            if hit is not None:
                why += f", number {place + 1} of the claims that bear on {asked.query!r}"
            others = [quoted.ref(self._session_id, one) for one in claim.contradicts]
            against = f" (contradicted by {', '.join(others)})" if others else ""
            found.items.append(
                PackItem(
                    section=section,
                    tier=tiers.claims if hit is None else tiers.matched,
                    text=_MARKS.get(proof, "") + one_line(claim.text) + against,
                    evidence=self._of_claim(claim, row, quoted, section, hit),
                    reason=f"{why}; {_standing(proof)}",
                    rank=place,
                    at_ms=row.said_ms,
                    says=tuple(map(one_line, claim.quotes)),
                    origin=str(row.origin) if is_untrusted(row.origin) else "",
                )
            )

    def _failed(self, validators: Validators, row: PageRow) -> str:
        """Why a claim fails a check now; "" if it does not, or cannot be checked."""
        with suppress(RecordGone, ArchiveMissing):
            looks = validators.look(self._runtime.pages.read(row))
            return next((one.why for one in looks if one.outcome is CheckOutcome.FAIL), "")
        return ""

    def _closed(
        self, claims: Sequence[ClaimInfo], quoted: Quoted, asked_ms: int
    ) -> Iterator[tuple[tuple[str, str], Closed]]:
        """The words of the user's claims that do not hold, unless one that does says the same. A
        claim that was only proposed, and no longer is, has changed nothing.
        """
        stand = {
            (words, one.value.casefold())
            for one in claims
            if one.status == Status.STANDING
            for words in map(_folded, one.quotes)
        }
        made = {one.claim_id: one.made_ms for one in claims}
        for one in claims:
            holds = one.status in (Status.STANDING, Status.UNTRUSTED, Status.CLOSING)
            if holds or one.authority != Authority.USER:
                continue
            pages = frozenset([str(one.claim_id), *(str(span.page_id) for span in one.evidence)])
            at_ms = made.get(one.closed_by, asked_ms)
            for words in map(_folded, one.quotes):
                if len(words) >= WORDS_CHARS_MIN and (words, one.value.casefold()) not in stand:
                    by = one.closed_by or one.claim_id
                    told = Closed(quoted.ref(self._session_id, by), pages, at_ms)
                    yield (self._session_id, words), told

    def _of_claim(
        self,
        claim: ClaimInfo,
        row: PageRow,
        quoted: Quoted,
        section: str,
        hit: SearchHit | None,
    ) -> PackEvidence:
        spans = tuple(
            PackSpan(
                ref=quoted.ref(self._session_id, span.page_id),
                start=span.start,
                end=span.end,
                quote=one_line(quote),
            )
            for span, quote in zip(claim.evidence, claim.quotes, strict=True)
            if quote
        )
        evidence = quoted.evidence(
            row, self._session_id, section, one_line(claim.text), rests_on=spans
        )
        if hit is None:
            return evidence
        return replace(
            evidence,
            score=round(hit.score, 4),
            relevance=round(hit.relevance, 4),
            parts={name: round(value, 4) for name, value in sorted(hit.parts.items())},
        )

    def _goal(self, quoted: Quoted, tiers: Tiers) -> Iterator[PackItem]:
        goal = active_goal(self._owned.state)
        if goal is not None and quoted.page(goal.row) is not None:
            text = one_line(f"Goal: {goal.text}")
            yield PackItem(
                section="active_tasks",
                tier=tiers.matched,
                text=text,
                evidence=quoted.evidence(goal.row, self._session_id, "active_tasks", text),
                reason="the goal that a person set",
                at_ms=goal.row.said_ms,
            )

    # --- derived pages --------------------------------------------------------------------------

    def _derived(self, asked: PackAsked, quoted: Quoted, tiers: Tiers) -> Iterator[PackItem]:
        """The lines of the latest summaries, procedures, the session's beginning, and in a synopsis
        the documents' beginnings.
        """
        if asked.pack_type in (PackType.SYNOPSIS, PackType.HANDOFF):
            yield from self._beginning(quoted, tiers)
        for page in self._pages((Kind.SUMMARY,), quoted, SUMMARIES):
            if page.derived is None or page.derived.represents or self._rests_on_held(page, quoted):
                continue
            if not page.derived.made_by:  # an extract: its sentences are better quoted themselves
                continue
            evidence = quoted.evidence(page.row, self._session_id, "summary", "")
            for number, line in enumerate(filter(str.strip, page.text.splitlines())):
                text = self._formed_line(line, page.derived.evidence, quoted)
                yield PackItem(
                    section="summary",
                    tier=tiers.summaries,
                    text=text,
                    evidence=replace(evidence, text=text, is_whole=False),
                    reason="a line of one of the latest summaries",
                    rank=UNRANKED + number,
                    at_ms=page.row.said_ms,
                    origin=quoted.bound(page),
                )
        section = _section_of(ClaimType.PROCEDURE, asked.pack_type)
        for page in self._pages((Kind.PROCEDURE,), quoted, RECENT):
            text = one_line(page.text)
            yield PackItem(
                section=section,
                tier=tiers.claims,
                text=text,
                evidence=quoted.evidence(page.row, self._session_id, section, text),
                reason="a procedure that the user described",
                at_ms=page.row.said_ms,
            )
        if asked.pack_type is not PackType.SYNOPSIS:
            return
        for page in self._pages((Kind.ARTIFACT,), quoted, DOCUMENTS):
            first = next(iter(units(page.text)), None)
            if first is None or page.row.part:
                continue
            words = one_line(page.text[first.start : first.end])
            yield PackItem(
                section="summary",
                tier=tiers.summaries,
                text=one_line(f"{page.title}: {words}" if page.title else words),
                evidence=quoted.evidence(
                    page.row, self._session_id, "summary", words, is_whole=False
                ),
                reason="the beginning of a document that was handed in",
                at_ms=page.row.said_ms,
                origin=quoted.bound(page),
            )

    def _formed_line(self, line: str, proof: Sequence[Evidence], quoted: Quoted) -> str:
        """A line of formed memory, with its sources, if these are among its summary's proofs."""
        words, pages = sources(line)
        if not pages or not {span.page_id for span in proof}.issuperset(pages):
            return one_line(line)
        refs = (quoted.ref(self._session_id, page_id) for page_id in pages)
        return sourced(one_line(words), refs)

    def _beginning(self, quoted: Quoted, tiers: Tiers) -> Iterator[PackItem]:
        """The user's first message."""
        wanted = PageFilter(kinds=(Kind.TRANSCRIPT,))
        for row in self._runtime.index.pages(self._owned.scope, wanted, limit=RECENT):
            page = quoted.page(row) if row.role is Role.USER else None
            if page is None or self._owned.scope.is_history(row):
                continue
            words = one_line(excerpt(page.text, "").text)
            evidence = quoted.evidence(row, self._session_id, "summary", words, is_whole=False)
            yield PackItem(
                section="summary",
                tier=tiers.summaries,
                text=one_line(f"It began with: {words}"),
                evidence=evidence,
                reason="what the user said first",
                quote=words,
                at_ms=row.said_ms,
                origin=quoted.bound(page),
            )
            return

    def _talk(self, quoted: Quoted) -> Iterator[TalkPage]:
        """The latest messages of the user and the model."""
        wanted = PageFilter(kinds=(Kind.TRANSCRIPT,))
        scope = self._owned.scope
        own, _ = scope.parts[0]
        for row in self._runtime.index.pages(scope, wanted, limit=TALK, newest_first=True):
            if row.role in (Role.USER, Role.ASSISTANT) and not scope.is_history(row):
                page = quoted.page(row)
                if page is not None:
                    yield TalkPage(self._session_id, page, row.session == own)

    def _pages(self, kinds: tuple[Kind, ...], quoted: Quoted, limit: int) -> list[Page]:
        """The latest pages of these kinds that may be brought in."""
        scope = self._owned.scope
        rows = self._runtime.index.pages(
            scope if SAID.issuperset(kinds) else scope.derived,
            PageFilter(kinds=kinds),
            limit=limit * 4,  # some represent the same page, or wait
            newest_first=True,
        )
        shown = (quoted.page(row) for row in rows if not (row.is_note or scope.is_history(row)))
        return [page for page in shown if page is not None][:limit]

    def _rests_on_held(self, page: Page, quoted: Quoted) -> bool:
        """Whether any source of a page may not be brought in."""
        sources = () if page.derived is None else page.derived.provenance
        rows = (self._owned.state.table.find(one) for one in sources)
        return any(row is None or self._runtime.quarantine.holds(row) for row in rows)

    # --- open questions ------------------------------------------------------------------------

    def _open_questions(self, asked: PackAsked, quoted: Quoted, tiers: Tiers) -> Iterator[PackItem]:
        """Questions in the latest messages of the last speaker: nobody has answered since."""
        rows = self._runtime.index.pages(
            self._owned.scope, PageFilter(kinds=(Kind.TRANSCRIPT,)), limit=RECENT, newest_first=True
        )
        asking: Role | None = None
        for row in rows:
            if row.role not in (Role.USER, Role.ASSISTANT) or row.said_ms < asked.since_ms:
                continue
            asking = asking or row.role
            if row.role is not asking:
                break
            page = quoted.page(row)
            if page is None or self._owned.scope.is_history(row):
                continue
            for unit in units(page.text):
                text = one_line(page.text[unit.start : unit.end])
                if has_question_mark(text[-_CLOSING:]) and len(text) <= ASKED_CHARS:
                    who = "the user" if row.role is Role.USER else "the model"
                    yield PackItem(
                        section="open_questions",
                        tier=tiers.work,
                        text=text,
                        evidence=quoted.evidence(
                            row, self._session_id, "open_questions", text, is_whole=False
                        ),
                        reason=f"{who} asked last, and nobody has answered since",
                        at_ms=row.said_ms,
                        origin=quoted.bound(page),
                    )

    # --- events --------------------------------------------------------------------------------

    def _work(self, asked: PackAsked, quoted: Quoted, tiers: Tiers) -> list[PackItem]:
        events = self._events(asked)
        rows = {one.page_id: self._owned.state.table.find(one.page_id) for one in events}
        events = [one for one in events if rows[one.page_id] is not None]

        def cited(event: WorkEvent, page_id: PageId, source: kinds.Source) -> PackEvidence:
            row = self._owned.state.table.find(page_id) or rows[event.page_id]
            assert row is not None
            return quoted.evidence(row, self._session_id, "", "", is_whole=False, source=source)

        kind, tier = asked.pack_type, tiers.work
        items = [*file_items(events, cited, tier=tier)]
        is_apart = kind in (PackType.HANDOFF, PackType.DIGEST)
        items += run_items(
            events,
            cited,
            section="failures" if is_apart else "open_questions",
            tier=tier,
            passed="outcomes" if kind is PackType.DIGEST else "",
        )
        if is_apart:
            items += failed_commands(events, cited, tier=tier)
        if kind is PackType.SYNOPSIS:
            items += habits(events, cited, tier=tier)
        return [
            replace(one, evidence=replace(one.evidence, section=one.section, text=one.text))
            for one in items
        ]

    def _events(self, asked: PackAsked) -> list[WorkEvent]:
        """The events of this session, and of its ancestors before the fork, newest first."""
        upto: dict[str, Seq] = {}
        rows: list[SessionRow] = []
        for number, last in self._owned.scope.parts:
            row = self._runtime.index.session(number)
            if row is not None:
                rows.append(row)
                upto[row.session_id] = last
        approved = {row.session_id: self._runtime.quarantine.approved(row.session) for row in rows}
        wanted = WorkFilter(after_ms=asked.since_ms or None)
        return [
            one
            for one in find_events(self._runtime, rows, wanted, EVENTS)
            if one.seq <= upto[one.session_id]
            and not one.withdrawn
            and (one.origin != IMPORT or one.seq < approved[one.session_id])
        ]


def _folded(words: str) -> str:
    return one_line(words).casefold()


def _section_of(kind: ClaimType, pack_type: PackType) -> str:
    """The section of a claim of this kind, in a pack that has it."""
    section = _SECTION_OF.get(kind, "summary")
    return section if any(rule.name == section for rule in SECTIONS[pack_type]) else "summary"


def _standing(proof: Proof) -> str:
    match proof:
        case Proof.PASS:
            return "on the user's word"
        case Proof.CLOSED:
            return "it took another back"
        case _:
            return f"{proof}, and asked for"
