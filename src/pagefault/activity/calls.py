"""What a call of a client's tool did, by the structure of its arguments and of its result.

Clients differ in what they call things, and agree in what they hand over: a shell gets a command,
what writes a file gets its path and its content, what edits one gets what stands there and what
shall. So it is read by these members, as Claude Code, Codex, opencode, Gemini's and Anthropic's own
tools name them; the tool's name decides only where the members leave it open. Results tell an exit
code in the forms that clients write; where one tells nothing, nothing is told.

A call may be cut where it is long (a proxy keeps some thousand characters): the members that stand
before the cut are read, and a content that is not whole is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pagefault.activity.outcomes import runs_in
from pagefault.activity.shell import argv_of, only_reads, script_of
from pagefault.activity.values import (
    Change,
    CommandRun,
    Deed,
    FileChange,
    json_object,
    whole_number,
)

_PATHS: Final = ("file_path", "filePath", "notebook_path", "path", "file")
_CONTENTS: Final = ("content", "contents", "file_text")
_EDITS: Final = (
    *("new_string", "newString", "new_str", "new_source", "insert_text", "edits"),
    *("old_string", "oldString", "old_str"),
)
_WRITES: Final = re.compile(r"writ|edit|creat|replac|patch|insert", re.IGNORECASE)
"""In the name of a tool that is handed a `path`, which many tools are that change nothing."""

_PATCH: Final = re.compile(r"^\*\*\* Begin Patch$", re.MULTILINE)
_PATCHED: Final = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$")
_MEMBER: Final = re.compile(r'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*")')

_EXITED: Final = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d+)$", re.MULTILINE)
_WALL: Final = re.compile(r"^Wall time: (\d+(?:\.\d+)?) seconds?$", re.MULTILINE)
_HEAD_CHARS: Final = 400
_SECONDS_MAX: Final = 1e9
_TOOL_ERROR: Final = "<tool_use_error>"


def deeds(
    name: str,
    arguments: str,
    result: str | None,
    *,
    is_error: bool = False,
    tests: bool = True,
) -> Iterator[Deed]:
    """What a call of the tool `name` did; without a `result` it is not over, or not known. `tests`
    says whether somebody wants to know of runs of tests, which take longer to read.
    """
    told, is_whole = members(arguments)
    script = _script(told)
    exit_code, duration_ms = outcome(result or "")
    failed = is_error or bool(exit_code) or (result or "").startswith(_TOOL_ERROR)
    if script:
        yield CommandRun(
            argv=_argv(told, script),
            script=script,
            exit_code=exit_code,
            duration_ms=duration_ms,
            failed=failed,
        )
    patch = _patch(arguments, told, script)
    if patch:
        yield from _patched(patch, failed=failed)
    elif not script:
        yield from _changed(name, told, is_whole=is_whole, failed=failed)
    runs = runs_in(printed(result)) if tests and script and result else ()
    if runs and not only_reads(script):
        yield from runs


def command_of(arguments: str) -> str:
    """The line that a call had a shell run; "" where it was another call, or was cut."""
    told, is_whole = members(arguments)
    return _script(told) if is_whole else ""


def members(arguments: str) -> tuple[Mapping[str, Any], bool]:
    """The members of a call's arguments, and whether these are all; of JSON that was cut, those
    that are text and stand before the cut.
    """
    try:
        told = json.loads(arguments)
    except (ValueError, RecursionError):
        if not arguments.lstrip().startswith("{"):
            return {}, True
        return {name: json.loads(value) for name, value in _cut(arguments)}, False
    return (told if isinstance(told, dict) else {}), True


def _cut(arguments: str) -> Iterator[tuple[str, str]]:
    for name, value in _MEMBER.findall(arguments):
        try:
            json.loads(value)
        except ValueError:  # an escape that is none, or a control character
            continue
        yield name, value


def _script(told: Mapping[str, Any]) -> str:
    command = told.get("command", told.get("cmd"))
    if isinstance(command, list) and command and all(isinstance(one, str) for one in command):
        return script_of(command)
    has_path = any(isinstance(told.get(name), str) for name in _PATHS)
    return command if isinstance(command, str) and command.strip() and not has_path else ""


def _argv(told: Mapping[str, Any], script: str) -> tuple[str, ...]:
    command = told.get("command", told.get("cmd"))
    return tuple(command) if isinstance(command, list) else argv_of(script)


# --- results --------------------------------------------------------------------------------------


def outcome(result: str) -> tuple[int | None, int | None]:
    """The exit code and the milliseconds that a result tells."""
    told = json_object(result)
    metadata = told.get("metadata")
    facts: dict[str, Any] = metadata if isinstance(metadata, dict) else told
    code = whole_number(facts.get("exit_code", facts.get("exitCode")))
    seconds = facts.get("duration_seconds")
    if told:
        if isinstance(seconds, (int, float)) and 0 <= seconds < _SECONDS_MAX:
            return code, round(seconds * 1_000)
        return code, None
    head = result[:_HEAD_CHARS].partition("\nOutput:\n")[0]
    exited, wall = _EXITED.search(head), _WALL.search(head)
    if exited is not None and not result.startswith(exited[0]) and "\nOutput:\n" not in result:
        exited = None  # a program printed it
    return (
        None if exited is None else int(exited[1]),
        None if wall is None else round(float(wall[1]) * 1_000),
    )


def printed(result: str) -> str:
    """What a command printed, of a result that tells more."""
    output = json_object(result).get("output")
    if isinstance(output, str):
        return output
    head, mark, rest = result.partition("\nOutput:\n")
    return rest if mark and len(head) <= _HEAD_CHARS else result


# --- files ----------------------------------------------------------------------------------------


def _changed(
    name: str, told: Mapping[str, Any], *, is_whole: bool, failed: bool
) -> Iterator[FileChange]:
    key = next((one for one in _PATHS if isinstance(told.get(one), str) and told[one]), "")
    if not key or (key in ("path", "file") and not _WRITES.search(name + _verb(told))):
        return
    content = next((told[one] for one in _CONTENTS if isinstance(told.get(one), str)), None)
    if any(one in told for one in _EDITS):
        yield FileChange(path=told[key], change=Change.EDITED, failed=failed)
    elif content is not None:
        yield FileChange(path=told[key], change=Change.WRITTEN, content=content, failed=failed)
    elif not is_whole and _WRITES.search(name):  # what it wrote was cut
        change = Change.EDITED if re.search("edit", name, re.IGNORECASE) else Change.WRITTEN
        yield FileChange(path=told[key], change=change, failed=failed)


def _verb(told: Mapping[str, Any]) -> str:
    """What a tool with many uses is asked to do, as Anthropic's text editor is."""
    command = told.get("command")
    return command if isinstance(command, str) else ""


def _patch(arguments: str, told: Mapping[str, Any], script: str) -> str:
    """The text of a patch in the form that Codex's models write."""
    command = told.get("command")
    if isinstance(command, list):
        texts: list[Any] = command
    else:
        texts = [script, *(told.get(key) for key in ("input", "patch", "patchText"))]
    if not told:
        texts = [arguments]
    return next((one for one in texts if isinstance(one, str) and _PATCH.search(one)), "")


def _patched(patch: str, *, failed: bool) -> Iterator[FileChange]:
    path, added = "", list[str]()

    def whole() -> Iterator[FileChange]:
        if path:
            content = "".join(f"{line}\n" for line in added)
            yield FileChange(path=path, change=Change.WRITTEN, content=content, failed=failed)

    for line in _PATCH.split(patch, maxsplit=1)[1].splitlines():
        found = _PATCHED.match(line)
        if line == "*** End Patch":
            break
        if found is None:
            if path and line.startswith("+"):
                added.append(line[1:])
            continue
        yield from whole()
        path, added = "", []
        match found[1]:
            case "Add File":
                path = found[2].strip()
            case "Delete File":
                yield FileChange(path=found[2].strip(), change=Change.DELETED, failed=failed)
            case _:
                yield FileChange(path=found[2].strip(), change=Change.EDITED, failed=failed)
    yield from whole()
