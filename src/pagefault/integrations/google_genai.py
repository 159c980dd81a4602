"""Clients of google-genai: a copy of one that sends by HTTP clients of ours.

The SDK has no `copy`, and its constructor completes what it is given from the environment, so a
client built from the settings of another may be another. So the object that sends is copied with
its settings and credentials, and the client is made anew around it. That takes attributes that are
not public; where one of them is missing, or something else sends (aiohttp, a client of the older
`httpx`, certificates of Google's own sessions), nothing is copied.
"""

from __future__ import annotations

import copy
from typing import Any, Final, NamedTuple

import httpx2

from pagefault.integrations.exchange import PagedAsyncClient, PagedClient, Wrapped

_OF_CLIENT: Final = ("_get_api_client", "_debug_config")
_OF_SENDER: Final = ("_httpx_client", "_async_httpx_client", "_http_options", "_aiohttp_sessions")


class Parts(NamedTuple):
    """What sends a client's requests: its own object for that, and two HTTP clients."""

    sends: Any
    blocking: httpx2.Client
    awaiting: httpx2.AsyncClient


def parts_of(client: Any) -> Parts | None:
    """What sends a client's requests; None if this module cannot copy the client."""
    sends = vars(client).get("_api_client")
    if not all(hasattr(client, name) for name in _OF_CLIENT):
        return None
    if not all(hasattr(sends, name) for name in _OF_SENDER):
        return None
    options = sends._http_options
    if getattr(options, "aiohttp_client", None) or getattr(sends, "_use_google_auth_sync", bool)():
        return None
    blocking = _sender(httpx2.Client, sends._httpx_client, options.client_args)
    awaiting = _sender(httpx2.AsyncClient, sends._async_httpx_client, options.async_client_args)
    if blocking is None or awaiting is None or isinstance(awaiting, PagedAsyncClient):
        return None
    return Parts(sends, blocking, awaiting)


def rebuilt(client: Any, parts: Parts, wrapped: Wrapped) -> Any:
    """A paged copy of the client, of a subclass of its class. The copy shares the client's
    connections and holds on to it, because they would be closed when it is collected.
    """
    from google.genai import Client

    http = PagedClient(parts.blocking, wrapped)
    http_too = PagedAsyncClient(parts.awaiting, wrapped)
    ours = copy.copy(parts.sends)
    ours.pagefault_of = client
    ours._httpx_client, ours._async_httpx_client, ours._aiohttp_sessions = http, http_too, {}
    given = {"httpx_client": http, "httpx_async_client": http_too}
    ours._http_options = ours._http_options.model_copy(update=given)  # it closes no client given

    class Paged(type(client)):  # type: ignore[misc]
        """Closes nothing when it is collected: closing waits for the memory, and the collector may
        run in any thread.
        """

        def _get_api_client(self, **_: Any) -> Any:
            return ours

        def close(self) -> None:
            http.close()

        def __del__(self) -> None:
            pass

    same: Any = object.__new__(Paged)
    vars(same).update(vars(client))  # what a subclass of the user's has
    Client.__init__(same, debug_config=client._debug_config)
    same.aio.aclose = http_too.aclose
    return same


def _sender(kind: type[Any], given: Any, args: Any) -> Any:
    """The client that sends: the given one if it is of `httpx2`, or one with the same settings in
    place of the SDK's own of `httpx` (its default before version 3). None for any other.
    """
    if isinstance(given, kind):
        return given
    is_sdks = type(given).__module__ == "google.genai._api_client"
    if not is_sdks or any(map(_is_of_httpx, (args or {}).values())):
        return None
    return kind(**{"follow_redirects": True, "timeout": None, **(args or {})})


def _is_of_httpx(value: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == "httpx" for cls in type(value).__mro__)
