"""Hints for a provider's cache, on the requests of one session."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pagefault.engine.formats import Format
from pagefault.model.prices import PriceList
from pagefault.model.request import Request
from pagefault.pack.breakpoints import worth_marking
from pagefault.pack.count import TokenCounter
from pagefault.pack.prefix import Prefix

_BEFORE_MESSAGES: Final = 1  # blocks of a prefix: the tools come first


class Marker:
    """Remembers the end of the previous request, where a provider looks for its cache entry.

    `key` is the routing key for providers that take one: the same for all requests of the session.
    """

    def __init__(self, counter: TokenCounter, key: str) -> None:
        self._counter = counter
        self._key = key
        self._before: Prefix | None = None

    def marked(
        self, request: Request, format: Format | None, *, prices: PriceList, front_messages: int
    ) -> Request:
        """The request with the cache hints of this format (None: of the session's own engine).

        `front_messages` counts those that outlive this epoch's turns: the head, and the front.
        """
        is_openai = prices.name.startswith("openai") and format != "gemini"
        if is_openai or format == "openai-responses":
            request = replace(request, cache_key=self._key)
        if format == "anthropic" and not prices.takes_marks:
            # The model is unknown; a mark on a prefix too short for it costs nothing.
            prices = replace(prices, takes_marks=True, min_tokens=0, quantum=1)
        if not prices.takes_marks or not (is_openai or format == "anthropic"):
            return request
        prefix = Prefix.of(request.tools, request.messages, self._counter, after=self._before)
        previous = prefix.shared_blocks(self._before) if self._before is not None else 0
        self._before = prefix
        boundary = _BEFORE_MESSAGES + front_messages
        places = worth_marking(prices, prefix, boundary=boundary, previous=previous)
        messages = (place - 1 - _BEFORE_MESSAGES for place in places)
        return replace(request, breakpoints=tuple(place for place in messages if place >= 0))
