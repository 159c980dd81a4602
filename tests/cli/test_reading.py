"""Commands that look: what they say, as text and as JSON."""

from __future__ import annotations

import asyncio
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pagefault.sync
from pagefault import Incoming
from pagefault.cli.term import cells_wide, cut, printable
from pagefault.model.errors import StoreBusy
from pagefault.model.kinds import MCP, Role
from pagefault.service.bootstrap import open_memory
from pagefault.store.embedded.lock import RootLock
from tests.cli.conftest import Cli


def test_sessions_are_listed_the_latest_first_with_forks_behind_a_count(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "sessions")
    assert told.code == 0
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "talk", "other"]
    assert "1 fork" in told.err
    assert "aside" in cli("--root", memory_root, "sessions", "--forks").out


def test_sessions_as_json_name_their_parents(cli: Cli, memory_root: Path) -> None:
    rows = cli("sessions", "--json", "--root", memory_root).data
    by_name = {row["name"]: row for row in rows}
    assert by_name["aside"]["parent"] == by_name["talk"]["session_id"]
    assert by_name["talk"]["parent"] is None
    assert by_name["talk"]["turns"] == 27
    assert by_name["talk"]["last_used"].endswith("Z")
    keys = {"session_id", "name", "turns", "pages", "opened", "last_used", "parent", "mode"}
    assert set(by_name["talk"]) == keys | {"own_pages", "bytes", "title"}


def test_pages_are_those_of_the_session_used_last_that_is_no_fork(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "pages", "ls", "--json", "-n", "3").data
    assert told["session"] == "talk"
    assert told["total"] == 53
    assert [page["page_id"] for page in told["pages"]] == ["msg_51", "msg_52", "msg_53"]
    assert told["pages"][-1]["resident"]


def test_notes_of_mcp_clients_are_not_the_session_used_last(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "m"
    with pagefault.sync.open(root) as memory:
        talk = memory.session("talk")
        talk.user("The compressor may not run after eight.")
        notes = memory.session("notes", mode="passive")
        notes.tool_result("The lease needs six weeks.", name="mcp")
        assert cli("--root", root, "pages", "ls", "--json").data["session"] == "talk"
        assert cli("--root", root, "pages", "ls", "notes", "--json").data["session"] == "notes"
        notes.archival_insert("The key hangs in the shed.", origin=MCP)
        assert cli("--root", root, "pages", "ls", "--json").data["session"] == "talk"
        notes.user("Which key is it?")
        assert cli("--root", root, "pages", "ls", "--json").data["session"] == "notes"


def test_notes_are_read_where_there_is_no_conversation(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "m"
    with pagefault.sync.open(root) as memory:
        memory.session("notes").tool_result("The lease needs six weeks.", name="mcp")
    assert cli("--root", root, "pages", "ls", "--json").data["session"] == "notes"


def test_pages_found_by_words_that_begin_alike_say_so(cli: Cli, tmp_path: Path) -> None:
    root, said = tmp_path / "m", "these have words that begin alike"
    with pagefault.sync.open(root) as memory:
        talk = memory.session("talk")
        talk.user("We need a large quantity of screws.")
        talk.user("The shelf is of oak.")
    for verb in (["search"], ["pages", "search"]):
        assert said in cli("--root", root, *verb, "zebra quantum").err
        assert said not in cli("--root", root, *verb, "screws quantum").err
        assert said not in cli("--root", root, *verb, "oak").err
    assert said not in cli("--root", root, "recall", "recent").err
    assert "is_by_kin" not in cli("--root", root, "search", "quantum", "--json").data


def test_all_pages_are_listed_whatever_the_limit(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "ls", "--all", "--json").data
    assert len(told["pages"]) == told["total"]
    assert not told["pages"][0]["resident"]


def test_a_page_is_shown_with_what_is_known_of_it(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "show", "msg_1")
    assert "The red wheel has thirty-six spokes." in told.out
    assert "Mira" in told.out
    exact = cli("--root", memory_root, "pages", "show", "msg_1", "--text").out
    assert exact == "The red wheel has thirty-six spokes."


def test_a_page_at_level_three_says_that_it_exists_and_not_what_it_says(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "pages", "show", "msg_1", "--level", "3", "--json").data
    assert told["level"] == 3
    assert "wheel" not in told["text"]


def test_a_level_that_does_not_exist_is_served_by_the_next_fuller(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "pages", "show", "msg_1", "--level", "1", "--json").data
    assert (told["level_asked"], told["level"]) == (1, 0)


def test_a_search_gives_hits_whose_parts_add_up(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "search", "red", "wheel", "--json").data
    best = told["hits"][0]
    assert best["page_id"] == "msg_1"
    assert 0 < best["relevance"] <= 1
    assert sum(best["parts"].values()) == pytest.approx(best["score"], abs=0.001)
    text = cli("--root", memory_root, "pages", "search", "red wheel").out
    assert text.splitlines()[1].startswith("msg_1 ")


def test_a_search_of_every_session_says_whose_page_it_is(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "search", "red", "wheel", "--json").data
    here = cli("--root", memory_root, "pages", "search", "red", "wheel", "--json").data
    [first, *_] = told["hits"]
    assert (here["session"], here["hits"][0]["page_id"]) in {
        (hit["session"], hit["page_id"]) for hit in told["hits"]
    }
    assert abs(sum(first["parts"].values()) - first["score"]) < 0.001
    shown = cli("--root", memory_root, "search", "red wheel")
    assert first["page_id"] in shown.out
    assert f"--session {first['session_id']}" in shown.err
    nothing = cli("--root", memory_root, "search", "xylophone")
    assert "no matches in any session" in nothing.err


def test_a_search_that_finds_nothing_is_no_error(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "search", "xylophone")
    assert (told.code, told.out) == (0, "")
    assert "try other words" in told.err
    assert cli("--root", memory_root, "pages", "search", "xylophone", "--json").data["hits"] == []


def test_faults_tell_what_came_of_each(cli: Cli, memory_root: Path) -> None:
    [*faults] = cli("--root", memory_root, "faults", "--session", "aside", "--json").data
    assert faults
    assert {fault["outcome"] for fault in faults} <= {"served", "already_mapped", "refused"}
    assert cli("--root", memory_root, "faults", "--json").data == []
    hinted = cli("--root", memory_root, "faults")
    assert "in its forks" in hinted.err
    assert cli("--root", memory_root, "faults", "--forks", "--json").data == faults


def test_a_sound_memory_is_verified(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "verify", "--json")
    assert told.code == 0
    assert told.data["ok"]
    assert told.data["problems"] == []


def test_the_schema_of_a_record_is_json(cli: Cli) -> None:
    assert cli("schema").data["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_configuration_is_shown_with_its_origin_and_without_its_secrets(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    monkeypatch.setenv("PAGEFAULT_WINDOW_TOKENS", "9000")
    told = cli("config", "show", "--json")
    assert told.data["window_tokens"]["value"] == 9000
    assert "PAGEFAULT_WINDOW_TOKENS" in told.data["window_tokens"]["origin"]
    assert told.data["engine.api_key"]["set"] is True
    shown = cli("config", "show", "--origin")
    assert "very-secret" not in told.out + shown.out
    assert "PAGEFAULT_WINDOW_TOKENS" in shown.out


def test_the_configuration_files_are_named(cli: Cli) -> None:
    [user] = cli("config", "path", "--json").data
    assert user["path"].endswith("pagefault/config.toml")
    assert user["exists"] is False


def test_no_text_can_act_on_the_terminal() -> None:
    assert "\x1b" not in printable("a\x1b[2Jb\x07\u202e")
    assert printable("line\n\ttab é 漢") == "line\n\ttab é 漢"


def test_texts_are_cut_by_the_columns_they_take() -> None:
    assert cells_wide("漢字") == 4
    assert cells_wide(cut("漢字漢字", 5)) <= 5
    assert cut("short", 5) == "short"


def test_a_reader_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    for command in ("sessions", "faults", "verify", "rebuild", "repair"):
        assert cli("--root", nowhere, command).code == 3
    assert not nowhere.exists()


def test_doctor_answers_for_every_check(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "doctor", "--json")
    statuses = {check["name"]: check["status"] for check in told.data["checks"]}
    assert statuses["sqlite"] == statuses["tokenizer"] == statuses["index"] == "ok"
    assert statuses["engine"] == "ok", "no model is configured, and none is needed"
    assert told.code == 0
    assert all(c["advice"] for c in told.data["checks"] if c["status"] != "ok")


def test_doctor_is_content_with_a_configured_endpoint(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    monkeypatch.setenv("PAGEFAULT_ENGINE__MODEL", "some-model")
    monkeypatch.setenv("PAGEFAULT_ENGINE__BASE_URL", "http://localhost:1/v1")
    told = cli("--root", memory_root, "doctor", "--no-canary", "--json")
    engine = next(check for check in told.data["checks"] if check["name"] == "engine")
    assert engine["status"] == "ok"
    refused = cli("--root", memory_root, "doctor", "--no-canary", "--network", "--json")
    assert refused.code == 2
    network = next(check for check in refused.data["checks"] if check["name"] == "network")
    assert network["status"] == "fail"


def test_doctor_sees_a_folder_that_others_can_read(cli: Cli, memory_root: Path) -> None:
    memory_root.chmod(0o755)
    told = cli("--root", memory_root, "doctor", "--no-canary", "--json")
    assert told.code == 1, "a warning"
    root = next(check for check in told.data["checks"] if check["name"] == "root")
    assert root["status"] == "warn"
    assert "chmod 700" in root["advice"]


def test_doctor_fails_on_damage(cli: Cli, memory_root: Path) -> None:
    [log] = (memory_root / "log").iterdir()
    lines = log.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"', b"'", 4)
    log.write_bytes(b"".join(lines))
    told = cli("--root", memory_root, "doctor", "--no-canary", "--json")
    assert told.code == 2
    assert json.loads(told.out)["status"] == "fail"


def test_claims_are_listed_and_shown_with_the_words_they_rest_on(cli: Cli, tmp_path: Path) -> None:
    async def decide() -> None:
        async with open_memory(tmp_path / "m") as memory:
            await (await memory.session("empty")).user("Hello.")
            await (await memory.session("work")).user("Let's use Redis 7 for the cache.")

    asyncio.run(decide())
    root = ("--root", tmp_path / "m")
    [claim] = cli(*root, "claims", "work", "--json").data
    assert claim["text"] == "Decision: Let's use Redis 7 for the cache"
    assert claim["status"] == "standing"
    assert [span["quote"] for span in claim["evidence"]] == ["Let's use Redis 7 for the cache"]
    shown = cli(*root, "claims", "show", "clm_1", "--session", "work")
    assert "“Let's use Redis 7 for the cache”" in shown.out
    assert cli(*root, "claims", "ls", "empty", "--json").data == []
    assert cli(*root, "claims", "show", "clm_9", "--session", "work").code == 3


def test_a_page_with_bytes_tells_what_they_are_and_how_often_it_was_used(
    cli: Cli, tmp_path: Path
) -> None:
    root, picture = tmp_path / "memory", b"GIF89a\x80\x02\x03\x00" + bytes(9)

    async def say() -> None:
        async with open_memory(root) as memory:
            session = await memory.session("s")
            await session.user("Here is the drawing.")
            await session.artifact(picture, name="bridge.gif", text="a bridge")
            await session.request()
            await session.assistant("A fine bridge [ref: art_1].")

    asyncio.run(say())
    told = cli("--root", root, "pages", "show", "art_1", "--json").data
    assert (told["mime_type"], told["size_bytes"]) == ("image/gif", len(picture))
    assert (told["dimensions"], told["duration_seconds"]) == ([640, 3], None)
    cited = cli("--root", root, "history", "s", "art_1", "--json").data["movements"][-1]
    assert (told["access_count"], told["last_accessed"]) == (1, cited["at"])
    assert (told["level_asked"], told["level"]) == (0, 2)
    shown = cli("--root", root, "pages", "show", "art_1")
    assert "image/gif, 19 bytes" in shown.out
    assert "640 × 3 pixels" in shown.out
    assert "level 2 at most" in shown.err
    plain = cli("--root", root, "pages", "show", "msg_1", "--json").data
    assert (plain["mime_type"], plain["access_count"], plain["last_accessed"]) == (
        "text/plain",
        0,
        None,
    )


def test_an_edited_message_is_shown_in_the_words_of_a_time(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "memory"

    async def say() -> None:
        async with open_memory(root) as memory:
            session = await memory.session("s")
            first = await session.user("Come on Monday.")
            await session.checkpoint("monday")
            new = Incoming(text="Come on Friday.", role=Role.USER, supersedes=first)
            await session.say([new], origin="user_typed")

    asyncio.run(say())
    shown = ("--root", root, "pages", "show", "msg_1")
    assert "Monday" in cli(*shown).out
    then = cli(*shown, "--at", "checkpoint:monday", "--json").data
    now = cli(*shown, "--at", "now", "--json").data
    assert (then["page_asked"], then["page_id"], then["text"]) == (
        "msg_1",
        "msg_1",
        "Come on Monday.",
    )
    assert (now["page_asked"], now["page_id"], now["text"]) == (
        "msg_1",
        "msg_2",
        "Come on Friday.",
    )
    assert cli(*shown, "--at", "0", "--text").out == "Come on Friday."
    wrong = cli(*shown, "--at", "99")
    assert wrong.code == 2
    assert "there is no turn 99" in wrong.err
    early = cli("--root", root, "pages", "show", "msg_2", "--at", f"seq:{1}")
    assert early.code == 2


LOOKING = {
    "sessions": [],
    "search": ["spokes"],
    "recall recent": [],
    "pages ls": [],
    "pages show": ["msg_1"],
    "pages search": ["spokes"],
    "claims ls": [],
    "claims graph": [],
    "claims known": ["spokes"],
    "cards": [],
    "status": [],
    "at": ["talk", "0"],
    "diff": ["talk", "0", "1"],
    "history": ["talk"],
    "sent": ["talk", "0"],
    "items": ["talk"],
    "events": [],
    "pack": ["spokes"],
    "handoff": [],
    "synopsis": [],
    "digest": [],
    "bill": [],
    "report": ["-o", "{tmp}/report.html"],
    "ledger": ["talk"],
    "abi": ["talk"],
    "faults": ["talk"],
    "core show": ["talk"],
    "core search": ["spokes"],
    "heat status": ["talk"],
    "heat hot": ["talk"],
    "scopes list": [],
    "origins show": ["msg_1"],
    "retention show": [],
    "verify": [],
    "doctor": [],
    "adopt": [],
    "backup": ["{tmp}/backup"],
    "export": ["{tmp}/export"],
    "archive": ["--dry-run"],
    "import": ["{tmp}/notes.md", "--dry-run"],
    "import list": [],
    "mode": [],
    "goal": ["talk"],
    "forget": ["msg_1"],
    "scrub": [],
    "gc": [],
}


@pytest.mark.parametrize("command", LOOKING)
def test_commands_that_look_take_no_lock(
    cli: Cli, memory_root: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that docs/cli.md lists."""

    def taken(self: RootLock) -> None:
        if self._root == memory_root:
            raise AssertionError(f"{command} takes the lock")

    (tmp_path / "notes.md").write_text("# Notes\n\nThe kettle is red.\n")
    monkeypatch.setattr(RootLock, "acquire", taken)
    words = [word.replace("{tmp}", str(tmp_path)) for word in LOOKING[command]]
    done = cli("--root", memory_root, *command.split(), *words)
    assert "takes the lock" not in done.err
    assert done.code in (0, 1, 3), done.err


def test_the_list_of_commands_that_look_is_that_of_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    listed = text.partition("Commands that look (")[2].partition("take no lock")[0]
    named = {
        f"{words[0]} {verb}".strip() if len(words) > 1 and "-" not in words[1] else words[0]
        for quoted in re.findall("`([a-z][^`]*)`", listed)
        for words in [quoted.split()]
        for verb in (words[1].split("|") if len(words) > 1 else [""])
    }
    groups = {"recall": "recall recent"}  # of a group whose every command looks, one is run
    run = {groups.get(one, one) for one in named}
    some = {"claims show", "scopes show", "scopes pages"}  # what they need is not in this memory
    some |= {"dashboard"}  # it serves until it is told to stop: `tests/dashboard`
    assert set(LOOKING) == run - some


def test_control_a_command_that_writes_takes_the_lock(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(self: RootLock) -> None:
        raise StoreBusy("taken")

    monkeypatch.setattr(RootLock, "acquire", taken)
    assert cli("--root", memory_root, "pages", "pin", "msg_1").code == 4
    assert cli("--root", memory_root, "mode", "paused").code == 4


def test_a_session_is_named_by_argument_or_option(cli: Cli, memory_root: Path) -> None:
    for command in ("status", "ledger", "abi", "faults", "items", "goal"):
        by_argument = cli("--root", memory_root, command, "talk", "--json")
        assert by_argument.code == 0, by_argument.err
        assert cli("--root", memory_root, command, "--session", "talk", "--json").out
        assert cli("--root", memory_root, command, "--session=talk", "--json").out
        assert cli("--root", memory_root, command, "--session", "nobody").code == 3
    assert cli("--root", memory_root, "events", "nobody").code == 3
    assert cli("--root", memory_root, "events", "talk", "--session", "other").code == 2


def test_what_a_mode_forbids_has_one_exit_code(
    cli: Cli, memory_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nThe kettle is red.\n")
    assert cli("--root", memory_root, "scopes", "create", "shelf").code == 0
    assert cli("--root", memory_root, "mode", "paused").code == 0
    for words in (
        ["import", str(tmp_path / "notes.md"), "--yes"],
        ["scopes", "create", "more"],
        ["scopes", "mount", "shelf"],
        ["scopes", "share", "shelf", "A word"],
        ["retention", "apply", "--yes"],
        ["fork", "talk", "aside"],
        ["pages", "pin", "msg_1"],
        ["goal", "talk", "Find the kettle"],
        ["checkpoint", "talk", "now"],
    ):
        done = cli("--root", memory_root, *words)
        assert done.code == 4, (words, done.code, done.err)


def test_an_import_that_was_not_is_named_beside_what_was(
    cli: Cli, memory_root: Path, tmp_path: Path
) -> None:
    done = cli("--root", memory_root, "import", "approve", "--import", "imp_no")
    assert (done.code, "nothing was imported as 'imp_no'" in done.err) == (3, True)
    (tmp_path / "notes.md").write_text("# Notes\n\nThe kettle is red.\n")
    told = json.loads(
        cli("--root", memory_root, "import", str(tmp_path / "notes.md"), "--yes", "--json").out
    )
    done = cli("--root", memory_root, "import", "approve", "--import", "imp_no")
    assert done.code == 3
    assert told["import"] in done.err


def test_a_text_that_is_shared_may_come_from_stdin(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("--root", memory_root, "scopes", "create", "shelf").code == 0
    assert cli("--root", memory_root, "scopes", "mount", "shelf", "--rw").code == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The kettle is red.\n")))
    assert cli("--root", memory_root, "scopes", "share", "shelf", "-").code == 0
    assert "The kettle is red." in cli("--root", memory_root, "scopes", "pages", "shelf").out


def test_python_m_pagefault_is_pagefault() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pagefault", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pagefault ")


def test_status_is_a_few_lines_and_every_figure_where_it_is_asked_for(
    cli: Cli, memory_root: Path
) -> None:
    told = cli("--root", memory_root, "status", "talk")
    assert 4 <= len(told.out.splitlines()) <= 9
    assert "2,000 tokens" in told.out
    assert "thrash" not in told.out
    assert told.err == "nothing needs attention\n"
    whole = cli("--root", memory_root, "status", "talk", "--all").out
    assert "thrash index" in whole
    assert "target" in whole
