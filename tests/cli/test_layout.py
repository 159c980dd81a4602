"""The second layout, and the contract for programs, from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_the_abi_is_told_as_json_and_as_tables(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "abi", "talk", "--json").data
    assert told["max_context_tokens"] == (
        told["reserved_tokens"] + told["tool_schema_tokens_reserved"] + told["available_tokens"]
    )
    assert told["pages"]
    assert {"page_id", "page_type", "compression_level", "can_evict"} <= told["pages"][0].keys()
    shown = cli("--root", memory_root, "abi")
    assert shown.code == 0
    assert "max context tokens" in shown.out
    assert told["pages"][0]["page_id"] in shown.out
    assert cli("--root", memory_root, "abi", "nobody").code == 3


def test_a_session_is_talked_to_in_the_developer_layout_and_stays_in_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "m"
    for layout, text in (("developer", "The wheel is red."), (None, "Is the wheel red?")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        chosen = ["--layout", layout] if layout else []
        said = cli("--root", root, "chat", "s", "--engine", "scripted", "--json", *chosen)
        assert said.code == 0, said.err
    assert said.data["citations"] == ["msg_1"]
    log = "".join(path.read_text() for path in sorted((root / "log").rglob("*")) if path.is_file())
    assert '"layout":"developer"' in log
    assert cli("--root", root, "chat", "s", "--layout", "loose").code == 2


@pytest.mark.parametrize("layout", ["stable", "developer"])
def test_a_replay_runs_in_either_layout(cli: Cli, tmp_path: Path, layout: str) -> None:
    talk = tmp_path / "talk.jsonl"
    lines = [
        {"role": role, "content": f"{role} {number} " + "and so on " * 20}
        for number in range(30)
        for role in ("user", "assistant")
    ]
    talk.write_text("\n".join(map(json.dumps, lines)))
    told = cli("replay", talk, "--ephemeral", "--window", "3000", "--layout", layout, "--json").data
    assert told["requests"] == 30
    assert told["requests_over_window"] == 0


def test_a_replay_keeps_to_the_tokens_that_may_be_paged_in(cli: Cli, tmp_path: Path) -> None:
    said = [
        {"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"The ferry to island {n} leaves at {n}."}
        for n in range(1, 70)
    ]
    talk = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1": said}
    talk["session_1_date_time"] = "1:56 pm on 8 May, 2023"
    asked = [
        {"question": f"When does the ferry to island {n} leave?", "answer": f"{n}"}
        | {"evidence": [f"D1:{n}"], "category": 2}
        for n in (3, 7)
    ]
    path = tmp_path / "talk.json"
    sample = {"sample_id": "ferry", "conversation": talk, "qa": asked}
    path.write_text(json.dumps([sample]))
    command = ("replay", path, "--ephemeral", "--window", "3000", "--questions", "--json")
    free = cli(*command).data
    told = cli(*command, "--paged-in-tokens", "120").data
    assert 0 < told["paged_in_tokens_per_question_max"] <= 120
    assert free["paged_in_tokens_per_question_max"] > 150
    assert cli(*command, "--paged-in-tokens", "0").code == 2
