"""`pagefault report` writes a page for people, and quotes no secret in it."""

from __future__ import annotations

from pathlib import Path

import pagefault
from tests.cli.conftest import Cli


def test_the_file_is_its_owners_alone_whole_and_without_secrets(cli: Cli, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    with pagefault.sync.open(tmp_path / "m", redact="known") as memory:
        session = memory.session("talk")
        session.user(f"The token is {secret}.")
        session.request()
    target = tmp_path / "out" / "report.html"
    target.parent.mkdir()
    target.write_text("an older one")
    told = cli("--root", tmp_path / "m", "report", "talk", "-o", target)
    assert (told.code, f"{target}: 1 message, 1 request" in told.out) == (0, True)
    page = target.read_text("utf-8")
    assert secret not in page
    assert "[REDACTED:" in page
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(target.parent.iterdir()) == [target]
    assert cli("--root", tmp_path / "m", "report", "-o", "-").out.startswith("<!doctype html>")


def test_where_it_cannot_be_written_nothing_is_left_behind(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "no" / "report.html"
    told = cli("--root", memory_root, "report", "-o", missing)
    assert told.code == 4
    assert "No such file or directory" in told.err
    assert not missing.parent.exists()


def test_as_json_it_is_the_same_in_values(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "report", "talk", "--json").data
    assert told["name"] == "talk"
    assert told["map"]["requests"] == len(told["map"]["columns"])
    assert {"answers", "claims", "bill", "concerns", "excerpts"} <= told.keys()
