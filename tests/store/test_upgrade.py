"""A memory of an earlier format is made one of this format: all of it, or none of it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import pagefault
from pagefault.cli.outcome import run
from pagefault.model.clock import SystemClock
from pagefault.model.errors import (
    ArchiveMissing,
    BadInput,
    NotAdopted,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreIncompatible,
)
from pagefault.model.events import (
    BODY_TYPES,
    Called,
    CoreWritten,
    Erased,
    Event,
    ForgetDone,
    Noted,
    Opaque,
    PageBody,
    Returned,
    Said,
    SetAside,
    Shared,
    Summarised,
)
from pagefault.model.ids import IdMinter, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import Actor, Origin, Role
from pagefault.model.request import Request
from pagefault.service.adopt import adopt
from pagefault.store import codec
from pagefault.store.embedded import upgrade as module
from pagefault.store.embedded.adoption import Adoptions
from pagefault.store.embedded.archive_format import inflate_all
from pagefault.store.embedded.backup import backup, restore
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.root import open_store
from pagefault.store.embedded.root_file import FORMAT
from pagefault.store.embedded.upgrade import (
    NEW,
    NOTE,
    OLD,
    Upgraded,
    converted,
    says_the_same,
    upgrade,
)
from tests.store.test_codec import _EVENTS

FIXTURES = Path(__file__).parent / "fixtures"
RECORDS = 229
START = bytes(16)


def tools() -> dict[str, Any]:
    clock = SystemClock()
    return {"clock": clock, "minter": IdMinter(clock, random.Random(1))}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A memory of format 1."""
    shutil.copytree(FIXTURES / "format-1", tmp_path / "m")
    adopt(tmp_path / "m")
    return tmp_path / "m"


def upgraded(path: Path, **more: Any) -> Upgraded:
    return upgrade(path, **tools(), **more)


def files(path: Path, *parts: str) -> dict[str, bytes]:
    """What stands in these folders of a root, by name."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for part in parts or ("log", "archive", "blobs", "secret", "root.json")
        for file in ([path / part] if (path / part).is_file() else sorted((path / part).rglob("*")))
        if file.is_file()
    }


def lines(path: Path) -> Iterator[bytes]:
    """Every record of a root."""
    for name in sorted(file.name for file in (path / "log").iterdir()):
        if name.endswith(".jsonl"):
            data = (path / "log" / name).read_bytes()
        elif name.endswith(".archived"):
            packed = path / "archive" / f"{name.removesuffix('.archived')}.jsonl.gz"
            data = inflate_all(packed.read_bytes())
        else:
            continue
        yield from (line for line in data.splitlines(keepends=True) if line.startswith(b'{"v":'))


# --- what it becomes ------------------------------------------------------------------------------


def test_a_memory_of_before_becomes_byte_for_byte_what_it_is_to_become(old: Path) -> None:
    made = upgraded(old)
    assert (made.before, made.records, made.segments) == (3, RECORDS, 11)
    assert made.bytes_after < made.bytes_before
    assert files(old) == files(FIXTURES / "format-2")
    assert not (old / OLD).exists()
    assert not (old / NEW).exists()


def test_it_is_sound_and_can_be_written_forgotten_and_backed_up(old: Path, tmp_path: Path) -> None:
    upgraded(old)
    with pagefault.sync.open(old) as memory:
        assert memory.verify().problems == ()
        session = memory.session("garden", create=False)
        assert [claim.status for claim in session.claims()].count("standing") == 1
        assert session.user("Once more, after the upgrade.")
        assert memory.recall("Friday 900 euros").hits
        assert not memory.recall("window_full").hits
        memory.forget("garden", "msg_1")
        assert memory.verify().problems == ()
        memory.backup(tmp_path / "copy")


def test_every_request_is_told_by_the_rules_of_today_and_says_so(old: Path) -> None:
    """Of an earlier version, which rendered by other rules: what it sent stands nowhere."""
    expected = json.loads((FIXTURES / "requests.json").read_text())
    upgraded(old)

    async def compare() -> int:
        async with pagefault.open(old) as memory:
            for one in expected:
                session = await memory.session(one["session"], create=False)
                sent = await session.sent(request=one["request"])
                assert sent.seq == one["seq"]
                assert "it was rendered by rules 3" in sent.missing[0]
                told = (sent.request.tokens, digest_of(sent.request))
                assert told == (one["tokens"], one["digest"])
        return len(expected)

    assert asyncio.run(compare()) > 15


def digest_of(request: Request) -> str:
    told = [
        [
            *(m.role, m.content),
            *([[c.call_id, c.name, c.arguments] for c in m.tool_calls], m.call_id),
        ]
        for m in request.messages
    ]
    tools = [[tool.name] for tool in request.tools]
    digest = hashlib.sha256(json.dumps([told, request.tail, tools]).encode())
    return digest.hexdigest()[:24]


def test_what_was_said_otherwise_says_the_same(old: Path) -> None:
    """Every record beside what it was: its head as it stood, its payload but for what moved."""
    before = {one["seq"]: one for one in map(json.loads, lines(old))}
    upgraded(old)
    calls = notes = 0
    for line in lines(old):
        now = json.loads(line)
        was = before.pop(now["seq"])
        for field in ("id", "ses", "turn", "at", "actor", "cause", "key", "more", "salt"):
            assert now.get(field) == was.get(field)
        if was["payload"] is None:
            continue
        payload = dict(was["payload"])
        kind, made_by = payload.pop("kind", None), payload.pop("made_by", None)
        assert now.get("model") == made_by
        if now["type"] == "proxy_note":
            notes += 1
            assert now["payload"] == was["payload"]
            continue
        body = codec.to_event(codec.parse(line)).body
        if isinstance(body, PageBody):
            assert (body.role, body.kind) == (payload.get("role", "system"), kind)
        if now["type"] != was["type"]:
            calls += 1
            assert (was["type"], now["type"]) == ("chat_turn", "tool_call")
        for gone in ("role", "redacted", "level" if was["type"] == "summary" else ""):
            payload.pop(gone, None)
            now["payload"].pop(gone, None)
        assert now["payload"] == payload
    assert not before
    assert (calls, notes) == (3, 2)


def test_the_fixture_of_this_format_has_every_type_and_is_written_so_again() -> None:
    """Whoever adds a type adds a record of it there; whoever changes how one looks fails here."""
    types = set()
    memories = (
        *("format-2", "format-2-since"),
        *("format-2.1-since", "format-2.1-scrubbed", "format-2.1-regions", "format-2.1-faults"),
        *("format-2.1-formed", "format-2.1-cards", "format-2.1-notes", "format-2.1-core-tools"),
    )
    for line in chain(*(lines(FIXTURES / name) for name in memories)):
        record = codec.parse(line)
        event = codec.to_event(record)
        types.add(record.type)
        if not record.erased and not isinstance(event.body, Opaque):
            assert codec.encode_body(event.body) == bytes(record.payload)
    assert set(BODY_TYPES) - types == set()


def test_notes_of_an_older_proxy_are_no_pages(old: Path) -> None:
    upgraded(old)
    with pagefault.sync.open(old) as memory:
        session = memory.session("kinds", create=False)
        texts = [memory.read(row).text for row in memory.pages(session, limit=100)]
        assert not [text for text in texts if "window_full" in text]
        assert [text for text in texts if text.startswith("A command_run")], "the control"


def test_one_of_this_format_is_left_as_it_is(old: Path) -> None:
    upgraded(old)
    before = files(old)
    assert upgraded(old) == Upgraded(before=FORMAT, is_done=False)
    assert files(old) == before


# --- any record -----------------------------------------------------------------------------------


def as_before(event: Event, salt: bytes, previous: bytes, **extra: Any) -> tuple[bytes, bytes]:
    """The line of format 1, as its description says."""
    payload: dict[str, Any] = json.loads(codec.encode_body(event.body))
    type_ = event.type
    if isinstance(event.body, PageBody):
        payload |= {"role": str(event.body.role), "kind": str(event.body.kind)}
        if isinstance(event.body, Called):
            type_ = "chat_turn"
        if isinstance(event.body, Summarised):
            payload["level"] = 2
        if event.model:
            payload["made_by"] = event.model
    if isinstance(event.body, ForgetDone):
        payload["redacted"] = True
    payload |= extra
    head: dict[str, Any] = {
        "v": "1.0",
        "seq": event.seq,
        "id": event.event_id,
        "ses": event.session,
        "turn": event.turn,
        "at": event.at_ms,
        "type": type_,
        "actor": str(event.actor),
        "origin": str(event.origin),
    }
    head |= {"cause": event.cause} if event.cause else {}
    head |= {"key": event.key} if event.key else {}
    header = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    commit = hmac.digest(salt, data, "sha256")[:16]
    link = codec.next_link(previous, header, commit)
    tail = (codec.short(salt), codec.short(commit), codec.short(link), data)
    line = b'%b,"salt":"%b","commit":"%b","link":"%b","payload":%b' % (header, *tail)
    return codec.seal(line), link


@given(event=_EVENTS)
def test_any_record_says_in_this_format_what_it_said_in_that(event: Event) -> None:
    body = event.body
    if isinstance(body, Called):
        event = replace(event, body=replace(body, role=Role.ASSISTANT))
    elif isinstance(body, Said) and body.call_id and body.role is Role.ASSISTANT:
        return  # there was none: this is what a call looked like
    if not isinstance(body, PageBody) or isinstance(body, Shared | Noted | CoreWritten):
        event = replace(event, model="")  # no page of that format was one of these
    line, _ = as_before(event, bytes(range(16)), START)
    made, link = converted(codec.take_apart(line), START)
    record = codec.parse(made)
    assert codec.to_event(record) == event
    assert says_the_same(codec.take_apart(line), record)
    assert codec.follows(START, made, record)
    assert codec.confirms(record)
    assert link == codec.long(record.link)


def appended(old: Path, type_: str, payload: bytes, **more: Any) -> Seq:
    """Write a record of this payload at the end of a log of format 1, chained to it."""
    file = old / "log" / "00000011.g0.jsonl"
    last = codec.take_apart(file.read_bytes().splitlines(keepends=True)[-1])
    head = {"v": "1.0", "seq": last.seq + 1, "id": "added", "ses": last.ses, "turn": last.turn}
    head |= {"at": last.at, "type": type_, "actor": "user", "origin": "user_typed"}
    header = json.dumps(head | more, separators=(",", ":")).encode()[:-1]
    commit = hmac.digest(START, payload, "sha256")[:16]
    link = codec.next_link(codec.long(last.link), header, commit)
    shown = (codec.short(START), codec.short(commit), codec.short(link), payload)
    line = b'%b,"salt":"%b","commit":"%b","link":"%b","payload":%b' % (header, *shown)
    file.write_bytes(file.read_bytes() + codec.seal(line))
    return Seq(last.seq + 1)


def payload_of(path: Path, seq: Seq) -> bytes:
    return next(
        bytes(record.payload) for record in map(codec.parse, lines(path)) if record.seq == seq
    )


@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("chat_turn", b'{"page_id":"msg_900","order":900,"role":"user","text":"\xff","tokens":1}'),
        ("chat_turn", b'{"role":"assistant","call_id":"c","page_id":7}'),
        ("of_a_later_version", b'{"much":1e400}'),
        ("of_a_later_version", b"[1, 2]"),
    ],
    ids=["no Unicode", "a call that is none", "no number", "no object"],
)
def test_what_nobody_can_take_for_its_type_is_carried_over_as_it_stands(
    old: Path, type_: str, payload: bytes
) -> None:
    seq = appended(old, type_, payload)
    assert upgraded(old).records == seq
    [body] = [
        codec.to_event(record).body for record in map(codec.parse, lines(old)) if record.seq == seq
    ]
    assert isinstance(body, SetAside)
    assert payload_of(old, seq) == payload


def test_fields_that_nobody_knows_stay(old: Path) -> None:
    known = {"page_id": "msg_900", "order": 900, "role": "user", "text": "x", "tokens": 1}
    newer = {"mood": {"of": ["the", 1]}}
    told = json.dumps(known | {"kind": "transcript"} | newer).encode()
    seq = appended(old, "chat_turn", told)
    upgraded(old)
    assert json.loads(payload_of(old, seq)) == known | newer


def test_a_minor_version_that_nobody_knows_is_refused_by_name(old: Path) -> None:
    appended(old, "chat_turn", b"{}", v="1.1")
    before = files(old)
    with pytest.raises(StoreIncompatible, match=r"has format 1\.1") as caught:
        upgraded(old)
    assert "the version that wrote it" in caught.value.hint
    assert files(old) == before


_Said = tuple[str, str, bytes]


def _a_title_less(said: _Said) -> _Said:
    told = json.loads(said[2])
    return (*said[:2], json.dumps({k: v for k, v in told.items() if k != "title"}).encode())


@pytest.mark.parametrize(
    "wrong",
    [
        _a_title_less,
        lambda said: (*said[:2], said[2].replace(b"Once more", b"Once less")),
        lambda said: (said[0], "somebody", said[2]),
        lambda said: ("code_written" if said[0] == "chat_turn" else said[0], *said[1:]),
        lambda said: (NOTE if said[0] == "tool_result" else said[0], *said[1:]),
    ],
    ids=["a field", "a word", "the model", "the type", "a result for a note"],
)
def test_a_new_log_that_says_something_else_never_takes_the_place_of_the_old_one(
    old: Path, monkeypatch: pytest.MonkeyPatch, wrong: Callable[[_Said], _Said]
) -> None:
    made = module._said  # what a fault in it would do
    monkeypatch.setattr(module, "_said", lambda record: wrong(made(record)))
    before = files(old)
    with pytest.raises(StoreCorrupt, match="does not say in the new log what it says"):
        upgraded(old)
    assert files(old) == before
    assert not (old / NEW).exists()


def test_heads_that_a_first_version_left_of_what_was_forgotten_lose_key_and_tool() -> None:
    body = Returned(page_id=PageId("tool_1"), order=1, text="Rain.", tokens=2)
    event = Event(
        seq=Seq(7),
        event_id="e7",
        session=SessionNo(1),
        turn=TurnNo(1),
        at_ms=5,
        actor=Actor.TOOL,
        origin=Origin("tool:gryphon_weather"),
        body=body,
        key="K" * 22,
    )
    line, _ = as_before(event, bytes(range(16)), START)
    was = codec.take_apart(line)
    left = codec.seal(
        b'%b,"salt":null,"commit":"%b","link":"%b","payload":null'
        % (line[: line.index(b',"salt":')], was.commit.encode(), was.link.encode())
    )
    made, _ = converted(codec.take_apart(left), START)
    record = codec.parse(made)
    assert codec.to_event(record).body == Erased(type="tool_result")
    assert codec.follows(START, made, record)
    assert (record.key, record.origin) == ("", "tool:*")
    for trace in (b"gryphon", b"KKKK", was.commit.encode()):
        assert trace not in made


def test_no_trace_of_what_was_forgotten_comes_back(old: Path) -> None:
    traces = (b"4711", b"basilisk", b"wyvern", b"gate code")
    assert not any(trace in data for trace in traces for data in files(old).values())
    upgraded(old)
    assert not any(trace in data for trace in traces for data in files(old).values())


def test_what_was_not_what_its_type_says_stays_so(old: Path) -> None:
    event = codec.to_event(codec.parse(next(lines(FIXTURES / "format-2"))))
    line, _ = as_before(event, bytes(range(16)), START, mode="sideways")
    made, _ = converted(codec.take_apart(line), START)
    told = codec.to_event(codec.parse(made)).body
    assert type(told).__name__ == "SetAside"


# --- when it cannot be done -----------------------------------------------------------------------


def damaged(old: Path, change: Callable[[bytes], bytes], name: str = "00000009.g0.jsonl") -> None:
    file = old / "log" / name
    data = change(file.read_bytes())
    assert data != file.read_bytes()
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data.replace(b'"tokens":', b'"tokenz":', 1), "checksum"),
        (lambda data: b"".join(data.splitlines(keepends=True)[:-1]), "has no seal"),
        (lambda data: b"".join(data.splitlines(keepends=True)[1:]), "first line"),
        (lambda data: b"".join(
            line for n, line in enumerate(data.splitlines(keepends=True)) if n != 3), "follows"),
    ],
    ids=["a bit", "the seal", "the first line", "a record"],
)  # fmt: skip
def test_a_damaged_log_is_refused_and_left_as_it_is(
    old: Path, change: Callable[[bytes], bytes], told: str
) -> None:
    damaged(old, change)
    before = files(old)
    with pytest.raises(StoreCorrupt, match=told) as caught:
        upgraded(old)
    assert "the version that wrote it" in caught.value.hint
    assert files(old) == before
    assert not (old / NEW).exists()


def test_a_torn_end_is_cut_as_opening_would_have_cut_it(old: Path) -> None:
    damaged(old, lambda data: data + b'{"v":"1.0","seq":230,"id"', "00000011.g0.jsonl")
    assert upgraded(old).records == RECORDS
    assert files(old) == files(FIXTURES / "format-2")


@pytest.mark.parametrize("begun", [b"", b'{"pagefault":"segment","v":"1.0","seg'])
def test_a_segment_that_was_just_begun_is_nothing(old: Path, begun: bytes) -> None:
    sealed = (old / "log" / "00000010.g0.jsonl").read_bytes().splitlines()[-1]
    (old / "log" / "00000011.g0.jsonl").write_bytes(begun)
    assert upgraded(old).records == json.loads(sealed)["last"]
    with pagefault.sync.open(old) as memory:
        assert memory.verify().problems == ()


def test_what_a_crash_left_over_does_not_count_and_is_gone(old: Path) -> None:
    """A generation that was rewritten, and a segment that was just being archived."""
    newest = (old / "log" / "00000008.g1.jsonl").read_bytes()
    before = newest.replace(b'"generation":1', b'"generation":0', 1)
    head, rest = before.split(b"\n", 1)
    sealed = codec.seal(head[: head.index(b',"crc"')])
    (old / "log" / "00000008.g0.jsonl").write_bytes(sealed + rest)
    data = inflate_all((old / "archive" / "00000004.g0.jsonl.gz").read_bytes())
    (old / "log" / "00000004.g0.jsonl").write_bytes(data)
    assert upgraded(old).records == RECORDS
    names = sorted(file.name for file in (old / "log").iterdir())
    assert [name for name in names if name.startswith("00000008")] == ["00000008.g2.jsonl"]
    with pagefault.sync.open(old) as memory:
        assert memory.verify().problems == ()


def test_a_missing_segment_is_refused(old: Path) -> None:
    (old / "log" / "00000009.g0.jsonl").unlink()
    with pytest.raises(StoreCorrupt, match="segment 9 is missing"):
        upgraded(old)


def test_an_archive_that_is_away_is_to_be_brought_back_first(old: Path, tmp_path: Path) -> None:
    (old / "archive").rename(tmp_path / "away")
    with pytest.raises(ArchiveMissing):
        upgraded(old)
    (tmp_path / "away").rename(old / "archive")
    assert upgraded(old).records == RECORDS


def test_what_is_forgotten_later_survives_in_no_archive_that_was_away_at_the_swap(
    old: Path, tmp_path: Path
) -> None:
    with pytest.raises(Killed):
        upgraded(old, disk=KilledInPlace())
    (old / "archive").rename(tmp_path / "away")
    with pytest.raises(ArchiveMissing):
        upgraded(old)
    (tmp_path / "away").rename(old / "archive")
    upgraded(old)
    assert files(old) == files(FIXTURES / "format-2")
    assert not (old / OLD).exists()
    with pagefault.sync.open(old) as memory:
        memory.forget("garden")
        assert memory.verify().problems == ()
    archived = [inflate_all(file.read_bytes()) for file in (old / "archive").glob("*.gz")]
    assert archived
    assert not any(b"Postgres for the store" in data for data in archived)


def test_what_is_no_file_of_a_log_stays_and_stops_nothing(old: Path) -> None:
    (old / "log" / "00000099.g0.jsonl").mkdir()
    (old / "log" / "mine.txt").touch()
    assert upgraded(old).records == RECORDS
    assert sorted(file.name for file in (old / OLD).iterdir()) == ["00000099.g0.jsonl", "mine.txt"]
    with pagefault.sync.open(old) as memory:
        assert memory.verify().problems == ()


@pytest.mark.parametrize("name", [NEW, OLD])
def test_what_has_the_name_of_one_of_the_logs_is_to_be_moved_first(old: Path, name: str) -> None:
    (old / name).mkdir()
    (old / name / "mine.txt").touch()
    before = files(old)
    with pytest.raises(BadInput, match="is in the way"):
        upgraded(old)
    assert files(old) == before
    assert (old / name / "mine.txt").exists()
    (old / name).rename(old / "elsewhere")
    assert upgraded(old).records == RECORDS


def test_a_root_json_that_tells_no_format_is_damaged(old: Path) -> None:
    told = json.loads((old / "root.json").read_text())
    del told["crc"], told["check"]
    (old / "root.json").write_text(json.dumps(told | {"format": None}))
    with pytest.raises(StoreCorrupt, match=r"root\.json cannot be read"):
        upgraded(old)


def test_who_has_it_open_is_named(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RootLock", partial(RootLock, wait_s=0.05))
    with RootLock(old, clock=SystemClock()).held(), pytest.raises(StoreBusy):
        upgrade(old, **tools())
    assert upgraded(old).records == RECORDS


def test_a_memory_that_nobody_vouches_for_is_left_alone(old: Path, tmp_path: Path) -> None:
    before = files(old)
    with pytest.raises(NotAdopted):
        upgraded(old, adoptions=Adoptions(tmp_path / "adopted", tmp_path / "own"))
    assert files(old) == before


def test_it_is_refused_by_everything_else_until_then_by_name(old: Path, tmp_path: Path) -> None:
    for what in (
        lambda: pagefault.sync.open(old).__enter__(),
        lambda: open_store(old, read_only=True, **tools()),
        lambda: backup(old, tmp_path / "copy", clock=SystemClock()),
        lambda: restore(old, tmp_path / "again", clock=SystemClock()),
    ):
        with pytest.raises(StoreIncompatible) as caught:
            what()
        assert "pagefault upgrade" in caught.value.hint
    assert files(old) == files(FIXTURES / "format-1")


# --- killed, and on a full disk -------------------------------------------------------------------


class Killed(BaseException):
    """As if the process ended here."""


class Mortal(Disk):
    """Ends at its n-th call that changes anything."""

    def __init__(self, left: int, error: Callable[[], BaseException] = Killed) -> None:
        self.left = left
        self.calls: list[str] = []
        self._error = error

    def _count(self, call: str) -> None:
        self.calls.append(call)
        self.left -= 1
        if self.left < 0:
            raise self._error()

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._count("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._count("sync")
        super().sync(fd)

    def rename(self, old: Path, new: Path) -> None:
        self._count("rename")
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        self._count("unlink")
        super().unlink(path)

    def rmdir(self, path: Path) -> None:
        self._count("rmdir")
        super().rmdir(path)


class KilledInPlace(Disk):
    """Ends when the new log stands where the old one stood."""

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        if old.name == NEW:
            raise Killed


def _calls(old: Path, tmp_path: Path) -> list[str]:
    shutil.copytree(old, tmp_path / "counted")
    disk = Mortal(10**6)
    upgraded(tmp_path / "counted", disk=disk)
    return disk.calls


def _some(calls: list[str]) -> list[int]:
    """Every eighth, and the first and the last of each kind."""
    firsts = {call: number for number, call in reversed([*enumerate(calls)])}
    lasts = {call: number for number, call in enumerate(calls)}
    return sorted({*range(0, len(calls), 8), *firsts.values(), *lasts.values()})


@pytest.mark.parametrize("chosen", [_some, pytest.param(range, marks=pytest.mark.torture)])
def test_killed_at_any_step_it_is_ended_by_the_next_and_nobody_opens_it_before(
    old: Path, tmp_path: Path, chosen: Callable[[Any], Iterable[int]]
) -> None:
    calls = _calls(old, tmp_path)
    assert len(calls) > 60
    expected = files(FIXTURES / "format-2")
    for left in chosen(calls if chosen is _some else len(calls)):
        root = tmp_path / "r"
        shutil.copytree(old, root)
        with pytest.raises(Killed):
            upgraded(root, disk=Mortal(left))
        with pytest.raises(StoreIncompatible, match=r"is of format 3|did not finish"):
            open_store(root, read_only=True, **tools())
        upgraded(root)
        assert files(root) == expected
        assert not {NEW, OLD} & {file.name for file in root.iterdir()}
        shutil.rmtree(root)


def test_control_a_swap_that_nothing_tells_of_loses_the_log(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "set_format", lambda *_, **__: None)
    calls = _calls(old, tmp_path)
    moved = [number + 1 for number, call in enumerate(calls) if call == "rename"]
    for left in reversed(moved):
        root = tmp_path / "r"
        shutil.copytree(old, root)
        with pytest.raises(Killed):
            upgraded(root, disk=Mortal(left))
        if not (root / "log").exists():
            return
        shutil.rmtree(root)
    pytest.fail("what the test above looks for never happens")


def test_on_a_full_disk_the_memory_is_as_it_was(old: Path) -> None:
    before = files(old)
    room = sum(len(data) for data in files(old, "log", "archive").values())
    for left in (0, 3, 12):
        with pytest.raises(StoreError, match="No space left") as caught:
            upgraded(old, disk=Full(left))
        assert f"make room for {room:,} bytes" in caught.value.hint
        assert files(old) == before
        assert not (old / NEW).exists()
    assert upgraded(old).records == RECORDS


class Full(Disk):
    """A disk that has no room after so many writes, but lets files go."""

    def __init__(self, left: int) -> None:
        self.left = left

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, os.strerror(28))
        return super().write(fd, data)


@pytest.mark.parametrize("after", [1, 10, 20])
def test_stopped_with_ctrl_c_it_leaves_nothing_of_what_it_made(old: Path, after: int) -> None:
    before = files(old)
    with pytest.raises(KeyboardInterrupt):
        upgraded(old, disk=Stopped(after))
    assert files(old) == before
    assert not (old / NEW).exists()
    assert upgraded(old).records == RECORDS


class Stopped(Disk):
    """Somebody types Ctrl-C at the n-th write."""

    def __init__(self, after: int) -> None:
        self.left = after

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().write(fd, data)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_tells_what_it_did_and_does_it_once(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old / "archive" / "note.txt").touch()  # a stray of somebody's own stays
    assert run(["--root", str(old), "sessions"]) == 4
    assert "pagefault upgrade" in capsys.readouterr().err
    told = []
    for _ in range(2):
        code = run(["--root", str(old), "upgrade", "--json"])
        told.append((code, json.loads(capsys.readouterr().out)))
    assert [code for code, _ in told] == [0, 0]
    assert [one["upgraded"] for _, one in told] == [True, False]
    assert told[0][1]["records"] == RECORDS
    assert run(["--root", str(old), "verify"]) == 0
    assert (old / "archive" / "note.txt").exists()


def test_the_command_tells_what_it_did_with_an_empty_memory_and_with_one_that_was_begun(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Killed):
        upgraded(old, disk=KilledInPlace())
    assert run(["--root", str(old), "upgrade"]) == 0
    assert "an upgrade that was begun has ended" in capsys.readouterr().out
    shutil.rmtree(old / "log")
    (old / "log").mkdir()
    (old / "index.db").unlink()
    shutil.copy(FIXTURES / "format-1" / "root.json", old)
    assert run(["--root", str(old), "upgrade"]) == 0
    assert "(it was 3): 0 records" in capsys.readouterr().out
