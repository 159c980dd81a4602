"""A session's state at some point of the log: a fold of its records.

Nothing here waits, appends or knows the time. A verb of the session plans with this state
(`plan.py`; what fits, `room.py`), appends the plan, and folds the events that come back: the same
code that restores a session from the log, so a restart, a fork and a rebuilt index all see the same
bytes.

Invariants, true between any two folds:
 (1) The working set holds exactly the pages whose full text the layout shows.
 (2) The newest user message is in the layout, whole.
 (3) Every pinned page is in the layout once a request was packed after the pin.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, assert_never

from pagefault.guard.neutralise import neutralise
from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import (
    Aside,
    Called,
    CallRefused,
    ClaimRuled,
    CoreWritten,
    EpochBegun,
    Erased,
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
    PagedIn,
    Pinned,
    Priced,
    Relayed,
    Reported,
    Represented,
    Returned,
    Said,
    Searched,
    SessionConfigured,
    SessionOpened,
    Unpinned,
)
from pagefault.model.ids import NOTHING, PageId, Seq, TurnNo
from pagefault.model.kinds import (
    DERIVED_STEMS,
    IMPORT,
    NOT_SAID,
    Actor,
    Compaction,
    ControlMode,
    Heat,
    Kind,
    LayoutName,
    Level,
    Mode,
    Role,
    Tier,
)
from pagefault.model.page import DERIVED_ORDER, Derived, Page, PageRow
from pagefault.model.request import Message, Request, ToolCall, ToolSpec
from pagefault.model.residency import Residency, tier_of
from pagefault.model.trust import is_untrusted
from pagefault.pack import envelope, prompts, render
from pagefault.pack.citations import cited_pages
from pagefault.pack.count import TokenCounter
from pagefault.pack.developer import DeveloperLayout, Frame, developer_head, policies_of
from pagefault.pack.layout import (
    Entry,
    Exchange,
    Front,
    Layout,
    Note,
    Recalled,
    Shown,
    pages_of,
)
from pagefault.pack.manifest import Listed
from pagefault.pack.tools import MEMORY_TOOLS, PAGE_FAULT, SEARCH_PAGES, vm_tools
from pagefault.paging.fault import FaultLimits
from pagefault.paging.l1 import L1
from pagefault.paging.questions import Resident
from pagefault.paging.table import PageTable
from pagefault.paging.tlb import TLB
from pagefault.paging.working_set import WorkingSet
from pagefault.policy.epochs import EpochRule
from pagefault.policy.locality_lru import REFETCH
from pagefault.recall.hint import hint
from pagefault.service.limits import Limits
from pagefault.service.window import exchanges, host_calls
from pagefault.service.window.ages import Ages
from pagefault.service.window.closures import Closures
from pagefault.service.window.content import is_user_message, page_of
from pagefault.service.window.core import Core
from pagefault.service.window.factor import TokenFactor
from pagefault.service.window.ranges import Ranges
from pagefault.service.window.results import fault_result, search_result
from pagefault.service.window.sources import Sources
from pagefault.service.window.summary_maker import SummaryMaker
from pagefault.service.window.turn_calls import TurnCalls
from pagefault.truth.lapses import Ruled

UNFOLDABLE: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Errors that a record's content can cause in a fold, as opposed to a machine's."""


def paged_in(pages: Sequence[Page]) -> tuple[PagedIn, ...]:
    """The pages that a request brings, as in its record."""
    return tuple(
        PagedIn(
            page_id=page.page_id,
            newer_than=page.newer_than,
            older_than=page.older_than,
            lapse=page.lapse,
        )
        for page in pages
    )


def turn_now(state: SessionState) -> TurnNo:
    """The turn of a record made now."""
    return TurnNo(max(state.turn, 0))


_CALLS_COUNTED: Final = 32
"""The last requests, whose share of cache misses an epoch goes by. A restart folds more turns."""


class SessionState:
    def __init__(self, opened: SessionOpened, limits: Limits, sources: Sources) -> None:
        self._sources = sources
        self.limits = limits
        self.table = PageTable(sources.find_row, TLB())
        self.working_set = WorkingSet(sources.policy())
        self.l1 = L1(limits.l1_pages_max)
        self._ages = Ages()
        self.shorter: set[PageId] = set()  # pages with a request for a shorter form
        self.hot: set[PageId] = set()  # pages that heat alone keeps in the window, pinned
        self.sections: dict[str, PageId] = {}  # of core memory, each by its current version
        self.replaced: dict[PageId, PageId] = {}  # versions of sections, and their predecessors
        self.leaving: set[PageId] = set()  # were hot, or in core memory: the next epoch drops them
        self.compressed: dict[PageId, PageId] = {}  # what the next epoch keeps of a page instead
        self.set_aside: dict[Seq, str] = {}  # records that the fold could not take, and why
        self.turn = TurnNo(-1)
        self.order_next = 0
        self.numbers: dict[str, int] = {}
        self.request_next = 0
        self.is_relayed = False  # a proxy's client decides what the window holds
        self.priced: Priced | None = None  # the prices of requests, if given
        self.epoch = 0
        self.token_factor = TokenFactor()
        self.packed_seq = NOTHING
        self.said_seq = NOTHING
        self._packed_tokens = 0  # of the last request, without its tail
        self._paged_in: list[list[Entry]] = []  # with each of this turn's requests
        self.recalled_now: set[PageId] = set()  # with this turn's requests
        self.calls_withdrawn: set[str] = set()  # no request shows them any more
        self.called_for: frozenset[PageId] = frozenset()
        """Pages in the window relevant to the newest message: no epoch should take them now."""
        self.named: list[Page] = []  # the next request says which these are newer than
        self.newest_user: list[Page] = []
        self._room: int | None = None  # cached `room_for_results`, until something changes
        self._floor: int | None = None  # what it subtracted, until more than a call is folded
        self.rulings = 0  # rulings on claims folded so far
        self.epoch_due = ""  # why the next request must begin an epoch, if it must
        self.accrued = 0.0  # rent paid on dead tokens since the last epoch
        self.requests_since = 0  # since the last epoch
        self.cache_misses: deque[bool] = deque(maxlen=_CALLS_COUNTED)  # of the last requests
        self.unread: deque[Page] = deque()  # messages not yet read for summaries, oldest first
        self.ranges = Ranges()  # formed, or being formed, into memory
        self.summaries: list[tuple[Page, Level]] = []  # in the front, oldest first
        self.summaries_older = 0
        self.claims = Core(sources.counter, is_adopted=sources.is_adopted)
        self.closures = Closures(self.claims, self.find_row, self.read_page)
        self.summary_maker = SummaryMaker(sources, self.closures, self.read_page)
        self.calls = TurnCalls(
            limits.searches_per_turn_max, limits.fault_limits(opened.window_tokens)
        )
        self.epoch_seq = NOTHING
        self.session_id = opened.session_id
        self._frame: tuple[int, Mode, str, LayoutName, ControlMode] | None = None
        self._configure(opened, entries=[])

    def _configure(self, told: SessionOpened | SessionConfigured, *, entries: list[Entry]) -> None:
        frame = (told.window_tokens, told.mode, told.system, told.layout, told.control)
        before, self._frame = self._frame, frame
        self.window_tokens, self.system, self.control = frame[0], told.system, told.control
        self.asked_mode = told.mode
        # In a mode without recall, the model has no tools for it.
        self.mode = told.mode if told.control.recalls else Mode.PASSIVE
        self.claims.is_silent = not told.control.recalls
        self.layout_name = told.layout
        self.tools = told.tools
        fault_limits = self.limits.fault_limits(told.window_tokens)
        self.calls.limit(fault_limits)
        tools = () if self.mode is Mode.PASSIVE else vm_tools(fault_limits)
        tools += tuple(
            ToolSpec(tool.name, tool.description, json.loads(tool.parameters))
            for tool in told.tools
        )
        self.layout = self._new_layout(fault_limits, tools)
        self.layout.pending = entries
        reason = "tools" if before == self._frame else "configured"
        self.epoch_due = reason if entries or self.request_next else ""

    def _new_layout(self, limits: FaultLimits, tools: tuple[ToolSpec, ...]) -> Layout:
        sources = self._sources
        if self.layout_name is LayoutName.STABLE:
            keeps = {tool.name for tool in tools} >= MEMORY_TOOLS
            head = prompts.head(self.system, self.mode, limits, keeps_memory=keeps)
            return Layout(sources.counter, head, tools, sources.seal)
        sources.packs.drop(self.session_id)
        frame = Frame(
            session_id=self.session_id,
            policies=policies_of(self.mode, limits),
            turns=self.limits.last_turns_kept,
            token_budget=self.window_tokens,
        )
        head = developer_head(self.system, self.mode)
        return DeveloperLayout(sources.counter, head, tools, frame, sources.packs, sources.seal)

    @property
    def configured(self) -> SessionConfigured:
        """The session's current configuration."""
        return SessionConfigured(
            window_tokens=self.window_tokens,
            mode=self.asked_mode,
            system=self.system,
            layout=self.layout_name,
            control=self.control,
            tools=self.tools,
        )

    @property
    def counter(self) -> TokenCounter:
        return self._sources.counter

    @property
    def epochs(self) -> EpochRule:
        return self._sources.epochs

    @property
    def compaction(self) -> Compaction:
        return self._sources.compaction

    # --- the fold -----------------------------------------------------------------------------

    def fold(self, event: Event) -> None:
        """Fold one more record of this session, or of an ancestor."""
        self._room = self._floor = None
        match event.body:
            case PageBody() as body:
                self._fold_content(event, page_of(event, body), body)
            case Packed() as body:
                self._fold_packed(event, body)
            case EpochBegun() as body:
                self._fold_epoch(event, body)
            case SessionOpened(epoch=epoch):  # no number is reused, whatever was forgotten
                self.epoch = max(self.epoch, epoch)
            case (
                Searched(relayed=True) | Faulted(relayed=True) | CallRefused(relayed=True)
            ) as body:
                self.calls.fold(body)  # it is in the client's window alone
            case Searched() | Faulted() | CallRefused():
                self.fold_call(event)
            case Reported(relayed=False, input_tokens=tokens):
                if self._packed_tokens:
                    self.token_factor.observe(tokens, self._packed_tokens, most=self._factor_max)
            case Priced() as body:
                self.priced = body
            case Pinned(page_id=page_id):
                self.table.pin(page_id)
                self.hot.discard(page_id)  # heat no longer owns it: nothing spills it
            case Unpinned(page_id=page_id):
                self.table.unpin(page_id)
            case ClaimRuled() as body:
                self.claims.rule(Ruled(event.seq, event.at_ms, body))
                self.rulings += 1
            case HeatMoved(moves=moves):
                for move in moves:
                    self._fold_move(move)
            case MemoryCalled():
                pass  # it is in the client's window alone
            case HeatRecalled():
                pass  # `service/derived/heat.py` counts the uses of items
            case SessionConfigured() as body:
                self._configure(body, entries=self.layout.entries())
            case Erased():
                self.epoch_due = "forgotten"
            case Relayed():
                self.is_relayed = True  # the proxy folds what such a request shows
            case Reported():
                pass  # of such a request
            case FormationBegun() | FormationEnded() as body:
                self.ranges.fold(body, event.turn)
            case undecided:  # `restore` checks whom these concern; some have folds of their own
                if not isinstance(undecided, Aside):
                    assert_never(undecided)

    def _fold_content(self, event: Event, page: Page, body: PageBody) -> None:
        stem, _, number = page.page_id.rpartition("_")
        self.numbers[stem] = max(self.numbers.get(stem, 0), int(number))
        if page.derived is None:
            self._fold_said(page, body, event.cause)
        elif self._sources.is_withdrawn(page.row):
            return  # nothing is held true of it, and nothing represents another page
        elif page.row.kind is Kind.CLAIM:
            self.claims.fold(page, page.derived)
        elif isinstance(body, Represented):
            self._fold_representation(event, page, page.derived)

    def _fold_representation(self, event: Event, page: Page, derived: Derived) -> None:
        if event.actor is not Actor.MODEL and derived.level < Level.REFERENCE:
            self.compressed[derived.represents] = page.page_id
            if event.actor is Actor.USER:
                self.shorter.add(derived.represents)
        if event.seq == NOTHING:
            self.l1.derived(page)
            return
        self.l1.flushed(page)
        self.table.flushed(page.row)

    @property
    def derived_order_next(self) -> int:
        """The order of the next derived page. Numbers of derived ids have no gaps."""
        return DERIVED_ORDER + sum(self.numbers.get(stem, 0) for stem in DERIVED_STEMS)

    def _fold_said(self, page: Page, body: PageBody, cause: Seq) -> None:
        if page.row.turn > self.turn:
            self.turn = page.row.turn
            self.working_set.turn_began(self.turn)
            self._paged_in = []
            self.recalled_now = set()
            self.calls.renew()
        self.order_next = page.row.order + 1
        is_withdrawn = self._sources.is_withdrawn(page.row)
        if is_withdrawn and isinstance(body, Called):
            self.calls_withdrawn.add(body.call_id)
        if isinstance(body, CoreWritten) and not is_withdrawn:
            self._fold_core(page, body)
        if is_withdrawn or page.row.origin == IMPORT or body.event_type in NOT_SAID:
            return  # it enters no window by itself: it was not said here, or somebody withdrew it
        self.said_seq = page.row.seq
        self._ages.said(page.row.tokens)
        if is_user_message(page.row) and not body.supersedes:
            if page.row.part == 0:
                self.newest_user = []
            self.newest_user.append(page)
            self.claims.now_ms = self.newest_user[0].row.at_ms
        if page.row.role is Role.ASSISTANT:
            for cited in cited_pages(page.text):
                self._touch(cited)
        if cause != NOTHING:
            self._fold_exchanged(cause, page, body)
            return
        shown = self.parts_shown(body)
        if page.row.part < shown:
            self.layout.add(Shown(page))
            self._admit(page)
            self.unread.append(page)
        if page.row.part + 1 == min(max(shown, 1), page.row.parts) and shown < page.row.parts:
            left = page.row.parts - shown
            rest = render.rest(page, shown, left * page.row.tokens)
            self.layout.add(Note(rest, page.row.seq, render.is_data(page)))

    def _fold_core(self, page: Page, body: CoreWritten) -> None:
        """A version of a section replaces the previous one, unless nobody vouches for it. The
        previous one is in the window until the next epoch, and the new one is appended.
        """
        is_proposed = body.is_proposed or is_untrusted(page.row.origin)
        if is_proposed or not self._sources.is_adopted:
            return
        before = self.sections.get(body.section)
        if before is not None and self.table.is_pinned(before):
            self.table.unpin(before)
            self.leaving.add(before)
            self.replaced[page.page_id] = before
        self.sections[body.section] = page.page_id
        if body.text:
            self.table.pin(page.page_id)

    def _fold_move(self, move: HeatMove) -> None:
        if move.to is Heat.HOT:
            if not self.table.is_pinned(move.page_id):
                self.table.pin(move.page_id)
                self.hot.add(move.page_id)
                self.leaving.discard(move.page_id)
        elif move.page_id in self.hot:
            self.hot.discard(move.page_id)
            self.table.unpin(move.page_id)
            self.leaving.add(move.page_id)

    def _fold_exchanged(self, cause: Seq, page: Page, body: PageBody) -> None:
        """Fold a text exchanged with the host's tools: it belongs to its call or result."""
        if not isinstance(body, Said | Called | Returned):
            return  # bytes of a tool: its result names them
        exchange = host_calls.place_of(self.layout, cause, body)
        if exchange is not None:
            host_calls.take(exchange, page, body)
            self.layout.changed()
        elif body.part < body.shown:
            self.layout.add(Recalled((page,), cause))
        if body.part < body.shown:
            self._admit(page)
            self.unread.append(page)

    @property
    def reply_cause(self) -> Seq:
        """The cause of a model's reply: the last request, or what was said since."""
        return max(self.packed_seq, self.said_seq)

    @property
    def is_backlogged(self) -> bool:
        """Whether more has come in since the last request than a window could ever show."""
        return self.working_set.tokens_used > 2 * self.window_tokens

    def parts_shown(self, body: PageBody) -> int:
        """How many parts of a long text enter the window by themselves."""
        return self.limits.parts_entering(body, self.window_tokens)

    def _fold_packed(self, event: Event, body: Packed) -> None:
        for exchange, _ in list(host_calls.awaited(self.layout.pending)):
            exchange.awaited.clear()  # their results were lost since: it says so
        pages = self.load_all(body.recalled)
        named = [replace(page, is_named=True) for page in self.load_all(body.named)]
        brings = (*pages, *named)
        brought: list[Entry] = [Recalled(brings, event.seq)] if brings else []
        brought += exchanges.faults_unsent(self)
        if brought:
            self._paged_in.append(brought)
        self.layout.freeze(brings)
        self.named = []
        if isinstance(self.layout, DeveloperLayout):
            self.layout.listed = self.listing(body.listed)
        if body.renderer != render.RENDERER:
            self.epoch_due = "renderer"  # these rules cannot reproduce what was sent
        for page in pages:
            self._admit(page)
            self.recalled_now.add(page.page_id)
        self.request_next = body.request + 1
        self.cache_misses.append(body.is_cold or not self.requests_since)
        self.requests_since += 1
        self.token_factor.value = body.factor
        self.accrued = body.accrued
        self.called_for = frozenset(body.called_for)
        self.packed_seq = event.seq
        self._packed_tokens = body.tokens - body.tail

    def _fold_epoch(self, event: Event, body: EpochBegun) -> None:
        self.epoch_due = ""
        front = self._front_of(event.seq, body)
        self.layout.rewrite(front, body.verbatim_from)
        self.summaries, self.summaries_older = list(front.summaries), body.older
        self.epoch_seq, self.requests_since = event.seq, 0
        for page_id in list(self.working_set):
            self.table.evicted(page_id)
        self.working_set.evicted(body.evicted)
        self.working_set.clear()
        for page in pages_of(front):
            self._admit(page)
        shown = [page for entry in self.layout.entries() for page in pages_of(entry)]
        for page in shown:
            if page.page_id not in self.working_set:
                self._admit(page)
        messages = [page for page in shown if is_user_message(page.row)]
        messages.sort(key=lambda page: page.row.order)
        first = max((n for n, page in enumerate(messages) if page.row.part == 0), default=0)
        self.newest_user = messages[first:]
        if self.newest_user:
            self.claims.now_ms = self.newest_user[0].row.at_ms
        self.epoch = body.epoch
        self.leaving.clear()
        self.shorter &= set(self.working_set)
        self._ages.keep(self.working_set)
        self.unread = deque(page for page in self.unread if page.page_id in self.working_set)
        self.compressed = {
            page_id: made
            for page_id, made in self.compressed.items()
            if page_id in self.working_set
        }

    def _front_of(self, seq: Seq, body: EpochBegun) -> Front:
        summaries = []
        for item in body.summaries:
            page = self._find(item.page_id)
            if page is not None:
                summaries.append((self.summary_maker.with_notes(page, seq), Level(item.level)))
        return Front(
            seq=seq,
            core=tuple(self.load_all([PagedIn(page_id=page_id) for page_id in body.core])),
            claims_left_out=body.claims_left_out,
            summaries=tuple(summaries),
            older=body.older,
            kept=tuple(self.load_all(body.kept)),
        )

    def fold_call(self, event: Event) -> str:
        """Fold a call of the model and return its result as the model reads it."""
        self._room = None
        shown: Page | None = None
        match event.body:
            case CallRefused() as body:
                name = body.name
                text = envelope.refusal(body.code, body.why, faults_left=body.faults_left)
            case Searched() as body:
                name, text = SEARCH_PAGES, search_result(body, self._find)
            case Faulted() as body:
                name = PAGE_FAULT
                text, shown = self._fold_faulted(body)
            case other:
                raise AssertionError(f"{other} is not a call")
        call = ToolCall(body.call_id, name, body.arguments)
        self.calls.fold(body)
        self._exchange(event, body.said).calls.append((call, text, shown))
        self.layout.changed()  # others may follow this exchange
        return text

    def search_result(self, body: Searched) -> str:
        """A search result for the model."""
        return search_result(body, self._find)

    def _fold_faulted(self, body: Faulted) -> tuple[str, Page | None]:
        text, page = fault_result(body, self._find)
        if page is not None:
            self._admit(page)
            self.working_set.faulted(page.page_id)
            self.shorter.discard(page.page_id)
            self.compressed.pop(page.page_id, None)  # the model wanted it in full
        self._touch(body.page_id)
        return text, page

    def _exchange(self, event: Event, said: str) -> Exchange:
        last = host_calls.exchange_of(self.layout.pending, event.cause)
        if last is not None:
            return last
        # Its place in the conversation is that of the request that led to it.
        words = neutralise(said, citations=True)
        exchange = Exchange(cause=event.cause, seq=event.cause, said=words)
        self.layout.add(exchange)
        return exchange

    def _admit(self, page: Page) -> None:
        row = page.row
        self._ages.came(row.page_id)
        entry = self.table.entry(row.page_id)
        if entry is not None and entry.residency is Residency.LOADING:
            self.table.loaded(row.page_id, self.turn)
        elif self.l1.is_dirty(row.page_id):
            self.table.derived(row, Level.FULL, self.turn)
        else:
            self.table.admitted(row, Level.FULL, self.turn)
        if page.derived is not None and page.derived.represents:
            self.l1.met(page)
        self.working_set.admit(
            Resident(
                page_id=row.page_id,
                tokens=row.tokens + render.LABEL_TOKENS,
                kind=row.kind,
                modality=row.modality,
                importance=row.importance,
                about=page.about,
                refetch=REFETCH[tier_of(row)],
            )
        )

    def out_of_place(self) -> list[Page]:
        """The pages that the window shows out of their place: an epoch may keep them so."""
        moved: list[Page] = []
        kept: list[Page] = []
        # Nearly all are in their place, and each request asks.
        entries = [entry for entry in self.layout.entries() if not isinstance(entry, Shown)]
        for entry in entries:
            match entry:
                case Recalled() | Exchange():
                    moved += pages_of(entry)
                case Front():
                    kept += entry.kept
        moved += kept
        named = self.told_newer() if moved else {}
        return [
            replace(page, newer_than=named[page.page_id]) if page.page_id in named else page
            for page in moved
        ]

    def told_newer(self) -> dict[PageId, tuple[PageId, ...]]:
        """For pages that the window named again: which others it said they are newer than."""
        return {
            page.page_id: page.newer_than
            for entry in self.layout.entries()
            if isinstance(entry, Recalled)
            for page in entry.pages
            if page.is_named
        }

    def turn_of(self, page_id: PageId) -> TurnNo:
        """The turn in which a page of the window was said."""
        entry = self.table.entry(page_id)
        return entry.row.turn if entry is not None else TurnNo(-1)

    def age_tokens(self, page_id: PageId) -> int:
        """The tokens said since a page of the window was last used."""
        return self._ages.of(page_id)

    def _touch(self, page_id: PageId) -> None:
        self._ages.used(page_id)
        self.working_set.touch(page_id)
        self.table.touched(page_id, self.turn)

    def read_page(self, page_id: PageId) -> Page:
        """A page of this session. `KeyError` if there is none, `RecordGone` if it was forgotten."""
        made = self.l1.page(page_id)
        if made is not None:
            return made
        row = self.table.find(page_id)
        if row is None:
            raise KeyError(page_id)
        return self._sources.read_page(row)

    def tier_of(self, row: PageRow, *, is_archived: bool) -> Tier:
        """The tier of a page's content now."""
        return tier_of(
            row,
            in_window=row.page_id in self.working_set and not self.is_relayed,
            is_dirty=self.l1.is_dirty(row.page_id),
            is_archived=is_archived,
        )

    def find_row(self, page_id: PageId) -> PageRow | None:
        """A page's row, bypassing the table: for threads that must not disturb it."""
        return self._sources.find_row(page_id)

    def is_withdrawn(self, row: PageRow) -> bool:
        """Whether a person withdrew a page, with all that rests on it."""
        return self._sources.is_withdrawn(row)

    def mapped_level(self, page_id: PageId, asked: Level) -> Level | None:
        """The level at which the window already shows a page, if that satisfies a fault."""
        if page_id in self.working_set:
            return Level.FULL
        for level in (Level.REDUCED, Level.ABSTRACT):
            made = self.l1.find(page_id, level) if level <= asked else None
            if made is not None and made.page_id in self.working_set:
                return level
        return None

    def asked_shorter(self) -> dict[PageId, PageId]:
        """The pages with a request for a shorter form, and that form, in order."""
        return {one: made for one, made in self.compressed.items() if one in self.shorter}

    def stays_as(self, page_id: PageId) -> PageId:
        """What an epoch keeps of a page that leaves its place: itself, or its compressed form."""
        if self.table.is_pinned(page_id) or any(p.page_id == page_id for p in self.newest_user):
            return page_id
        return self.compressed.get(page_id, page_id)

    def _find(self, page_id: PageId) -> Page | None:
        try:
            page = self.read_page(page_id)
        except (RecordGone, KeyError):
            self.epoch_due = "forgotten"  # the prefix that was sent cannot be made again
            return None
        if self._sources.is_withdrawn(page.row):
            self.epoch_due = "revoked"  # nor may this one be
            return None
        return page

    def load_all(self, paged_in: Sequence[PagedIn]) -> list[Page]:
        """Those of these pages that still exist."""
        found = ((self._find(item.page_id), item) for item in paged_in)
        return [
            replace(page, newer_than=item.newer_than, older_than=item.older_than, lapse=item.lapse)
            if item.newer_than or item.older_than or item.lapse
            else page
            for page, item in found
            if page is not None
        ]

    def listing(self, page_ids: Iterable[PageId]) -> tuple[Listed, ...]:
        """Those of these pages that still exist, each with its hint, for a manifest."""
        listed = []
        for page_id in page_ids:
            with suppress(RecordGone, ArchiveMissing, KeyError):
                page = self.closures.as_it_holds(self.read_page(page_id))
                if not self._sources.is_withdrawn(page.row):
                    told = render.noted(hint(page.text, title=page.title), page.lapse)
                    listed.append(Listed(page.row, told))
        return tuple(listed)

    # --- the claims ---------------------------------------------------------------------------

    @property
    def core(self) -> dict[PageId, Page]:
        """The claims with the user's authority, oldest first; none in a mode without recall."""
        return {} if self.claims.is_silent else self.claims.holding

    def tail_tokens(self, recalled: Sequence[Page] = ()) -> int:
        """The tokens that the tail adds to a request packed now: 0 while calls are served."""
        if self.layout.last_role(recalled) is not Role.USER:
            return 0
        return self.claims.tail_tokens()

    # --- the window ---------------------------------------------------------------------------

    @property
    def window_room(self) -> int:
        """The window in our own tokens: the model's count of it cannot exceed it."""
        return math.floor(self.window_tokens / self.factor)

    def floor_tokens(self) -> int:
        """What no epoch can remove: head, tools, pins, tail and the newest user message."""
        if self._floor is None:
            newest: list[Entry] = [Shown(page) for page in self.newest_user]
            self._floor = self._standing_tokens() + self.layout.tokens_of(newest)
        return self._floor + self.claims.tail_tokens()

    def fixed_tokens(self) -> int:
        """The same without the message: what is always in the window."""
        return self._standing_tokens() + self.claims.tail_tokens()

    def _standing_tokens(self) -> int:
        pins = self.pin_tokens(self.pinned_pages())
        return self.layout.head_tokens + render.BLOCK_TOKENS + pins

    def pins_there(self) -> list[PageId]:
        """The pinned pages that still exist, in the order of the pins."""
        return [page_id for page_id in self.table.pins() if self.is_there(page_id)]

    def is_there(self, page_id: PageId) -> bool:
        """Whether a page was neither forgotten nor withdrawn."""
        entry = self.table.entry(page_id)
        row = self._sources.find_row(page_id) if entry is None else entry.row
        return row is not None and not self._sources.is_withdrawn(row)

    def pinned_pages(self) -> list[Page]:
        """The pinned pages, in the order of their pins, without forgotten ones."""
        pages = []
        for page_id in self.table.pins():
            with suppress(RecordGone, KeyError):
                page = self.read_page(page_id)
                if not self._sources.is_withdrawn(page.row):
                    pages.append(self.closures.as_it_holds(page))
        return pages

    def pin_tokens(self, pages: Sequence[Page]) -> int:
        """The tokens of these pages in the window as recalled lines, each counted as rendered."""
        if not pages:
            return 0
        lines = self._sources.counter.count_all([render.line([page]) for page in pages])
        return sum(lines) + len(lines) * self.layout.row_tokens

    def must_show(self) -> list[Page]:
        """The pages in every request: the newest user message, and the pins; for a closed claim
        that is pinned, also the one that closed it.
        """
        pages = {page.page_id: page for page in (*self.newest_user, *self.pinned_pages())}
        for closed, closer in self.claims.closed_by.items():
            if closed in pages and closer not in pages:
                with suppress(RecordGone, ArchiveMissing, KeyError):
                    pages[closer] = self.closures.as_it_holds(self.read_page(closer))
        return list(pages.values())

    @property
    def awaits_request(self) -> bool:
        """Whether a user message has come in that no request has carried yet."""
        return any(
            isinstance(entry, Shown) and is_user_message(entry.page.row)
            for entry in self.layout.pending
        )

    def room_for_results(self) -> int:
        """The room for results of calls. Those of this turn stay until it ends; if it calls the
        host's tools, until they were sent.
        """
        if self._room is None:  # used several times for each call
            shown = self.layout.tokens_of(exchanges.held(self))
            self._room = self.window_room - self.floor_tokens() - shown
        return self._room

    @property
    def paged_in_tokens(self) -> int:
        """What recall and faults brought in with this turn's requests, framing included."""
        return sum(map(self.layout.tokens_of, self._paged_in))

    def paged_in_left(self) -> int:
        """What may still be paged in in this turn, framing included; -1 if nothing limits recall
        and faults together.
        """
        bound = self.limits.paged_in_tokens_max
        if not bound:
            return -1
        return max(
            0, bound - self.paged_in_tokens - self.layout.tokens_of(exchanges.faults_unsent(self))
        )

    @property
    def factor(self) -> float:
        """The model's tokens for one of ours."""
        return self.token_factor.value

    def relearn_factor(self) -> None:
        """Let the factor fall to the highest recent report, if there are enough."""
        self.token_factor.relearn(most=self._factor_max)
        self._room = None

    def _factor_max(self) -> float:
        """However absurd a report: the required contents must fit, or the session could not
        go on.
        """
        return self.window_tokens / (self.floor_tokens() + self.limits.room_tokens_min)

    @property
    def front_messages(self) -> int:
        """The number of messages before the turns: the head, and the epoch's front."""
        segments = self.layout.segments
        return 1 + bool(segments and any(isinstance(e, Front) for e in segments[0].entries))

    def request(self) -> Request:
        """The last request as it was packed."""
        messages: tuple[Message, ...] = self.layout.messages()
        tail = self.claims.tail() if messages[-1].role is Role.USER else ""
        return Request(
            messages=messages,
            tools=self.layout.tools,
            tokens=self.layout.frozen_tokens() + (self.claims.tail_tokens() if tail else 0),
            factor=self.factor,
            window_tokens=self.window_tokens,
            tail=tail,
        )

    @property
    def pack_hits(self) -> int:
        """How often the developer layout was asked for a request that it had packed."""
        return self.layout.pack_hits if isinstance(self.layout, DeveloperLayout) else 0

    @property
    def pack_misses(self) -> int:
        return self.layout.pack_misses if isinstance(self.layout, DeveloperLayout) else 0

    def check(self) -> None:
        """Check every invariant; slow. What we wrote, we can fold."""
        assert not self.set_aside, self.set_aside
        self.working_set.check()
        self.layout.check()
        self.table.check(self.working_set)
        shown = [page.page_id for entry in self.layout.entries() for page in pages_of(entry)]
        assert set(shown) == set(self.working_set), "(1)"
        assert {page.page_id for page in self.newest_user} <= set(shown), "(2)"
