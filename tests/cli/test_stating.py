"""`pagefault claims add` and `retract`: what is held true, stated at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault.sync
from tests.cli.conftest import Cli


@pytest.fixture
def said_root(tmp_path: Path) -> Path:
    with pagefault.sync.open(tmp_path / "m") as memory:
        session = memory.session("talk")
        session.user("let's go with postgres for orders, and nothing else")
        session.assistant("Redis suits the cache.")
    return tmp_path / "m"


def test_a_claim_is_stated_superseded_and_taken_back(cli: Cli, said_root: Path) -> None:
    root = ("--root", said_root)
    add = ("claims", "add", "--session", "talk")
    done = cli(*root, *add, "Orders live in PostgreSQL", "--quote", "go with postgres")
    assert (done.code, done.out) == (0, "clm_1  Decision: Orders live in PostgreSQL\n")
    assert "authority: user" in done.err
    told = cli(*root, *add, "let's go with postgres", "--replaces", "clm_1", "--json").data
    assert (told["claim_id"], told["supersedes"], told["status"]) == ("clm_2", "clm_1", "standing")
    assert told["evidence"][0]["quote"] == "let's go with postgres"
    back = cli(*root, "claims", "retract", "clm_2", "--json").data
    assert (back["claim_id"], back["status"], back["closed_by"]) == ("clm_2", "retracted", "clm_3")
    statuses = [claim["status"] for claim in cli(*root, "claims", "talk", "--json").data]
    assert statuses == ["superseded", "retracted", "closing"]


def test_what_nobody_typed_is_proposed_and_what_nobody_said_refused(
    cli: Cli, said_root: Path
) -> None:
    root = ("--root", said_root)
    told = cli(*root, "claims", "add", "Redis suits the cache", "--page", "msg_2", "--json").data
    assert told["authority"] == "proposed"
    by_model = ("--origin", "model_generated", "--key", "k", "--json")
    for _ in range(2):
        told = cli(*root, "claims", "add", "go with postgres", *by_model).data
        assert (told["claim_id"], told["authority"]) == ("clm_2", "proposed")
    refused = cli(*root, "claims", "add", "go with mysql")
    assert (refused.code, refused.out) == (2, "")
    assert "nobody said “go with mysql”" in refused.err
    assert "Session." not in refused.err
    assert cli(*root, "claims", "add", "x", "--page", "msg_9").code == 3
    assert cli(*root, "claims", "retract", "clm_9").code == 3
    assert len(cli(*root, "claims", "talk", "--json").data) == 2
