"""What rests on what among claims: told as edges, as a tree and as a drawing, all the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pagefault.dashboard.pages import Pages
from pagefault.model.ids import PageId
from pagefault.service.bootstrap import open_memory
from pagefault.views.claim_graph import EdgeKind, descendants, plan, tree
from pagefault.views.feed import Feed

NOW = datetime(2026, 3, 24, tzinfo=UTC)


async def test_what_made_a_claim_stale_and_what_rests_on_it_is_seen() -> None:
    async with open_memory(":memory:", window=8_000) as memory:
        session = await memory.session("s")
        await session.user("The ledger is kept in Postgres. Dumps are made at two. Redis is gone.")
        made = [
            await session.claim(
                value,
                evidence=["The ledger is kept in Postgres"],
                subject=value,
                derived_from=source,
            )
            for value, source in (("database", []), ("dumps", ["clm_1"]), ("disks", ["clm_2"]))
        ]
        one = await session.claim("no cache", evidence=["Redis is gone"], subject="cache")
        other = await session.claim("a cache", evidence=["Dumps are made at two"], subject="redis")
        await session.contradict_claim(one, other)
        await session.retract("clm_1")
        feed = Feed(memory)
        told = await feed.claims("s")
        page = await Pages(lambda: NOW).claims(feed, "s")
    by_kind = {
        kind: {(one.source, one.target) for one in told.edges if one.kind is kind}
        for kind in EdgeKind
    }
    assert by_kind[EdgeKind.SUPPORTS] == {("clm_1", "clm_2"), ("clm_2", "clm_3")}
    assert by_kind[EdgeKind.CONTRADICTS] == {(one, other)}
    assert by_kind[EdgeKind.REPLACED] == {("clm_1", "clm_6")}
    assert descendants(told.edges, PageId("clm_1")) == ["clm_2", "clm_3"] == made[1:]
    below = [(one.claim_id, one.depth) for one in tree(told.claims[::-1])]
    assert below[:3] == [("clm_1", 0), ("clm_2", 1), ("clm_3", 2)]
    for said in (
        'class="claim-stale"',
        "Stale: it rests on clm_1, which no longer holds",
        'Supports <a class="id" href="#clm_2">clm_2</a>, <a class="id" href="#clm_3">',
        "clm_2 rests on clm_1",
        f"{one} and {other} contradict each other",
    ):
        assert said in page
    columns = {place.claim_id: place.column for place in plan(told.claims[::-1]).places}
    assert columns == {"clm_1": 0, "clm_2": 1, "clm_3": 2, "clm_6": 1, one: 0, other: 0}


@dataclass(frozen=True)
class _Claim:
    claim_id: PageId
    derived_from: tuple[PageId, ...]
    status: str = "standing"
    closed_by: PageId = PageId("")
    contradicts: tuple[PageId, ...] = ()


def test_claims_that_rest_on_one_another_are_each_told_once_with_all_below_them() -> None:
    a, b, c, d = map(PageId, ("a", "b", "c", "d"))
    round_and_apart = [_Claim(a, (c,)), _Claim(b, (a,)), _Claim(c, (b,)), _Claim(d, (b, c))]
    told = list(tree(round_and_apart))
    assert [one.claim_id for one in told if not one.is_again] == [a, b, c, d]
    assert [one.claim_id for one in told if one.is_again] == [a, d]
    drawn = plan(round_and_apart)
    assert {one.claim_id for one in drawn.places} == {a, b, c, d}
    assert len({(one.column, one.row) for one in drawn.places}) == 4, "none hides another"
    assert plan(round_and_apart, most=2).left_out == 2
