"""The last requests that were read, so that the next one of the same client is read incrementally.

The request that a body is compared with only decides how much work is saved: the result depends on
the body's own bytes alone (`parsing.py`). Even so, nobody's body is compared with anybody else's.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from pagefault.proxy.history.history import History
from pagefault.proxy.history.parsing import Parsed

CLIENTS_MAX: Final = 48
LANES_MAX: Final = 4  # of one client, which may have side conversations
BYTES_MAX: Final = 10_000_000
"""Of all their bodies: about 32 of 300 kB. What was read of one takes two and a half times as much
again, so that these take 35 MB of the 400 that a proxy may have.
"""


@dataclass(frozen=True, slots=True)
class ReadBody:
    """A body, and its history as read for this client program."""

    parsed: Parsed
    history: History
    program: str


class Readings:
    """The newest of each client, in bounds."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._of: OrderedDict[tuple[str, ...], list[ReadBody]] = OrderedDict()  # newest first

    def find(self, whose: tuple[str, ...], data: bytes) -> ReadBody | None:
        """The one that shares at least its first half with a body, if any."""
        for one in self._of.get(whose, ()):
            if data.startswith(memoryview(one.parsed.data)[: len(one.parsed.data) // 2]):
                return one
        return None

    def keep(self, whose: tuple[str, ...], new: ReadBody, old: ReadBody | None) -> None:
        """Keep this one in place of the one that it continues."""
        lanes = self._of.pop(whose, [])
        left = [one for one in lanes if one is not old][: LANES_MAX - 1]
        self._of[whose] = [new, *left]
        self._bytes += _bytes(self._of[whose]) - _bytes(lanes)
        while self._bytes > self._bytes_max or len(self._of) > CLIENTS_MAX:
            _, gone = self._of.popitem(last=False)
            self._bytes -= _bytes(gone)


def _bytes(readings: list[ReadBody]) -> int:
    return sum(len(one.parsed.data) for one in readings)
