"""A JSON value whose text stands elsewhere: the value's JSON less these texts, and holes for them.

Most of a client's message is text that pages hold, so its JSON is kept without it. A page holds the
text of a message less what clients rewrite in it, and the arguments of a call as JSON of one
spelling, cut where they are long. So a string is looked for in runs: a run that a page holds
becomes a hole, what is between stays. What no page holds and nobody can read (an image, encrypted
reasoning) becomes a blob.

`cut` is right by construction: what it returns was filled again, and compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pagefault.model.events import Hole

RUN_CHARS_MIN: Final = 24
"""A hole takes about as many bytes: a shorter text is kept where it stands."""

OPAQUE_CHARS_MIN: Final = 4_096
"""Of a string without a space that becomes a blob: a block of a disk, which a file takes anyway."""

TEXT_CHARS_MAX: Final = 65_536
"""A longer run of text that no page holds becomes a blob, too: a record is read as a whole."""

MISSES_MAX: Final = 64
"""Places of one string at which no run was found, after which none is looked for any more."""

_ESCAPE_CHARS: Final = 12  # of the longest character of JSON: two escaped surrogates
_STARTS: Final = re.compile(r"^\s*|>\s*|\n\s*\n|\"", re.MULTILINE)
"""Where a run may begin: with the string or a line of it, behind a client's tag, inside of JSON."""


def cut(
    value: Any,
    texts: Sequence[str],
    clean: Callable[[str], str],
    put: Callable[[bytes], str],
    clean_value: Callable[[str, str], str] | None = None,
) -> tuple[str, tuple[Hole, ...]]:
    """The JSON of a value less what stands in `texts`, and the holes. `clean` redacts each of its
    strings before, and `clean_value` those that stand under a name; `put` keeps a blob and gives
    its name.

    Raises what these two raise, and ValueError or RecursionError for what cannot be kept.
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
    """The JSON that was cut."""
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
    return json.loads(told, parse_constant=str)  # what is no number is not even equal to itself


def _literal(text: str) -> str:
    """A string in JSON. Half a surrogate pair, which UTF-8 does not have, is an escape."""
    return json.dumps(text, ensure_ascii=not _is_unicode(text))


def _escaped(text: str) -> str:
    return _literal(text)[1:-1]


def _is_unicode(text: str) -> bool:
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
    whole: list[str] = field(default_factory=list)  # the JSON with nothing taken out
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
                    if type(one) is str and self.clean_value and _is_unicode(one + name):
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
        if _is_unicode(text):
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
        """What no page holds."""
        is_long = len(text) >= OPAQUE_CHARS_MIN and len(text.split(maxsplit=1)) == 1
        if (is_long or len(text) >= TEXT_CHARS_MAX) and _is_unicode(text):
            self.holes.append(Hole(at=self._length, end=len(text), blob=self.put(text.encode())))
        elif text:
            self._tell(_escaped(text))

    def _runs(self, text: str) -> Iterator[tuple[int, int, Hole]]:
        """What of a string stands in the texts: where it begins and ends, and the hole for it."""
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
        """The run from `start` on that stands in the text of an item, up to its end.

        Two spellings are tried: the text as it is, and then as JSON escapes it. A run that ends
        before a backslash may be the latter, whose escape is longer than the character.
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
        """Where an item has a text: behind the last run, if it has it there."""
        own = self.texts[item]
        where = own.find(text, self._upto.get(item, 0))
        return where if where >= 0 else own.find(text)


def _moved(hole: Hole, at: int) -> Hole:
    return Hole(at=at, item=hole.item, start=hole.start, end=hole.end, is_json=hole.is_json)


def _in_common(one: str, at: int, other: str, where: int) -> int:
    """How many characters agree from these two places on: found by halving, as slices compare
    faster than characters.
    """
    low, high = 0, min(len(one) - at, len(other) - where)
    while low < high:
        middle = (low + high + 1) // 2
        if one[at + low : at + middle] == other[where + low : where + middle]:
            low = middle
        else:
            high = middle - 1
    return low
