"""`pagefault import`: consent first, then once, then found; and killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import warm
from tests.cli.conftest import Cli, start
from tests.history import exports

ASKED = "What is the code of the vault?"
CODE = "xylophone-seventy-seven"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk"
    said = [{"role": "user", "content": f"The code of the vault is {CODE}."}]
    path.write_text(json.dumps(said))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "m"


def test_nothing_is_written_without_a_yes(cli: Cli, root: Path, talk: Path) -> None:
    asked = cli("--root", root, "import", talk)
    assert asked.code == 2
    assert "messages: 1 new message in 1 conversation" in asked.err
    assert "--yes" in asked.err
    looked = cli("--root", root, "import", talk, "--dry-run", "--json")
    assert (looked.code, looked.data["done"], looked.data["messages"]) == (0, False, 1)
    assert not root.exists(), "not even a memory"
    done = cli("--root", root, "import", talk, "--yes", "--json")
    assert (done.code, done.data["done"], done.data["messages"]) == (0, True, 1)
    again = cli("--root", root, "import", talk, "--dry-run", "--json")
    assert (again.data["messages"], again.data["known"], again.data["import"]) == (0, 1, "")


def test_what_was_imported_is_found_with_its_source_and_listed(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    exports.jsonl(tmp_path / "x", exports.claude_code())
    report = cli("--root", root, "import", tmp_path / "x", "--yes", "--json").data
    found = cli("--root", root, "search", "northern eaves", "--in", "claude", "--json").data
    assert {(hit["source"], hit["project"]) for hit in found["hits"]} == {("claude-code", "tower")}
    shown = cli("--root", root, "search", "northern eaves", "--since", "2025-01-01").out
    assert "claude-code tower" in shown
    assert cli("--root", root, "search", "eaves", "--in", "codex", "--json").data["hits"] == []
    early = cli("--root", root, "search", "eaves", "--in", "claude", "--until", "2024-01-01")
    assert "no matches" in early.err
    listed = cli("--root", root, "import", "list", "--json").data
    assert {(one["source"], one["project"], one["approved"]) for one in listed} == {
        ("claude-code", "tower", False)
    }
    assert {name for one in listed for name in one["imports"]} == {report["import"]}
    assert "Swifts of the tower" in cli("--root", root, "import", "list", "--in", "claude").out


@pytest.mark.parametrize("by", ["--import", "--session", "--in"])
def test_it_is_approved_and_that_is_taken_back(cli: Cli, root: Path, talk: Path, by: str) -> None:
    report = cli("--root", root, "import", talk, "--yes", "--json").data
    [one] = cli("--root", root, "import", "list", "--json").data
    what = {"--import": report["import"], "--session": one["session"], "--in": "messages"}[by]
    [approved] = cli("--root", root, "import", "approve", by, what, "--json").data
    assert approved["approved"]
    [revoked] = cli("--root", root, "import", "revoke", by, what, "--json").data
    assert not revoked["approved"]
    other = "codex" if by == "--in" else "another"
    assert cli("--root", root, "import", "approve", by, other).code == 3


def test_what_is_asked_wrongly_is_wrong_usage(cli: Cli, root: Path, talk: Path) -> None:
    for words in (
        ["import"],
        ["import", talk, "--dry-run", "--yes"],
        ["import", talk, "--for", "3"],
        ["import", "approve"],
        ["import", "approve", "--in", "codex", "--import", "imp_1"],
    ):
        assert cli("--root", root, *words).code == 2, words


def test_what_cannot_be_read_is_listed_and_the_rest_is_kept(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    good = json.dumps({"role": "user", "content": "A good line"})
    path.write_text(f"{good}\n{{not JSON\n{good}\n")
    done = cli("--root", root, "import", path, "--yes")
    assert done.code == 0
    assert f"{path}, line 2: not JSON" in done.err
    (tmp_path / "y").write_bytes(os.urandom(300))
    refused = cli("--root", root, "import", tmp_path / "y", "--yes")
    assert refused.code == 1
    assert "not in a known format" in refused.err


def test_what_is_imported_goes_with_its_session(cli: Cli, root: Path, talk: Path) -> None:
    cli("--root", root, "import", talk, "--yes")
    [one] = cli("--root", root, "import", "list", "--json").data
    name = one["session"]
    told = cli("--root", root, "forget", "msg_1", "--session", name, "--json").data
    assert "imports" in {stays["what"] for stays in told["stays"]}
    assert cli("--root", root, "forget", "--session-whole", "--session", name, "--yes").code == 0
    assert cli("--root", root, "import", "list", "--json").data == []
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    assert not any(b"xylophone" in data for data in files)


@pytest.mark.slow
def test_watching_imports_what_is_added(cli: Cli, root: Path, tmp_path: Path) -> None:
    lines = exports.claude_code()
    path = exports.jsonl(tmp_path / "x" / "s.jsonl", lines[:6])
    process = start(
        "--root", root, "import", path.parent, "--yes", "--json", "--watch", "--for", "300"
    )  # fmt: skip
    assert process.stdout is not None
    told = ""
    while not told.endswith("}\n"):
        told += process.stdout.readline()
    assert json.loads(told)["messages"] > 0
    time.sleep(2.5)  # it looks every two seconds
    exports.jsonl(path, lines)
    added = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    whole = cli("--root", root, "import", path.parent, "--dry-run", "--json").data
    assert added["messages"] > 0
    assert (whole["messages"], whole["known"]) == (
        0,
        json.loads(told)["messages"] + added["messages"],
    )


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(cli: Cli, root: Path, tmp_path: Path) -> None:
    """SIGKILL and Ctrl-C at moments spread over an import; then each message is there once."""
    folder = tmp_path / "x"
    for number in range(40):
        lines = [{"role": "user", "content": f"Message {at} of talk {number}"} for at in range(100)]
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.json").write_text(json.dumps(lines))
    for number, how in enumerate((signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGINT)):
        process = start("--root", root, "import", folder, "--yes", "--json")
        deadline = time.monotonic() + 300
        while not list(root.glob("log/*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.15 * number)
        process.send_signal(how)
        process.communicate(timeout=300)
    report = cli("--root", root, "import", folder, "--yes", "--json").data
    assert report["messages"] + report["known"] == 4_000
    listed = cli("--root", root, "import", "list", "--json").data
    assert sorted(one["pages"] for one in listed) == [100] * 40
    assert cli("--root", root, "verify").code == 0


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_terminal_is_asked(root: Path, talk: Path, answer: str, written: bool) -> None:
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen(
            [*warm.python(), "-m", "pagefault.cli", "--root", root, "import", talk],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        told = b""
        while b"[y/N]" not in told:
            piece = process.stderr.read1(4_096)  # type: ignore[attr-defined]
            assert piece, told
            told += piece
        os.write(ours, answer.encode())
        process.communicate(timeout=300)
        assert process.returncode == (0 if written else 1)
        assert root.exists() == written
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_chat_is_listed_named_and_found_by_what_it_was_called(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    said = [{"role": role, "content": f"{role}: ja, morgen"} for role in ("user", "assistant")]
    titles = ["Żurek na święta", "夏の庭づくり", "حديقة الصيف", ""]
    for number, title in enumerate(titles):
        chat = {"title": title, "id": f"c{number}", "messages": said}
        (tmp_path / f"{number}.json").write_text(json.dumps(chat))
    files = [tmp_path / f"{number}.json" for number in range(len(titles))]
    assert cli("--root", root, "import", *files, "--yes").code == 0
    rows = cli("--root", root, "sessions", "--json").data
    assert {row["title"] for row in rows} == set(titles)
    assert titles[1] in cli("--root", root, "sessions").out
    for row in rows:
        if row["title"]:
            found = cli("--root", root, "search", row["title"], "--json").data["hits"]
            assert (found[0]["session"], found[0]["page_id"]) == (row["name"], "msg_1")
            named = cli("--root", root, "pages", "ls", row["title"][:5].upper(), "--json").data
            assert named["session"] == row["name"]
            begun = ("--session", row["title"][:5].upper())
            [ruled] = cli("--root", root, "import", "approve", *begun, "--json").data
            assert ruled["session"] == row["name"]
    again = cli("--root", root, "import", *files, "--yes", "--json").data
    assert (again["messages"], again["known"]) == (0, 2 * len(titles))


def test_a_file_that_is_cut_off_and_one_of_no_known_format_are_named(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "conversations.json").write_text('[{"title": "a", "mapping": {"x":')
    (tmp_path / "notes.xyz").write_text("of nobody")
    told = cli("--root", root, "import", tmp_path)
    assert "conversations.json, line 1: the file is cut off" in told.err
    assert "1 file of unknown format ignored: " in told.err
    assert "notes.xyz" in told.err
