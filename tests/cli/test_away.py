"""An archive that is away takes away what is in it, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import ArchiveMissing
from pagefault.service import restore
from pagefault.service.bootstrap import open_memory
from tests.adopted import copied
from tests.cli.conftest import Cli
from tests.store.roots import make_segments_tiny

READING = (
    ("sessions",),
    ("pages", "ls", "--all", "--session", "talk"),
    ("status", "talk"),
    ("status", "aside"),
    ("abi", "talk"),
    ("claims", "ls", "talk"),
    ("search", "spokes"),
    ("recall", "recent"),
    ("faults", "--session", "aside"),
    ("ledger", "talk"),
    ("verify",),
    ("doctor", "--no-canary"),
    ("goal", "talk"),
)


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long memory of many segments."""
    root = tmp_path_factory.mktemp("away") / "memory"
    with pytest.MonkeyPatch.context() as patch:
        _shorten(patch)
        asyncio.run(_talk(root))
    return root


def _shorten(patch: pytest.MonkeyPatch) -> None:
    make_segments_tiny(patch)
    patch.setattr(restore, "REACH_TURNS", 5)  # or all of so short a talk would stay


async def _talk(root: Path) -> None:
    async with open_memory(root, window=2_000) as memory:
        session = await memory.session("talk", system="You count spokes.")
        await session.user("We decided to use steel for the spokes.")
        await session.user("Please always answer in German.")
        for number in range(40):
            await session.user(f"Filler {number}, about the weather in the valley. " * 3)
            await session.request()
            await session.assistant("I see. " * 10)
        await session.pin("msg_1")
        fork = await session.fork("aside")
        await fork.user("How many spokes has it?")
        other = await memory.session("dormant")
        await other.user("Nobody comes back to this for long.")
        await other.request()
        for number in range(20):
            await session.user(f"More filler {number}, about the hills. " * 3)
            await session.request()
            await session.assistant("I see. " * 10)


@pytest.fixture
def archived(cli: Cli, talked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A long memory, nearly all of it in an archive elsewhere."""
    _shorten(monkeypatch)
    root = copied(talked, tmp_path / "memory")
    told = cli("--root", root, "archive", "--keep", "0", "--to", tmp_path / "cold", "--json")
    assert len(told.data["segments"]) > 10
    return root


async def _requests(root: Path) -> list[object]:
    """What each session would send now, from a copy of nothing: its window, not yet written."""
    told: list[object] = []
    async with pagefault.open(root, read_only=True) as memory:
        for name in ("talk", "aside", "dormant"):
            session = await memory.session(name, create=False)
            status = await session.status()
            told.append((name, status, session.resident()))
            told.append(
                [(one.claim_id, one.status, one.authority) for one in await session.claims()]
            )
    return told


def test_every_session_opens_as_it_was_while_the_archive_is_away(
    archived: Path, tmp_path: Path
) -> None:
    before = asyncio.run(_requests(archived))
    (tmp_path / "cold").rename(tmp_path / "unmounted")
    assert asyncio.run(_requests(archived)) == before
    (tmp_path / "unmounted").rename(tmp_path / "cold")
    assert asyncio.run(_requests(archived)) == before


def test_every_command_serves_the_rest_and_says_what_is_away(
    cli: Cli, archived: Path, tmp_path: Path
) -> None:
    (tmp_path / "cold").rename(tmp_path / "unmounted")
    for words in READING:
        told = cli("--root", archived, *words)
        assert told.code == (words[0] in ("verify", "doctor")), (words, told.err)
        assert f"{tmp_path / 'cold'}, which is not there" in told.err + told.out, words


def test_sessions_go_on_while_the_archive_is_away_and_nothing_is_lost(
    cli: Cli, archived: Path, tmp_path: Path
) -> None:
    (tmp_path / "cold").rename(tmp_path / "unmounted")

    async def go_on() -> None:
        async with pagefault.open(archived) as memory:
            for name in ("talk", "aside", "dormant"):
                session = await memory.session(name, create=False)
                await session.user("And now for something else.")
                request = await session.request()
                assert "something else" in request.messages[-1].content
                await session.assistant("Certainly.")
            fork = await session.fork("later")
            await fork.user("A fork made meanwhile.")
            hits = (await session.recall("something else")).hits
            assert hits
            talk = await memory.session("talk", create=False)
            first, *_ = await memory.pages(talk, after=3, limit=1)
            with pytest.raises(ArchiveMissing):
                await memory.read(first)

    asyncio.run(go_on())
    (tmp_path / "unmounted").rename(tmp_path / "cold")
    assert cli("--root", archived, "verify").code == 0
    names = {one["name"] for one in cli("--root", archived, "sessions", "--json").data}
    assert names == {"talk", "aside", "dormant", "later"}

    async def read_all() -> int:
        async with pagefault.open(archived) as memory:
            talk = await memory.session("talk", create=False)
            return len([await memory.read(row) for row in await memory.pages(talk, limit=500)])

    assert asyncio.run(read_all()) > 100


def test_a_hit_that_is_out_of_reach_is_marked(cli: Cli, archived: Path, tmp_path: Path) -> None:
    (tmp_path / "cold").rename(tmp_path / "unmounted")
    told = cli("--root", archived, "search", "Filler 3 weather", "--limit", "20")
    assert told.code == 0
    assert "archive" in told.out


def test_an_index_that_is_lost_meanwhile_is_made_of_the_rest_and_only_read(
    cli: Cli, archived: Path, tmp_path: Path
) -> None:
    (tmp_path / "cold").rename(tmp_path / "unmounted")
    (archived / "index.db").unlink()
    assert cli("--root", archived, "search", "something hills").code == 0
    told = cli("--root", archived, "pages", "unpin", "msg_1", "--session", "talk")
    assert told.code == 4
    assert not (archived / "index.db").exists()
    (tmp_path / "unmounted").rename(tmp_path / "cold")
    assert cli("--root", archived, "pages", "unpin", "msg_1", "--session", "talk").code == 0


def test_what_stayed_is_forgotten_with_what_is_archived(
    cli: Cli, archived: Path, tmp_path: Path
) -> None:
    import zlib

    words = b"steel for the spokes"

    def holding() -> list[str]:
        found = []
        for file in [*archived.rglob("*"), *(tmp_path / "cold").rglob("*")]:
            data = file.read_bytes() if file.is_file() else b""
            while data[:2] == b"\x1f\x8b":
                member = zlib.decompressobj(31)
                if words in member.decompress(data):
                    found.append(file.name)
                data = member.unused_data
            if words in data:
                found.append(file.name)
        return found

    assert any(name.endswith(".kept") for name in holding())
    told = cli("--root", archived, "forget", "--session-whole", "--session", "talk", "--yes")
    assert told.code == 0, told.err
    told = cli("--root", archived, "forget", "--session-whole", "--session", "aside", "--yes")
    assert told.code == 0, told.err
    assert holding() == []
    assert cli("--root", archived, "verify").code == 0


def test_what_went_to_the_archive_is_told_to_be_there_whether_it_can_be_reached_or_not(
    cli: Cli, archived: Path, tmp_path: Path
) -> None:
    seen = []
    for place in ("cold", "elsewhere"):
        listed = cli("--root", archived, "pages", "ls", "dormant", "--json").data["pages"]
        assert [page["tier"] for page in listed] == ["L0"]
        pages = cli("--root", archived, "pages", "ls", "talk", "--all", "--json").data["pages"]
        tiers = {page["page_id"]: page["tier"] for page in pages}
        seen.append(tiers)
        assert tiers["msg_9"] == "L4"
        assert all((page["tier"] == "L0") == page["resident"] for page in pages)
        told = cli("--root", archived, "status", "talk", "--json").data["metrics"]["tiers"]
        assert told["L4"]["pages"] > 30
        if place == "cold":
            (tmp_path / "cold").rename(tmp_path / "elsewhere")
    assert seen[0] == seen[1]
    assert set(seen[0].values()) == {"L0", "L4"}
    assert "L4" in cli("--root", archived, "status", "talk", "--all").out
