"""What goes wrong is said in one or two lines on stderr, with an exit code of its kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path
from typing import Any

import click
import pytest

from pagefault.cli.outcome import describe, exit_code, name_of
from pagefault.cli.root import SECTIONS, root
from pagefault.model import errors
from tests.cli.conftest import Cli

BAD_INPUT = [
    (["frobnicate"], 2, "No such command"),
    (["recall", "grease"], 2, "has no verb 'grease'; the verbs are recent, search,"),
    (["recall", "serch", "grease"], 2, "has no verb 'serch'; did you mean search?"),
    (["sesions"], 2, "Did you mean 'sessions'"),
    (["sessions", "--nope"], 2, "No such option"),
    (["pages"], 2, "Usage"),
    (["pages", "show"], 2, "Missing argument"),
    (["pages", "show", "msg_1", "--level", "4"], 2, "not in the range"),
    (["pages", "show", "msg_1", "--level", "-1"], 2, "not in the range"),
    (["pages", "show", "msg_1", "--level", "full"], 2, "not a valid integer"),
    (["search", "wheel", "--limit", "abc"], 2, "'abc' is not a valid integer."),
    (["search", ""], 2, "no words to search for"),
    (["serve", "--upstream", "foo"], 2, "the engine or upstream 'foo' is not an http"),
    (["pages", "show", "msg_9999"], 3, "has no page 'msg_9999'"),
    (["pages", "show", "../../etc/passwd"], 3, "has no page"),
    (["pages", "show", ""], 3, "has no page"),
    (["pages", "pin", "msg_9999"], 3, "has no page"),
    (["pages", "ls", "--session", "nobody"], 3, "there is no session 'nobody'"),
    (["pages", "ls", "--session", ""], 3, "there is no session ''"),
    (["pages", "ls", "-n", "0"], 2, "not in the range"),
    (["pages", "search"], 2, "Missing argument"),
    (["faults", "--session", "nobody"], 3, "there is no session"),
    (["forget"], 2, "Name a PAGE_ID"),
    (["forget", "msg_1", "--session-whole", "--session", "talk"], 2, "Name a PAGE_ID"),
    (["forget", "msg_9999", "--yes"], 3, "has no page"),
    (["forget", "talk"], 3, "that is a session: `pagefault forget --all --session talk`"),
    (["history", "msg_9999"], 3, "has no page 'msg_9999'"),
    (["history", "nobody"], 3, "no session 'nobody'"),
    (["replay", "/no/such/file", "--window", "2000"], 2, "does not exist"),
    (["replay", __file__, "--format", "xml"], 2, "is not one of"),
    (["replay", __file__, "--window", "0"], 2, "not in the range"),
    (["replay", __file__, "--format", "jsonl", "--window", "2000"], 2, "line 1"),
    (["chat", "--window", "many"], 2, "not a valid integer"),
    (["chat", "--engine", "oracle"], 2, "is not one of"),
    (["bench", "kernel", "--pages", "0"], 2, "not in the range"),
    (
        ["search", "hello", "--in", "chagpt"],
        2,
        "there is no source 'chagpt'; there are pagefault, ",
    ),
    (["core", "add", "we fly"], 2, "has no verb 'add'; did you mean append?"),
    (["scopes", "zzz", "talk", "x"], 2, "has no verb 'zzz'; the verbs are "),
    (["import", "aprove", "--import", "imp_1"], 2, "did you mean approve?"),
    (["import", "nope.zip"], 2, "'nope.zip' does not exist"),
    (["export", "x", "--in", "chagpt"], 2, "there is no source"),
    (["forget", "--in", "chagpt"], 2, "there is no source"),
    (["import", "list", "--in", "chagpt"], 2, "there is no source"),
    (["config", "show", "extra"], 2, "unexpected extra argument"),
    (["config", "show", "extra"], 2, "hint: `pagefault config show --help` explains the usage"),
    (["claims", "show", "2", "talk"], 2, "a session is named with --session NAME; `pagefault cl"),
    (["pages", "show", "talk", "2"], 2, "a session is named with --session NAME; `pagefault pa"),
]


@pytest.mark.parametrize(("argv", "code", "said"), BAD_INPUT, ids=lambda value: str(value)[:40])
def test_bad_input_is_told_in_two_lines(
    cli: Cli, memory_root: Path, argv: list[str], code: int, said: str
) -> None:
    told = cli("--root", memory_root, *argv)
    assert told.code == code
    assert said in told.err
    assert told.out == ""
    assert "Traceback" not in told.err
    if argv != ["pages"]:
        assert len(told.err.splitlines()) <= 2
        assert told.err.startswith("error: ")


@pytest.mark.parametrize(
    ("argv", "code", "name"),
    [
        (["pages", "show", "msg_9999", "--json"], 3, "no_such_page"),
        (["pages", "ls", "--json", "--session", "nobody"], 3, "session_not_found"),
        (["pages", "show", "msg_1", "--json", "--level", "9"], 2, "bad_parameter"),
        (["forget", "--json"], 2, "usage_error"),
    ],
)
def test_with_json_an_error_is_json_on_stderr(
    cli: Cli, memory_root: Path, argv: list[str], code: int, name: str
) -> None:
    told = cli("--root", memory_root, *argv)
    assert (told.code, told.out) == (code, "")
    error = json.loads(told.err)["error"]
    assert error["code"] == name
    assert error["exit_code"] == code
    assert set(error) == {"code", "message", "hint", "exit_code"}


def test_a_memory_that_is_not_there_is_not_found(cli: Cli, tmp_path: Path) -> None:
    told = cli("--root", tmp_path / "none", "sessions")
    assert told.code == 3
    assert str(tmp_path / "none") in told.err
    assert "hint: " in told.err
    assert "`pagefault import PATH` makes one" in told.err


def test_a_memory_without_a_session_says_how_to_begin(cli: Cli) -> None:
    assert "there is no session here yet" in cli("--root", ":memory:", "pages", "ls").err
    assert cli("--root", ":memory:", "sessions", "--json").data == []
    assert cli("--root", ":memory:", "verify").code == 2


def test_bad_configuration_is_told_and_doctor_still_runs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEFAULT_WINDOW", "3")
    told = cli("sessions")
    assert told.code == 2
    assert "PAGEFAULT_WINDOW_TOKENS" in told.err
    report = cli("doctor", "--json")
    assert report.code == 2
    assert any(check["name"] == "config" for check in report.data["checks"])


def test_a_bug_of_ours_is_told_without_a_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr("pagefault.store.schema.record_schema", broken)
    told = cli("schema")
    assert told.code == 70
    assert "a bug in pagefault" in told.err
    assert "Traceback" not in told.err
    monkeypatch.setenv("PAGEFAULT_DEBUG", "1")
    assert "Traceback" in cli("schema").err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadInput("x"), 2),
        (errors.WindowTooSmall("x"), 2),
        (errors.PinsFull("x"), 4),
        (errors.CannotUndo("x"), 4),
        (errors.SessionNotFound("x"), 3),
        (errors.StoreMissing("x"), 3),
        (errors.RecordGone("x"), 3),
        (errors.StoreBusy("x"), 4),
        (errors.SessionBusy("x"), 4),
        (errors.StoreReadOnly("x"), 4),
        (errors.StoreCorrupt("x"), 4),
        (errors.EngineRefused("x"), 5),
        (errors.EngineUnreachable("x"), 5),
        (PermissionError(13, "Permission denied", "/x"), 4),
        (click.UsageError("x"), 2),
        (KeyError("x"), 70),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_family_of_errors_has_its_exit_code(error: Exception, code: int) -> None:
    assert exit_code(error) == code
    assert describe(error)[0]
    assert name_of(error).islower()


def test_every_command_is_listed_with_its_own_first_sentence() -> None:
    ctx = click.Context(root)
    for section in SECTIONS.values():
        for name, short in section.items():
            command = root.get_command(ctx, name)
            assert command is not None
            assert command.help is not None
            assert " ".join(command.help.split("\n\n")[0].split()).startswith(short.rstrip("."))


def test_what_is_interrupted_before_it_begins_ends_quietly(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Coroutine[Any, Any, Any]] = []

    def interrupted(work: Coroutine[Any, Any, Any]) -> None:
        handed.append(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    assert cli("--root", memory_root, "pages", "search", "workshop").code == 130
    assert [getcoroutinestate(work) for work in handed] == [CORO_CLOSED]  # else Python warns
