"""`pagefault.wrap`: SDK clients with memory and paging."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pagefault import sync
from pagefault.integrations.home import HOMES
from pagefault.model.errors import BadInput
from pagefault.model.signatures import ANY_VALUE, checked
from pagefault.proxy.http.principal import checked_user
from pagefault.service.arguments import a_window
from pagefault.service.memory import Memory

C = TypeVar("C")

_CLIENTS: Final = {("openai", "OpenAI"), ("anthropic", "Anthropic"), ("httpx2", "Client")}
_ASYNC_CLIENTS: Final = {
    ("openai", "AsyncOpenAI"),
    ("anthropic", "AsyncAnthropic"),
    ("httpx2", "AsyncClient"),
}


@checked
def wrap(
    client: Annotated[C, ANY_VALUE],
    *,
    session: str | Callable[[], str] = "",
    memory: str | Path | Memory | sync.Memory | None = None,
    window_tokens: int | None = None,
    user: str = "program",
) -> C:
    """A copy of a client of `openai`, `anthropic` or `google-genai` that keeps its conversations in
    a memory and makes them fit a window: each method works as before, and requests are paged on
    their way.

        client = pagefault.wrap(OpenAI(), session="ana")

    Or a client of `httpx2`, for an SDK that takes one. With a `genai.Client`, its `aio` is wrapped,
    too; closing either closes the memory.

    `session` is the conversation's name, or a function called for it before each request; a
    request's own header `x-pagefault-session` has precedence. Without a name, a request continues
    the conversation that it repeats word for word. `memory` is a root, as `pagefault.open` takes
    it, which the first request opens and the client's `close` closes; or a memory that you opened
    and will close: `pagefault.sync`'s, or for an asynchronous client one of its own loop.
    `window_tokens` limits each request, by default to the configured window; 0 only keeps. `user`
    owns the conversations.

    The given client works as before; both share one connection pool, which closing either closes.
    Raises `BadInput`.
    """
    is_async = _is_async(client)
    if window_tokens:
        window_tokens = a_window(window_tokens)
    if isinstance(memory, Memory) and not is_async:
        raise BadInput(
            "this client is blocking, and the memory belongs to an event loop",
            hint="pass a path, or a memory from pagefault.sync; or wrap an asynchronous client",
        )
    checked_user(user)
    try:
        import httpx2
    except ImportError:
        raise _not_by_httpx2() from None
    from pagefault.integrations.exchange import PagedAsyncClient, PagedClient, Wrapped

    http: Any = _http_of(client)
    if isinstance(http, PagedClient | PagedAsyncClient):
        raise BadInput(
            "this client is already wrapped", hint="a session may be a function, or a header"
        )
    parts = None
    if _is_genai(client):
        from pagefault.integrations.google_genai import parts_of, rebuilt

        parts = parts_of(client)
        if parts is None:
            raise _not_known(client)
    elif not isinstance(http, httpx2.AsyncClient if is_async else httpx2.Client):
        raise _not_by_httpx2()
    wrapped = Wrapped(HOMES.take(memory), session, window_tokens, user)
    paged: Any = PagedAsyncClient if is_async else PagedClient
    if http is client:
        beside: C = paged(http, wrapped)
        return beside
    same: C
    try:
        if parts is not None:
            same = rebuilt(client, parts, wrapped)
        else:
            same = client.copy(http_client=paged(http, wrapped))  # type: ignore[attr-defined]
    except BaseException:
        HOMES.leave(wrapped.home)
        raise
    return same


@checked
def behind(client: Annotated[object, ANY_VALUE]) -> sync.Memory:
    """The memory behind a wrapped client, to search, inspect or forget: it is open as long as the
    client is. `BadInput` for a client that is not wrapped, or has a memory of its own event loop.
    """
    from pagefault.integrations.exchange import PagedAsyncClient, PagedClient

    http = _http_of(client)
    if not isinstance(http, PagedClient | PagedAsyncClient):
        raise BadInput("this client is not wrapped", hint="wrap it with pagefault.wrap(client)")
    home = http.wrapped.home
    if home.has_async_memory:
        raise BadInput("the memory of this client is the one that it was given")
    return sync.Memory(home.waited(home.memory()))


def _http_of(client: object) -> object:
    """The HTTP client inside: itself, or an SDK's."""
    if any(cls.__module__.partition(".")[0] == "httpx2" for cls in type(client).__mro__):
        return client
    if _is_genai(client):
        return getattr(vars(client).get("_api_client"), "_httpx_client", None)
    return vars(client).get("_client")


def _not_by_httpx2() -> BadInput:
    return BadInput(
        "this client does not use httpx2, and only those can be wrapped",
        hint="pip install 'openai>=3' or 'anthropic>=1', and give it no client of httpx; "
        "`pagefault serve` stands before any other",
    )


def _is_async(client: object) -> bool:
    kinds = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(client).__mro__}
    if kinds & _ASYNC_CLIENTS:
        return True
    if kinds & _CLIENTS or _is_genai(client):
        return False
    raise _not_known(client)


def _is_genai(client: object) -> bool:
    kinds = {(cls.__module__, cls.__name__) for cls in type(client).__mro__}
    return ("google.genai.client", "Client") in kinds


def _not_known(client: object) -> BadInput:
    kind = f"{type(client).__module__}.{type(client).__name__}"
    if _is_genai(client):
        take = "{'httpx_client': pagefault.wrap(httpx2.Client())}"
        return BadInput(
            "this genai.Client does not send with httpx2, or is of an unknown version",
            hint=f"it takes a wrapped client: genai.Client(http_options={take})",
        )
    hint = "`pagefault serve` stands before any other client"
    if kind == "google.genai.client.AsyncClient":
        hint = "wrap the whole client: pagefault.wrap(genai.Client()).aio"
    return BadInput(
        "only clients of OpenAI, AsyncOpenAI, Anthropic, AsyncAnthropic, google-genai and httpx2 "
        f"can be wrapped, not {kind}",
        hint=hint,
    )
