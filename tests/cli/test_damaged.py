"""What the commands say of a memory that is damaged, and what they advise."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def _damage(root: Path, words: bytes) -> None:
    [log] = (root / "log").iterdir()
    data = log.read_bytes()
    assert data.count(words) == 1
    log.write_bytes(data.replace(words, words.swapcase()))


@pytest.mark.parametrize("command", [["search"], ["pages", "search"]])
def test_the_command_that_shows_the_first_hit_shows_that_one(
    command: list[str], cli: Cli, memory_root: Path
) -> None:
    """Even where it is in another session than the last one used, and in another root."""
    more = ["--session", "other"] if command == ["pages", "search"] else []
    told = cli("--root", memory_root, *command, "empty talk nothing", *more)
    found = re.search(r"`pagefault (.+)` shows the first", told.err + told.out)
    assert found
    shown = cli(*shlex.split(found[1]), "--text")
    assert shown.out.strip() == "An empty talk about nothing."


def test_a_damaged_page_is_not_called_forgotten(cli: Cli, memory_root: Path) -> None:
    _damage(memory_root, b"empty talk about")
    for command in (["search"], ["pages", "search", "--session", "other"]):
        told = cli("--root", memory_root, *command, "empty talk nothing")
        assert "(damaged)" in told.out
        assert "(forgotten)" not in told.out
    shown = cli("--root", memory_root, "pages", "show", "msg_1", "--session", "other")
    assert shown.code == 4
    assert "pagefault repair" in shown.err


def test_a_rebuild_says_how_many_records_cannot_be_read(cli: Cli, memory_root: Path) -> None:
    _damage(memory_root, b"empty talk about")
    index = (memory_root / "index.db").read_bytes()
    told = cli("--root", memory_root, "rebuild")
    assert told.code == 1
    assert "1 of " in told.out
    assert (memory_root / "index.db").read_bytes() == index
    assert cli("--root", memory_root, "rebuild", "--json").data["unread"] == 1


def test_the_advice_depends_on_what_is_wrong(cli: Cli, memory_root: Path) -> None:
    [log] = (memory_root / "log").iterdir()
    whole = log.read_bytes()
    _damage(memory_root, b"empty talk about")
    told = cli("--root", memory_root, "verify").err
    assert "repair" in told
    assert "rebuild" not in told
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-3]))
    told = cli("--root", memory_root, "verify").err
    assert "backup" in told
    assert "rebuild" not in told
    doctor = cli("--root", memory_root, "doctor")
    assert "goes on without them" in " ".join((doctor.out + doctor.err).split())
