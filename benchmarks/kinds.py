"""Files of conversations as arguments, each with the kind of its conversations: `KIND=FILE`.

A file that names the kinds itself is `FILE` alone. The form is that of `bench retrieval --data`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pagefault.cli.transcripts import guess
from pagefault.lab.transcripts import Conversation, read_conversations


def conversations_of(arguments: Iterable[str]) -> list[Conversation]:
    """The conversations of all these files, each with its kind; the file's name if it has none."""
    found: list[Conversation] = []
    for argument in arguments:
        kind, _, name = argument.rpartition("=")
        file = Path(name)
        found += (
            replace(one, kind=kind or one.kind or file.stem)
            for one in read_conversations(file, guess(file))
        )
    return found
