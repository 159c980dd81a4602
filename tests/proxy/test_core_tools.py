"""The tools of core and archival memory through the proxy: the client knows nothing of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pagefault
from tests.proxy.callers import CALLERS
from tests.proxy.standing import standing
from tests.proxy.test_faults import WINDOW, Model, blocks, names, results, until_it_left, watched
from tests.proxy.upstream import Call, Say

FIVE = {
    *("core_memory_append", "core_memory_replace", "conversation_search"),
    *("archival_memory_insert", "archival_memory_search"),
}


def call(name: str, call_id: str, **arguments: Any) -> Call:
    return Call(call_id, name, arguments)


@pytest.mark.parametrize("path", CALLERS)
async def test_a_model_keeps_and_finds_through_the_proxy_and_after_a_restart(
    path: str, tmp_path: Path
) -> None:
    model = Model()
    limits = pagefault.Limits(core_tools=True)
    with watched(model) as upstream:
        caller = CALLERS[path]()
        async with standing(upstream, root=tmp_path / "m", window=WINDOW, limits=limits) as to:
            await until_it_left(to, caller)
            assert set(names(upstream.seen[-1])) >= FIVE
            caller.says("Say the number, and keep that I ship on 5 May.")
            model.then(
                Say(
                    calls=(
                        call("conversation_search", "c1", query="launch code Heron"),
                        call("archival_memory_insert", "c2", text="Ships on 5 May", area="task"),
                        call("core_memory_append", "c3", section="human", text="Name: Ann"),
                    )
                ),
                Say(
                    calls=(
                        call("archival_memory_search", "c4", query="when does it ship?"),
                        call("core_memory_replace", "c5", section="none", old="a", new="b"),
                    )
                ),
                Say(text="It is 7741."),
            )
            read = await caller.ask(to)
            assert (read.text, read.calls) == ("It is 7741.", [])
            told = results(upstream.seen[-1])
            assert told["c1"]["results"][0]["id"] == "msg_1"
            assert "7741" in told["c1"]["results"][0]["text"]
            assert told["c2"] == {"status": "ok", "ids": ["note_1"]}
            assert told["c3"] == {"status": "ok", "ids": ["core_1"]}
            assert told["c4"]["results"][0]["text"] == "Ships on 5 May"
            assert "section 'none' not found" in told["c5"]["error"]["message"]
            await to.proxy.settled()
        before = upstream.seen[-1]
        async with standing(upstream, root=tmp_path / "m", window=WINDOW, limits=limits) as to:
            caller.says("Thanks.")
            assert (await caller.ask(to)).text == "It is green."
            after = upstream.seen[-1]
            assert blocks(after)[: len(blocks(before))] == blocks(before), "made anew, the same"
            assert "Name: Ann" in json.dumps(after.body), "core memory is quoted"
            [name] = await to.sessions()
            session = await to.memory.session(name, create=False)
            assert [one.text for one in await session.core()] == ["Name: Ann"]
            await to.memory.forget(session, "note_1")
            assert (await to.memory.verify()).problems == ()
            caller.says("And now?")
            await caller.ask(to)
            assert "Ships on" not in json.dumps(upstream.seen[-1].body)


async def test_without_the_setting_none_is_offered_or_served() -> None:
    model = Model()
    with watched(model) as upstream:
        async with standing(upstream, window=WINDOW) as to:
            caller = CALLERS[next(iter(CALLERS))]()
            caller.says("Hello.")
            await caller.ask(to)
            assert FIVE.isdisjoint(names(upstream.seen[-1]))
