"""Many people behind one proxy, and many sessions in one memory: nothing of one is ever another's.

Every (principal, conversation) has a canary of its own, said in its first own words. Wherever a
canary comes up (a request to the provider, an answer, a line of the log, an error, a figure, a
search), it is in what belongs to whose it is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import pagefault
from pagefault.model.clock import SystemClock
from pagefault.proxy import conversations, server
from pagefault.proxy.http.relay import Patience, Relay
from pagefault.proxy.server import Proxy
from pagefault.service.memory import Memory
from tests.examples import few
from tests.proxy.histories import COUNTER
from tests.proxy.upstream import Say, Seen, Upstream

pytestmark = pytest.mark.slow

CANARY = re.compile(r"canary[0-9]+")
PEOPLE = ("ann", "bob", "cleo")
FEW = few(3, database=None, phases=[Phase.generate])


@dataclass(frozen=True)
class Step:
    """What one of somebody's conversations does next."""

    who: int
    conversation: int
    does: str
    restarts: bool = False


STEPS = st.lists(
    st.builds(
        Step,
        who=st.integers(0, len(PEOPLE) - 1),
        conversation=st.integers(0, 1),
        does=st.sampled_from(
            ["say", "say", "say", "fill", "retry", "edit", "branch", "trim", "ask"]
        ),
        restarts=st.sampled_from([False] * 9 + [True]),
    ),
    min_size=10,
    max_size=24,
)


@dataclass
class Talk:
    """A conversation as its client has it."""

    canary: str
    named: bool
    key: str
    said: list[dict[str, str]] = field(default_factory=list)
    past: set[str] = field(default_factory=set)

    def headers(self) -> dict[str, str]:
        session = {"x-pagefault-session": "same"} if self.named else {}
        return {"authorization": f"Bearer {self.key}", **session}

    def do(self, does: str) -> None:
        """Change the history as a client would, ending with a message of the user."""
        last = len(self.said) - 1
        if not self.said or (does == "trim" and last < 4):
            self.said = [{"role": "user", "content": "Hi"}]
        elif does == "edit" and last >= 4:
            self.said[2] = {"role": "user", "content": f"I am {self.canary}, as I said."}
        elif does == "branch" and last >= 4:
            self.said = self.said[:3]
        elif does == "trim":
            self.said = self.said[2:]
        elif does != "retry":
            self.said += [{"role": "assistant", "content": "Yes."}, self._says(does)]

    def _says(self, does: str) -> dict[str, str]:
        if len(self.said) == 1:
            text = f"We decided to use {self.canary} for the login."
        elif does == "fill":
            text = "Tell me of the garden. " + "leaf " * 60
        elif does == "ask":
            text = "What do we use for the login?"
        else:
            text = "Go on."
        return {"role": "user", "content": text}


class House:
    """A proxy, asked without a socket between; opened again at the same root when told to."""

    def __init__(self, root: Path, upstream: Upstream) -> None:
        self.root, self.upstream = root, upstream
        self.lines: list[str] = []

    async def __aenter__(self) -> House:
        self._opened = pagefault.open(self.root, sync="os")
        self.memory = await self._opened.__aenter__()
        self.relay = Relay(self.upstream.url, Patience())
        self.proxy = Proxy(
            memory=self.memory,
            relay=self.relay,
            counter=COUNTER,
            clock=SystemClock(),
            window_tokens=400,
            log=self.lines.append,
        )
        asked = httpx2.ASGITransport(app=self.proxy)  # type: ignore[arg-type]
        self.http = httpx2.AsyncClient(transport=asked, base_url="http://127.0.0.1")
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.proxy.settled()
        await self.http.aclose()
        await self.relay.aclose()
        await self._opened.__aexit__(None, None, None)


async def play(steps: Sequence[Step], *, one_key: bool, named: bool) -> None:
    """Let everybody talk, and look everywhere for what is not theirs."""
    talks = {
        (who, number): Talk(
            f"canary{who}{number}",
            named and number == 0,
            "shared" if one_key and not named else f"{PEOPLE[who]}-{number if named else 0}",
        )
        for who in range(len(PEOPLE))
        for number in range(2)
    }

    def answer(seen: Seen) -> Say:
        return Say(text="Yes.")

    with TemporaryDirectory() as folder, Upstream(answer) as upstream:
        house = House(Path(folder) / "memory", upstream)
        await house.__aenter__()
        try:
            for step in steps:
                if step.restarts:
                    await house.__aexit__()
                    await house.__aenter__()
                talk = talks[step.who, step.conversation]
                talk.do(step.does)
                await ask(house, talk)
            await look_everywhere(house, talks.values())
        finally:
            await house.__aexit__()


async def ask(house: House, talk: Talk) -> None:
    body = {"model": "m", "messages": talk.said, "prompt_cache_key": "the same"}
    line = len(house.lines)
    # Each in a task of its own, as a server has it: the proxy waits for that task in `settled`.
    answer = await asyncio.create_task(
        house.http.post("/v1/chat/completions", json=body, headers=talk.headers())
    )
    await house.proxy.settled()
    told = [house.upstream.seen[-1].raw.decode(), answer.text, *house.lines[line:]]
    told.append((await asyncio.create_task(house.http.get("/healthz"))).text)
    for text in told:
        assert_own(text, talk.canary)
    assert_own(" ".join(map(str, answer.headers.items())), talk.canary)


def assert_own(text: str, canary: str) -> None:
    assert set(CANARY.findall(text)) <= {canary}, text


async def look_everywhere(house: House, talks: Any) -> None:
    """Each session tells of one canary, whatever it is asked."""
    sessions = await house.memory.sessions()
    for row in sessions:
        session = await house.memory.session(row.session_id, create=False)
        told = [json.dumps((await session.metrics()).figures, default=str), row.name]
        told += [repr(await session.status()), repr(await house.memory.proxied(session))]
        told += [claim.text for claim in await session.claims()]
        told += [repr(await session.ledger()), repr(await session.at(turn=0))]
        for found in (
            await session.recall("canary login garden", limit=50),
            await session.recent(50),
            await session.recall("who am I", limit=50),
        ):
            told += [(await house.memory.read(hit.page)).text for hit in found.hits]
        assert len(set(CANARY.findall(" ".join(told)))) <= 1, told


@given(steps=STEPS)
@FEW
def test_of_many_people_with_keys_of_their_own_nobody_meets_anybody(steps: list[Step]) -> None:
    asyncio.run(play(steps, one_key=False, named=False))


@given(steps=STEPS)
@FEW
def test_of_many_people_under_one_key_nobody_meets_anybody(steps: list[Step]) -> None:
    asyncio.run(play(steps, one_key=True, named=False))


@given(steps=STEPS)
@FEW
def test_of_many_people_who_choose_the_same_id_nobody_meets_anybody(steps: list[Step]) -> None:
    asyncio.run(play(steps, one_key=False, named=True))


ALIKE = [
    Step(who, 0, does)
    for does in ("say", "say", *("fill",) * 8, "ask", "edit", "ask")
    for who in (0, 1)
]
"""Two who begin alike, fill their windows, and ask for what they said."""


def test_these_catch_a_proxy_that_ignores_whose_a_request_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.run(play(ALIKE, one_key=False, named=True))
    monkeypatch.setattr(server, "principal_of", lambda headers, query, keyed: "everybody")
    with pytest.raises(AssertionError, match="canary"):
        asyncio.run(play(ALIKE, one_key=False, named=True))


def test_these_catch_a_proxy_that_knows_a_conversation_by_how_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.run(play(ALIKE, one_key=True, named=False))
    monkeypatch.setattr(
        conversations, "recognise", lambda *_, **__: server_client("named", "whoever says Hi")
    )
    with pytest.raises(AssertionError, match="canary"):
        asyncio.run(play(ALIKE, one_key=True, named=False))


def server_client(kind: str, key: str) -> Any:
    from pagefault.proxy.http.client import Client

    return Client(kind, key)


# --- a library's memory -----------------------------------------------------------------------

SAYING: dict[str, Callable[[str], str]] = {
    "decides": lambda canary: f"We decided to use {canary} for the login.",
    "changes": lambda canary: f"We changed our mind: we use {canary}x for the login now.",
    "asks": lambda canary: "What do we use for the login?",
    "talks": lambda canary: f"The garden of {canary} is green. " + "leaf " * 40,
}


@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([*SAYING, "document", "result", "reopen", "goal"]),
        ),
        min_size=8,
        max_size=30,
    )
)
@FEW
def test_of_the_sessions_of_one_memory_none_is_told_in_another(
    steps: list[tuple[int, str]],
) -> None:
    asyncio.run(talk_in_sessions(steps))


async def talk_in_sessions(steps: list[tuple[int, str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        opened = pagefault.open(root, sync="os", window=2_000)
        memory: Memory = await opened.__aenter__()
        try:
            for number, does in steps:
                if does == "reopen":
                    await opened.__aexit__(None, None, None)
                    opened = pagefault.open(root, sync="os", window=2_000)
                    memory = await opened.__aenter__()
                    continue
                session = await memory.session(f"session {number}")
                canary = f"canary{number}"
                if does == "document":
                    await session.document(f"The login of {canary}. " + "word " * 50, title="login")
                elif does == "result":
                    await session.tool_result(f"login: {canary}", name="look")
                elif does == "goal":
                    await session.goal(f"mend the login of {canary}")
                else:
                    await session.user(SAYING[does](canary))
                told = [repr(await session.request())]
                await session.assistant("Yes.")
                told += [repr(await session.status()), repr(session.abi())]
                told += [claim.text for claim in await session.claims()]
                told.append(json.dumps((await session.metrics()).figures, default=str))
                for found in (await session.recall("login garden"), await session.recent(50)):
                    told += [(await memory.read(hit.page)).text for hit in found.hits]
                assert_own(" ".join(told), canary)
        finally:
            await opened.__aexit__(None, None, None)
