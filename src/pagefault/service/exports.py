"""Exports: a memory's contents, as files for other programs and for people.

Three forms. `events`: a line of JSON for each text, in the event envelope that agents' memories
exchange. `snapshot`: a zip archive of these lines, of the sessions, and of the bytes of artifacts.
`markdown`: a folder with a document for each session. `history/exported.py` describes their layout,
and reads them again.

An export holds no more than the memory: nothing that was forgotten, and no secret that today's
redaction recognises, even if it was written before. Later forgets do not reach an export; so none
is made inside the memory's own folder.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

from pagefault.history import exported
from pagefault.model.errors import (
    ArchiveMissing,
    BadInput,
    StoreCorrupt,
    StoreError,
)
from pagefault.model.events import Claimed, Event, OriginalBody, PageBody, Stored, Summarised
from pagefault.model.ids import PageId
from pagefault.model.page import PageRow, Scope, SessionRow
from pagefault.model.progress import Progress
from pagefault.model.times import iso_utc
from pagefault.model.wanted import SearchFilter
from pagefault.represent.about import Found
from pagefault.service.derived.cards import Card, cards_of
from pagefault.service.derived.claims import ClaimInfo, Claims
from pagefault.service.derived.labels import Labels
from pagefault.service.derived.procedures import Procedures
from pagefault.service.lookup.imported import Exported, ExportForm, is_from
from pagefault.service.restore import restore
from pagefault.service.runtime import Runtime
from pagefault.service.window.content import page_of
from pagefault.store.api import PageFilter

_BATCH: Final = 500  # pages whose rows are in memory at once


class Stopped(Exception):
    """The caller cancelled the export."""


@dataclass(slots=True)
class _Count:
    sessions: int = 0
    messages: int = 0
    claims: int = 0
    artifacts: int = 0
    bytes: int = 0
    redacted: int = 0
    away: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line of an export, and the bytes that it refers to."""

    line: dict[str, Any]
    blob: str = ""


class Exporter:
    """One run. Blocks on the store: everything here runs in a thread of its own."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        project_id: str,
        wanted: SearchFilter,
        stop: threading.Event,
        progress: Progress | None = None,
    ) -> None:
        self._runtime = runtime
        self._project_id = project_id
        self._wanted = wanted
        self._stop = stop
        self._progress = progress or (lambda done, total: None)
        self._count = _Count()
        self._seen = 0
        self._total = 0

    def run(self, target: Path | None, form: ExportForm) -> Exported:
        """Write it to `target`, which must not exist; without one, only count what it would
        hold.
        """
        rows = self._sessions()
        self._total = sum(row.pages for row in rows)
        if target is None:
            with _nowhere() as sink:
                self._write(rows, sink)
        else:
            with _made(target) as beside:
                with _SINKS[form](beside, self._bytes) as sink:
                    self._write(rows, sink)
                self._count.bytes = _size(beside)
        return Exported(
            done=target is not None,
            path="" if target is None else str(target),
            form=str(form),
            **{name: getattr(self._count, name) for name in _Count.__slots__},
        )

    def _write(self, rows: Sequence[SessionRow], sink: _Sink) -> None:
        for row in rows:
            pieces = self._pieces(row)
            first = next(pieces, None)
            if first is None:
                continue
            self._count.sessions += 1
            sink.session(self._session_line(row), chain([first], pieces))

    def _sessions(self) -> list[SessionRow]:
        """The sessions to export, a parent before its forks."""
        index = self._runtime.index
        if self._wanted.session:
            row = index.find_session(self._wanted.session)
            return [] if row is None else [row]
        source = self._wanted.imported_from
        found = (row for row in index.sessions() if not source or is_from(row.name, source))
        return sorted(found, key=lambda row: row.session)

    def _session_line(self, row: SessionRow) -> dict[str, Any]:
        parent = self._runtime.index.session(row.parent) if row.parent else None
        return {
            "session_id": row.session_id,
            "project_id": self._project_id,
            "name": self._runtime.journal.clean(row.name),
            "opened_at": iso_utc(row.opened_at_ms),
            "parent": "" if parent is None else parent.session_id,
        }

    # --- the lines of a session ---------------------------------------------------------------

    def _pieces(self, session: SessionRow) -> Iterator[_Piece]:
        """Current pages, in order, each after the one it follows; then those they replaced; then
        claims.
        """
        own = Scope.whole(session.session)
        last, history = "", list[tuple[PageRow, str]]()
        for row in self._rows(own):
            if own.is_history(row):
                history.append((row, last))
            elif self._wanted.admits(row) and (piece := self._piece(row, session, last)):
                last = piece.line["event_id"]
                yield piece
        for row, after in history:
            if self._wanted.admits(row) and (piece := self._piece(row, session, after)):
                yield _Piece(piece.line | {"superseded": True}, piece.blob)
        if not self._wanted.is_some:
            yield from self._held(session, own)

    def _rows(self, scope: Scope) -> Iterator[PageRow]:
        """The first part of each text."""
        after = -1
        while rows := self._runtime.index.pages(scope, PageFilter(after_order=after), limit=_BATCH):
            after = rows[-1].order
            for row in rows:
                if self._stop.is_set():
                    raise Stopped
                self._seen += 1
                if not (row.part or row.is_note):
                    yield row
            self._progress(min(self._seen, self._total), self._total)

    def _piece(self, row: PageRow, session: SessionRow, follows: str) -> _Piece | None:
        event = self._event(row)
        if event is None:
            return None
        body = event.body
        assert isinstance(body, OriginalBody)
        text = self._text(row, body, session)
        line = self._line(event, body, session, text) | {
            "follows": follows,
            "occurred_at": body.occurred_at,
            "speaker": self._clean(body.speaker),
            "title": self._clean(body.title),
            "call_id": getattr(body, "call_id", ""),
            "is_error": getattr(body, "is_error", False),
            "model": event.model,
        }
        self._count.messages += 1
        if not isinstance(body, Stored) or not body.blob:
            return _Piece(line)
        self._count.artifacts += 1
        ref = f"{session.session_id}-{row.page_id}"
        told = {"kind": "artifact", "ref": ref, "mime_type": body.mime_type}
        return _Piece(line | {"artifacts": [told | {"size_bytes": body.size_bytes}]}, body.blob)

    def _event(self, row: PageRow) -> Event | None:
        try:
            event = self._runtime.log.get(row.seq)
        except (ArchiveMissing, StoreCorrupt):
            self._count.away += 1
            return None
        is_page = isinstance(event.body, PageBody)  # or it is just being forgotten
        return event if is_page else None

    def _text(self, row: PageRow, body: PageBody, session: SessionRow) -> str:
        if row.parts == 1:
            return body.text
        parts = self._runtime.parts_of(Scope.whole(session.session), row)
        return "".join(self._runtime.pages.read(part).text for part in parts)

    def _line(self, event: Event, body: PageBody, session: SessionRow, text: str) -> dict[str, Any]:
        """The envelope of every line."""
        cleaned, about = self._clean(text), page_of(event, body).about
        if cleaned != text:  # then the topics found in it may hold it, too
            self._count.redacted += 1
            about = Found(cleaned)
        return {
            "event_id": event.event_id,
            "session_id": session.session_id,
            "project_id": self._project_id,
            "session": self._clean(session.name),
            "ts": iso_utc(event.at_ms),
            "source": body.source if event.actor != "assistant" else "assistant_output",
            "event_type": event.type,
            "role": str(body.role),
            "text": cleaned,
            "topic_tags": list(about.topic_tags),
            "entities": list(about.entities),
            "task_refs": list(about.task_refs),
            "artifacts": [],
            "importance": body.importance,
            "confidence": getattr(body, "confidence", 1.0),
            "hash": "sha256:" + sha256(cleaned.encode()).hexdigest(),
            "seq": event.seq,
            "page_id": body.page_id,
            "turn": event.turn,
            "origin": str(event.origin),
        }

    def _held(self, session: SessionRow, own: Scope) -> Iterator[_Piece]:
        """Summaries and claims made in a session, with their sources."""
        claims: Mapping[PageId, ClaimInfo] | None = None
        cards: Mapping[PageId, Card] = {}
        for row in self._rows(own.derived):
            event = self._event(row)
            body = None if event is None else event.body
            if event is None or not isinstance(body, Claimed | Summarised):
                continue
            line = self._line(event, body, session, body.text)
            if isinstance(body, Claimed):
                if claims is None:
                    claims = self._claims(session)
                    scope = self._runtime.scope(session.session)
                    told = cards_of(self._runtime, scope, list(claims.values()))
                    cards = {one.card_id: one for one in told}
                claim = claims.get(row.page_id)
                line["event_type"] = "decision" if body.claim_type == "decision" else "claim"
                line |= {
                    "claim_type": body.claim_type,
                    "subject": self._clean(body.subject),
                    "status": "" if claim is None else claim.status,
                    "authority": "" if claim is None else claim.authority,
                    "evidence": [
                        {"kind": "page", "ref": one.page_id, "start": one.start, "end": one.end}
                        for one in body.evidence
                    ],
                }
                if (card := cards.get(row.page_id)) is not None:
                    line["card"] = self._card(card)
                self._count.claims += 1
            else:
                line["evidence"] = [{"kind": "page", "ref": one} for one in body.provenance]
            yield _Piece(line)

    def _card(self, card: Card) -> dict[str, Any]:
        """A card as `cards --json` prints it, without what confirms it in this memory only."""
        told: dict[str, Any] = _each(card.to_dict(), self._clean)
        del told["digest"]
        return told

    def _claims(self, session: SessionRow) -> Mapping[PageId, ClaimInfo]:
        state, _ = restore(self._runtime, session)
        procedures = Procedures(self._runtime, session.session)
        labels = Labels(self._runtime, session.session)
        claims = Claims(self._runtime, session.session, procedures, labels)
        return {one.claim_id: one for one in claims.told(state)}

    def _clean(self, text: str) -> str:
        return self._runtime.journal.clean(text)

    def _bytes(self, blob: str) -> bytes | None:
        with suppress(KeyError, StoreCorrupt):
            return self._runtime.blobs.get(blob)
        return None


def _each(told: Any, clean: Callable[[str], str]) -> Any:
    """The same data, with every text in it redacted."""
    match told:
        case str():
            return clean(told)
        case dict():
            return {name: _each(value, clean) for name, value in told.items()}
        case list() | tuple():
            return [_each(value, clean) for value in told]
        case _:
            return told


# --- targets --------------------------------------------------------------------------------------


_Data = Callable[[str], bytes | None]
"""The bytes of a blob, if it is there."""


class _Sink:
    """Takes one session after the other, and drops each when it is written."""

    def session(self, line: dict[str, Any], pieces: Iterator[_Piece]) -> None:
        for _ in pieces:
            pass


@contextmanager
def _nowhere() -> Iterator[_Sink]:
    yield _Sink()


@dataclass(slots=True)
class _Lines(_Sink):
    file: IO[str]

    def session(self, line: dict[str, Any], pieces: Iterator[_Piece]) -> None:
        for piece in pieces:
            self.file.write(json.dumps(piece.line, ensure_ascii=False) + "\n")


@contextmanager
def _lines(beside: Path, data: _Data) -> Iterator[_Sink]:
    with beside.open("x", encoding="utf-8", newline="\n") as file:
        yield _Lines(file)
        _synced(file)


@dataclass(slots=True)
class _Snapshot(_Sink):
    """The lines go to the archive as they are made; the bytes, which cannot be written meanwhile,
    follow at the end.
    """

    lines: _Lines
    sessions: list[dict[str, Any]] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)  # by the name of each member

    def session(self, line: dict[str, Any], pieces: Iterator[_Piece]) -> None:
        self.sessions.append(line)
        self.lines.session(line, self._noted(pieces))

    def _noted(self, pieces: Iterator[_Piece]) -> Iterator[_Piece]:
        for piece in pieces:
            if piece.blob:
                self.blobs[piece.line["artifacts"][0]["ref"]] = piece.blob
            yield piece


@contextmanager
def _snapshot(beside: Path, data: _Data) -> Iterator[_Sink]:
    with beside.open("xb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(exported.EVENTS_NAME, "w", force_zip64=True) as member:
                text = io.TextIOWrapper(member, encoding="utf-8", newline="\n")
                sink = _Snapshot(_Lines(text))
                yield sink
                text.flush()
            told = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in sink.sessions)
            archive.writestr("sessions.jsonl", told)
            for name, blob in sink.blobs.items():
                if (found := data(blob)) is not None:
                    archive.writestr(f"artifacts/{name}", found)
        _synced(file)


@dataclass(slots=True)
class _Documents(_Sink):
    folder: Path
    data: _Data
    listed: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def session(self, line: dict[str, Any], pieces: Iterator[_Piece]) -> None:
        name = exported.document_name(line["name"], line["session_id"])
        self.listed.append((name, line))
        with (self.folder / name).open("x", encoding="utf-8", newline="\n") as file:
            file.write(exported.document_head(line))
            for piece in pieces:
                file.write(exported.document_part(piece.line))
                if piece.blob and (found := self.data(piece.blob)) is not None:
                    place = self.folder / "artifacts" / piece.line["artifacts"][0]["ref"]
                    place.parent.mkdir(exist_ok=True)
                    place.write_bytes(found)
            _synced(file)


@contextmanager
def _documents(beside: Path, data: _Data) -> Iterator[_Sink]:
    beside.mkdir()
    sink = _Documents(beside, data)
    yield sink
    (beside / exported.CONTENTS_NAME).write_text(
        exported.contents(sink.listed), encoding="utf-8", newline="\n"
    )


_SINKS: Final[Mapping[ExportForm, Callable[[Path, _Data], AbstractContextManager[_Sink]]]] = {
    ExportForm.EVENTS: _lines,
    ExportForm.SNAPSHOT: _snapshot,
    ExportForm.MARKDOWN: _documents,
}


def check_target(target: Path, root: Path | None) -> Path:
    """The path of an export. Raises `BadInput` if it is taken, or within the memory."""
    if os.path.lexists(target):
        raise BadInput(f"{target} already exists", hint="choose a name that does not exist yet")
    parent = Path(os.path.realpath(target.parent))
    if not parent.is_dir():
        raise BadInput(f"{target.parent} is not a folder", hint="create it first")
    if root is not None and parent.is_relative_to(os.path.realpath(root)):
        raise BadInput(
            f"{target} is inside the memory",
            hint="write exports elsewhere: nothing in the memory would clean them up",
        )
    return parent / target.name


@contextmanager
def _made(target: Path) -> Iterator[Path]:
    """A path in a private folder beside the target, renamed to it on success."""
    beside = target.with_name(f"{target.name}.partial")
    made = beside / target.name
    try:
        shutil.rmtree(beside, ignore_errors=True)  # left by an export that was interrupted
        beside.mkdir(mode=0o700)
        yield made
        made.chmod(0o700 if made.is_dir() else 0o600)
        os.rename(made, target)
    except OSError as failure:
        raise StoreError(
            f"{target} could not be written: {failure.strerror or failure}",
            hint="make room there, or choose another place",
        ) from failure
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def _synced(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())
