"""Records as a log returns them, made without a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pagefault.model.events import Body, Claimed, Event, HandedIn, PageBody, Said, SessionOpened
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, USER_TYPED, Actor, EventType, Kind, Mode, Origin, Role
from pagefault.model.page import DERIVED_ORDER


class Records:
    """Invariant: `events` are numbered without gaps, a millisecond apart."""

    def __init__(self, *, after: int = NOTHING) -> None:
        self.events: list[Event] = []
        self._after = after
        self._orders: dict[int, int] = {}

    def open(self, name: str, *, parent: int = 0, parent_seq: int = 0) -> Event:
        seq = self._next()
        body = SessionOpened(
            session_id=f"id-{seq}",
            name=name,
            window_tokens=32_000,
            mode=Mode.ACTIVE,
            system="",
            parent=SessionNo(parent),
            parent_seq=Seq(parent_seq),
        )
        return self.add(0, body)

    def say(
        self,
        session: int,
        text: str,
        *,
        order: int | None = None,
        page_id: str = "",
        turn: int | None = None,
        key: str = "",
        kind: Kind = Kind.TRANSCRIPT,
        **fields: Any,
    ) -> Event:
        """A chat turn or document, at the session's next order or at `order`, which is also its
        default turn.
        """
        if order is None:
            order = self._orders.get(session, 0)
        self._orders[session] = order + 1
        page: dict[str, Any] = {
            "page_id": PageId(page_id or f"msg_{order + 1}"),
            "order": order,
            "role": Role.USER,
            "text": text,
            "tokens": len(text.split()),
        }
        body: Body
        if kind is Kind.ARTIFACT:
            body = HandedIn(**(page | fields))
        else:
            body = Said(**({"event_type": EventType.CHAT_TURN} | page | fields))
        return self.add(session, body, turn=order if turn is None else turn, key=key)

    def derive(self, session: int, text: str, *, number: int, **fields: Any) -> Event:
        """A claim with this number, at the place for derived pages."""
        body = Claimed(
            claim_type=fields.pop("claim_type", "fact"),
            page_id=PageId(f"clm_{number}"),
            order=DERIVED_ORDER + number - 1,
            text=text,
            tokens=len(text.split()),
            **fields,
        )
        return self.add(session, body)

    def from_tool(self, session: int, text: str, *, tool: str, **fields: Any) -> Event:
        """As `say`, by a tool."""
        said = self.say(session, text, role=Role.TOOL, **fields)
        self.events[-1] = replace(said, origin=Origin(f"tool:{tool}"))
        return self.events[-1]

    def add(self, session: int, body: Body, *, turn: int = 0, key: str = "") -> Event:
        """Any record. An opening session gets its own seq as its number."""
        seq = self._next()
        event = Event(
            seq=seq,
            event_id=f"e-{seq}",
            session=SessionNo(seq if isinstance(body, SessionOpened) else session),
            turn=TurnNo(turn),
            at_ms=1_764_000_000_000 + seq,
            actor=Actor.USER,
            origin=USER_TYPED if isinstance(body, PageBody) else RUNTIME,
            body=body,
            key=key,
        )
        self.events.append(event)
        return event

    def replace(self, seq: Seq, body: Body) -> None:
        """Replace a record's body, as erasing does."""
        position = seq - self._after - 1
        self.events[position] = replace(self.events[position], body=body)

    def _next(self) -> Seq:
        return Seq(self._after + len(self.events) + 1)
