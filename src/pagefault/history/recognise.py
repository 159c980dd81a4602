"""Which program wrote a file: told by what stands in it, never by its name.

One exception: nothing in Markdown tells it from source code, so within a folder a note is known by
its name, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pagefault.history import claude_code, messages
from pagefault.history.files import File, Told, Unreadable, find_files
from pagefault.history.values import Conversation, Flaw

Read = Callable[[File, Told], Iterator[Conversation | Flaw]]


@dataclass(frozen=True, slots=True)
class Format:
    """`recognises` is given how a file begins."""

    source: str
    recognises: Callable[[bytes], bool]
    read: Read


FORMATS: Final = (
    Format(claude_code.SOURCE, claude_code.recognises, claude_code.read),
    Format(messages.SOURCE, messages.recognises, messages.read),
)
"""The first that recognises a file reads it: the more particular ones come first."""

SOURCES: Final = tuple(dict.fromkeys(one.source for one in FORMATS))


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file, and how it is read."""

    source: str
    file: File
    read: Callable[[Told], Iterator[Conversation | Flaw]]


def recognised(path: Path) -> Iterator[Recognised | Flaw | File]:
    """What there is at a path that somebody named, and below it: files that are recognised, those
    that cannot be read, and those that are none of ours.
    """
    for found in find_files(path):
        if isinstance(found, File):
            yield _format_of(found)
        elif isinstance(found, Flaw):
            yield found


def _format_of(file: File) -> Recognised | Flaw | File:
    try:
        head = file.head()
    except Unreadable as problem:
        return Flaw(place=file.name, why=str(problem))
    for one in FORMATS:
        if one.recognises(head.removeprefix(b"\xef\xbb\xbf")):
            return Recognised(one.source, file, partial(one.read, file))
    return file
