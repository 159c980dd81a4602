"""A cache of posting lists, by session and word.

A turn looks up hundreds of words, nearly all of which the turn before looked up, and each look-up
is an SQL statement that takes longer than copying its result. So the list of a word in a session is
read once. The thread that applies later records adds their pages to the lists.

Invariants, for what is cached of a session:
 (1) Its lists have the pages before `begins` that the word stands in, as of every snapshot from
     `born` on; pages from `begins` on are in `since`. Orders ascend in both.
 (2) All that was applied between `born` and `PostingsCache.applied` was added. Where that cannot be
     known, as after the writes of another process, everything is dropped.
 (3) Nothing cached outlives an erasure: the file counts them (`erased`), in the same transaction.
 (4) `bytes` is the size of both.

Only transcript pages are cached: their orders ascend as they are applied.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from pagefault.language.sought import beginning
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.page import DERIVED_ORDER
from pagefault.store.place import ORDER_BITS, ORDER_MAX

if TYPE_CHECKING:
    from pagefault.store.likely import Numbers

BYTES_MAX: Final = 8 << 20  # of all lists; above it, the least recently used session is dropped
SESSIONS_MAX: Final = 64
_LIST_BYTES: Final = 256  # of a word, its list and their entry, besides its pages
_PAGE_BYTES: Final = 8

_INSERTED_MAX: Final = 64  # words added one by one: a sort compares all that are there
_AFTER_ANY: Final = "\U0010ffff"  # sorts after every letter


class _Session:
    """What is cached of a session."""

    def __init__(self, born: Seq) -> None:
        self.lock = threading.Lock()  # of all that follows
        self.born = born
        self.begins = DERIVED_ORDER
        self.lists: dict[str, Numbers] = {}
        self.since: dict[str, list[int]] = {}
        self.words: list[str] = []  # of `since`, ascending, without those in `unsorted`
        self.unsorted: list[str] = []  # put in order when a beginning is sought
        self.pages: list[int] = []  # their orders
        self.seqs: list[Seq] = []  # parallel: up to which record they were applied
        self.bytes = 0

    def add(self, order: int, tokens: str, upto: Seq) -> None:
        self.begins = min(self.begins, order)
        self.pages.append(order)
        self.seqs.append(upto)
        since, words = self.since, tokens.split(" ")
        self.bytes += _PAGE_BYTES * len(words)
        for word in words:
            orders = since.get(word)
            if orders is None:
                since[word] = [order]
                self.unsorted.append(word)
                self.bytes += _LIST_BYTES
            else:
                orders.append(order)

    def end(self, seq: Seq) -> int:
        """The order at which the pages begin that a snapshot of this record does not have."""
        at = bisect_right(self.seqs, seq)
        return self.pages[at] if at < len(self.pages) else DERIVED_ORDER

    def added(self, word: str) -> Sequence[int]:
        """The orders of the pages in `since` with a word, or with any that begins so."""
        prefix = beginning(word)
        if not prefix:
            return self.since.get(word, ())
        self._sort()
        first = bisect_left(self.words, prefix)
        these = self.words[first : bisect_left(self.words, prefix + _AFTER_ANY)]
        return sorted({order for one in these for order in self.since[one]})

    def _sort(self) -> None:
        if len(self.unsorted) <= _INSERTED_MAX:
            for word in self.unsorted:
                insort(self.words, word)
        else:
            self.words += self.unsorted
            self.words.sort()
        self.unsorted.clear()

    def check(self) -> None:
        """Every invariant that can be told without the file, slowly."""
        size = _LIST_BYTES * (len(self.lists) + len(self.since))
        for orders in self.lists.values():
            assert all(orders[:-1] < orders[1:]), "(1)"
            assert not len(orders) or orders[-1] < self.begins, "(1)"
            size += _PAGE_BYTES * len(orders)
        for added in self.since.values():
            assert added == sorted(set(added)), "(1)"
            assert added[0] >= self.begins, "(1)"
            size += _PAGE_BYTES * len(added)
        assert self.words == sorted(self.words)
        assert sorted(self.words + self.unsorted) == sorted(self.since)
        assert self.pages == sorted(set(self.pages))
        assert self.seqs == sorted(self.seqs)
        assert len(self.pages) == len(self.seqs)
        assert self.bytes == size, "(4)"


_bytes: Final = attrgetter("bytes")


class SessionPostings:
    """The posting lists of a session's transcript up to some page, as of one snapshot."""

    def __init__(self, of: _Session, *, end: int, applied: Seq) -> None:
        self._of = of
        self._upto = end
        self._applied = applied

    def begins(self) -> int:
        """The order from which on every page was added here, so the file is read only before it."""
        with self._of.lock:
            return self._of.begins

    def find(self, word: str) -> Numbers | None:
        """The orders of the pages that a word stands in, ascending; None if that is not cached."""
        with self._of.lock:
            found = self._of.lists.get(word)
            return None if found is None else self._seen(word, found)

    def counts(self, words: Sequence[str]) -> list[int | None]:
        """How many pages each of these words stands in; None for a word that is not cached."""
        with self._of.lock:
            lists, added, end = self._of.lists, self._of.added, self._end()
            if end < self._of.begins:  # and nothing that was added counts
                found = map(lists.get, words)
                return [None if one is None else int(one.searchsorted(end)) for one in found]
            return [
                len(lists[word]) + bisect_left(added(word), end) if word in lists else None
                for word in words
            ]

    def keep(self, word: str, orders: Numbers) -> Numbers:
        """Cache the orders that the file has in this snapshot, all before `begins`; the answer is
        that of `find`.
        """
        of = self._of
        with of.lock:
            found = of.lists.get(word)  # another thread may have read it meanwhile
            if found is None:
                found = of.lists[word] = orders[: orders.searchsorted(of.begins)].copy()
                of.bytes += len(found) * _PAGE_BYTES + _LIST_BYTES
            return self._seen(word, found)

    def _seen(self, word: str, found: Numbers) -> Numbers:
        end = self._end()
        if len(found) and found[-1] >= end:
            return found[: found.searchsorted(end)]
        added = self._of.added(word)
        more = added[: bisect_left(added, end)]
        if not more:
            return found

        import numpy as np  # takes a tenth of a second to load: only searches pay for it

        return np.concatenate([found, np.array(more, dtype=np.int64)])

    def _end(self) -> int:
        """The first order that is not part of these lists."""
        return min(self._of.end(self._applied), self._upto)


class PostingsCache:
    """The cached lists of an index. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[SessionNo, _Session] = {}  # the one used last, last
        self._applied = Seq(0)
        self._erased = 0

    def clear(self) -> None:
        with self._lock:
            self._sessions.clear()

    def of(
        self, session: SessionNo, *, end: int, applied: Seq, erased: int
    ) -> SessionPostings | None:
        """The lists of a session's pages before the order `end`, as of the snapshot with these
        counts; None if that is older than what is cached.
        """
        with self._lock:
            if erased != self._erased or applied > self._applied:
                self._sessions.clear()
                self._applied, self._erased = applied, erased
            self._shrink()
            found = self._sessions.pop(session, None) or _Session(self._applied)
            self._sessions[session] = found
            is_older = applied < found.born
            return None if is_older else SessionPostings(found, end=end, applied=applied)

    def add(self, pages: Collection[tuple[int, str]], *, after: Seq, upto: Seq) -> None:
        """Add the places and tokens of all transcript pages after one record and up to another.

        REQUIRES: they are not committed yet, so that no snapshot has pages that are missing here;
        and `clear` is called if the commit fails.
        """
        with self._lock:
            if after != self._applied:
                self._sessions.clear()
            self._applied = upto
            for place, tokens in sorted(pages) if self._sessions else ():
                found = self._sessions.get(SessionNo(place >> ORDER_BITS))
                if found is not None:
                    with found.lock:
                        found.add(place & ORDER_MAX, tokens, upto)
            self._shrink()

    def check(self) -> None:
        """Every invariant that can be told without the file, slowly."""
        with self._lock:
            for session in self._sessions.values():
                with session.lock:
                    session.check()

    def _shrink(self) -> None:
        sessions = self._sessions
        while len(sessions) > SESSIONS_MAX or sum(map(_bytes, sessions.values())) > BYTES_MAX:
            del sessions[next(iter(sessions))]
