"""`bench bill`: one script in each arm, and a bill that agrees with what the client alone cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pagefault.cli.bench_bill import _proxied
from pagefault.lab.bill_chart import chart, over_seeds
from pagefault.lab.billing import ARMS, MODELS, PROXIED, bench_bill

pytestmark = pytest.mark.slow

RECORDINGS = Path("tests/proxy/recordings")


@pytest.mark.parametrize(
    ("client", "arm"),
    [("claude", "pagefault"), ("codex", "quotes alone"), ("opencode", "asks alone")],
)
async def test_a_bill_says_what_the_client_alone_did_cost(
    client: str, arm: str, tmp_path: Path
) -> None:
    rows = await bench_bill(
        recordings=Path(__file__).parent.parent.parent / RECORDINGS,
        through=_proxied,
        home=tmp_path,
        tokens=24_000,
        window=20_000,
        head_tokens=6_000,
        seeds=[3],
        clients=[client],
        arms=[*ARMS[:3], arm],
    )
    alone, _, small, ours = rows
    assert {row["steps"] for row in rows} == {alone["steps"]}
    assert alone["kept"] == alone["facts"] == 12, "all of it fits the model's window"
    assert small["compactions"] > 0
    assert ours["tokens_max"] <= 20_000 < alone["tokens_max"]
    assert ours["epochs"] > 0
    assert ours["compactions"] == ours["failed"] == 0
    assert set(ours["lists"]) == set(MODELS)
    assert ours["bill"]["without_cost"] == pytest.approx(ours["bill"]["alone_cost"], rel=0.05)
    assert ours["requests"] == ours["steps"] + ours["asked"]
    if arm == "asks alone":  # what left is nowhere but in the memory
        assert ours["asked"] > ours["facts"] / 2
    assert ours["asked"] == 0 or PROXIED[arm].asks
    assert ours["kept"] > ours["facts"] / 2


def test_a_chart_says_in_words_what_it_shows() -> None:
    rows = [_row(seed, arm, n) for seed in (1, 2) for n, arm in enumerate(ARMS)]
    arms = over_seeds(rows)
    assert [(one.name, one.seeds, one.facts) for one in arms] == [(arm, 2, 24) for arm in ARMS]
    drawn = chart(arms, about="a run & its seeds")
    told = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    words = [one.text for one in told.iter(f"{space}text")]
    assert told.get("role") == "img"
    assert "a run & its seeds" in words
    assert {*MODELS, "claude", "alone: 2 of 24 facts, 50% refused"} <= set(words)
    assert "claude, pagefault: 0.31 to 0.31 of the cost of the client alone, 2 of 24" in (
        told.findtext(f"{space}desc") or ""
    )
    assert not list(told.iter(f"{space}script"))
    assert "prefers-color-scheme: dark" in drawn


def _row(seed: int, arm: str, n: int) -> dict[str, Any]:
    cost = (1.0, 0.8, 0.5, 0.3, 0.35, 0.4)[n] + 0.02 * (seed - 1) * (n > 0)
    figures = dict.fromkeys(("over_alone", "over_compacts", "over_compacts_small"), cost)
    return {
        "seed": seed, "client": "claude", "arm": arm, "epochs": 0, "compactions": 0, "asked": 0,
        "failed": 5 * (arm == "alone"), "steps": 10, "kept": 1, "facts": 12,
        "lists": {model: {"cached_share": 0.5, **figures} for model in MODELS},
    }  # fmt: skip
