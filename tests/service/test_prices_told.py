"""What a session is weighed by is written down: whoever asks for its ledger is told the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import pagefault
from pagefault.cli.outcome import run
from pagefault.model.catalogue import CATALOGUE, find_model, find_prices


async def _talk(root: Path, **told: object) -> float:
    """The cost of four requests, by the library."""
    async with pagefault.open(root, **told) as memory:  # type: ignore[arg-type]
        session = await memory.session("talk")
        for number in range(4):
            await session.user(f"Hello for the {number}th time. " * 40)
            await session.request()
        return await _cost(session)


async def _cost(session: pagefault.Session) -> float:
    return sum(entry.line(session.prices).predicted_cost for entry in await session.ledger())


async def test_library_ledger_and_status_price_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = await _talk(tmp_path, model="gpt-5-1", window=8_000)
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        assert session.prices == find_model("gpt-5-1").prices
        assert await _cost(session) == cost
        assert (await session.metrics()).figures["prices"] == session.prices.name
    assert await asyncio.to_thread(run, ["--root", str(tmp_path), "ledger", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["prices"] == find_model("gpt-5-1").prices.name
    assert sum(call["predicted_cost"] for call in told["calls"]) == pytest.approx(cost, abs=1)


async def test_prices_of_ones_own_are_written_down_once(tmp_path: Path) -> None:
    mine = find_prices("0.2/1.5/60")
    await _talk(tmp_path, prices=mine)
    await _talk(tmp_path, prices=mine)
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("talk", create=False)
        assert session.prices == mine
    told = await asyncio.to_thread(
        lambda: b"".join(map(Path.read_bytes, tmp_path.rglob("*.jsonl")))
    )
    assert told.count(b'"type":"priced"') == 1


@pytest.mark.parametrize("name", [model.name for model in CATALOGUE])
def test_every_model_that_is_listed_names_a_price_list(name: str) -> None:
    assert find_prices(name) == find_model(name).prices


def test_a_model_that_is_not_known_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="gpt-17"):
        pagefault.open(":memory:", model="gpt-17")
