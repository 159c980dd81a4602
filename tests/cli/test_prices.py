"""Commands about prices: what is known of models, and what layouts cost beside each other."""

from __future__ import annotations

import json
from pathlib import Path

from pagefault.lab.rules import RULES
from pagefault.service.bootstrap import POLICIES
from tests.cli.conftest import Cli


def test_bench_layout_reports_every_layout_under_every_price_list(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    lines = []
    for number in range(40):
        words = " ".join(f"w{number}x{k}" for k in range(15))
        bird = ("heron", "magpie", "swift", "bittern", "plover")[number % 5]
        lines.append({"role": "user", "content": f"Tell me of the {bird} once more."})
        lines.append({"role": "assistant", "content": f"The {bird}: {words} {words}"})
    path.write_text("\n".join(map(json.dumps, lines)))
    told = cli(
        "bench", "layout", "--data", path, "--window", "2500", "--recall", "300", "--json"
    ).data
    assert told["calls"] == 40
    assert told["new_tokens_per_call"] > 0
    assert 0 < told["recalled_tokens_per_call"] <= told["recall_tokens_max"] == 300
    assert len(told["prices"]) >= 4
    names = {"stable", "full_history", "sliding_window", "flush_when_full", "developer"}
    for under in told["prices"].values():
        assert set(under["layouts"]) == names
        assert under["layouts"]["developer"]["cost_vs_rebuild"] == 1.0
        assert under["layouts"]["flush_when_full"]["cost_vs_flush"] == 1.0
        assert under["layouts"]["full_history"]["epochs"] == 0
        assert set(under["rules"]) == set(RULES)
        for rule in under["rules"].values():
            assert rule["regret_max"] >= rule["regret"] >= 1.0
        assert under["stable_timing"]["regret"] >= 1.0
        assert 0.8 < under["stable_timing"]["modelled_share"] < 1.2


def test_bench_layout_in_words(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "Hello"}))
    told = cli("bench", "layout", "--data", path)
    assert told.code == 0
    assert "flush_when_full" in told.out
    assert "1 conversation, 1 call" in told.err


def test_models_are_listed_with_their_prices(cli: Cli) -> None:
    known, unknown = cli("models", "claude-opus-5.5", "no-such-model", "--json").data["models"]
    assert known["prices"]["read"] == 0.05
    assert known["is_known"]
    assert not unknown["is_known"]
    assert "no-such-model" in cli("models", "no-such-model").err
    assert len(cli("models").out.splitlines()) > 20


def test_bench_policies_tells_every_policy_beside_the_optimum(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    loop = "".join(f"{number % 8}\n" for number in range(80))
    (tmp_path / "traces" / "round.trace").write_text(loop)
    command = ["bench", "policies", "--traces", tmp_path / "traces", "--windows", "2000"]
    told = cli(*command, "--only", "round", "--json").data
    assert told["known_lru_rows"] == 0
    for row in told["traces"]["round"]["sizes"].values():
        assert set(row["policies"]) == set(POLICIES)
        assert row["policies"]["lru"]["miss_ratio"] == 1.0, "a loop that is too large"
        assert row["optimum_miss_ratio"] < 1.0
    words = cli(*command, "--only", "round", "--only", "engineering-0")
    assert words.code == 0
    assert "engineering-0" in words.out
    assert "importance_weighted_lru" in words.out


def test_bench_policies_refuses_what_it_does_not_know(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = cli("bench", "policies", "--traces", tmp_path / "empty")
    assert refused.code != 0
    assert "no traces" in refused.err
    refused = cli("bench", "policies", "--only", "nobody")
    assert refused.code != 0
    assert "engineering-0" in refused.err, "it names what there is"
