"""The callback, in the real LiteLLM."""

from __future__ import annotations

import os
from typing import Any

import pytest

import pagefault
from tests.integrations.frameworks import WINDOW, check_paged, check_whole, notes
from tests.proxy.upstream import Upstream, always

if not os.environ.get("HEAVY_TESTS"):
    pytest.skip("importing LiteLLM takes 12 to 19 s: HEAVY_TESTS=1", allow_module_level=True)
litellm: Any = pytest.importorskip("litellm", reason="LiteLLM is not installed")

pytestmark = pytest.mark.filterwarnings("default")  # LiteLLM's own are many


@pytest.mark.parametrize("pages", [True, False], ids=["paged", "control"])
async def test_a_conversation_outgrows_its_window(pages: bool) -> None:
    from pagefault.integrations.litellm import PagefaultCallback

    with Upstream(always("Understood.")) as upstream:
        async with pagefault.open(":memory:") as memory:
            callback = PagefaultCallback(memory=memory, window_tokens=WINDOW)
            litellm.callbacks = [callback] if pages else []
            messages: list[Any] = []
            for note in notes():
                messages.append({"role": "user", "content": note})
                reply = await litellm.acompletion(
                    model="openai/m",
                    api_base=f"{upstream.url}/v1",
                    api_key="none",
                    messages=messages,
                    metadata={"pagefault_session": "ana"},
                )
                messages.append({"role": "assistant", "content": reply.choices[0].message.content})
            litellm.callbacks = []
            if pages:
                session = await memory.session("ana", create=False)
                rows = await memory.pages(session, limit=100)
                assert len(rows) == 52
                origins = [str(row.origin) for row in rows[:2]]
                assert origins == ["user_typed", "model_generated"]
    seen = ["\n".join(one["content"] for one in seen.body["messages"]) for seen in upstream.seen]
    if pages:
        check_paged(seen)
    else:
        check_whole(seen)
