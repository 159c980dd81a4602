"""A page as the index takes it in: the parts of its record that become rows, and its terms.

It is made from an event, or straight from a record of the log. An event has a dozen parts that the
index would drop, and allocating them was a quarter of the cost of folding a log.
"""

from __future__ import annotations

from typing import Final

import msgspec

from pagefault.language.analyzer import analyze
from pagefault.model.events import Event, PageBody
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, ClaimType, EventType
from pagefault.model.times import iso_ms
from pagefault.store import codec
from pagefault.store.form import Form, form_of
from pagefault.store.said import said_by
from pagefault.store.sizes import page_size
from pagefault.store.soundness import content_flaw, header_flaw, sound
from pagefault.store.tokens import page_terms, tokens

USUAL_IMPORTANCE: Final = 0.5  # of a page without an importance of its own


class Leaf(msgspec.Struct, frozen=True, gc=False):
    """One page. Words (`type`, `role` …) are as in the record, not yet codes."""

    seq: Seq
    session: SessionNo
    turn: TurnNo
    at_ms: int
    type: str
    origin: str
    key: str
    page_id: PageId
    order: int
    role: str
    kind: str
    modality: str
    tokens: int
    importance: float | None  # None for the usual one
    part: int
    parts: int
    speaker: str | None  # the terms of a name, None without one
    length: int  # in terms, counting repetitions
    form: Form
    terms: str  # its entry in the full-text index
    occurred_ms: int | None  # None if the record has no valid time
    supersedes: PageId | None  # the page of its session that it makes historical
    is_history: bool  # from the start
    bytes: int  # of content


def leaf_of(event: Event, body: PageBody) -> Leaf:
    return _leaf(
        event.seq, event.session, event.turn, event.at_ms, event.type, event.origin, event.key, body
    )


def to_fold(record: codec.Record) -> Leaf | Event:
    """What a fold of the log takes of a record; errors as for `codec.to_event`."""
    body = codec.to_page(record)
    seq, session, turn = Seq(record.seq), SessionNo(record.ses), TurnNo(record.turn)
    if body is None or header_flaw(session, turn, record.at) or content_flaw(session, body):
        return sound(codec.to_event(record))
    return _leaf(seq, session, turn, record.at, record.type, record.origin, record.key, body)


def speaker_terms(name: str) -> str:
    """The terms of a speaker's name, without duplicates, sorted."""
    return " ".join(sorted(set(analyze(name))))


def _leaf(
    seq: Seq,
    session: SessionNo,
    turn: TurnNo,
    at_ms: int,
    type_: str,
    origin: str,
    key: str,
    body: PageBody,
) -> Leaf:
    said = said_by(body.text)
    terms = page_terms(body, said)
    return Leaf(
        seq,
        session,
        turn,
        at_ms,
        type_,
        origin,
        key,
        body.page_id,
        body.order,
        body.role,
        body.kind,
        body.modality,
        body.tokens,
        None if body.importance == USUAL_IMPORTANCE else body.importance,
        body.part,
        body.parts,
        speaker_terms(body.speaker) if body.speaker else None,
        sum(terms.values()),
        form_of(body, said, at_ms),
        tokens(terms),
        iso_ms(body.occurred_at) if body.occurred_at else None,
        body.supersedes or None,
        is_note(origin, body),
        page_size(body),
    )


def is_note(origin: str, body: PageBody) -> bool:
    """Whether it notes that a claim's words were edited away: no speaker said it."""
    if body.event_type is not EventType.CLAIM or origin != RUNTIME:
        return False
    return getattr(body, "claim_type", "") == ClaimType.RETRACTION
