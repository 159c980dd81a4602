"""Small pages for tests of what the model sees."""

from __future__ import annotations

from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import USER_TYPED, Kind, Modality, Origin, Role
from pagefault.model.page import Page, PageRow


def page(
    page_id: str,
    text: str = "some words",
    *,
    role: Role = Role.USER,
    kind: Kind = Kind.TRANSCRIPT,
    order: int = 0,
    seq: int | None = None,
    part: int = 0,
    parts: int = 1,
    tokens: int = 10,
    speaker: str = "",
    title: str = "",
    occurred_at: str = "",
    origin: Origin = USER_TYPED,
) -> Page:
    row = PageRow(
        page_id=PageId(page_id),
        seq=Seq(order + 1 if seq is None else seq),
        session=SessionNo(1),
        order=order,
        turn=TurnNo(0),
        role=role,
        kind=kind,
        modality=Modality.TEXT,
        origin=origin,
        tokens=tokens,
        importance=0.5,
        at_ms=0,
        part=part,
        parts=parts,
    )
    return Page(row=row, text=text, speaker=speaker, title=title, occurred_at=occurred_at)
