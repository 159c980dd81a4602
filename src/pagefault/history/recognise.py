"""Recognising which program wrote a file, by its content, never by its name.

One exception: nothing distinguishes Markdown from source code, so a note within a folder is also
recognised by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pagefault.history import (
    aider,
    chatgpt,
    claude_code,
    claude_export,
    codex,
    exported,
    messages,
    notes,
    opencode,
)
from pagefault.history.files import File, Told, Unreadable, find_files
from pagefault.history.values import Flaw, Transcript

Read = Callable[[File, Told], Iterator[Transcript | Flaw]]


@dataclass(frozen=True, slots=True)
class Format:
    """`recognises` receives the beginning of a file."""

    source: str
    recognises: Callable[[bytes], bool]
    read: Read


FORMATS: Final = tuple(
    Format(one.SOURCE, one.recognises, one.read)
    for one in (exported, claude_code, codex, chatgpt, claude_export, opencode, aider, messages)
)
"""In order: the first that recognises a file reads it, so specific formats come first."""

SOURCES: Final = (*(one.source for one in FORMATS), notes.SOURCE)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A recognised file, and its format. `path` identifies it, `name` is for people."""

    source: str
    name: str
    path: str
    size: int
    read: Callable[[Told], Iterator[Transcript | Flaw]]


def recognised(path: Path) -> Iterator[Recognised | Flaw | File]:
    """The files at a given path, and below it: recognised ones, unreadable ones, and others."""
    stores = set[Path]()
    for found in find_files(path, stores):
        if isinstance(found, File):
            yield _format_of(found)
        elif isinstance(found, Flaw):
            yield found
        elif opencode.is_store(found):
            stores.add(found)
            read_store = partial(opencode.read_store, found)
            yield Recognised(opencode.SOURCE, str(found), str(found), 0, read_store)


def _format_of(file: File) -> Recognised | Flaw | File:
    try:
        head = file.head()
    except Unreadable as problem:
        return Flaw(place=file.name, why=str(problem))
    if opencode.is_database(head, file):
        read = partial(opencode.read_database, file)
        return Recognised(opencode.SOURCE, file.name, file.path, file.size, read)
    for one in FORMATS:
        if one.recognises(head.removeprefix(b"\xef\xbb\xbf")):
            return Recognised(one.source, file.name, file.path, file.size, partial(one.read, file))
    if notes.recognises(head, file):
        return Recognised(notes.SOURCE, file.name, file.path, file.size, partial(notes.read, file))
    return file
