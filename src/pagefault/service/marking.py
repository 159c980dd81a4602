"""Cache marks for the requests of one session, as they go out in a provider's format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pagefault.engine.formats import Format, to_wire
from pagefault.model.prices import PriceList
from pagefault.model.request import Request
from pagefault.pack.breakpoints import cache_hints
from pagefault.pack.count import TokenCounter
from pagefault.pack.prefix import Prefix

_MARKS: Final = 4  # that Anthropic takes, whatever the price list knows
_BEFORE_MESSAGES: Final = 1  # blocks of a prefix: the tools are the first


class Marker:
    """Remembers the request before, whose end is where a provider's entry is found again."""

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
        if format == "anthropic" and not prices.breakpoints:
            # Of which model nobody knows; a mark on a prefix too short for it costs nothing.
            prices = replace(prices, breakpoints=_MARKS, min_tokens=0, quantum=1)
        hints = cache_hints(
            prices,
            prefix,
            boundary=_BEFORE_MESSAGES + front_messages,
            previous=previous,
            key=self._key,
        )
        places = [mark - 1 - _BEFORE_MESSAGES for mark in hints.marks]
        is_openai = format == "openai-responses" or prices.name.startswith("openai")
        return to_wire(
            request,
            format,
            breakpoints=[place for place in places if place >= 0],
            cache_key=hints.key if is_openai else "",
        )
