"""The claims that a session can see, read from its records. Blocks on the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import ClaimRuled, Event, FormationEnded
from pagefault.model.ids import SessionNo
from pagefault.model.kinds import GOAL_SUBJECT, Kind, RulingKind
from pagefault.model.page import Page
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.claim_pages import held_as_written
from pagefault.store.api import PageFilter
from pagefault.truth.claims import ClaimBook
from pagefault.truth.lapses import Ruled

_ALL: Final = 2**31


def book_of(runtime: Runtime, session: SessionNo) -> ClaimBook:
    """The fold of every claim that a session can see. Reads the store."""
    book = ClaimBook()
    for page in claim_pages(runtime, session):
        if not runtime.quarantine.is_withdrawn(page.row):
            book.fold(held_as_written(page, is_adopted=runtime.is_adopted))
    for ruled in rulings_of(runtime, session):
        book.rule(ruled)
    return book


def rulings_of(runtime: Runtime, session: SessionNo) -> Iterator[Ruled]:
    """Every ruling on claims that a session can see, oldest first."""
    scope = runtime.scope(session)
    for event in records(runtime, scope, types=("claim_ruled", "formation_ended")):
        for body in _rulings(event):
            yield Ruled(event.seq, event.at_ms, body)


def claim_pages(runtime: Runtime, session: SessionNo) -> list[Page]:
    """Every claim of a session that can be read, oldest first."""
    scope = runtime.scope(session).derived
    pages: list[Page] = []
    for row in runtime.index.pages(scope, PageFilter(kinds=(Kind.CLAIM,)), limit=_ALL):
        with suppress(RecordGone, ArchiveMissing):
            page = runtime.pages.read(row)
            if page.derived is not None and page.derived.subject != GOAL_SUBJECT:
                pages.append(page)
    return pages


def _rulings(event: Event) -> Iterable[ClaimRuled]:
    """The rulings on claims in a record; for a formed range, its conflicts."""
    match event.body:
        case ClaimRuled() as body:
            return [body]
        case FormationEnded(conflicts=conflicts):
            what = RulingKind.CONTRADICTED
            here = [one for one in conflicts if not one.session_id]
            return [ClaimRuled(claim_id=c.page_id, what=what, other=c.stands) for c in here]
        case _:
            return []
