"""`pagefault claims` and `pagefault cards`: claims that are checked and changed at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault.sync
from pagefault.engine.former import FormationRequest, Proposal, ProposalKind
from pagefault.testing.formers import ScriptedFormer
from tests.cli.conftest import Cli

WORDS = "PostgreSQL 15 it is"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with pagefault.sync.open(tmp_path / "m") as memory:
        session = memory.session("talk")
        session.user("we run on postgres, and the cache might be valkey")
    return tmp_path / "m"


def test_claims_are_derived_drawn_changed_checked_and_found_missing(
    cli: Cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("PORT = 8080\n")
    claims = ("--root", root, "claims")
    add = (*claims, "add", "--json")
    dry = cli(*add, "We run on postgres", "--quote", "we run on postgres", "--dry-run").data
    assert dry == {"claim_id": "clm_1", "done": False}
    assert cli(*claims, "--json").data == []
    remember = ("--root", root, "remember", "we run on postgres", "--json")
    assert cli(*remember, "--dry-run").data == dry
    assert cli("--root", root, "remember", "we run on oracle").code == 2
    cli(*add, "We run on postgres", "--quote", "we run on postgres", "--owner", "ann")
    cli(*add, "The port is 8080.", "--quote", "PORT = 8080", "--file", "app.py")
    told = cli(*add, "The driver is psycopg.", "--from", "clm_1").data
    assert (told["claim_id"], told["derived_from"]) == ("clm_3", ["clm_1"])
    lines = cli(*claims, "graph").out.splitlines()
    assert lines[1].startswith("  clm_3  standing")
    assert cli(*claims, "validate", "--dry-run").code == 0
    edited = cli(*claims, "edit", "clm_1", "--branch", "main", "--json").data
    assert edited["restates"] == "clm_1"
    [_, _, graph, *_] = cli(*claims, "graph", "--json").data
    assert (graph["status"], graph["derived_from"]) == ("standing", ["clm_4"])
    (tmp_path / "app.py").write_text("PORT = 9090\n")
    done = cli(*claims, "validate", "clm_2", "--json")
    assert (done.code, done.data[0]["outcome"]) == (1, "fail")
    cli(*claims, "retract", "clm_4")
    done = cli(*claims, "known", "driver psycopg", "--json")
    assert (done.code, done.data["reason"]) == (1, "stale")
    assert cli("--root", root, "undo", "talk").code == 0
    assert cli(*claims, "known", "driver psycopg").code == 0
    assert cli(*claims, "expire", "clm_3", "--json").data["status"] == "expired"
    words = "the cache might be valkey"
    told = cli("--root", root, "remember", words, "--json").data
    assert (told["type"], told["authority"], told["value"]) == ("fact", "user", words)
    assert cli("--root", root, "cards", "review").out.count("card clm_") == 1
    assert "“”" not in cli("--root", root, "cards", "review").out


def test_cards_that_wait_are_reviewed_and_confirmed_by_their_digest(cli: Cli, root: Path) -> None:
    claims = ("--root", root, "claims")
    by_model = ("--origin", "model_generated", "--quote", "the cache might be valkey")
    for words in ("Use Valkey.", "Valkey is the cache."):
        cli(*claims, "add", words, *by_model)
    [first, second] = cli("--root", root, "cards", "review", "--json").data
    assert (first["card_id"], first["validation"]["status"]) == ("clm_1", "proposed")
    assert first["evidence"][0]["quote"] == "the cache might be valkey"
    assert f"claims confirm clm_1 {first['digest']}" in cli("--root", root, "cards", "review").out
    assert cli(*claims, "confirm", "clm_1", second["digest"]).code == 2
    told = cli(*claims, "confirm", "clm_1", first["digest"], "--json").data
    assert (told["authority"], told["origin"]) == ("user", "user_approved")
    cli(*claims, "contradict", told["claim_id"], "clm_2")
    [card] = [c for c in cli("--root", root, "cards", "--json").data if c["card_id"] == "clm_2"]
    assert card["contradicts"] == [told["claim_id"]]
    refused = cli(*claims, "merge", told["claim_id"], "clm_2")
    assert "these claims differ" in refused.err
    merged = cli(*claims, "merge", told["claim_id"], "clm_2", "--value", "Valkey it is.", "--json")
    assert merged.data["merges"] == ["clm_2"]


def test_a_card_whose_twin_was_closed_is_reviewed_until_a_person_upholds_it(
    cli: Cli, tmp_path: Path
) -> None:
    def proposed(given: FormationRequest) -> list[Proposal]:
        [page] = [one for one in given.pages if one.text.startswith(WORDS)]
        kind = ProposalKind.DECISION
        return [Proposal(kind=kind, text=WORDS, pages=(page.page_id,), quotes=(WORDS,))]

    with pagefault.sync.open(root := tmp_path / "m") as memory:
        for name in ("earlier", "later"):
            session = memory.session(name)
            memory.assign(name, user="ann")
            session.user(f"{WORDS} for the survey. {'more ' * 600}")
            session.assistant("Noted.")
            if name == "earlier":
                session.claim(WORDS, evidence=[WORDS])
            else:
                session.form(former=ScriptedFormer(proposed), rest=True)
    review = ("--root", root, "cards", "review", "earlier")
    assert cli(*review, "--json").data == []
    for twin in ("clm_1", "clm_4"):  # what an undo restores is written anew
        cli("--root", root, "claims", "retract", twin, "--session", "later")
        assert "--verdict pass" in cli(*review).out
        [card] = cli(*review, "--json").data
        assert [one["status"] for one in card["elsewhere"]] == ["retracted"]
        cli("--root", root, "claims", "validate", "clm_1", "--session", "earlier")
        assert len(cli(*review, "--json").data) == 1, "only a person can say that it still holds"
        told = ("claims", "validate", "clm_1", "--session", "earlier", "--verdict", "pass")
        assert cli("--root", root, *told).code == 0
        assert cli(*review, "--json").data == []
        cli("--root", root, "undo", "later")
