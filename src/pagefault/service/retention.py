"""Retention: how long pages are kept, and which of them are past that.

A page's age counts from its record, not from when its words were said: otherwise an imported
history would be gone at once. The most specific rule decides: of a session and a kind, of a
session, of a kind, then of the whole memory. Without a rule, everything is kept for ever.

A page goes with everything made from it, as when somebody forgets it (`service/forget.py`). So if
claims are kept longer than messages, a page that is evidence for a claim stays as long as the claim
does. A session of which nothing is left is erased whole, with its name, its prompts and its counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pagefault.model.errors import BadInput, StoreCorrupt
from pagefault.model.events import Claimed, RetentionRule, RetentionSet
from pagefault.model.ids import Seq, SessionNo
from pagefault.model.kinds import Kind
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.model.times import DAY_MS
from pagefault.service.runtime import Runtime
from pagefault.store.api import PageFilter
from pagefault.store.store import STORE

FOREVER: Final = "forever"
DAYS_MAX: Final = 36_500

_DAYS: Final = re.compile(r"([1-9]\d{0,4})\s?d(?:ays?)?", re.IGNORECASE)
_ROWS: Final = 2_000  # rows per batch: the oldest come first


@dataclass(frozen=True, slots=True)
class Expired:
    """What is past its time: pages of remaining sessions, and sessions of which nothing would
    remain.
    """

    pages: tuple[PageRow, ...]
    sessions: tuple[SessionNo, ...]


def a_period_days(text: str) -> int:
    """The days of a period such as "7d", "30d" or "90d"; 0 for "forever"."""
    if text.strip().lower() == FOREVER:
        return 0
    found = _DAYS.fullmatch(text.strip())
    if found is None or int(found[1]) > DAYS_MAX:
        raise BadInput(
            f"{text!r} is not a retention period",
            hint=f"use 7d, 30d, 90d, any number of days, or {FOREVER}",
        )
    return int(found[1])


def told_days(days: int) -> str:
    """The same in the form that a person writes."""
    return f"{days}d" if days else FOREVER


def rules_of(runtime: Runtime) -> tuple[RetentionRule, ...]:
    """The rules as last set. Blocks on the store."""
    for seq in reversed(runtime.index.events(STORE, types=("retention_set",))):
        with suppress(StoreCorrupt):
            body = runtime.log.get(seq).body
            if isinstance(body, RetentionSet):
                return body.rules
    return ()


def changed(
    rules: Sequence[RetentionRule], kind: str, session_id: str, days: int | None
) -> tuple[RetentionRule, ...]:
    """These rules, with another for this kind and this session, or without one."""
    if kind and kind not in tuple(Kind):
        raise BadInput(f"unknown kind {kind!r}", hint=f"one of {', '.join(Kind)}")
    others = [rule for rule in rules if (rule.kind, rule.session_id) != (kind, session_id)]
    if days is not None:
        others.append(RetentionRule(kind=kind, session_id=session_id, days=days))
    return tuple(sorted(others, key=lambda rule: (rule.session_id, rule.kind)))


def days_kept(rules: Sequence[RetentionRule], kind: str, session_id: str) -> int:
    """For how many days pages of this kind and session are kept; 0 is for ever."""
    by_name = {(rule.session_id, rule.kind): rule.days for rule in rules}
    for name in ((session_id, kind), (session_id, ""), ("", kind), ("", "")):
        if name in by_name:
            return by_name[name]
    return 0


def find_expired(runtime: Runtime, rules: Sequence[RetentionRule], now_ms: int) -> Expired:
    """The pages, and the whole sessions, that are past their time. Blocks on the store."""
    pages: list[PageRow] = []
    sessions: list[SessionNo] = []
    for session in runtime.index.sessions():
        cuts = {kind: _cut(rules, kind, session, now_ms) for kind in Kind}
        if max(cuts.values()) <= session.opened_at_ms:
            continue  # nothing of it can be so old
        old, is_all = _older(runtime, session, cuts)
        resting = _rested_on(runtime, session, cuts) if old else frozenset()
        going = [row for row in old if row.seq not in resting]
        if is_all and len(going) == len(old) and not runtime.regions.is_region(session):
            sessions.append(session.session)
        else:
            pages += going
    return Expired(tuple(pages), tuple(sessions))


def _cut(rules: Sequence[RetentionRule], kind: Kind, session: SessionRow, now_ms: int) -> int:
    """The latest writing time of a page of this kind that is past its time."""
    days = days_kept(rules, kind, session.session_id)
    return now_ms - days * DAY_MS if days else 0


def _older(
    runtime: Runtime, session: SessionRow, cuts: dict[Kind, int]
) -> tuple[list[PageRow], bool]:
    """The session's own pages that are past their time, and whether no other is left."""
    own = Scope.whole(session.session)
    old: list[PageRow] = []
    last_cut = max(cuts.values())
    is_all = session.opened_at_ms < cuts[Kind.TRANSCRIPT]
    for scope in (own, own.derived):
        for row in _in_order(runtime, scope):
            if row.at_ms < cuts[row.kind]:
                old.append(row)
            else:
                is_all = False
            if row.at_ms >= last_cut:
                break  # later ones were written later
    return old, is_all


def _in_order(runtime: Runtime, scope: Scope) -> Iterator[PageRow]:
    """The pages of a scope in the order of writing."""
    after = -1
    while True:
        wanted = PageFilter(after_order=after)
        rows = runtime.index.pages(scope, wanted, limit=_ROWS)
        yield from rows
        if len(rows) < _ROWS:
            return
        after = rows[-1].order


def _rested_on(runtime: Runtime, session: SessionRow, cuts: dict[Kind, int]) -> Collection[Seq]:
    """The pages that are evidence for a claim within its time."""
    if cuts[Kind.CLAIM] >= cuts[Kind.TRANSCRIPT]:
        return frozenset()
    scope = runtime.scope(session.session)
    found: set[Seq] = set()
    for event in runtime.events_of(session.session, ("claim",)):
        if isinstance(event.body, Claimed) and event.at_ms >= cuts[Kind.CLAIM]:
            sources = (span.page_id for span in event.body.evidence)
            rows = runtime.index.find_pages(scope, {*sources, *event.body.provenance})
            found |= {row.seq for row in rows.values()}
    return found
