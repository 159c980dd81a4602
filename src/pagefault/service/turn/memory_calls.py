"""Serves the tools of core and archival memory in a proxied conversation.

The record of each call refers to pages by id, so that the model's result is rendered again from
them, without what was forgotten since. Notes of other sessions have no id here: a search finds only
this conversation's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from pagefault.guard.neutralise import neutralise
from pagefault.model.events import Hit, MemoryCalled
from pagefault.model.ids import PageId
from pagefault.model.page import Page
from pagefault.model.request import ToolCall, ToolSpec
from pagefault.model.times import iso_utc
from pagefault.pack.envelope import dump, refusal
from pagefault.pack.tools import ARCHIVAL_SEARCH, CONVERSATION_SEARCH, MEMORY_TOOLS
from pagefault.service.turn.functions import TIMEOUT_S, Toolbox, host_function
from pagefault.service.turn.host_tools import MemoryAnswer
from pagefault.service.turn.memory_tools import tools_of

if TYPE_CHECKING:
    from pagefault.service.session import Session

TEXT_CHARS: Final = 1_000  # of a text that is shown
_SEARCHES: Final = (ARCHIVAL_SEARCH, CONVERSATION_SEARCH)


def memory_specs() -> tuple[ToolSpec, ...]:
    """The five tools as a request offers them, sorted by name."""
    functions = tools_of(cast("Session", None))
    return tuple(sorted((host_function(one).spec for one in functions), key=lambda one: one.name))


class MemoryCalls:
    """The five tools over one session."""

    def __init__(self, session: Session) -> None:
        self._session_id = session.session_id
        self._toolbox = Toolbox(tools_of(session))

    def serves(self, name: str) -> bool:
        return name in MEMORY_TOOLS

    async def serve(self, call: ToolCall, kept: ToolCall) -> MemoryCalled:
        """The result of a call, to be recorded as `kept`."""
        answer, failed = await self._toolbox.run(call, TIMEOUT_S)
        told = MemoryCalled(
            call_id=kept.call_id, name=kept.name, arguments=kept.arguments, status="refused"
        )
        if failed or not isinstance(answer, MemoryAnswer):
            return replace(told, why=str(answer))
        if call.name in _SEARCHES:
            return replace(told, status="ok", hits=tuple(self._hits(answer)))
        made = [answer.get("id", ""), *answer.get("archived", ())]
        ids = tuple(PageId(one) for one in dict.fromkeys(made) if one)
        return replace(told, status=str(answer["status"]), why=answer.get("why", ""), made=ids)

    def _hits(self, answer: MemoryAnswer) -> list[Hit]:
        return [
            Hit(page_id=PageId(one["id"]), relevance=one["relevance"])
            for one in answer["results"]
            if one["session"] == self._session_id
        ]


def memory_result(body: MemoryCalled, found: Sequence[tuple[Hit, Page]]) -> str:
    """The result that the model reads: `found` are the pages of its hits that still exist."""
    if body.status == "refused":
        return refusal("refused", body.why, faults_left=0)
    if body.name in _SEARCHES:
        return dump({"results": [_told(hit, page) for hit, page in found]})
    told = {"status": body.status, "ids": list(body.made)}
    return dump(told | ({"why": neutralise(body.why)} if body.why else {}))


def _told(hit: Hit, page: Page) -> dict[str, object]:
    text = page.text if len(page.text) <= TEXT_CHARS else page.text[: TEXT_CHARS - 1] + "…"
    return {
        "id": page.page_id,
        "role": page.row.role,
        "text": neutralise(text),
        "origin": neutralise(page.row.origin),
        "created_at": iso_utc(page.row.at_ms),
        "relevance": hit.relevance,
    }
