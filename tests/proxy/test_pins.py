"""A pin and a goal mean in a proxied conversation what they mean in a session: they are seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from pagefault.proxy.history.history import Json
from tests.proxy.histories import FACT, body, long_talk, model, user
from tests.proxy.standing import Standing, post, standing, talk
from tests.proxy.test_long_turns import MessagesAgent, chapter, reading, watched
from tests.proxy.upstream import Upstream, always

WINDOW = 600
GOAL = "Finish the map of the gardens by Friday."


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always("It is green.")) as provider:
        yield provider


async def session_of(to: Standing) -> pagefault.Session:
    [name] = await to.sessions()
    return await to.memory.session(name, create=False)


async def goes_on(to: Standing, said: list[Json], turns: int) -> list[str]:
    """So many turns more, about nothing that calls for anything; what was sent for each."""
    sent = []
    for n in range(turns):
        said += [model("It is green."), user(f"And bed {n}? " + f"leaf{n} " * 60)]
        assert (await post(to, body(*said))).status_code == 200
        sent.append(str(to.upstream.seen[-1].body))
    return sent


async def test_a_pinned_page_is_in_every_request_whatever_leaves(upstream: Upstream) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = await talk(to, 8)
        assert FACT not in str(upstream.seen[-1].body), "it has left"
        session = await session_of(to)
        await session.pin("msg_1")
        said.append(user("Which bed is next?"))
        await post(to, body(*said))
        assert FACT in str(upstream.seen[-1].body["messages"][-1]), "before the next message"
        for sent in await goes_on(to, said, 12):
            assert sent.count(FACT) == 1, "once, and after every epoch"
        lines = await to.lines()
        assert sum("epoch" in line for line in lines[-12:]) >= 2
        await session.unpin("msg_1")
        later = await goes_on(to, said, 12)
        assert FACT not in later[-1], "the next epoch lets it go"


async def test_a_pin_of_what_is_shown_is_quoted_once_it_leaves(upstream: Upstream) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = long_talk(1)
        await post(to, body(*said[:-1]))
        await (await session_of(to)).pin("msg_1")
        said = said[:-1]
        for sent in await goes_on(to, said, 14):
            assert sent.count(FACT) == 1


LONG = (
    "The greenhouse was built in 1931 by Marta Lindqvist. "
    + "It is, as everybody who has ever been there will tell you at length, rather a nice one. "
    * 12
)


async def test_what_was_made_shorter_stands_in_front_once_its_page_has_left(
    upstream: Upstream, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    async with standing(upstream, root=root, window=2 * WINDOW) as to:
        said = [user(LONG)]
        await post(to, body(*said))
        session = await session_of(to)
        shorter = await session.compress("msg_1", 2)
        await session.flush()
        assert len(shorter.text) < len(LONG) / 3
        assert "Marta Lindqvist" in shorter.text
        sent = await goes_on(to, said, 24)
        assert LONG.strip() in sent[0], "in its place it is shown whole"
        assert LONG.strip() not in sent[-1]
        front = str(upstream.seen[-1].body["messages"][0])
        assert "Marta Lindqvist" in front
        assert shorter.page_id in front, "it names what it is, and the page that it is from"
        assert "msg_1" in front
    async with standing(upstream, root=root, window=2 * WINDOW) as to:
        await post(to, body(*said))
        assert upstream.seen[-1].body == upstream.seen[-2].body
        await to.memory.forget(await session_of(to), "msg_1")
        assert (await post(to, body(*said))).status_code == 200
        assert "Marta Lindqvist" not in str(upstream.seen[-1].body)


async def test_what_is_undone_is_quoted_no_more_and_what_is_redone_is(upstream: Upstream) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = await talk(to, 8)
        session = await session_of(to)
        await session.pin("msg_1")
        await session.goal(GOAL)
        assert [(await session.undo()).what for _ in range(2)] == ["goal", "pin"]
        [sent] = await goes_on(to, said, 1)
        assert (FACT in sent, GOAL in sent) == (False, False)
        assert [(await session.redo()).what for _ in range(2)] == ["pin", "goal"]
        [sent] = await goes_on(to, said, 1)
        assert (sent.count(FACT), sent.count(GOAL)) == (1, 1)


async def test_a_claim_whose_message_was_edited_since_does_not_come_back(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=20_000) as to:
        decided = user("We decided to use PostgreSQL for the database.")
        more = [
            model("It is green."),
            user("And the wells?"),
            model("So are they."),
            user("Go on."),
        ]
        await post(to, body(decided))
        await post(to, body(decided, *more[:2]))
        session = await session_of(to)
        assert [claim.status for claim in await session.claims()] == ["standing"]
        assert (await session.undo()).what == "claims"
        await post(to, body(user("Let us speak of tulips."), *more))
        with pytest.raises(pagefault.CannotUndo, match="msg_1, which was edited"):
            await session.redo()


async def test_the_goal_is_told_with_the_next_message_and_the_newest_alone(
    upstream: Upstream, tmp_path: Path
) -> None:
    async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
        said = await talk(to, 6)
        session = await session_of(to)
        await session.goal(GOAL)
        sent = await goes_on(to, said, 6)
        assert all(one.count(GOAL) == 1 for one in sent)
        await session.goal("Draw the wells.")
        sent = await goes_on(to, said, 12)
        assert "Draw the wells." in sent[0]
        assert GOAL not in sent[-1]
        assert sent[-1].count("Draw the wells.") == 1
        before = upstream.seen[-1].body
    async with standing(upstream, root=tmp_path / "m", window=WINDOW) as to:
        await post(to, body(*said))
        assert upstream.seen[-1].body == before, "a restart changes no byte of it"


async def test_a_pinned_result_is_made_no_stub(tmp_path: Path) -> None:
    with watched(reading()) as upstream:
        async with standing(upstream, window=2_600) as to:
            agent = MessagesAgent(to, "/v1/messages")
            agent.messages.append(user("Read all chapters."))
            for _ in range(4):
                await agent.step()
            session = await session_of(to)
            [page] = [hit.page for hit in (await session.recall("word1")).hits][:1]
            told = await to.memory.origins(session, page.page_id)
            await to.memory.raise_origin(session, page.page_id, told.digest)  # a tool's word
            await session.pin(page.page_id)
            while await agent.step() is None:
                pass
    last = str(upstream.seen[-1].body)
    assert chapter(1).splitlines()[1].strip() in last
    assert "word2 " * 100 not in last


async def test_a_document_that_is_pinned_is_shown_though_nobody_said_it(
    upstream: Upstream,
) -> None:
    async with standing(upstream, window=WINDOW) as to:
        said = await talk(to, 2)
        session = await session_of(to)
        [page_id] = await session.document("Wells are drawn in blue.", title="legend")
        await session.pin(page_id)
        for sent in await goes_on(to, said, 8):
            assert sent.count("Wells are drawn in blue.") == 1
