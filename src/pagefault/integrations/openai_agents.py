"""A session for OpenAI's Agents SDK, and a filter that pages its requests.

    session = PagefaultSession("ana", window_tokens=60_000)
    await Runner.run(agent, "Hello", session=session, run_config=session.paging)

The SDK stores items, and passes all of them to each model call. The items are stored unchanged, one
artifact each, in a session `openai-agents:NAME`. Their texts are stored as pages in the session of
that name: those are searched, and quoted in a later call if the filter left them out.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from pagefault.integrations.entries import Entries
from pagefault.integrations.pager import Pager, Root, session_name
from pagefault.model.errors import BadInput, SessionNotFound, not_installed
from pagefault.proxy.history.history import Json
from pagefault.proxy.wires.responses import Responses

try:
    from agents import RunConfig
    from agents.run import CallModelData, ModelInputData
except ImportError as missing:
    raise not_installed("the session needs OpenAI's Agents SDK", "openai-agents") from missing

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

_ITEMS: Final = "openai-agents:"


class PagefaultSession:
    """A `Session` of the Agents SDK, kept in a memory under its own name.

    `paging` is a `RunConfig` with the filter; in your own, set `call_model_input_filter=
    session.filter`. `memory` is a root, as `pagefault.open` takes it, or an open memory;
    `window_tokens` limits each call, by default to the configured window. Secrets are redacted, as
    everywhere. A popped item is forgotten, and no longer quoted; `clear_session` forgets all.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self, session_id: str, *, memory: Root = None, window_tokens: int | None = None
    ) -> None:
        if not session_id:
            raise BadInput("a session id is required")
        self.session_id = session_id
        self._pager = Pager(Responses(), memory, window_tokens)
        self._lock = asyncio.Lock()
        self._kept: Entries | None = None

    @property
    def paging(self) -> RunConfig:
        return RunConfig(call_model_input_filter=self.filter)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """The input of a model call. The session's own items stay as they are."""
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
        """Close the memory, if it was opened here and has no other user."""
        self._pager.close()

    # --- on the memory's loop -----------------------------------------------------------------

    async def _all(self) -> list[Json]:
        async with self._lock:
            return await (await self._entries()).all()

    async def _add(self, items: list[Json]) -> None:
        async with self._lock:
            mode = await self._pager.mode_of(self.session_id)
            items = await (await self._entries()).add(items, mode)
            if problem := await self._pager.keep(self.session_id, {"input": items}):
                warnings.warn(f"items are not searched: {problem}", RuntimeWarning, stacklevel=2)

    async def _pop(self) -> Json | None:
        async with self._lock:
            popped: Json | None = await (await self._entries()).pop()
            return popped

    async def _clear(self) -> None:
        async with self._lock:
            await (await self._entries()).clear()
            memory = await self._pager.home.memory()
            with suppress(SessionNotFound):
                await memory.forget(session_name(memory, self.session_id))

    async def _entries(self) -> Entries:
        if self._kept is None:
            memory = await self._pager.home.memory()
            name = _ITEMS + session_name(memory, self.session_id)
            self._kept = Entries(self._pager.home, name)
        return self._kept


def _plain(item: Any) -> str:
    plain = item if isinstance(item, dict) else item.model_dump(exclude_none=True)
    return json.dumps(plain, ensure_ascii=False)
