"""A JSON value without the texts that are stored elsewhere: its JSON with holes, and the holes.

Most of a client's message is text that pages hold, so its JSON is stored without it. A page has the
text of a message except what clients rewrite in it, and the arguments of a call as canonical JSON,
cut if they are long. So a string is matched in runs: a run that a page holds becomes a hole, and
the text between runs stays. Opaque data that no page holds (an image, encrypted reasoning) becomes
a blob.

`cut` is correct by construction: its result was filled again, and compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pagefault.model.events import Hole

RUN_CHARS_MIN: Final = 24
"""A hole takes about as many bytes: a shorter text is not worth one."""

OPAQUE_CHARS_MIN: Final = 4_096
"""Of a string without a space that becomes a blob: a disk block, which a file takes anyway."""

TEXT_CHARS_MAX: Final = 65_536
"""A longer run of text that no page holds becomes a blob, too: a record is read as a whole."""

MISSES_MAX: Final = 64
"""Failed positions in one string, after which the search for runs ends."""

_ESCAPE_CHARS: Final = 12  # of the longest character in JSON: two escaped surrogates
_STARTS: Final = re.compile(r"^\s*|>\s*|\n\s*\n|\"", re.MULTILINE)
"""Where a run may begin: with the string or a line of it, after a client's tag, inside JSON."""


def cut(
    value: Any,
    texts: Sequence[str],
    clean: Callable[[str], str],
    put: Callable[[bytes], str],
    clean_value: Callable[[str, str], str] | None = None,
) -> tuple[str, tuple[Hole, ...]]:
    """The JSON of a value without what is in `texts`, and the holes. `clean` redacts each of its
    strings first, and `clean_value` those under a name; `put` stores a blob and returns its name.

    Raises what these two raise, and ValueError or RecursionError for what cannot be stored.
    """
    kept: dict[str, bytes] = {}

    def keep(data: bytes) -> str:
        name = put(data)
        kept[name] = data
        return name

    cutter = _Cutter(texts, clean, keep, clean_value)
    cutter.write(value)
    told, holes = "".join(cutter.pieces), tuple(cutter.holes)
    filled = fill(told, holes, texts.__getitem__, kept.__getitem__)
    if _read(filled) != _read("".join(cutter.whole)):
        raise ValueError("it does not read back")
    return told, holes


def fill(
    told: str,
    holes: Sequence[Hole],
    text_of: Callable[[int], str],
    blob_of: Callable[[str], bytes],
) -> str:
    """The JSON before it was cut."""
    pieces: list[str] = []
    at = 0
    for hole in holes:
        pieces.append(told[at : hole.at])
        at = hole.at
        if hole.blob:
            pieces.append(_escaped(blob_of(hole.blob).decode()))
        else:
            text = text_of(hole.item)[hole.start : hole.end]
            pieces.append(text if hole.is_json else _escaped(text))
    return "".join([*pieces, told[at:]])


def _read(told: str) -> Any:
    return json.loads(told, parse_constant=str)  # NaN is not even equal to itself


def _literal(text: str) -> str:
    """A string in JSON. Half a surrogate pair, which UTF-8 does not have, is an escape."""
    return json.dumps(text, ensure_ascii=not is_unicode(text))


def _escaped(text: str) -> str:
    return _literal(text)[1:-1]


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can encode it: clients' JSON may have half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(slots=True)
class _Cutter:
    texts: Sequence[str]
    clean: Callable[[str], str]
    put: Callable[[bytes], str]
    clean_value: Callable[[str, str], str] | None = None
    pieces: list[str] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)  # the JSON without holes
    _upto: dict[int, int] = field(default_factory=dict)  # where the last run of a text ended
    _length: int = 0

    def write(self, value: Any) -> None:
        match value:
            case str():
                self._write_string(self._cleaned(value))
            case dict():
                self._add("{")
                for count, (name, one) in enumerate(value.items()):
                    self._add(f"{',' if count else ''}{_literal(self._cleaned(name))}:")
                    if type(one) is str and self.clean_value and is_unicode(one + name):
                        self._write_string(self.clean_value(name, one))
                    else:
                        self.write(one)
                self._add("}")
            case list():
                self._add("[")
                for count, one in enumerate(value):
                    self._add("," if count else "")
                    self.write(one)
                self._add("]")
            case _:
                self._add(json.dumps(value))

    def _add(self, text: str) -> None:
        self.whole.append(text)
        self._tell(text)

    def _tell(self, text: str) -> None:
        self.pieces.append(text)
        self._length += len(text)

    def _cleaned(self, text: str) -> str:
        if is_unicode(text):
            return self.clean(text)
        literal = _literal(text)
        cleaned = self.clean(literal)
        return text if cleaned == literal else str(json.loads(cleaned))

    def _write_string(self, text: str) -> None:
        self.whole.append(_literal(text))
        self._tell('"')
        at = 0
        for start, end, hole in self._runs(text) if len(text) >= RUN_CHARS_MIN else ():
            self._tell_run(text[at:start])
            self.holes.append(_moved(hole, self._length))
            at = end
        self._tell_run(text[at:])
        self._tell('"')

    def _tell_run(self, text: str) -> None:
        """Append text that no page holds."""
        is_long = len(text) >= OPAQUE_CHARS_MIN and len(text.split(maxsplit=1)) == 1
        if (is_long or len(text) >= TEXT_CHARS_MAX) and is_unicode(text):
            self.holes.append(Hole(at=self._length, end=len(text), blob=self.put(text.encode())))
        elif text:
            self._tell(_escaped(text))

    def _runs(self, text: str) -> Iterator[tuple[int, int, Hole]]:
        """The runs of a string that are in the texts: start, end, and the hole for each."""
        at, misses = 0, 0
        while self.texts and misses < MISSES_MAX:
            match = _STARTS.search(text, at)
            if match is None or len(text) - match.end() < RUN_CHARS_MIN:
                return
            start = match.end()
            found = [self._longest(text, start, item) for item in range(len(self.texts))]
            end, hole = max(found, key=lambda one: one[0])
            if end - start >= RUN_CHARS_MIN:
                yield start, end, hole
                self._upto[hole.item] = hole.end
                at = end
            else:
                misses += 1
                at = max(start, match.start() + 1)

    def _longest(self, text: str, start: int, item: int) -> tuple[int, Hole]:
        """The longest run from `start` on that is in the text of an item.

        Two spellings are tried: the plain text, and then its JSON escapes. A run that ends before a
        backslash may be the latter, whose escape is longer than the character.
        """
        own = self.texts[item]
        begins = text[start : start + RUN_CHARS_MIN]
        where = self._find(item, begins)
        length = _in_common(text, start, own, where) if where >= 0 else 0
        hole = Hole(at=0, item=item, start=max(where, 0), end=max(where, 0) + length)
        if length and own[hole.end : hole.end + 1] != "\\":
            return start + length, hole
        if where < 0:
            spelt_so = json.dumps(begins)[1:-1]
            where = self._find(item, spelt_so) if spelt_so != begins else -1
        if where < 0:
            return start, hole
        spelt = json.dumps(text[start:])[1:-1]
        most = _in_common(spelt, 0, own, where)
        for length in range(most, max(0, most - _ESCAPE_CHARS), -1):
            try:
                read = json.loads(f'"{spelt[:length]}"')
            except ValueError:
                continue  # it ends within an escape
            if len(read) > hole.end - hole.start and text.startswith(read, start):
                hole = Hole(at=0, item=item, start=where, end=where + length, is_json=True)
                return start + len(read), hole
        return start + hole.end - hole.start, hole

    def _find(self, item: int, text: str) -> int:
        """The position of a text in an item: after the last run, if it occurs there."""
        own = self.texts[item]
        where = own.find(text, self._upto.get(item, 0))
        return where if where >= 0 else own.find(text)


def _moved(hole: Hole, at: int) -> Hole:
    return Hole(at=at, item=hole.item, start=hole.start, end=hole.end, is_json=hole.is_json)


def _in_common(one: str, at: int, other: str, where: int) -> int:
    """The length of the common prefix from these two positions on: found by bisection, because
    slices compare faster than characters.
    """
    low, high = 0, min(len(one) - at, len(other) - where)
    while low < high:
        middle = (low + high + 1) // 2
        if one[at + low : at + middle] == other[where + low : where + middle]:
            low = middle
        else:
            high = middle - 1
    return low
