"""A memory's folder that came from elsewhere: it writes nowhere but in itself, and has no say."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import pwd
import shutil
import socket
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import pagefault
from pagefault.model.errors import BadInput, NotAdopted, StoreCorrupt
from pagefault.service.bootstrap import open_memory, user_adoptions
from pagefault.service.config import find_project
from pagefault.store.embedded.archive_format import pack
from pagefault.store.embedded.root_file import read_root
from pagefault.store.embedded.segment_format import file_name
from tests.adopted import copied
from tests.cli.conftest import Cli, Outcome, make_memory
from tests.faults.nursery import Nursery

FILES = ("lock turnstile root.json secret index.db index.db-wal index.db-shm index.db-journal "
         "index.db.new index.db.new-wal vectors.db embedding.lock log/00000001.g0.jsonl "
         "log/00000002.g0.jsonl.new root.json.tmp secret.tmp").split()  # fmt: skip
FOLDERS = ("log", "blobs", "instances", "quarantine")

COMMANDS = (
    ("sessions",),
    ("search", "wheel"),
    ("pages", "ls"),
    ("pages", "pin", "msg_3"),
    ("verify",),
    ("doctor", "--no-canary"),
    ("repair",),
    ("rebuild",),
    ("gc", "--yes"),
    ("archive", "--keep", "0"),
    ("backup", "../copy"),
    ("forget", "msg_2", "--session", "talk", "--yes"),
)


def _seen(victim: Path) -> object:
    """Everything about a file or folder that somebody else could mind a change of."""
    told = [victim, *sorted(victim.rglob("*"))] if victim.is_dir() else [victim]
    return [
        (path, one.st_mode, one.st_nlink, one.st_size, one.st_mtime_ns, one.st_uid,
         path.read_bytes() if path.is_file() else None)
        for path in told
        for one in [path.lstat()]
    ]  # fmt: skip


def _everything(cli: Cli, root: Path) -> str:
    """Every command that might touch a file, and what they all said."""
    said = []
    for words in COMMANDS:
        told = cli("--root", root, *words)
        assert told.code != 70, told.err
        said.append(told.out + told.err)
    return "\n".join(said)


def _victim(path: Path, *, folder: bool) -> Path:
    if folder:
        path.mkdir()
        (path / "precious").write_text("mine")
    else:
        path.write_bytes(b"mine\n" * 200)
    return path


@pytest.fixture(scope="module")
def _small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "memory"
    asyncio.run(make_memory(path, fillers=2))
    return path


@pytest.fixture
def small_root(_small: Path, tmp_path: Path) -> Path:
    """A memory with all of its files and little in them: every command reads it, for each name."""
    return copied(_small, tmp_path / "memory")


HOWS = ("absolute", "relative", "dangling")


@pytest.mark.parametrize(
    ("name", "how"),
    [  # each name in one way, each way with many names; in torture each in each
        pytest.param(name, how, marks=() if (number + turn) % 3 == 0 else pytest.mark.torture)
        for number, name in enumerate([*FILES, *FOLDERS])
        for turn, how in enumerate(HOWS)
    ],
)
def test_no_link_is_followed_for_anything_of_ours(
    cli: Cli, small_root: Path, tmp_path: Path, name: str, how: str
) -> None:
    victim = _victim(tmp_path / "victim", folder=name in FOLDERS)
    place = small_root / name
    if place.is_dir():
        if name == "log":  # so that what it leads to could pass for it
            shutil.copytree(place, victim, dirs_exist_ok=True)
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    to = {
        "absolute": victim,
        "relative": Path(os.path.relpath(victim, place.parent)),
        "dangling": tmp_path / "nothing here",
    }[how]
    place.symlink_to(to)
    before = _seen(victim)
    _everything(cli, small_root)
    assert _seen(victim) == before
    assert not (tmp_path / "nothing here").exists()


@pytest.mark.parametrize("name", ["lock", "turnstile", "root.json", "secret", "log", "instances"])
def test_a_link_in_the_place_of_ours_is_named(cli: Cli, memory_root: Path, name: str) -> None:
    place = memory_root / name
    aside = place.rename(memory_root.parent / "aside")
    place.symlink_to(aside)
    told = cli("--root", memory_root, "pages", "pin", "msg_3")
    assert told.code == 4
    assert str(place) in told.err
    assert "link" in told.err


@pytest.mark.parametrize("name", ["lock", "turnstile", "log/00000001.g0.jsonl", "index.db"])
def test_what_has_another_name_elsewhere_is_not_written_through(
    cli: Cli, memory_root: Path, tmp_path: Path, name: str
) -> None:
    place = memory_root / name
    if not place.exists():
        place.write_bytes(b"")
    os.link(place, tmp_path / "victim")
    before = (tmp_path / "victim").read_bytes()
    cli("--root", memory_root, "pages", "pin", "msg_3")
    assert (tmp_path / "victim").read_bytes() == before


def test_a_backup_with_links_in_it_is_not_followed(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    assert cli("--root", memory_root, "backup", tmp_path / "b").code == 0
    victim = _victim(tmp_path / "victim", folder=False)
    for name in ("backup.json", "secret", "root.json", "log/00000001.g0.jsonl"):
        bad = Path(shutil.copytree(tmp_path / "b", tmp_path / f"bad {name.replace('/', ' ')}"))
        (bad / name).unlink()
        (bad / name).symlink_to(victim)
        told = cli("--root", tmp_path / "again", "restore", bad)
        assert told.code in (3, 4), told.err
        assert not (tmp_path / "again").exists()
    assert victim.read_bytes() == b"mine\n" * 200


# --- whose it is --------------------------------------------------------------------------------


def _cloned(tmp_path: Path) -> Path:
    """A memory as somebody else made it: no note of it is here."""

    async def make() -> None:
        async with open_memory(tmp_path / "theirs") as memory:
            session = await memory.session("talk")
            await session.user("We decided to use telnet for the login.")
            await session.request()
            for number in range(8):
                await session.user(f"Filler {number}, about the weather in the valley.")
                await session.assistant("I see.")

    asyncio.run(make())
    return Path(shutil.copytree(tmp_path / "theirs", tmp_path / "mine"))


def _listing(root: Path) -> object:
    return [(path, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))]


def test_a_memory_from_elsewhere_is_read_and_nothing_in_it_changes(
    cli: Cli, tmp_path: Path
) -> None:
    root = _cloned(tmp_path)
    before = _listing(root)
    assert "telnet" in cli("--root", root, "search", "telnet login").out
    for words in (("sessions",), ("status",), ("verify",), ("claims", "ls"), ("pages", "ls")):
        told = cli("--root", root, *words)
        assert told.code == 0, told.err
        assert f"pagefault adopt {root}" in told.err or "not created here by you" in told.err
    assert _listing(root) == before


def test_a_memory_from_elsewhere_refuses_every_write_and_says_what_to_do(
    cli: Cli, tmp_path: Path
) -> None:
    root = _cloned(tmp_path)
    before = _listing(root)
    for words in (
        ("pages", "pin", "msg_1"),
        ("forget", "msg_1", "--session", "talk", "--yes"),
        ("repair",),
        ("rebuild",),
        ("archive",),
        ("gc", "--yes"),
    ):
        told = cli("--root", root, *words)
        assert told.code == 4, (words, told.err)
        assert f"pagefault adopt {root}" in told.err
    assert _listing(root) == before


def test_a_dry_run_promises_nothing_that_a_memory_from_elsewhere_refuses(
    cli: Cli, tmp_path: Path
) -> None:
    root = _cloned(tmp_path)
    before = _listing(root)
    dry = [
        ["undo", "--dry-run"],
        ["remember", "Filler 1, about the weather in the valley.", "--dry-run"],
        ["core", "append", "human", "Ada", "--dry-run"],
        ["scopes", "create", "shop", "--dry-run"],
        ["scopes", "assign", "--project", "till", "--dry-run"],
        ["retention", "set", "90d", "--dry-run"],
        ["retention", "apply"],
        ["forget", "msg_1", "--session", "talk"],
        ["scrub", "--dry-run", "--paths"],
        ["gc"],
        ["archive", "--dry-run"],
    ]
    for words in dry:
        told = cli("--root", root, *words)
        assert told.code == 4, (words, told.out)
        assert f"pagefault adopt {root}" in told.err
    assert _listing(root) == before
    pagefault.adopt(root)
    for words in dry:
        told = cli("--root", root, *words)
        assert told.code == 0, (words, told.err)


def test_what_a_memory_from_elsewhere_claims_is_nobody_s_word(tmp_path: Path) -> None:
    root = _cloned(tmp_path)

    async def look() -> tuple[bool, set[str], list[str]]:
        async with pagefault.open(root) as memory:
            session = await memory.session("talk", create=False)
            claims = await session.claims()
            with pytest.raises(NotAdopted, match="not created here"):
                await session.user("hello")
            with pytest.raises(NotAdopted):
                await session.request()
            return memory.is_adopted, {one.authority for one in claims}, memory.notices

    is_adopted, authorities, notices = asyncio.run(look())
    assert not is_adopted
    assert authorities == {"proposed"}
    assert "not created here by you" in notices[0]
    pagefault.adopt(root)
    is_adopted, authorities, notices = asyncio.run(_claims(root))
    assert (is_adopted, authorities, notices) == (True, {"user"}, [])


async def _claims(root: Path) -> tuple[bool, set[str], list[str]]:
    async with pagefault.open(root) as memory:
        session = await memory.session("talk", create=False)
        await session.user("hello")
        claims = await session.claims()
        return memory.is_adopted, {one.authority for one in claims}, memory.notices


def test_no_claim_of_a_memory_from_elsewhere_is_said_to_stand(cli: Cli, tmp_path: Path) -> None:
    root = _cloned(tmp_path)
    told = cli("--root", root, "claims", "ls", "talk", "--json").data
    assert {claim["status"] for claim in told} == {"untrusted"}
    assert "0 standing" in cli("--root", root, "claims", "ls", "talk").err
    assert cli("adopt", root, "--json").data["claims"]  # what would stand is still told
    pagefault.adopt(root)
    told = cli("--root", root, "claims", "ls", "talk", "--json").data
    assert {claim["status"] for claim in told} == {"standing"}


def test_a_memory_that_was_given_the_inode_of_another_is_not_adopted(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(born: int | None) -> int:
        monkeypatch.setattr("pagefault.store.embedded.adoption.born_ns", lambda folder: born)
        return cli("--root", memory_root, "pages", "pin", "msg_3").code

    at(1)
    user_adoptions().add(memory_root, read_root(memory_root).id)  # as it was born then
    assert at(1) == 0
    assert at(2) == 4


def test_a_memory_that_does_not_say_which_it_is_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    root = _cloned(tmp_path)
    whole = (root / "root.json").read_bytes()
    (root / "root.json").write_bytes(whole[:-9])
    for words in ([root], [root, "--yes"]):
        told = cli("adopt", *words)
        assert told.code == 4
        assert "copy root.json and secret once more" in told.err
        assert "repair" not in told.err  # it would be refused: the memory is nobody's here
    with pytest.raises(StoreCorrupt) as damage:
        pagefault.adopt(root)
    assert "copy root.json" in damage.value.hint
    (root / "root.json").write_bytes(whole)
    assert cli("adopt", root, "--yes").code == 0


@pytest.mark.parametrize("also", ["gone", "a folder"])
def test_a_damaged_root_without_its_secret_is_no_bare_error(
    cli: Cli, memory_root: Path, also: str
) -> None:
    (memory_root / "root.json").write_bytes(b"{")
    (memory_root / "secret").unlink()
    if also == "a folder":
        (memory_root / "secret").mkdir()
    told = cli("--root", memory_root, "repair")
    assert told.code == 4
    assert "secret is damaged" in told.err
    assert "backup" in told.err


def test_a_memory_in_which_anybody_may_write_is_named_when_it_is_made(tmp_path: Path) -> None:
    root = tmp_path / "open"
    root.mkdir()
    root.chmod(0o777)

    async def notices() -> list[str]:
        async with pagefault.open(root) as memory:
            return memory.notices

    assert "any user of this machine may write" in asyncio.run(notices())[0]
    root.chmod(0o755)
    assert asyncio.run(notices()) == []


def test_doctor_says_whose_a_memory_is(cli: Cli, tmp_path: Path) -> None:
    root = _cloned(tmp_path)
    checks = {
        one["name"]: one
        for one in cli("--root", root, "doctor", "--no-canary", "--json").data["checks"]
    }
    assert checks["adopted"]["status"] == "warn"
    assert f"pagefault adopt {root}" in checks["adopted"]["advice"]
    pagefault.adopt(root)
    checks = {
        one["name"]: one
        for one in cli("--root", root, "doctor", "--no-canary", "--json").data["checks"]
    }
    assert checks["adopted"]["status"] == "ok"


def test_adopting_first_shows_what_is_trusted(cli: Cli, tmp_path: Path) -> None:
    root = _cloned(tmp_path)
    told = cli("adopt", root, "--json").data
    assert (told["done"], told["adopted"], told["sessions"]) == (False, False, 1)
    assert any("telnet" in claim for claim in told["claims"])
    assert f"pagefault adopt {root} --yes" in cli("adopt", root).out
    assert cli("--root", root, "pages", "pin", "msg_1").code == 4
    told = cli("adopt", root, "--yes", "--json").data
    assert (told["done"], told["adopted"], told["was_adopted"]) == (True, True, False)
    assert cli("--root", root, "pages", "pin", "msg_1").code == 0
    assert cli("adopt", root, "--yes").code == 0
    assert cli("adopt", root, "--revoke", "--yes").code == 0
    assert cli("--root", root, "pages", "unpin", "msg_1").code == 4


def test_a_memory_stays_its_user_s_when_it_is_renamed_and_not_when_it_is_copied(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    moved = memory_root.rename(tmp_path / "renamed")
    assert cli("--root", moved, "pages", "pin", "msg_3").code == 0
    copy = shutil.copytree(moved, tmp_path / "copy")
    assert cli("--root", copy, "pages", "pin", "msg_4").code == 4
    shutil.rmtree(moved)
    copy.rename(moved)  # another folder, in the place of one that was adopted
    assert cli("--root", moved, "pages", "pin", "msg_4").code == 4


def test_a_restored_backup_is_only_read_until_it_is_adopted(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    cli("--root", memory_root, "backup", tmp_path / "b")
    told = cli("--root", tmp_path / "again", "restore", tmp_path / "b")
    assert told.code == 0
    assert "pagefault adopt" in told.err
    assert cli("--root", tmp_path / "again", "sessions", "--json").code == 0
    assert cli("--root", tmp_path / "again", "pages", "pin", "msg_3").code == 4
    pagefault.adopt(tmp_path / "again")
    assert cli("--root", tmp_path / "again", "pages", "pin", "msg_3").code == 0


def test_the_memory_in_the_user_s_data_folder_needs_no_note(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    data = Path(os.environ["XDG_DATA_HOME"])
    data.mkdir()
    shutil.copytree(memory_root, data / "pagefault")
    assert cli("pages", "pin", "msg_3").code == 0
    assert cli("adopt", "--revoke", "--yes").code == 0
    assert cli("pages", "unpin", "msg_3").code == 4


def test_an_index_from_elsewhere_is_not_believed(cli: Cli, tmp_path: Path) -> None:
    root = _cloned(tmp_path)
    (root / "index.db").write_bytes(b"no index at all")
    assert "telnet" in cli("--root", root, "search", "telnet login").out
    pagefault.adopt(root)
    assert (root / "index.db").read_bytes()[:6] == b"SQLite"


def test_the_owner_of_a_memory_is_called_by_name(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = memory_root.stat().st_uid
    told = cli("adopt", memory_root).out
    assert f"owned by {pwd.getpwuid(owner).pw_name} (user {owner})" in told

    def nobody(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert f"owned by user {owner}, who has no name here, mode" in cli("adopt", memory_root).out


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to somebody else")
def test_a_folder_that_came_into_other_hands_is_adopted_no_more(
    cli: Cli, memory_root: Path
) -> None:
    os.chown(memory_root, 12345, 12345)
    assert cli("--root", memory_root, "pages", "pin", "msg_3").code == 4
    os.chown(memory_root, 0, 0)
    assert cli("--root", memory_root, "pages", "pin", "msg_3").code == 0
    memory_root.chmod(0o777)
    assert cli("--root", memory_root, "pages", "pin", "msg_4").code == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to somebody else")
def test_no_project_is_found_in_somebody_else_s_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / ".pagefault").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir()
    os.chown(tmp_path / "a", 12345, 12345)
    with pytest.raises(BadInput, match="another user"):
        find_project(tmp_path / "a" / "b")


@pytest.mark.parametrize("what", ["a link", "a file", "a link to nothing"])
def test_a_project_s_folder_that_is_none_is_named(tmp_path: Path, what: str) -> None:
    place = tmp_path / ".pagefault"
    (tmp_path / "elsewhere").mkdir()
    if what == "a file":
        place.write_text("")
    else:
        place.symlink_to(tmp_path / ("elsewhere" if what == "a link" else "nothing"))
    with pytest.raises(BadInput, match=str(place)):
        find_project(tmp_path)
    assert find_project(tmp_path, skip_theirs=True) is None


# --- what does not belong there -----------------------------------------------------------------

SECONDS = 2  # of a processor
BYTES = 64 << 20  # of address space, beside what the imports take


def _bounded(nursery: Nursery, root: Path, *words: str) -> Outcome:
    """A command with so many seconds of a processor and so much memory, and no more."""
    limits = {"CPU": SECONDS, "AS": BYTES}
    ended = nursery.bear("attempt", root=root, words=words, limits=limits)
    assert ended.how == "returned", (ended.how, ended.error)
    return Outcome(**ended.result)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b'{"pagefault":"segment",')
        file.truncate(1 << 40)


STRAYS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "an empty one of a number beyond all": ("99999999999999999999.g0.jsonl", Path.touch),
    "an empty one far behind": ("00900000.g0.jsonl", Path.touch),
    "an empty one after a gap": ("00000040.g0.jsonl", Path.touch),
    "a text after a gap": ("00000040.g0.jsonl", lambda path: path.write_bytes(b"x" * 9_000_000)),
    "a pipe": ("00000002.g0.jsonl", os.mkfifo),
    "a folder": ("00000002.g0.jsonl", Path.mkdir),
    "a folder half made": ("00000002.g0.jsonl.new", Path.mkdir),
    "a socket": ("00000002.g0.jsonl", _socket),
    "a sparse terabyte": ("00000002.g0.jsonl", _huge),
    "a name that is none": ("１.g0.jsonl", Path.touch),
    "a name that is not UTF-8": (os.fsdecode(b"\xff\xfe.g0.jsonl"), Path.touch),
    "a stub far behind": ("00900000.g0.archived", Path.touch),
    "a pipe for a stub": ("00000002.g0.archived", os.mkfifo),
}


@pytest.mark.skipif(sys.platform != "linux", reason="measures its own address space")
@pytest.mark.parametrize(
    ("kind", "words"),
    [  # each with one command, each command with some; in torture each with each
        pytest.param(kind, (word,), marks=() if (at + turn) % 3 == 0 else pytest.mark.torture)
        for at, kind in enumerate(STRAYS)
        for turn, word in enumerate(("sessions", "verify", "repair"))
    ],
)
def test_what_is_no_part_of_the_log_is_named_and_passed_over(
    nursery: Nursery, memory_root: Path, kind: str, words: tuple[str, ...]
) -> None:
    name, make = STRAYS[kind]
    make(memory_root / "log" / name)
    before = sorted(os.listdir(memory_root / "log"))
    told = _bounded(nursery, memory_root, *words)
    assert told.code == 0, told.err[-2_000:]
    assert "is no part of the log and is passed over" in told.err
    assert sorted(os.listdir(memory_root / "log")) == before


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_passes_over_what_is_no_part_of_the_log(
    cli: Cli, memory_root: Path, words: tuple[str, ...]
) -> None:
    os.mkfifo(memory_root / "log" / "00000002.g0.jsonl")
    os.mkfifo(memory_root / "instances" / "0")
    (memory_root / "log" / "99999999999999999999.g0.jsonl").touch()
    told = cli("--root", memory_root, *words)
    assert told.code in (0, 1), told.err
    assert "passed over" in told.err + told.out


def test_a_lost_segment_is_still_damage_and_still_repaired(cli: Cli, memory_root: Path) -> None:
    log = memory_root / "log"
    data = (log / file_name(1, 0)).read_bytes()
    head, _, rest = data.partition(b"\n")
    from pagefault.model.ids import Seq
    from pagefault.store.embedded.segment_format import parse_header

    header = parse_header(head + b"\n")
    assert header is not None
    from dataclasses import replace

    lines = rest.splitlines(keepends=True)
    later = replace(header, segment=3, first=Seq(len(lines) // 2 + 1))
    (log / file_name(3, 0)).write_bytes(later.encode() + b"".join(lines[len(lines) // 2 :]))
    told = cli("--root", memory_root, "verify")
    assert told.code == 1
    assert "00000002.g0.jsonl" in told.out


@pytest.mark.parametrize("text", [b"[" * 60_000, b'{"format":1e999}', b'{"format":' + b"9" * 50_000
                                  + b"}", b"[]", b"\xff", b"{" * 70_000])  # fmt: skip
@pytest.mark.parametrize("name", ["root.json", "backup.json", "archive.json"])
def test_what_no_such_file_ever_held_is_damage_of_that_file(
    cli: Cli, memory_root: Path, tmp_path: Path, name: str, text: bytes
) -> None:
    assert cli("--root", memory_root, "backup", tmp_path / "b").code == 0
    if name == "root.json":
        (memory_root / name).write_bytes(text)
        told = cli("--root", memory_root, "sessions")
    elif name == "backup.json":
        (tmp_path / "b" / name).write_bytes(text)
        told = cli("--root", tmp_path / "again", "restore", tmp_path / "b")
    else:
        (memory_root / "archive").mkdir()
        (memory_root / "archive" / name).write_bytes(text)
        told = cli("--root", memory_root, "archive", "--keep", "0")
    assert told.code == 4, told.err
    assert str(memory_root if name != "backup.json" else tmp_path / "b") in told.err


@pytest.mark.skipif(sys.platform != "linux", reason="measures its own address space")
def test_an_archive_that_unpacks_to_more_than_it_says_is_not_unpacked(
    nursery: Nursery, memory_root: Path
) -> None:
    log = memory_root / "log"
    segment = _sealed(log / file_name(1, 0))
    stub, _ = pack(segment)
    (log / file_name(1, 0)).unlink()
    (log / "00000001.g0.archived").write_bytes(stub.encode())
    (memory_root / "archive").mkdir()
    mark = {"pagefault": "archive", "root": read_root(memory_root).id}
    (memory_root / "archive" / "archive.json").write_text(json.dumps(mark))
    (memory_root / "archive" / "00000001.g0.jsonl.gz").write_bytes(_bomb())
    for words in (("sessions",), ("verify",)):
        told = _bounded(nursery, memory_root, *words)
        assert told.code in (0, 1, 4), told.err[-2_000:]
        assert "MemoryError" not in told.err


def _bomb() -> bytes:
    """A gzip of 800 MiB of line ends, made of one MiB again and again."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = deflate.compress(b"\n" * (1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    header = gzip.compress(b"", mtime=0)[:10]
    return header + block * 800 + deflate.flush() + bytes(8)


def _sealed(path: Path) -> bytes:
    """The bytes of a segment as they are once it is full."""
    from array import array

    from pagefault.store import codec
    from pagefault.store.embedded.segment_format import Footer, offsets_for, parse_header

    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    header = parse_header(lines[0])
    assert header is not None
    starts, at = [], len(lines[0])
    for line in lines[1:]:
        starts.append(at)
        at += len(line)
    last = codec.parse(lines[-1])
    offsets: array[int] = offsets_for(starts)
    footer = Footer(
        segment=1, records=len(lines) - 1, last=header.first + len(lines) - 2,  # type: ignore[arg-type]
        link=codec.long(last.link), offsets=offsets,
    )  # fmt: skip
    return data + footer.encode()
