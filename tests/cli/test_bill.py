"""`pagefault bill` says what was saved or lost, and what of it is an estimate."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.proxy.histories import body, long_talk, user
from tests.proxy.standing import post, standing
from tests.proxy.upstream import Say, Upstream


@pytest.fixture(scope="module")
def billed_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation under a window, and one with a model that nobody knows."""
    root = tmp_path_factory.mktemp("billed") / "memory"
    said = long_talk(20)

    async def make() -> None:
        with Upstream(lambda _: Say(text="Understood.")) as upstream:
            async with standing(upstream, root=root, window=900) as to:
                for upto in range(1, len(said) + 1, 2):
                    asked = body(*said[:upto]) | {"model": "deepseek-v4-pro"}
                    assert (await post(to, asked)).status_code == 200
                await to.http.post("/s/unknown/v1/messages", json=body(user("hello")))

    asyncio.run(make())
    return root


def test_the_bill_of_all_has_a_row_for_each_session_and_their_sum(
    cli: Cli, billed_root: Path
) -> None:
    told = cli("--root", billed_root, "bill", "--json").data
    assert [row["requests"] for row in told["rows"]] == [21, 1]
    assert told["total"]["requests"] == 22
    assert told["total"]["unpriced"] == 1
    assert told["rows"][1]["cost"] is None
    assert told["prices"] == {"deepseek-v4-pro": "deepseek"}
    shown = cli("--root", billed_root, "bill")
    assert shown.code == 0
    assert "total" in shown.out
    assert "resent after rewrites" in shown.out
    unknown = cli("--root", billed_root, "bill", "unknown")
    assert "?" not in unknown.out
    assert "cost" not in unknown.out
    assert "of that  " in unknown.out
    assert unknown.out.splitlines()[0].split() == ["session", "requests", "sent"]
    assert "left out" not in unknown.err
    assert "without us" not in unknown.err
    assert "PAGEFAULT_PRICES gives all requests one price list" in unknown.err
    assert told["rows"][1]["added"]["cost"] is None, "nobody knows its prices"
    assert told["rows"][0]["added"]["cost"] is not None
    assert "pagefault rewrote it: old messages left together" in shown.out
    assert "21 of 21 requests estimated: the provider reported no cache use" in shown.err
    assert "1 request to models without known prices: only tokens are counted" in shown.err


def test_a_bill_fits_sixty_columns(
    cli: Cli, billed_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.cli.term.Term.width", 60)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for words in ([], ["unknown"], ["--by", "model"]):
        told = cli("--root", billed_root, "bill", *words).out
        plain = re.sub("\x1b\\[[0-9;]*m", "", told)
        assert max(map(len, plain.splitlines())) <= 60, plain


def test_a_price_list_of_the_configuration_prices_what_nobody_knows(
    cli: Cli, billed_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_PRICES", "0.1/1.25")
    told = cli("--root", billed_root, "bill", "unknown")
    assert "of the cost" in told.out
    assert "prices: m: 0.1/1.25" in told.err
    assert "PAGEFAULT_PRICES" not in told.err


def test_money_is_told_where_somebody_says_what_tokens_cost(cli: Cli, billed_root: Path) -> None:
    asked = ("--root", billed_root, "bill", "planning", "--json", "--price")
    plain = cli(*asked[:-1]).data["total"]
    told = cli(*asked, "2").data["total"]
    assert plain["money"] is None
    assert told["money"] == pytest.approx(plain["cost"] * 2 / 1_000_000)
    named = cli(*asked, "deepseek-v4-pro=2").data["total"]
    assert named["net_money"] == told["net_money"] == pytest.approx(plain["net"] * 2 / 1_000_000)
    other = cli(*asked, "gpt-5=2").data["total"]
    assert other["money"] is None
    assert " = 0.0" in cli("--root", billed_root, "bill", "planning", "--price", "2").out


def test_what_is_no_price_is_said(cli: Cli, billed_root: Path) -> None:
    refused = cli("--root", billed_root, "bill", "--price", "much")
    assert refused.code == 2
    assert "--price gpt-5=1.25" in refused.err


def test_days_and_models_are_rows_too(cli: Cli, billed_root: Path) -> None:
    models = cli("--root", billed_root, "bill", "--by", "model", "--json").data
    assert {row["of"] for row in models["rows"]} == {"deepseek-v4-pro", "m"}
    assert len(cli("--root", billed_root, "bill", "--by", "day", "--json").data["rows"]) == 1
    assert cli("--root", billed_root, "bill", "--until", "2020-01-01").err.startswith("no request")
