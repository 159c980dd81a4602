"""Past requests, byte for byte; and sessions that go on from a moment in the past."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import BadInput, Request, Session
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from tests.service.memories import fault, search, words

LIMITS = Limits(recall_tokens_max=200)


async def talked(session: Session, turns: int = 24) -> list[list[Request]]:
    """A talk that outgrows its window, with calls, pins and a goal; of each turn its requests."""
    seen: list[list[Request]] = []
    for number in range(turns):
        await session.user(f"Topic{number}: {words(40, f't{number}w')}")
        requests = [await session.request()]
        if number % 5 == 4:
            await session.call(fault(f"msg_{number - 3}", call_id=f"c{number}"))
            await session.call(search(f"t{number - 4}w1", call_id=f"d{number}"))
            requests.append(await session.request())
        await session.assistant(f"Noted {number} [ref: msg_{max(1, number - 3)}].")
        if number == 3:
            await session.pin("msg_2")
        if number == 9:
            await session.goal("Ship it.")
        if number == 12:
            await session.unpin("msg_2")
            await session.configure(system="Be brief.")
        seen.append(requests)
    return seen


def bare(request: Request) -> tuple[object, ...]:
    """What is sent, the hints for a cache apart."""
    return request.messages, request.tools, request.tail, request.tokens, request.window_tokens


@pytest.mark.parametrize("layout", ["stable", "developer"])
async def test_every_past_request_is_told_byte_for_byte_also_after_a_restart(
    tmp_path: Path, layout: str
) -> None:
    async with open_memory(tmp_path / "m", window=2_000, limits=LIMITS) as memory:
        session = await memory.session("s", layout=layout)
        seen = await talked(session)
        told = [await session.sent(turn) for turn in range(len(seen))]
        assert (await session.status()).epoch, "no epoch began, so nothing is shown"
    async with open_memory(tmp_path / "m", limits=LIMITS) as memory:
        session = await memory.session("s", create=False)
        again = [await session.sent(turn) for turn in range(len(seen))]
        every = [request for requests in seen for request in requests]
        numbered = [await session.sent(request=number) for number in range(len(every))]
    for requests, one, other in zip(seen, told, again, strict=True):
        assert bare(one.request) == bare(other.request) == bare(requests[-1])
        assert one.is_exact
        assert one.seq == other.seq
    for number, (request, one) in enumerate(zip(every, numbered, strict=True)):
        assert (bare(one.request), one.number) == (bare(request), number)


async def test_a_request_of_which_something_was_forgotten_says_so_and_gives_the_rest(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", window=4_000) as memory:
        session = await memory.session("s")
        await session.user("The gate code is 7391.")
        await session.request()
        await session.assistant("Noted.")
        await session.user("And the harbour opens at nine.")
        whole = await session.request()
        await session.assistant("Noted too.")
        assert (await session.sent(1)).is_exact
        forgotten = (await session.page("msg_1")).row.seq
        await memory.forget("s", "msg_1")
        left = await session.sent(1)
        assert not left.is_exact
        assert "were forgotten" in left.missing[0]
        assert left.forgotten == (forgotten,)
        texts = "".join(message.content for message in left.request.messages)
        assert "7391" not in texts
        assert "opens at nine" in texts
        assert "7391" in "".join(message.content for message in whole.messages), "the control"
        await session.user("Later.")
        await session.request()
        assert (await session.sent(2)).is_exact, "what was packed since is told whole"


async def test_a_request_that_never_was_is_refused_with_what_helps() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("Hello.")
        for wrong in ({"turn": 0}, {"turn": 7}, {"request": 3}, {"turn": -1}):
            with pytest.raises(BadInput):
                await session.sent(**wrong)
        with pytest.raises(BadInput, match="name one request"):
            await session.sent()
        with pytest.raises(BadInput, match="name one request"):
            await session.sent(1, request=2)


async def test_a_fork_of_the_past_sees_what_was_said_by_then_and_sends_the_same_bytes(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path / "m", window=2_000, limits=LIMITS) as memory:
        session = await memory.session("s", system="Be kind.")
        seen = await talked(session)
        for turn in (2, 9, 15):
            then = await session.at(turn=turn)
            fork = await session.fork(f"from-{turn}", turn=turn)
            assert (await fork.status()).pages == 2 * (turn + 1)
            last = seen[turn][-1]
            assert bare((await fork.sent(turn)).request) == bare(last)
            await fork.user("Another way from here.")
            request = await fork.request()
            if (await fork.at(turn=turn + 1)).epoch == then.epoch:
                assert request.messages[: len(last.messages)] == last.messages
            assert f"Topic{turn + 1}:" not in "".join(m.content for m in request.messages)
            await fork.assistant("Gladly.")
            assert (await fork.user("On.")).startswith("msg_")
        assert (await session.status()).pages == 2 * len(seen), "it is as it was"
        assert (await memory.verify()).problems == ()
    async with open_memory(tmp_path / "m", limits=LIMITS) as memory:
        again = await memory.session("from-9", create=False)
        assert [hit.page.page_id for hit in (await again.recall("Another way from here")).hits]


async def test_a_checkpoint_is_gone_back_to_and_what_was_said_since_stays_in_the_old_session(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m") as memory:
        session = await memory.session("plan")
        await session.user("We decided to use Postgres for the store.")
        await session.request()
        await session.assistant("Noted.")
        await session.checkpoint("before")
        await session.user("We decided to use MySQL for the store.")
        back = await session.restore("before")
        assert (back.name, back.session_id) != (session.name, session.session_id)
        assert back.name == "plan"
        assert [c.text for c in await back.claims() if c.status == "standing"] != [
            c.text for c in await session.claims() if c.status == "standing"
        ]
        await back.user("Go on from here.")
        found = await back.recall("MySQL")
        assert "MySQL" not in "".join(h.excerpt for h in found.hits)
        old = session.session_id
    async with pagefault.open(tmp_path / "m") as memory:
        assert (await memory.session("plan")).session_id != old
        whole = await memory.session(old, create=False)
        assert (await whole.recall("MySQL")).hits
        with pytest.raises(BadInput, match="no checkpoint 'after'"):
            await whole.restore("after")


async def test_a_checkpoint_of_an_ancestor_is_forked_from_where_it_stands() -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        await session.user("One.")
        await session.checkpoint("early")
        await session.user("Two.")
        fork = await session.fork("f")
        await fork.user("Three.")
        again = await fork.fork("g", checkpoint="early")
        assert (await again.status()).pages == 1
        await session.user("Four.")
        assert (await again.status()).pages == 1
