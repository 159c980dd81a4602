"""What is read of each program's files: recognised by their content, every word in its place."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagefault.history.recognise import Recognised, recognised
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.kinds import Role
from tests.history import exports


def read(path: Path) -> tuple[list[tuple[str, Transcript, list[Entry]]], list[Flaw]]:
    """Every conversation at a path, with its source and its entries; and what was wrong."""
    talks: list[tuple[str, Transcript, list[Entry]]] = []
    flaws: list[Flaw] = []
    for found in recognised(path):
        if isinstance(found, Flaw):
            flaws.append(found)
        if not isinstance(found, Recognised):
            continue
        for one in found.read(lambda _: None):
            if isinstance(one, Flaw):
                flaws.append(one)
                continue
            entries = list(one.entries)
            flaws += [entry for entry in entries if isinstance(entry, Flaw)]
            talks.append((found.source, one, [e for e in entries if isinstance(e, Entry)]))
    return talks, flaws


def branches(entries: list[Entry]) -> list[list[str]]:
    """The texts of each branch, from its root to its end."""
    by_key: dict[str, tuple[Entry, str]] = {}
    before = ""
    for entry in entries:
        by_key[entry.key] = entry, entry.parent if entry.parent is not None else before
        before = entry.key
    inner = {parent for _, parent in by_key.values()}

    def up(key: str) -> Iterator[str]:
        while key in by_key:
            entry, key = by_key[key]
            yield entry.text

    return [list(up(key))[::-1] for key in by_key if key not in inner]


def test_a_session_of_claude_code_has_its_calls_branches_and_subagents(tmp_path: Path) -> None:
    path = exports.jsonl(tmp_path / "no-name-that-tells", exports.claude_code())
    [(source, talk, entries)], flaws = read(path)
    assert (source, talk.id, talk.title, talk.project) == (
        "claude-code",
        exports.CC_SESSION,
        "Swifts of the tower",
        "tower",
    )
    assert flaws == []
    main = [entry for entry in entries if not entry.lane]
    first, second = branches(main)
    assert first[-2:] == ["", "A house martin."]  # a picture has no text
    assert second[-5:] == [
        *(
            "Who counted them?",
            "Ottilie did.",
            "Conversation compacted",
            "Summary: swifts.",
            "Go on",
        ),
    ]
    assert second[:9] == first[:9], "calls side by side are no branches"
    assert second[5:9] == [
        *('{"command": "make test"}', '{"file_path": "a.py"}', "11 passed in 0.3s", "eaves = north")
    ]
    typed = [
        entry.text for entry in main if entry.role is Role.USER and entry.form is EntryKind.MESSAGE
    ]
    assert typed == ["Where do the swifts nest?", "And this one?", "Who counted them?", "Go on"]
    results = {entry.call_id: entry.title for entry in main if entry.form is EntryKind.RESULT}
    assert results == {"toolu_1": "Bash", "toolu_2": "Read"}
    assert [entry.data for entry in main if entry.form is EntryKind.FILE] == [exports.PIXEL]
    assert [e.text for e in main if e.form is EntryKind.REASONING] == ["Perhaps the eaves."]
    assert {entry.model for entry in main} == {"", "claude-test-1"}
    side = [entry.text for entry in entries if entry.lane]
    assert side == ["Look into the archive", "Archive: 1911."]


@pytest.mark.parametrize("form", ["zip", "file"])
def test_an_export_of_chatgpt_has_its_branches_calls_and_pictures(
    tmp_path: Path, form: str
) -> None:
    path = tmp_path / "export"
    if form == "zip":
        exports.chatgpt_zip(path)
    else:
        path.mkdir()
        (path / "anything").write_text(json.dumps(exports.chatgpt(), indent=1))
        (path / "file-AbC123-bird.png").write_bytes(exports.PIXEL)
    talks, flaws = read(path)
    assert flaws == []
    (source, talk, entries), (_, other, _) = talks
    assert (source, talk.id, talk.title) == ("chatgpt", "conv-1", "Swifts")
    assert other.id == "conv-2"
    current, edited = branches(entries)
    assert current == [
        *("", "Where do the swifts nest?", "Under the eaves.", "How many holes in June?"),
        *("print(5 + 6)", "11", "Eleven in June, too.", "", "What bird is it?"),
    ]
    assert edited[2:] == ["Under the eaves.", "How many holes?", "Eleven."]
    call, result = (e for e in entries if e.form in (EntryKind.CALL, EntryKind.RESULT))
    assert (call.title, result.title) == ("python", "python")
    assert call.call_id == result.call_id != ""
    [picture] = [entry for entry in entries if entry.form is EntryKind.FILE]
    assert (picture.title, picture.media_type, picture.data) == (
        *("bird.png", "image/png", exports.PIXEL),
    )
    assert entries[1].at == "2025-03-01T10:00:00.500Z"


def test_an_export_of_claude_has_its_attachments_and_projects(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(exports.claude()))
    (tmp_path / "b").write_text(json.dumps(exports.claude_projects()))
    talks, flaws = read(tmp_path)
    assert flaws == []
    (source, talk, entries), (_, project, documents) = talks
    assert (source, talk.id, talk.title) == ("claude", "cl-1", "Rings")
    current, other = branches(entries)
    assert current == [
        *("Who ringed it?", "Ring 7311 was read at the tower.", "Rings are numbered."),
        *('{"query": "ring 7311"}', "Ring 7311: Ottilie, 2019", "Ottilie ringed it in 2019."),
        *("Thanks", ""),
    ]
    assert other[-1] == "Nobody knows."
    forms = {entry.title: entry.form for entry in entries if entry.title}
    assert forms == {
        "ring-list.txt": EntryKind.DOCUMENT,
        "web_search": EntryKind.RESULT,
        "swift.jpg": EntryKind.FILE,
    }
    assert (project.id, project.project) == ("project-pr-1", "Tower")
    assert [(one.title, one.text) for one in documents][1:] == [
        ("instructions", "Answer in metres."),
        ("heights.md", "The tower is 31 metres high."),
    ]


def test_a_rollout_of_codex_has_its_calls_and_turns_that_were_taken_back(tmp_path: Path) -> None:
    [(source, talk, entries)], flaws = read(exports.jsonl(tmp_path / "x", exports.codex()))
    assert flaws == []
    assert (source, talk.id, talk.project) == (
        *("codex", "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5", "belfry"),
    )
    taken_back, current = branches(entries)
    assert taken_back[-2:] == ["Paint them green", "Painted."]
    assert current[-3:] == ["Under the eaves.", "Who counted them?", "Summary: swifts, eaves."]
    assert [entry.text for entry in entries if entry.role is Role.USER] == [
        *("Where do the swifts nest?", "Paint them green", "Who counted them?"),
    ]
    call, result = (e for e in entries if e.form in (EntryKind.CALL, EntryKind.RESULT))
    assert (call.title, result.title, result.text) == ("shell", "shell", "eaves.txt")


def test_a_rollout_of_before_envelopes_is_read_as_well(tmp_path: Path) -> None:
    [(source, talk, entries)], flaws = read(exports.jsonl(tmp_path / "x", exports.codex_old()))
    assert (flaws, source, talk.id) == ([], "codex", "old-1")
    assert [(entry.form, entry.text) for entry in entries] == [
        (EntryKind.MESSAGE, "Where do the swifts nest?"),
        (EntryKind.CALL, '{"type": "exec", "command": ["ls"]}'),
        (EntryKind.RESULT, "eaves.txt"),
        (EntryKind.MESSAGE, "Under the eaves."),
    ]


def test_a_store_of_opencode_is_read_whole(tmp_path: Path) -> None:
    exports.opencode_store(tmp_path)
    talks, flaws = read(tmp_path)
    assert flaws == []
    (source, talk, entries), (_, side, _) = talks
    assert (source, talk.id, talk.title, talk.project) == ("opencode", "ses_1", "Swifts", "aviary")
    assert [(entry.form, entry.role, entry.text) for entry in entries] == [
        (EntryKind.MESSAGE, Role.USER, "Where do the swifts nest?"),
        (EntryKind.CALL, Role.ASSISTANT, '{"command": "ls"}'),
        (EntryKind.RESULT, Role.TOOL, "eaves.txt"),
        (EntryKind.MESSAGE, Role.ASSISTANT, "Under the eaves."),
    ]
    assert (side.id, side.of) == ("ses_2", "ses_1")


def test_a_session_that_opencode_exported_is_read_as_its_store_is(tmp_path: Path) -> None:
    storage = exports.opencode_store(tmp_path / "s")

    def load(name: str) -> object:
        return json.loads((storage / name).read_text())

    parts = [f"part/msg_2/prt_{number}.json" for number in (2, 3, 4)]
    messages = [
        {"info": load("message/ses_1/msg_1.json"), "parts": [load("part/msg_1/prt_1.json")]},
        {"info": load("message/ses_1/msg_2.json"), "parts": [load(name) for name in parts]},
    ]
    told = {"info": load("session/proj1/ses_1.json"), "messages": messages}
    path = tmp_path / "exported"
    path.write_text(json.dumps(told, indent=2))
    [(source, talk, entries)], _ = read(path)
    (_, stored_talk, stored), *_ = read(storage)[0]
    assert (source, talk.id) == ("opencode", stored_talk.id)
    assert entries == stored


def test_the_database_of_opencode_is_read_as_its_files_were(tmp_path: Path) -> None:
    storage = exports.opencode_store(tmp_path / "s")
    path = exports.opencode_database(tmp_path / "x", storage)
    before = path.read_bytes()
    talks, flaws = read(path)
    stored, _ = read(storage)
    assert flaws == []
    assert [(source, talk.id, talk.of, entries) for source, talk, entries in talks] == [
        (source, talk.id, talk.of, entries) for source, talk, entries in stored
    ]
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s", "x"], "nothing is made beside it"


def test_another_database_is_none_of_opencodes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE session (id text)")
    db.close()
    (tmp_path / "y").write_bytes(path.read_bytes()[:600])
    assert read(tmp_path) == ([], [])


def test_a_history_of_aider_is_parted_into_its_chats(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(exports.AIDER)
    talks, flaws = read(path)
    assert flaws == []
    (source, first, entries), (_, second, others) = talks
    assert (source, first.id, second.id) == ("aider", "#20250203091011-1", "#20250204100000-1")
    assert [(entry.role, entry.text.splitlines()[0]) for entry in entries] == [
        (Role.SYSTEM, "Aider v0.75.1"),
        (Role.USER, "where do the swifts nest?"),
        (Role.ASSISTANT, "Under the eaves."),
        (Role.SYSTEM, "Tokens: 1k sent, 20 received."),
        (Role.USER, "who counted them?"),
        (Role.ASSISTANT, "Ottilie did."),
    ]
    assert entries[1].text == "where do the swifts nest?\nplease"
    assert others[0].at == "2025-02-04T10:00:00"


@pytest.mark.parametrize("form", ["array", "object", "lines", "one a line"])
def test_messages_are_read_however_they_stand(tmp_path: Path, form: str) -> None:
    path, told = tmp_path / "x", exports.messages()
    match form:
        case "array":
            path.write_text(json.dumps(told, indent=2))
        case "object":
            path.write_text(json.dumps({"model": "m", "messages": told}, indent=2))
        case "lines":
            exports.jsonl(path, told)
        case _:
            exports.jsonl(path, [{"messages": told}, {"messages": told[:2]}])
    talks, flaws = read(path)
    assert flaws == []
    source, _, entries = talks[0]
    assert source == "messages"
    assert [(entry.form, entry.role, entry.text) for entry in entries] == [
        (EntryKind.MESSAGE, Role.SYSTEM, "You know birds."),
        (EntryKind.MESSAGE, Role.USER, "How many holes?"),
        (EntryKind.MESSAGE, Role.ASSISTANT, ""),
        (EntryKind.CALL, Role.ASSISTANT, '{"what": "holes"}'),
        (EntryKind.RESULT, Role.TOOL, "11"),
        (EntryKind.MESSAGE, Role.ASSISTANT, "Eleven."),
    ]
    assert len(talks) == (2 if form == "one a line" else 1)


def test_a_note_is_a_document_and_source_code_is_none(tmp_path: Path) -> None:
    (tmp_path / "swifts.md").write_text(exports.NOTE)
    (tmp_path / "code.py").write_text("# a comment\nprint('- x')\n")
    [(source, talk, [entry])], flaws = read(tmp_path)
    assert flaws == []
    assert (source, talk.title, entry.text) == ("notes", "The swifts of the tower", exports.NOTE)
    assert (entry.form, entry.at) == (EntryKind.DOCUMENT, "2024-06-21T00:00:00.000Z")


RECORDINGS = Path(__file__).parent / "recordings"


@pytest.mark.parametrize("client", ["claude-code-2.1.331", "codex-0.169.0"])
def test_what_a_real_client_wrote_is_read_without_a_flaw(client: str) -> None:
    [(source, talk, entries)], flaws = read(RECORDINGS / f"{client}.jsonl")
    assert flaws == []
    assert source == client.rpartition("-")[0]
    assert talk.project == "tower"
    assert len(branches(entries)) == 1
    said = [
        (entry.role, entry.text)
        for entry in entries
        if entry.form is EntryKind.MESSAGE and entry.role is not Role.SYSTEM
    ]
    assert [one for one in said if one[1] != "Let me look."] == [
        (Role.USER, "Where do the swifts of the tower nest?"),
        (Role.ASSISTANT, "Under the northern eaves."),
        (Role.USER, "And who counted them?"),
        (Role.ASSISTANT, "Under the northern eaves."),
    ]
    call, result = (e for e in entries if e.form in (EntryKind.CALL, EntryKind.RESULT))
    assert "echo eaves" in call.text
    assert "eaves" in result.text
    assert call.call_id == result.call_id
    assert call.title == result.title != ""
    assert all(entry.at for entry in entries)
