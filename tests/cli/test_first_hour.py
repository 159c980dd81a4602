"""What somebody meets who imports, searches and packs for the first time."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import pagefault.sync
from pagefault.cli.term import cells_wide
from tests.cli.conftest import Cli
from tests.history import exports

KEY = "6790a1b2-31c4-8004-9f7e-2a5b6c7d8e9f"
TITLE = "Kitchen renovation in the old house by the river"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    nodes = [
        exports.gpt_node("q1", "root", "user", "We use oak for the worktop of the kitchen."),
        exports.gpt_node("a1", "q1", "assistant", "Oak it is."),
    ]
    talk = exports.gpt_conversation(nodes, "a1", name=KEY, title=TITLE)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]))
    return path


@pytest.fixture
def root(cli: Cli, export: Path, tmp_path: Path) -> Path:
    assert cli("--root", tmp_path / "m", "import", export, "--yes").code == 0
    return tmp_path / "m"


@pytest.mark.parametrize("verb", ["pack", "handoff", "synopsis", "digest"])
def test_a_pack_says_that_what_was_imported_awaits_approval(
    cli: Cli, root: Path, verb: str
) -> None:
    command = shlex.join(["pagefault", "--root", str(root), "import", "approve", "--in", "chatgpt"])
    told = cli("--root", root, verb)
    assert (told.code, told.out) == (0, "")
    assert f"1 imported session left out until you approve: `{command}`" in told.err
    assert "nothing in memory" not in told.err
    named = ["--session", f"import:chatgpt:{KEY}"]
    assert command in cli("--root", root, verb, *named).err
    with pagefault.sync.open(root) as memory:
        memory.session("own").user("Let's use slate for the roof.")
    assert command not in cli("--root", root, verb, "--session", "own").err
    assert cli(*shlex.split(command)[1:]).code == 0
    assert "approve" not in cli("--root", root, verb).err


def test_a_search_names_imported_sessions_by_their_titles(cli: Cli, root: Path) -> None:
    found = cli("--root", root, "search", "oak", "worktop")
    assert KEY not in found.out
    assert (shown := TITLE[:30]) in found.out
    assert cli("--root", root, "pages", "show", "msg_1", "--session", shown).code == 0
    [hit, *_] = cli("--root", root, "search", "oak", "worktop", "--json").data["hits"]
    assert hit["session"] == f"import:chatgpt:{KEY}"
    assert f"import:chatgpt:{KEY[:8]} " in cli("--root", root, "sessions").out
    assert cli("--root", root, "status", f"import:chatgpt:{KEY[:8]}").code == 0


def test_a_search_names_what_has_no_title_as_the_list_of_sessions_does(
    cli: Cli, tmp_path: Path
) -> None:
    talks = exports.chatgpt_talks({KEY: "We use oak for the worktop of the kitchen."})
    export, root = exports.chatgpt_zip(tmp_path / "export.zip", talks), tmp_path / "m"
    assert cli("--root", root, "import", export, "--yes").code == 0
    found = cli("--root", root, "search", "oak", "worktop").out.splitlines()[1].split()[0]
    assert found == f"import:chatgpt:{KEY[:8]}"
    for verb in (["sessions"], ["import", "list"], ["mode"]):
        assert found in cli("--root", root, *verb).out.split()
    assert KEY in cli("--root", root, "mode", "--json").out


def test_an_archive_that_is_named_otherwise_is_told_to_be_one(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    said = "it is a zip archive"
    assert said in cli("--root", root, "export", tmp_path / "out.md").err
    assert said not in cli("--root", root, "export", tmp_path / "out.zip").err
    assert said not in cli("--root", root, "export", tmp_path / "out").err
    named = ("--form", "events")
    assert said not in cli("--root", root, "export", tmp_path / "out.jsonl", *named).err


@pytest.mark.parametrize("other", [TITLE, TITLE.lower(), f"{TITLE} and the barn"])
def test_a_search_names_no_session_by_a_title_that_opens_another(
    cli: Cli, root: Path, other: str
) -> None:
    with pagefault.sync.open(root) as memory:
        memory.session(other).user("The worktop of the barn is oak, too.")
    found = cli("--root", root, "search", "oak", "worktop").out
    assert f"import:chatgpt:{KEY[:8]}" in found
    assert found.count(TITLE[:30]) + found.count(TITLE[:30].lower()) == 1, "the other's own name"


def test_what_cannot_be_undone_takes_no_title_and_the_error_gives_the_name(
    cli: Cli, root: Path
) -> None:
    told = cli("--root", root, "forget", "msg_1", "--session", TITLE, "--yes")
    assert told.code == 3
    assert f"did you mean 'import:chatgpt:{KEY}'? what cannot be undone" in told.err
    assert cli("--root", root, "search", "oak").out


def test_lists_of_imports_fit_sixty_columns(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.cli.term.Term.width", 60)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for words in (["search", "oak"], ["import", "list"]):
        told = cli("--root", root, *words).out
        assert "Kitchen" in told
        assert max(map(cells_wide, told.splitlines())) <= 60, told


def test_an_imported_session_without_a_title_is_listed_by_its_first_words(
    cli: Cli, tmp_path: Path
) -> None:
    talk = tmp_path / "talk"
    talk.write_text(json.dumps([{"role": "user", "content": "Where do the swifts nest?"}]))
    cli("--root", tmp_path / "m", "import", talk, "--yes")
    [listed] = cli("--root", tmp_path / "m", "sessions", "--json").data
    assert not listed["title"]
    assert "Where do the swifts nest?" in cli("--root", tmp_path / "m", "sessions").out


def test_an_empty_folder_is_a_problem_and_the_formats_are_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = cli("--root", tmp_path / "m", "import", tmp_path / "empty")
    assert told.code == 1
    assert "claude-code, codex, chatgpt" in told.err
    assert not (tmp_path / "m").exists()


def test_a_memory_inside_an_imported_folder_is_named_once_and_not_read(
    cli: Cli, root: Path, export: Path
) -> None:
    told = cli("--root", root, "import", export.parent, "--dry-run", "--json").data
    assert [one["place"] for one in told["flaws"]] == [str(root)]
    assert "a memory of pagefault" in told["flaws"][0]["why"]
    assert [one["source"] for one in told["sources"]] == ["chatgpt"]
    assert told["ignored"] == 0


def test_times_of_a_page_are_local_where_it_is_listed_and_where_it_is_shown(
    cli: Cli, root: Path
) -> None:
    [listed] = re.findall(
        r"user .*(\d{4}-\d\d-\d\d \d\d:\d\d)", cli("--root", root, "search", "oak").out
    )
    named = ["--session", "Kitchen"]
    assert f"user, {listed}" in cli("--root", root, "pages", "show", "msg_1", *named).out


def test_a_session_may_be_named_without_its_option(cli: Cli, memory_root: Path) -> None:
    at = ["--at", "2026-11-20"]
    for verb in ("handoff", "synopsis", "digest"):
        named = cli("--root", memory_root, verb, "talk", *at)
        assert named.code == 0, named.err
        assert named.out == cli("--root", memory_root, verb, "--session", "talk", *at).out
        both = cli("--root", memory_root, verb, "talk", "--session", "other")
        assert (both.code, "Two sessions are named" in both.err) == (2, True)


def test_a_pack_without_a_query_is_headed_context_pack(cli: Cli, memory_root: Path) -> None:
    assert cli("--root", memory_root, "pack").out.startswith("# Context pack\n")
    assert cli("--root", memory_root, "pack", "wheel").out.startswith("# Task: wheel\n")


def test_a_goal_of_several_words_needs_no_session(cli: Cli, memory_root: Path) -> None:
    at = ["--root", memory_root, "goal"]
    assert "no goal is set" in cli(*at).out
    assert "is the goal of 'talk'" in cli(*at, "Ship it by Friday").out
    assert "Ship it by Friday" in cli(*at).out
    assert "Ship it by Friday" in cli(*at, "talk").out
    assert "no goal is set" in cli(*at, "other").out
    assert "is the goal of 'other'" in cli(*at, "other", "Rest").out
    mistyped = cli(*at, "tlak")
    assert (mistyped.code, "did you mean 'talk'" in mistyped.err) == (3, True)
    assert cli(*at, "--clear").code == 0
    assert "no goal is set" in cli(*at, "other").out, "the one used last"
    assert "Ship it by Friday" in cli(*at, "talk").out


def test_a_goal_of_one_word_is_told_to_name_its_session(cli: Cli, memory_root: Path) -> None:
    one = cli("--root", memory_root, "goal", "Rest")
    assert (one.code, "a goal of one word needs its session before it" in one.err) == (3, True)
    other = cli("--root", memory_root, "status", "Rest")
    assert (other.code, "goal" in other.err) == (3, False), "the control"


@pytest.mark.parametrize(
    "words", [("at", "2026-02-10"), ("history", "msg_1"), ("diff", "0", "1"), ("goal", "Rest")]
)
def test_a_session_that_is_named_last_is_told_to_come_first(
    cli: Cli, memory_root: Path, words: tuple[str, ...]
) -> None:
    verb, *rest = words
    told = cli("--root", memory_root, *words, "talk")
    assert told.code == 3
    right = " ".join(["pagefault", "--root", str(memory_root), verb, "talk", *rest])
    assert f"the session comes first: `{right}`" in told.err
    assert "comes first" not in cli("--root", memory_root, *words, "walk").err, "the control"


@pytest.mark.parametrize("group", ["recall", "heat", "claims", "bench", "core"])
def test_the_help_of_a_group_says_whole_sentences_of_its_commands(cli: Cli, group: str) -> None:
    assert "..." not in cli(group, "--help").out.split("Commands:")[1]


def test_a_session_of_several_words_is_not_taken_for_a_goal(cli: Cli, memory_root: Path) -> None:
    with pagefault.sync.open(memory_root) as memory:
        memory.session("bike workshop").user("We open in March.")
    assert "no goal is set" in cli("--root", memory_root, "goal", "bike workshop").out


def test_a_quotation_is_found_whatever_its_capitals(cli: Cli, memory_root: Path) -> None:
    at = ["--root", memory_root, "remember", "--session", "talk"]
    told = cli(*at, "the red wheel has thirty-six spokes")
    assert told.code == 0, told.err
    assert "The red wheel has thirty-six spokes" in told.out, "the page's own words"
    assert cli(*at, "the red wheel has forty spokes").code == 2


def test_the_doctor_does_not_warn_of_a_missing_model(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = cli("--root", memory_root, "doctor", "--no-canary", "--json")
    [engine] = [one for one in told.data["checks"] if one["name"] == "engine"]
    assert engine["status"] == "ok"
    assert "PAGEFAULT_ENGINE__MODEL" in engine["advice"]
    monkeypatch.setenv("PAGEFAULT_ENGINE__MODEL", "a-model")  # and no key
    told = cli("--root", memory_root, "doctor", "--no-canary", "--json")
    [engine] = [one for one in told.data["checks"] if one["name"] == "engine"]
    assert engine["status"] == "warn"


def test_that_a_memory_is_not_adopted_is_said_once(
    cli: Cli, memory_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another state"))
    for words in (["goal", "talk", "Ship it"], ["forget", "msg_1", "--session", "talk"]):
        told = cli("--root", memory_root, *words)
        assert told.code == 4
        assert told.err.count("was not created here by you") == 1, told.err
    assert "note: " in cli("--root", memory_root, "sessions").err


@pytest.mark.parametrize(
    "words",
    [
        ["core", "append", "human", "Ann."],
        ["core", "insert", "A note."],
        ["heat", "add", "A fact."],
        ["heat", "spill"],
        ["undo"],
        ["remember", "the red wheel"],
    ],
    ids=" ".join,
)
def test_a_dry_run_says_that_nothing_was_changed(
    cli: Cli, memory_root: Path, words: list[str]
) -> None:
    cli("--root", memory_root, "goal", "talk", "Ship it")
    told = cli("--root", memory_root, *words, "--dry-run")
    assert told.code == 0, told.err
    assert told.err.count("nothing was changed") == 1
    assert (
        "nothing was changed" not in cli("--root", memory_root, *words, "--dry-run", "--json").err
    )


def test_a_dry_run_of_an_import_says_so(cli: Cli, export: Path, tmp_path: Path) -> None:
    told = cli("--root", tmp_path / "m", "import", export, "--dry-run")
    assert told.err.count("nothing was changed") == 1
