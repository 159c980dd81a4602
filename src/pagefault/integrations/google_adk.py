"""Google's Agent Development Kit: a memory service, and a plugin that pages requests.

Runner(agent=…, memory_service=PagefaultMemoryService(), plugins=[PagefaultPlugin()], …)
"""

from __future__ import annotations

import json
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Final

from pagefault.integrations.documents import OF_ITSELF, Documents
from pagefault.integrations.pager import Fitted, Originals, Pager, Root, session_name
from pagefault.model.errors import CallerError, not_installed
from pagefault.model.kinds import Role
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.gemini import Gemini

try:
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as missing:
    raise not_installed("this needs Google's Agent Development Kit", "google-adk") from missing

_SESSIONS: Final = "google-adk"  # the session that lists the others
_FOUND_MAX: Final = 10
_ASKED_MAX: Final = 1_000  # awaited answers; some never come


class PagefaultPlugin(BasePlugin):
    """Keeps each session of a runner in a memory, and pages the requests to its models. The
    session's events stay as they are. `memory` is a root, as `pagefault.open` takes it, or an open
    memory; `window_tokens` limits each request, by default to the configured window.
    """

    def __init__(self, *, memory: Root = None, window_tokens: int | None = None) -> None:
        super().__init__(name="pagefault")
        self._pager = Pager(Gemini(), memory, window_tokens)
        self._originals = Originals(_with_content, content="parts")
        self._asked: OrderedDict[str, Fitted] = OrderedDict()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        config = llm_request.config
        contents = [
            self._originals.told(one, plain := _plain(one), json.dumps(plain))
            for one in llm_request.contents
        ]
        body: Json = {"model": llm_request.model or "", "contents": contents}
        if config is not None and isinstance(config.system_instruction, str):
            body["systemInstruction"] = {"parts": [{"text": config.system_instruction}]}
        told = _name(callback_context.session)
        fitted = await self._pager.home.awaited(self._pager.fit(told, body))
        if fitted.passed is not None:
            llm_request.contents = [
                self._originals.of(one) or types.Content.model_validate(one)
                for one in fitted.body["contents"]
            ]
        self._asked[_asking(callback_context)] = fitted
        while len(self._asked) > _ASKED_MAX:
            self._asked.popitem(last=False)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        if llm_response.partial or llm_response.content is None:
            return
        fitted = self._asked.pop(_asking(callback_context), None)
        if fitted is not None:
            said = {"content": _plain(llm_response.content), "finishReason": "STOP"}
            usage = llm_response.usage_metadata
            answer: Json = {"candidates": [said]}
            if usage is not None:
                answer["usageMetadata"] = _plain(usage)
            await self._pager.home.awaited(self._pager.learn(fitted, answer))

    async def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        await self._pager.home.left()


class PagefaultMemoryService(BaseMemoryService):
    """Messages of sessions, found by words in later sessions of the same app and user.

    A session may be added again: only its new events are stored. `memory` is a root, as
    `pagefault.open` takes it, or an open memory.
    """

    def __init__(self, *, memory: Root = None) -> None:
        self._pager = Pager(Gemini(), memory, 0)
        self._home = self._pager.home
        self._sessions = Documents(self._home, _SESSIONS, "local_file")

    async def add_session_to_memory(self, session: Any) -> None:
        contents = [_plain(event.content) for event in session.events if event.content is not None]
        if contents:
            await self._home.awaited(self._add(session, contents))

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        memories = await self._home.awaited(self._search([app_name, user_id], query))
        return SearchMemoryResponse(memories=memories)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget the search result with that id; without one, everything stored for the user."""
        await self._home.awaited(self._delete([app_name, user_id], memory_id))

    async def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        await self._home.left()

    # --- on the memory's loop -----------------------------------------------------------------

    async def _add(self, session: Any, contents: list[Json]) -> None:
        name = session_name(await self._home.memory(), _name(session))
        await self._sessions.put(json.dumps([session.app_name, session.user_id, session.id]), name)
        if problem := await self._pager.keep(_name(session), {"contents": contents}):
            raise CallerError(f"a session is not kept: {problem}")

    async def _search(self, whose: list[str], query: str) -> list[MemoryEntry]:
        memory = await self._home.memory()
        found: list[tuple[float, MemoryEntry]] = []
        for name in await self._names(whose):
            session = await memory.session(name, create=False)
            for hit in (await session.recall(query, limit=_FOUND_MAX)).hits:
                if hit.why not in OF_ITSELF:
                    continue
                text = (await memory.read(hit.page)).text
                said = datetime.fromtimestamp(hit.page.said_ms / 1_000, UTC).isoformat()
                role = "user" if hit.page.role is Role.USER else "model"
                entry = MemoryEntry(
                    content=types.Content(role=role, parts=[types.Part(text=text)]),
                    id=f"{name} {hit.page.page_id}",
                    author=str(hit.page.origin),
                    timestamp=said,
                )
                found.append((hit.relevance, entry))
        found.sort(key=lambda one: -one[0])
        return [entry for _, entry in found[:_FOUND_MAX]]

    async def _delete(self, whose: list[str], memory_id: str | None) -> None:
        memory, names = await self._home.memory(), await self._names(whose)
        name, _, page_id = (memory_id or "").rpartition(" ")
        for one in names if memory_id is None else [name] if name in names else []:
            await memory.forget(one, page_id)
        if memory_id is None:
            for key in list(await self._sessions.all()):
                if json.loads(key)[:2] == whose:
                    await self._sessions.delete(key)

    async def _names(self, whose: list[str]) -> list[str]:
        kept = await self._sessions.all()
        return [one.text for key, one in kept.items() if json.loads(key)[:2] == whose]


def _name(session: Any) -> str:
    return f"{session.app_name}: {session.user_id} {session.id}"


def _asking(context: Any) -> str:
    return f"{context.invocation_id} {context.agent_name}"


def _plain(value: Any) -> Json:
    plain: Json = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain


def _with_content(content: Any, parts: Any, plain: Json) -> Any:
    return types.Content.model_validate({"role": plain.get("role"), "parts": parts})
