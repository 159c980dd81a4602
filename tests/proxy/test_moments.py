"""What a proxied window held, as the memory tells it, is what the provider was sent."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault.model.kinds import Level
from pagefault.service.inspection.timetravel import difference
from tests.proxy.histories import FACT, body, model, user
from tests.proxy.standing import Standing, post, standing
from tests.proxy.test_long_turns import AGENTS, PROMPT, reading, watched
from tests.proxy.upstream import Upstream, always


async def session_of(to: Standing) -> pagefault.Session:
    [name] = await to.sessions()
    return await to.memory.session(name, create=False)


async def texts_at(to: Standing, now: pagefault.Moment) -> dict[str, list[str]]:
    """The texts that were shown, by their place."""
    session = await session_of(to)
    told: dict[str, list[str]] = {}
    for one in now.pages:
        text = (await session.page(one.page_id)).text
        told.setdefault(one.place, []).append(text)
    return told


async def texts_of(to: Standing) -> list[str]:
    session = await session_of(to)
    rows = await to.memory.pages(session, limit=1_000)
    return [(await to.memory.read(row)).text for row in rows]


def leaf(n: int) -> str:
    return f"And bed {n}? " + f"leaf{n} " * 60


async def test_at_any_turn_it_is_what_was_sent_and_nothing_else(tmp_path: Path) -> None:
    asked = "Which launch code has project Heron?"
    said = [user(FACT)]
    with Upstream(always("It is green.")) as upstream:
        for run in range(2):  # with a restart between
            async with standing(upstream, root=tmp_path / "m", window=600) as to:
                for n in range(8):
                    said += [model("It is green."), user(leaf(8 * run + n) if n else asked)]
                    assert (await post(to, body(*said))).status_code == 200
                    session = await session_of(to)
                    now = await session.at(turn=(await session.status()).turns - 1)
                    assert now.relayed is not None
                    sent = str(upstream.seen[-1].body)
                    told = await texts_at(to, now)
                    every = {text for text in await texts_of(to) if text != "It is green."}
                    shown = {t for place, ts in told.items() for t in ts} - {"It is green."}
                    # What is quoted may be shortened, and each begins with words of its own.
                    assert {text for text in every if text.strip()[:30] in sent} == shown


@pytest.mark.parametrize("path", AGENTS)
async def test_a_stub_is_told_as_one(path: str) -> None:
    with watched(reading()) as upstream:
        async with standing(upstream, window=2_600) as to:
            await AGENTS[path](to, path).prompt(PROMPT)
            session = await session_of(to)
            now = await session.at(turn=0)
            last = str(upstream.seen[-1].body)
            stubs = [one for one in now.pages if one.place == "stub"]
            assert stubs
            proxied = await to.memory.proxied(session)
            assert proxied is not None
            assert proxied.stubs == len(stubs)
            for one in now.pages:
                text = (await session.page(one.page_id)).text.strip()
                if text.startswith("chapter"):
                    is_whole = text in last.replace("\\n", "\n")
                    assert is_whole == (one.place == "turn")
                    assert (one.level is Level.REFERENCE) == (one.place == "stub")
            first = await session.at(seq=now.seq // 3)
            assert not [one for one in first.pages if one.place == "stub"]
            levels = {one[0]: one[1:] for one in difference(first, now).levels}
            before = {one.page_id for one in first.pages}
            assert levels == {
                one.page_id: (Level.FULL, Level.REFERENCE) for one in stubs if one.page_id in before
            }


async def test_a_branch_has_the_window_of_its_own_path() -> None:
    with Upstream(always("It is green.")) as upstream:
        async with standing(upstream, window=600) as to:
            said = [user(FACT)]
            for n in range(3):
                said += [model("It is green."), user(leaf(n))]
                await post(to, body(*said))
            branch = [*said[:3], model("It is green."), user("Something else.")]
            await post(to, body(*branch))
            session = await session_of(to)
            now = await session.at(turn=(await session.status()).turns - 1)
            told = await texts_at(to, now)
            assert leaf(2).strip() not in [text.strip() for text in told["turn"]]
            assert "Something else." in told["turn"]


async def test_what_was_forgotten_is_told_no_more() -> None:
    with Upstream(always("It is green.")) as upstream:
        async with standing(upstream, window=600) as to:
            said = [user(FACT)]
            for n in range(3):
                said += [model("It is green."), user(leaf(n))]
                await post(to, body(*said))
            session = await session_of(to)
            now = await session.at(turn=(await session.status()).turns - 1)
            gone = next(one.page_id for one in now.pages if one.tokens > 50)
            await to.memory.forget(session, gone)
            now = await session.at(turn=(await session.status()).turns - 1)
            assert gone not in [one.page_id for one in now.pages]
            assert now.pages
