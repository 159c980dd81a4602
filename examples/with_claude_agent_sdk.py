"""A session store of the Claude Agent SDK: `ClaudeAgentOptions(session_store=store)`. Offline."""

import asyncio

from pagefault.integrations.claude_agent_sdk import PagefaultSessionStore


async def main() -> None:
    store = PagefaultSessionStore(memory=":memory:")
    said = {"role": "user", "content": "The spare key hangs behind the barrel."}
    key = {"project_key": "shop", "session_id": "ana"}
    await store.append(key, [{"type": "user", "uuid": "1", "message": said}])
    print(await store.load(key))


asyncio.run(main())
