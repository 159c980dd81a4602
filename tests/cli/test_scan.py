"""`pagefault scan` tells what would be redacted, and shows no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pagefault.cli.root import root as command

TOKEN = "gh" + "p_" + "q7Rk2" * 7 + "Z"


def scanned(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(command, ["scan", *words], input=text)


def test_it_names_the_rule_and_the_place_and_shows_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(f"One line.\nMy token: {TOKEN}\n")
    told = scanned(str(path))
    assert told.exit_code == 1
    assert f"{path}:2:11: github-token, {len(TOKEN)} characters" in told.stdout
    assert TOKEN not in told.output


def test_json_has_each_of_them_and_the_text_if_it_is_wanted() -> None:
    told = scanned("--json", "--text", text=f"it is {TOKEN}\n")
    (one,) = json.loads(told.stdout)["files"]
    assert one["found"] == [{"rule": "github-token", "line": 1, "column": 7, "chars": len(TOKEN)}]
    assert one["text"] == "it is [REDACTED:github-token]\n"


def test_a_text_without_a_secret_is_told_by_the_exit_code() -> None:
    told = scanned(text="nothing to see here\n")
    assert (told.exit_code, told.stdout) == (0, "")


def test_the_configuration_says_how_much_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEFAULT_REDACT__LEVEL", "known")
    assert scanned(text=TOKEN).exit_code == 0
    monkeypatch.setenv("PAGEFAULT_REDACT__LEVEL", "detect")
    assert scanned(text=TOKEN).exit_code == 1
    monkeypatch.setenv("PAGEFAULT_REDACT__ALLOW", "AKIA* gh*")
    assert scanned(text=TOKEN).exit_code == 0


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\xd8\xff\xe0")
    assert scanned(str(tmp_path / "picture")).exception is not None
    assert scanned(str(tmp_path / "nothing")).exception is not None
