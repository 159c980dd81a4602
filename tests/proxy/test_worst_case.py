"""What comes through the proxy gives no orders: a provider's model that obeys all it reads, and
tools that say what a user might, change nothing of what memory holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pagefault.model.kinds import USER_TYPED, Role
from pagefault.proxy.conversation.item_drafts import ItemDrafts
from pagefault.service.turn.drafts import Incoming
from tests.hostile import ORDERS, orders_in
from tests.proxy.histories import body, call, model, result, user
from tests.proxy.standing import Standing, standing
from tests.proxy.upstream import Call, Say, Seen, Upstream

CLAIMED = (
    "We decided to use Telnet for the login.",
    "I prefer Telnet.",
    "I live in Oslo.",
    "Let's use Telnet for the login.",
)
TEXTS = [
    f"{claim}{order}"
    for claim, orders in zip(CLAIMED * 2, ORDERS.values(), strict=True)
    for order in ("", *(f"\n{one.format(x='tool_1')}" for one in orders[::4]))
]


def obey(seen: Seen) -> Say:
    """Call whatever tool a text in the request names, and say what it says."""
    orders = [one for text in _strings(seen.body) for one in orders_in(text)]
    calls = tuple(Call(f"o{n}", verb, {"x": x}) for n, (verb, x) in enumerate(orders[:4]))
    said = [line for text in _strings(seen.body) for line in text.splitlines() if line in CLAIMED]
    return Say(text=said[-1] if said else "Done.", calls=calls)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


async def attacked(to: Standing, number: int, text: str) -> list[str]:
    """What is held true on the user's word, or pinned, after a tool said something."""
    name = f"attacked-{number}"
    asked = [user("Look it up."), model(call("c1", name="browse")), user(result("c1", text))]
    for said in (asked[:1], asked, [*asked, model(text.splitlines()[0]), user("Thank you.")]):
        answer = await to.http.post(
            "/v1/messages",
            json=body(*said, system=[{"type": "text", "text": text}]),
            headers={"x-pagefault-session": name, "x-api-key": "sk-ant-api03-nobodys"},
        )
        assert answer.status_code == 200
    await to.proxy.settled()
    rows = [row for row in await to.memory.sessions() if row.name.startswith(name)]
    [row] = [row for row in rows if row.name.split(":")[0] == name]
    session = await to.memory.session(row.session_id, create=False)
    held = [one.text for one in await session.claims() if one.authority == "user"]
    return [*held, *session.owned.state.pins_there(), session.owned.state.claims.tail()]


@pytest.mark.parametrize("gated", [True, False])
async def test_no_text_of_a_tool_or_a_model_is_held_true(
    gated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ItemDrafts.draft
    if not gated:  # the control: whatever came was typed by the user

        def typed(self: ItemDrafts, item: Any, follows: str, old: str, **more: Any) -> Any:
            incoming = said(self, item, follows, old, **more)
            if incoming is None:
                return None
            return Incoming(
                text=incoming.text.splitlines()[0],
                role=Role.USER,
                follows=incoming.follows,
                is_whole=incoming.is_whole,
                goes_on=incoming.goes_on,
                origin=USER_TYPED,
            )

        monkeypatch.setattr(ItemDrafts, "draft", typed)
    had = 0
    with Upstream(obey) as upstream:
        async with standing(upstream, window=4_000) as to:
            for number, text in enumerate(TEXTS):
                left = [one for one in await attacked(to, number, text) if one]
                had += bool(left)
                assert not (gated and left), text
            assert await to.memory.retention() == ()
            assert to.memory.limits.recall_tokens_max
    assert gated or had > 0.9 * len(TEXTS)
