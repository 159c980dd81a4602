"""Files of recorded conversations, as commands take them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

FORMATS: Final = click.Choice(["jsonl", "locomo", "openai", "turns"])
"""Those of `lab/transcripts.py`, which only a command that reads a file should wait for."""

_TURNS: Final = re.compile(rb'"turns"\s*:\s*\[')


def guess(file: Path) -> str:
    """The format, from the name and what stands in the beginning: samples, or turns."""
    with file.open("rb") as opened:
        begins = opened.read(65_536)
    if file.suffix != ".json":
        return "turns" if _TURNS.search(begins) else "jsonl"
    return "locomo" if b'"conversation"' in begins else "openai"
