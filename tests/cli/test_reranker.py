"""A reranker at the command line: it orders a search, is looked at by doctor, and fails softly."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.testing.rerankers import FailingReranker, WordReranker
from tests.cli.conftest import Cli

WORDS = "python:tests.cli.test_reranker:words"
FAILS = "python:tests.cli.test_reranker:fails"
OPEN = "red spokes thirty-six rim"


def words() -> WordReranker:
    return WordReranker()


def fails() -> FailingReranker:
    return FailingReranker()


def test_a_search_tells_what_the_reranker_adds(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = cli("--root", memory_root, "search", OPEN, "--json").data["hits"]
    assert len(hits) > 1
    assert not any("reranked" in hit["parts"] for hit in hits)
    monkeypatch.setenv("PAGEFAULT_RERANKER", WORDS)
    hits = cli("--root", memory_root, "search", OPEN, "--json").data["hits"]
    assert max(hit["parts"]["reranked"] for hit in hits) > 0


def test_a_failing_reranker_is_a_word_on_stderr_and_of_doctor(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cli("--root", memory_root, "search", OPEN, "--json").data
    monkeypatch.setenv("PAGEFAULT_RERANKER", FAILS)
    found = cli("--root", memory_root, "search", OPEN, "--json")
    assert found.data == before
    assert found.err.count("no reranker is there") == 1
    checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
    [check] = [one for one in checks if one["name"] == "reranker"]
    assert check["status"] == "warn"
    assert "no reranker is there" in check["found"]


def test_doctor_asks_a_reranker_of_this_machine_and_no_other(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, told in ((WORDS, "words"), ("rerank:tiny@http://127.0.0.1:9", "not tested")):
        monkeypatch.setenv("PAGEFAULT_RERANKER", setting)
        checks = cli("--root", memory_root, "doctor", "--no-canary", "--json").data["checks"]
        [check] = [one for one in checks if one["name"] == "reranker"]
        assert check["status"] == "ok"
        assert told in check["found"]
