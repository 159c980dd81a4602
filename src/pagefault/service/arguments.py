"""Validation of callers' arguments: each becomes a value, or `BadInput`.

Types are checked already: `model/signatures.py` does that.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from pagefault.model.defaults import NAME_CHARS
from pagefault.model.errors import BadInput
from pagefault.model.kinds import (
    REGION_PREFIX,
    ControlMode,
    LayoutName,
    Level,
    Mode,
    Origin,
)
from pagefault.model.times import is_date, iso_ms, iso_text
from pagefault.model.wanted import Time, a_time_ms, an_end_ms

N = TypeVar("N", bound=StrEnum)

_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,128}")


def a_short_text(value: str, *, called: str) -> str:
    """A name or label: `NAME_CHARS` at most. Raises `BadInput`."""
    if len(value) > NAME_CHARS:
        raise BadInput(
            f"{called} of {len(value):,} characters: it takes at most {NAME_CHARS:,}",
            hint="use a short name, and put the rest in the text",
        )
    return value


def a_share(value: float, *, called: str) -> float:
    """A number from 0 to 1. Raises `BadInput`, naming the argument."""
    if not 0 <= value <= 1:
        raise BadInput(f"{called} is {value!r}", hint="it takes a number from 0 to 1")
    return value


def a_count(value: int, *, called: str) -> int:
    """A count. Raises `BadInput`, naming the argument."""
    if value < 0:
        raise BadInput(f"{called} is {value!r}", hint="it takes a whole number, 0 or more")
    return value


def a_span_s(value: float, *, called: str) -> float:
    """A duration in seconds. Raises `BadInput`, naming the argument."""
    if value < 0:
        raise BadInput(f"{called} is {value!r}", hint="it takes 0 seconds or more")
    return value


def a_path(value: str | Path, *, called: str) -> Path:
    """A path. Raises `BadInput`, naming the argument."""
    if "\0" in str(value) or not str(value):
        raise BadInput(f"{called} of {str(value)!r} cannot be", hint="name a folder")
    return Path(value)


def a_moment(at: str | datetime) -> str:
    """The time when something was said, as in a record: ISO 8601. Raises `BadInput`."""
    text = iso_text(at) if isinstance(at, datetime) else at
    if text and iso_ms(text) is None:
        raise BadInput(
            f"occurred_at is not a time: {len(text)} characters that cannot be read as one",
            hint="a datetime, or ISO 8601: 2026-03-05, 2026-03-05T08:45:00Z",
        )
    return text


def check_name(name: str, *, of: str = "session") -> None:
    """Raise `BadInput` unless this is a valid name of a session, or whatever `of` says."""
    if name.startswith(REGION_PREFIX):
        raise BadInput(
            f"{name!r} cannot be a {of}'s name",
            hint=f"names that begin with {REGION_PREFIX} are regions",
        )
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} cannot be a {of}'s name",
            hint="1 to 128 characters, without / and control characters",
        )


def a_level(level: int, *, least: Level = Level.FULL) -> Level:
    if level not in list(Level) or level < least:
        raise BadInput(f"{level} is not a level here", hint=f"one of {least:d} to {max(Level):d}")
    return Level(level)


def a_mode(mode: str) -> Mode:
    return one_of(Mode, mode, "mode")


def a_control(mode: str) -> ControlMode:
    return one_of(ControlMode, mode, "control mode")


def a_time(time: Time) -> int:
    """A time in milliseconds since 1970; for a day alone, its last. Raises `BadInput`."""
    is_day = isinstance(time, str) and is_date(time)
    return an_end_ms(time) - 1 if is_day else a_time_ms(time)


def a_layout(layout: str) -> LayoutName:
    return one_of(LayoutName, layout, "layout")


def a_window(tokens: int) -> int:
    if tokens < 1:
        raise BadInput(
            f"a window of {tokens!r} tokens is not possible", hint="give a positive number"
        )
    return tokens


def an_origin(text: str) -> Origin:
    try:
        return Origin(text)
    except ValueError as bad:
        raise BadInput(str(bad)) from None


def one_of(names: type[N], text: str, what: str) -> N:
    """A member of an enumeration, by its name. Raises `BadInput`."""
    try:
        return names(text)
    except ValueError:
        raise BadInput(f"unknown {what} {text!r}", hint=f"one of {', '.join(names)}") from None
