"""Upgrading a root of an earlier format: the only module that knows the earlier formats.

Format 1 (the log of root formats 1, 2 and 3) differs as follows:

* A tool call was a `chat_turn` of an assistant with a `call_id`.
* A payload had its `kind`, and its `role` even where the type determines it; the author of a
  shorter form was there as `made_by`; a summary had its `level`, and a receipt said that headers
  are `redacted`. If a first version's did not, the headers of forgotten records still have keys and
  names of tools.
* The proxy wrote notes among the messages, as results of a tool `pagefault`.

The whole log is rewritten, because each line is chained to the one before. A record's number, id,
session, turn, time, actor, origin, cause, key, batch and salt stay the same. A record whose payload
format 1 could not read as its type also stays the same, and is set aside as before.

Invariants:
 (1) Until the new log is complete, durable and verified, nothing of the old one is touched.
 (2) Verification compares the new log with the old, record by record, as readers of both formats
     read them. If one record differs, the memory stays as it was.
 (3) From then on until the end `root.json` says so, and only an upgrade opens the root: an upgrade
     killed at any moment is restarted or continued.
 (4) In the end nothing is left of the old log, where later forgets could not reach it. So an
     upgrade ends only while the archive is there, and one that is given up leaves nothing.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from pagefault.model.clock import Clock
from pagefault.model.errors import BadInput, StoreCorrupt, StoreError, StoreIncompatible
from pagefault.model.events import BODY_TYPES, VERSION, SetAside
from pagefault.model.ids import IdMinter, Seq
from pagefault.model.kinds import DERIVED_TYPES, SAID_TYPES, SOME_TOOL, EventType, is_tools
from pagefault.model.progress import Progress
from pagefault.store import codec
from pagefault.store.embedded import sealed
from pagefault.store.embedded.adoption import Adoptions, not_adopted
from pagefault.store.embedded.archive import Archive
from pagefault.store.embedded.archive_format import inflate_all, pack, parse_stub_name, unpack_kept
from pagefault.store.embedded.backup import ENDS
from pagefault.store.embedded.connections import SUFFIXES
from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.facts import FACTS_BYTES_MAX
from pagefault.store.embedded.files import is_file, is_folder, listing, read
from pagefault.store.embedded.inventory import Inventory, take_inventory
from pagefault.store.embedded.lock import RootLock
from pagefault.store.embedded.presence import check_alone
from pagefault.store.embedded.root import acknowledged_in
from pagefault.store.embedded.root_file import FORMAT, UPGRADING, check_there, facts_in, set_format
from pagefault.store.embedded.segment_format import (
    FILE_BYTES_MAX,
    TEMPORARY,
    Footer,
    Header,
    file_name,
    first_link,
    offsets_for,
    parse_footer,
    parse_name,
)
from pagefault.store.embedded.segments import SegmentLog

NEW: Final = "log.upgrading"
OLD: Final = "log.before"
_V: Final = f"{VERSION[0]}.0"
"""The version written: older records have nothing that a later minor version added."""

_BEFORE: Final = "1.0"
_OURS: Final = (".archived", ".kept", TEMPORARY, ".tmp")
_JSON: Final = msgspec.json.Encoder()
_PAGES: Final = frozenset[str](
    {
        *(str(one) for one in (*SAID_TYPES, *DERIVED_TYPES)),
        *(str(EventType.TOOL_RESULT), str(EventType.DOCUMENT), str(EventType.ARTIFACT)),
    }
)
_NOTES: Final = ("pagefault:recall", "pagefault:epoch")
NOTE: Final = "proxy_note"
"""The type of the proxy's former notes, which no fold reads."""
_NOT_SAID: Final = frozenset({"kind", "made_by"})  # in any page: its type or header has it
_UNREAD: Final[dict[str, set[str]]] = {"summary": {"level"}, "forget_done": {"redacted"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """The result of an upgrade. `before` is the old format; `is_done` is false if there was nothing
    to do. The rest describes the log, and is 0 if an earlier upgrade was completed.
    """

    before: int
    is_done: bool = True
    records: int = 0
    segments: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


def upgrade(
    path: Path,
    *,
    clock: Clock,
    minter: IdMinter,
    adoptions: Adoptions | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> Upgraded:
    """Upgrade the root at `path` to this format; does nothing if it has it already.

    `StoreCorrupt` if its log is damaged, `StoreBusy`, naming them, while others have it open,
    `ArchiveMissing`, `NotAdopted`, `BadInput` if the name of one of the logs is taken; `StoreError`
    if there is no room for a second log beside the first. In each case the root is unchanged, or,
    if an earlier upgrade was killed, that can still be continued.
    """
    path, disk = Path(os.path.realpath(path)), disk or Disk()
    check_there(path)
    facts = _facts(path)
    if adoptions is not None and not adoptions.holds(path, facts["id"]):
        raise not_adopted(path)
    with RootLock(path, clock=clock).held():
        check_alone(path, clock, "upgrading")
        facts = _facts(path)
        before = int(facts["format"])
        if before > FORMAT:
            raise StoreIncompatible(f"{path} is of format {before}; this version reads {FORMAT}")
        if before == FORMAT and not facts.get(UPGRADING):
            return Upgraded(before=before, is_done=False)
        root = _Root(path, facts["id"], facts["project"], clock, minter, disk)
        done = Upgraded(before=before)
        if before < FORMAT:
            done = root.make_anew(before, progress or _tells_nobody)
        try:
            if before < FORMAT:
                set_format(path, disk, is_upgrading=True)
            root.swap()
            set_format(path, disk, is_upgrading=False)
        except (Exception, KeyboardInterrupt) as failure:
            if _facts(path)["format"] < FORMAT:
                root.give_up()
            if not isinstance(failure, OSError):
                raise
            raise StoreError(
                f"the new log of {path} cannot take its place: {failure.strerror}",
                hint="make room, then `pagefault upgrade` once more",
            ) from failure
        return done


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = facts_in(path)
        if not isinstance(facts["format"], int):
            raise ValueError("its format is a number")
        return facts
    except (OSError, ValueError) as problem:
        raise StoreCorrupt(
            f"{path / 'root.json'} cannot be read: {problem}",
            hint="restore it from a backup, then try again",
        ) from problem


def _tells_nobody(done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _Ends:
    """The ends of two logs with the same records: the last record, and the link after it in each.
    After a lost record the old link is unknown: what followed was chained to what is lost.
    """

    head: Seq
    old: bytes | None
    new: bytes


@dataclass(slots=True)
class _Root:
    path: Path
    id: str
    project: str
    clock: Clock
    minter: IdMinter
    disk: Disk

    # --- the new log ----------------------------------------------------------------------------

    def make_anew(self, before: int, progress: Progress) -> Upgraded:
        """Write the new log beside the old one: durable, and verified."""
        acknowledged = acknowledged_in(self.path, self.id)
        self._clear_the_way()
        inventory = take_inventory(self.path / "log")
        if inventory.missing:
            raise self._damaged(f"segment {inventory.missing[0]} is missing")
        if inventory.archived:
            Archive(self.path / "log").require()
        total, done, made = _bytes_in(self.path), 0, 0
        ends = _Ends(Seq(0), first_link(self.id), first_link(self.id))
        try:
            self.disk.make_directory(self.path / NEW)
            for number, generation in sorted(inventory.generations.items()):
                is_archived = number in inventory.archived
                old = self._read(number, generation, is_archived=is_archived)
                is_last = number == max(inventory.generations)
                if is_last and number > 1 and b"\n" not in old:
                    break  # begun without its first line: opening would discard it
                data, ends = self._converted(number, generation, old, ends, is_last=is_last)
                self._place(number, generation, data, is_archived=is_archived)
                done, made = done + len(old), made + len(data)
                progress(done, max(total, done))
            if ends.head < acknowledged:
                raise self._damaged(f"it ends with record {ends.head}, and held {acknowledged}")
            self._check_end_of_backup(ends)
            self._read_back(ends)
            self._compare(inventory, ends)
        except OSError as failure:
            self.give_up()
            raise StoreError(
                f"a second log cannot be written beside the first: {failure.strerror}",
                hint=f"make room for {total:,} bytes; the memory is unchanged",
            ) from failure
        except (Exception, KeyboardInterrupt):
            self.give_up()
            raise
        return Upgraded(
            before=before,
            records=ends.head,
            segments=len(inventory.generations),
            bytes_before=done,
            bytes_after=made,
        )

    def _clear_the_way(self) -> None:
        self.remove(self.path / NEW)
        for name in (NEW, OLD):
            if os.path.lexists(self.path / name):
                raise BadInput(
                    f"{self.path / name} is in the way, and is not left from an upgrade",
                    hint="move it elsewhere, then try again",
                )

    def give_up(self) -> None:
        """Remove the new log; if that fails, the next upgrade starts with removing it."""
        with suppress(OSError, StoreError):
            self.remove(self.path / NEW)

    def _read(
        self, number: int, generation: int, *, is_archived: bool, folder: str = "log"
    ) -> bytes:
        log = self.path / folder
        if is_archived:
            return inflate_all(read(Archive(log).path(number, generation), FILE_BYTES_MAX))
        return read(log / file_name(number, generation), FILE_BYTES_MAX)

    def _converted(
        self, number: int, generation: int, old: bytes, ends: _Ends, *, is_last: bool
    ) -> tuple[bytes, _Ends]:
        """A segment in this format, and the ends of both logs after it."""
        name = file_name(number, generation)
        first, *lines = old.splitlines(keepends=True) or [b""]
        self._check_first(name, first, ends)
        is_sealed = bool(lines) and parse_footer(lines[-1]) is not None
        if not is_sealed and not is_last:
            raise self._damaged(f"{name} has no seal")
        header = Header(
            segment=number,
            generation=generation + 1,
            first=Seq(ends.head + 1),
            root=self.id,
            project=self.project,
            link=ends.new,
            version=_V,
        ).encode()
        made, starts, at = [header], [], len(header)
        whole, now = (1, ends), ends  # after the last complete batch
        for line in lines[:-1] if is_sealed else lines:
            try:
                record = codec.take_apart(line)
            except StoreCorrupt as damage:
                if not is_sealed and line is lines[-1]:
                    break  # a torn tail: never acknowledged
                raise self._damaged(f"{name}: {damage.message}") from damage
            self._check(name, line, record, now)
            line, link = converted(record, now.new)
            is_lost = record.type == "lost"
            now = _Ends(Seq(record.seq), None if is_lost else codec.long(record.link), link)
            made.append(line)
            starts.append(at)
            at += len(line)
            if not record.more:
                whole = len(made), now
        upto, now = whole
        if is_sealed and upto < len(made):
            raise self._damaged(f"{name} ends within a batch")
        data = b"".join(made[:upto])
        if not is_sealed:
            return data, now
        footer = Footer(
            segment=number,
            records=len(starts),
            last=now.head,
            link=now.new,
            offsets=offsets_for(starts),
        )
        return data + footer.encode(), now

    def _check_first(self, name: str, line: bytes, ends: _Ends) -> None:
        told: dict[str, Any] = {}
        if codec.is_sealed(line):
            with suppress(msgspec.MsgspecError):
                told = msgspec.json.decode(line, type=dict[str, Any])
        wanted: dict[str, Any] = {
            "pagefault": "segment",
            "v": _BEFORE,
            "root": self.id,
            "first": ends.head + 1,
        }
        if ends.old is not None:
            wanted["link"] = codec.short(ends.old).decode()
        if any(told.get(field) != value for field, value in wanted.items()):
            raise self._damaged(f"the first line of {name} is not as it was written")

    def _check(self, name: str, line: bytes, record: codec.Record, ends: _Ends) -> None:
        if record.v != _BEFORE:
            raise StoreIncompatible(f"record {record.seq} has format {record.v}")
        if record.seq != ends.head + 1:
            raise self._damaged(f"{name}: record {record.seq} follows record {ends.head}")
        if ends.old is not None and not codec.follows(ends.old, line, record):
            raise self._damaged(f"record {record.seq} is not chained to the one before it")
        if not record.erased and not codec.confirms(record):
            raise self._damaged(f"record {record.seq} is not the one that it committed to")

    def _place(self, number: int, generation: int, data: bytes, *, is_archived: bool) -> None:
        new = self.path / NEW
        if not is_archived:
            file = new / file_name(number, generation + 1)
            self.disk.place(file, file.with_name(f"{file.name}.tmp"), data)
            return
        before, target = Archive(self.path / "log"), Archive(new)
        kept: tuple[Seq, ...] = ()
        with suppress(FileNotFoundError):  # an early version kept nothing
            lines = unpack_kept(read(before.kept_path(number, generation), FILE_BYTES_MAX))
            kept = tuple(Seq(codec.take_apart(one).seq) for one in lines.splitlines(keepends=True))
        target.place(number, generation + 1, *pack(data), self.disk)
        target.keep(number, generation + 1, data, kept, self.disk)

    def _read_back(self, ends: _Ends) -> None:
        """Verify every byte of the new log, and that it ends where the old one does."""
        log = self._open(self.path / NEW)
        try:
            wrong = log.verify()
            if wrong or log.tip() != (ends.head, ends.new):
                what = str(wrong[0]) if wrong else f"it ends with record {log.head()}"
                raise StoreCorrupt(
                    f"the new log does not read back as written: {what}",
                    hint="check that disk, then try again; the memory is unchanged",
                )
        finally:
            log.close()

    def _compare(self, inventory: Inventory, ends: _Ends) -> None:
        """Raise unless the new log says the same as the old one, record by record."""
        for number, generation in sorted(inventory.generations.items()):
            is_archived = number in inventory.archived
            was = _records(self._read(number, generation, is_archived=is_archived), ends.head)
            file = self.path / NEW / file_name(number, generation + 1)
            data = b""
            if is_archived or is_file(file):  # else begun and empty
                data = self._read(number, generation + 1, is_archived=is_archived, folder=NEW)
            for old, new in zip_longest(was, _records(data, ends.head)):
                if old is None or new is None or not says_the_same(old, new):
                    seq = (old or new).seq
                    raise StoreCorrupt(
                        f"record {seq} does not say in the new log what it says in the old one",
                        hint="this is a bug in pagefault: please report it; the memory is "
                        "unchanged",
                    )

    def _open(self, directory: Path) -> SegmentLog:
        return SegmentLog(
            directory,
            root=self.id,
            project=self.project,
            secret=b"",  # for reading: it hashes nothing
            clock=self.clock,
            minter=IdMinter(self.clock, Random(0)),  # and mints nothing
            read_only=True,
        )

    def _check_end_of_backup(self, ends: _Ends) -> None:
        """Raise if this is a backup that has lost its end."""
        if not is_file(self.path / ENDS):
            return
        told = sealed.decode(read(self.path / ENDS, FACTS_BYTES_MAX), unsealed=("head", "link"))
        link = None if ends.old is None else codec.short(ends.old).decode()
        if told["head"] != ends.head or link not in (None, told["link"]):
            raise self._damaged("it does not end as the backup did that it is of")

    def _damaged(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"the log of {self.path} cannot be upgraded: {what}",
            hint="open it with the version that wrote it, which mends the end of a log, "
            "or repair it there",
        )

    # --- replacing the old log
    # ----------------------------------------------------------------------

    def swap(self) -> None:
        """Replace the old log by the new one, leaving nothing of the old. An interrupted swap is
        continued.
        """
        new, old, log = self.path / NEW, self.path / OLD, self.path / "log"
        if is_folder(new):
            if is_folder(log):
                self.disk.rename(log, old)
            self.disk.rename(new, log)
            self.disk.sync_directory(self.path)
        self.remove(old)
        for suffix in SUFFIXES:
            self.disk.unlink(self.path / f"index.db{suffix}")
        if is_file(self.path / ENDS):
            made = self._open(log)
            head, link = made.tip()
            made.close()
            ends = {"head": head, "link": codec.short(link).decode()}
            file = self.path / ENDS
            self.disk.place(file, file.with_name(f"{ENDS}.tmp"), sealed.encode(ends))
        self.disk.sync_directory(self.path)

    def remove(self, log: Path) -> None:
        """Remove a folder of segments, and its files in the archive. `ArchiveMissing`, with nothing
        removed, if that is missing: without their stubs nobody would know of these files.
        """
        if not is_folder(log):
            return
        archive = Archive(log)
        plain = [name for name, st in listing(log).items() if stat.S_ISREG(st.st_mode)]
        if stubs := [stub for name in plain if (stub := parse_stub_name(name)) is not None]:
            archive.require()
        for number, generation in stubs:
            archive.remove(number, generation, self.disk)
        for name in plain:
            if parse_name(name) or name.endswith(_OURS):
                self.disk.unlink(log / name)
        self.disk.remove_directory(log)  # unless it has a stranger's file in it


def _bytes_in(path: Path) -> int:
    """The approximate size of the log, including its archive."""
    folders = (path / "log", Archive(path / "log").directory)
    files = (file for folder in folders if is_folder(folder) for file in listing(folder).values())
    return sum(file.st_size for file in files if stat.S_ISREG(file.st_mode))


def _records(data: bytes, head: Seq) -> Iterator[codec.Record]:
    """The records of a segment, up to the last one of the log."""
    for line in data.splitlines(keepends=True):
        if line.startswith(b'{"v":'):
            with suppress(StoreCorrupt):  # a torn tail
                record = codec.take_apart(line)
                if record.seq <= head:
                    yield record


# --- a record -----------------------------------------------------------------------------------


def converted(record: codec.Record, previous: bytes) -> tuple[bytes, bytes]:
    """The line of a format 1 record in this format, and the link after it; `previous` is the link
    before it.
    """
    type_, model, payload = record.type, "", None
    if not record.erased:
        type_, model, payload = _said(record)
    head: dict[str, Any] = {
        "v": _V,
        "seq": record.seq,
        "id": record.id,
        "ses": record.ses,
        "turn": record.turn,
        "at": record.at,
        "type": type_,
        "actor": record.actor,
        "origin": record.origin,
    }
    optional = {"model": model, "cause": record.cause, "key": record.key, "more": record.more}
    head |= {name: value for name, value in optional.items() if value}
    if payload is None:
        return _erased(record, head, previous)
    assert record.salt is not None
    header = _JSON.encode(head)[:-1]
    commit = hmac.digest(codec.long(record.salt), payload, "sha256")[: codec.CUT_BYTES]
    link = codec.next_link(previous, header, commit)
    line = b'%b,"salt":"%b","commit":"%b","link":"%b","payload":%b' % (
        header,
        record.salt.encode(),
        codec.short(commit),
        codec.short(link),
        payload,
    )
    return codec.seal(line), link


def _erased(record: codec.Record, head: dict[str, Any], previous: bytes) -> tuple[bytes, bytes]:
    """What remains of a forgotten record. A first version left keys and names in headers."""
    is_tool = is_tools(record.origin) and record.origin != SOME_TOOL
    if record.redacted or record.key or is_tool:
        head.pop("key", None)
        head["origin"] = str(SOME_TOOL) if is_tools(record.origin) else record.origin
        header = _JSON.encode(head | {"redacted": 1})[:-1]
        link = codec.long(record.link)
        commit = codec.next_link(previous, header, link)
    else:
        header = _JSON.encode(head)[:-1]
        commit = codec.long(record.commit)
        link = codec.next_link(previous, header, commit)
    line = b'%b,"salt":null,"commit":"%b","link":"%b","payload":null' % (
        header,
        codec.short(commit),
        codec.short(link),
    )
    return codec.seal(line), link


def _said(record: codec.Record) -> tuple[str, str, bytes]:
    """The type of a record in this format, the model that acted, and its payload."""
    payload = bytes(record.payload)
    told = _fields_of(payload)
    if told is None or not isinstance(told.get("made_by", ""), str):
        return record.type, "", payload
    if _is_note(record, told):
        return NOTE, "", payload
    type_, model = record.type, ""
    if record.type in _PAGES:
        if _is_call(record, told):
            type_ = str(EventType.TOOL_CALL)
        model = told.get("made_by", "")
        gone = {*_NOT_SAID, *({"role"} if record.type in DERIVED_TYPES else ())}
    elif record.type in _UNREAD:
        gone = set()
    else:
        return type_, "", payload
    gone |= _UNREAD.get(record.type, set())
    told = {name: value for name, value in told.items() if name not in gone}
    made = codec.as_written(type_, _JSON.encode(told))
    if made is None:  # it stays set aside, unchanged
        return record.type, "", payload
    known = {field.name for field in fields(BODY_TYPES[type_])}
    if newer := {name: value for name, value in told.items() if name not in known}:
        made = _JSON.encode(msgspec.json.decode(made) | newer)
    return type_, model, made


def _fields_of(payload: bytes) -> dict[str, Any] | None:
    """The fields of a payload; None if readers of both formats fail to parse it."""
    try:
        told = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _is_note(record: codec.Record, told: dict[str, Any]) -> bool:
    """Whether it is a note that an early proxy wrote."""
    is_ours = record.type in _PAGES and record.origin == "tool:pagefault"
    return is_ours and told.get("title") in _NOTES


def _is_call(record: codec.Record, told: dict[str, Any]) -> bool:
    """Whether a message was a call: in others format 1 left out `call_id` when it was empty."""
    is_models = record.type == EventType.CHAT_TURN and told.get("role") == "assistant"
    return is_models and "call_id" in told


# --- comparison -----------------------------------------------------------------------------------

_HEAD: Final = ("seq", "id", "ses", "turn", "at", "actor", "cause", "more", "salt")


def says_the_same(was: codec.Record, now: codec.Record) -> bool:
    """Whether a converted record says the same as the format 1 record that it was made from."""
    if any(getattr(was, name) != getattr(now, name) for name in _HEAD):
        return False
    if was.erased:
        is_same = (now.type, bytes(now.payload)) == (was.type, b"null")
        return is_same and not now.key and not now.model and now.origin in (was.origin, SOME_TOOL)
    if (was.origin, was.key) != (now.origin, now.key):
        return False
    told = _fields_of(bytes(was.payload))
    if bytes(was.payload) == bytes(now.payload):
        is_note = now.type == NOTE and told is not None and _is_note(was, told)
        return not now.model and (is_note or now.type == was.type)
    tells, cls = _fields_of(bytes(now.payload)), BODY_TYPES.get(now.type)
    if told is None or tells is None or cls is None:
        return False
    if now.type != was.type and not (now.type == EventType.TOOL_CALL and _is_call(was, told)):
        return False
    known = {*_NOT_SAID, "role", *_UNREAD.get(now.type, ()), *(one.name for one in fields(cls))}
    newer, newer_before = (
        {name: value for name, value in one.items() if name not in known} for one in (tells, told)
    )
    before = codec.to_event(msgspec.structs.replace(was, v=now.v, type=now.type)).body
    is_same = codec.to_event(now).body == before and not isinstance(before, SetAside)
    return is_same and newer == newer_before and now.model == told.get("made_by", "")
