"""Readers for conversations: LoCoMo samples, JSON lines, OpenAI messages, turns.

A file is read whole before it is used, so a malformed line changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pagefault.model.errors import BadInput
from pagefault.model.kinds import Role

FORMATS: Final = ("jsonl", "locomo", "openai", "turns")

_DIALOGUE_ID: Final = re.compile(r"D\d+:\d+")
_SESSION: Final = re.compile(r"session_(\d+)")
_ROLES: Final[Mapping[str, Role]] = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a conversation. Questions refer to it by `ref` in their evidence."""

    role: Role
    text: str
    speaker: str = ""
    occurred_at: str = ""
    ref: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a conversation. `evidence` has the refs of the lines that answer it.

    `answerable` is False if the right answer is that nothing of the sort was said. The question is
    asked after `before` lines, by default at the end.
    """

    text: str
    evidence: tuple[str, ...]
    category: str
    answerable: bool
    answer: str = ""
    before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """`kind` names the kind of conversation in a word, if the file does."""

    name: str
    lines: tuple[Line, ...]
    system: str = ""
    questions: tuple[Question, ...] = ()
    kind: str = ""


def read_conversations(path: Path, format: str) -> list[Conversation]:
    """The conversations of a file. Raises `BadInput`, naming file and place, if malformed."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        line = path.read_bytes()[: bad.start].count(b"\n") + 1
        raise BadInput(
            f"{path}, line {line}: not UTF-8", hint="convert the file to UTF-8"
        ) from None
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}", hint="check the path") from None
    match format:
        case "jsonl":
            return [_from_messages(path, _json_lines(path, text))]
        case "openai":
            return [_from_messages(path, _messages(path, text))]
        case "locomo":
            return [_locomo(path, number, sample) for number, sample in _samples(path, text)]
        case "turns":
            found = [_turns(path, place, told) for place, told in _json_lines(path, text)]
            if not found:
                raise BadInput(f"{path}: no conversations in it", hint="is it the right file?")
            return found
    raise BadInput(f"unknown format {format!r}", hint=f"one of {', '.join(FORMATS)}")


# --- messages -----------------------------------------------------------------------------------


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError) as bad:
                raise BadInput(
                    f"{path}, line {number}: not JSON ({bad})",
                    hint='each line is an object such as {"role": "user", "content": "…"}',
                ) from None


def _messages(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    value = _json(path, text)
    if isinstance(value, dict):
        value = value.get("messages")
    if not isinstance(value, list):
        raise BadInput(
            f"{path}: no list of messages", hint='a JSON array, or an object with "messages"'
        )
    for number, message in enumerate(value, 1):
        yield f"message {number}", message


def _from_messages(path: Path, messages: Iterator[tuple[str, Any]]) -> Conversation:
    lines: list[Line] = []
    system = ""
    for place, message in messages:
        _check_encodable(f"{path}, {place}", message)
        line = _line(f"{path}, {place}", message)
        if line.role is Role.SYSTEM and not lines and not system:
            system = line.text
        elif line.text:
            lines.append(line)
    if not lines:
        raise BadInput(f"{path}: no messages in it", hint="is it the right file and --format?")
    return Conversation(name=path.stem, lines=tuple(lines), system=system)


def _line(place: str, message: Any) -> Line:
    if not isinstance(message, dict):
        raise BadInput(f"{place}: not an object", hint='{"role": "user", "content": "…"}')
    role = _ROLES.get(str(message.get("role", "")))
    if role is None:
        raise BadInput(
            f"{place}: role {message.get('role')!r} is not known",
            hint=f"one of {', '.join(_ROLES)}",
        )
    if "content" not in message and not message.get("tool_calls"):
        raise BadInput(f"{place}: no content", hint='{"role": "user", "content": "…"}')
    text = _content(place, message.get("content"))
    for function in _functions(place, message.get("tool_calls") or []):
        text += (
            f"{chr(10) if text else ''}[called {function.get('name')}({function.get('arguments')})]"
        )
    when = message.get("occurred_at") or message.get("timestamp") or message.get("created_at") or ""
    return Line(
        role=role,
        text=text,
        speaker=_speaker(place, message.get("name") or message.get("speaker") or ""),
        occurred_at=_time(place, when),
        call_id=str(message.get("tool_call_id") or ""),
    )


def _speaker(place: str, name: Any) -> str:
    if not isinstance(name, str):
        raise BadInput(f"{place}: {name!r:.80} is no name", hint='"name": "Ada"')
    return name


def _functions(place: str, calls: Any) -> list[dict[str, Any]]:
    if isinstance(calls, list) and all(isinstance(call, dict) for call in calls):
        functions = [call.get("function", {}) for call in calls]
        if all(isinstance(function, dict) for function in functions):
            return functions
    raise BadInput(
        f"{place}: its tool calls are not a list of calls",
        hint='"tool_calls": [{"function": {"name": "…", "arguments": "…"}}]',
    )


def _check_encodable(place: str, value: Any) -> None:
    """Reject unpaired surrogates, which JSON can spell but no file can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"{place}: a text in it is not valid Unicode",
            hint="half of a surrogate pair (\\ud800 to \\udfff) stands alone",
        ) from None


def _content(place: str, content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (_part(place, part) for part in content)))
    raise BadInput(f"{place}: content is neither text nor a list of parts")


def _part(place: str, part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        return f"[{part.get('type', 'part')} not shown]"
    raise BadInput(f"{place}: a part of its content is neither text nor an object")


def _time(place: str, when: Any) -> str:
    if when in ("", None):
        return ""
    try:
        if isinstance(when, int | float) and not isinstance(when, bool):
            return (
                datetime.fromtimestamp(when / 1000 if when > 1e11 else when)
                .astimezone()
                .isoformat()
            )
        return datetime.fromisoformat(str(when)).isoformat()
    except (ValueError, OverflowError, OSError):
        raise BadInput(
            f"{place}: {when!r} is not a time", hint="ISO 8601, or seconds since 1970"
        ) from None


# --- LoCoMo -------------------------------------------------------------------------------------


def _samples(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    value = _json(path, text)
    if not isinstance(value, list) or not all(
        isinstance(sample, dict) and isinstance(sample.get("conversation"), dict)
        for sample in value
    ):
        raise BadInput(
            f"{path}: not a LoCoMo file",
            hint='a JSON array of samples with "conversation" and "qa"',
        )
    yield from enumerate(value, 1)


def _locomo(path: Path, number: int, sample: dict[str, Any]) -> Conversation:
    _check_encodable(f"{path}, sample {number}", sample)
    name = str(sample.get("sample_id") or f"{path.stem}-{number}")
    spoken = sample["conversation"]
    try:
        lines = tuple(_dialogue(spoken))
        refs = {line.ref for line in lines}
        questions = tuple(_question(qa, refs) for qa in sample.get("qa", ()))
    except (KeyError, TypeError, ValueError, AttributeError) as bad:
        raise BadInput(f"{path}, sample {name}: malformed ({type(bad).__name__}: {bad})") from None
    return Conversation(name=name, lines=lines, questions=questions)


def _dialogue(spoken: Mapping[str, Any]) -> Iterator[Line]:
    """Speaker A is the user and speaker B the assistant, whoever begins."""
    numbers = sorted(int(m[1]) for m in map(_SESSION.fullmatch, spoken) if m)
    for number in numbers:
        when = spoken.get(f"session_{number}_date_time", "")
        occurred_at = _local(when) if when else ""
        for turn in spoken[f"session_{number}"]:
            if not isinstance(turn["speaker"], str):
                raise TypeError(f"{turn['speaker']!r} is no speaker's name")
            caption = turn.get("blip_caption")
            shown = f" [shares a photo: {caption}]" if caption else ""
            yield Line(
                role=Role.USER if turn["speaker"] == spoken["speaker_a"] else Role.ASSISTANT,
                text=turn["text"] + shown,
                speaker=turn["speaker"],
                occurred_at=occurred_at,
                ref=turn["dia_id"],
            )


def _local(when: str) -> str:
    """ "1:56 pm on 8 May, 2023", of a place unknown, as ISO 8601 without a zone."""
    return datetime.strptime(when, "%I:%M %p on %d %B, %Y").isoformat()  # noqa: DTZ007


def _question(qa: Mapping[str, Any], refs: set[str]) -> Question:
    return Question(
        text=str(qa["question"]),
        evidence=tuple(ref for ref in named_lines(qa.get("evidence", ())) if ref in refs),
        category=str(qa["category"]),
        answerable=int(qa["category"]) != 5,
        answer=str(qa.get("answer", "")),
    )


def named_lines(evidence: Iterable[object]) -> list[str]:
    """The lines that evidence names, each once; some entries join several in one string."""
    return list(dict.fromkeys(ref for text in evidence for ref in _DIALOGUE_ID.findall(str(text))))


# --- turns and questions ------------------------------------------------------------------------


def _turns(path: Path, place: str, told: Any) -> Conversation:
    """One conversation per line: `turns` with role and text, and `questions` whose evidence are
    indices of turns, from 0. A turn's ref has its session's number before the colon.
    """
    where = f"{path}, {place}"
    hint = '{"id": "…", "turns": [{"role": …, "text": …}], "questions": […]}'
    if not isinstance(told, dict) or not isinstance(told.get("turns"), list):
        raise BadInput(f"{where}: not a conversation of turns", hint=hint)
    _check_encodable(where, told)
    lines: list[Line] = []
    sessions: dict[str, int] = {}
    for number, turn in enumerate(told["turns"]):
        if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
            raise BadInput(f"{where}, turn {number}: no text", hint=hint)
        message = {"role": turn.get("role"), "content": turn["text"], "timestamp": turn.get("time")}
        session = sessions.setdefault(str(turn.get("session", "")), len(sessions) + 1)
        line = _line(f"{where}, turn {number}", message)
        lines.append(replace(line, ref=f"{session}:{number}"))
    try:
        questions = tuple(_question_of_turns(lines, asked) for asked in told.get("questions", ()))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as bad:
        raise BadInput(
            f"{where}: a malformed question ({type(bad).__name__}: {bad})",
            hint='{"question": "…", "evidence": [3], "category": "…", "before": 12}',
        ) from None
    return Conversation(
        name=str(told.get("id") or f"{path.stem}, {place}"),
        lines=tuple(lines),
        questions=questions,
        kind=str(told.get("kind", "")),
    )


def _question_of_turns(lines: Sequence[Line], asked: Mapping[str, Any]) -> Question:
    before = asked.get("before")
    if before is not None and before not in range(len(lines) + 1):
        raise ValueError(f"before is {before!r}, not 0 to {len(lines)}, the number of turns")
    if any(number < 0 for number in asked["evidence"]):
        raise ValueError("a turn before the first")
    return Question(
        text=str(asked["question"]),
        evidence=tuple(lines[number].ref for number in asked["evidence"]),
        category=str(asked.get("category", "")),
        answerable=bool(asked["evidence"]),
        before=before,
    )


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise BadInput(
            f"{path}: not one JSON value ({bad})",
            hint="a value a line is of the format jsonl; the others are one value",
        ) from None
