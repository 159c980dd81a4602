"""Imports: other programs' conversations become sessions of their own, in quarantine.

Every conversation is a session `import:SOURCE:ID`; a branch of it is a fork at that point, and a
subagent's is a session beside it. Names and keys derive from the file, so the log alone shows how
far an import came: one that is repeated, or continues after a kill, finds each entry by its key and
writes the new ones. There is no other state.

An entry's place derives from its parent. It goes to its parent's session, if the parent was the
last there; else to a fork of that, named after the entry. An entry without a record whose children
have one was forgotten on purpose, and stays so.

A conversation's title is stored with its first message, so that a search finds it.

A dry run takes the same path and writes nothing: its report is what would be done.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pagefault.history.files import File, Unreadable
from pagefault.history.recognise import Recognised, recognised
from pagefault.history.values import Entry, EntryKind, Flaw, Transcript
from pagefault.model.errors import (
    ArchiveMissing,
    BadInput,
    PlanOutdated,
    ScreenFailed,
    SessionBusy,
    StoreBusy,
    StoreCorrupt,
)
from pagefault.model.events import Draft, Event, Imported, OriginalBody, SessionOpened
from pagefault.model.ids import NOTHING, Seq, SessionNo, TurnNo
from pagefault.model.kinds import (
    IMPORT,
    Actor,
    ControlMode,
    EventType,
    LayoutName,
    Mode,
    Role,
)
from pagefault.model.page import Scope, SessionRow
from pagefault.model.progress import Progress
from pagefault.model.times import iso_utc
from pagefault.pack.count import BLOCK_CHARS
from pagefault.service.lookup.imported import IMPORT_PREFIX, ImportReport, SourceCount, project_id
from pagefault.service.ownership import Owned
from pagefault.service.runtime import Runtime
from pagefault.service.turn.artifacts import NAME_CHARS_MAX, describe
from pagefault.service.turn.drafts import Incoming, pages_of
from pagefault.service.turn.split import split
from pagefault.store.api import PageFilter
from pagefault.store.store import about_store

T = TypeVar("T")

BATCH: Final = 1_000  # entries that are written at once, and share an fsync
_PENDING_MAX: Final = 5_000  # entries whose children may show that they were forgotten
FLAWS_TOLD: Final = 1_000
_PLACES_TOLD: Final = 20
_NAME_CHARS: Final = 200  # of titles, tools, models: names
_PLAIN_ID: Final = re.compile(r"[\w-]{1,64}", re.ASCII)
_MARK: Final = re.compile(r"\[(?:REDACTED:([^:\]]+)|WITHHELD:)")


@dataclass(slots=True)
class _Tally:
    files: int = 0
    conversations: int = 0
    sessions: int = 0
    messages: int = 0
    known: int = 0
    attachments: int = 0
    first_at: str = ""
    last_at: str = ""

    def dated(self, at: str) -> None:
        if at:
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at, at)


class _Item:
    """An entry to be written into a session."""

    __slots__ = ("data", "family", "incoming", "key")

    def __init__(self, family: _Family, key: str, incoming: Incoming, data: bytes | None) -> None:
        self.family = family
        self.key = key
        self.incoming = incoming
        self.data = data


@dataclass(slots=True, eq=False)
class _Target:
    """A session that receives entries: its state in the store, and the entries that wait for it."""

    name: str
    number: SessionNo = SessionNo(0)  # 0 until it is opened
    parent: _Target | None = None
    parent_seq: Seq = NOTHING
    head: Seq = NOTHING
    order: int = 0
    turn: TurnNo = TurnNo(-1)
    numbers: dict[str, int] = field(default_factory=dict)
    tip: str = ""  # the key of the last entry; "" if there is none, or none of the import's
    tip_seq: Seq = NOTHING  # of the last page that was there before
    is_announced: bool = False  # in this run, by an `Imported`
    is_leased: bool = False
    is_busy: bool = False  # nothing is written there now
    waiting: list[_Item] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Family:
    """A conversation: its sessions, and the place of each of its entries."""

    name: str
    imported: Imported
    tally: _Tally
    lanes: dict[str, _Target] = field(default_factory=dict)
    forks: dict[str, _Target | None] = field(default_factory=dict)  # by the entry each begins with
    placed: dict[str, tuple[_Target, Seq]] = field(default_factory=dict)  # 0 until it is written
    pending: dict[str, Entry] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)  # of the pending ones
    alias: dict[str, str] = field(default_factory=dict)  # empty entries, and what they follow
    last: dict[str, str] = field(default_factory=dict)  # of each lane
    is_known: bool = False  # some of it is in the memory
    title: str = ""  # until a message has it
    is_ours: bool = False  # it was exported from this memory


class Stopped(Exception):
    """The caller cancelled the import."""


class Importer:
    """One run. Everything here runs in one thread, which is not the event loop's."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        window_tokens: int,
        mode: Mode,
        layout: LayoutName,
        control: ControlMode,
        live: Callable[[], Mapping[SessionNo, Owned]],
        is_kept: Callable[[SessionNo], bool],
        dry_run: bool,
        stop: threading.Event,
        progress: Progress | None,
    ) -> None:
        self._runtime = runtime
        self._settings = (window_tokens, mode, layout, control)
        self._is_kept = is_kept
        self._tokens_max = runtime.limits.page_room(window_tokens)
        self._live = live
        self._dry = dry_run
        self._stop = stop
        self._progress = progress or (lambda done, total: None)
        self._loop = asyncio.get_running_loop()
        self._quiet = AsyncExitStack()
        self._run = "imp_" + runtime.mint_session_id().removeprefix("ses_")
        self._now = iso_utc(runtime.clock.now_ms())
        self._tallies: dict[str, _Tally] = {}
        self._secrets: Counter[str] = Counter()
        self._secret_places: list[str] = []
        self._flaws: list[Flaw] = []
        self._flaws_left_out = 0
        self._ignored = 0
        self._ignored_places: list[str] = []
        self._targets: list[_Target] = []  # with entries waiting
        self._waiting = 0
        self._names: set[str] = set()  # of new sessions
        self._seen: set[int] = set()  # in a dry run: entries of earlier files
        self._wrote = False
        self._read = self._total = 0

    def run(self, paths: Sequence[Path]) -> ImportReport:
        """Read all conversations at these paths, and write them unless this is a dry run."""
        found: list[Recognised] = []
        for one in (one for path in paths for one in recognised(path)):
            self._check()
            match one:
                case Recognised():
                    found.append(one)
                case Flaw():
                    self._flaw(one)
                case File(is_named=True, name=name):
                    self._flaw(Flaw(place=name, why="not in a known format"))
                case File(name=name):
                    self._ignored += 1
                    if self._ignored <= _PLACES_TOLD:
                        self._ignored_places.append(name)
        self._total = sum(one.size for one in found)
        try:
            for one in found:
                self._tally(one.source).files += 1
                self._take_file(one)
            self._flush()
        except Stopped:
            pass  # what was written stays, and another run continues
        finally:
            self._wait(self._quiet.aclose())
        return self._report()

    def _report(self) -> ImportReport:
        return ImportReport(
            done=not self._dry,
            run=self._run if self._wrote else "",
            sources=tuple(
                SourceCount(
                    source=source, **{name: getattr(tally, name) for name in tally.__slots__}
                )
                for source, tally in sorted(self._tallies.items())
            ),
            secrets=dict(self._secrets.most_common()),
            secret_places=tuple(self._secret_places),
            flaws=tuple(self._flaws),
            flaws_left_out=self._flaws_left_out,
            ignored=self._ignored,
            ignored_places=tuple(self._ignored_places),
        )

    # --- reading ------------------------------------------------------------------------------

    def _take_file(self, one: Recognised) -> None:
        hashed = self._keyed(f"import path {one.path}")
        try:
            for found in one.read(self._told):
                if isinstance(found, Flaw):
                    self._flaw(found, one.name)
                else:
                    self._take(one, found, hashed)
        except Unreadable as problem:
            self._flaw(Flaw(place=one.name, why=f"{problem}: nothing after that was read"))

    def _take(self, one: Recognised, found: Transcript, hashed: str) -> None:
        tally = self._tally(one.source)
        tally.conversations += 1
        own = found.id if found.id and not found.id.startswith("#") else hashed + found.id
        family = _Family(
            name=self._named(f"{IMPORT_PREFIX}{one.source}", own),
            imported=Imported(
                run=self._run,
                source_system=one.source,
                source_path_hash=hashed,
                imported_at=self._now,
                conversation=found.id.removeprefix("#")[:_NAME_CHARS],
                title=_short(found.title),
                project=_short(found.project),
                of=found.of[:_NAME_CHARS],
            ),
            tally=tally,
            title="" if found.title.startswith(IMPORT_PREFIX) else found.title,
            is_ours=bool(found.memory) and found.memory == project_id(self._runtime),
        )
        where = f"{one.name}, {found.place}" if found.place else one.name
        for entry in found.entries:
            if isinstance(entry, Flaw):
                self._flaw(entry, where)
            else:
                self._entry(family, entry, where)
        self._place_pending(family, where)

    def _entry(self, family: _Family, entry: Entry, where: str) -> None:
        self._check()
        parent = entry.parent
        if parent is None:
            parent = family.last.get(entry.lane, "")
        while parent in family.alias:
            parent = family.alias[parent]
        if parent and parent not in family.placed and parent not in family.pending:
            parent = family.last.get(entry.lane, "")
        key = entry.key
        if (
            key in family.placed
            or key in family.pending
            or _says_nothing(entry)
            or (family.is_ours and self._is_ours(family, entry, where))
        ):
            family.alias.setdefault(key, parent)
            return
        main = self._main(family, entry.lane)
        family.last[entry.lane] = key
        if self._dry:
            told = hash((main.name, key))
            if told in self._seen:
                self._note_known(family, key, (main, NOTHING))
                main.tip = key
                return
            self._seen.add(told)
        if not family.is_known:
            self._place(family, entry, parent, where)
            return
        known = self._find(family, main, parent, key)
        if known is None:
            family.pending[key], family.parents[key] = entry, parent
            if len(family.pending) > _PENDING_MAX:
                self._place_pending(family, where)
            return
        target, seq = known
        self._note_known(family, key, known)
        while parent in family.pending:  # forgotten, or what follows it would be there
            del family.pending[parent]
            family.placed[parent] = target, seq
            parent = family.parents.pop(parent)

    def _is_ours(self, family: _Family, entry: Entry, where: str) -> bool:
        """Whether an entry of an export of this memory is in its log, or was: an old export does
        not bring back what was forgotten since.
        """
        event: Event | None = None
        if 0 < entry.seq <= self._runtime.log.head():
            with suppress(StoreCorrupt, ArchiveMissing):
                event = self._runtime.log.get(Seq(entry.seq))
        if event is None or event.event_id != entry.key:
            return False
        if isinstance(event.body, OriginalBody):
            family.tally.known += 1
        else:
            self._flaw(Flaw(place=f"{where}, {entry.place}", why="forgotten here, and stays so"))
        return True

    def _note_known(self, family: _Family, key: str, known: tuple[_Target, Seq]) -> None:
        target, seq = family.placed[key] = known
        family.tally.known += 1
        if seq == target.tip_seq:
            target.tip = key

    def _find(
        self, family: _Family, main: _Target, parent: str, key: str
    ) -> tuple[_Target, Seq] | None:
        """Where an entry already is."""
        while parent in family.pending:
            parent = family.parents[parent]
        target = family.placed[parent][0] if parent else main
        return self._at(target, key) or self._at(self._fork(family, key), key)

    def _at(self, target: _Target | None, key: str) -> tuple[_Target, Seq] | None:
        if target is None or not target.number:
            return None
        hashed = self._runtime.hash_key(target.number, key)
        seq = self._runtime.index.find_key(target.number, hashed)
        return None if seq is None else (target, seq)

    def _place_pending(self, family: _Family, where: str) -> None:
        for key, entry in list(family.pending.items()):
            del family.pending[key]
            self._place(family, entry, family.parents.pop(key), where)

    def _place(self, family: _Family, entry: Entry, parent: str, where: str) -> None:
        """Queue a new entry for the session where it belongs."""
        place = f"{where}, {entry.place}" if entry.place else where
        try:
            if entry.form is EntryKind.MESSAGE and not (family.is_known or entry.title):
                entry, family.title = replace(entry, title=family.title), ""
            incoming = self._incoming(entry, place)
        except (BadInput, ScreenFailed) as refused:
            self._flaw(Flaw(place=place, why=str(refused)))
            family.alias[entry.key] = parent
            return
        main = self._main(family, entry.lane)
        before, _ = family.placed[parent] if parent else (main, NOTHING)
        is_next = before.tip == parent if parent else not (before.tip or before.order)
        target = before
        if not is_next and (parent or entry.parent is not None):
            target = self._forked(family, entry.key, before, parent)
            if known := self._at(target, entry.key):  # its parent's session was forgotten
                family.is_known = True
                self._note_known(family, entry.key, known)
                return
        if target.is_busy:
            family.alias[entry.key] = parent
            return
        if not target.waiting:
            self._targets.append(target)
        target.waiting.append(_Item(family, entry.key, incoming, entry.data))
        target.tip = entry.key
        family.placed[entry.key] = target, NOTHING
        family.tally.messages += 1
        family.tally.attachments += entry.form is EntryKind.FILE
        family.tally.dated(incoming.occurred_at)
        self._waiting += 1
        if self._waiting >= BATCH:
            self._flush()

    # --- sessions -----------------------------------------------------------------------------

    def _main(self, family: _Family, lane: str) -> _Target:
        target = family.lanes.get(lane)
        if target is None:
            name = self._named(family.name, lane, ":") if lane else family.name
            target = self._target(family, name)
            family.lanes[lane] = target
        return target

    def _fork(self, family: _Family, key: str) -> _Target | None:
        """The fork that begins with this entry, if it exists."""
        if key not in family.forks:
            family.forks[key] = self._there(self._fork_name(family, key))
        return family.forks[key]

    def _fork_name(self, family: _Family, key: str) -> str:
        return self._named(family.name, self._keyed(f"{family.name} {key}")[:8], "~")

    def _forked(self, family: _Family, key: str, before: _Target, parent: str) -> _Target:
        """A fork of a session after one of its entries."""
        fork = self._fork(family, key)
        if fork is not None:  # its first entry was not written, or is forgotten
            return fork
        if not self._dry and (not before.number or before.waiting):
            self._flush()
        fork = _Target(name=self._fork_name(family, key), parent=before)
        if not self._dry:
            seq = family.placed[parent][1] if parent else Seq(before.number)
            row = self._runtime.index.page_at(seq) if parent else None
            fork.parent_seq = Seq(seq + row.parts - 1 - row.part) if row is not None else seq
        family.forks[key] = fork
        family.tally.sessions += 1
        return fork

    def _target(self, family: _Family, name: str) -> _Target:
        target = self._there(name)
        if target is not None:
            family.is_known = True
            return target
        family.tally.sessions += name not in self._names
        self._names.add(name)
        return _Target(name=name)

    def _there(self, name: str) -> _Target | None:
        """The session of that name as it is now, if it exists."""
        if any(one.name == name for one in self._targets):  # another file has it, too
            self._flush()
        row = self._runtime.index.find_session(name)
        if row is None:
            return None
        target = _Target(name=name, number=row.session)
        self._look(target, row)
        own = Scope.whole(row.session)
        last = self._runtime.index.pages(own, PageFilter(), limit=1, newest_first=True)
        if last:
            target.tip_seq = Seq(last[0].seq - last[0].part)
        return target

    def _look(self, target: _Target, row: SessionRow) -> None:
        """The position of a session's next page."""
        target.head, target.order = row.last_seq, row.pages
        target.turn = TurnNo(row.turns - 1)
        scope = self._runtime.scope(row.session)
        target.numbers = self._runtime.index.prefix_counts(scope)

    # --- writing ------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Write all waiting entries, in one batch."""
        targets, self._targets, self._waiting = self._targets, [], 0
        if self._dry:
            for target in targets:
                target.waiting.clear()
            return
        try:
            targets = [target for target in targets if self._take_over(target)]
            if not targets:
                return
            self._open([target for target in targets if not target.number])
            drafts = [draft for target in targets for draft in self._drafts(target)]
            self._wait(self._bring(targets, drafts))
        except PlanOutdated as outdated:
            raise StoreBusy(
                f"an imported session was used meanwhile ({outdated})",
                hint="import it again: what is in is not written twice",
            ) from outdated
        self._wrote = True

    async def _bring(self, targets: Sequence[_Target], drafts: Sequence[Draft]) -> None:
        heads = {target.number: target.head for target in targets}
        events = await self._runtime.journal.bring(drafts, heads)
        waiting = {target.number: (target, iter(target.waiting)) for target in targets}
        for event in events:
            target, items = waiting[event.session]
            target.head = event.seq
            if isinstance(event.body, OriginalBody) and event.body.part == 0:
                item = next(items)
                item.family.placed[item.key] = target, event.seq
        for target in targets:
            target.waiting.clear()
        for number, owned in self._live().items():
            if number in heads:
                owned.outdate()
        await self._quiet.aclose()

    def _take_over(self, target: _Target) -> bool:
        """Lease an existing session, so that nobody here changes it meanwhile; or leave it to the
        process that writes to it.
        """
        if not target.number or target.is_leased:
            return True
        owned = self._live().get(target.number)
        if owned is not None:
            self._wait(self._quiet.enter_async_context(owned.quiet()))
        why = ""
        try:
            if self._is_kept(target.number):
                self._wait(self._runtime.journal.lease(target.number))
            else:
                why = "by its control mode nothing is written to it"
        except SessionBusy as busy:
            why = f"{busy}: import it again when that has ended"
        if why:
            self._flaw(Flaw(place=target.name, why=why))
            for item in target.waiting:
                item.family.tally.messages -= 1
            target.waiting.clear()
            target.is_busy = True
            return False
        target.is_leased = True
        row = self._runtime.index.session(target.number)
        if row is not None:
            self._look(target, row)
        return True

    def _open(self, targets: Sequence[_Target]) -> None:
        if not targets:
            return
        window_tokens, mode, layout, control = self._settings
        drafts = [
            about_store(
                SessionOpened(
                    session_id=self._runtime.mint_session_id(),
                    name=target.name,
                    window_tokens=window_tokens,
                    mode=mode,
                    system="",
                    layout=layout,
                    control=control,
                    parent=target.parent.number if target.parent else SessionNo(0),
                    parent_seq=target.parent_seq,
                )
            )
            for target in targets
        ]
        numbers = self._wait(self._runtime.journal.open_sessions(drafts))
        for target, number in zip(targets, numbers, strict=True):
            target.number, target.is_leased, target.head = number, True, Seq(number)
            if target.parent is not None:
                row = self._runtime.index.session(number)
                assert row is not None
                self._look(target, row)

    def _drafts(self, target: _Target) -> Iterator[Draft]:
        runtime = self._runtime
        if not target.is_announced:
            target.is_announced = True
            yield Draft(
                session=target.number,
                turn=TurnNo(max(target.turn, 0)),
                actor=Actor.SYSTEM,
                origin=IMPORT,
                body=target.waiting[0].family.imported,
            )
        items = [item.incoming for item in target.waiting]
        short = [item.text for item in items if len(item.text) <= BLOCK_CHARS]
        counts = iter(runtime.counter.count_all(short))
        for item, waiting in zip(items, target.waiting, strict=True):
            if waiting.data is not None:
                runtime.journal.expect(target.number, IMPORT, len(waiting.data))
                item = replace(item, blob=runtime.blobs.put(waiting.data))
            tokens = next(counts) if len(item.text) <= BLOCK_CHARS else None
            if tokens is not None and tokens <= self._tokens_max:
                parts = [(item.text, tokens)]
            else:
                parts = split(item.text, self._tokens_max, runtime.counter)
            if item.opens_turn or target.turn < 0:
                target.turn = TurnNo(target.turn + 1)
            number = target.numbers.get(item.stem, 0) + 1
            target.numbers[item.stem] = number + len(parts) - 1
            yield from pages_of(
                *(item, parts, IMPORT),
                session=target.number,
                turn=target.turn,
                number=number,
                order=target.order,
                clean=str,  # redacted already, when its secrets were counted
            )
            target.order += len(parts)

    # --- entries ------------------------------------------------------------------------------

    def _incoming(self, entry: Entry, place: str) -> Incoming:
        """An entry as a draft. Raises `BadInput`, `ScreenFailed`."""
        text = self._clean(entry.text, place)
        title = self._clean(_short(entry.title), place)
        if entry.form is EntryKind.FILE:
            data = entry.data or b""
            said = describe(
                data,
                name=_printable(title)[:NAME_CHARS_MAX] or "file",
                media_type=_printable(entry.media_type)[:_NAME_CHARS],
                text=text or ("" if entry.data is not None else "not in what was imported"),
                key=entry.key,
                bytes_max=self._runtime.limits.artifact_bytes_max,
            )
            return replace(
                said,
                occurred_at=entry.at,
                mime_type=said.mime_type if data else "",
                goes_on=entry.goes_on,
            )
        return Incoming(
            text=text,
            role=Role.USER if entry.form is EntryKind.DOCUMENT else entry.role,
            event_type=_EVENTS[entry.form],
            speaker=self._clean(_short(entry.speaker), place),
            title=title or _TITLES.get(entry.form, ""),
            occurred_at=entry.at,
            call_id=self._clean(_short(entry.call_id), place),
            model=self._clean(_short(entry.model), place),
            is_error=entry.is_error and entry.form is EntryKind.RESULT,
            goes_on=entry.goes_on,
            key=entry.key,
        )

    def _clean(self, text: str, place: str) -> str:
        """A text that can be written: valid Unicode, with its secrets redacted and counted."""
        if not text:
            return text
        sound = _sound(text)
        if sound is not text:
            self._flaw(Flaw(place=place, why="half a surrogate pair, now marked \ufffd", kept=True))
        cleaned = self._runtime.journal.clean(sound)
        if cleaned is not sound:
            marks = Counter(_MARK.findall(cleaned)) - Counter(_MARK.findall(sound))
            self._secrets.update({name or "withheld": count for name, count in marks.items()})
            if len(self._secret_places) < _PLACES_TOLD and place not in self._secret_places:
                self._secret_places.append(place)
        return cleaned

    # --- helpers ------------------------------------------------------------------------------

    def _tally(self, source: str) -> _Tally:
        return self._tallies.setdefault(source, _Tally())

    def _flaw(self, flaw: Flaw, where: str = "") -> None:
        if where:
            flaw = replace(flaw, place=f"{where}, {flaw.place}" if flaw.place else where)
        if len(self._flaws) < FLAWS_TOLD:
            self._flaws.append(flaw)
        else:
            self._flaws_left_out += 1

    def _named(self, front: str, own: str, joint: str = ":") -> str:
        """A name without secrets that still differs from the names of others."""
        name = f"{front}{joint}{own}"
        if _PLAIN_ID.fullmatch(own) and self._runtime.journal.clean(name) == name:
            return name
        return f"{front}{joint}{self._keyed(f'import of {own}')}"

    def _keyed(self, text: str) -> str:
        return self._runtime.keyed(text)

    def _told(self, bytes_read: int) -> None:
        self._read += bytes_read
        self._progress(min(self._read, self._total), self._total)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the event loop, and wait here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_EVENTS: Final = {
    EntryKind.MESSAGE: EventType.CHAT_TURN,
    EntryKind.REASONING: EventType.CHAT_TURN,
    EntryKind.CALL: EventType.TOOL_CALL,
    EntryKind.RESULT: EventType.TOOL_RESULT,
    EntryKind.DOCUMENT: EventType.DOCUMENT,
}
"""How each form is stored. A client's shell, edit and test calls are calls like others."""

_TITLES: Final = {EntryKind.REASONING: "reasoning"}


def _says_nothing(entry: Entry) -> bool:
    return not entry.text and entry.form not in (EntryKind.FILE, EntryKind.CALL, EntryKind.RESULT)


def _sound(text: str) -> str:
    """The text, with lone surrogates replaced. Returns the same object if it has none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _short(text: str) -> str:
    return text[:_NAME_CHARS]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
