"""Help of options that several commands have."""

from __future__ import annotations

from typing import Final

DRY_RUN: Final = "Only show what would be done."
GUESSED_FORMAT: Final = "File format. Default: guessed from the file's name and first lines."
KEY: Final = "Idempotency key: a retry with the same key changes nothing."
LAYOUT: Final = "Layout of every request."
LIMIT: Final = "Maximum number of results."
MODE: Final = (
    "passive: the model has no tools, and pages are brought in for it. active: it may search and "
    "load pages. strict: likewise, and its answers must cite their evidence."
)
ONLY_SESSION: Final = "Only this session: name, id, or an unambiguous prefix of either."
ONLY_SOURCE: Final = "Only pages imported from SOURCE."
SESSION: Final = (
    "Session: name, id, or an unambiguous prefix of either. Default: the last one used (forks "
    "and MCP notes excluded)."
)
WINDOW: Final = "Token limit of every request."
