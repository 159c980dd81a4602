"""Transcripts: what can be read is read; the rest names its file and place, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pagefault.cli import transcripts
from pagefault.lab.transcripts import FORMATS, read_conversations
from pagefault.model.errors import BadInput
from pagefault.model.kinds import Role

GOOD = {"role": "user", "content": "Hello"}
LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I painted a lake."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice!", "blip_caption": "a lake"},
        ],
    },
    "qa": [
        {
            "question": "What did Ana paint?",
            "answer": "a lake",
            "evidence": ["D1:1"],
            "category": 4,
        },
        {"question": "What did Ben paint?", "evidence": ["D1:2; D9:9"], "category": 5},
    ],
}


def _file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "talk.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_commands_take_all_formats() -> None:
    assert tuple(transcripts.FORMATS.choices) == FORMATS


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello", "name": "Ana", "timestamp": "2023-05-08T13:56:00"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"function": {"name": "sql", "arguments": "{}"}}]},
        {"role": "tool", "content": [{"type": "text", "text": "42"}], "tool_call_id": "c1"},
        {"role": "human", "content": ["a", {"type": "image_url"}]},
        {"role": "assistant", "content": ""},
        {"role": "developer", "content": "Be briefer."},
    ]  # fmt: skip
    text = "\ufeff" + "\n\n".join(json.dumps(line) for line in lines) + "\r\n"
    [conversation] = read_conversations(_file(tmp_path, text), "jsonl")
    assert conversation.system == "Be brief."
    assert conversation.name == "talk"
    assert [(line.role, line.text) for line in conversation.lines] == [
        (Role.USER, "Hello"),
        (Role.ASSISTANT, "[called sql({})]"),
        (Role.TOOL, "42"),
        (Role.USER, "a\n[image_url not shown]"),
        (Role.SYSTEM, "Be briefer."),
    ]
    assert conversation.lines[0].occurred_at == "2023-05-08T13:56:00"
    assert conversation.lines[2].call_id == "c1"


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_openai_array(tmp_path: Path, wrapped: bool) -> None:
    value: Any = {"messages": [GOOD], "model": "gpt-4o"} if wrapped else [GOOD]
    [conversation] = read_conversations(_file(tmp_path, json.dumps(value)), "openai")
    assert [line.text for line in conversation.lines] == ["Hello"]


def test_a_locomo_file(tmp_path: Path) -> None:
    [conversation] = read_conversations(_file(tmp_path, json.dumps([LOCOMO])), "locomo")
    assert [(line.role, line.text, line.ref) for line in conversation.lines] == [
        (Role.USER, "I painted a lake.", "D1:1"),
        (Role.ASSISTANT, "Nice! [shares a photo: a lake]", "D1:2"),
    ]
    assert conversation.lines[0].occurred_at == "2023-05-08T13:56:00"
    answerable, adversarial = conversation.questions
    assert (answerable.evidence, answerable.answerable) == (("D1:1",), True)
    assert (adversarial.evidence, adversarial.answerable) == (("D1:2",), False)


def _line(**changes: Any) -> str:
    return json.dumps(GOOD) + "\n" + json.dumps(GOOD | changes)


MALFORMED_LINES: dict[str, Any] = {
    "not JSON": json.dumps(GOOD) + "\n{",
    "not an object": json.dumps(GOOD) + "\n[1]",
    "a number": json.dumps(GOOD) + "\n7",
    "deep": json.dumps(GOOD) + "\n" + "[" * 100_000,
    "no role": json.dumps(GOOD) + '\n{"content": "x"}',
    "unknown role": _line(role="oracle"),
    "role no text": _line(role=7),
    "content a number": _line(content=7),
    "content an object": _line(content={"text": "x"}),
    "part a number": _line(content=[7]),
    "content half a pair": _line(content="\ud800"),
    "name half a pair": _line(name="\ud800"),
    "name a list": _line(name=["x"]),
    "part half a pair": _line(content=[{"text": "\ud800"}]),
    "calls a number": _line(tool_calls=7),
    "calls a text": _line(tool_calls="sql"),
    "call without a function": _line(tool_calls=[{"function": "sql"}]),
    "arguments half a pair": _line(tool_calls=[{"function": {"name": "\ud800"}}]),
    "no time": _line(timestamp="last Friday"),
    "time too large": _line(timestamp=1e300),
    "time not a number": json.dumps(GOOD) + '\n{"role": "user", "content": "x", "timestamp": NaN}',
    "time a list": _line(timestamp=[1]),
    "time true": _line(timestamp=True),
    "not UTF-8": json.dumps(GOOD).encode() + b'\n{"role": "user", "content": "\xff"}',
}


@pytest.mark.parametrize("name", MALFORMED_LINES)
def test_a_malformed_line_names_its_file_and_line(tmp_path: Path, name: str) -> None:
    path = _file(tmp_path, MALFORMED_LINES[name])
    with pytest.raises(BadInput) as bad:
        read_conversations(path, "jsonl")
    assert f"{path}, line 2: " in str(bad.value)


@pytest.mark.parametrize(
    "name", [name for name in MALFORMED_LINES if name not in ("not JSON", "not UTF-8", "deep")]
)
def test_a_malformed_message_names_its_file_and_number(tmp_path: Path, name: str) -> None:
    lines = MALFORMED_LINES[name]
    assert isinstance(lines, str)
    path = _file(tmp_path, f"[{lines.replace(chr(10), ',')}]")
    with pytest.raises(BadInput) as bad:
        read_conversations(path, "openai")
    assert f"{path}, message 2: " in str(bad.value)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "text",
    ["", " \n ", "{", "[]", "{}", "null", "7", '{"messages": 7}', "[" * 100_000, b"\xff", b"\0"],
)
def test_what_is_no_conversation_names_its_file(
    tmp_path: Path, format: str, text: str | bytes
) -> None:
    path = _file(tmp_path, text)
    if (format, text) == ("locomo", "[]"):
        assert read_conversations(path, format) == []
        return
    with pytest.raises(BadInput) as bad:
        read_conversations(path, format)
    assert str(path) in str(bad.value)


def _sample(**changes: Any) -> dict[str, Any]:
    return LOCOMO | changes


def _talk(**changes: Any) -> dict[str, Any]:
    conversation = LOCOMO["conversation"]
    assert isinstance(conversation, dict)
    return _sample(conversation=conversation | changes)


def _turn(**changes: Any) -> dict[str, Any]:
    turn = {"speaker": "Ana", "dia_id": "D1:1", "text": "x"}
    return _talk(session_1=[turn, {k: v for k, v in (turn | changes).items() if v is not None}])


@pytest.mark.parametrize(
    "sample",
    [
        _sample(qa=7),
        _sample(qa=[{"question": "x"}]),
        _sample(qa=[{"question": "x", "category": "x"}]),
        _sample(qa=[{"question": "\ud800", "category": 1}]),
        _sample(sample_id="\ud800"),
        _talk(session_1=7),
        _talk(session_1=[7]),
        _talk(session_1_date_time="yesterday"),
        _talk(session_1_date_time=7),
        _turn(speaker=None),
        _turn(speaker=7),
        _turn(text=None),
        _turn(text=7),
        _turn(text="\ud800"),
        _turn(dia_id=None),
        _turn(dia_id=["D1:1"]),
    ],
)
def test_a_malformed_sample_names_its_file_and_sample(
    tmp_path: Path, sample: dict[str, Any]
) -> None:
    path = _file(tmp_path, json.dumps([sample]))
    with pytest.raises(BadInput) as bad:
        read_conversations(path, "locomo")
    assert f"{path}, sample " in str(bad.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(BadInput, match=str(path)):
            read_conversations(path, "jsonl")
    with pytest.raises(BadInput, match="unknown format"):
        read_conversations(_file(tmp_path, json.dumps(GOOD)), "csv")


def test_turns_and_questions(tmp_path: Path) -> None:
    told = {
        "id": "trip",
        "kind": "assistant",
        "turns": [
            {
                "role": "user",
                "text": "I fly on Monday.",
                "session": "a:1",
                "time": "2026-01-02T09:00",
            },
            {"role": "tool", "text": "Seat 4A", "session": "b:1"},
        ],
        "questions": [
            {"question": "When?", "evidence": [0], "category": "fact", "before": 1},
            {"question": "Which seat?", "evidence": [1], "category": "fact"},
        ],
    }
    [talk] = read_conversations(_file(tmp_path, json.dumps(told)), "turns")
    assert (talk.name, talk.kind) == ("trip", "assistant")
    assert [(line.role, line.ref) for line in talk.lines] == [
        (Role.USER, "1:0"),
        (Role.TOOL, "2:1"),
    ]
    assert [(one.evidence, one.before) for one in talk.questions] == [
        (("1:0",), 1),
        (("2:1",), None),
    ]


@pytest.mark.parametrize(
    "told",
    [
        7,
        {"turns": 7},
        {"turns": [{"role": "user"}]},
        {"turns": [{"role": "nobody", "text": "x"}]},
        {"turns": [], "questions": [{"question": "x", "evidence": [0]}]},
        {"turns": [], "questions": [{"question": "x", "evidence": [], "before": 1}]},
        {"turns": [], "questions": [{"question": "x", "evidence": [], "before": "0"}]},
    ],
)
def test_what_is_no_conversation_of_turns_is_refused(tmp_path: Path, told: Any) -> None:
    with pytest.raises(BadInput, match="line 1"):
        read_conversations(_file(tmp_path, json.dumps(told)), "turns")


def test_a_question_before_a_turn_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = {
        "turns": [{"role": "user", "text": "x"}],
        "questions": [{"question": "x", "evidence": [0], "before": "two"}],
    }
    with pytest.raises(BadInput, match="before is 'two', not 0 to 1, the number of turns"):
        read_conversations(_file(tmp_path, json.dumps(told)), "turns")
