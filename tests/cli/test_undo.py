"""`pagefault undo` and `redo`: what a person did last, from another command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_a_goal_is_undone_and_redone(cli: Cli, memory_root: Path) -> None:
    root = ("--root", memory_root)
    for goal in ("Draw the wells.", "Draw the gates."):
        assert cli(*root, "goal", "talk", goal).code == 0
    told = cli(*root, "undo", "talk", "--json").data
    assert (told["undone"], told["proxied"]) == ("goal", False)
    assert cli(*root, "goal", "talk", "--json").data["text"] == "Draw the wells."
    done = cli(*root, "redo", "talk")
    assert done.out.startswith("redone: goal ")
    assert cli(*root, "goal", "talk", "--json").data["text"] == "Draw the gates."


def test_with_nothing_to_undo_it_says_what_can_be(cli: Cli, memory_root: Path) -> None:
    root = ("--root", memory_root)
    for command in ("undo", "redo"):
        done = cli(*root, command, "talk")
        assert (done.code, done.out) == (4, "")
        assert f"nothing to {command}" in done.err
        assert "pin" in done.err, "what can be"
    assert cli(*root, "undo", "nobody").code == 3
