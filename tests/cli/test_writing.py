"""Commands that change a memory."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import pagefault
import pagefault.sync
from pagefault.service.bootstrap import open_memory
from tests.cli.conftest import Cli, Outcome
from tests.store.roots import make_segments_tiny

ROOT = Path(__file__).parents[2]


def _say(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_a_pin_lasts_until_it_is_let_go(cli: Cli, memory_root: Path) -> None:
    assert cli("--root", memory_root, "pages", "pin", "msg_1", "--json").data["pins"] == ["msg_1"]
    [first, *_] = cli("--root", memory_root, "pages", "ls", "--all", "--json").data["pages"]
    assert first["pinned"]
    assert cli("--root", memory_root, "pages", "unpin", "msg_1", "--json").data["pins"] == []


def test_a_page_that_was_forgotten_is_pinned_and_counted_no_more(
    cli: Cli, memory_root: Path
) -> None:
    cli("--root", memory_root, "pages", "pin", "msg_1")
    before = cli("--root", memory_root, "pages", "ls", "--all", "--json").data
    cli("--root", memory_root, "forget", "msg_1", "--yes")
    after = cli("--root", memory_root, "pages", "ls", "--all", "--json").data
    assert cli("--root", memory_root, "status", "--json").data["pinned"] == []
    assert after["total"] == len(after["pages"]) < before["total"]


@pytest.mark.parametrize(
    "words",
    [
        "core append human Ada",
        "core insert Bees",
        "heat add B7",
        "heat spill",
        "heat prune",
        "scopes create spare",
        "scopes fork shop copy",
        "scopes policy shop --read anyone",
        "scopes mount shop",
        "scopes consent shop ro",
        "scopes assign --project till",
        "undo",
        "redo",
        "retention set 90d",
    ],
)
def test_a_dry_run_opens_the_memory_for_reading_only(
    words: str, cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("--root", memory_root, "scopes", "create", "shop").code == 0
    assert cli("--root", memory_root, "pages", "pin", "msg_1").code == 0
    assert words != "redo" or cli("--root", memory_root, "undo").code == 0
    opened: list[bool] = []

    def opening(root: str, **wiring: Any) -> AbstractAsyncContextManager[pagefault.Memory]:
        opened.append(wiring.get("read_only", False))
        return open_memory(root, **wiring)

    monkeypatch.setattr("pagefault.service.bootstrap.open_memory", opening)
    told = cli("--root", memory_root, *words.split(), "--dry-run")
    assert told.code == 0, told.err
    told = cli("--root", memory_root, *words.split())
    assert told.code == 0, told.err
    assert opened == [True, False]


@pytest.mark.parametrize("words", ["scopes create shop", "retention set 90d", "undo", "forget 1"])
def test_a_dry_run_makes_no_memory(words: str, cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "none"
    makes = words.startswith(("scopes create", "retention"))
    dry = [] if words.startswith("forget") else ["--dry-run"]
    assert cli("--root", root, *words.split(), *dry).code == (0 if makes else 3)
    assert not root.exists()


def test_forgetting_is_a_dry_run_until_it_is_confirmed(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "forget", "msg_1")
    assert told.code == 0
    assert "nothing was changed" in told.out
    assert f"pagefault --root {memory_root} forget msg_1 --session ses_" in told.out
    assert told.out.count("kept until the whole session is forgotten:") == 1
    assert cli("--root", memory_root, "pages", "show", "msg_1").code == 0


def test_what_was_forgotten_is_gone_and_the_receipt_says_what_is_not(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "forget", "msg_3", "--yes", "--json").data
    assert told["done"]
    assert told["pages"] == ["msg_3", "sum_1"]
    assert told["seen_from"] == ["aside"]
    assert any("backups" in place for place in told["beyond_reach"])
    assert cli("--root", memory_root, "pages", "show", "msg_3").code == 3
    left = b"".join(path.read_bytes() for path in (memory_root / "log").iterdir())
    assert b"Filler number 0," not in left
    assert b"Filler number 1," in left
    assert cli("--root", memory_root, "verify").code == 0


def test_every_page_with_some_words_is_forgotten_in_one_go(cli: Cli, memory_root: Path) -> None:
    at = ("--root", memory_root)
    told = cli(*at, "forget", "--query", "filler number", "--session", "talk")
    assert "nothing was changed" in told.out
    assert "forget --query 'filler number' --session talk --yes" in told.out
    dry = cli(*at, "forget", "--query", "filler number", "--json").data
    assert dry["done"] is False
    assert sum(len(one["pages"]) for one in dry["sessions"]) > 1
    done = cli(*at, "forget", "--query", "filler number", "--yes", "--json").data
    assert [one["pages"] for one in done["sessions"]] == [one["pages"] for one in dry["sessions"]]
    left = b"".join(path.read_bytes() for path in (memory_root / "log").iterdir())
    assert b"Filler number" not in left
    assert cli(*at, "forget", "--query", "filler number", "--yes").out == ""
    assert cli(*at, "verify").code == 0


def test_pages_are_kept_as_long_as_the_rules_say(cli: Cli, memory_root: Path) -> None:
    at = ("--root", memory_root)
    assert "everything is kept forever" in cli(*at, "retention").out
    assert cli(*at, "retention", "set", "7d", "--dry-run", "--json").data["rules"] != []
    assert "nothing was changed" in cli(*at, "retention", "set", "7d", "--dry-run").err
    assert (
        "nothing was changed" not in cli(*at, "retention", "set", "7d", "--dry-run", "--json").err
    )
    assert cli(*at, "retention", "--json").data == {"rules": [], "expired": []}
    cli(*at, "retention", "set", "90d")
    told = cli(*at, "retention", "set", "7d", "--kind", "artifact", "--session", "talk", "--json")
    assert [(one["keep"], one["kind"], one["session"]) for one in told.data["rules"]] == [
        ("90d", "", ""),
        ("7d", "artifact", "talk"),
    ]
    assert told.data["expired"] == [], "nothing is so old"
    assert cli(*at, "retention", "apply", "--yes").code == 0
    assert cli(*at, "retention", "set", "7 weeks").code == 2
    assert cli(*at, "retention", "set", "7d", "--session", "nobody").code == 3
    assert [
        one["keep"] for one in cli(*at, "retention", "set", "none", "--json").data["rules"]
    ] == ["7d"]


def test_a_session_is_forgotten_whole_and_never_by_guess(cli: Cli, memory_root: Path) -> None:
    assert cli("--root", memory_root, "forget", "--session-whole", "--yes").code == 2
    whole = ("forget", "--session-whole", "--session", "other")
    assert cli("--root", memory_root, *whole, "--json").data["done"] is False
    assert cli("--root", memory_root, *whole, "--yes").code == 0
    names = [row["name"] for row in cli("--root", memory_root, "sessions", "--json").data]
    assert "other" not in names


def test_the_index_is_built_anew_and_nothing_changes(cli: Cli, memory_root: Path) -> None:
    before = cli("--root", memory_root, "sessions", "--json").out
    for file in memory_root.glob("index.db*"):
        file.unlink()
    told = cli("--root", memory_root, "rebuild", "--json")
    assert told.data["records"] > 0
    assert cli("--root", memory_root, "sessions", "--json").out == before


def test_damage_is_found_and_repaired(cli: Cli, memory_root: Path) -> None:
    [log] = (memory_root / "log").iterdir()
    lines = log.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"', b"'", 4)
    log.write_bytes(b"".join(lines))
    found = cli("--root", memory_root, "verify", "--json")
    assert found.code == 1
    assert not found.data["ok"]
    assert cli("--root", memory_root, "pages", "pin", "msg_1").code == 4
    repaired = cli("--root", memory_root, "repair", "--json").data
    assert repaired["changed"]
    assert repaired["lost"]
    assert cli("--root", memory_root, "verify").code == 0
    assert "nothing is damaged" in cli("--root", memory_root, "repair").out


def test_a_message_from_a_pipe_is_answered_once(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(monkeypatch, b"How many spokes has the red wheel?\n")
    told = cli("--root", memory_root, "chat", "talk", "--engine", "scripted", "--json").data
    assert "msg_1" in told["citations"]
    assert told["citations_invalid"] == []
    _say(monkeypatch, "And the colour? Grün?".encode())
    plain = cli("--root", memory_root, "chat", "talk", "--engine", "scripted")
    assert plain.code == 0
    assert plain.out.strip()


def test_a_chat_makes_its_session(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(monkeypatch, b"Hello there")
    root = tmp_path / "new"
    assert cli("--root", root, "chat", "--engine", "scripted", "--window", "4000").code == 0
    [row] = cli("--root", root, "sessions", "--json").data
    assert (row["name"], row["pages"]) == ("chat", 2)


@pytest.mark.parametrize("text", [b"", b"  \n ", b"gr\xff\xfcn"])
def test_a_message_that_cannot_be_is_refused_before_anything_is_made(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    _say(monkeypatch, text)
    told = cli("--root", tmp_path / "new", "chat", "--engine", "scripted")
    assert told.code == 2
    assert not (tmp_path / "new").exists()


def test_without_an_endpoint_chat_says_what_to_set(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(monkeypatch, b"Hello")
    told = cli("--root", tmp_path / "new", "chat")
    assert told.code == 2
    assert "PAGEFAULT_ENGINE__MODEL" in told.err
    assert "--engine scripted" in told.err
    monkeypatch.setenv("PAGEFAULT_ENGINE__MODEL", "some-model")
    _say(monkeypatch, b"Hello")
    assert "OPENAI_API_KEY" in cli("--root", tmp_path / "new", "chat").err


def test_an_endpoint_that_is_not_there_is_the_engines_failure(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    _say(monkeypatch, b"Hello")
    monkeypatch.setenv("PAGEFAULT_ENGINE__TOTAL_S", "0.2")
    endpoint = ("--engine-model", "m", "--engine-base-url", "http://127.0.0.1:9/v1")
    told = cli("--root", tmp_path / "new", "chat", *endpoint, "--json")
    assert told.code == 5
    assert told.out == ""
    assert json.loads(told.err)["error"]["exit_code"] == 5


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    lines = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"Line {n} of a talk. " * 8}
        for n in range(40)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_replay_makes_a_session_and_says_so(cli: Cli, tmp_path: Path, transcript: Path) -> None:
    root = tmp_path / "memory"
    told = cli("--root", root, "replay", transcript, "--window", "2000", "--json")
    assert told.code == 0
    assert told.data["turns"] == 40
    assert told.data["requests_over_window"] == 0
    assert "'talk'" in told.err
    assert [row["name"] for row in cli("--root", root, "sessions", "--json").data] == ["talk"]


def test_a_replay_counts_the_system_message_as_the_prompt_and_says_so(
    cli: Cli, tmp_path: Path
) -> None:
    path, said = tmp_path / "talk.jsonl", "the system message is the session's prompt"
    lines = [{"role": "user", "content": "We begin."}, {"role": "assistant", "content": "Good."}]
    path.write_text("".join(map("{}\n".format, map(json.dumps, lines))))
    assert said not in cli("replay", path, "--window", "2000", "--ephemeral").err
    first = json.dumps({"role": "system", "content": "You plan trips."})
    path.write_text(f"{first}\n{path.read_text()}")
    told = cli("--root", tmp_path / "m", "replay", path, "--window", "2000")
    assert said in told.err
    assert told.out.splitlines()[1].split() == ["lines", "replayed", "2"]
    with pagefault.sync.open(tmp_path / "m") as memory:
        session = memory.session("talk")
        session.user("Go on.")
        assert "You plan trips." in session.request().messages[0].content, "it is not lost"


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system"])
def test_what_is_replayed_was_said_when_its_line_tells(cli: Cli, tmp_path: Path, role: str) -> None:
    path, root = tmp_path / "old.jsonl", tmp_path / "memory"
    first = {"role": "user", "content": "We begin.", "occurred_at": "2024-03-04T09:00:00+01:00"}
    later = {"role": role, "content": "19 passed.", "occurred_at": "2024-03-05T09:00:00+01:00"}
    path.write_text(f"{json.dumps(first)}\n{json.dumps(later)}\n")
    assert cli("--root", root, "replay", path, "--window", "2000").code == 0
    told = cli("--root", root, "recall", "timeline", "--until", "2024-12-31", "--json").data
    assert [hit["said_at"] for hit in told["hits"]] == [
        "2024-03-04T08:00:00.000Z",
        "2024-03-05T08:00:00.000Z",
    ]


def test_an_ephemeral_replay_leaves_nothing(
    cli: Cli, tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    words = ("replay", transcript, "--format", "jsonl", "--window", "2000", "--ephemeral")
    told, whole = cli(*words), cli(*words, "--all")
    assert (told.code, whole.code) == (0, 0)
    assert "lines replayed" in told.out
    assert len(told.out.splitlines()) <= 1 + 8
    assert " more figures: --all" in told.err
    assert {row.split("  ")[0] for row in told.out.splitlines()} < {
        row.split("  ")[0] for row in whole.out.splitlines()
    }
    assert list(folder.iterdir()) == []


def test_the_demo_recalls_what_had_left_the_window_and_can_be_repeated_in_one_memory(
    cli: Cli, tmp_path: Path
) -> None:
    told = cli("demo", "--json", "--root", tmp_path / "kept")
    assert told.code == 0
    totals = told.data["totals"]
    assert totals["recalled_evicted"] >= 3
    assert totals["citations_valid"] == totals["citations"]
    assert totals["problems"] == []
    assert totals["request_tokens_max"] <= 3_000
    assert sum(not question["citations"] for question in told.data["questions"]) == 1
    first, then = [one for one in told.data["claims"] if one["subject"] == "our opening"]
    assert "14 March" in first["value"]
    assert (first["status"], first["closed_by"]) == ("superseded", then["claim_id"])
    assert then["status"] == "standing"
    assert "now 21 March" in then["evidence"][0]["quote"]
    kept = cli("--root", tmp_path / "kept", "faults", "--forks", "--json").data
    assert len(kept) >= totals["faults"]
    second = cli("demo", "--root", tmp_path / "kept")
    assert second.code == 0
    assert "in this memory already" in second.out
    assert "[ref: msg_" in second.out
    assert "superseded by clm_" in second.out
    sample = (ROOT / "README.md").read_text("utf-8").partition("```text\n")[2].partition("```")[0]
    assert " ".join(sample.split()) in " ".join(second.out.split())


@pytest.mark.torture
def test_the_demo_says_where_the_command_is_if_the_shell_does_not_know(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    assert f'export PATH="{Path(sys.executable).parent}:$PATH"' in cli("demo").out


def test_every_run_of_the_demo_is_the_same(cli: Cli, tmp_path: Path) -> None:
    told = cli("demo", "--json")
    assert told.code == 0
    assert cli("demo", "--json", "--root", tmp_path / "kept").data == told.data


def test_a_backup_is_made_verified_and_restored(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    made = cli("--root", memory_root, "backup", tmp_path / "b", "--json").data
    assert made["records"] == cli("--root", memory_root, "verify", "--json").data["records"]
    assert made["blobs_missing"] == []
    restored = cli("--root", tmp_path / "r", "restore", tmp_path / "b", "--json").data
    assert (restored["records"], restored["link"]) == (made["records"], made["link"])
    for looked in (("sessions",), ("pages", "ls", "--all"), ("faults",)):
        before = cli("--root", memory_root, *looked, "--json").data
        assert cli("--root", tmp_path / "r", *looked, "--json").data == before
    assert cli("--root", tmp_path / "r", "verify").code == 0
    assert cli("--root", memory_root, "backup", tmp_path / "b").code == 2
    assert cli("--root", memory_root, "restore", tmp_path / "b").code == 2
    assert cli("--root", tmp_path / "x", "restore", tmp_path / "none").code == 3
    assert "verified" in cli("--root", memory_root, "backup", tmp_path / "c").out


def test_the_archive_of_a_short_memory_is_empty_and_said_so(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "archive", "--keep", "0", "--json").data
    assert (told["segments"], told["archived"], told["done"]) == ([], 0, True)
    assert "nothing to archive" in cli("--root", memory_root, "archive").out
    assert not (memory_root / "archive").exists()
    assert cli("--root", memory_root, "archive", "--keep", "-1").code == 2


def test_full_segments_are_archived_and_read_as_before(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_segments_tiny(monkeypatch)
    for _ in range(3):
        _say(monkeypatch, b"How many spokes has the red wheel?")
        assert cli("--root", memory_root, "chat", "talk", "--engine", "scripted").code == 0
    before = cli("--root", memory_root, "pages", "ls", "--all", "--json").data
    assert "L4" not in {page.pop("tier") for page in before["pages"]}
    plan = cli("--root", memory_root, "archive", "--keep", "0", "--dry-run", "--json").data
    assert plan["segments"]
    assert "would be archived" in cli("--root", memory_root, "archive", "--dry-run").out
    told = cli("--root", memory_root, "archive", "--keep", "0", "--json").data
    assert (told["segments"], told["bytes_after"]) == (plan["segments"], plan["bytes_after"])
    after = cli("--root", memory_root, "pages", "ls", "--all", "--json").data
    assert "L4" in {page.pop("tier") for page in after["pages"]}
    assert after == before
    assert cli("--root", memory_root, "forget", "msg_1", "--session", "talk", "--yes").code == 0
    assert cli("--root", memory_root, "verify").code == 0


def test_an_artifact_is_written_to_a_file_and_never_over_one(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    with pagefault.sync.open(memory_root) as memory:
        memory.session("talk").artifact(b"\x00\xffbytes", name="wheel.png", text="the wheel")
    shown = ("--root", memory_root, "pages", "show", "art_1", "--session", "talk")
    assert cli(*shown, "--json").data["artifact"]
    told = cli(*shown, "--out", tmp_path / "wheel.png", "--json")
    assert told.data["text"] == "wheel.png (image/png, 7 bytes): the wheel"
    assert (tmp_path / "wheel.png").read_bytes() == b"\x00\xffbytes"
    assert cli(*shown, "--out", tmp_path / "wheel.png").code == 2
    plain = ("--root", memory_root, "pages", "show", "msg_1", "--session", "talk")
    assert cli(*plain, "--out", tmp_path / "none").code == 2
    assert not (tmp_path / "none").exists()


def test_garbage_is_only_named_until_it_is_confirmed(cli: Cli, memory_root: Path) -> None:
    assert "nothing to delete" in cli("--root", memory_root, "gc").out
    left = memory_root / "log" / "00000002.g0.jsonl.new"
    left.write_bytes(b"half")
    assert cli("--root", memory_root, "gc", "--json").data["young"] == 1
    os.utime(left, (1, 1))
    assert "would be deleted" in cli("--root", memory_root, "gc").out
    assert left.exists()
    told = cli("--root", memory_root, "gc", "--yes", "--json").data
    assert (told["done"], told["leftover_bytes"]) == (True, 4)
    assert not left.exists()


def test_a_chat_says_that_its_session_is_new_and_none_is_without_a_name(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chat(name: str) -> Outcome:
        _say(monkeypatch, b"Who rides a bicycle?")
        return cli("--root", memory_root, "chat", name, "--engine", "scripted")

    assert "a new session: tolk" in chat("tolk").err
    assert "a new session" not in chat("tolk").err
    told = chat("")
    assert told.code == 2
    assert "cannot be a session's name" in told.err


def test_a_quota_is_told_of_and_refuses(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--root", memory_root)
    [talk] = [one for one in cli(*at, "sessions", "--json").data if one["name"] == "talk"]
    assert cli(*at, "status", "talk", "--json").data["quotas"] == []
    monkeypatch.setenv("PAGEFAULT_QUOTAS__SESSION_PAGES_MAX", str(talk["own_pages"]))
    [told] = cli(*at, "status", "talk", "--json").data["quotas"]
    assert told == {
        "quota": "session_pages_max",
        "owner": "talk",
        "used": talk["own_pages"],
        "limit": talk["own_pages"],
    }
    assert f"{talk['own_pages']:,} of {talk['own_pages']:,}" in cli(*at, "status", "talk").out
    refused = cli(*at, "goal", "talk", "Brew tea.", "--json")
    assert refused.code == 4
    error = json.loads(refused.err)["error"]
    assert error["code"] == "quota_exceeded"
    assert "pagefault forget" in error["hint"]
    monkeypatch.delenv("PAGEFAULT_QUOTAS__SESSION_PAGES_MAX")
    assert cli(*at, "goal", "talk", "Brew tea.").code == 0, "the control"
