"""Sessions and pages are named as people name them: by how they begin, or nearly right."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from pagefault.cli.root import root as command
from tests.cli.conftest import Cli


def test_the_beginning_of_a_name_or_an_id_is_enough(cli: Cli, memory_root: Path) -> None:
    rows = {row["name"]: row for row in cli("--root", memory_root, "sessions", "--json").data}
    for begun in ("tal", "TALK", rows["talk"]["session_id"][:-2]):
        told = cli("--root", memory_root, "status", begun, "--json")
        assert told.data["name"] == "talk"


def test_a_beginning_that_several_have_names_none_of_them(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "status", "ses_")
    assert told.code == 3
    assert "did you mean" in told.err
    assert "talk" in told.err


def test_a_name_that_is_nearly_right_is_guessed_and_not_taken(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "ls", "tlak")
    assert told.code == 3
    assert "did you mean 'talk'?" in told.err


def test_what_cannot_be_taken_back_is_named_in_full(cli: Cli, memory_root: Path) -> None:
    for words in (["forget", "--all"], ["origins", "revoke", "--all"]):
        told = cli("--root", memory_root, *words, "--session", "tal")
        assert told.code == 3
        assert "did you mean 'talk'?" in told.err
    assert cli("--root", memory_root, "forget", "--all", "--session", "talk").code == 0


def test_a_bare_number_is_that_of_a_message(cli: Cli, memory_root: Path) -> None:
    shown = cli("--root", memory_root, "pages", "show", "3", "--session", "talk", "--json")
    assert shown.data["page_id"] == "msg_3"


def test_help_explains_a_command(cli: Cli) -> None:
    assert cli("help", "pages", "show").out == cli("pages", "show", "--help").out
    assert cli("help").out == cli("--help").out


def completed(*words: str) -> list[str]:
    """What a shell is offered for the last of these words."""
    shell = ShellComplete(command, {}, "pagefault", "_PAGEFAULT_COMPLETE")
    return [one.value for one in shell.get_completions(list(words[:-1]), words[-1])]


def test_sessions_and_pages_are_completed_from_the_memory_that_is_named(memory_root: Path) -> None:
    root = ["--root", str(memory_root)]
    assert completed(*root, "status", "ta") == ["talk"]
    assert completed(*root, "faults", "--session", "ta") == ["talk"]
    pages = completed(*root, "pages", "show", "--session", "talk", "msg_1")
    assert "msg_1" in pages
    assert all(page.startswith("msg_1") for page in pages)


def test_where_there_is_no_memory_nothing_is_completed_or_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed("--root", str(tmp_path / "none"), "status", "") == []
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    assert not (tmp_path / "none").exists()
