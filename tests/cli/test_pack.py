"""What is put together to be handed on: `pack`, `handoff`, `synopsis`, `digest`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pagefault
from pagefault import ContextPack
from tests.cli.conftest import Cli

AT = "2026-11-20T09:00:00+00:00"


def test_a_pack_is_printed_within_its_tokens_and_read_again(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pack", "red", "wheel", "--session", "talk", "--at", AT)
    assert told.code == 0
    assert "The red wheel has thirty-six spokes." in told.out
    assert "[msg_1]" in told.out
    assert "of 2,000 tokens" in told.err
    as_json = cli("--root", memory_root, "pack", "red wheel", "--json", "--at", AT)
    pack = ContextPack.from_json(as_json.out)
    pack.check()
    assert pack.generated_at == "2026-11-20T09:00:00.000Z"
    assert "talk/msg_1" in {one.ref for one in pack.evidence}
    again = cli("--root", memory_root, "pack", "red wheel", "--format", "json", "--at", AT)
    assert again.out == as_json.out
    for form in ("claude", "codex"):
        shown = cli("--root", memory_root, "pack", "red wheel", "--format", form, "--budget", "90")
        assert "talk/msg_1" in shown.out


def test_a_budget_too_small_for_anything_is_told_with_the_smallest_that_is_not(
    cli: Cli, memory_root: Path
) -> None:
    for words in ("red wheel", "xylophone"):
        pack = ["--root", str(memory_root), "pack", words, "--session", "talk", "--at", AT]
        told = cli(*pack, "--budget", "4")
        assert told.out == ""
        assert "shown instead" not in told.err
        [least] = re.findall(r"too small for anything: --budget (\d+) holds", told.err)
        assert cli(*pack, "--budget", least).out
        assert not cli(*pack, "--budget", str(int(least) - 1)).out


def test_a_query_that_misses_says_so(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pack", "xylophone", "--session", "talk")
    assert told.code == 0
    assert "said last is shown instead" in told.err


def test_two_packs_are_compared(cli: Cli, memory_root: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    done = cli("--root", memory_root, "pack", "red wheel", "--format", "json", "-o", old)
    assert f"{old.stat().st_size:,} bytes" in done.out
    same = cli("--root", memory_root, "pack", "red wheel", "--diff", old)
    assert (same.code, same.out) == (0, "")
    assert "nothing is different" in same.err
    other = ["--root", memory_root, "pack", "red wheel", "--session", "talk", "--diff", old]
    told = cli(*other)
    assert any(line.startswith("+ ") for line in told.out.splitlines())
    assert {"added", "removed"} == set(cli(*other, "--json").data)
    old.write_text("{}")
    assert cli(*other).code == 2


def test_a_handoff_becomes_a_file_of_its_own_name(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    assert cli("--root", memory_root, "handoff", "-o", tmp_path, "--at", AT).code == 0
    text = (tmp_path / "HANDOFF_talk_2026-11-20.md").read_text()
    assert text.startswith("# Handoff")
    assert cli("--root", memory_root, "handoff", "-o", tmp_path, "--at", AT, "--json").code == 0
    assert json.loads((tmp_path / "HANDOFF_talk_2026-11-20.json").read_text())["summary"]
    assert cli("--root", memory_root, "synopsis", "--session", "talk").out.startswith("# Synopsis")


def test_handoffs_of_sessions_in_any_script_are_files_apart(cli: Cli, tmp_path: Path) -> None:
    names = ["引っ越し", "開店", "مكتبة", "длинное " * 16, "a b [msg_1]", "💡"]

    async def talk() -> None:
        async with pagefault.open(tmp_path / "m") as memory:
            for name in names:
                await (await memory.session(name.strip())).user("The key is with Ada.")

    asyncio.run(talk())
    for name in names:
        asked = ("handoff", "--session", name.strip(), "-o", tmp_path, "--at", AT)
        told = cli("--root", tmp_path / "m", *asked)
        assert told.code == 0, told.err
    made = sorted(one.name for one in tmp_path.glob("HANDOFF_*_2026-11-20.md"))
    assert len(made) == len(names)
    assert {"HANDOFF_開店_2026-11-20.md", "HANDOFF_session_2026-11-20.md"} < set(made)


def test_what_is_empty_says_so_and_a_folder_that_is_not_there_is_named(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    here = ("--root", memory_root)
    assert "nothing changed" in cli(*here, "digest", "--since", "2099-01-01").err
    for words in (["pack"], ["report", "talk"]):
        told = cli(*here, *words, "-o", tmp_path / "nö" / "x")
        assert told.code == 4
        assert f"{tmp_path / 'nö'}: No such file or directory" in told.err
        told = cli(*here, *words, "-o", tmp_path / ("x" * 250))
        assert (told.code, "xx: File name too long" in told.err) == (4, True)
        assert not list(tmp_path.glob(".x*"))
    printed = cli(*here, "pack", "-o", "-", "--at", AT)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reading:
        read = reading.submit(pipe.read_text)
        assert cli(*here, "pack", "-o", pipe, "--at", AT).code == 0
        assert read.result() == printed.out
    assert pipe.is_fifo(), "no file takes the place of a pipe or a device"
    assert printed.out == cli(*here, "pack", "--at", AT).out != ""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, the second after the tag v1, and settings that would run a program."""
    there = tmp_path / "repository"
    there.mkdir()
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")

    def git(*words: str) -> None:
        named = ["-c", "user.name=Ann", "-c", "user.email=ann@pagefault.test"]
        subprocess.run(["git", *named, *words], cwd=there, check=True, capture_output=True)

    git("init", "-q")
    (there / "lid.py").write_text("1")
    git("add", ".")
    git("commit", "-q", "-m", "Begin")
    git("tag", "v1")
    (there / "lid.py").write_text("2")
    (there / "a b.md").write_text("3")
    git("add", ".")
    git("commit", "-q", "-m", "Tighten the lid")
    for key in ("core.pager", "core.fsmonitor", "diff.external", "gpg.program"):
        git("config", key, f"touch {tmp_path}/ran")
    monkeypatch.chdir(there)
    return there


@pytest.mark.usefixtures("repository")
def test_a_digest_reads_a_range_of_commits_and_runs_nothing_of_theirs(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    told = cli("--root", memory_root, "digest", "--git", "v1..HEAD", "--json")
    assert [line["text"].partition(": ")[2] for line in told.data["commits"]] == [
        "Tighten the lid (2 files)"
    ]
    assert {line["text"] for line in told.data["changed_files"]} == {
        "edited lid.py", "written a b.md",
    }  # fmt: skip
    assert told.data["source_mix"] == {"git": 1}
    for bad in ("v9..HEAD", "--output=stolen", "-n1", "\n"):
        refused = cli("--root", memory_root, "digest", "--git", bad)
        assert refused.code == 2, bad
        assert "git does not know" in refused.err
    assert not [*tmp_path.glob("*ran*"), *tmp_path.rglob("stolen*")]
