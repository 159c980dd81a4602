"""The rules that a record must satisfy for the folds to take it: the same for writers and readers.

Decoding checks a record's form: each field is there and has its type. That leaves records whose
fields contradict one another or name impossible things. A fold would stop at one, and so would
every opening of the memory. So a log accepts none (`acceptance.py`). One that is in a log anyway,
written by another program or version, is read as `SetAside` (`codec.py`): it is not folded,
everything else is.

These rules look at one record. Conflicts between two records over a place or a page id are resolved
where pages are counted, in the index: the first has it, the later one is set aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Final, assert_never, cast

from pagefault.model.errors import BadInput
from pagefault.model.events import (
    Body,
    CallRefused,
    Checkpointed,
    Claimed,
    ClaimRuled,
    ConsentSet,
    ControlSet,
    EpochBegun,
    Erased,
    Event,
    Faulted,
    ForgetBegun,
    ForgetDone,
    FormationBegun,
    FormationEnded,
    HeatMoved,
    HeatRecalled,
    ImportApproved,
    Imported,
    ImportRevoked,
    Lost,
    MemoryCalled,
    MountSet,
    OfferedTool,
    Opaque,
    OriginRaised,
    OriginRevoked,
    Packed,
    PageBody,
    Pinned,
    Priced,
    Received,
    RegionSet,
    Relayed,
    Reported,
    Represented,
    RetentionSet,
    ScrubBegun,
    ScrubDone,
    Searched,
    SessionAssigned,
    SessionConfigured,
    SessionLeased,
    SessionOpened,
    SetAside,
    Stored,
    Summarised,
    Taken,
    Unpinned,
)
from pagefault.model.ids import SessionNo, TurnNo
from pagefault.model.kinds import DERIVED_TYPES, EventType, Level, Modality, Role
from pagefault.model.page import DERIVED_ORDER
from pagefault.model.signatures import INT_MAX
from pagefault.store.place import ORDER_BITS, ORDER_MAX

SESSIONS_MAX: Final = 1 << 63 - ORDER_BITS

FACTOR_MAX: Final = 100_000

_PAGE_ID: Final = re.compile(r"[a-z]+_[0-9]{1,15}")
_WORDS: Final = frozenset[str]({*Role, *Modality})
_LEVELS: Final = frozenset(map(int, Level))


def sound(event: Event) -> Event:
    """The event; or its set-aside form, if no fold can take it."""
    why = flaw(event)
    return set_aside(event, why) if why else event


def set_aside(event: Event, why: str) -> Event:
    """The set-aside form of an event that no fold can take. Its header is kept as far as it is
    valid.
    """
    return replace(
        event,
        session=event.session if 0 <= event.session < SESSIONS_MAX else SessionNo(0),
        turn=event.turn if 0 <= event.turn <= INT_MAX else TurnNo(0),
        at_ms=event.at_ms if 0 <= event.at_ms <= INT_MAX else 0,
        body=SetAside(type=event.type, why=why, blobs=blobs_of(event.body)),
    )


def blobs_of(body: Body) -> tuple[str, ...]:
    """The blobs that a record names, even if it is invalid otherwise."""
    match body:
        case Stored(blob=blob) if blob:
            return (blob,)
        case Received(holes=holes):
            return tuple(hole.blob for hole in holes if hole.blob)
        case SetAside(blobs=blobs):
            return blobs
        case _:
            return ()


def flaw(event: Event) -> str:
    """Why no fold can take this event; empty if they can."""
    if why := header_flaw(event.session, event.turn, event.at_ms):
        return why
    match event.body:
        case PageBody() as body:
            return content_flaw(event.session, body)
        case SessionOpened(tools=tools) | SessionConfigured(tools=tools) if not _are_tools(tools):
            return "its tools have no schema"
        case SessionOpened(window_tokens=tokens, parent=parent, epoch=epoch):
            if not 0 <= parent < event.seq:
                return "it was forked off a session that began later"
            if not 0 <= epoch <= INT_MAX:
                return "its epoch cannot be"
            return "" if 0 < tokens <= INT_MAX else "its window cannot be"
        case SessionConfigured(window_tokens=tokens):
            return "" if 0 < tokens <= INT_MAX else "its window cannot be"
        case Packed() as body:
            counts = (body.tail, body.dead, body.tokens_without_epoch)
            is_whole = body.shared + body.tail <= body.tokens
            are = all(map(_is_count, counts)) and is_whole and _is_request(body)
            return "" if are else "its counts cannot be"
        case Relayed() as body:
            return "" if _is_request(body) else "its counts cannot be"
        case Received() as body:
            return "" if _are_holes(body) else "its holes cannot be"
        case Reported() as body:
            counts = (body.input_tokens, body.output_tokens, body.cached_tokens or 0)
            are = all(map(_is_count, (*counts, body.cache_write_tokens)))
            return "" if are else "its counts cannot be"
        case EpochBegun(epoch=epoch) if not 0 <= epoch < INT_MAX:
            return "its epoch cannot be"
        case EpochBegun(summaries=summaries):
            is_level = all(item.level in _LEVELS for item in summaries)
            return "" if is_level else "it shows a page at no level there is"
        case Priced() as body:
            try:
                _ = body.prices
            except BadInput:
                return "it is no price list"
            return ""
        case ForgetBegun(taken=taken) if not all(map(_is_countable, taken)):
            return "it takes ids that cannot be"
        case ForgetBegun(targets=targets) | ScrubBegun(targets=targets):
            are = all(0 < first <= last < event.seq for first, last in targets)
            return "" if are else "its targets cannot be"
        case ImportApproved(sessions=sessions) | ImportRevoked(sessions=sessions):
            are = all(0 < one < SESSIONS_MAX for one in sessions)
            return "" if are else "its sessions cannot be"
        case OriginRaised(page=page):
            return "" if 0 < page < event.seq else "it approves a page that cannot be"
        case OriginRevoked(targets=targets):
            are = all(0 < first <= last < event.seq for first, last in targets)
            return "" if are else "it withdraws records that cannot be"
        case FormationBegun(order_from=first, order_to=last) as body:
            are = all(map(_is_count, (first, last - first, body.tries, body.tokens)))
            return "" if are else "its counts cannot be"
        case FormationEnded(order_from=first, order_to=last) as body:
            counts = (body.input_tokens, body.output_tokens, body.cached_tokens or 0)
            are = all(map(_is_count, (first, last - first, *counts)))
            return "" if are else "its counts cannot be"
        case ClaimRuled(undoes=seq):
            return "" if 0 <= seq < event.seq else "it undoes a ruling that cannot be"
        case HeatRecalled(hits=hits) | MemoryCalled(hits=hits):
            are = all(isfinite(hit.relevance) for hit in hits)
            return "" if are else "a relevance is no number"
        case SessionLeased() | Checkpointed() | Pinned() | Unpinned() | HeatMoved() | Imported():
            return ""  # names and numbers that are looked up, and may not exist
        case RegionSet(region=region):
            return "" if 0 < region < SESSIONS_MAX else "its region cannot be"
        case SessionAssigned(session=session):
            return "" if 0 < session < SESSIONS_MAX else "its session cannot be"
        case MountSet(session=session, region=region) | ConsentSet(session=session, region=region):
            are = 0 < session < SESSIONS_MAX and 0 < region < SESSIONS_MAX
            return "" if are else "its sessions cannot be"
        case RetentionSet(rules=rules):
            return "" if all(0 <= rule.days <= INT_MAX for rule in rules) else "its days cannot be"
        case Searched() | Faulted() | CallRefused() | ForgetDone() | ScrubDone() | ControlSet():
            return ""  # likewise
        case Erased() | Lost() | Opaque() | SetAside():
            return ""  # no fold reads it
        case undecided:
            assert_never(undecided)


def _are_tools(tools: Sequence[OfferedTool]) -> bool:
    try:
        return all(isinstance(json.loads(tool.parameters), dict) for tool in tools)
    except (ValueError, RecursionError):
        return False


def header_flaw(session: SessionNo, turn: TurnNo, at_ms: int) -> str:
    if not (0 <= turn <= INT_MAX and 0 <= at_ms <= INT_MAX):
        return "its turn or its time cannot be"
    return "" if 0 <= session < SESSIONS_MAX else "its session cannot be"


def content_flaw(session: SessionNo, body: PageBody) -> str:
    is_derived = body.event_type in DERIVED_TYPES
    if not session:
        return "it is a page of no session"
    if not {body.role, body.modality} <= _WORDS:
        return "its role or modality is none"
    if not _PAGE_ID.fullmatch(body.page_id):
        return "its page's id is none"
    if not 0 <= body.order <= ORDER_MAX:
        return "its place among the pages cannot be"
    if is_derived != (body.order >= DERIVED_ORDER):
        made, said = "made of other pages", "said"
        one, other = (made, said) if is_derived else (said, made)
        return f"it says that it was {one}, and stands among what was {other}"
    if not 0 <= body.part < body.parts <= ORDER_MAX:
        return "it is a part that its text does not have"
    if not 0 <= body.tokens <= INT_MAX:
        return "its tokens cannot be"
    if not isfinite(body.importance):
        return "its importance is no number"
    # By type: folds over many pass values of other classes.
    match body.event_type:
        case EventType.SUMMARY if not 0 <= cast(Summarised, body).source_tokens <= INT_MAX:
            return "its tokens cannot be"
        case EventType.REPRESENTATION:
            shorter = cast(Represented, body)
            if not 0 <= shorter.source_tokens <= INT_MAX:
                return "its tokens cannot be"
            return "" if shorter.level in _LEVELS else "its level is none"
        case EventType.CLAIM if not isfinite(cast(Claimed, body).confidence):
            return "its confidence is no number"
        case _:
            return ""


def _is_request(body: Packed | Relayed) -> bool:
    counts = (body.request, body.tokens, body.shared, body.tokens - body.shared)
    return all(map(_is_count, counts)) and 0 < body.factor < FACTOR_MAX


def _are_holes(body: Received) -> bool:
    places = [0, *(hole.at for hole in body.holes), len(body.json)]
    return places == sorted(places) and all(
        hole.blob or (0 <= hole.item < len(body.items) and 0 <= hole.start <= hole.end)
        for hole in body.holes
    )


def _is_countable(taken: Taken) -> bool:
    return all(map(_is_count, (taken.number, taken.order + 1, taken.turns)))


def _is_count(number: int) -> bool:
    return 0 <= number <= INT_MAX
