"""Splitting an identifier into words."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""In upper case or camel case."""


def words_of(name: str) -> list[str]:
    """The words of a variable's name, in upper case: `dbPassword` and `DB_PASSWORD` alike."""
    return [word.upper() for word in _WORD.findall(name)]
