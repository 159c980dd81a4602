"""What a forget erases, what it leaves, and why. Blocks on the store.

Everything that a session keeps belongs to a page, to a turn or to the session, and is erased with
it:

- page: its text, name, time, speaker, key, tool, vector, bytes; what was made from it, here and in
  forks that see it; claims that repeat the words of an erased page
- turn: the calls that the model made in it, with their queries, arguments and the text said with
  them, and the client's own JSON of its messages. They go with any page of the turn. Calls of
  another turn go with a page that they asked for, were shown or hold
- session: its name, its system prompts, the names of its checkpoints, and which model answered

So forgetting a page reports what stays of its session: it may hold the page's words, and has no
page by which it could be forgotten. Forgetting a session reports where else its system prompt is.
Nothing that stays is a function of the erased text alone: no hash, no key. Counts stay, such as the
tokens of the requests that showed it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.events import (
    CallRefused,
    Descent,
    Event,
    Faulted,
    MemoryCalled,
    OriginRaised,
    Received,
    Searched,
    SessionConfigured,
    SessionOpened,
    Taken,
)
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import REGION_PREFIX, Role
from pagefault.model.page import PageRow, Scope, SessionRow, is_derived
from pagefault.pack.citations import cited_pages
from pagefault.service.derived.derivatives import Going, add_derivatives, readable_events
from pagefault.service.regions import bare
from pagefault.service.runtime import Runtime
from pagefault.store.api import PageFilter
from pagefault.store.store import STORE

_PAGE_ID: Final = re.compile(r"\b[a-z]+_[0-9]+\b")
_MANY: Final = 1_000_000
_SOUGHT_MAX: Final = 20  # ids that are searched for among the citations
_CALLS: Final = ("searched", "faulted", "call_refused", "memory_called")
_RECEIVED: Final = ("received",)
_SYSTEMS: Final = ("session_opened", "session_configured")
_COUNTED: Final = ("packed", "relayed", "reported", "formation_begun", "formation_ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staying:
    """Something of a session that a forget leaves, and that may hold erased words, or show how long
    they were. Forgetting that session whole erases it.

    `what` is calls (queries and arguments), checkpoints (names), name, system (a prompt), imports
    (titles and projects of imported conversations), assignment (user and project; of a region its
    policy) or counts (tokens of requests, and the models); `count` is how many of them.
    """

    what: str
    session: str  # its name, or its id if it has none
    session_id: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What a forget would erase (`dry_run`), or did erase, and what is out of its reach."""

    session_id: str
    pages: tuple[PageId, ...]
    records: int
    seen_from: tuple[str, ...]  # forks, and mounts of a region, that lose these pages
    quoted_by: tuple[str, ...]  # answers that cite one of them; their own words stay
    done: bool
    calls: int = 0  # of the model, erased with these pages
    copies: tuple[str, ...] = ()  # in regions, erased with them: "REGION: PAGE"
    stays: tuple[Staying, ...] = ()
    beyond_reach: tuple[str, ...] = (
        "backups, exports and copies of this directory made earlier",
        "requests already sent: providers' logs and prompt caches",
        "words of it that were repeated in other messages and answers",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """A plan of what to forget, from the index as it is now."""

    session_id: str
    called: str
    rows: list[PageRow]
    seqs: list[Seq]
    calls: int
    sessions: list[SessionNo]
    lineage: list[Descent]
    owners: set[SessionNo]  # whose records are erased
    taken: list[Taken]
    forks: list[str]
    quoted_by: list[str]
    stays: list[Staying]
    copies: list[ForgetPlan]  # of copies of these pages in regions, a plan for each

    def whole(self) -> list[ForgetPlan]:
        """This plan, and those of its copies in regions."""
        return [self, *(one for copies in self.copies for one in copies.whole())]

    def report(self, *, done: bool) -> Forgetting:
        return Forgetting(
            session_id=self.session_id,
            pages=tuple(row.page_id for row in self.rows),
            records=len(self.seqs),
            seen_from=tuple(dict.fromkeys(fork for one in self.whole() for fork in one.forks)),
            quoted_by=tuple(self.quoted_by),
            done=done,
            calls=self.calls,
            copies=tuple(
                f"{bare(one.called)}: {row.page_id}" for one in self.whole()[1:] for row in one.rows
            ),
            stays=tuple(self.stays),
        )


def plan_page(runtime: Runtime, target: SessionNo, parts: list[PageRow]) -> ForgetPlan:
    """Plan to forget a page that `target` sees: all parts of its text, whichever session it is
    from.
    """
    return _plan(runtime, target, parts, whole=False)


def plan_pages(runtime: Runtime, rows: Collection[PageRow]) -> list[ForgetPlan]:
    """Plan to forget these pages, with every part of their texts: one plan for each session that
    owns any of them.
    """
    by_session: dict[SessionNo, dict[Seq, PageRow]] = {}
    for row in rows:
        by_session.setdefault(row.session, {})[row.seq] = row
    return [
        _plan(runtime, session, _whole_texts(runtime, session, found), whole=False)
        for session, found in sorted(by_session.items())
    ]


def _whole_texts(
    runtime: Runtime, session: SessionNo, rows: Mapping[Seq, PageRow]
) -> list[PageRow]:
    """These pages of a session, and the other parts of their texts."""
    found = dict(rows)
    own = Scope.whole(session)
    for row in rows.values():
        first = row.order - row.part
        others = [at for at in range(first, first + row.parts) if at != row.order]
        if others:
            found |= {one.seq: one for one in runtime.index.pages_at(own, others)}
    return with_former(runtime, runtime.scope(session), list(found.values()))


def with_former(runtime: Runtime, scope: Scope, rows: list[PageRow]) -> list[PageRow]:
    """These pages, and those that they replaced: earlier versions of the same messages."""
    index = runtime.index
    former = index.pages_at(scope, index.history(scope))
    found = {row.seq: row for row in rows}
    for row in sorted(former, key=lambda one: -one.superseded):
        if row.superseded in found:
            found[row.seq] = row
    return list(found.values())


def plan_session(runtime: Runtime, target: SessionNo) -> ForgetPlan:
    """Plan to forget a whole session. Its forks keep what was said in them."""
    scope = runtime.scope(target)
    rows = [
        row
        for part in (scope, scope.derived)
        for row in runtime.index.pages(part, PageFilter(), limit=_MANY)
        if row.session == target
    ]
    return _plan(runtime, target, rows, whole=True)


def _plan(runtime: Runtime, target: SessionNo, rows: list[PageRow], *, whole: bool) -> ForgetPlan:
    """What is erased with these rows: their pages, all that was derived from them, and the calls
    and the client's JSON of their turns, which may repeat the words.

    Forks lose the pages and keep their own records. The numbers are recorded for every session that
    saw them, because an id is never reused. Words that another page repeats are not searched for.
    """
    index = runtime.index
    owners = {row.session for row in rows} or {target}
    forks = [
        other
        for other in index.sessions()
        if other.session != target
        and any(part in owners for part, _ in runtime.could_see(other.session).parts)
    ]
    family = sorted({target, *owners, *(fork.session for fork in forks)})
    # In forks, too: what they inherited cannot be counted again once the records are gone.
    losing = map(index.session, family)
    taken = [
        Taken(
            session=row.session,
            stem=stem,
            number=number,
            order=row.pages - 1,
            turns=row.turns,
        )
        for row in losing
        if row is not None
        for stem, number in index.prefix_counts(runtime.scope(row.session)).items()
    ]
    going = Going(runtime, family, rows)
    add_derivatives(runtime, family, going)
    of_turns = list(_of_turns(runtime, family, going))
    calls = [event for event in of_turns if not isinstance(event.body, Received)]
    seqs = {row.seq for row in going.rows} | {event.seq for event in of_turns}
    raised = readable_events(runtime, STORE, ("origin_raised",))  # has a digest of erased text
    seqs |= {e.seq for e in raised if isinstance(e.body, OriginRaised) and e.body.page in seqs}
    sessions = [target] if whole else []
    for session in sessions:
        seqs |= {*index.events(session), *index.set_aside(session)}
        seqs |= _ruled(runtime, session)
    target_row = index.session(target)
    assert target_row is not None
    descends = whole and target_row.parent
    return ForgetPlan(
        session_id=target_row.session_id,
        called=target_row.called,
        rows=going.rows,
        seqs=sorted(seqs),
        calls=len(calls),
        sessions=sessions,
        lineage=[
            Descent(session=target, parent=target_row.parent, parent_seq=target_row.parent_seq)
        ]
        if descends
        else [],
        owners=owners | {row.session for row in going.rows} | {event.session for event in of_turns},
        taken=taken,
        forks=[fork.called for fork in forks],
        quoted_by=[]
        if whole
        else _quoting(runtime, target, forks, {row.page_id for row in going.rows}),
        stays=list(
            _of_session(runtime, target, forks) if whole else _of_page(runtime, family, seqs)
        ),
        copies=_copies(runtime, {row.seq for row in going.rows}),
    )


def _ruled(runtime: Runtime, target: SessionNo) -> set[Seq]:
    """Rulings that describe a session in words, or a session it was forked from and that is gone.
    An assignment that other forks inherit stays.
    """
    index, regions = runtime.index, runtime.regions
    lineage = [session for session, _ in runtime.scope(target).parts]
    about = {
        session: regions.records_about(session)
        for session in lineage
        if session == target or index.session(session) is None
    }
    if not any(about.values()):
        return set()
    others = (runtime.scope(row.session) for row in index.sessions() if row.session != target)
    held = {session for scope in others for session, _ in scope.parts} - set(regions.policies())
    return {seq for session, seqs in about.items() if session not in held for seq in seqs}


def _copies(runtime: Runtime, seqs: Collection[Seq]) -> list[ForgetPlan]:
    """Plan to forget the copies of these pages in regions."""
    plans = []
    for region in runtime.regions.policies():
        found = {seq for seq, body in runtime.regions.shared(region) if body.copy_of in seqs}
        rows = [row for seq in sorted(found) if (row := runtime.index.page_at(seq)) is not None]
        rows = [row for row in rows if row.seq not in seqs]
        if rows:
            plans.append(_plan(runtime, region, rows, whole=False))
    return plans


def _of_turns(runtime: Runtime, sessions: Collection[SessionNo], going: Going) -> Iterator[Event]:
    """The calls, and the client's JSON, that belong to erased pages: of their turns, or
    about them.
    """
    for session in sessions:
        turns = {
            row.turn
            for row in going.rows
            if not is_derived(row.page_id) and going.seen(session, row)
        }
        called = readable_events(runtime, session, _CALLS)
        # A message that ends a turn and opens the next belongs to the first: it has a result, then
        # text.
        near = turns.union(turn - 1 for turn in turns)
        received = readable_events(runtime, session, _RECEIVED, near) if near else ()
        for event in chain(called, received):
            if event.turn in turns or going.meets(session, _named(event)):
                yield event


def _named(event: Event) -> Iterator[PageId]:
    """The pages that a call asked for, in whatever form, or was shown; or that a message holds."""
    body = event.body
    if isinstance(body, Received):
        yield from (item.page_id for item in body.items)
    if isinstance(body, Searched | Faulted | CallRefused | MemoryCalled):
        yield from map(PageId, _PAGE_ID.findall(body.arguments))
    if isinstance(body, Faulted):
        yield body.shows
    if isinstance(body, MemoryCalled):
        yield from body.made
    if isinstance(body, Searched | MemoryCalled):
        yield from (hit.page_id for hit in body.hits)


def _of_page(
    runtime: Runtime, family: Collection[SessionNo], seqs: Collection[Seq]
) -> Iterator[Staying]:
    """What stays of the sessions that saw a page."""
    for session in family:
        row = runtime.index.session(session)
        if row is None:  # forgotten itself; a fork of it saw the page
            continue
        systems = {system for system in _systems(runtime, session) if system}
        counts = {
            "calls": len(set(runtime.index.events(session, types=_CALLS)).difference(seqs)),
            "checkpoints": len(runtime.index.events(session, types=("checkpointed",))),
            "name": int(bool(row.name)),
            "system": len(systems),
            "imports": len(runtime.index.events(session, types=("imported",))),
            "assignment": len(runtime.regions.records_about(session)),
            "counts": len(runtime.index.events(session, types=_COUNTED)),
        }
        for what, count in counts.items():
            if count:
                yield _staying(what, row, count)


def _of_session(
    runtime: Runtime, target: SessionNo, forks: Collection[SessionRow]
) -> Iterator[Staying]:
    """Where else the system prompt of a session is: a fork begins with its parent's. And its
    assignment, which its forks inherit.
    """
    systems = {system for system in _systems(runtime, target) if system}
    for row in runtime.index.sessions() if systems else []:
        if row.session != target:
            shared = systems.intersection(_systems(runtime, row.session))
            if shared:
                yield _staying("system", row, len(shared))
    own = runtime.index.session(target)
    if own is None or own.name.startswith(REGION_PREFIX):
        return
    assigned = len(runtime.regions.records_about(target))
    for fork in forks if assigned else ():
        if any(part == target for part, _ in runtime.scope(fork.session).parts):
            yield _staying("assignment", fork, assigned)


def _staying(what: str, row: SessionRow, count: int) -> Staying:
    return Staying(what=what, session=row.called, session_id=row.session_id, count=count)


def _systems(runtime: Runtime, session: SessionNo) -> Iterator[str]:
    for event in readable_events(runtime, session, _SYSTEMS):
        if isinstance(event.body, SessionOpened | SessionConfigured):
            yield event.body.system


def _quoting(
    runtime: Runtime, target: SessionNo, forks: list[SessionRow], page_ids: set[PageId]
) -> list[str]:
    """Answers that cite one of these pages, here and in forks: their own words stay."""
    places = [("", target), *((fork.called, fork.session) for fork in forks)]
    found: dict[str, None] = {}
    for name, session in places:
        for other in _may_quote(runtime, runtime.scope(session), page_ids):
            if other.page_id in page_ids or (name and other.session != session):
                continue
            with suppress(ArchiveMissing, StoreCorrupt):
                if not page_ids.isdisjoint(cited_pages(runtime.pages.read(other).text)):
                    found[f"{name}: {other.page_id}" if name else other.page_id] = None
    return list(found)


def _may_quote(runtime: Runtime, scope: Scope, page_ids: set[PageId]) -> Iterator[PageRow]:
    """Pages that may cite one of these: those that a search finds by an id, or every answer if
    there are so many ids that reading all is faster.
    """
    if len(page_ids) > _SOUGHT_MAX:
        for row in runtime.index.pages(scope, PageFilter(), limit=_MANY):
            if row.role is Role.ASSISTANT:
                yield row
        return
    for page_id in sorted(page_ids):
        for hit in runtime.searcher.search(scope, page_id, limit=20, rerank=False).hits:
            yield hit.page
