"""What the commands say of a memory that is damaged, and what they advise."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.errors import ArchiveMissing
from pagefault.model.events import Body
from pagefault.service.bootstrap import open_memory
from pagefault.store import codec
from pagefault.store.embedded.archiver import archive
from tests.cli.conftest import Cli
from tests.store.roots import make_segments_tiny


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


def test_a_record_that_is_whole_and_cannot_be_understood_is_set_aside(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that another version wrote would be."""
    encoded = codec.encode_body

    def of_elsewhere(body: Body) -> bytes:
        told = encoded(body)
        return told.replace(b'"role":"user"', b'"role":"oracle"') if b"riddle" in told else told

    async def make() -> None:
        async with open_memory(tmp_path / "m") as memory:
            session = await memory.session("talk")
            await session.user("A riddle.")
            await session.user("Something plain.")

    monkeypatch.setattr(codec, "encode_body", of_elsewhere)
    asyncio.run(make())
    monkeypatch.undo()
    verified = cli("--root", tmp_path / "m", "verify", "--json")
    assert (verified.code, verified.data["problems"]) == (0, [])
    assert verified.data["set_aside"] == ["record 2: it is not what its type says: role"]
    assert "nothing is damaged" in cli("--root", tmp_path / "m", "repair").out
    assert cli("--root", tmp_path / "m", "rebuild", "--json").data["set_aside"] == 1
    told = cli("--root", tmp_path / "m", "pages", "ls", "talk").out
    assert "Something plain" in told
    assert "riddle" not in told


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
    doctor = cli("--root", memory_root, "doctor", "--no-canary")
    assert "goes on without them" in " ".join((doctor.out + doctor.err).split())


@pytest.mark.parametrize(
    "command", ["sessions", "verify", "repair", "rebuild", "doctor --no-canary"]
)
def test_a_log_without_its_root_file_is_no_missing_memory(
    command: str, cli: Cli, memory_root: Path
) -> None:
    (memory_root / "root.json").unlink()
    told = cli("--root", memory_root, *command.split())
    said = " ".join((told.out + told.err).split())
    assert "has a log but no root.json" in said
    assert "from a backup" in said
    assert told.code != 0


def test_a_file_is_no_memory_that_lost_its_root_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text("{}")
    told = cli("--root", tmp_path / "talk.jsonl", "status")
    assert "it is a file" in told.err
    assert "backup" not in told.err
    assert told.code == 3


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--root", "chat", "sessions"], "interrupted"),
        (["--root", "m", "chat"], "interrupted: what was acknowledged is stored"),
        (["rebuild", "--root", "m"], "interrupted: run it again"),
    ],
)
def test_who_interrupts_a_command_is_told_what_that_means(
    argv: list[str], said: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **how: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pagefault.cli.root.root.main", interrupt)
    told = cli(*argv)
    assert told.code == 130
    assert told.err.strip() == said


# --- an archive that is not there ---------------------------------------------------------------


@pytest.fixture
def unmounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory of two sessions whose older records are on a disk that is not mounted."""
    make_segments_tiny(monkeypatch)
    root = tmp_path / "m"

    async def talk() -> None:
        async with open_memory(root) as memory:
            old = await memory.session("old")
            await old.user("The red wheel has thirty-six spokes.")
            for number in range(30):
                await old.user(f"Filler number {number}, about the weather in the valley.")
            new = await memory.session("new")
            await new.user("A red wheel was found in the barn.")

    asyncio.run(talk())
    archive(root, clock=SystemClock(), to=tmp_path / "cold", keep=1)  # so short a talk would stay
    (tmp_path / "cold").rename(tmp_path / "away")
    return root


def test_a_search_gives_what_is_there_and_says_what_is_not(
    unmounted: Path, tmp_path: Path, cli: Cli
) -> None:
    cold = str(tmp_path / "cold")
    told = cli("--root", unmounted, "search", "red", "wheel", "--json")
    assert told.code == 0
    assert len(told.data["hits"]) > 2
    hits = {(hit["session"], hit["page_id"]): hit for hit in told.data["hits"]}
    assert hits["new", "msg_1"]["hint"].startswith("A red wheel was found")
    assert hits["new", "msg_1"]["archive"] == ""
    assert hits["old", "msg_1"]["hint"] == "(archived)"
    assert hits["old", "msg_1"]["archive"] == cold
    shown = cli("--root", unmounted, "search", "red", "wheel")
    assert shown.code == 0
    assert "A red wheel was found" in shown.out
    assert "(archived)" in shown.out
    assert re.search(
        rf"the text of \d hits is in the archive at {cold}, which is not there", shown.err
    )
    read = cli(
        "--root",
        unmounted,
        "pages",
        "show",
        "msg_1",
        "--session",
        hits["old", "msg_1"]["session_id"],
    )
    assert read.code != 0
    assert "mount it" in read.err
    (tmp_path / "away").rename(cold)
    back = cli("--root", unmounted, "search", "red", "wheel", "--json").data["hits"]
    assert {(hit["session"], hit["page_id"]) for hit in back} <= hits.keys()
    assert ("old", "msg_1") in {(hit["session"], hit["page_id"]) for hit in back}
    assert all(hit["archive"] == "" and hit["hint"] != "(archived)" for hit in back)


async def test_a_program_is_told_which_hits_are_out_of_reach(
    unmounted: Path, tmp_path: Path
) -> None:
    async with open_memory(unmounted, read_only=True) as memory:
        found = await memory.recall("red wheel")
        away = next(hit for hit in found.out_of_reach if hit.page.page_id == "msg_1")
        assert away.archive == str(tmp_path / "cold")
        with pytest.raises(ArchiveMissing, match="cold") as refused:
            await memory.read(away.page)
        assert "mount it" in refused.value.hint
        there = [hit.page for hit in found.hits if not hit.archive]
        assert "barn" in " ".join([(await memory.read(page)).text for page in there])
