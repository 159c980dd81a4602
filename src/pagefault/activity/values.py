"""What a call did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Change(StrEnum):
    """What became of a file."""

    WRITTEN = "written"  # whole, whether it was there or not
    EDITED = "edited"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """A command, as it was given to a shell or to the system: `script` is what a person would type.

    `exit_code` and `duration_ms` are None where its result does not tell them; `failed` says that
    the result tells a failure, in whatever form.
    """

    argv: tuple[str, ...]
    script: str
    exit_code: int | None = None
    duration_ms: int | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file was changed. `content` is all that it holds since, where the call told that."""

    path: str
    change: Change
    content: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What a test runner told of one run. Names are as the runner writes them, in its order; where
    it writes only dots and numbers, there are none. Errors count as failures.
    """

    __test__ = False  # for pytest, which collects by name

    runner: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    duration_ms: int | None = None


Deed = CommandRun | FileChange | TestRun


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is; empty where it is none."""
    if not text.startswith("{"):
        return {}
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def whole_number(value: Any) -> int | None:
    """The same, if it is a whole number and no bool."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
