"""Which proposals of a former become memory: the bytes of the cited pages decide.

A former may be wrong, or may have read a page that told it what to propose. So nothing is taken on
trust. Each line cites pages of its range, and its quotations are in them, word for word and not
reversed by their context; a sentence names no number and no identifier that its pages do not name.
Bytes cannot show the rest: a sentence of plain words may still differ from its page. It is in a
summary, beside the page, and its label is at best a model's.

A claim is *proposed*, of whatever kind of card: it is found, recalled and shown as such, never
recited, and closes nothing that has the user's authority, until a person states it or the user
agrees. If it contradicts a claim that holds, here or in another session of the same user, both
stay, and the conflict is recorded. If it says what a claim of this session says, it is merged: kept
as further proof of that claim, whose words and authority do not change. If it says what claims of
the user's other sessions say, it names them. Sections of core memory are proposed likewise: a
version is in no request until a person accepts it.

Untrusted text (tools, the web) has at most a share of a range's summary beyond its best sentence,
and of the claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby, islice
from typing import Final

from pagefault.engine.former import FormationRequest, Proposal, ProposalKind, Proposals
from pagefault.model.errors import ArchiveMissing, BadInput, CoreFull, NoSuchPage, RecordGone
from pagefault.model.events import Claimed, Conflict, CoreWritten, Draft, Dropped, PageBody
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import MODEL_GENERATED, ClaimType, EventType, FormerKind, Level, Origin
from pagefault.model.page import ClaimRef, Derived, Evidence, Page, Quote
from pagefault.model.trust import is_untrusted, least_trusted
from pagefault.pack.citations import sourced
from pagefault.pack.render import label
from pagefault.represent.protected import Guarded, guarded_set
from pagefault.service.derived.claim_book import book_of
from pagefault.service.derived.claims import Claims, made_of
from pagefault.service.derived.elsewhere import SESSIONS_READ, sessions_of_user
from pagefault.service.derived.evidence import EvidenceFinder, QuotedWords
from pagefault.service.derived.labels import Labels
from pagefault.service.ownership import Owned
from pagefault.service.turn.core_memory import CoreMemory
from pagefault.service.turn.stated_claims import VALUE_CHARS, Stated, StatedClaims, check_whole
from pagefault.service.window.closed_words import overlap
from pagefault.service.window.derived_drafts import Made
from pagefault.truth.claim import Authority, Claim
from pagefault.truth.claims import ClaimBook, ClaimEntry, held_of
from pagefault.truth.held import Held, kind_of
from pagefault.truth.subjects import subject_key, value_key

TOKENS_MIN: Final = 32  # that a summary may have, however short its range: about a sentence
CLAIMS_MAX: Final = 12  # of one range
TOPICS_MAX: Final = 3
MERGED_MAX: Final = 16  # proposals merged into one claim; further ones would add little


def summary_room(pages: Iterable[Page], share: float) -> int:
    """The tokens that a summary of these pages may have, with its citations."""
    return max(TOKENS_MIN, int(share * sum(page.row.tokens for page in pages)))


class Why(StrEnum):
    """Why a proposal was not taken."""

    UNREAD = "unread"  # not a valid line
    UNCITED = "uncited"  # it cites no page of the range
    UNQUOTED = "unquoted"  # its quotation is nowhere, or a required one is missing
    TURNED = "turned"  # its quotation is negated there
    UNFOUNDED = "unfounded"  # it names something that its pages do not
    LONG = "long"  # there was no room for it
    CROWDED = "crowded"  # the untrusted share was used up
    REPEATED = "repeated"  # it repeats something that holds already, on no other words


@dataclass(slots=True)
class Admitted:
    """The records to be written for a range."""

    cause: Seq  # of each of its records
    drafts: list[Draft] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    @property
    def made(self) -> tuple[PageId, ...]:
        return tuple(one.body.page_id for one in self.drafts if isinstance(one.body, PageBody))

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(Dropped(why=str(why), count=n) for why, n in sorted(self.counted.items()))


@dataclass(frozen=True, slots=True)
class _Line:
    """A proposal with valid evidence."""

    proposal: Proposal
    text: str
    found: tuple[QuotedWords, ...]
    origin: Origin  # the least trusted of its evidence

    @property
    def pages(self) -> tuple[PageId, ...]:
        return tuple(dict.fromkeys(one.span.page_id for one in self.found))


class _NotTaken(Exception):
    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


class Admission:
    """Admits proposals into one session. Blocks on the store."""

    def __init__(self, owned: Owned, claims: Claims, labels: Labels) -> None:
        self._owned = owned
        self._runtime = owned.runtime
        self._claims = claims
        self._labels = labels
        self._elsewhere: list[tuple[str, Held]] | None = None  # claims of the user's other sessions
        self._named: dict[Seq, frozenset[tuple[Guarded, str]]] = {}  # by pages of this range

    def admit(
        self,
        given: FormationRequest,
        told: Proposals,
        *,
        former: FormerKind,
        model: str,
        lowest: Origin | None,
        cause: Seq,
    ) -> Admitted:
        """Which of these proposals are written, and which are not. `lowest` is the least trusted of
        everything that the former read besides the range, if it read any; `cause` the record with
        which the range's forming began.
        """
        self._named, self._elsewhere = {}, None
        admitted = Admitted(cause=cause)
        if told.unread:
            admitted.counted[Why.UNREAD] += told.unread
        owned = self._owned
        finder = EvidenceFinder(self._runtime, owned.session, self._labels, owned.called)
        lines: list[_Line] = []
        for proposal in told.proposals:
            try:
                lines.append(self._line(proposal, given, finder))
            except _NotTaken as refused:
                admitted.counted[refused.why] += 1
        of_model = [] if former is FormerKind.EXTRACTIVE else [MODEL_GENERATED]
        floor = [*of_model, *([] if lowest is None else [lowest])]
        sentences = [one for one in lines if one.proposal.kind is ProposalKind.SUMMARY]
        self._sum_up(sentences, given, floor, model, admitted)
        apart = ProposalKind.SUMMARY, ProposalKind.CORE
        held = [one for one in lines if one.proposal.kind not in apart]
        self._hold(held, floor, model, admitted)
        core = [one for one in lines if one.proposal.kind is ProposalKind.CORE]
        self._propose_core(core, floor, admitted)
        return admitted

    # --- evidence -----------------------------------------------------------------------------

    def _line(self, proposal: Proposal, given: FormationRequest, finder: EvidenceFinder) -> _Line:
        """The proposal with its evidence. Raises `_NotTaken`."""
        text = " ".join(self._runtime.journal.clean(proposal.text).split())
        pages = {page.page_id: page for page in given.pages}
        cited = [pages[one] for one in dict.fromkeys(proposal.pages) if one in pages]
        if not cited or not any(char.isalnum() for char in text):
            raise _NotTaken(Why.UNCITED)
        if len(text) > VALUE_CHARS:
            raise _NotTaken(Why.LONG)
        found = tuple(_quoted(words, cited, finder) for words in proposal.quotes)
        if not found and proposal.kind is not ProposalKind.SUMMARY:
            raise _NotTaken(Why.UNQUOTED)
        try:
            check_whole(found, text)
        except BadInput:
            raise _NotTaken(Why.TURNED) from None
        if not found:  # it rests on the pages as a whole
            found = tuple(_whole(page, finder) for page in cited)
        if not self._is_founded(f"{proposal.subject} {text}", cited):
            raise _NotTaken(Why.UNFOUNDED)
        return _Line(proposal, text, found, least_trusted(one.origin for one in found))

    def _is_founded(self, text: str, cited: Sequence[Page]) -> bool:
        """Whether the pages, or their labels, contain every number and identifier in a text. In any
        language: both are recognised by form.
        """
        there: set[tuple[Guarded, str]] = set()
        for page in cited:
            if page.row.seq not in self._named:  # many lines cite one page
                self._named[page.row.seq] = guarded_set(f"{label([page])} {page.text}")
            there |= self._named[page.row.seq]
        return {one for one in guarded_set(text) if one[0] is not Guarded.NEGATION} <= there

    # --- the summary --------------------------------------------------------------------------

    def _sum_up(
        self,
        lines: Sequence[_Line],
        given: FormationRequest,
        floor: Sequence[Origin],
        model: str,
        admitted: Admitted,
    ) -> None:
        """One page for the range: its sentences in order, with their pages."""
        from pagefault.represent.topics import topic_tags

        said = sum(page.row.tokens for page in given.pages)
        count, room = self._runtime.counter.count, given.tokens_max
        kept: list[_Line] = []
        used: Counter[Origin] = Counter()
        text, tokens = "", 0
        for line in lines:
            longer = _summed_up([*kept, line])
            last = text.rfind("\n") + 1  # what is before it stays as it is
            more = count(longer[last:]) - count(text[last:])
            if any(line.text == other.text for other in kept):
                admitted.counted[Why.REPEATED] += 1
            elif self._is_crowded(used, line.origin, more, room):
                admitted.counted[Why.CROWDED] += 1
            elif tokens + more > room:
                admitted.counted[Why.LONG] += 1
            else:
                text, tokens = longer, tokens + more
                kept.append(line)
        if not kept:
            return
        topics = topic_tags("\n".join(page.text for page in given.pages))[:TOPICS_MAX]
        made = Made(
            event_type=EventType.SUMMARY,
            text=text,
            title=", ".join(topics),
            topic_tags=topics,
            origin=least_trusted([*floor, *(self._labels.label(page) for page in given.pages)]),
            derived=Derived(
                provenance=tuple(page.page_id for page in given.pages),
                evidence=_spans(kept),
                level=int(Level.ABSTRACT),
                source_tokens=said,
                made_by=model,
            ),
        )
        admitted.drafts += self._written([made], admitted)

    def _is_crowded(self, used: Counter[Origin], origin: Origin, tokens: int, room: float) -> bool:
        """Whether the untrusted share is used up; if not, this is counted towards it."""
        if not is_untrusted(origin):
            return False
        most = room * self._runtime.limits.untrusted_recall_share
        if used[origin] and used[origin] + tokens > most:
            return True
        used[origin] += tokens
        return False

    # --- claims ---------------------------------------------------------------------------------

    def _hold(
        self, lines: Sequence[_Line], floor: Sequence[Origin], model: str, admitted: Admitted
    ) -> None:
        book = self._claims.book(self._owned.state).copy()
        stated = StatedClaims(self._owned, self._claims, self._labels)
        used: Counter[Origin] = Counter()
        taken = 0
        for line in lines:
            if taken == CLAIMS_MAX:
                admitted.counted[Why.LONG] += 1
                continue
            if self._is_crowded(used, line.origin, 1, CLAIMS_MAX):
                admitted.counted[Why.CROWDED] += 1
                continue
            taken += self._claim(line, floor, model, book, stated, admitted)

    def _claim(
        self,
        line: _Line,
        floor: Sequence[Origin],
        model: str,
        book: ClaimBook,
        stated: StatedClaims,
        admitted: Admitted,
    ) -> bool:
        told = Stated(
            value=line.text,
            evidence=[one.span for one in line.found],
            kind=ClaimType(line.proposal.kind),
            subject=line.proposal.subject,
            replaces=PageId(""),
            origin=least_trusted([MODEL_GENERATED, *floor]),
            key="",
            how="proposed",
        )
        try:
            claim = stated.claim(told)
        except (BadInput, NoSuchPage, RecordGone):
            admitted.counted[Why.UNQUOTED] += 1
            return False
        now_ms = self._runtime.clock.now_ms()
        alike = [one for one in book.holding(now_ms) if kind_of(one.type) == kind_of(claim.type)]
        elsewhere = self._held_elsewhere(claim)
        same = next((held for held in alike if _agrees(held, claim)), None)
        against: list[tuple[PageId, str]] = []
        if same is not None:
            if not self._adds(claim, same, book, admitted):
                admitted.counted[Why.REPEATED] += 1
                return False
            claim = replace(claim, text=f"{claim.text} (merged into {same.claim_id})")
            entry: ClaimEntry | None = ClaimEntry(claim, repeats=same.claim_id)
        else:
            entry = book.entry(claim, now_ms)
            against = [
                (held.claim_id, session_id)
                for session_id, held in [*(("", one) for one in alike), *elsewhere]
                if held.authority is Authority.USER
                and _is_about(held, claim.subject)
                and not _agrees(held, claim)
            ]
        assert entry is not None, "what holds already was told apart before"
        made = made_of(entry)
        if against:
            named = (f"{one} of session {where}" if where else one for one, where in against)
            made = replace(made, text=f"{made.text} (against {', '.join(named)})")
        agrees = tuple(
            ClaimRef(session_id=where, claim_id=held.claim_id)
            for where, held in elsewhere
            if _agrees(held, claim)
        )
        made = replace(made, derived=replace(made.derived, made_by=model, elsewhere=agrees))
        [draft] = self._written([made], admitted)
        assert isinstance(draft.body, PageBody)
        page_id = draft.body.page_id
        book.fold(held_of(page_id, entry))
        admitted.drafts.append(draft)
        admitted.conflicts += [
            Conflict(page_id=page_id, stands=one, session_id=where) for one, where in against
        ]
        return True

    def _adds(self, claim: Claim, same: Held, book: ClaimBook, admitted: Admitted) -> bool:
        """Whether a claim rests on words that `same`, and what was merged into it, do not."""
        merged = book.merged().get(book.now(same.claim_id), [])
        if len(merged) >= MERGED_MAX:
            return False
        new = {
            one.body.page_id: one.body for one in admitted.drafts if isinstance(one.body, Claimed)
        }
        known: list[Evidence] = []
        for one in (same, *merged):
            if (body := new.get(one.claim_id)) is not None:
                known += body.evidence
                continue
            with suppress(RecordGone, ArchiveMissing):
                derived = self._owned.state.read_page(one.claim_id).derived
                known += () if derived is None else derived.evidence
        return any(not any(overlap(span, other) for other in known) for span in claim.evidence)

    def _held_elsewhere(self, claim: Claim) -> list[tuple[str, Held]]:
        """Claims of this kind that hold in the user's other sessions, the latest used, each with
        its session. Other users' sessions are not read.
        """
        runtime = self._runtime
        if self._elsewhere is None:
            self._elsewhere = [
                (row.session_id, held)
                for row in islice(sessions_of_user(runtime, self._owned.scope), SESSIONS_READ)
                for held in book_of(runtime, row.session).holding(runtime.clock.now_ms())
            ]
        return [one for one in self._elsewhere if kind_of(one[1].type) == kind_of(claim.type)]

    # --- core memory ----------------------------------------------------------------------------

    def _propose_core(
        self, lines: Sequence[_Line], floor: Sequence[Origin], admitted: Admitted
    ) -> None:
        """A version of each named section, with these lines appended."""
        if not lines:
            return
        journal, state = self._runtime.journal, self._owned.state
        core = CoreMemory(state, self._owned.session, journal.clean)
        standing = "\n".join(one.text for one in core.sections())
        sections: dict[str, list[str]] = {}
        for line in lines:
            if line.text in standing:
                admitted.counted[Why.REPEATED] += 1
            else:
                sections.setdefault(line.proposal.subject, []).append(_summed_up([line]))
        for section, said in sections.items():
            before = sum(isinstance(one.body, CoreWritten) for one in admitted.drafts)
            origin = least_trusted([MODEL_GENERATED, *floor, *(one.origin for one in lines)])
            try:
                draft = core.propose(section, said, origin, before=before)
            except (BadInput, CoreFull):
                admitted.counted[Why.LONG] += len(said)
            else:
                admitted.drafts.append(replace(draft, cause=admitted.cause))

    def _written(self, made: Sequence[Made], admitted: Admitted) -> list[Draft]:
        caused = [replace(one, cause=admitted.cause) for one in made]
        return self._owned.derive(caused, before=admitted.drafts)


def _quoted(words: str, cited: Sequence[Page], finder: EvidenceFinder) -> QuotedWords:
    """The span in one of the cited pages that says so. Raises `_NotTaken`."""
    for page in cited:
        with suppress(BadInput, NoSuchPage, RecordGone, ArchiveMissing):
            return finder.find(Quote(words, page.page_id))
    raise _NotTaken(Why.UNQUOTED)


def _whole(page: Page, finder: EvidenceFinder) -> QuotedWords:
    span = Evidence(page_id=page.page_id, start=0, end=len(page.text.encode()))
    try:
        return finder.find(span)
    except (BadInput, NoSuchPage, RecordGone):
        raise _NotTaken(Why.UNCITED) from None


def _summed_up(lines: Sequence[_Line]) -> str:
    """Sentences with their sources. Those in a row that rest on the same pages share a line, and a
    speaker is named where it changes.
    """
    told, speaker = list[str](), ""
    for (who, pages), some in groupby(lines, lambda one: (one.proposal.speaker, one.pages)):
        named = f"{who}: " if who not in ("", speaker) else ""
        told.append(sourced(f"{named}{' '.join(one.text for one in some)}", pages))
        speaker = who
    return "\n".join(told)


def _spans(lines: Iterable[_Line]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(one.span for line in lines for one in line.found))


def _agrees(held: Held, claim: Claim) -> bool:
    return value_key(held.value) == value_key(claim.value)


def _is_about(held: Held, subject: str) -> bool:
    return bool(subject) and subject_key(held.subject) == subject_key(subject)
