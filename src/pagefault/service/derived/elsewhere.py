"""Claims of the same user's other sessions, by id and without their words.

A session sees words of other sessions only through regions (`regions.py`). So a claim names claims
of other sessions by session and id, and whether these still hold is read each time it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.page import ClaimRef, Evidence, Scope, SessionRow
from pagefault.service.derived.claim_book import book_of
from pagefault.service.runtime import Runtime
from pagefault.truth.claims import ClaimBook
from pagefault.truth.held import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimElsewhere:
    """A claim of another session of the same user that said the same when this one was made.

    `claim_id` and `status` are those of its current version, as in `ClaimInfo`; "forgotten" if
    there is none any more. `evidence` has spans of that session's pages, without their words.
    """

    session_id: str
    claim_id: PageId
    status: str
    evidence: tuple[Evidence, ...] = ()


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
        return tuple(filter(None, map(self._read, dict.fromkeys(refs))))

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
        return ClaimElsewhere(
            session_id=session_id, claim_id=held.claim_id, status=str(status), evidence=evidence
        )
