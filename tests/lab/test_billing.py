"""`bench bill`: one script in each arm, and a bill that agrees with what the client alone cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.cli.bench_bill import _proxied
from pagefault.lab.billing import MODELS, bench_bill

RECORDINGS = Path("tests/proxy/recordings")


@pytest.mark.parametrize("client", ["claude", "codex", "opencode"])
async def test_a_bill_says_what_the_client_alone_did_cost(client: str, tmp_path: Path) -> None:
    rows = await bench_bill(
        recordings=Path(__file__).parent.parent.parent / RECORDINGS,
        through=_proxied,
        home=tmp_path,
        tokens=24_000,
        window=20_000,
        head_tokens=6_000,
        seed=3,
        clients=[client],
    )
    alone, _, small, ours = rows
    assert [row["steps"] for row in rows] == [alone["steps"]] * 4
    assert alone["kept"] == alone["facts"] == 12, "all of it fits the model's window"
    assert ours["tokens_max"] <= 20_000 < alone["tokens_max"]
    assert ours["epochs"] > 0
    assert small["compactions"] > 0
    assert ours["compactions"] == ours["failed"] == 0
    assert set(ours["lists"]) == set(MODELS)
    assert ours["bill"]["without_cost"] == pytest.approx(ours["bill"]["alone_cost"], rel=0.05)
