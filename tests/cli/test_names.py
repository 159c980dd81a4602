"""Sessions and pages are named as people name them: by how they begin, or nearly right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import pagefault
import pagefault.sync
from pagefault.cli.root import root as command
from pagefault.cli.term import cells_wide
from tests.cli.conftest import Cli


def test_the_beginning_of_a_name_or_an_id_is_enough(cli: Cli, memory_root: Path) -> None:
    rows = {row["name"]: row for row in cli("--root", memory_root, "sessions", "--json").data}
    for begun in ("tal", "TALK", rows["talk"]["session_id"][:-2]):
        told = cli("--root", memory_root, "status", begun, "--json")
        assert told.data["name"] == "talk"


def test_a_beginning_that_several_have_names_none_of_them(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "status", "ses_")
    assert told.code == 3
    assert "did you mean" in told.err
    assert "talk" in told.err


def test_a_name_that_is_nearly_right_is_guessed_and_not_taken(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "pages", "ls", "tlak")
    assert told.code == 3
    assert "did you mean 'talk'?" in told.err


@pytest.mark.parametrize(
    "name",
    ["two  blanks", " before", "it's  odd", "so\\  so", "tur\u202ened"],
)
def test_a_name_is_found_as_it_was_printed(cli: Cli, tmp_path: Path, name: str) -> None:
    root = tmp_path / "m"
    with pagefault.sync.open(root, sync="os") as memory:
        memory.session(" ".join(name.split()) + "!")  # as it would read without its blanks
        memory.session(name)
    here = ("--root", root)
    listed = cli(*here, "sessions").out.splitlines()[1]
    hint = cli(*here, "status", "x" + name).err.partition("did you mean ")[2]
    for told in (listed, cli(*here, "status", name).out.splitlines()[0], hint):
        quoted = re.match(r"""'[^']*'|"[^"]*\"""", told)
        typed = quoted[0][1:-1] if quoted else told.split("  ")[0]
        assert cli(*here, "status", typed, "--json").data["name"] == name, typed


def test_where_two_users_have_a_name_the_refusal_has_a_command(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "m"
    names = {"plan@ann": "plan:6ec3dd@ann", "plan@~0b67": "plan:6ec3dd@~0b673292d3ecbceb"}
    with pagefault.sync.open(root, sync="os") as memory:
        for name in names.values():
            memory.session(name)
    for words in (["status", "plan"], ["pages", "ls", "--session", "plan", "--json"]):
        told = cli("--root", root, *words)
        assert told.code == 2
        assert all(one in told.err for one in names)
        hint = told.err.partition("for the first, `")[2].partition("`")[0]
        command = shlex.split(hint)[1:]
        assert command[-len(words) :] != words
        assert cli(*command).code == 0
    forgot = cli("--root", root, "forget", "--all", "--session", "plan").err
    assert all(one in forgot for one in names.values()), "named in full"


def test_what_cannot_be_taken_back_is_named_in_full(cli: Cli, memory_root: Path) -> None:
    for words in (["forget", "--all"], ["origins", "revoke", "--all"]):
        told = cli("--root", memory_root, *words, "--session", "tal")
        assert told.code == 3
        assert "did you mean 'talk'? what cannot be undone takes names in full" in told.err
    assert cli("--root", memory_root, "forget", "--all", "--session", "talk").code == 0


def test_a_bare_number_is_that_of_a_message(cli: Cli, memory_root: Path) -> None:
    shown = cli("--root", memory_root, "pages", "show", "3", "--session", "talk", "--json")
    assert shown.data["page_id"] == "msg_3"


def test_a_history_needs_no_session(cli: Cli, memory_root: Path) -> None:
    told = cli("--root", memory_root, "history", "talk", "msg_3", "--json")
    for page in ("3", "msg_3"):
        assert cli("--root", memory_root, "history", page, "--json").data == told.data
    assert (
        "session 'talk' has no page 'msg_99'" in cli("--root", memory_root, "history", "msg_99").err
    )


def test_the_name_of_a_restored_session_opens_where_it_goes_on(cli: Cli, tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m") as memory:
        first = memory.session("plan")
        first.user("We meet on Monday.")
        first.checkpoint("before")
        first.user("We meet on Tuesday.")
        again = first.restore("before")
        again.user("We meet on Friday.")
        again.fork("aside")
    root = ("--root", tmp_path / "m")
    for said in (["plan"], ["pl"], []):
        assert cli(*root, "status", *said, "--json").data["session_id"] == again.session_id
    listed = cli(*root, "sessions").out
    assert listed.index("plan ") < listed.index(first.session_id)
    assert "aside" not in listed
    assert cli(*root, "status", first.session_id).code == 0
    assert completed(*map(str, root), "status", "pl") == ["plan"]
    refused = cli(*root, "forget", "--all", "--session", "plan", "--yes")
    assert "matches 2 sessions" in refused.err


def test_help_explains_a_command(cli: Cli) -> None:
    assert cli("help", "pages", "show").out == cli("pages", "show", "--help").out
    assert cli("help").out == cli("--help").out
    assert cli("--root", "elsewhere", "help", "status").out == cli("status", "--help").out


def completed(*words: str) -> list[str]:
    """What a shell is offered for the last of these words."""
    shell = ShellComplete(command, {}, "pagefault", "_PAGEFAULT_COMPLETE")
    return [one.value for one in shell.get_completions(list(words[:-1]), words[-1])]


def test_sessions_and_pages_are_completed_from_the_memory_that_is_named(memory_root: Path) -> None:
    root = ["--root", str(memory_root)]
    assert completed(*root, "status", "ta") == ["talk"]
    assert completed(*root, "faults", "--session", "ta") == ["talk"]
    pages = completed(*root, "pages", "show", "--session", "talk", "msg_1")
    assert "msg_1" in pages
    assert all(page.startswith("msg_1") for page in pages)


def test_where_there_is_no_memory_nothing_is_completed_or_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed("--root", str(tmp_path / "none"), "status", "") == []
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    assert not (tmp_path / "none").exists()


def test_claims_and_proposals_are_completed_and_a_bare_number_is_that_of_a_claim(
    cli: Cli, tmp_path: Path
) -> None:
    root = tmp_path / "m"
    with pagefault.sync.open(root, sync="os") as memory:
        session = memory.session("Küche")
        session.user("Der Ofen ist blau.")
        session.remember("Der Ofen ist blau.")
        session.core_append("human", "Name: Ånn", origin="web")
        session.core_append("task", "Ofen streichen", origin="web")
        session.heat_add("Der Lack ist aus.")
    here = ("--root", str(root))
    asked: list[tuple[str, ...]] = [("show", ""), ("edit", "clm"), ("merge", "clm_1", "")]
    for words in asked:
        assert completed(*here, "claims", *words) == ["clm_1"], words
    asked = [("claims", "add", "--page", ""), ("heat", "promote", "")]
    for words in asked:
        assert "msg_1" in completed(*here, *words)
    asked = [("claims", "graph"), ("cards", "ls"), ("core", "show"), ("heat", "hot"), ("sent",)]
    for words in [*asked, ("at",), ("goal",), ("checkpoint",), ("items",)]:
        assert completed(*here, *words, "K") == ["Küche"], words
    assert completed(*here, "heat", "spill", "") == ["note_1"]
    assert completed(*here, "core", "accept", "") == ["core_2", "core_1"]
    assert cli(*here, "claims", "show", "1", "--json").data["claim_id"] == "clm_1"
    added = cli(*here, "claims", "add", "Ofen", "--quote", "Ofen", "--page", "1", "--json")
    assert added.data["evidence"][0]["page_id"] == "msg_1"
    with pagefault.sync.open(root, sync="os") as memory:
        forged = memory.session("Küche").core_append("core_2", "obey", origin="tool:mcp")
    for _ in range(2):
        taken = cli(*here, "core", "accept", "core_2", "--json")
        assert taken.data["section"] == "task", "an id is an id, whatever a section is called"
    assert forged.page_id in completed(*here, "core", "accept", "")
    taken = cli(*here, "core", "accept", "human", "--json")
    assert (taken.data["text"], taken.data["proposed"]) == ("Name: Ånn", False)
    gone = cli(*here, "core", "accept", "human")
    assert (gone.code, "core show --proposed" in gone.err) == (3, True)


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        ("msg_016", "did you mean msg_16?"),
        ("MSG 3", "did you mean msg_3?"),
        ("ｍｓｇ_３", "did you mean msg_3?"),
        ("mgs_3", "did you mean msg_3?"),
        ("msg_9999", "the last is msg_"),
        ("メモ_1", "`Memory.pages` lists"),
        ("clm_1", "`Memory.pages` lists"),
    ],
)
def test_an_id_that_no_page_ever_had_is_unknown_and_not_forgotten(
    memory_root: Path, named: str, hint: str
) -> None:
    with pagefault.sync.open(memory_root, read_only=True) as memory:
        session = memory.session("talk", create=False)
        with pytest.raises(pagefault.NoSuchPage) as unknown:
            session.page(named)
    assert unknown.value.hint.startswith(hint)


def test_an_id_that_was_forgotten_says_so_and_what_to_do(cli: Cli, memory_root: Path) -> None:
    here = ("--root", memory_root)
    assert cli(*here, "forget", "msg_2", "--session", "talk", "--yes").code == 0
    told = cli(*here, "pages", "show", "2", "--session", "talk")
    assert (told.code, "was forgotten" in told.err) == (3, True)
    assert "hint: `pagefault pages ls`" in told.err


def test_a_verb_that_is_nearly_right_is_guessed(cli: Cli, memory_root: Path) -> None:
    here = ("--root", memory_root)
    assert "Did you mean 'help'?" in cli(*here, "hlep").err
    told = cli(*here, "claims", "shwo")
    assert (told.code, "did you mean `pagefault claims show`?" in told.err) == (3, True)


@pytest.mark.parametrize("group", ["import", "claims", "cards", "core", "heat", "scopes"])
def test_a_groups_help_has_the_options_of_the_verb_that_is_meant_where_none_is_named(
    cli: Cli, group: str
) -> None:
    told = cli(group, "--help").out
    assert "where no command is named" in told
    assert "--json" in told


def test_hints_of_core_memory_name_what_a_person_types(cli: Cli, memory_root: Path) -> None:
    here = ("--root", memory_root, "core")
    assert "`pagefault core append` begins one" in cli(*here, "replace", "human", "a", "b").err
    full = cli(*here, "append", "human", "x" * 2_001)
    assert (full.code, "`pagefault core replace` shortens" in full.err) == (4, True)
    assert "`pagefault core insert` keeps" in full.err


def test_tables_of_claims_fit_sixty_columns(
    cli: Cli, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pagefault.sync.open(memory_root) as memory:
        session = memory.session("talk")
        text = "Die Werkstatt in der 東京通り hat 36 Speichen, und das rote Rad steht vorn links."
        session.user(text)
        session.remember(text)
    monkeypatch.setattr("pagefault.cli.term.Term.width", 60)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for group in ("claims", "cards"):
        told = cli("--root", memory_root, group, "ls", "talk").out
        assert text[:40] in told
        assert max(map(cells_wide, told.splitlines())) <= 60


def test_core_memory_without_a_section_says_how_to_begin(cli: Cli, memory_root: Path) -> None:
    assert "`pagefault core append SECTION TEXT`" in cli("--root", memory_root, "core").err
