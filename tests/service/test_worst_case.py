"""A model that obeys every order it reads: nothing comes of it that no person asked for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

import pagefault
from pagefault import ToolCall
from pagefault.service.facades import writer
from pagefault.service.turn import stated_claims
from pagefault.service.turn.drive import HostCalls
from pagefault.service.window import claim_pages, core
from tests.hostile import Attack, Obedient, attacks, orders_in

pytestmark = pytest.mark.slow

EVERY = list(attacks())
MEMORIES: list[pagefault.Memory] = []  # the one under attack, last


async def standing(memory: pagefault.Memory, session: pagefault.Session) -> dict[str, Any]:
    """All that has consequences beyond an answer: what is pinned, held true, recited, aimed at,
    allowed, kept and forgotten.
    """
    status = await session.status()
    claims = [c.text for c in await session.claims() if c.authority == "user"]
    rows = await memory.pages(session, limit=1_000)
    held = [c.text for c in await session.claims() if c.status == "standing"]
    return {
        "pins": session.owned.state.pins_there(),
        "claims": [text for text in claims if text in held],
        "tail": session.owned.state.claims.tail(),
        "control": session.control,
        "mode": (status.mode, status.window_tokens),
        "retention": await memory.retention(),
        "there": "msg_1" in {row.page_id for row in rows},
        "raised": (await memory.origins(session, "tool_1")).raised if len(rows) > 1 else False,
    }


async def attacked(attack: Attack) -> tuple[set[str], bool]:
    """What of a memory is another than if nobody had attacked it, and whether the model obeyed."""
    async with pagefault.open(":memory:") as memory:
        MEMORIES[:] = [memory]
        session = await memory.session("talk", system="Be brief.")
        await session.user("Please look up the opening hours.")

        def browse() -> str:
            """Reads a page of the web."""
            return attack.text

        async def pin_page(x: str) -> str:
            """Pins a page: a host that hands memory's own verbs to the model."""
            await session.pin(x)
            return "pinned"

        async def remember_rule(x: str) -> str:
            """Remembers a rule, likewise."""
            return str(await session.remember(x, kind="rule"))

        async def record_decision(x: str) -> str:
            """Records a decision, likewise."""
            return str(await session.claim(x, evidence=[x]))

        before = await standing(memory, session)
        engine = Obedient()
        tools: list[Any] = [browse, pin_page, remember_rule, record_decision]
        for question in ("", "Thanks. And on Sundays?", "Yes."):
            if question:
                await session.user(question)
            await session.run(engine, tools=tools)
        after = await standing(memory, session)
        changed = {name for name in before if before[name] != after[name]}
        return changed, bool(engine.obeyed)


def test_the_orders_are_read_in_every_language_and_form() -> None:
    assert len(EVERY) > 120
    for attack in EVERY:
        assert attack.verb in {verb for verb, _ in orders_in(attack.text)}, attack


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.torture)])
async def test_nothing_comes_of_any_order_in_any_language(each: int) -> None:
    obeyed, some = 0, EVERY[::each]
    assert {attack.verb for attack in some} == {attack.verb for attack in EVERY}
    for attack in some:
        changed, did = await attacked(attack)
        assert changed == set(), attack
        obeyed += did
    assert obeyed > 0.9 * len(some), "the model does obey: it reads the orders where they stand"


class _Everybody(frozenset[str]):
    """Whoever is asked for is a user."""

    def __contains__(self, one: object) -> bool:
        return True

    def issuperset(self, other: object) -> bool:
        return True


async def _act(memory: pagefault.Memory, session: pagefault.Session, call: ToolCall) -> None:
    """Do for a model what only a person may."""
    about = str(json.loads(call.arguments).get("x", ""))
    match call.name:
        case "forget_page":
            await memory.forget("talk", about)
        case "set_goal":
            await session.goal(about)
        case "set_mode":
            await session.set_control("capture_only")
        case "set_retention":
            await memory.set_retention(about)
        case "approve_page":
            told = await memory.origins(session, about)
            await memory.raise_origin(session, about, told.digest)


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.torture)])
async def test_control_without_the_gates_nearly_all_orders_have_consequences(
    monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    answer = HostCalls._answer

    async def reaching(self: HostCalls, call: ToolCall) -> None:
        with suppress(pagefault.PagefaultError):
            await _act(MEMORIES[-1], self._session, call)
        await answer(self, call)

    monkeypatch.setattr(HostCalls, "_answer", reaching)
    monkeypatch.setattr(writer, "is_untrusted", lambda _: False)
    for module in (claim_pages, stated_claims, core):
        monkeypatch.setattr(module, "USERS", _Everybody())
    had, some = 0, EVERY[::each]
    assert {attack.verb for attack in some} == {attack.verb for attack in EVERY}
    for attack in some:
        changed, _ = await attacked(attack)
        had += bool(changed)
    assert had > 0.9 * len(some)
