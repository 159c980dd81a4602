"""A callback of LiteLLM. LiteLLM mocks the answer, so it runs offline."""

import asyncio

import litellm

from pagefault.integrations.litellm import PagefaultCallback


async def main() -> None:
    litellm.callbacks = [PagefaultCallback(memory=":memory:", window_tokens=8_000)]
    said = [{"role": "user", "content": "The spare key hangs behind the barrel."}]
    named = {"pagefault_session": "ana"}
    asked = {"model": "gpt-4o", "messages": said, "metadata": named, "mock_response": "Noted."}
    print((await litellm.acompletion(**asked)).choices[0].message.content)


asyncio.run(main())
