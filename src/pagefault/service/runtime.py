"""What all sessions of a memory share: the way into the log, the ways out of it, the limits."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Required, TypedDict, TypeVar, Unpack

from pagefault.model.clock import Clock
from pagefault.model.errors import (
    ArchiveMissing,
    RecordDamaged,
    RecordGone,
    StoreClosed,
    StoreCorrupt,
)
from pagefault.model.events import Event, PageBody, SessionOpened
from pagefault.model.ids import FOREVER, PageId, Seq, SessionNo
from pagefault.model.kinds import Compaction, Profile
from pagefault.model.page import Page, PageRow, Scope
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.pack.cache import PackCache
from pagefault.pack.count import TokenCounter
from pagefault.pack.layout import UNSEALED
from pagefault.pack.render import Seal
from pagefault.paging.questions import EvictionPolicy
from pagefault.policy.epochs import EpochRule
from pagefault.policy.prefetch import Strategy
from pagefault.recall.analyzed import AnalyzedText
from pagefault.recall.search import Searcher, SearchResult
from pagefault.represent.api import Compressor
from pagefault.service.flights import Flights
from pagefault.service.heat_counts import HeatCounts
from pagefault.service.journal import Journal
from pagefault.service.limits import Limits
from pagefault.service.quarantine import Quarantine
from pagefault.service.receipts import Receipts
from pagefault.service.regions import Regions, joined
from pagefault.service.stopwatch import Stopwatch
from pagefault.service.window.content import page_of
from pagefault.service.window.room import check_window
from pagefault.service.window.run_summary import summariser
from pagefault.service.window.sources import Sources
from pagefault.service.window.state import SessionState
from pagefault.store.api import BlobStore, EventLog, PageFilter, PageIndex
from pagefault.store.precedence import start_giving_way

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

_CACHED_PAGES: Final = 512
_CACHED_TEXTS: Final = 256
_BEHIND_WITHDRAWN: Final = 1_000  # hits that are also examined if some are withdrawn
_NAMED_MAX: Final = 64
"""A page with more sources is not cached: storing their names takes as much memory as hundreds of
texts.
"""


class SearchOptions(TypedDict, total=False):
    """Keyword arguments of `Runtime.search_blocking`."""

    limit: Required[int]
    wanted: SearchFilter
    only: NDArray[np.int64] | None
    profile: Profile | None
    strict: bool


NOTHING_FOUND: Final[Mapping[PageId, tuple[PageRow, Page]]] = MappingProxyType({})


class PageReader:
    """Reads pages from the log, the latest ones from a cache. Thread-safe."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._cache: OrderedDict[Seq, Page] = OrderedDict()
        self._analyzed: OrderedDict[Seq, AnalyzedText] = OrderedDict()
        self._flights = Flights[Seq, Page]()

    @property
    def kept(self) -> tuple[int, int]:
        """The number of cached pages, and its maximum."""
        return len(self._cache), _CACHED_PAGES

    def holds(self, row: PageRow) -> bool:
        """Whether the page is cached."""
        return row.seq in self._cache

    def read(self, row: PageRow) -> Page:
        """The page of a row. Raises `RecordGone` if it was forgotten, lost or damaged.

        Concurrent readers of a page share one read.
        """
        page = self._cache.get(row.seq)
        return page or self._flights.fly(row.seq, lambda: self._load(row))

    def _load(self, row: PageRow) -> Page:
        cache = self._cache  # the current one: see `flush`
        page = cache.get(row.seq)
        if page is None:
            try:
                event = self._log.get(row.seq)
            except StoreCorrupt as damage:
                raise RecordDamaged(
                    f"page {row.page_id} is damaged: {damage}", hint=damage.hint
                ) from damage
            if not isinstance(event.body, PageBody):
                raise RecordGone(
                    f"page {row.page_id} is gone: its record is {event.type}",
                    hint="it was forgotten, or set aside as damaged: see `Memory.verify`",
                )
            page = page_of(event, event.body)
            _keep(cache, page)
        return page

    def analyzed(self, page: Page) -> AnalyzedText:
        """The words of a page that was read; those made last are cached."""
        texts, seq = self._analyzed, page.row.seq  # the current ones: see `flush`
        found = texts.get(seq)
        if found is None:
            found = AnalyzedText(page.text)
            if seq in self._cache:
                texts[seq] = found
                while len(texts) > _CACHED_TEXTS:
                    texts.popitem(last=False)
        return found

    def keeper(self) -> Callable[[Page], None]:
        """A function that caches pages that its caller is about to read himself, unless something
        is forgotten meanwhile: see `flush`.
        """
        return partial(_keep, self._cache)

    def flush(self) -> None:
        """Drop every cached text: something was forgotten. A read in progress, perhaps of just
        that, still goes into the old cache.
        """
        self._cache, self._analyzed = OrderedDict(), OrderedDict()


def _keep(cache: OrderedDict[Seq, Page], page: Page) -> None:
    if page.derived is not None and len(page.derived.provenance) > _NAMED_MAX:
        return
    cache[page.row.seq] = page
    while len(cache) > _CACHED_PAGES:
        cache.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    log: EventLog
    index: PageIndex
    blobs: BlobStore
    receipts: Receipts
    quarantine: Quarantine
    regions: Regions
    journal: Journal
    pages: PageReader
    searcher: Searcher
    counter: TokenCounter
    epochs: EpochRule
    limits: Limits
    policy: Callable[[], EvictionPolicy]
    hash_key: Callable[[SessionNo, str], str]
    clock: Clock
    meter: Callable[[str, float], None]  # called with a name and seconds
    cache_s: Callable[[], float]  # after which a provider's cache lapses
    mint_session_id: Callable[[], str]
    model: str = ""  # the model's name in its API, if given
    profile: Profile = Profile.MEASURED  # the ranking of searches
    read_only: bool = False  # so no request will be made
    is_adopted: bool = True  # by its user: else its claims have no authority
    extracts_claims: bool = True  # by rules, from the user's messages
    forms: bool = False  # the engine that is run forms memory, after each turn
    compaction: Compaction = Compaction.EXTRACTIVE
    names_compaction: bool = False  # so it is for clients' conversations, too
    compressor: Compressor | None = None  # the caller's; without one, our rules
    prefetch: tuple[Strategy, ...] = ()  # the caller's, beside those of `limits.loading`
    packs: PackCache = field(default_factory=PackCache)
    seal: Seal = UNSEALED  # the numbers that close blocks of data, keyed with the memory's secret
    watch: Stopwatch = field(default_factory=Stopwatch)  # of this opening
    heat: HeatCounts = field(default_factory=HeatCounts)  # likewise
    under_way: set[asyncio.Future[Any]] = field(default_factory=set)  # records that nobody awaits
    forming: set[asyncio.Task[None]] = field(default_factory=set)  # ends with this opening
    resting: set[asyncio.TimerHandle] = field(default_factory=set)  # likewise
    # Few, because each search takes some megabytes for a moment, and a thread keeps its peak.
    searching: Executor = field(
        default_factory=lambda: ThreadPoolExecutor(
            2, thread_name_prefix="pagefault-search", initializer=start_giving_way
        )
    )

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Report the block's duration to the meter, if it ends well."""
        began = self.clock.monotonic_s()
        yield
        seconds = self.clock.monotonic_s() - began
        self.watch(what, seconds)
        self.meter(what, seconds)

    async def search(
        self, scope: Scope, query: str, **options: Unpack[SearchOptions]
    ) -> SearchResult:
        """`search_blocking`, in a thread."""
        return await self.in_search_thread(partial(self.search_blocking, scope, query, **options))

    async def in_search_thread(self, work: Callable[[], T]) -> T:
        """The result of work that searches, done in a thread. Raises `StoreClosed`."""
        try:
            result = asyncio.get_running_loop().run_in_executor(self.searching, work)
        except RuntimeError as closed:
            raise StoreClosed from closed
        return await result

    def search_blocking(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int,
        wanted: SearchFilter = ANY,
        only: NDArray[np.int64] | None = None,
        profile: Profile | None = None,
        strict: bool = False,
    ) -> SearchResult:
        """As `Searcher.search`; hits out of reach are marked as such, and withdrawn pages are left
        out. The default profile is this memory's. Blocks on the store.
        """
        search = partial(
            self.searcher.search,
            *(scope, query),
            wanted=wanted,
            only=only,
            today=datetime.fromtimestamp(self.clock.now_ms() / 1000, UTC).date(),
            profile=profile or self.profile,
            strict=strict,
        )
        found = search(limit=limit)
        if any(self.quarantine.is_unseen(hit.page) for hit in found.hits):
            behind = search(limit=limit + _BEHIND_WITHDRAWN)  # they take no other page's room
            found = self.quarantine.shown(behind, limit=limit)
        return found.marked(self.log.out_of_reach([hit.page.seq for hit in found.hits]))

    def keyed(self, text: str) -> str:
        """A digest of a text, the same whenever this memory is opened: 16 letters and digits. It is
        useless without the memory's secret.
        """
        hashed = self.hash_key(SessionNo(0), f"keyed {text}")
        return sha256(hashed.encode()).hexdigest()[:16]

    def scope(self, session: SessionNo) -> Scope:
        """What a session can see: itself and its ancestors, each up to where it was forked."""
        parts: list[tuple[SessionNo, Seq]] = []
        upto = FOREVER
        while session:
            parts.append((session, upto))
            row = self.index.session(session)
            descent = self.receipts.descent(session) if row is None else row
            if descent is None:
                break
            session, upto = descent.parent, min(upto, descent.parent_seq)
        return Scope(tuple(parts))

    def reach(self, scope: Scope) -> list[Scope]:
        """The regions that the session with this scope may search now, each by itself."""
        return [self.scope(one.region) for one in self.regions.mounts(scope) if one.is_open]

    def seen(self, scope: Scope) -> Scope:
        """All that the session with this scope can see: for looking pages up, not for ranking."""
        return joined(scope, self.reach(scope))

    def could_see(self, session: SessionNo) -> Scope:
        """All that a session can see, and what it mounted and may have seen: derivatives of a
        forgotten page are searched for there.
        """
        scope = self.scope(session)
        return joined(scope, [self.scope(region) for region in self.regions.ever(scope)])

    def parts_of(self, scope: Scope, row: PageRow) -> list[PageRow]:
        """Every part of the text that a page is part of, in order, without forgotten ones."""
        if row.parts == 1:
            return [row]
        first = row.order - row.part
        wanted = PageFilter(after_order=first - 1, before_order=first + row.parts)
        found = self.index.pages(scope, wanted, limit=row.parts)
        return [one for one in found if one.parts == row.parts]

    def sources(
        self, scope: Scope, found: Mapping[PageId, tuple[PageRow, Page]] = NOTHING_FOUND
    ) -> Sources:
        """The look-ups of a state. They read the store: fold where that may block. Pages that were
        `found` already are looked up there, as long as they exist.
        """

        def find_row(page_id: PageId) -> PageRow | None:
            known = found.get(page_id)
            return self.index.find_page(scope, page_id) if known is None else known[0]

        def read_page(row: PageRow) -> Page:
            known = found.get(row.page_id)
            return self.pages.read(row) if known is None else known[1]

        return self._sources(find_row, read_page)

    def _sources(
        self, find_row: Callable[[PageId], PageRow | None], read: Callable[[PageRow], Page]
    ) -> Sources:
        return Sources(
            find_row,
            read,
            self.counter,
            self.policy,
            self.epochs,
            summariser(self.counter),
            self.packs,
            self.is_adopted,
            self.seal,
            self.quarantine.is_withdrawn,
            self.compaction,
        )

    def events_of(self, session: SessionNo, types: Collection[str]) -> list[Event]:
        """A session's own records of some types, oldest first, without those in an archive that is
        away.
        """
        found = []
        for seq in self.index.events(session, types=types):
            with suppress(ArchiveMissing):
                found.append(self.log.get(seq))
        return found

    def pages_of_key(self, session: SessionNo, key: str) -> list[PageId]:
        """The pages that a text with this idempotency key became, if it was written before.

        Raises `RecordGone` if it was forgotten since this memory was opened: a retry under way must
        not restore it. Later openings know nothing of it any more.
        """
        if not key:
            return []
        hashed = self.hash_key(session, key)
        seq = self.index.find_key(session, hashed)
        if seq is None and not self.journal.was_forgotten(session, hashed):
            return []
        first = None if seq is None else self.index.page_at(seq)
        if first is None:
            raise RecordGone(
                "what was written with this key has been forgotten, so it is not written again",
                hint="use another key to write it anew",
            )
        stem, _, number = first.page_id.rpartition("_")
        return [PageId(f"{stem}_{int(number) + part}") for part in range(first.parts)]

    def check_opened(
        self, opened: SessionOpened, must_show: Sequence[Page] = (), *, factor: float = 1.0
    ) -> None:
        """Raise `WindowTooSmall` unless a session that must show these pages could run so."""
        empty = self._sources(lambda _: None, _no_page)
        state = SessionState(opened, self.limits, empty)
        state.token_factor.value = factor
        check_window(state, must_show)


def _no_page(row: PageRow) -> Page:
    raise KeyError(row.page_id)
