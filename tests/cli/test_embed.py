"""Vectors at the command line: made at once, counted by status, looked at by doctor."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.testing.embedders import FailingEmbedder, WordEmbedder
from tests.cli.conftest import Cli

WORDS = "python:tests.cli.test_embed:words"
FAILS = "python:tests.cli.test_embed:fails"


def words() -> WordEmbedder:
    return WordEmbedder()


def fails() -> FailingEmbedder:
    return FailingEmbedder()


class OfAnotherContract:
    """As a user may write one who has not read how it is called."""

    name = "mine"

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]


class WithARowTooFew:
    name = "mine"

    def embed(self, texts: list[str], *, kind: str) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts[1:]]


def test_embed_makes_what_is_missing_and_says_how_many(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "embed", "--embedder", WORDS, "--json").data
    assert told["made"] == told["embedded"] == 56
    assert (told["embedder"], told["missing"], told["failure"]) == ("words", 0, "")
    again = cli("--root", memory_root, "embed", "--embedder", WORDS)
    assert "0 pages embedded, 56 in all" in again.out


def test_embed_without_an_embedder_says_what_to_set(cli: Cli, memory_root: Path) -> None:
    refused = cli("--root", memory_root, "embed")
    assert refused.code == 2
    assert "no embedder" in refused.err
    assert "model2vec:" in refused.err


def test_embed_makes_no_memory(cli: Cli, tmp_path: Path) -> None:
    assert cli("--root", tmp_path / "none", "embed", "--embedder", WORDS).code == 3
    assert not (tmp_path / "none").exists()


def test_a_failing_embedder_is_a_failure_of_embed_and_a_word_of_status(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_EMBEDDER", FAILS)
    refused = cli("--root", memory_root, "embed")
    assert refused.code == 5
    assert "no embedder is there" in refused.err
    assert "start it" in refused.err
    found = cli("--root", memory_root, "search", "spokes", "--json").data
    assert found["hits"], "search goes by words"
    checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
    [check] = [one for one in checks if one["name"] == "embedder"]
    assert check["status"] == "warn"
    assert "no embedder is there" in check["found"]


@pytest.mark.parametrize(
    ("maker", "why"),
    [
        ("OfAnotherContract", "unexpected keyword argument 'kind'"),
        ("WithARowTooFew", "answered 53 texts"),
    ],
)
def test_an_embedder_that_breaks_its_promises_is_told_as_the_one_at_fault(
    cli: Cli, memory_root: Path, maker: str, why: str
) -> None:
    refused = cli(
        "--root", memory_root, "embed", "--embedder", f"python:tests.cli.test_embed:{maker}"
    )
    assert refused.code == 5
    assert why in refused.err
    assert "pagefault.Embedder" in refused.err
    assert "bug" not in refused.err


def test_status_and_doctor_tell_how_far_it_is(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "embedding" not in cli("--root", memory_root, "status", "--json").data
    monkeypatch.setenv("PAGEFAULT_EMBEDDER", WORDS)
    told = cli("--root", memory_root, "status", "--json").data["embedding"]
    assert told == {
        "embedder": "words",
        "embedded": 0,
        "missing": 56,
        "failure": "",
        "hint": "",
    }
    checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
    [check] = [one for one in checks if one["name"] == "embedder"]
    assert check["status"] == "warn"
    assert "56 pages without a vector" in check["found"]
    cli("--root", memory_root, "embed")
    assert "56 pages embedded, 0 missing" in cli("--root", memory_root, "status").out
    checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
    assert {"name": "embedder", "status": "ok", "found": "words, 128 dimensions"}.items() <= {
        (key, value) for one in checks if one["name"] == "embedder" for key, value in one.items()
    }


def test_verify_reads_the_vectors_too(cli: Cli, memory_root: Path) -> None:
    cli("--root", memory_root, "embed", "--embedder", WORDS)
    assert cli("--root", memory_root, "verify", "--json").data["ok"]
    (memory_root / "vectors.db").write_bytes(b"no database" * 1_000)
    told = cli("--root", memory_root, "verify")
    assert told.code == 1
    assert "the vectors cannot be checked" in told.out
    assert "delete vectors.db" in told.err


def test_a_project_may_not_choose_who_reads_every_page(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".pagefault").mkdir(parents=True)
    (project / ".pagefault" / "config.toml").write_text(f'embedder = "{WORDS}"\n')
    monkeypatch.chdir(project)
    refused = cli("config", "show")
    assert refused.code == 2
    assert "embedder may not be set by a project" in refused.err
