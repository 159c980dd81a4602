"""Settings files of coding clients: read, and never written.

A broken one is reported, with its line. A client may run without it, but then the destination of
its requests is unknown, and a guess could send a key to the wrong host.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pagefault.model.errors import BadInput

BYTES_MAX: Final = 50_000_000  # Claude Code keeps more than settings in one
_HINT: Final = "fix it, or move it away; nothing was started, and the file is unchanged"


class BrokenSettings(BadInput):
    """A settings file that no client can read: which, where in it, and what is wrong."""

    def __init__(self, path: Path | str, what: str, line: int = 0) -> None:
        at = f", line {line}" if line else ""
        super().__init__(f"cannot read the settings in {path}{at}: {what}", hint=_HINT)


def json_settings(path: Path, *, remarks: bool = False) -> dict[str, Any]:
    """A JSON object, empty if there is no file; with comments and trailing commas, if the client
    takes them. Raises `BrokenSettings`.
    """
    return parsed_json(text_of(path), str(path), remarks=remarks)


def parsed_json(text: str, where: str, *, remarks: bool = False) -> dict[str, Any]:
    """The same for a text, which is at `where`."""
    if not text.strip():
        return {}
    try:
        told = json.loads(_without_remarks(text) if remarks else text)
    except json.JSONDecodeError as error:
        raise BrokenSettings(where, error.msg, error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise BrokenSettings(where, str(error)) from None
    if not isinstance(told, dict):
        raise BrokenSettings(where, "it is not an object", 1)
    return told


def toml_settings(path: Path) -> dict[str, Any]:
    """A TOML document, empty if there is no file. Raises `BrokenSettings`."""
    text = text_of(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        what, at, place = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", place)
        line = int(found[1]) if found else text.count("\n") + 1 if at else 0
        raise BrokenSettings(path, what, line) from None


def dotenv(path: Path) -> dict[str, str]:
    """The variables of a file of `NAME=VALUE` lines, as python-dotenv reads plain ones. Like there,
    other lines are ignored.
    """
    lines = map(_DOTENV.fullmatch, text_of(path).splitlines())
    return {
        one["name"]: one["quoted"][1:-1] if one["quoted"] else one["bare"]
        for one in lines
        if one is not None
    }


_DOTENV: Final = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*"""
    r"""(?:(?P<quoted>"[^"]*"|'[^']*')\s*(?:\#.*)?|(?P<bare>.*?)(?:\s\#.*)?)"""
)


def text_of(path: Path) -> str:
    """The contents of a file, "" if there is none. Raises `BrokenSettings`."""
    try:
        with path.open("rb") as file:
            body = file.read(BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise BrokenSettings(path, str(error.strerror)) from None
    if len(body) > BYTES_MAX:
        raise BrokenSettings(path, f"it has more than {BYTES_MAX:,} bytes")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        raise BrokenSettings(path, "it is not in UTF-8", line) from None


def _without_remarks(text: str) -> str:
    """Lines keep their numbers. Quoted texts are skipped whole."""
    plain = _REMARK.sub(lambda one: one[1] or "\n" * one[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda one: one[1] or one[0][1:], plain)


_REMARK: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,\s*(?=[}\]])', re.DOTALL)


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Field by field; on a conflict the other's value wins."""
    found = dict(one)
    for name, value in other.items():
        old = found.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            found[name] = merged(old, value)
        else:
            found[name] = value
    return found
