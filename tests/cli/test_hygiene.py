"""Whatever a page, a name or the environment says: it neither acts on a terminal nor leaks."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagefault
from pagefault import Reply, Request
from pagefault.cli.root import SECTIONS
from pagefault.cli.term import Term, json_text, one_line, printable, redacted
from tests.cli.conftest import Cli

BIDI, TAGS, ROW = "\u202e\u2066", "\U000e0041\U000e007f", "\u200d\u200d\u200d\u200d"
SELECTORS = "\ufe01\ufe02\ufe03"
ACTING = "\x1b[2J\x1b]0;owned\x07\x9b31m\x08\x7f\r\u2028" + BIDI + TAGS + ROW + SELECTORS
FORGED = "forged: a line of its own"
LINES = f"two\r\n{FORGED}\n{FORGED}\r{FORGED}"  # where one line is meant
NAMED = "evil" + BIDI + TAGS + ROW + "\x9b\x85name"  # what a session may be called
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
    "|[\u200c\u200d\ufe00-\ufe0f]{3}"
)
SECRET = "hunter-22-and-more"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile") / "memory"

    async def make() -> None:
        async with pagefault.open(root, window=4_000) as memory:
            await memory.session(f"other {NAMED}")  # first: commands take the one used last
            session = await memory.session(NAMED, system=f"Plan. {ACTING}")
            await session.user(f"We decided to use {ACTING}Postgres for {ACTING} the ledger.")
            await session.document(f"Notes {ACTING} of the ledger.", title=f"t{ACTING}{LINES}")
            await session.tool_result(f"ok {ACTING} ledger", name=f"tool{ACTING}{LINES}")
            await session.assistant(f"So the ledger {ACTING}", speaker=f"Eve{ACTING}{LINES}")
            await session.goal(f"Finish {ACTING} it.")
            await session.checkpoint(f"point{NAMED}")
            await session.request()
            await session.assistant(f"Noted {ACTING} the ledger.")
            await session.user("What of the ledger?")
            await session.run(pagefault.ScriptedEngine())

    asyncio.run(make())
    return root


WALK: dict[str, list[list[str]]] = {
    "sessions": [[]],
    "search": [["ledger"], ["\x1b[2J\u202e"]],
    "recall": [["recent"], ["topic", "ledger"]],
    "pages": [
        ["ls"],
        ["search", "ledger"],
        ["show", "msg_1"],
        ["show", "art_1"],
        ["show", "tool_1"],
        ["show", ACTING + LINES],
    ],
    "claims": [[], ["graph"], ["known", ACTING], ["validate", "--dry-run"], ["show", ACTING]],
    "cards": [[], ["review"]],
    "pack": [["ledger"], ["ledger", "--session", NAMED], [ACTING], ["--format", "claude"]],
    "handoff": [[], [ACTING], ["--session", NAMED, "--format", "codex"]],
    "synopsis": [[], ["--session", NAMED]],
    "digest": [[], ["--session", NAMED, "--since", "2020-01-01"], ["--git", ACTING]],
    "status": [[], ["\x1b[2J\u202e"]],
    "at": [["--turn", "1"], [ACTING]],
    "diff": [["0", "1"]],
    "history": [["msg_1"]],
    "sent": [["0"], [ACTING]],
    "items": [[], ["--message", "1"]],
    "events": [[], ["--file", ACTING], ["--session", NAMED]],
    "ledger": [[]],
    "bill": [[], [NAMED, "--by", "model", "--price", "5"]],
    "report": [["-o", "-"], ["--json"], [ACTING]],
    "abi": [[]],
    "faults": [[]],
    "config": [["show"], ["show", "--origin"]],
    "mcp": [["--session", ACTING]],
    "mode": [[], [ACTING], ["assist", "--session", NAMED]],
    "core": [
        ["append", f"human{NAMED}", f"It says {ACTING}"],
        ["replace", f"human{NAMED}", "It", ACTING],
        ["insert", f"Noted: {ACTING}"],
        ["search", "noted"],
        ["show"],
        ["show", "--proposed"],
        ["accept", ACTING],
    ],
    "heat": [
        ["add", f"Hot: {ACTING}", "--metadata", '{"a": "\\u001b[2J"}'],
        ["hot"],
        ["spill"],
        ["recall", "hot"],
        ["promote", "note_1"],
        ["prune", ACTING],
        [],
    ],
    "goal": [[], [f"Now {ACTING}"]],
    "remember": [[ACTING]],
    "scopes": [
        ["create", f"shelf{NAMED}", "--owner", NAMED, "--read", f"user:{NAMED}"],
        ["assign", "--user", NAMED],
        ["mount", f"shelf{NAMED}", "--rw"],
        ["share", f"shelf{NAMED}", f"It says {ACTING}"],
        ["promote", "msg_1", f"shelf{NAMED}"],
        ["pages", f"shelf{NAMED}"],
        ["show", f"shelf{NAMED}"],
        [],
        ["mount", ACTING],
        ["policy", f"shelf{NAMED}", "--read", ACTING],
    ],
    "form": [["--by", "rules", "--dry-run"], ["--by", "rules"], [ACTING, "--by", "rules"]],
    "undo": [["--dry-run"], [], [ACTING]],
    "redo": [["--dry-run"], [], [ACTING]],
    "fork": [[f"aside{NAMED}"], [ACTING]],
    "checkpoint": [[f"then{NAMED}"], [ACTING]],
    "doctor": [[]],
    "verify": [[]],
    "gc": [[]],
    "archive": [["--dry-run"]],
    "forget": [["msg_1"], [ACTING + LINES], ["--query", "ledger"]],
    "scrub": [[], ["--value-from", f"no{BIDI}file\x1b"]],
    "export": [["x", "--dry-run"], [f"x{BIDI}", "--dry-run", "--session", ACTING]],
    "retention": [["set", "7d", "--session", NAMED], [], ["set", ACTING + LINES]],
    "adopt": [[], ["--revoke"], [f"no{BIDI}memory\x1b{LINES}"]],
    "scan": [[f"no{BIDI}file\x1b"]],
    "replay": [[f"no{BIDI}file\x1b.jsonl"]],
    "origins": [
        ["show", "tool_1", "--session", NAMED],
        ["show", ACTING + LINES],
        ["raise", "tool_1", ACTING, "--session", NAMED],
        ["revoke", "tool_1", "--session", NAMED, "--dry-run"],
        ["revoke", "--origin", ACTING, "--dry-run"],
    ],
    "import": [["list"], [f"no{BIDI}file\x1b.jsonl"], ["approve", "--session", ACTING]],
    "restore": [[f"no{BIDI}backup\x1b"]],
    "wrap": [[f"no{BIDI}client\x1b{LINES}"], ["--env", ACTING, "sh"]],
    "unwrap": [[]],
    "stop": [[]],
    "\x1b[2J\u202ecommand": [[]],
}
LEFT_OUT = {
    "demo",
    "chat",
    "dashboard",
    "serve",
    "statusline",
    "studio",  # it draws on a terminal: tests/studio
    "models",
    "schema",
    "embed",
    "rebuild",
    "repair",
    "upgrade",
    "backup",
    "bench",
}


def test_every_command_is_walked_or_named() -> None:
    every = {name for section in SECTIONS.values() for name in section}
    assert every - set(WALK) == LEFT_OUT


def test_the_walk_meets_what_it_looks_for(cli: Cli, hostile: Path) -> None:
    for page_id in ("msg_1", "msg_2", "art_1", "tool_1"):
        assert cli("--root", hostile, "pages", "show", page_id).code == 0
    assert "forged" in cli("--root", hostile, "pages", "show", "tool_1").out


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", sorted(WALK), ids=ascii)
def test_no_command_prints_what_acts_on_a_terminal(
    cli: Cli, hostile: Path, command: str, as_json: bool
) -> None:
    for words in WALK[command]:
        done = cli("--root", hostile, command, *words, *(["--json"] if as_json else []))
        assert done.code != 70, done.err
        for stream in (done.out, done.err):
            assert not FORBIDDEN.search(stream), (words, stream)
            assert not any(line.strip().startswith(FORGED) for line in stream.splitlines()), words
        if as_json and done.code == 0 and done.out:
            json.loads(done.out)


@given(st.text())
def test_what_is_printed_is_printable_and_json_says_the_same(text: str) -> None:
    assert not FORBIDDEN.search(printable(text))
    assert len(one_line(text).splitlines()) <= 1
    assert not FORBIDDEN.search(json_text({"text": text, text: [text]}))
    assert json.loads(json_text([text])) == [text]


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦 ❤️‍🔥", "می‌خواهم", "naïve é", "数据库"])
def test_what_people_write_is_left_as_it_is(text: str) -> None:
    assert printable(text) == text


# --- secrets of the environment ---------------------------------------------------------------


@pytest.fixture
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_PASSWORD", SECRET)


@pytest.mark.usefixtures("_secret")
@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_no_error_prints_a_secret(
    cli: Cli, hostile: Path, monkeypatch: pytest.MonkeyPatch, debug: str, more: list[str]
) -> None:
    monkeypatch.setenv("PAGEFAULT_DEBUG", debug)
    for words in (["status", SECRET], ["search"], ["pages", "show", SECRET], ["nothing", SECRET]):
        done = cli("--root", hostile, *words, *more)
        assert SECRET not in done.out + done.err
    done = cli("--root", f"/nowhere/{SECRET}", "status", *more)
    assert done.code
    assert SECRET not in done.out + done.err
    assert "[REDACTED:DEPLOY_PASSWORD]" in done.err


@pytest.mark.usefixtures("_secret")
def test_json_holds_no_secret_and_stays_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BANK_SECRET", "1234567890")
    value = {SECRET: [f"it is {SECRET}!", {"account": 91234567890, "rate": 0.5}], "none": None}
    Term().data(value)
    Term().record(value)
    mark = "[REDACTED:DEPLOY_PASSWORD]"
    told = {
        mark: [f"it is {mark}!", {"account": "9[REDACTED:BANK_SECRET]", "rate": 0.5}],
        "none": None,
    }
    several, line = capsys.readouterr().out.rstrip().rsplit("\n", 1)
    assert json.loads(several) == json.loads(line) == told


@pytest.mark.usefixtures("_secret")
@given(st.data())
def test_a_stream_holds_no_secret_however_it_comes_in_pieces(data: st.DataObject) -> None:
    kinds = st.sampled_from(
        ["So ", SECRET, SECRET + "-suffix", SECRET[:9], SECRET.encode().hex(), "\n", "word " * 40,
         base64.b64encode(SECRET.encode()).decode(), SECRET.replace("-", "%2D"), "[REDACTED"]
    )  # fmt: skip
    text = "".join(data.draw(st.lists(kinds, max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    shown = io.StringIO()
    with redirect_stdout(shown), Term().stream() as show:
        for start, end in pairwise([0, *cuts, len(text)]):
            show(text[start:end])
    assert shown.getvalue() == redacted(text)


def test_a_stream_is_shown_by_sentences_and_lines() -> None:
    shown = io.StringIO()
    with redirect_stdout(shown), Term().stream() as show:
        show("Once upon a time. There")
        assert shown.getvalue() == "Once upon a time. "
        show(" was a")
        show(" key\nthat")
        assert shown.getvalue() == "Once upon a time. There was a key\n"
    assert shown.getvalue() == "Once upon a time. There was a key\nthat"


def test_where_known_values_alone_are_redacted_a_stream_is_shown_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAGEFAULT_REDACT__LEVEL", "known")
    shown = io.StringIO()
    with redirect_stdout(shown), Term().stream() as show:
        show("Once upon")
        assert shown.getvalue() == "Once upon"


@pytest.mark.usefixtures("_secret")
def test_a_stream_that_breaks_off_shows_what_came() -> None:
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(OSError), Term().stream() as show:
        show("Once upon hun")
        raise OSError
    assert shown.getvalue() == "Once upon hun"


@pytest.mark.usefixtures("_secret")
def test_no_answer_of_a_model_prints_a_secret(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leaking:
        async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
            said = f"It is {SECRET}."
            for char in said:
                yield char
            yield Reply(text=said)

    monkeypatch.setattr("pagefault.engine.scripted.ScriptedEngine", Leaking)
    for more in ([], ["--json"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"What is it?")))
        done = cli("--root", tmp_path / "m", "chat", "s", "--engine", "scripted", *more)
        assert done.code == 0, done.err
        assert SECRET not in done.out + done.err
        assert "It is [REDACTED:DEPLOY_PASSWORD" in done.out


def test_the_password_of_an_address_is_not_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEFAULT_ENGINE__BASE_URL", f"https://me:{SECRET}@llm.example/v1")
    for more in ([], ["--origin"], ["--json"]):
        done = cli("config", "show", *more)
        assert "llm.example" in done.out
        assert SECRET not in done.out + done.err
    done = cli("doctor")
    assert SECRET not in done.out + done.err
