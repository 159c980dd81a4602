"""Files that nobody vouches for: skipped with the reason, and everything else is kept."""

from __future__ import annotations

import io
import json
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.history import stream
from pagefault.history.files import Unreadable
from pagefault.history.parts import moment
from pagefault.history.recognise import FORMATS, Recognised, recognised
from pagefault.history.tree import in_order
from pagefault.history.values import Entry, Flaw
from tests.examples import few
from tests.history import exports
from tests.history.test_formats import read

GOOD = json.dumps({"role": "user", "content": "A good line"})


def lines_of(data: bytes) -> tuple[list[Any], list[Flaw]]:
    found = list(stream.lines(io.BytesIO(data)))
    return [one[1] for one in found if not isinstance(one, Flaw)], [
        one for one in found if isinstance(one, Flaw)
    ]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"role": "user", "content": "cut', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"\0" * 4_096, "zero"),
        (b'{"role": "user", "content": ' + b"9" * 5_000 + b"}", "not JSON"),
    ],
    ids=["cut", "array bomb", "object bomb", "zeros", "huge number"],
)
def test_a_bad_line_is_named_and_costs_no_other(tmp_path: Path, bad: bytes, why: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(GOOD.encode() + b"\n" + bad + b"\n" + GOOD.encode())
    [(_, _, entries)], [flaw] = read(path)
    assert [entry.text for entry in entries] == ["A good line"] * 2
    assert flaw.place == "line 2"
    assert why in flaw.why


def test_a_line_that_is_no_utf8_is_kept_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(GOOD.encode() + b'\n{"role": "user", "content": "caf\xe9"}\n')
    [(_, _, entries)], [flaw] = read(path)
    assert entries[1].text == "caf\ufffd"
    assert (flaw.place, flaw.kept) == ("line 2", True)


def test_a_line_that_is_too_long_is_passed_and_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "VALUE_BYTES", 1_000)
    values, flaws = lines_of(b"1\n" + b'"' + b"a" * 5_000_000 + b'"\n2')
    assert values == [1, 2]
    assert [flaw.place for flaw in flaws] == ["line 2"]


@given(
    st.lists(
        st.dictionaries(st.text(), st.recursive(st.text() | st.integers(), st.lists)), max_size=5
    ),
    st.sampled_from([None, 1]),
    st.integers(1, 40),
)
def test_elements_of_an_array_are_what_parsing_the_whole_gives(
    values: list[dict[str, Any]], indent: int | None, chunk: int
) -> None:
    """However it is cut into chunks, and whatever brackets and quotes stand in its texts."""
    data = json.dumps(values, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_CHUNK", chunk)
        found = list(stream.elements(io.BytesIO(data)))
    assert [one[1] for one in found if not isinstance(one, Flaw)] == values
    assert len(found) == len(values)


def test_an_element_too_deep_or_too_long_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "VALUE_BYTES", 20_000)
    monkeypatch.setattr(stream, "_CHUNK", 1_000)
    deep = b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    long = b'{"a":[' + b'"bb",' * 20_000 + b"1]}"
    data = b'[{"n":1},\n' + deep + b',\n{"n":2},\n' + long + b',\n{"n":3}]'
    found = list(stream.elements(io.BytesIO(data)))
    assert [one[1] for one in found if not isinstance(one, Flaw)] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [one.why for one in found if isinstance(one, Flaw)] == [stream.TOO_DEEP, stream.TOO_LONG]


def test_a_file_that_ends_within_an_element_says_where_that_begins() -> None:
    found = list(stream.elements(io.BytesIO(b'[{"n":1},\n{"n":2, "x": "never')))
    assert found[0] == (1, {"n": 1})
    assert isinstance(found[1], Flaw)
    assert found[1].place == "line 2"


def test_a_large_export_is_read_in_a_small_memory(tmp_path: Path) -> None:
    """Forty MB of conversations: what is held is about one of them."""
    path = tmp_path / "conversations.json"
    talk = exports.chatgpt()[0]
    talk["moderation_results"] = ["x" * 400_000]
    one = json.dumps(talk)
    with path.open("w") as file:
        file.write("[" + ",".join([one] * 100) + "]")
    [found] = recognised(path)
    assert isinstance(found, Recognised)
    tracemalloc.start()
    count = sum(
        1 for talk in found.read(lambda _: None) if not isinstance(talk, Flaw) for _ in talk.entries
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 100 * 11
    assert peak < 12_000_000
    assert path.stat().st_size > 40_000_000


def test_links_fifos_and_sockets_are_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "good").write_text(GOOD)
    (tmp_path / "elsewhere").write_text(GOOD)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    began = time.process_time()
    [(_, _, entries)], flaws = read(folder)
    assert time.process_time() - began < 5
    assert [entry.text for entry in entries] == ["A good line"]
    assert {Path(flaw.place).name: flaw.why.split(":")[0] for flaw in flaws} == {
        "link": "a link",
        "loop": "a link",
        "pipe": "not a regular file",
    }


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert [flaw.why for flaw in read(tmp_path / "none")[1]] == ["No such file or directory"]


# --- archives -------------------------------------------------------------------------------------


def test_an_archive_that_is_a_bomb_is_refused_and_its_other_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.json", b"[" + b" " * 60_000_000)
        archive.writestr("conversations.json", json.dumps(exports.chatgpt()))
    talks, flaws = read(path)
    assert len(talks) == 2
    assert [flaw.why.rpartition(": ")[2] for flaw in flaws] == ["a bomb"]


def test_an_archive_that_lies_about_its_sizes_ends_where_that_shows(tmp_path: Path) -> None:
    path = tmp_path / "x"
    exports.chatgpt_zip(path)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"conversations.json") - 46  # in the central directory
    assert data[at : at + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, at + 16, 0xDEAD)  # the checksum
    path.write_bytes(bytes(data))
    found = [one for one in recognised(path) if isinstance(one, Recognised | Flaw)]
    whys = [one.why if isinstance(one, Flaw) else _failure(one) for one in found]
    assert any("CRC" in why for why in whys)


def _failure(one: Recognised) -> str:
    with pytest.raises(Unreadable) as refused:
        _read_whole(one)
    return str(refused.value)


def _read_whole(one: Recognised) -> None:
    for talk in one.read(lambda _: None):
        assert not isinstance(talk, Flaw)
        list(talk.entries)


def test_an_archive_whose_files_overlap_or_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    exports.chatgpt_zip(path)
    data = path.read_bytes()
    for name, changed in (("cut", data[:200]), ("garbage", b"PK\x03\x04" + os.urandom(500))):
        (tmp_path / name).write_bytes(changed)
        talks, [flaw] = read(tmp_path / name)
        assert talks == []
        assert flaw.why.startswith("no archive that can be read")
    large = bytearray(data)
    at = large.rindex(b"conversations.json") - 46
    struct.pack_into("<I", large, at + 20, 10_000_000)  # its compressed size
    (tmp_path / "overlapping").write_bytes(bytes(large))
    assert [flaw.why for flaw in read(tmp_path / "overlapping")[1]] == [
        "an archive whose files overlap"
    ]


def test_a_name_in_an_archive_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../../../etc/conversations.json", json.dumps(exports.chatgpt()))
    talks, flaws = read(path)
    assert (len(talks), flaws) == (2, [])
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


# --- what stands in them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told", [1e300, -1e300, float("nan"), 10**400, 5e12 * 1e3, "9999-99-99", "yesterday", True, []]
)
def test_an_absurd_time_is_none(told: Any) -> None:
    assert moment(told) is None


def test_a_message_of_an_absurd_time_is_kept_without_it(tmp_path: Path) -> None:
    nodes = [exports.gpt_node("a", "root", "user", "When was it?", at=1e300)]
    path = tmp_path / "x"
    path.write_text(json.dumps([exports.gpt_conversation(nodes, "a")]))
    [(_, _, [entry])], [flaw] = read(path)
    assert (entry.text, entry.at, flaw.kept) == ("When was it?", "", True)


def test_a_ring_of_parents_is_told_once(tmp_path: Path) -> None:
    nodes = [
        exports.gpt_node("a", "b", "user", "One"),
        exports.gpt_node("b", "a", "assistant", "Two"),
        exports.gpt_node("c", "nowhere", "user", "Three"),
    ]
    path = tmp_path / "x"
    path.write_text(json.dumps([exports.gpt_conversation(nodes, "a")]))
    [(_, _, entries)], _ = read(path)
    assert sorted(entry.text for entry in entries) == ["One", "Three", "Two"]


@given(st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=12), st.text(max_size=2))
def test_any_tree_is_told_whole_parents_first(parents: dict[str, str], current: str) -> None:
    parents.pop("", None)
    order = list(in_order(parents, current))
    assert sorted(node for node, _ in order) == sorted(parents)
    told = {""}
    for node, parent in order:
        assert parent in told
        told.add(node)


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            *("type", "message", "content", "role", "uuid", "parentUuid", "sessionId", "text"),
            *("mapping", "parent", "author", "parts", "chat_messages", "sender", "attachments"),
            *("payload", "timestamp", "summary", "id", "info", "time", "state", "messages", "docs"),
        ]
    ) | st.text(max_size=4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names(), inner, max_size=4),
    max_leaves=12,
)


@few(20)
@given(st.lists(st.dictionaries(_names(), JSON, max_size=6), max_size=4), st.sampled_from(FORMATS))
def test_no_reader_fails_whatever_the_values_are(values: list[Any], form: Any) -> None:
    """A reader yields entries and flaws; whoever asks it never sees anything raised."""
    for data in (json.dumps(values), "\n".join(json.dumps(one) for one in values)):
        for entry in _all_of(form, data.encode("utf-8", "surrogatepass")):
            assert isinstance(entry, Entry | Flaw)
            if isinstance(entry, Entry):
                assert isinstance(entry.text, str)
                assert isinstance(entry.title, str)


def _all_of(form: Any, data: bytes) -> Iterator[Entry | Flaw]:
    from pagefault.history.files import File

    file = File("x", "/x", len(data), lambda: io.BytesIO(data))
    for found in form.read(file, lambda _: None):
        if isinstance(found, Flaw):
            yield found
        else:
            yield from found.entries
