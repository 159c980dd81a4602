"""The contract suite for formers: subclass it and provide the fixture."""

from __future__ import annotations

import asyncio

from pagefault.engine.former import FormationRequest, Former, ProposalKind
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import MODEL_GENERATED, USER_TYPED, Kind, Modality, Role
from pagefault.model.page import Page, PageRow
from pagefault.model.request import Message, Request
from pagefault.model.segments import Facet, RenderedSegment

TALK = (
    (Role.USER, "We have to pick a database for the harbour survey. It must run on db-2.internal."),
    (Role.ASSISTANT, "PostgreSQL 15 would do: it has the geometry types, and you run it already."),
    (Role.USER, "Good, PostgreSQL it is. Never write to the prod database from tests, though."),
    (Role.ASSISTANT, "Understood. The nightly job wrote 4,212 rows yesterday, so it is in use."),
)


def page(number: int, role: Role, text: str) -> Page:
    """A page of a conversation, as a session passes it on."""
    row = PageRow(
        page_id=PageId(f"msg_{number}"),
        seq=Seq(number),
        session=SessionNo(1),
        order=number - 1,
        turn=TurnNo((number - 1) // 2),
        role=role,
        kind=Kind.TRANSCRIPT,
        modality=Modality.TEXT,
        origin=USER_TYPED if role is Role.USER else MODEL_GENERATED,
        tokens=max(1, len(text) // 4),
        importance=0.5,
        at_ms=1_764_000_000_000,
        part=0,
        parts=1,
    )
    return Page(row=row, text=text)


def formation_request() -> FormationRequest:
    """A short talk, all of it to be formed."""
    pages = tuple(page(number, *said) for number, said in enumerate(TALK, 1))
    head = Message(role=Role.SYSTEM, content="You plan surveys.")
    said = [Message(role=p.row.role, content=f"({p.page_id}) {p.text}") for p in pages]
    return FormationRequest(
        request=Request(
            messages=(head, *said), tools=(), tokens=300, factor=1.0, window_tokens=8_000
        ),
        segments=tuple(
            RenderedSegment(
                message=place,
                tokens=p.row.tokens,
                facets=(
                    Facet(
                        pages=(p.page_id,),
                        turn=p.row.turn,
                        start=0,
                        end=len(said[place - 1].content.encode()),
                    ),
                ),
            )
            for place, p in enumerate(pages, 1)
        ),
        response=pages[-1].text,
        operations=(),
        pages=pages,
        tokens_max=128,
    )


class FormerContract:
    """A subclass has the fixture `former`."""

    async def test_what_it_proposes_is_a_line_that_cites_the_range(self, former: Former) -> None:
        given = formation_request()
        made = await former.form(given)
        assert made.unread >= 0
        assert made.proposals, "it has something to say of this talk"
        for one in made.proposals:
            assert one.text.strip()
            assert "\n" not in one.text
            assert set(one.pages) <= {page.page_id for page in given.pages}
            assert one.kind in ProposalKind

    async def test_what_it_quotes_stands_there(self, former: Former) -> None:
        given = formation_request()
        texts = {page.page_id: page.text for page in given.pages}
        for one in (await former.form(given)).proposals:
            said = " ".join(texts[page_id] for page_id in one.pages)
            assert all(words in said for words in one.quotes)

    async def test_it_tells_beforehand_what_it_asks_a_model_with(self, former: Former) -> None:
        given = formation_request()
        tokens = former.tokens(given)
        assert tokens >= 0
        assert tokens == 0 or tokens > given.request.tokens or not former.reads_window

    async def test_it_is_asked_again_as_if_for_the_first_time(self, former: Former) -> None:
        given = formation_request()
        one, other = await former.form(given), await former.form(given)
        assert one.proposals == other.proposals

    async def test_it_can_be_asked_of_several_at_once(self, former: Former) -> None:
        given = formation_request()
        made = await asyncio.gather(*(former.form(given) for _ in range(3)))
        assert made[0].proposals == made[1].proposals == made[2].proposals
