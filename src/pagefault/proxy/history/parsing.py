"""An incremental JSON parser: values that an earlier body had are not parsed again.

A client sends its whole history with each request, so nearly all bytes of a body are in the one
before. The theory is short: the text of a string, an array or an object alone determines where it
ends. So if a body has, where a value is due, the bytes of a value that was parsed before, it has
that value there, whatever follows. Bytes are compared with `memcmp`; the rest is parsed by the
standard library's scanner.

So equal values of two bodies are one object, and results can be cached by the object (`known.py`).

Invariants:
 (1) What `parse` returns is what `json.loads` would, whatever was `before`.
 (2) Nobody changes a value that it returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Final

from pagefault.proxy.history.history import Json

RUNS_MAX: Final = 8  # of known values in one array; one that differs more often is just parsed

_space: Final = re.compile(rb"[ \t\n\r]*").match
_name: Final = re.compile(rb'"([^"\\\x00-\x1f\x80-\xff]*)"[ \t\n\r]*:[ \t\n\r]*').match
_scalar: Final = re.compile(rb"[-+.0-9a-zA-Z]{1,64}(?=[ \t\n\r,\]}])").match
_scan: Final = json.JSONDecoder().raw_decode
_OPENING: Final = b'{["'  # of values whose own text ends them
_CLOSING: Final = b'}]"'


class _Unusual(Exception):
    """The body is left to `json.loads`."""


@dataclass(frozen=True, slots=True)
class _Array:
    """An array in a body: where it is, its values, and where each ends, from its bracket on."""

    values: list[Any]
    ends: list[int]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A body, its value, and where its members are."""

    data: bytes
    document: Json
    members: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    arrays: Mapping[str, _Array] = field(default_factory=dict)


def parse(data: bytes, before: Parsed | None = None) -> Parsed:
    """Raises ValueError or RecursionError for anything but a JSON object."""
    try:
        return _Parser(data, before).parse()
    except (_Unusual, IndexError):
        document = json.loads(data)
        if not isinstance(document, dict):
            raise ValueError("no JSON object") from None
        return Parsed(data, document)


class _Parser:
    """One pass over a body."""

    def __init__(self, data: bytes, before: Parsed | None) -> None:
        self._data = data
        self._before = before or Parsed(b"", {})
        self._old = memoryview(self._before.data)
        self._text: str | None = None  # the body from the first value on that has to be parsed
        self._first = 0  # where that is
        self._upto = self._chars = 0  # a place behind it, and as many characters of the text
        self._is_ascii = False

    def parse(self) -> Parsed:
        data = self._data
        if data[:1] != b"{" or data[1:2] == b"\0":
            raise _Unusual
        document: Json = {}
        members: dict[str, tuple[int, int]] = {}
        arrays: dict[str, _Array] = {}
        at = self._next(1)
        while data[at] != 0x7D:  # }
            named = _name(data, at)
            if named is None:
                raise _Unusual
            name, begin = named[1].decode(), named.end()
            if data[begin] == 0x5B:  # [
                array = arrays[name] = self._array(begin, self._before.arrays.get(name))
                document[name], at = array.values, array.end
            else:
                document[name], at = self._member(name, begin)
            members[name] = begin, at
            at = self._behind_comma(at, 0x7D)
        if self._next(at + 1) != len(data):
            raise _Unusual
        return Parsed(data, document, members, arrays)

    def _member(self, name: str, at: int) -> tuple[Any, int]:
        begin, end = self._before.members.get(name, (0, 0))
        if self._data[at] in _OPENING and self._stands(begin, end, at):
            return self._before.document[name], at + end - begin
        return self._value(at)

    def _array(self, begin: int, old: _Array | None) -> _Array:
        values: list[Any] = []
        ends: list[int] = []
        runs = 0
        at = self._next(begin + 1)
        while self._data[at] != 0x5D:  # ]
            first, known = len(values), 0
            if old is not None and runs < RUNS_MAX:
                known = self._run(old, first, at)
            if old is not None and known:
                runs += 1
                moved = at - begin - self._begin(old, first)
                values += old.values[first : first + known]
                ends += [end + moved for end in old.ends[first : first + known]]
                at = begin + ends[-1]
            else:
                value, at = self._value(at)
                values.append(value)
                ends.append(at - begin)
            at = self._behind_comma(at, 0x5D)
        if old is not None and len(values) == len(old.values) and all(map(is_, values, old.values)):
            values = old.values
        return _Array(values, ends, begin, at + 1)

    def _run(self, old: _Array, first: int, at: int) -> int:
        """How many values of an old array, from its `first` on, are here with everything between
        them. The last of them ends by itself.
        """
        low, high = first, len(old.values)
        if low >= high:
            return 0
        start = old.begin + self._begin(old, first)
        while low < high:  # the old ones up to `low` are here
            middle = (low + high + 1) // 2 if low > first else first + 1
            if self._stands(start, old.begin + old.ends[middle - 1], at):
                low = middle
            else:
                high = middle - 1
        while low > first and self._before.data[old.begin + old.ends[low - 1] - 1] not in _CLOSING:
            low -= 1
        return low - first

    def _begin(self, old: _Array, number: int) -> int:
        """Where a value of an array begins, counted from its bracket."""
        at = old.begin + (old.ends[number - 1] if number else 1)
        while self._before.data[at] in b", \t\n\r":
            at += 1
        return at - old.begin

    def _stands(self, begin: int, end: int, at: int) -> bool:
        """Whether the old bytes from `begin` to `end` are here."""
        return end > begin and self._data.startswith(self._old[begin:end], at)

    def _value(self, at: int) -> tuple[Any, int]:
        """Parse the value that begins here."""
        scalar = _scalar(self._data, at)
        if scalar is not None:
            return json.loads(scalar[0]), scalar.end()
        if self._text is None:
            self._text = self._data[at:].decode("utf-8", "surrogatepass")
            self._first, self._is_ascii = at, self._text.isascii()
            self._upto = at
        if self._is_ascii:
            value, end = _scan(self._text, at - self._first)
            return value, self._first + end
        self._chars += len(self._data[self._upto : at].decode("utf-8", "surrogatepass"))
        value, end = _scan(self._text, self._chars)
        self._upto = at + len(self._text[self._chars : end].encode("utf-8", "surrogatepass"))
        self._chars = end
        return value, self._upto

    def _behind_comma(self, at: int, closing: int) -> int:
        """Where the next value begins, or the closing bracket if there is none."""
        at = self._next(at)
        if self._data[at] == closing:
            return at
        if self._data[at] != 0x2C:  # ,
            raise _Unusual
        at = self._next(at + 1)
        if self._data[at] == closing:
            raise _Unusual
        return at

    def _next(self, at: int) -> int:
        """The next position that is not space."""
        if self._data[at : at + 1] > b" ":
            return at
        found = _space(self._data, at)
        assert found is not None
        return found.end()
