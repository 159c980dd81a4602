"""A callback for LiteLLM: requests to any provider fit a window, and are kept.

    litellm.callbacks = [PagefaultCallback(window_tokens=60_000)]
    await litellm.acompletion(model=…, messages=…, metadata={"pagefault_session": "ana"})

It works in LiteLLM's gateway, too. LiteLLM calls callbacks only before `acompletion`: requests of
`completion` go on unchanged.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from pagefault.integrations.pager import Fitted, Pager, Root
from pagefault.model.errors import CallerError
from pagefault.proxy.wires.chat import Chat

try:
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as missing:
    raise CallerError(
        "the callback needs LiteLLM, which is not installed", hint="pip install litellm"
    ) from missing

_ASKED_MAX: Final = 1_000  # awaited answers; some never come
_CHATS: Final = ("acompletion", "completion")


class PagefaultCallback(CustomLogger):
    """Keeps the conversation that a request names, as `metadata.pagefault_session` or LiteLLM's own
    session id, and pages it; a request without a name is passed on unchanged.

    `memory` is a root, as `pagefault.open` takes it, or an open memory; `window_tokens` limits each
    request, by default to the configured window.
    """

    def __init__(self, *, memory: Root = None, window_tokens: int | None = None) -> None:
        super().__init__()
        self._pager = Pager(Chat(), memory, window_tokens)
        self._asked: OrderedDict[str, Fitted] = OrderedDict()

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        session = _session(kwargs)
        if not session or getattr(call_type, "value", "") not in _CHATS:
            return None
        body = {name: kwargs.get(name) or [] for name in ("messages", "tools")}
        body["model"] = str(kwargs.get("model", ""))
        fitted = await self._pager.home.awaited(self._pager.fit(session, body))
        self._asked[str(kwargs.get("litellm_call_id"))] = fitted
        while len(self._asked) > _ASKED_MAX:
            self._asked.popitem(last=False)
        return {**kwargs, "messages": fitted.body["messages"]}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        if hasattr(response, "choices"):  # a stream is reported when it has ended
            await self._learn(request_data, response)
        return None

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        await self._learn(kwargs, response_obj)

    async def _learn(self, asked: dict[str, Any], response: Any) -> None:
        fitted = self._asked.pop(str(asked.get("litellm_call_id")), None)
        if fitted is not None:
            answer = response.model_dump(exclude_none=True)
            await self._pager.home.awaited(self._pager.learn(fitted, answer))

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        self._pager.close()


def _session(kwargs: dict[str, Any]) -> str:
    for metadata in (kwargs.get("metadata"), kwargs.get("litellm_metadata")):
        if isinstance(metadata, dict) and (named := metadata.get("pagefault_session")):
            return str(named)
    return str(kwargs.get("litellm_session_id") or "")
