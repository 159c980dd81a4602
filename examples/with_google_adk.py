"""A memory service of Google's Agent Development Kit: `Runner(…, memory_service=service)`."""

import asyncio

from google.adk.sessions import Session
from google.genai.types import UserContent

from pagefault.integrations.google_adk import PagefaultMemoryService


async def main() -> None:
    service = PagefaultMemoryService(memory=":memory:")
    said = {"author": "user", "content": UserContent("The spare key hangs in the barn.")}
    session = Session(id="1", app_name="notes", user_id="ana", events=[said])
    await service.add_session_to_memory(session)
    print(await service.search_memory(app_name="notes", user_id="ana", query="spare key"))


asyncio.run(main())
