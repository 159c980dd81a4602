"""What was computed from a client's JSON, cached by the value it was computed from.

A value that is sent again is the same object as before (`parsing.py`), and so is what is forwarded
of it. Nobody changes such a value, so a result holds as long as the value is that object.

Invariant: a value is held as long as its results, so that no other object takes its identity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pagefault.proxy.history.history import (
    CACHE_MARKS,
    Json,
    canonical,
    digest,
    in_common,
    unmarked,
)

_UNKNOWN: Final = object()


class Fact:
    """The cached results of one value. Computing one again raises the same error."""

    __slots__ = ("_bare", "_key", "_written", "tokens", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.tokens = -1  # -1 until they are counted
        self._bare: Any = _UNKNOWN
        self._key = ""
        self._written: bytes | None = None

    @property
    def bare(self) -> Any:
        """The value without cache markers, or the value itself."""
        if self._bare is _UNKNOWN:
            self._bare = unmarked(self.value)
        return self._bare

    @property
    def is_marked(self) -> bool:
        return self.bare is not self.value

    @property
    def key(self) -> str:
        """A digest of everything in it."""
        if not self._key:
            self._key = digest(canonical(self.value))
        return self._key

    @property
    def written(self) -> bytes:
        """The value as `wire.dumped` writes it."""
        if self._written is None:
            self._written = _written(self.value)
        return self._written


class KnownValues:
    """The results of one conversation that this request or the one before asked for."""

    def __init__(self) -> None:
        self._now: dict[int, Fact] = {}
        self._before: dict[int, Fact] = {}
        self._marked: dict[str, tuple[Sequence[Any], list[int]]] = {}  # lists, by name
        self._marked_before: dict[str, tuple[Sequence[Any], list[int]]] = {}

    def turn(self) -> None:
        """Begin a request: drop what neither of the last two asked for."""
        self._before, self._now = self._now, {}
        self._marked_before, self._marked = self._marked, {}

    def of(self, value: Any) -> Fact:
        fact = self._now.get(id(value))
        if fact is None:
            fact = self._before.get(id(value)) or Fact(value)
            self._now[id(value)] = fact
        return fact

    def bare(self, value: Any) -> Any:
        return self.of(value).bare

    def marked_in(self, name: str, values: Sequence[Any]) -> list[int]:
        """The indexes of the values in a list that carry cache marks. `name` identifies the list:
        values with which it began before are not looked at again.
        """
        before, marked = self._marked.get(name) or self._marked_before.get(name, ((), []))
        same = in_common(before, values)
        more = (n for n in range(same, len(values)) if self.of(values[n]).is_marked)
        found = [*(n for n in marked if n < same), *more]
        self._marked[name] = values, found
        return found

    def is_marked(self, body: Json) -> bool:
        """Whether a request has a cache mark anywhere."""
        return not CACHE_MARKS.isdisjoint(body) or any(
            self.marked_in(name, value) if isinstance(value, list) else self.of(value).is_marked
            for name, value in body.items()
            if isinstance(value, dict | list)
        )

    def written(self, body: Json) -> bytes:
        """The body as `wire.dumped` writes it; messages written before are not written again.

        Raises ValueError for numbers that JSON does not have.
        """
        return b"{%s}" % b",".join(
            b"%s:%s" % (_written(name), b"".join(self._members(value)))
            for name, value in body.items()
        )

    def _members(self, value: Any) -> Iterator[bytes]:
        if not isinstance(value, list):
            yield self.of(value).written
            return
        yield b"["
        yield b",".join([self.of(one).written for one in value])
        yield b"]"


def _written(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")
