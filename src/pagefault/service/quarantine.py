"""A fold of people's rulings about pages: approvals, raised origins, withdrawals.

*Imported* pages wait until a person approves those that are in a session at that moment, which can
be taken back; later imports wait again. Until then searches and faults find them, a person's and a
model's, but the runtime never recalls, lists or pins one, and makes no claim from it.

An untrusted note that reads like an order waits likewise, until a person raises it. So does a
proposed version of core memory, until a person accepts it.

A person *raises* a page with the digest under which its text was shown: it counts as approved by
the user as long as it has exactly this text.

A *withdrawn* page is kept, and a person can still read it. No request shows it any more, and
nothing is held true of it, until a person raises the page itself. Of several rulings about one page
the last holds.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.events import (
    Event,
    ImportApproved,
    ImportRevoked,
    Noted,
    OriginRaised,
    OriginRevoked,
)
from pagefault.model.ids import FOREVER, NOTHING, Seq, SessionNo
from pagefault.model.kinds import IMPORT, PAGE_PREFIX, USER_APPROVED, Origin
from pagefault.model.page import Page, PageRow
from pagefault.model.trust import is_untrusted
from pagefault.store.api import EventLog, PageIndex
from pagefault.store.fold import ORIGIN_RULINGS
from pagefault.store.store import STORE

if TYPE_CHECKING:
    from pagefault.recall.search import SearchHit, SearchResult

_NOTE: Final = PAGE_PREFIX["note"] + "_"
_CORE: Final = PAGE_PREFIX["core"] + "_"
RULINGS: Final = ("import_approved", "import_revoked", *ORIGIN_RULINGS)


class Quarantine:
    """The rulings of a memory. Thread-safe."""

    def __init__(
        self, log: EventLog, index: PageIndex, hash_key: Callable[[SessionNo, str], str]
    ) -> None:
        self._log = log
        self._index = index
        self._hash_key = hash_key
        self._approved: dict[SessionNo, Seq] = {}  # by the last approving record
        self._raised: dict[Seq, str] = {}  # the digest of each raised page, by its record
        self._withdrawn: list[tuple[Seq, Seq]] = []  # ranges of records, in order, without overlap
        self._hostile: dict[Seq, bool] = {}  # untrusted notes, as far as asked for
        self._read = NOTHING
        self._looked_at = Seq(-1)  # no ruling up to this record is unread

    def holds(self, row: PageRow) -> bool:
        """Whether the runtime must not recall, list or pin a page."""
        if self.is_withdrawn(row):
            return True
        if row.origin == IMPORT:
            return row.seq >= self.approved(row.session)
        return self._is_hostile(row) or self.is_proposed(row)

    def is_unseen(self, row: PageRow) -> bool:
        """Whether no search finds a page, and no model is shown it: it was withdrawn, or proposed
        for core memory, where it would be in every request.
        """
        return self.is_proposed(row) or self.is_withdrawn(row)

    def why_unseen(self, row: PageRow) -> str:
        """The reason, in words, why a page is not shown; "" if it may be."""
        if self.is_withdrawn(row):
            return "the page was withdrawn"
        if self.is_proposed(row):
            return "it is proposed for core memory, and nobody accepted it"
        return ""

    def is_proposed(self, row: PageRow) -> bool:
        """Whether a page is a proposed version of core memory that nobody has accepted."""
        is_core = row.page_id.startswith(_CORE)
        return is_core and is_untrusted(row.origin) and row.seq not in self._raised

    def _is_hostile(self, row: PageRow) -> bool:
        """Whether it is an untrusted note that reads like an order, and nobody raised it."""
        if not row.page_id.startswith(_NOTE) or not is_untrusted(row.origin):
            return False
        if row.seq not in self._hostile:
            with suppress(StoreCorrupt, ArchiveMissing):  # then it cannot be shown, either
                body = self._log.get(row.seq).body
                self._hostile[row.seq] = isinstance(body, Noted) and body.is_quarantined
        return self._hostile.get(row.seq, True) and row.seq not in self._raised

    def approved(self, session: SessionNo) -> Seq:
        """The record up to which all imports into a session are approved; 0 if none."""
        self.read_on()
        return self._approved.get(session, NOTHING)

    def is_withdrawn(self, row: PageRow) -> bool:
        """Whether no request may show a page, and nothing may be held true of it."""
        return self.is_withdrawn_at(row.seq)

    def is_withdrawn_at(self, seq: Seq) -> bool:
        """The same, for the page that this record made."""
        self.read_on()
        ranges = self._withdrawn
        if not ranges:
            return False
        at = bisect_right(ranges, (seq, FOREVER)) - 1
        return at >= 0 and seq <= ranges[at][1] and seq not in self._raised

    def withdraw(self, targets: Iterable[tuple[Seq, Seq]]) -> None:
        """Withdraw records of an overlay, which end with this process: nothing is written."""
        self._withdrawn = _merged([*self._withdrawn, *targets])

    def shown(self, found: SearchResult, *, limit: int) -> SearchResult:
        """The best of the pages found that may be shown, or of visible ones with the same text."""
        hits: list[SearchHit] = []
        for hit in found.hits:
            stay = [row for row in (hit.page, *hit.also) if not self.is_unseen(row)]
            if stay:
                hits.append(replace(hit, page=stay[0], also=tuple(stay[1:])))
        gone = len(found.hits) - len(hits)
        return replace(found, hits=tuple(hits[: max(limit, 0)]), total=found.total - gone)

    def label(self, page: Page) -> Origin:
        """The origin of a page after people's rulings: its own, unless somebody raised this
        text.
        """
        self.read_on()
        digest = self._raised.get(page.row.seq)
        is_raised = digest is not None and digest == self.digest(page)
        return USER_APPROVED if is_raised else page.row.origin

    def digest(self, page: Page) -> str:
        """A digest of a page and its exact text: 16 letters and digits. It is keyed with the
        memory's secret, so that nobody without that can compute it, or learn a text from it.
        """
        said = f"origin {page.row.seq} {page.title}\0{page.speaker}\0{page.text}"
        return hashlib.sha256(self._hash_key(SessionNo(0), said).encode()).hexdigest()[:16]

    def appended(self, events: Sequence[Event]) -> None:
        """Records that were just written. Those that follow what was read, and are no rulings, need
        no look into the index.
        """
        for event in events:
            if event.seq != self._looked_at + 1 or event.type in RULINGS:
                return
            self._looked_at = event.seq

    def read_on(self, *, anew: bool = False) -> Seq:
        """Read new rulings. Returns the record of the last one.

        The index is asked if the log has grown since, because this runs for every page; `anew` asks
        in any case, for callers that know of a ruling: the log may have it a moment before the
        index.
        """
        head = self._log.head()
        if head == self._looked_at and not anew:
            return self._read
        for seq in self._index.events(STORE, types=RULINGS, after=self._read):
            with suppress(StoreCorrupt):  # a lost ruling approves nothing
                match self._log.get(seq).body:
                    case ImportApproved(sessions=sessions):
                        self._approved |= dict.fromkeys(sessions, seq)
                    case ImportRevoked(sessions=sessions):
                        self._approved |= dict.fromkeys(sessions, NOTHING)
                    case OriginRaised(page=page, digest=digest):
                        self._raised[page] = digest
                    case OriginRevoked(targets=targets):
                        self._raised = {
                            page: digest
                            for page, digest in self._raised.items()
                            if not any(first <= page <= last for first, last in targets)
                        }
                        self._withdrawn = _merged([*self._withdrawn, *targets])
            self._read = seq
        self._looked_at = head
        return self._read


def _merged(ranges: Iterable[tuple[Seq, Seq]]) -> list[tuple[Seq, Seq]]:
    found: list[tuple[Seq, Seq]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found
