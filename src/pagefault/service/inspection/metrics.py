"""Metrics of a session: those of virtual memory, and those of a stable prefix.

A pure fold of the log, turn by turn; a session's figures are those of the sum of its turns. A
figure is None if there was nothing to divide by. Nothing is guessed: figures that only a running
process knows (look-ups, latencies) are added by the session.

Definitions, where the requirement leaves a choice:

- page reference: a page shown by a request, a citation in an answer, a `page_fault`
- page needed in a turn: one that its answer cites, that the model called for (refused or not, if
  the page exists), or that the runtime brought in for it; once per turn. Pins do not count: they
  are there whatever is asked.
- fault: a `page_fault` that brought a page in: neither refused nor mapped already
- fault rate: faults ÷ page references, as the requirement has it; and ÷ pages needed, which is
  judged. Most references are of pages that are merely in a request, again in each: two faults in
  each of 60 turns were 0.4 % of them. What a program touches, and so the base of a processor's
  fault rate, are the pages needed here: how many of them did the model have to ask for?
- brought back: a fault, or a page that the runtime fetched: see `inspection/brought.py`
- success of a call of `page_fault`: it was served, and an answer of its turn cites the page
- thrash: a fault within 5 turns of another on the same topic (a shared tag, or the page)
- used tokens of an answered turn: its message, the pages cited, the pages faulted
- recall: a turn that asks for something said before, and was answered; it failed if the next
  message corrects the answer (`recall/corrections.py`)
- overhead: bytes of the records less those of the texts in them, over those of the texts
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final, assert_never

from pagefault.model.defaults import THRASH_WINDOW_TURNS
from pagefault.model.events import (
    Aside,
    CallRefused,
    ClaimRuled,
    DerivedBody,
    EpochBegun,
    Event,
    Faulted,
    FormationBegun,
    FormationEnded,
    HeatMove,
    HeatMoved,
    HeatRecalled,
    MemoryCalled,
    Packed,
    PageBody,
    Pinned,
    Priced,
    Relayed,
    Reported,
    Searched,
    SessionConfigured,
    SessionOpened,
    Stored,
    Summarised,
    Unpinned,
    row_of,
)
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import Heat, Kind, Role
from pagefault.model.page import PageRow
from pagefault.pack.citations import cited_pages
from pagefault.recall.corrections import asks_to_recall, corrects
from pagefault.represent.topics import topic_tags
from pagefault.service.inspection.brought import BroughtFold
from pagefault.service.inspection.residents import Residents
from pagefault.service.limits import Limits
from pagefault.store.codec import encode

_SALT: Final = bytes(16)


@dataclass(slots=True)
class Tally:
    """The counts of one turn or of many: tallies add up."""

    turns: int = 0
    requests: int = 0
    request_tokens: int = 0
    window_tokens: int = 0  # the windows of those requests
    windowed_tokens: int = 0  # those requests, without a client's own that had no window
    dead_tokens: int = 0
    pages_shown: int = 0
    citations: int = 0
    searches: int = 0
    prefetched: int = 0  # pages that were prefetched
    prefetch_used: int = 0  # those of them wanted later
    recalled_pages: int = 0
    recalled_tokens: int = 0
    brought_back: int = 0
    faults: int = 0
    fault_tokens: int = 0
    faults_by_reason: Counter[str] = field(default_factory=Counter)  # of every call
    faults_by_level: Counter[str] = field(default_factory=Counter)  # of those that brought a page
    faults_by_outcome: Counter[str] = field(default_factory=Counter)
    served_by_reason: Counter[str] = field(default_factory=Counter)
    cited_by_reason: Counter[str] = field(default_factory=Counter)  # of those served
    pages_needed: int = 0
    thrash_faults: int = 0
    recalls: int = 0
    recalls_corrected: int = 0
    answered_tokens: int = 0  # the last requests of answered turns
    used_tokens: int = 0
    heat_spills: int = 0
    heat_recalls: int = 0
    heat_recalls_found: int = 0  # those that found something relevant
    heat_promotions: int = 0
    evictions: int = 0
    epochs: Counter[str] = field(default_factory=Counter)
    summarised_tokens: int = 0
    summary_tokens: int = 0
    pages: int = 0
    page_tokens: int = 0
    text_bytes: int = 0
    record_bytes: int = 0

    def add(self, other: Tally) -> None:
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            setattr(self, one.name, mine + theirs)

    def figures(self) -> dict[str, Any]:
        """As plain values; shares are fractions of 1."""
        references = self.pages_shown + self.citations + self.faults_by_outcome.total()
        overhead = self.record_bytes - self.text_bytes
        return {
            "turns": self.turns,
            "requests": self.requests,
            "request_tokens_mean": _share(self.request_tokens, self.requests, 1),
            "context_utilisation": _share(self.windowed_tokens, self.window_tokens),
            "live_fraction": _share(self.request_tokens - self.dead_tokens, self.request_tokens),
            "page_references": references,
            "faults": self.faults,
            "fault_tokens": self.fault_tokens,
            "fault_rate": _share(self.faults, references),
            "pages_needed": self.pages_needed,
            "fault_rate_needed": _share(self.faults, self.pages_needed),
            "fault_success_by_reason": self._success(),
            "faults_by_reason": dict(sorted(self.faults_by_reason.items())),
            "faults_by_level": dict(sorted(self.faults_by_level.items())),
            "faults_by_outcome": dict(sorted(self.faults_by_outcome.items())),
            "thrash_index": _share(self.thrash_faults, self.turns),
            "searches": self.searches,
            "citations": self.citations,
            "prefetched": self.prefetched,
            "prefetch_hit_rate": _share(self.prefetch_used, self.prefetched),
            "recalled_pages": self.recalled_pages,
            "recalled_tokens": self.recalled_tokens,
            "brought_back": self.brought_back,
            "recalls": self.recalls,
            "recalls_corrected": self.recalls_corrected,
            "recall_success": _share(self.recalls - self.recalls_corrected, self.recalls),
            "effective_tokens": _share(self.used_tokens, self.answered_tokens),
            "memory_spill_count": self.heat_spills,
            "memory_recall_count": self.heat_recalls,
            "memory_promotion_count": self.heat_promotions,
            "memory_hit_rate": _share(100 * self.heat_recalls_found, self.heat_recalls, 1),
            "evictions": self.evictions,
            "epochs": self.epochs.total(),
            "epochs_by_reason": dict(sorted(self.epochs.items())),
            "epochs_share": _share(self.epochs.total(), self.requests),
            "summarised_tokens": self.summarised_tokens,
            "compression_ratio": _share(self.summarised_tokens, self.summary_tokens),
            "pages": self.pages,
            "page_tokens": self.page_tokens,
            "text_bytes": self.text_bytes,
            "metadata_bytes_per_page": _share(overhead, self.pages, 1),
            "metadata_overhead": _share(overhead, self.text_bytes),
        }

    def _success(self) -> dict[str, dict[str, float | None]]:
        return {
            reason: {
                "calls": calls,
                "served": self.served_by_reason[reason],
                "cited": self.cited_by_reason[reason],
                "success": _share(self.cited_by_reason[reason], calls),
            }
            for reason, calls in sorted(self.faults_by_reason.items())
        }


def total(tallies: list[Tally]) -> Tally:
    whole = Tally()
    for one in tallies:
        whole.add(one)
    return whole


@dataclass(frozen=True, slots=True)
class _Topic:
    """The topic of a fault, and its turn."""

    turn: int
    page_id: PageId
    tags: frozenset[str]

    def is_again(self, other: _Topic) -> bool:
        near = self.turn - other.turn < THRASH_WINDOW_TURNS
        return near and (self.page_id == other.page_id or bool(self.tags & other.tags))


class Meter:
    """A fold over the records of a session and, for a fork, of its ancestors before them: from
    these it learns pages, and counts nothing.

    `text_of` returns the text of a page, "" if it is gone; called only for pages that were faulted.
    """

    def __init__(
        self,
        session: SessionNo,
        *,
        limits: Limits,
        text_of: Callable[[PageId], str],
    ) -> None:
        self._session, self._text_of = session, text_of
        self.turns: dict[int, Tally] = {}
        self.residents = Residents(limits)
        self.rows: dict[PageId, PageRow] = {}  # of every page that the session sees
        self.sizes: dict[PageId, int] = {}  # of its content, in bytes
        self._brought = BroughtFold()
        self._topics: deque[_Topic] = deque()
        self._recall_turn: int | None = None  # the one that asked for something said before
        self._is_answered = False
        self._last_request = 0
        self._used: dict[PageId, None] = {}  # in this turn
        self._used_turn = -1
        self._pinned: set[PageId] = set()
        self._hot: set[PageId] = set()
        self._cooled: set[PageId] = set()  # items that were moved before
        self._turn: tuple[SessionNo, int] | None = None  # the turn of the two above
        self._needed: set[PageId] = set()
        self._served: dict[PageId, str] = {}  # by which reason, until it is cited

    @property
    def session_total(self) -> Tally:
        return total(list(self.turns.values()))

    def fold(self, event: Event) -> None:
        is_own = event.session == self._session
        tally = self._tally(event.turn) if is_own else Tally()
        self.residents.fold(event)
        tally.brought_back += len(self._brought.fold(event))
        if self._turn != (event.session, event.turn):
            self._turn = event.session, event.turn
            self._needed, self._served = set(), {}
        match event.body:
            case PageBody() as body:
                self._fold_content(event, body, tally)
            case Packed() as body:
                self._fold_packed(body, tally)
            case Relayed() as body:
                self._fold_relayed(body, tally)
            case EpochBegun() as body:
                self._fold_epoch(body, tally)
            case Faulted() as body:
                self._fold_faulted(event, body, tally)
            case Searched():
                tally.searches += 1
            case SessionOpened() | SessionConfigured():
                pass  # the window's: the residents have it
            case Pinned(page_id=page_id):
                self._pinned.add(page_id)
            case Unpinned(page_id=page_id):
                self._pinned.discard(page_id)
            case HeatMoved(moves=moves):
                self._fold_moves(moves, tally)
            case HeatRecalled(hits=hits):
                tally.heat_recalls += 1
                tally.heat_recalls_found += bool(hits)
            case CallRefused() | MemoryCalled() | ClaimRuled():
                pass  # no metric counts them
            case FormationBegun() | FormationEnded():
                pass  # the pages made have records of their own
            case Reported() | Priced():
                pass  # the ledger has the cost of requests
            case undecided:  # these only weigh
                if not isinstance(undecided, Aside):
                    assert_never(undecided)
        if is_own:
            line, _ = encode(event, more=0, salt=_SALT, previous=b"")
            tally.record_bytes += len(line)

    def _tally(self, turn: int) -> Tally:
        tally = self.turns.get(turn)
        if tally is None:
            tally = self.turns[turn] = Tally(turns=1)
        return tally

    def _fold_moves(self, moves: Iterable[HeatMove], tally: Tally) -> None:
        """A spill is one action, however many items leave; a promotion is of one item that was not
        new.
        """
        left = {move.page_id for move in moves if move.to is not Heat.HOT}
        tally.heat_spills += not self._hot.isdisjoint(left)
        self._hot -= left
        for move in moves:
            if move.to is Heat.HOT:
                tally.heat_promotions += move.page_id in self._cooled
                self._hot.add(move.page_id)
            self._cooled.add(move.page_id)

    def _fold_content(self, event: Event, body: PageBody, tally: Tally) -> None:
        text_bytes = len(body.text.encode())
        tally.text_bytes += text_bytes
        tally.pages += 1
        tally.page_tokens += body.tokens
        self.rows[body.page_id] = row_of(event, body)
        self.sizes[body.page_id] = body.size_bytes if isinstance(body, Stored) else text_bytes
        if isinstance(body, Summarised):
            tally.summarised_tokens += body.source_tokens
            tally.summary_tokens += body.tokens
        if isinstance(body, DerivedBody):
            return
        if body.role is Role.USER and body.kind is Kind.TRANSCRIPT:
            self._fold_question(event.turn, body)
        elif body.role is Role.ASSISTANT:
            cited = cited_pages(body.text)
            tally.citations += len(cited)
            self._used |= dict.fromkeys(cited)
            self._need(cited, tally)
            for page_id in self._served.keys() & set(cited):
                tally.cited_by_reason[self._served.pop(page_id)] += 1
            self._fold_answer(tally)

    def _fold_question(self, turn: int, body: PageBody) -> None:
        if turn != self._used_turn:
            self._used, self._used_turn, self._last_request = {}, turn, 0
        self._used[body.page_id] = None
        if body.part:
            return
        asked = self._recall_turn
        if asked is not None and self._is_answered and asked in self.turns and corrects(body.text):
            self.turns[asked].recalls_corrected += 1
        self._recall_turn = turn if asks_to_recall(body.text) else None
        self._is_answered = False

    def _fold_answer(self, tally: Tally) -> None:
        if self._recall_turn is not None and not self._is_answered:
            self._is_answered = True
            tally.recalls += 1
        if self._last_request:
            tally.answered_tokens += self._last_request
            used = self._tokens_of(self._used)
            tally.used_tokens += min(used, self._last_request)
            self._last_request = 0

    def _fold_packed(self, body: Packed, tally: Tally) -> None:
        tally.recalled_pages += len(body.recalled)
        tally.recalled_tokens += self._tokens_of(item.page_id for item in body.recalled)
        brought = {item.page_id for item in body.recalled}
        self._need(brought - self._pinned, tally)
        tally.prefetched += len(body.prefetched)
        tally.prefetch_used += len(body.prefetch_used)
        tally.requests += 1
        tally.request_tokens += body.tokens
        tally.window_tokens += self.residents.window_tokens
        tally.windowed_tokens += body.tokens
        tally.dead_tokens += min(body.dead, body.tokens)
        tally.pages_shown += len(self.residents)
        self._last_request = body.tokens

    def _fold_relayed(self, body: Relayed, tally: Tally) -> None:
        """A client's own request: the client decides which pages are in it."""
        tally.recalled_pages += len(body.recalled)
        tally.recalled_tokens += self._tokens_of(body.recalled)
        self._need((page_id for page_id in body.recalled if page_id not in body.core), tally)
        tally.requests += 1
        tally.request_tokens += body.tokens
        tally.window_tokens += body.window_tokens
        tally.windowed_tokens += body.tokens if body.window_tokens else 0
        if body.epoch:
            tally.epochs[body.epoch] += 1
        self._last_request = 0  # the part that an answer used is unknown

    def _fold_epoch(self, body: EpochBegun, tally: Tally) -> None:
        tally.evictions += len(body.evicted)
        tally.epochs[body.reason] += 1

    def _fold_faulted(self, event: Event, body: Faulted, tally: Tally) -> None:
        tally.faults_by_reason[str(body.reason)] += 1
        outcome = "already_mapped" if body.already_mapped else "served"
        tally.faults_by_outcome["refused" if body.refusal else outcome] += 1
        self._need([body.page_id], tally)
        if body.refusal or body.already_mapped:
            return
        tally.faults += 1
        tally.fault_tokens += body.tokens
        tally.served_by_reason[str(body.reason)] += 1
        self._served[body.page_id] = str(body.reason)
        tally.faults_by_level[str(int(body.level))] += 1
        self._used[body.page_id] = None
        tags = frozenset(topic_tags(self._text_of(body.page_id)))
        topic = _Topic(event.turn, body.page_id, tags)
        while self._topics and topic.turn - self._topics[0].turn >= THRASH_WINDOW_TURNS:
            self._topics.popleft()
        tally.thrash_faults += any(topic.is_again(other) for other in self._topics)
        self._topics.append(topic)

    def _need(self, page_ids: Iterable[PageId], tally: Tally) -> None:
        """Count pages that this turn needs, if they exist."""
        wanted = {p for p in page_ids if p in self.rows} - self._needed
        self._needed |= wanted
        tally.pages_needed += len(wanted)

    def _tokens_of(self, page_ids: Iterable[PageId]) -> int:
        return sum(self.rows[p].tokens for p in page_ids if p in self.rows)


def _share(part: float, whole: float, digits: int = 4) -> float | None:
    return round(part / whole, digits) if whole else None
