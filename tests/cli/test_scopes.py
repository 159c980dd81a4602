"""`pagefault scopes`: regions from a command line, each command a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.test_docs import ROOT

SECTION = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
SECTION = SECTION.partition("\n## Scopes\n")[2].partition("\n## ")[0]


def told(*rows: str) -> set[str]:
    """The fields that the table of docs/cli.md describes in the rows of these commands."""
    lines = [line for line in SECTION.splitlines() if line.startswith("|")]
    return {
        name
        for line in lines
        if any(row in line.split("|")[1] for row in rows)
        for name in re.findall(r"`(\w+)`", line.split("|")[2])
    }


@pytest.fixture
def shelf(cli: Cli, memory_root: Path) -> Path:
    """A region that `talk` brought its first page to, and that `other` reads."""
    at = ("--root", memory_root, "scopes")
    assert cli(*at, "create", "shelf").code == 0
    assert cli(*at, "mount", "shelf", "--rw", "--session", "talk").code == 0
    assert cli(*at, "promote", "msg_1", "shelf", "--session", "talk").code == 0
    assert cli(*at, "mount", "shelf", "--session", "other").code == 0
    return memory_root


def test_what_one_session_brings_to_a_region_another_finds(cli: Cli, shelf: Path) -> None:
    found = cli("--root", shelf, "pages", "search", "spokes", "--session", "other", "--json").data
    [hit] = [hit for hit in found["hits"] if hit["source"]]
    assert (hit["source"], hit["session"], hit["speaker"]) == (
        "region:shelf",
        "region:shelf",
        "Mira",
    )
    shown = cli("--root", shelf, "pages", "show", hit["page_id"], "--session", "other")
    assert "thirty-six spokes" in shown.out
    everywhere = cli("--root", shelf, "search", "spokes", "--json").data
    assert "talk" in {one["session"] for one in everywhere["hits"]}
    assert "thirty-six spokes" in cli("--root", shelf, "scopes", "pages", "shelf").out


def test_what_is_taken_back_is_not_found_any_more(cli: Cli, shelf: Path) -> None:
    at = ("--root", shelf, "scopes")
    [page] = cli(*at, "pages", "shelf", "--json").data["pages"]
    cli(*at, "policy", "shelf", "--read", "session:talk")
    assert "not allowed by the policy" in cli(*at, "show", "shelf").out
    found = cli("--root", shelf, "pages", "search", "spokes", "--session", "other", "--json").data
    assert not [hit for hit in found["hits"] if hit["source"]]
    shown = cli("--root", shelf, "pages", "show", page["page_id"], "--session", "other")
    assert shown.code == 3
    cli(*at, "policy", "shelf", "--read", "nobody", "--write", "nobody", "--promote", "nobody")
    refused = cli(*at, "mount", "shelf", "--session", "other")
    assert refused.code == 4
    assert "pagefault scopes policy" in refused.err


def test_an_owner_rules_and_agrees_and_nobody_else(cli: Cli, memory_root: Path) -> None:
    at = ("--root", memory_root, "scopes")
    made = cli(*at, "create", "shelf", "--owner", "ann", "--write", "anyone", "--json").data
    assert (made["owner"], made["write"]) == ("ann", ["anyone"])
    assert "waiting for the owner" in cli(*at, "mount", "shelf", "--rw", "--session", "talk").out
    assert cli(*at, "share", "shelf", "Words.", "--session", "talk").code == 4
    assert cli(*at, "consent", "shelf", "rw", "--session", "talk").code == 4
    assert cli(*at, "policy", "shelf", "--read", "nobody", "--by", "bob").code == 4
    agreed = cli(*at, "consent", "shelf", "rw", "--session", "talk", "--by", "ann", "--json").data
    assert agreed["open"] is True
    assert cli(*at, "share", "shelf", "Words.", "--session", "talk").code == 0
    cli(*at, "consent", "shelf", "none", "--session", "talk", "--by", "ann")
    assert cli(*at, "share", "shelf", "More.", "--session", "talk").code == 4
    assert cli(*at, "show", "nowhere").code == 3


def test_a_dry_run_changes_nothing(cli: Cli, shelf: Path) -> None:
    def log() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((shelf / "log").iterdir()))

    before = log()
    for words in (
        ("create", "new"),
        ("fork", "shelf", "attic"),
        ("policy", "shelf", "--read", "nobody"),
        ("mount", "shelf", "--session", "other", "--rw"),
        ("unmount", "shelf", "--session", "other"),
        ("consent", "shelf", "ro", "--session", "other"),
        ("promote", "msg_2", "shelf", "--session", "talk"),
        ("share", "shelf", "Words.", "--session", "talk"),
        ("assign", "--session", "talk", "--user", "eve"),
    ):
        done = cli("--root", shelf, "scopes", *words, "--dry-run")
        assert done.code == 0, done.err
        assert "nothing was changed" in done.err
    assert log() == before


def test_every_field_of_scopes_is_described(cli: Cli, shelf: Path) -> None:
    at = ("--root", shelf, "scopes")
    region = cli(*at, "show", "shelf", "--json").data
    mount = cli(*at, "mount", "shelf", "--session", "other", "--json").data
    assert set(region) | {"project", "user", "global", "never", "write", "always", "region"} == (
        told("show")
    )
    assert cli(*at, "--json").data == [region]
    assert {"region", *region["mounts"][0]} == set(mount)
    rest = {"ro", "rw", "policy", "consent", "gone", "unmount"}
    assert set(mount) | rest == told("unmount") | rest
    brought = cli(*at, "share", "shelf", "Words.", "--session", "talk", "--json").data
    assert set(brought) == told("promote")
    listed = cli(*at, "pages", "shelf", "--json").data
    assert set(listed) | set(listed["pages"][0]) == told("scopes pages")
    assert set(cli(*at, "assign", "--session", "talk", "--json").data) == told("assign")


def test_a_region_is_forgotten_by_its_name(cli: Cli, shelf: Path) -> None:
    dry = cli("--root", shelf, "forget", "msg_1", "--session", "talk", "--json").data
    [copy] = dry["copies"]
    assert copy.startswith("shelf: shr_")
    [page] = cli("--root", shelf, "scopes", "pages", "shelf", "--json").data["pages"]
    kept = ("--root", shelf, "retention", "set", "30d", "--session", "region:shelf", "--json")
    assert cli(*kept).data["rules"][0]["session"] == "region:shelf"
    done = cli("--root", shelf, "forget", page["page_id"], "--session", "region:shelf", "--yes")
    assert done.code == 0, done.err
    assert cli("--root", shelf, "scopes", "pages", "shelf", "--json").data["pages"] == []
    done = cli("--root", shelf, "forget", "--session", "region:shelf", "--session-whole", "--yes")
    assert done.code == 0, done.err
    assert cli("--root", shelf, "scopes", "--json").data == []
    assert cli("--root", shelf, "verify").code == 0
    whole = ("--root", shelf, "forget", "--session", "region:shelf", "--session-whole")
    assert cli(*whole).code == 3
