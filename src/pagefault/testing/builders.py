"""Small drafts for tests, with valid defaults."""

from __future__ import annotations

from pagefault.model.events import Draft, Said, SessionOpened
from pagefault.model.ids import PageId, SessionNo, TurnNo
from pagefault.model.kinds import (
    RUNTIME,
    USER_TYPED,
    Actor,
    EventType,
    Mode,
    Origin,
    Role,
)


def opened(name: str = "test", *, session_id: str = "s-1", window_tokens: int = 32_000) -> Draft:
    """A session's opening record."""
    body = SessionOpened(
        session_id=session_id, name=name, window_tokens=window_tokens, mode=Mode.ACTIVE, system=""
    )
    return Draft(
        session=SessionNo(0), turn=TurnNo(0), actor=Actor.SYSTEM, origin=RUNTIME, body=body
    )


def said(
    text: str,
    *,
    session: int = 1,
    order: int = 0,
    turn: int | None = None,
    role: Role = Role.USER,
    origin: Origin = USER_TYPED,
    key: str = "",
) -> Draft:
    """One chat turn, by default the user's; its turn number defaults to its order."""
    body = Said(
        event_type=EventType.CHAT_TURN,
        page_id=PageId(f"msg_{order + 1}"),
        order=order,
        role=role,
        text=text,
        tokens=len(text.split()),
    )
    return Draft(
        session=SessionNo(session),
        turn=TurnNo(order if turn is None else turn),
        actor=Actor.USER if role is Role.USER else Actor.MODEL,
        origin=origin,
        body=body,
        key=key,
    )
