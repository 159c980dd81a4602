"""Reports of imports and exports, and the imported sessions, which have a reserved name prefix."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pagefault.history.values import Flaw
from pagefault.model.errors import ArchiveMissing, StoreCorrupt
from pagefault.model.events import Imported
from pagefault.model.ids import NOTHING, SessionNo
from pagefault.model.page import EVERYTHING, Scope, SessionRow
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.service.runtime import Runtime
from pagefault.store.api import PageFilter
from pagefault.store.place import place_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IMPORT_PREFIX: Final = "import:"


def project_id(runtime: Runtime) -> str:
    """This memory's id in its exports, by which an import recognises its own."""
    return f"pagefault:{runtime.keyed('project id')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCount:
    """What an import found of one source: `messages` and `sessions` are new, `known` messages exist
    already. Times are ISO 8601, "" if unknown.
    """

    source: str
    files: int = 0
    conversations: int = 0
    sessions: int = 0
    messages: int = 0
    known: int = 0
    attachments: int = 0
    first_at: str = ""
    last_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import would write (`dry_run`), or wrote: then `done`, and `run` names it.

    `secrets` counts apparent secrets by name: a mark takes the place of each. `flaws` lists what
    could not be read, or not all of it (`kept`); `flaws_left_out` more are not listed. `ignored`
    files belong to no known program; `ignored_places` are the first twenty.
    """

    done: bool
    run: str = ""
    sources: tuple[SourceCount, ...] = ()
    secrets: Mapping[str, int] = field(default_factory=dict)
    secret_places: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    flaws_left_out: int = 0
    ignored: int = 0
    ignored_places: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        return sum(one.messages for one in self.sources)

    @property
    def sessions(self) -> int:
        return sum(one.sessions for one in self.sources)

    @property
    def known(self) -> int:
        return sum(one.known for one in self.sources)

    @property
    def first_at(self) -> str:
        return min((one.first_at for one in self.sources if one.first_at), default="")

    @property
    def last_at(self) -> str:
        return max((one.last_at for one in self.sources), default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """An imported session, by one or several runs: `runs` names them, the latest last.

    `is_approved` means that the runtime may recall all that is in it now; `pages` are its own.
    """

    session_id: str
    name: str
    source: str
    runs: tuple[str, ...]
    imported_at: str
    title: str = ""
    project: str = ""
    conversation: str = ""
    pages: int = 0
    is_approved: bool = False


class ExportForm(StrEnum):
    EVENTS = "events"
    SNAPSHOT = "snapshot"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The contents of an export, or with `dry_run` what it would have (`done` is false). `away`
    texts are left out, because their segments are damaged, or in an archive that is away;
    `redacted` ones hold what counts as a secret now, and did not when they were written.
    """

    done: bool
    path: str
    form: str
    sessions: int
    messages: int
    claims: int
    artifacts: int
    bytes: int
    redacted: int = 0
    away: int = 0


def is_from(name: str, source: str) -> bool:
    """Whether a session of this name was imported from a source: "claude" includes Claude Code."""
    kind = name.removeprefix(IMPORT_PREFIX) if name.startswith(IMPORT_PREFIX) else ""
    return bool(kind) and kind.partition(":")[0].startswith(source)


def told_of(runtime: Runtime, session: SessionNo) -> list[Imported]:
    """The import records of a session, oldest first. Blocks."""
    found = []
    for seq in runtime.index.events(session, types=("imported",)):
        with suppress(StoreCorrupt, ArchiveMissing):
            body = runtime.log.get(seq).body
            if isinstance(body, Imported):
                found.append(body)
    return found


def imported_sessions(runtime: Runtime, source: str = "") -> list[ImportedSession]:
    """Every imported session, the latest first. Blocks on the store."""
    rows = [row for row in runtime.index.sessions() if is_from(row.name, source)]
    return [one for row in rows if (one := _imported(runtime, row)) is not None]


def _imported(runtime: Runtime, row: SessionRow) -> ImportedSession | None:
    told = told_of(runtime, row.session)
    if not told:
        return None  # its first batch was never written
    last = told[-1]
    own = Scope.whole(row.session)
    oldest = runtime.index.pages(own, PageFilter(), limit=1)
    newest = runtime.index.pages(own, PageFilter(), limit=1, newest_first=True)
    return ImportedSession(
        session_id=row.session_id,
        name=row.name,
        source=last.source_system,
        runs=tuple(dict.fromkeys(one.run for one in told)),
        imported_at=last.imported_at,
        title=last.title,
        project=last.project,
        conversation=last.conversation,
        pages=row.pages - oldest[0].order if oldest else 0,
        is_approved=runtime.quarantine.approved(row.session) > NOTHING
        and not any(map(runtime.quarantine.holds, newest)),
    )


def sessions_from(runtime: Runtime, source: str) -> frozenset[SessionNo]:
    """The sessions that were imported from a source. Blocks on the store."""
    rows = runtime.index.sessions()
    return frozenset(row.session for row in rows if is_from(row.name, source))


def places_from(runtime: Runtime, source: str, wanted: SearchFilter = ANY) -> NDArray[np.int64]:
    """The places, in all sessions, of pages imported from a source that pass the filter, ascending.
    Blocks on the store.
    """
    import numpy as np

    from pagefault.store.likely import among

    rows = sorted(
        (row for row in runtime.index.sessions() if is_from(row.name, source)),
        key=lambda row: row.session,
    )
    begins = np.array([place_of(row.session, 0) for row in rows], dtype=np.int64)
    counts = np.array([row.pages for row in rows], dtype=np.int64)
    before = np.cumsum(counts) - counts
    places: NDArray[np.int64] = np.repeat(begins - before, counts) + np.arange(counts.sum())
    if wanted.is_some:
        found = runtime.index.matching(EVERYTHING, wanted).places
        places = found[among(found, places)]
    return places
