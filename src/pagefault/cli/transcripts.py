"""Files of recorded conversations, as arguments of commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

FORMATS: Final = click.Choice(["jsonl", "locomo", "openai", "turns"])
"""Those of `lab/transcripts.py`, whose import only a command that reads a file should pay for."""

_TURNS: Final = re.compile(rb'"turns"\s*:\s*\[')


def guess(file: Path) -> str:
    """The format, guessed from the name and the beginning: samples, or turns."""
    with file.open("rb") as opened:
        begins = opened.read(65_536)
    if file.suffix != ".json":
        return "turns" if _TURNS.search(begins) else "jsonl"
    return "locomo" if b'"conversation"' in begins else "openai"
