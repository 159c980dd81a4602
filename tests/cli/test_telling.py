"""What a session tells about itself, at the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import pagefault.sync
from pagefault.cli.term import plural
from pagefault.service.bootstrap import open_memory
from pagefault.views.feed import Feed
from tests.cli.conftest import Cli
from tests.service.memories import fault, words


def test_status_says_how_a_session_stands_and_what_it_misses(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "status", "talk", "--json").data
    assert told["turns"] == 27
    assert told["pages"] == 53
    metrics = told["metrics"]
    assert metrics["requests"] == told["requests"] == 26
    assert metrics["prefix_breaks_outside_epochs"] == 0
    assert "per_turn" not in metrics
    targets = {one["name"]: one for one in metrics["targets"]}
    assert targets["thrash_index"]["target"] == "< 0.5"
    assert targets["thrash_index"]["met"] is True
    assert not targets["context_utilisation"]["red_flag"], "a lean window is what is aimed at"
    assert metrics["red_flags"] == [n for n, one in targets.items() if one["red_flag"]]
    shown = cli("--root", memory_root, "status", "talk", "--all")
    held = told["resident_pages"] - told["resident_derived"]
    listed = cli("--root", memory_root, "pages", "ls", "talk", "--all", "--json").data["pages"]
    assert sum(page["resident"] for page in listed) == held
    assert f"53, {held} in the window with {told['resident_derived']} summar" in shown.out
    assert "thrash index" in shown.out
    assert metrics["red_flags"] == []
    assert shown.err == "nothing needs attention\n"
    turns = cli("--root", memory_root, "status", "--per-turn", "--json").data["metrics"]["per_turn"]
    assert len(turns) == 27


def test_a_page_is_told_to_be_brought_back_and_a_new_claim_is_not(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "m"

    def told() -> tuple[str, int, int]:
        [row] = [one for one in shown().splitlines() if "brought back" in one] or [""]
        answers = cli("--root", root, "report", "s", "--json").data["answers"]
        return row, sum(len(one["brought"]) for one in answers), asyncio.run(on_the_dashboard())

    def shown() -> str:
        return cli("--root", root, "status", "s").out

    async def on_the_dashboard() -> int:
        async with open_memory(root, read_only=True) as memory:
            return (await Feed(memory).session("s")).brought_back

    with pagefault.sync.open(root, window=1_600, sync="os") as memory:
        session = memory.session("s")
        for text in ("Let's use PostgreSQL 16 for the database.", "I prefer tabs over spaces."):
            session.user(text)
            session.request()
            session.assistant("Noted.")
        session.user("Thanks!")
        session.request()
        figures = session.metrics().figures
        assert (figures["recalled_pages"], figures["brought_back"]) == (2, 0), "or it shows nothing"
    assert told() == ("", 0, 0)
    with pagefault.sync.open(root, window=1_600, sync="os") as memory:
        session = memory.session("s")
        for number in range(9):
            session.assistant(f"Noted {number}.")
            session.user(f"Topic {number}: {words(60, f't{number}w')}")
            session.request()
        before = session.metrics().figures["brought_back"]
        session.call(fault("msg_1"))
    row, *counts = told()
    assert counts == [before + 1] * 2
    assert row.split("  ")[-1] == f"{plural(before + 1, 'page')}: {before} by recall, " + (
        "1 by the model"
    )


def test_the_window_of_a_turn_is_listed_and_compared(cli: Cli, memory_root: Path) -> None:
    first = cli("--root", memory_root, "at", "talk", "0", "--json").data
    assert [one["page_id"] for one in first["pages"]] == ["msg_1", "msg_2"]
    assert first["pages"][0] | {"tokens": 0} == {
        "page_id": "msg_1",
        "level": 0,
        "tokens": 0,
        "place": "turn",
    }
    assert cli("--root", memory_root, "at", "talk", f"seq:{first['seq']}", "--json").data == first
    assert cli("--root", memory_root, "at", "talk", "2999-01-01", "--json").data["turn"] == 26
    change = cli("--root", memory_root, "diff", "talk", "0", "20", "--json").data
    assert {"msg_1", "msg_2"} <= {one["page_id"] for one in change["left"]}
    assert change["epochs"] == change["after"]["epoch"] > 0
    assert change["tokens"] == change["after"]["request_tokens"] - first["request_tokens"]
    shown = cli("--root", memory_root, "diff", "talk", "0", "20")
    assert any(line.split()[:2] == ["-", "msg_1"] for line in shown.out.splitlines())
    assert "msg_1" in cli("--root", memory_root, "at", "talk", "0").out


def test_a_page_has_a_history_by_actor_too(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "history", "aside", "msg_1", "--json").data
    what = [one["what"] for one in told["movements"]]
    assert what[0] == "created"
    assert {"evicted", "faulted", "cited"} <= set(what)
    by_model = cli("--root", memory_root, "history", "aside", "--actor", "model", "--json").data
    assert {one["actor"] for one in by_model["movements"]} == {"model"}
    assert "faulted" in cli("--root", memory_root, "history", "aside", "msg_1").out


def test_the_ledger_lists_every_call_and_why_it_was_not_cached(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "ledger", "talk", "--json").data
    assert [call["request"] for call in told["calls"]] == list(range(26))
    assert told["calls"][0]["broke"] == "first"
    assert told["summary"]["calls"] == 26
    assert sum(bool(call["epoch"]) for call in told["calls"]) == told["summary"]["epochs"] > 0
    assert "epoch: " in cli("--root", memory_root, "ledger", "talk").out


@pytest.mark.parametrize("by", ["reason", "level", "outcome", "turn"])
def test_faults_are_counted(cli: Cli, memory_root: Path, by: str) -> None:
    listed = cli("--root", memory_root, "faults", "--forks", "--json").data
    counted = cli("--root", memory_root, "faults", "--forks", "--by", by, "--json").data
    assert sum(one["faults"] for one in counted) == len(listed) > 0
    assert {one["by"] for one in counted} == {one[by] for one in listed}
    assert sum(one["share"] for one in counted) == pytest.approx(1, abs=0.01)
    assert by in cli("--root", memory_root, "faults", "--forks", "--by", by).out


@pytest.mark.parametrize(
    ("argv", "code", "hint"),
    [
        (("at", "talk", "99"), 2, "turns so far: 0 to 26"),
        (("at", "talk", "soon"), 2, "ISO 8601"),
        (("diff", "talk", "0", "99"), 2, "turns so far"),
        (("history", "talk", "msg_999"), 3, "pages ls"),
        (("status", "nobody"), 3, "pagefault sessions"),
        (("ledger", "nobody"), 3, "pagefault sessions"),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_to_do(
    cli: Cli, memory_root: Path, argv: tuple[str, ...], code: int, hint: str
) -> None:
    told = cli("--root", memory_root, *argv)
    assert told.code == code
    assert told.out == ""
    assert hint in told.err
