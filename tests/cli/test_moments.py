"""Points of a session are named, listed and looked at; goals are set, shown and cleared."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import pagefault.sync
from tests.cli.conftest import Cli


def test_a_checkpoint_is_a_moment_by_its_name(cli: Cli, memory_root: Path) -> None:
    made = cli("--root", memory_root, "checkpoint", "talk", "before", "--json").data
    by_name = cli("--root", memory_root, "at", "talk", "checkpoint:before", "--json").data
    by_seq = cli("--root", memory_root, "at", "talk", f"seq:{made['seq']}", "--json").data
    assert by_name == by_seq
    changed = cli("--root", memory_root, "diff", "talk", "0", "checkpoint:before", "--json").data
    assert changed["after"]["seq"] == made["seq"]


def test_checkpoints_are_listed_and_no_name_is_given_twice(cli: Cli, memory_root: Path) -> None:
    assert cli("--root", memory_root, "checkpoint", "talk", "--json").data["checkpoints"] == []
    first = cli("--root", memory_root, "checkpoint", "talk", "第一", "--json").data
    again = cli("--root", memory_root, "checkpoint", "talk", "第一")
    assert again.code == 2
    assert f"record {first['seq']}" in again.err
    assert "choose another name" in again.err
    cli("--root", memory_root, "checkpoint", "talk", "second")
    [one, two] = cli("--root", memory_root, "checkpoint", "talk", "--json").data["checkpoints"]
    assert (one["name"], one["seq"], one["turn"]) == ("第一", first["seq"], 26)
    assert two["name"] == "second"
    assert "第一" in cli("--root", memory_root, "checkpoint", "talk").out
    assert cli("--root", memory_root, "verify").code == 0


@pytest.mark.parametrize("name", ["", "a/b", "x" * 129])
def test_what_cannot_name_a_checkpoint_is_refused(cli: Cli, memory_root: Path, name: str) -> None:
    told = cli("--root", memory_root, "checkpoint", "talk", name)
    assert told.code == 2
    assert "cannot be a checkpoint's name" in told.err


def test_a_fork_has_the_checkpoints_of_what_it_was_forked_from(cli: Cli, memory_root: Path) -> None:
    cli("--root", memory_root, "checkpoint", "aside", "there")
    assert cli("--root", memory_root, "checkpoint", "talk", "--json").data["checkpoints"] == []
    assert cli("--root", memory_root, "at", "aside", "checkpoint:there").code == 0


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("seq:999999", "there is no record 999,999 yet"),
        ("seq:x", "checkpoint:NAME"),
        ("soon", "seq:345"),
        ("checkpoint:nowhere", "makes one"),
        ("checkpoint:", "no checkpoint ''"),
        ("2026-99-99", "as a point in time"),
        ("1999-01-01", "did not exist yet"),
        ("99", "turns so far: 0 to 26"),
    ],
)
def test_what_is_no_moment_is_refused_with_what_would_be(
    cli: Cli, memory_root: Path, when: str, why: str
) -> None:
    told = cli("--root", memory_root, "at", "talk", when)
    assert told.code == 2
    assert why in told.err


def test_without_a_session_it_is_the_one_used_last(cli: Cli, memory_root: Path) -> None:
    here = ("--root", memory_root)
    for command, *when in (("at", "5"), ("diff", "0", "5"), ("sent", "5")):
        told = cli(*here, command, *when, "--json").data
        assert told["session"] == "talk"
        assert told == cli(*here, command, "talk", *when, "--json").data
    assert cli(*here, "items", "--json").data["session"] == "talk"
    for command, name in (("at", "WHEN"), ("diff", "A and B"), ("sent", "a TURN")):
        missing = cli(*here, command)
        assert (missing.code, f"Name {name}" in missing.err) == (2, True)


def test_the_history_of_a_page_names_the_claim_that_rests_on_it(cli: Cli, tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m") as memory:
        session = memory.session("talk")
        session.user("The meeting room is on the fifth floor.")
        claim = session.remember("The meeting room is on the fifth floor")
    told = cli("--root", tmp_path / "m", "history", "talk", "1").out.splitlines()
    assert told[-1].split()[-1] == claim == "clm_1"


def test_times_go_by_the_clock_of_the_computer_and_a_date_alone_is_the_end_of_its_day(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = cli("--root", memory_root, "history", "talk", "--json").data["movements"][-1]
    said = datetime.fromisoformat(last["at"])
    try:
        for zone in ("America/New_York", "Asia/Tokyo"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            here = said.astimezone(ZoneInfo(zone))

            def at(when: str) -> Any:
                return cli("--root", memory_root, "at", "talk", when, "--json").data["seq"]

            assert at(f"{here:%Y-%m-%d}") == at("now") == at(f"{here:%Y-%m-%dT%H:%M:%S.%f}")
            assert at("now") == at(last["at"])  # with a zone it is of that
            before = cli("--root", memory_root, "at", "talk", f"{here - timedelta(hours=1):%FT%T}")
            assert "did not exist yet" in before.err
            assert "its log begins at 20" in before.err
            shown = cli("--root", memory_root, "history", "talk").out
            assert f"{here:%Y-%m-%d %H:%M}" in shown
            assert last["at"] not in shown
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_goal_is_set_shown_and_cleared(cli: Cli, memory_root: Path) -> None:
    assert "no goal is set" in cli("--root", memory_root, "goal", "talk").out
    made = cli("--root", memory_root, "goal", "talk", "Open the workshop.", "--json").data
    shown = cli("--root", memory_root, "goal", "talk", "--json").data
    told = {"session": "talk", "goal": made["goal"], "text": "Open the workshop."}
    assert shown == made == told | {"proxied": False}
    assert "Open the workshop." in cli("--root", memory_root, "goal", "talk").out
    assert cli("--root", memory_root, "goal", "talk", "x", "--clear").code == 2
    assert cli("--root", memory_root, "goal", "talk", "--clear", "--json").data["goal"] is None
    assert "no goal is set" in cli("--root", memory_root, "goal", "talk").out


@pytest.mark.parametrize("command", [("pages", "ls"), ("faults",)])
def test_commands_that_look_at_one_session_take_it_like_their_siblings(
    cli: Cli, memory_root: Path, command: tuple[str, ...]
) -> None:
    by_argument = cli("--root", memory_root, *command, "aside", "--json")
    by_option = cli("--root", memory_root, *command, "--session", "aside", "--json")
    assert by_argument.data == by_option.data
    both = cli("--root", memory_root, *command, "aside", "--session", "talk")
    assert both.code == 2
    assert "Two sessions are named" in both.err


def test_a_claim_that_is_not_there_is_not_found(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "claims", "show", "clm_99")
    assert told.code == 3
    assert "session 'talk' has no claim 'clm_99'" in told.err
    assert "pagefault claims" in told.err


def test_compressing_says_when_nothing_changed(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "compress", "msg_1", "--json").data
    assert (told["made"], told["is_new"]) == ("msg_1", False)
    assert "nothing changed" in cli("--root", memory_root, "pages", "compress", "msg_1").err
    first = cli("--root", memory_root, "pages", "compress", "msg_3", "--level", "2", "--json").data
    again = cli("--root", memory_root, "pages", "compress", "msg_3", "--level", "2", "--json").data
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert first["made"] == again["made"]


def test_targets_of_a_tiny_talk_are_not_judged_yet(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(
        '{"role": "user", "content": "Hello."}\n{"role": "assistant", "content": "Hello."}\n'
    )
    root = tmp_path / "tiny"
    assert cli("--root", root, "replay", tmp_path / "talk.jsonl", "--format", "jsonl").code == 0
    told = cli("--root", root, "status", "--json").data["metrics"]
    assert told["red_flags"] == []
    judged = {one["name"]: one for one in told["targets"]}
    assert (judged["fault_rate"]["aim"], judged["fault_rate_needed"]["aim"]) == (False, True)
    assert judged["fault_rate_needed"]["waits_for"] == "50 pages needed"
    assert judged["epochs_share"]["met"] is None
    assert judged["epochs_share"]["waits_for"] == "20 requests"
    assert judged["prefix_breaks_outside_epochs"]["met"] is True
    assert "too early: needs 20 requests" in cli("--root", root, "status", "--all").out


@pytest.mark.parametrize("blank", ["", "   ", "\n"])
def test_a_goal_that_says_nothing_is_refused_and_ends_none(
    cli: Cli, memory_root: Path, blank: str
) -> None:
    made = cli("--root", memory_root, "goal", "talk", "Open the workshop.", "--json").data
    refused = cli("--root", memory_root, "goal", "talk", blank)
    assert refused.code == 2
    assert "--clear" in refused.err
    assert cli("--root", memory_root, "goal", "talk", "--json").data == made


# --- a request that was sent, and a fork of the past ----------------------------------------------


def test_a_past_request_is_shown_as_it_was_sent(cli: Cli, memory_root: Path) -> None:
    last = cli("--root", memory_root, "ledger", "talk", "--json").data["calls"][-1]
    told = cli("--root", memory_root, "sent", "talk", "--request", last["request"], "--json").data
    assert told["is_exact"]
    assert (told["missing"], told["forgotten"]) == ([], [])
    assert told["tokens"] == last["prompt_tokens"]
    assert told["messages"][0]["role"] == "system"
    of_turn = cli("--root", memory_root, "sent", "talk", told["turn"], "--json").data
    assert of_turn == told
    shown = cli("--root", memory_root, "sent", "talk", told["turn"])
    assert "[system]" in shown.out
    assert f"request {told['request']} of turn {told['turn']}" in shown.err


@pytest.mark.parametrize("asked", [[], ["1", "--request", "1"], ["999"], ["--request", "999"]])
def test_a_request_that_is_none_is_refused(cli: Cli, memory_root: Path, asked: list[str]) -> None:
    told = cli("--root", memory_root, "sent", "talk", *asked)
    assert told.code == 2
    assert told.err.startswith("error: ")


def test_a_fork_goes_on_from_a_moment_that_is_named(cli: Cli, memory_root: Path) -> None:
    made = cli("--root", memory_root, "fork", "talk", "early", "--at", "2", "--json").data
    then = cli("--root", memory_root, "at", "talk", "2", "--json").data
    assert made["session"] == "early"
    assert cli("--root", memory_root, "at", "early", "2", "--json").data["pages"] == then["pages"]
    whole = cli("--root", memory_root, "fork", "talk", "--json").data
    assert whole["pages"] > made["pages"]
    refused = cli("--root", memory_root, "fork", "talk", "x", "--at", "999")
    assert refused.code == 2
    assert "turns so far" in refused.err
    assert cli("--root", memory_root, "verify").code == 0
