"""Any OpenAI-compatible endpoint as an engine."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Self

from pagefault.engine import chat_completions as wire
from pagefault.engine.endpoint import Broke, Endpoint, Post, Retries, Timeouts
from pagefault.model.clock import Clock
from pagefault.model.errors import BadInput, EngineUnreachable
from pagefault.model.request import Reply, Request
from pagefault.model.signatures import checked

PATH: Final = "/chat/completions"


class RemoteEngine:
    """Sends requests to `{base_url}/chat/completions`.

    `key_from` is the source of the key, for messages: "OPENAI_API_KEY", "the user's file".
    `options` are merged into every request (`temperature`, `max_tokens`, …); None removes a field.
    Plain http to another machine is refused unless `allow_http`, because the key would be readable
    on the way. A proxy of the environment (HTTPS_PROXY) is used for https only.

    An engine belongs to the event loop that first used it. Close it, or use it in `async with`.
    """

    @checked
    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        key_from: str = "OPENAI_API_KEY",
        stream: bool = True,
        system_role: wire.SystemRole = "system",
        options: Mapping[str, Any] | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        allow_http: bool = False,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Raises `BadInput` for an invalid URL, model or key."""
        if not model:
            raise BadInput("no model is named", hint="name it as its API does")
        self.model = model
        self._stream = stream
        self._system_role = system_role
        self._options = dict(options or {})
        self._endpoint = Endpoint(
            base_url,
            api_key,
            key_from=key_from,
            timeouts=timeouts,
            retries=retries,
            allow_http=allow_http,
            clock=clock,
            chance=chance,
            sleep=sleep,
        )

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    def __repr__(self) -> str:
        return f"RemoteEngine({self.base_url!r}, {self.model!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    @checked
    async def reply(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        """Text as it arrives, then the `Reply`. To leave the iteration early, use `aclosing`.

        Raises `EngineUnreachable`, `EngineRefused` or `EngineGarbled`; once text was yielded the
        request is not repeated.
        """
        endpoint, call = self._endpoint, self._call(request)
        total = endpoint.deadline()
        answer = await endpoint.ask(call, total)
        fold = wire.Fold(wire.call_ids(request))
        done = False
        try:
            async with aclosing(endpoint.documents(answer, call, total)) as documents:
                try:
                    async for document in documents:
                        if document is None:
                            done = True
                            break
                        problem = wire.problem_in(document)
                        if problem is not None:
                            raise endpoint.refused(problem.status or 200, problem, call)
                        text = fold.feed(document)
                        if text:
                            yield text
                except Broke:
                    if not fold.ended:  # else only the end marker is missing
                        raise
            if not (done or fold.ended):
                raise EngineUnreachable(
                    f"{endpoint.host} ended the answer before the model did",
                    hint="nothing of it was stored; send the message again",
                )
            yield fold.reply()
        finally:
            await answer.response.aclose()

    def _call(self, request: Request) -> Post:
        fields: dict[str, Any] = {
            "model": self.model,
            **wire.to_wire(request, system_role=self._system_role),
        }
        if self._stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        fields |= self._options
        fields = {name: value for name, value in fields.items() if value is not None}
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return Post(
            path=PATH,
            model=self.model,
            body=text.encode("utf-8", "replace"),
            too_long=f"lower `window` (it is {request.window_tokens}; this request is "
            f"{request.tokens} tokens by our count), or give the server a larger context",
        )
