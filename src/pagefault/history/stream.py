"""JSON and JSON lines from files of any size, one value at a time.

An untrusted file must not cost more than it is worth: no line or element longer than `VALUE_BYTES`
is held, none nested deeper than `DEPTH_MAX` is parsed, and a flaw in one does not lose the next.

The elements of a top-level array are separated by counting brackets outside strings, and parsed one
by one: memory holds one element, not the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from pagefault.history.values import Flaw

VALUE_BYTES: Final = 64 << 20
DEPTH_MAX: Final = 200
_CHUNK: Final = 1 << 20
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]', re.DOTALL)

TOO_LONG: Final = f"longer than {VALUE_BYTES >> 20} MiB"
TOO_DEEP: Final = "nested too deeply"


def lines(file: BinaryIO) -> Iterator[tuple[int, Any] | Flaw]:
    """Each line's number, from 1, and its value; blank lines are skipped."""
    number = 0
    while True:
        line = file.readline(VALUE_BYTES + 1)
        if not line:
            return
        number += 1
        if len(line) > VALUE_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK)
            yield Flaw(place=f"line {number}", why=TOO_LONG)
        elif line.strip():
            yield from _parsed(line, f"line {number}", number)


def elements(file: BinaryIO) -> Iterator[tuple[int, Any] | Flaw]:
    """Each object of a top-level array, with the line where it begins; for a file that is one
    object, or several in a row, those.
    """
    held = bytearray()  # from the first undecided byte, or the start of an element
    at = depth = 0
    begun = -1  # the start of the element in `held`
    line = 1
    in_array = too_deep = too_long = False
    while True:
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        held += chunk
        done = at
        for token in _TOKEN.finditer(held, at):
            sign = held[token.start()]
            if sign == 0x22 and len(token[0]) == 1:  # a string that continues in the next chunk
                break
            done = token.end()
            if sign == 0x22:
                continue
            if sign in b"[{":
                depth += 1
                if depth == 1 and sign == 0x5B:
                    in_array = True
                elif depth == 1 + in_array and sign == 0x7B:
                    begun = token.start()
                too_deep = too_deep or depth > DEPTH_MAX
                continue
            depth -= 1
            if begun >= 0 and depth == in_array:
                here = line + held.count(b"\n", 0, begun)
                place = f"line {here}"
                if too_long or too_deep:
                    yield Flaw(place=place, why=TOO_LONG if too_long else TOO_DEEP)
                else:
                    yield from _parsed(bytes(held[begun:done]), place, here)
                begun, too_deep, too_long = -1, False, False
            if depth <= 0 and in_array:
                return
        at = done
        keep = at if begun < 0 else begun
        if len(held) - keep > VALUE_BYTES:
            if begun < 0 or len(held) - at > VALUE_BYTES:
                yield Flaw(place=f"line {line}", why=f"a text in it is {TOO_LONG}: nothing after")
                return
            too_long, begun = True, at
            keep = at
        line += held.count(b"\n", 0, keep)
        del held[:keep]
        at -= keep
        begun = 0 if begun >= 0 else -1
    if depth > 0:
        where = "in the entry that begins here" if begun >= 0 else "before its last bracket"
        yield Flaw(place=f"line {line}", why=f"the file is cut off {where}: download it again")


def value_of(data: bytes) -> Any:
    """The value of a whole small file. `ValueError` if it is not JSON."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _parsed(data: bytes, place: str, number: int) -> Iterator[tuple[int, Any] | Flaw]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        yield Flaw(place=place, why="not UTF-8: what could not be read is marked \ufffd", kept=True)
    try:
        yield number, json.loads(text)
    except RecursionError:
        yield Flaw(place=place, why=TOO_DEEP)
    except ValueError as bad:
        why = "bytes of zero: a write that was cut off" if "\0" in text else f"not JSON ({bad})"
        yield Flaw(place=place, why=why)
