"""A word of its own in every part of a client's request and of the answer: what is kept of it is
forgotten with its session, and the rest was never kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pagefault
from tests.proxy.standing import standing
from tests.proxy.upstream import Call, Say, Upstream, in_turn
from tests.service.traces import Files, canary

KEPT = {
    "session", "model", "said", "answer", "tool.name", "tool.arguments", "result", "result.id",
    "thinking",
}  # fmt: skip
PASSED_ON = {
    "header", "agent", "query", "key", "system", "metadata", "user", "cache_key", "unknown",
    "tools.description", "tools.schema",
}  # fmt: skip


@pytest.fixture
def words() -> dict[str, str]:
    return {name: canary(f"proxied {name}") for name in sorted(KEPT | PASSED_ON)}


@pytest.fixture
def upstream(words: dict[str, str]) -> Iterator[Upstream]:
    call = Call(words["result.id"], words["tool.name"], {"path": words["tool.arguments"]})
    with Upstream(in_turn(Say(calls=(call,)), Say(text=f"It is {words['answer']}."))) as up:
        yield up


async def _talk(root: Path, upstream: Upstream, words: dict[str, str]) -> None:
    headers = {
        "x-pagefault-session": words["session"],
        "x-api-key": f"sk-{words['key']}",
        "user-agent": words["agent"],
        "x-something": words["header"],
    }
    body = {
        "model": words["model"],
        "max_tokens": 100,
        "system": f"Be {words['system']}.",
        "metadata": {"user_id": words["user"], "other": words["metadata"]},
        "prompt_cache_key": words["cache_key"],
        "something": words["unknown"],
        "tools": [
            {
                "name": words["tool.name"],
                "description": words["tools.description"],
                "input_schema": {"type": "object", "title": words["tools.schema"]},
            }
        ],
    }
    call = {"path": words["tool.arguments"]}
    said: list[dict[str, object]] = [{"role": "user", "content": f"Read the {words['said']}."}]
    answer = [
        {"type": "thinking", "thinking": words["thinking"], "signature": "s"},
        {
            "type": "tool_use", "id": words["result.id"], "name": words["tool.name"],
            "input": call,
        },
    ]  # fmt: skip
    result = {
        "type": "tool_result", "tool_use_id": words["result.id"],
        "content": f"There stands {words['result']}.",
    }  # fmt: skip
    async with standing(upstream, root=root, window=4_000) as to:
        for _ in range(2):
            got = await to.http.post(
                f"/v1/messages?beta={words['query']}", json=body | {"messages": said},
                headers=headers,
            )  # fmt: skip
            assert got.status_code == 200
            said += [
                {"role": "assistant", "content": answer},
                {"role": "user", "content": [result]},
            ]
        await to.proxy.settled()


async def test_nothing_of_a_clients_request_outlives_its_session(
    tmp_path: Path, upstream: Upstream, words: dict[str, str]
) -> None:
    root = tmp_path / "m"
    await _talk(root, upstream, words)
    found = set(Files(root).traces(words))
    assert KEPT - {"session"} <= found <= KEPT, "the control: that, and no more, was kept"
    async with pagefault.open(root, sync="os") as memory:
        [row] = await memory.sessions()
        session = await memory.session(row.session_id)
        for page in await memory.pages(session, limit=100):
            receipt = await memory.forget(session, page.page_id)
        assert {one.what for one in receipt.stays} == {"name", "counts"}
        assert set(Files(root).traces(words)) - {"session"} == {"model"}
        await memory.forget(session)
        assert Files(root).traces(words) == {}
    assert Files(root).traces(words) == {}
