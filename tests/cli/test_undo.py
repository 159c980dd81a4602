"""`pagefault undo` and `redo`: what a person did last, from another command line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pagefault
from tests.cli.conftest import Cli, start


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
        assert command == "redo" or "rulings on claims" in done.err
    assert cli(*root, "undo", "nobody").code == 3


async def test_a_second_process_undoes_and_the_first_redoes(memory_root: Path) -> None:
    async def goal_of(session: pagefault.Session) -> str:
        page_id = (await session.status()).auto_pins.goal
        return (await session.page(page_id)).text

    async with pagefault.open(memory_root) as memory:
        session = await memory.session("talk")
        before = await session.claims()  # it was read here before the other wrote
        for goal in ("Draw the wells.", "Draw the gates."):
            other = start("--root", memory_root, "goal", "talk", goal)
            assert (await asyncio.to_thread(other.communicate))[1] == ""
        other = start("--root", memory_root, "undo", "talk")
        out, _ = await asyncio.to_thread(other.communicate)
        assert other.returncode == 0
        assert out.startswith("undone: goal ")
        assert await goal_of(session) == "Draw the wells."
        await session.redo()
        assert await goal_of(session) == "Draw the gates."
        assert await session.claims() == before
