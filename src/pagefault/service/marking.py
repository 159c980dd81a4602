"""Cache marks for the requests of one session, as they go out in a provider's format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pagefault.engine.formats import Format, to_wire
from pagefault.model.prices import PriceList
from pagefault.model.request import Request
from pagefault.pack.breakpoints import worth_marking
from pagefault.pack.count import TokenCounter
from pagefault.pack.prefix import Prefix

_BEFORE_MESSAGES: Final = 1  # blocks of a prefix: the tools are the first


class Marker:
    """Remembers the request before, whose end is where a provider's entry is found again.

    `key` is the routing key of providers that take one: the same for all requests of the session.
    """

    def __init__(self, counter: TokenCounter, key: str) -> None:
        self._counter = counter
        self._key = key
        self._before: Prefix | None = None

    def to_wire(
        self, request: Request, format: Format, *, prices: PriceList, front_messages: int
    ) -> dict[str, Any]:
        """The body of a call, marked. `front_messages` are those that outlive this epoch's turns:
        the head, and what the epoch put in front.
        """
        prefix = Prefix.of(request.tools, request.messages, self._counter, after=self._before)
        previous = prefix.shared_blocks(self._before) if self._before is not None else 0
        self._before = prefix
        if format == "anthropic" and not prices.takes_marks:
            # Of which model nobody knows; a mark on a prefix too short for it costs nothing.
            prices = replace(prices, takes_marks=True, min_tokens=0, quantum=1)
        is_openai = prices.name.startswith("openai")
        places: tuple[int, ...] = ()
        if prices.takes_marks and (format == "anthropic" or is_openai):
            boundary = _BEFORE_MESSAGES + front_messages
            places = worth_marking(prices, prefix, boundary=boundary, previous=previous)
        return to_wire(
            request,
            format,
            breakpoints=[place - 1 - _BEFORE_MESSAGES for place in places],
            cache_key=self._key if is_openai or format == "openai-responses" else "",
        )
