"""`pagefault form` forms what is due and tells it beforehand; others tell what was made."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pagefault
from tests.cli.conftest import Cli

SAID = "Maria keeps the keys to the observatory in the blue drawer. "


def _talked_to(root: Path) -> Path:
    async def talk() -> None:
        async with pagefault.open(root, sync="os") as memory:
            session = await memory.session("talk")
            for turn in range(4):
                await session.user(SAID + f"It is night {turn}, and the dome is open. " * 110)
                await session.assistant("Noted.")

    asyncio.run(talk())
    return root


def test_what_is_due_is_told_formed_once_and_told_by_whatever_looks(
    cli: Cli, tmp_path: Path
) -> None:
    root = _talked_to(tmp_path / "m")
    by_rules = ("--root", root, "form", "talk", "--by", "rules", "--json")
    told = cli(*by_rules, "--dry-run").data
    assert told["dry_run"]
    assert [one["outcome"] for one in told["formed"]] == ["due"] * len(told["ranges"])
    done = cli(*by_rules).data
    assert [one["first"] for one in done["formed"]] == [one["first"] for one in told["formed"]]
    assert done["formed"] == done["ranges"]
    [summary, *_] = done["formed"][0]["made"]
    assert cli(*by_rules).data["formed"] == []
    shown = cli("--root", root, "pages", "show", summary, "--session", "talk")
    assert "blue drawer" in shown.out
    assert "[msg_1]" in shown.out
    assert "made of msg_1…" in shown.out
    happened = cli("--root", root, "history", "talk", "msg_1", "--json").data
    assert {"taken_up", "summed_up", "formed"} <= {one["what"] for one in happened["movements"]}
    [last] = cli(*by_rules, "--rest").data["formed"]
    assert last["last"] == "msg_12", "nobody goes on with it"
    told = cli("--root", root, "status", "talk", "--json").data["formation"]
    assert told["formed"] == told["ranges"] == len(done["ranges"]) + 1
    assert "ranges formed" in cli("--root", root, "status", "talk").out
    listed = cli("--root", root, "form", "talk", "--by", "rules")
    assert (listed.code, "0 ranges formed of 'talk'" in listed.err) == (0, True)


def test_without_a_model_it_says_what_to_configure(cli: Cli, tmp_path: Path) -> None:
    root = _talked_to(tmp_path / "m")
    refused = cli("--root", root, "form", "talk")
    assert refused.code == 2
    assert "no model is configured" in refused.err
    assert "form --by rules" in refused.err


def test_with_nothing_to_form_it_says_what_would(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "m"
    talk = tmp_path / "short.jsonl"
    talk.write_text('{"role": "user", "content": "Hello."}\n')
    cli("--root", root, "replay", talk)
    told = cli("--root", root, "form", "short", "--by", "rules")
    assert (told.code, "--rest also forms the last turns" in told.err) == (0, True)


def test_nobody_agrees_for_other_users_of_a_proxy(cli: Cli, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ann ann-0123456789abcdef\n")
    tokens.chmod(0o600)
    for who in ([], ["--token", "t" * 20], ["--tokens", tokens]):
        refused = cli("serve", "--upstream", "https://api.example.com", "--form", *who)
        assert refused.code == 2
        assert "x-pagefault-form" in refused.err
