"""Codex has its tools among its messages, as a developer's: they are nobody's word, and stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pagefault.proxy.history.history import Json
from tests.proxy.standing import SESSION, Standing, standing
from tests.proxy.upstream import Upstream, always

TOOLS: Json = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "function", "name": "shell", "description": "Runs a command " * 20}],
}
RULES: Json = {"type": "message", "role": "developer", "content": "You are Codex."}


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def model(text: str) -> Json:
    said = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": said}


async def ask(to: Standing, said: list[Json]) -> list[Any]:
    request = {"model": "m", "input": [TOOLS, RULES, *said]}
    assert (await to.http.post("/v1/responses", json=request, headers=SESSION)).status_code == 200
    await to.proxy.settled()
    sent: list[Any] = to.upstream.seen[-1].body["input"]
    return sent


async def test_they_stay_in_front_through_epochs_and_restarts(tmp_path: Path) -> None:
    said: list[Json] = []
    epochs = 0
    with Upstream(always("Ok.")) as upstream:
        for turn in range(24):
            async with standing(upstream, window=700, root=tmp_path / "memory") as to:
                said.append(user(f"Look at file {turn}. " + f"leaf{turn} " * 60))
                sent = await ask(to, said)
                said.append(model("Ok."))
                assert sent[:2] == [TOOLS, RULES]
                epochs += any("epoch" in line for line in await to.lines())
        async with standing(upstream, window=700, root=tmp_path / "memory") as to:
            assert len(await ask(to, [*said, user("And now?")])) < len(said)
    assert epochs > 1


async def test_nothing_of_them_is_kept_and_no_answer_stands_under_them() -> None:
    with Upstream(always("Noted.")) as upstream:
        async with standing(upstream) as to:
            await ask(to, [user("We picked Redis for the cache.")])
            await ask(to, [user("We picked Redis for the cache."), model("Noted."), user("Yes.")])
            [name] = await to.sessions()
            session = await to.memory.session(name, create=False)
            rows = await to.memory.pages(session)
            labels = [(await to.memory.origins(session, row.page_id)).label for row in rows]
            claims = [claim.authority for claim in await session.claims()]
    assert labels == ["user_typed", "model_generated", "user_typed", "model_generated"]
    assert claims == ["user"]
