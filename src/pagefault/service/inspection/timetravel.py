"""The mutation log, read back: what a window held at any time, what changed between two times, and
everything that ever happened to a page.

All of it is folded from the records; it has no state of its own. What was forgotten since is
missing. Blocks on the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, assert_never

from pagefault.model.errors import BadInput, RecordGone
from pagefault.model.events import (
    BODY_TYPES,
    Aside,
    CallRefused,
    Claimed,
    ClaimRuled,
    DerivedBody,
    EpochBegun,
    Event,
    Faulted,
    ForgetBegun,
    FormationBegun,
    FormationEnded,
    HeatMoved,
    HeatRecalled,
    MemoryCalled,
    OriginalBody,
    Packed,
    PageBody,
    Pinned,
    Priced,
    Relayed,
    Reported,
    Represented,
    Searched,
    SessionConfigured,
    SessionOpened,
    Unpinned,
    row_of,
)
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import Actor, Level, Role, RulingKind, Tier
from pagefault.model.page import Page, PageRow, Scope, SessionRow
from pagefault.model.reprs import counted, minute, outline
from pagefault.model.request import Request
from pagefault.model.residency import tier_of
from pagefault.model.times import iso_utc
from pagefault.pack.citations import cited_pages
from pagefault.pack.envelope import own_level, told_level
from pagefault.pack.layout import Entry, Exchange, Front, Note, Recalled, Shown, pages_of
from pagefault.pack.render import RENDERER
from pagefault.service.inspection.checkpoints import find_checkpoint
from pagefault.service.inspection.relayed_window import RelayedWindow
from pagefault.service.inspection.residents import Residents
from pagefault.service.restore import records, restore_at, scope_at
from pagefault.service.runtime import Runtime
from pagefault.store.store import STORE

# --- moments --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InWindow:
    """A page that a request showed, and how it came to be there."""

    page_id: PageId
    level: Level
    tokens: int
    place: str  # turn, recalled, core, summary, kept, faulted, stub


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A session as it was after the record `seq`.

    `pages` are in the order of the window. `request` and `request_tokens` are of the last request
    that had been packed, -1 and 0 if there was none: messages after it are among the pages, but not
    among its tokens. For a proxied request there is `relayed`, and `pages` are those of the
    client's history that it showed, and those that were quoted with it.
    """

    seq: Seq
    turn: TurnNo
    at_ms: int
    window_tokens: int
    epoch: int
    request: int
    request_tokens: int
    pages: tuple[InWindow, ...]
    pinned: tuple[PageId, ...]
    relayed: Relayed | None = None

    def __repr__(self) -> str:
        request = f"request {self.request}" if self.request >= 0 else "no request yet"
        size = f"{self.request_tokens:,} of {self.window_tokens:,} tokens"
        pages = [f"{one.page_id} · L{one.level} · {one.place}" for one in self.pages]
        when = f"turn {self.turn}", minute(self.at_ms), request, size
        return outline(f"Moment {self.seq}", *when, counted(len(pages), "page"), lines=pages)


def find_seq(
    runtime: Runtime,
    scope: Scope,
    *,
    turn: int | None = None,
    seq: int | None = None,
    time_ms: int | None = None,
    checkpoint: str | None = None,
) -> Seq:
    """The last record of a turn, or up to a seq or a time; or the record of a checkpoint. Raises
    `BadInput` if the session did not exist yet at that time, or if there is no such turn, record or
    checkpoint yet.
    """
    times = turn, seq, time_ms, checkpoint
    is_known = all(isinstance(one, int | None) for one in (turn, seq, time_ms))
    if sum(one is not None for one in times) != 1 or not is_known:
        raise BadInput(
            "give exactly one time",
            hint="turn=12, seq=345, checkpoint='before', or time=… as ISO 8601 or ms",
        )
    if checkpoint is not None:
        return find_checkpoint(runtime, scope, checkpoint)
    if turn is not None and turn < 0:
        raise BadInput(f"there is no turn {turn}", hint="turns count from 0")
    last, turns, began = NOTHING, -1, 0
    for event in records(runtime, scope):
        began = began or event.at_ms
        if (
            (turn is not None and event.turn > turn)
            or (seq is not None and event.seq > seq)
            or (time_ms is not None and event.at_ms > time_ms)
        ):
            break
        turns = max(turns, event.turn)
        last = event.seq
    if turn is not None and turn > turns:
        raise BadInput(
            f"there is no turn {turn}",
            hint=f"turns so far: 0 to {turns}" if turns >= 0 else "nothing has been said yet",
        )
    if seq is not None and seq > (end := runtime.index.applied_seq()):
        raise BadInput(f"there is no record {seq:,} yet", hint=f"records so far: 1 to {end:,}")
    if last == NOTHING:
        raise BadInput(
            "the session did not exist yet at that time",
            hint=f"its log begins at {iso_utc(began)}",
        )
    return last


def moment(runtime: Runtime, row: SessionRow, upto: Seq) -> Moment:
    """The session as it was after the record `upto`."""
    scope = scope_at(runtime.scope(row.session), upto)
    state = restore_at(runtime, row, upto)
    packed: Packed | None = None
    relayed: Relayed | None = None
    trimmed = 0
    partial: dict[str, tuple[PageId, Level, int]] = {}  # by call: pages shown in part
    for event in records(runtime, scope, types=("packed", "faulted", "relayed")):
        match event.body:
            case Packed() as packed:
                relayed = None
            case Relayed() as relayed:
                trimmed += bool(relayed.epoch)
            case Faulted(refusal="", already_mapped=False, relayed=False) as body if body.level:
                level = Level(body.level)
                partial[body.call_id] = body.page_id, level, body.tokens
    turn, at_ms = TurnNo(max(state.turn, 0)), runtime.log.get(upto).at_ms
    if relayed is not None:
        shown = RelayedWindow()
        for event in records(runtime, scope):
            shown.fold(event)
        return Moment(
            seq=upto,
            turn=turn,
            at_ms=at_ms,
            window_tokens=relayed.window_tokens,
            epoch=trimmed,
            request=relayed.request,
            request_tokens=relayed.tokens,
            pages=tuple(
                InWindow(one.row.page_id, one.level, one.tokens, one.place) for one in shown.seen()
            ),
            pinned=tuple(state.pins_there()),
            relayed=relayed,
        )
    return Moment(
        seq=upto,
        turn=turn,
        at_ms=at_ms,
        window_tokens=state.window_tokens,
        epoch=state.epoch,
        request=-1 if packed is None else packed.request,
        request_tokens=0 if packed is None else packed.tokens,
        pages=tuple(in_window(state.layout.entries(), partial)),
        pinned=tuple(state.pins_there()),
    )


def in_window(
    entries: Iterable[Entry], partial: Mapping[str, tuple[PageId, Level, int]]
) -> Iterator[InWindow]:
    """The pages that the entries of a session's layout show, in order. `partial` has pages that the
    model's calls brought in at less than full, by call.
    """
    for entry in entries:
        match entry:
            case Shown(page=page):
                yield InWindow(page.page_id, own_level(page.row), page.row.tokens, "turn")
            case Recalled():
                for page in pages_of(entry):
                    yield InWindow(page.page_id, own_level(page.row), page.row.tokens, "recalled")
            case Front(core=core, summaries=summaries, kept=kept):
                for page in core:
                    yield InWindow(page.page_id, own_level(page.row), page.row.tokens, "core")
                for page, level in summaries:
                    tokens = 0 if level is Level.REFERENCE else page.row.tokens
                    yield InWindow(page.page_id, level, tokens, "summary")
                for page in kept:
                    yield InWindow(page.page_id, own_level(page.row), page.row.tokens, "kept")
            case Exchange(calls=calls, pages=pages):
                for page in pages:
                    yield InWindow(page.page_id, own_level(page.row), page.row.tokens, "turn")
                for call, _, shown in calls:
                    if shown is not None:
                        yield InWindow(
                            shown.page_id, own_level(shown.row), shown.row.tokens, "faulted"
                        )
                    elif call.call_id in partial:
                        yield InWindow(*partial[call.call_id], "faulted")
            case Note():
                pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed from one moment to another. `levels` are pages that stayed at another level: id,
    level before, level after.
    """

    before: Moment
    after: Moment
    entered: tuple[InWindow, ...]
    left: tuple[InWindow, ...]
    levels: tuple[tuple[PageId, Level, Level], ...]

    @property
    def tokens(self) -> int:
        """The growth of the request."""
        return self.after.request_tokens - self.before.request_tokens

    @property
    def epochs(self) -> int:
        return self.after.epoch - self.before.epoch


def difference(before: Moment, after: Moment) -> Difference:
    """A page that is shown in two ways counts at the fuller one."""
    old, new = _fullest(before), _fullest(after)
    return Difference(
        before=before,
        after=after,
        entered=tuple(one for page_id, one in new.items() if page_id not in old),
        left=tuple(one for page_id, one in old.items() if page_id not in new),
        levels=tuple(
            (page_id, old[page_id].level, one.level)
            for page_id, one in new.items()
            if page_id in old and old[page_id].level != one.level
        ),
    )


def _fullest(at: Moment) -> dict[PageId, InWindow]:
    pages: dict[PageId, InWindow] = {}
    for one in at.pages:
        if one.page_id not in pages or one.level < pages[one.page_id].level:
            pages[one.page_id] = one
    return pages


# --- requests -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as it was packed, from the record `seq`. `number` counts a session's requests from
    0.

    `request` has the messages and tools as they were sent, without the hints for a provider's
    cache. `missing` has a sentence for each part that is lost: then the request is what is left of
    it, and `forgotten` are the records of this conversation that were forgotten and came before it.
    It is unknown which of them it showed.
    """

    request: Request
    number: int
    seq: Seq
    turn: TurnNo
    at_ms: int
    missing: tuple[str, ...] = ()
    forgotten: tuple[Seq, ...] = ()

    def __repr__(self) -> str:
        told = [counted(len(self.request.messages), "message")]
        told += [f"{self.request.tokens:,} of {self.request.window_tokens:,} tokens"]
        when = f"turn {self.turn}", minute(self.at_ms)
        return outline(f"Request {self.number}", *when, *told, lines=self.missing)

    @property
    def is_exact(self) -> bool:
        """Whether it is the request byte for byte."""
        return not self.missing


def sent(
    runtime: Runtime, row: SessionRow, *, turn: int | None = None, number: int | None = None
) -> Sent:
    """The last request of a turn, or the one with a number. Raises `BadInput` if there was none."""
    scope = runtime.scope(row.session)
    found: Event | None = None
    is_relayed = False
    for event in records(runtime, scope, types=("packed", "relayed")):
        is_relayed = is_relayed or isinstance(event.body, Relayed)
        if isinstance(event.body, Packed) and (
            event.turn == turn if number is None else event.body.request == number
        ):
            found = event
    if found is None:
        raise BadInput(
            f"no request was packed in turn {turn}" if number is None else f"no request {number}",
            hint="this conversation goes through a proxy, and its requests are the client's own: "
            "`Session.at` shows which pages were in one, `Session.items` what its client sent"
            if is_relayed
            else "`Session.ledger` lists the requests",
        )
    packed = found.body
    assert isinstance(packed, Packed)
    scope = scope_at(scope, found.seq)
    state = restore_at(runtime, row, found.seq)
    request = state.request()
    missing: list[str] = []
    if packed.renderer != RENDERER:
        missing.append(f"it was rendered by rules {packed.renderer}, and these are {RENDERER}")
    if request.tokens != packed.tokens:
        less = packed.tokens - request.tokens
        missing.append(
            f"{less:,} of its {packed.tokens:,} tokens were forgotten, or cannot be read now"
        )
    return Sent(
        request=request,
        number=packed.request,
        seq=found.seq,
        turn=found.turn,
        at_ms=found.at_ms,
        missing=tuple(missing),
        forgotten=tuple(dict.fromkeys(_forgotten(runtime, scope))) if missing else (),
    )


def _forgotten(runtime: Runtime, scope: Scope) -> Iterator[Seq]:
    """The forgotten records of a scope, from the receipts."""
    upto = dict(scope.parts)
    for seq in runtime.index.events(STORE, types=("forget_begun",)):
        begun = runtime.log.get(seq).body
        for first, last in begun.targets if isinstance(begun, ForgetBegun) else ():
            for target in range(first, min(last, max(upto.values())) + 1):
                event = runtime.log.get(Seq(target))
                is_page = event.type in BODY_TYPES and issubclass(BODY_TYPES[event.type], PageBody)
                if is_page and target <= upto.get(event.session, NOTHING):
                    yield event.seq


# --- pages ----------------------------------------------------------------------------------------


def page_at(runtime: Runtime, scope: Scope, page_id: PageId, upto: Seq) -> Page | None:
    """The version of `page_id` that was current after the record `upto`; None if none was written
    by then. `KeyError` if the scope has no such page, and `RecordGone` if that version was
    forgotten.

    A page never changes. When a client edits a message, the new page supersedes the old one, and so
    does a claim: the versions are a chain. From whichever is named, it is walked back to one that
    existed by then, and on to the one that was current. For a text in parts it is the part with the
    same number, or the first if the version has fewer.
    """
    index, then = runtime.index, scope_at(scope, upto)
    row = index.find_page(scope, page_id)
    if row is None:
        raise KeyError(page_id)
    part = row.part
    while not _is_in(then, row):
        former = _former(runtime, scope, row)
        if former is None:
            return None
        row = former
    while then.is_history(row) and not row.is_note:
        later = index.page_at(row.superseded)
        if later is None:
            raise RecordGone(f"what stood in the place of page {page_id} then was forgotten")
        row = later
    stem, _, number = row.page_id.rpartition("_")
    if row.part != part < row.parts:
        number = str(int(number) - row.part + part)
    found = index.find_page(scope, PageId(f"{stem}_{number}"))
    return runtime.pages.read(found or row)


def _is_in(scope: Scope, row: PageRow) -> bool:
    return any(session == row.session and row.seq <= upto for session, upto in scope.parts)


def _former(runtime: Runtime, scope: Scope, row: PageRow) -> PageRow | None:
    """The page that this one replaced, or the text that it is part of; None if none."""
    part_of = runtime.pages.read(row).part_of
    first = runtime.index.find_page(scope, part_of) if part_of else row
    body = runtime.log.get(first.seq).body if first is not None else None
    named = body.supersedes if isinstance(body, PageBody) else PageId("")
    if not named:
        return None
    former = runtime.index.find_page(scope, named)
    if former is None:
        raise RecordGone(f"page {named}, which {row.page_id} replaces, was forgotten")
    return former


# --- histories ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One thing that happened to a page. `cause` is the record that led to it, 0 if none is named;
    `actor_id` the tool or the model that acted, if the record has its name.

    The tiers are those of the page's content before and after, from the records: L0 in the window,
    else L2 or L3, where it is read from; None before it was created and after it was forgotten.
    Archiving of segments and the contents of memory are not recorded (L4, L1: `Session.tiers` has
    them as of now). In a proxied session none is L0: its client decides that.

    `what`: created, summed_up, represented, claimed_from, superseded, recalled, in_core,
    in_summary, kept, evicted, found, faulted, mapped_already, refused, pinned, unpinned, cited; of
    a claim checked, ended, contradicted, undone; of an item of memory hot, warm, cold, archived,
    used; and of the first and the last page of a range of turns: taken_up, formed, nothing,
    given_up.
    """

    seq: Seq
    turn: TurnNo
    at_ms: int
    actor: Actor
    what: str
    page_id: PageId
    level: int | None = None
    by: str = ""  # the page, epoch or reason that did it
    cause: Seq = NOTHING
    actor_id: str = ""
    tier_before: Tier | None = None
    tier_after: Tier | None = None

    def __repr__(self) -> str:
        tiers = (self.tier_before, self.tier_after)
        moved = " → ".join(str(one or "-") for one in tiers) if tiers[0] is not tiers[1] else ""
        who = self.actor_id or str(self.actor)
        when = f"turn {self.turn}", minute(self.at_ms)
        return outline(self.page_id, self.what, *when, who, moved, self.by)


def history(
    runtime: Runtime,
    session: SessionNo,
    page_id: PageId | None = None,
    *,
    actor: Actor | None = None,
) -> list[Movement]:
    """Everything that happened to a page, or to all of them, oldest first; only by one actor, if
    one is given. Requests and epochs are actions of the system.
    """
    told = []
    scope = runtime.scope(session)
    residents = Residents(runtime.limits)
    rows: dict[PageId, PageRow] = {}
    is_proxied = any(runtime.index.events(one, types=("relayed",)) for one, _ in scope.parts)

    def tier(about: PageId) -> Tier | None:
        in_window = about in residents and not is_proxied
        return tier_of(rows[about], in_window=in_window) if about in rows else None

    for event in records(runtime, scope):
        found = list(_movements(event))
        before = {about: tier(about) for _, about, _, _ in found}
        residents.fold(event)
        if isinstance(event.body, PageBody):
            rows[event.body.page_id] = row_of(event, event.body)
        if actor is not None and event.actor is not actor:
            continue
        for what, about, level, by in found:
            if page_id is None or about == page_id:
                told.append(
                    Movement(
                        seq=event.seq,
                        turn=event.turn,
                        at_ms=event.at_ms,
                        actor=event.actor,
                        actor_id=event.actor_id,
                        what=what,
                        page_id=about,
                        level=level if level is None else _told(rows, about, level),
                        by=by,
                        cause=event.cause,
                        tier_before=before[about],
                        tier_after=tier(about),
                    )
                )
    return told


ACCESSES: Final = frozenset({"recalled", "faulted", "mapped_already", "cited"})
"""Movements that count as a use of the page."""


def _told(rows: Mapping[PageId, PageRow], page_id: PageId, level: int) -> int:
    """The level as shown to the model."""
    row = rows.get(page_id)
    return level if row is None else int(told_level(row, Level(level)))


_Movement = tuple[str, PageId, int | None, str]


def _movements(event: Event) -> Iterator[_Movement]:
    match event.body:
        case PageBody() as body:
            yield from _made(body)
        case Packed(request=request, recalled=recalled):
            for item in recalled:
                yield "recalled", item.page_id, item.level, f"request {request}"
        case Relayed(request=request, recalled=quoted):
            for page_id in quoted:
                yield "recalled", page_id, 0, f"request {request}"
        case EpochBegun() as body:
            yield from _moved(body)
        case Searched(hits=hits, query=query):
            for hit in hits:
                yield "found", hit.page_id, None, query
        case Faulted() as body if body.refusal:
            yield "refused", body.page_id, None, f"{body.reason}: {body.refusal}"
        case Faulted() as body:
            what = "mapped_already" if body.already_mapped else "faulted"
            yield what, body.page_id, body.level, str(body.reason)
        case Pinned(page_id=page_id):
            yield "pinned", page_id, None, ""
        case Unpinned(page_id=page_id):
            yield "unpinned", page_id, None, ""
        case ClaimRuled(claim_id=page_id, what=what, outcome=outcome, other=other):
            yield str(what), page_id, None, other or (outcome if what is RulingKind.CHECKED else "")
        case HeatMoved(moves=moves, why=why):
            for move in moves:
                yield str(move.to), move.page_id, None, why
        case HeatRecalled(hits=hits):
            for hit in hits:
                yield "used", hit.page_id, None, f"relevance {hit.relevance:.2f}"
        case MemoryCalled(hits=hits, name=name):
            for hit in hits:
                yield "found", hit.page_id, None, name
        case FormationBegun(first=first, last=last, tries=tries, former=former):
            for page_id in dict.fromkeys((first, last)):
                yield "taken_up", page_id, None, f"{former}, {first} to {last}, try {tries}"
        case FormationEnded(first=first, last=last, outcome=outcome, made=made):
            for page_id in dict.fromkeys((first, last)):
                yield str(outcome), page_id, None, ", ".join(made)
        case SessionOpened() | SessionConfigured():
            pass  # about the session, not a page
        case CallRefused() | Reported() | Priced():
            pass  # it moved nothing
        case undecided:  # none of these moves a page that is known
            if not isinstance(undecided, Aside):
                assert_never(undecided)


def _made(body: PageBody) -> Iterator[_Movement]:
    yield "created", body.page_id, None, str(body.event_type)
    match body:
        case Represented(represents=source, level=level):
            yield "represented", source, level, body.page_id
        case DerivedBody():
            what = "claimed_from" if isinstance(body, Claimed) else "summed_up"
            for source in body.provenance:
                yield what, source, None, body.page_id
            merged = body.merges if isinstance(body, Claimed) else ()
            for source in filter(None, (body.supersedes, *merged)):
                yield "superseded", source, None, body.page_id
        case OriginalBody(role=Role.ASSISTANT):
            for cited in cited_pages(body.text):
                yield "cited", cited, None, body.page_id


def _moved(body: EpochBegun) -> Iterator[_Movement]:
    by = f"epoch {body.epoch}: {body.reason}"
    for page_id in body.evicted:
        yield "evicted", page_id, None, by
    for page_id in body.core:
        yield "in_core", page_id, 0, by
    for item in body.summaries:
        yield "in_summary", item.page_id, item.level, by
    for item in body.kept:
        yield "kept", item.page_id, item.level, by


def to_dict(at: Moment) -> dict[str, Any]:
    """A moment as plain values."""
    return {
        "seq": at.seq,
        "turn": at.turn,
        "at_ms": at.at_ms,
        "window_tokens": at.window_tokens,
        "epoch": at.epoch,
        "request": at.request,
        "request_tokens": at.request_tokens,
        "pinned": list(at.pinned),
        "pages": [page_dict(one) for one in at.pages],
        "relayed": None if at.relayed is None else relayed_dict(at.relayed),
    }


def relayed_dict(body: Relayed) -> dict[str, Any]:
    """A client's request, as plain values."""
    return asdict(body) | {"recalled": list(body.recalled), "core": list(body.core)}


def page_dict(one: InWindow) -> dict[str, Any]:
    return {
        "page_id": one.page_id,
        "level": int(one.level),
        "tokens": one.tokens,
        "place": one.place,
    }
