"""Quota enforcement: counts of what is stored, and of what was written in the last minute.

Quotas are checked before each append, on the writing thread and under the root's lock, so no other
process can use the same room. A check scans nothing. Totals are read from the session rows of the
index, once at the start and again after a forget. From then on this process adds what it appends,
and the index sums what other processes appended since the last counted record.

A rate is a two-bucket sliding window, as in Cloudflare's rate limiter: what was written in this
clock minute, plus the part of the previous minute that is still within sixty seconds, as if it had
arrived evenly. The error is at most the unevenness within one bucket, and each owner costs two
numbers.

Only writes that a caller makes are refused. What follows from them (summaries, records of requests
and leases, settings) is counted where it holds content, and always written. So a full session can
still be read, searched, and forgotten.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pagefault.model.errors import QuotaExceeded
from pagefault.model.events import (
    Claimed,
    Draft,
    Event,
    Learned,
    OriginalBody,
    PageBody,
    Received,
    SessionConfigured,
    SessionOpened,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import IMPORT, TOOL_PREFIX, is_tools
from pagefault.model.quotas import Quotas, tenant_of
from pagefault.model.times import MINUTE_MS
from pagefault.store.api import PageIndex, Written
from pagefault.store.sizes import size_of

RATES_MAX: Final = 4_096  # kept; above this, expired ones are dropped
_OWNERS: Final = ("session", "tenant", "project")
_UNITS: Final = ("pages", "bytes")


class Owner(NamedTuple):
    """Whom usage counts against. A tool's owner carries its tenant, too."""

    what: str  # session, tenant, project or tool
    which: str | int = ""
    of: str = ""


PROJECT: Final = Owner("project")


@dataclass(slots=True)
class Held:
    """Pages and bytes, either stored or requested."""

    pages: int = 0
    bytes: int = 0


_NONE: Final = Held()


@dataclass(slots=True)
class Rate:
    """What was written in the current clock minute and in the previous one."""

    minute: int = 0
    now: Held = field(default_factory=Held)
    before: Held = field(default_factory=Held)

    def at(self, minute: int) -> Rate:
        """The rate as of a minute. If the clock was set back, the rate keeps its minute."""
        if minute > self.minute:
            self.before = self.now if minute == self.minute + 1 else Held()
            self.minute, self.now = minute, Held()
        return self

    def add(self, minute: int, pages: int, size: int) -> None:
        late = self.at(minute).minute - minute
        bucket = self.now if late <= 0 else self.before
        if late <= 1:
            bucket.pages += pages
            bucket.bytes += size


class QuotaUse(NamedTuple):
    """A configured quota and its current usage."""

    quota: str  # its name in `Quotas`
    owner: str  # name of a session, tenant or tool; "" for the project
    used: int
    limit: int


class Allowance:
    """Thread-safe. A caller that only needs `uses` has its own instance."""

    def __init__(self, quotas: Quotas, now_ms: Callable[[], int]) -> None:
        self.quotas = quotas
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._seen = NOTHING  # the last counted record
        self._is_counted = False
        self._held: dict[Owner, Held] = {}
        self._rates: dict[Owner, Rate] = {}
        self._names: dict[SessionNo, str] = {}
        self._owners_of: dict[SessionNo, tuple[Owner, ...]] = {}
        self._held_max = {
            (owner, unit): limit
            for owner in (*_OWNERS, "tool")
            for unit in _UNITS
            if (limit := getattr(quotas, f"{owner}_{unit}_max", 0))
        }
        self._rate_max = {
            (owner, unit): limit
            for owner in (*_OWNERS, "tool")
            for unit in _UNITS
            if (limit := getattr(quotas, f"{owner}_{unit}_per_minute", 0))
        }
        bounded = {owner for owner, _ in (*self._held_max, *self._rate_max)}
        self._bounds_tools = "tool" in bounded
        self._bounds_owners = bool(bounded & set(_OWNERS))

    # --- counting -----------------------------------------------------------------------------

    def begin(self, index: PageIndex) -> None:
        """Count what is stored, before the first write."""
        if self._bounds_owners:
            with self._lock:
                self._count(index, index.applied_seq())

    def note(self, events: Sequence[Event]) -> None:
        """Add the records that were just appended."""
        if not self._is_counted or not events:
            return
        with self._lock:
            for event in events:
                body = event.body
                if isinstance(body, SessionOpened):
                    self._call(event.session, body.name)
                is_page, said = isinstance(body, PageBody), size_of(body)
                if event.session and (is_page or said):
                    origin = event.origin if is_page else ""
                    minute = event.at_ms // MINUTE_MS
                    self._add(Written(event.session, origin, minute, int(is_page), said))
            self._seen = events[-1].seq

    def forget(self) -> None:
        """Note a forget: stored totals are counted again when next needed."""
        with self._lock:
            self._is_counted = False

    def _count(self, index: PageIndex, head: Seq) -> None:
        """Count everything up to the end of the log, all of which the index has."""
        if not self._is_counted:
            self._held.clear()
            self._names.clear()
            self._owners_of.clear()
            if self._bounds_owners:
                for row in index.sessions():
                    self._call(row.session, row.name)
                    for owner in self._owners(row.session):
                        self._grow(owner, row.own_pages, row.bytes)
            if not self._seen:
                since_ms = self._now_ms() - 2 * MINUTE_MS
                for one in index.written(NOTHING, since_ms):
                    self._name(index, one.session)
                    self._rate(one)
                self._seen = head
            elif self._seen != head:
                for one in index.written(self._seen, 0):
                    self._name(index, one.session)
                    self._rate(one)
            self._is_counted = True
        elif self._seen != head:
            for one in index.written(self._seen, 0):
                self._name(index, one.session)
                self._add(one)
        self._seen = head

    def _add(self, one: Written) -> None:
        if self._bounds_owners:
            for owner in self._owners(one.session):
                self._grow(owner, one.pages, one.bytes)
        self._rate(one)

    def _grow(self, owner: Owner, pages: int, size: int) -> None:
        held = self._held.setdefault(owner, Held())
        held.pages += pages
        held.bytes += size

    def _rate(self, one: Written) -> None:
        if one.origin == IMPORT:
            return
        owners = self._owners(one.session) if self._bounds_owners else ()
        for owner in (*owners, *self._tools(one.session, one.origin)):
            self._rates.setdefault(owner, Rate()).add(one.minute, one.pages, one.bytes)
        if len(self._rates) > RATES_MAX:
            of_late = one.minute - 1
            self._rates = {who: rate for who, rate in self._rates.items() if rate.minute >= of_late}

    def _owners(self, session: SessionNo) -> tuple[Owner, ...]:
        return self._owners_of.get(session) or (Owner("session", session), PROJECT)

    def _tools(self, session: SessionNo, origin: str) -> tuple[Owner, ...]:
        if not is_tools(origin):
            return ()
        tenant = tenant_of(self._names.get(session, ""))
        return (Owner("tool", origin.removeprefix(TOOL_PREFIX), tenant),)

    def _name(self, index: PageIndex, session: SessionNo) -> None:
        if session and session not in self._names:
            row = index.session(session)
            self._call(session, "" if row is None else row.name)

    def _call(self, session: SessionNo, name: str) -> None:
        tenant = tenant_of(name)
        of = (Owner("tenant", tenant),) if tenant else ()
        self._names[session] = name
        self._owners_of[session] = (Owner("session", session), PROJECT, *of)

    # --- refusing -----------------------------------------------------------------------------

    def check(self, drafts: Iterable[Draft], index: PageIndex, head: Seq) -> None:
        """Raise `QuotaExceeded` unless these drafts may be written after the record `head`. Called
        while nobody else writes. Counts nothing.
        """
        said = [draft for draft in drafts if _is_said(draft)]
        bounds_tool = self._bounds_tools and any(is_tools(one.origin) for one in said)
        if not said or not (self._bounds_owners or bounds_tool):
            return
        with self._lock:
            self._count(index, head)
            wanted: dict[Owner, Held] = {}
            rated: dict[Owner, Held] = {}  # without imports
            for draft in said:
                if isinstance(draft.body, SessionOpened | SessionConfigured):
                    self._check_prompt(draft.session, draft.body)
                    if isinstance(draft.body, SessionOpened):
                        self._check_opening(draft.body)
                    continue
                self._name(index, draft.session)
                size, pages = size_of(draft.body), int(isinstance(draft.body, PageBody))
                owners = self._owners(draft.session) if self._bounds_owners else ()
                for owner in (*owners, *self._tools(draft.session, draft.origin)):
                    for grown in (wanted,) if draft.origin == IMPORT else (wanted, rated):
                        more = grown.setdefault(owner, Held())
                        more.pages += pages
                        more.bytes += size
            for owner, more in wanted.items():
                self._check_held(owner, more)
            for owner, more in rated.items():
                self._check_rate(owner, more)

    def expect(self, session: SessionNo, origin: str, size: int) -> None:
        """Check a file before it is put, as far as this process knows; `check` decides. Any thread
        may call it.
        """
        with self._lock:
            if self._is_counted:
                more = Held(1, size)
                for owner in (*self._owners(session), *self._tools(session, origin)):
                    self._check_held(owner, more)
                    self._check_rate(owner, more)

    def _check_prompt(self, session: SessionNo, body: SessionOpened | SessionConfigured) -> None:
        """Refuse a prompt that is larger than a session may be. A smaller one is always accepted:
        changing the window of a full session adds no content.
        """
        limit, size = self._held_max.get(("session", "bytes")), size_of(body)
        if limit and size > limit:
            owner = Owner("session", session)
            raise self._refusal(owner, "session_bytes_max", 0, limit, size)

    def _check_opening(self, opened: SessionOpened) -> None:
        """Refuse to open a session that could hold nothing."""
        tenant = tenant_of(opened.name)
        more = Held(1, size_of(opened))
        for owner in (PROJECT, *((Owner("tenant", tenant),) if tenant else ())):
            self._check_held(owner, more)

    def _check_held(self, owner: Owner, more: Held) -> None:
        # A tool has no stored total: its writes are limited one by one.
        held = self._held.get(owner) or _NONE
        for unit, used, asked in (
            ("pages", held.pages, more.pages),
            ("bytes", held.bytes, more.bytes),
        ):
            limit = self._held_max.get((owner.what, unit))
            if limit and asked and used + asked > limit:
                raise self._refusal(owner, f"{owner.what}_{unit}_max", used, limit, asked)

    def _check_rate(self, owner: Owner, more: Held) -> None:
        for unit, asked in (("pages", more.pages), ("bytes", more.bytes)):
            limit = self._rate_max.get((owner.what, unit))
            if not limit or not asked:
                continue
            used, wait_s = self._used(owner, unit, asked, limit)
            if used + asked > limit:
                quota = f"{owner.what}_{unit}_per_minute"
                raise self._refusal(owner, quota, used, limit, asked, retry_s=wait_s)

    def _used(self, owner: Owner, unit: str, asked: int, limit: int) -> tuple[int, int]:
        """What was written in the last minute, and the seconds until `asked` more fits; 0 seconds
        if it never will.
        """
        now_ms = self._now_ms()
        rate = self._rates.get(owner)
        if rate is None:
            return 0, 0
        rate.at(now_ms // MINUTE_MS)
        passed = (now_ms % MINUTE_MS) / MINUTE_MS
        now, before = getattr(rate.now, unit), getattr(rate.before, unit)
        used = math.ceil(now + before * (1 - passed))
        if asked > limit:
            return used, 0
        if now + asked <= limit:
            share = 1 - (limit - now - asked) / before if before else 0.0
            return used, max(1, math.ceil(60 * (share - passed)))
        share = 1 - (limit - asked) / now
        return used, max(1, math.ceil(60 * (1 - passed + share)))

    def _refusal(
        self, owner: Owner, quota: str, used: int, limit: int, asked: int, *, retry_s: int = 0
    ) -> QuotaExceeded:
        if retry_s:
            hint = f"try again in {retry_s} s"
        elif quota.endswith("_per_minute") or owner.what == "tool":
            hint = "write it in smaller parts"
        else:
            hint = "`Memory.forget` or `Memory.set_retention` make room"
        hint = f"{hint}; `quotas.{quota}` of your own settings, or `pagefault.Quotas`, allows more"
        return QuotaExceeded(
            self._told(owner),
            quota=quota,
            used=used,
            limit=limit,
            asked=asked,
            retry_s=retry_s,
            hint=hint,
        )

    def _told(self, owner: Owner) -> str:
        match owner.what:
            case "session":
                number = SessionNo(int(owner.which))
                return f"session {self._names.get(number) or number!r}"
            case "tenant" | "tool":
                return f"{owner.what} {owner.which!r}"
            case _:
                return "this memory"

    # --- reporting ----------------------------------------------------------------------------

    def uses(self, index: PageIndex, session: SessionNo | None = None) -> list[QuotaUse]:
        """Usage of each configured quota, from an index: the project's quotas, and those of this
        session and its tenant, or of every owner that has written something.
        """
        with self._lock:
            self._seen, self._is_counted = NOTHING, False
            self._count(index, index.applied_seq())
            if session is None:
                owners = sorted({PROJECT, *self._held, *self._rates}, key=str)
            else:
                self._name(index, session)
                mine = self._owners(session)
                tenant = tenant_of(self._names.get(session, ""))
                tools = [one for one in self._rates if one.what == "tool" and one.of == tenant]
                owners = [*mine, *tools]
            return [use for owner in owners for use in self._uses_of(owner)]

    def _uses_of(self, owner: Owner) -> Iterable[QuotaUse]:
        which = owner.which
        if owner.what == "session":
            which = self._names.get(SessionNo(int(owner.which)), "") or f"{owner.which}"
        held = self._held.get(owner) or _NONE
        for unit in _UNITS:
            if owner.what != "tool" and (limit := self._held_max.get((owner.what, unit))):
                quota = f"{owner.what}_{unit}_max"
                yield QuotaUse(quota, str(which), getattr(held, unit), limit)
            if limit := self._rate_max.get((owner.what, unit)):
                used, _ = self._used(owner, unit, 0, limit)
                yield QuotaUse(f"{owner.what}_{unit}_per_minute", str(which), used, limit)


def _is_said(draft: Draft) -> bool:
    """Whether a caller wrote this draft; records that follow from one are never refused."""
    settings = SessionOpened | SessionConfigured
    return isinstance(draft.body, OriginalBody | Claimed | Learned | Received | settings)
