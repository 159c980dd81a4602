"""Turning drafts into events, for every log."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from pagefault.model.errors import BadInput
from pagefault.model.events import (
    BODY_TYPES,
    Draft,
    Erased,
    Event,
    Lost,
    Opaque,
    SessionOpened,
    SetAside,
)
from pagefault.model.ids import Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, Actor
from pagefault.store import codec
from pagefault.store.soundness import flaw


def hash_key(secret: bytes, session: SessionNo, key: str) -> str:
    """HMAC-SHA256 of an idempotency key within its session, truncated, in base64url."""
    message = f"key\0{session}\0{key}".encode()
    return codec.short(hmac.digest(secret, message, "sha256")[: codec.CUT_BYTES]).decode()


def accept(
    draft: Draft, seq: Seq, event_id: str, at_ms: int, hashed: Callable[[SessionNo, str], str]
) -> Event:
    """The event for a draft. `BadInput` if a draft may not hold that body."""
    body = draft.body
    session = draft.session
    if not -seq < draft.cause < seq:
        raise BadInput("what led to a record stands before it")
    if isinstance(body, SessionOpened):
        if session:
            raise BadInput("a session is opened by a draft of session 0")
        session = SessionNo(seq)
    elif isinstance(body, Erased | Lost | SetAside):
        raise BadInput("only the log itself writes what is left of a record")
    elif isinstance(body, Opaque) and body.type in BODY_TYPES:
        raise BadInput(f"{body.type!r} has a form of its own")
    event = Event(
        seq=seq,
        event_id=event_id,
        session=session,
        turn=draft.turn,
        at_ms=at_ms,
        actor=draft.actor,
        origin=draft.origin,
        body=body,
        cause=Seq(seq + draft.cause) if draft.cause < 0 else draft.cause,
        key=hashed(draft.session, draft.key) if draft.key else "",
        model=draft.model,
    )
    if why := flaw(event):
        raise BadInput(f"a {event.type} cannot be written: {why}")
    return event


def lost(seq: Seq, event_id: str, at_ms: int, reason: str) -> Event:
    """The placeholder for a record that cannot be read."""
    return Event(
        seq=seq,
        event_id=event_id,
        session=SessionNo(0),
        turn=TurnNo(0),
        at_ms=at_ms,
        actor=Actor.SYSTEM,
        origin=RUNTIME,
        body=Lost(reason=reason),
    )
