"""Claims of the same user's other sessions, by id and without their words.

A session sees words of other sessions only through regions (`regions.py`). So a claim names claims
of other sessions by session and id, and whether these still hold is read each time it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.page import ClaimRef, Evidence, Scope, SessionRow
from pagefault.model.times import iso_utc
from pagefault.service.derived.claim_book import book_of, claim_pages
from pagefault.service.runtime import Runtime
from pagefault.truth.claims import ClaimBook
from pagefault.truth.held import Status

SESSIONS_READ: Final = 8  # of the user's others, the last used


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimElsewhere:
    """A claim of another session of the same user: one that said the same when this one was made,
    or that was made later and says the same.

    `claim_id` and `status` are those of its current version, as in `ClaimInfo`; "forgotten" if
    there is none any more. `closed_at` is when it was superseded or retracted (ISO 8601, UTC).
    `evidence` has spans of that session's pages, without their words.
    """

    session_id: str
    claim_id: PageId
    status: str
    evidence: tuple[Evidence, ...] = ()
    closed_at: str = ""


def sessions_of_user(runtime: Runtime, own: Scope) -> Iterator[SessionRow]:
    """The other sessions of a session's user, the last used first; none if it has no user."""
    user = runtime.regions.who(own).user
    family = {session for session, _ in own.parts}
    for row in runtime.index.sessions() if user else ():
        if (
            row.session not in family
            and not runtime.regions.is_region(row)
            and runtime.regions.who(runtime.scope(row.session)).user == user
        ):
            yield row


class Elsewhere:
    """Reads claims of the user's other sessions. Blocks on the store; reads each session once."""

    def __init__(self, runtime: Runtime, own: Scope) -> None:
        self._runtime = runtime
        self._own = own
        self._rows: dict[str, SessionRow] | None = None
        self._books: dict[str, ClaimBook] = {}

    def read(self, refs: Iterable[ClaimRef]) -> tuple[ClaimElsewhere, ...]:
        """What became of these claims. Those of sessions that are another user's by now are left
        out.
        """
        read = map(self._read, dict.fromkeys(refs))
        return tuple(dict.fromkeys(one for one in read if one is not None))

    @cached_property
    def later(self) -> dict[PageId, list[ClaimRef]]:
        """The claims of the user's other sessions that name one of this session, by that one, in
        the version that they name.
        """
        runtime, found = self._runtime, defaultdict[PageId, list[ClaimRef]](list)
        rows = [runtime.index.session(session) for session, _ in self._own.parts]
        own = {row.session_id for row in rows if row is not None}
        for row in islice(sessions_of_user(runtime, self._own), SESSIONS_READ):
            for page in claim_pages(runtime, row.session):
                for one in page.derived.elsewhere if page.derived else ():
                    if one.session_id in own:
                        later = ClaimRef(session_id=row.session_id, claim_id=page.page_id)
                        found[one.claim_id].append(later)
        return found

    def _read(self, ref: ClaimRef) -> ClaimElsewhere | None:
        runtime, session_id = self._runtime, ref.session_id
        if self._rows is None:
            self._rows = {row.session_id: row for row in sessions_of_user(runtime, self._own)}
        gone = ClaimElsewhere(session_id=session_id, claim_id=ref.claim_id, status="forgotten")
        row = self._rows.get(session_id)
        if row is None:
            return gone if runtime.index.find_session(session_id) is None else None
        if session_id not in self._books:
            self._books[session_id] = book_of(runtime, row.session)
        book = self._books[session_id]
        held = book.find(book.now(ref.claim_id))
        if held is None:
            return gone
        lapse = book.lapses(runtime.clock.now_ms()).get(held.claim_id)
        status = lapse.status if held.status is Status.STANDING and lapse else held.status
        evidence: tuple[Evidence, ...] = ()
        page = runtime.index.find_page(runtime.scope(row.session).derived, held.claim_id)
        with suppress(RecordGone, ArchiveMissing):
            derived = None if page is None else runtime.pages.read(page).derived
            evidence = () if derived is None else derived.evidence
        closer = book.find(held.closed_by)
        return ClaimElsewhere(
            session_id=session_id,
            claim_id=held.claim_id,
            status=str(status),
            evidence=evidence,
            closed_at=iso_utc(closer.made_ms) if closer else "",
        )
