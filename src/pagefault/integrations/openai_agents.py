"""A session of OpenAI's Agents SDK, and the filter that pages what goes to the model.

    session = PagefaultSession("ana", window_tokens=60_000)
    await Runner.run(agent, "Hello", session=session, run_config=session.paging)

The SDK keeps items, and hands each model call all of them. The items are kept as they are, one
artifact each, in a session `openai-agents:NAME`. What they say is kept as pages in the session of
that name: those are searched, and quoted in a later call when the filter left them out.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from pagefault.integrations.pager import Pager, Root, session_name
from pagefault.model.errors import BadInput, CallerError, RecordGone, SessionNotFound
from pagefault.model.ids import NOTHING, PageId
from pagefault.proxy.history import Json
from pagefault.proxy.responses import Responses
from pagefault.service.memory import Memory
from pagefault.service.session import Session

try:
    from agents import RunConfig
    from agents.run import CallModelData, ModelInputData
except ImportError as missing:
    raise CallerError(
        "the session needs OpenAI's Agents SDK, which is not installed",
        hint="pip install 'pagefault[openai-agents]'",
    ) from missing

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

_ITEMS: Final = "openai-agents:"
_ALL: Final = 1 << 40


class PagefaultSession:
    """A `Session` of the Agents SDK, kept in a memory under its own name.

    `paging` is a `RunConfig` with the filter; for one of yours, `call_model_input_filter=
    session.filter`. `memory` is a root, as `pagefault.open` takes it, or a memory that somebody
    opened; `window_tokens` is how much one call may have, else what is configured. Secrets are
    taken out of what is kept, as everywhere. What is taken back is forgotten as an item, and quoted
    no more; `clear_session` forgets all of it.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self, session_id: str, *, memory: Root = None, window_tokens: int | None = None
    ) -> None:
        if not session_id:
            raise BadInput("a session has an id")
        self.session_id = session_id
        self._wire = Responses()
        self._pager = Pager(self._wire, memory, window_tokens)
        self._lock = asyncio.Lock()
        self._items: dict[PageId, Json] = {}  # by the artifacts that they are
        self._folded = NOTHING  # up to which record these are what the log says

    @property
    def paging(self) -> RunConfig:
        return RunConfig(call_model_input_filter=self.filter)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """What a model call is sent. The session's own items stay as they are."""
        given = data.model_data
        model = data.agent.model if isinstance(data.agent.model, str) else ""
        body = {"model": model, "instructions": given.instructions or "", "input": given.input}
        fitted = await self._pager.home.awaited(self._pager.fit(self.session_id, body))
        return ModelInputData(input=fitted.body["input"], instructions=given.instructions)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await self._pager.home.awaited(self._all())
        found = items if limit is None else items[-limit:] if limit > 0 else []
        return cast("list[TResponseInputItem]", found)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await self._pager.home.awaited(self._add([json.loads(_plain(one)) for one in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        return cast("TResponseInputItem | None", await self._pager.home.awaited(self._pop()))

    async def clear_session(self) -> None:
        await self._pager.home.awaited(self._clear())

    def close(self) -> None:
        """Close the memory, if it was opened here and nobody else uses it."""
        self._pager.close()

    # --- on the memory's loop -----------------------------------------------------------------

    async def _all(self) -> list[Json]:
        async with self._lock:
            await self._read()
            return list(self._items.values())

    async def _add(self, items: list[Json]) -> None:
        async with self._lock:
            kept = await self._read()
            memory = await self._pager.home.memory()
            if kept is None and items:
                kept = await memory.session(self._name(memory), mode="passive")
            for item in items:
                assert kept is not None
                data = memory.written(_plain(item)).encode()
                name = str(item.get("role") or item.get("type"))
                await kept.artifact(data, name=name, media_type="application/json")
            await self._read()
            conversation = await self._pager.conversation(self.session_id)
            problem = await conversation.keep(self._wire.read({"input": [*self._items.values()]}))
            if problem:
                warnings.warn(f"items are not searched: {problem}", RuntimeWarning, stacklevel=2)

    async def _pop(self) -> Json | None:
        async with self._lock:
            kept = await self._read()
            if kept is None or not self._items:
                return None
            page_id, item = list(self._items.items())[-1]
            memory = await self._pager.home.memory()
            await memory.forget(kept, page_id)
            await self._read()
            return item

    async def _clear(self) -> None:
        async with self._lock:
            memory = await self._pager.home.memory()
            said = session_name(memory, self.session_id)
            for name in (self._name(memory), said):
                with suppress(SessionNotFound):
                    await memory.forget(name)
            self._items, self._folded = {}, NOTHING

    def _name(self, memory: Memory) -> str:
        return _ITEMS + session_name(memory, self.session_id)

    async def _read(self) -> Session | None:
        """The items as the log has them now, and the session that holds them, if there is one."""
        memory = await self._pager.home.memory()
        try:
            kept = await memory.session(self._name(memory), create=False)
            await kept.owned.refresh()
            kept.owned.check_there()
        except SessionNotFound:
            self._items, self._folded = {}, NOTHING
            return None
        if kept.owned.folded != self._folded:
            found: dict[PageId, Json] = {}
            for row in await memory.pages(kept, limit=_ALL):
                item = self._items.get(row.page_id)
                with suppress(RecordGone):
                    found[row.page_id] = item or json.loads(await kept.artifact_bytes(row.page_id))
            self._items, self._folded = found, kept.owned.folded
        return kept


def _plain(item: Any) -> str:
    plain = item if isinstance(item, dict) else item.model_dump(exclude_none=True)
    return json.dumps(plain, ensure_ascii=False)
