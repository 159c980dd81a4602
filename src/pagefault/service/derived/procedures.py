"""Procedures of a session: pages that say how something is done, found when relevant.

They are written in the same append as the turn that states them. A later one for the same purpose
replaces the earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.events import Draft
from pagefault.model.ids import PageId, SessionNo
from pagefault.model.kinds import PAGE_PREFIX, EventType, Kind
from pagefault.model.page import Derived, Page
from pagefault.service.derived.asof import NEVER, AsOf, as_of
from pagefault.service.runtime import Runtime
from pagefault.service.window.derived_drafts import Made, write_derived
from pagefault.service.window.state import SessionState
from pagefault.store.api import PageFilter
from pagefault.truth.claim import Utterance
from pagefault.truth.subjects import subject_key

PROCEDURE: Final = PAGE_PREFIX["procedure"]
RECALLED: Final = 2  # procedures that a turn recalls at most
IMPORTANCE: Final = 0.8
_ALL: Final = 2**31


class Procedures:
    def __init__(self, runtime: Runtime, session: SessionNo) -> None:
        self._runtime = runtime
        self._session = session
        self._standing: list[Page] = []
        self._as_of: AsOf = NEVER  # when these were read

    def drafts(
        self, turn: Utterance, cause: Draft, state: SessionState, before: Sequence[Draft]
    ) -> list[Draft]:
        """Drafts of the procedures that a turn states; existing ones are not written again."""
        from pagefault.truth.procedures import procedures

        found = procedures(turn)
        if not found:
            return []
        standing = {_key(page): page for page in self.standing(state)}
        made: list[Made] = []
        for told in found:
            old = standing.get(subject_key(told.subject))
            if old is not None and old.text == told.text:
                continue
            made.append(
                Made(
                    event_type=EventType.PROCEDURE,
                    text=told.text,
                    origin=turn.origin,
                    importance=IMPORTANCE,
                    derived=Derived(
                        provenance=(turn.page_id,),
                        evidence=told.evidence,
                        supersedes=old.page_id if old else PageId(""),
                        subject=told.subject,
                    ),
                )
            )
        return write_derived(
            made,
            session=self._session,
            state=state,
            clean=self._runtime.journal.clean,
            turn=cause.turn,
            before=before,
        )

    def is_current(self, state: SessionState) -> bool:
        """Whether the current ones are cached, so that nothing waits for the store."""
        return self._as_of == as_of(state, PROCEDURE, self._runtime.journal.forgets)

    def standing(self, state: SessionState) -> list[Page]:
        """The procedures that hold now, oldest first. Reads the store if it must."""
        now = as_of(state, PROCEDURE, self._runtime.journal.forgets)
        if now != self._as_of:
            held: dict[str, Page] = {}
            scope = self._runtime.scope(self._session).derived
            wanted = PageFilter(kinds=(Kind.PROCEDURE,))
            for row in self._runtime.index.pages(scope, wanted, limit=_ALL):
                with suppress(RecordGone, ArchiveMissing):
                    if self._runtime.quarantine.is_withdrawn(row):
                        continue
                    page = self._runtime.pages.read(row)
                    held.pop(_key(page), None)
                    held[_key(page)] = page
            self._standing, self._as_of = list(held.values()), now
        return self._standing

    def bearing(self, message: str, state: SessionState) -> list[Page]:
        """The procedures whose purpose a message names, latest first."""
        if PROCEDURE not in state.numbers:  # nearly always
            return []
        from pagefault.truth.procedures import bears_on

        found = [
            page
            for page in reversed(self.standing(state))
            if page.derived is not None and bears_on(page.derived.subject, message)
        ]
        return found[:RECALLED]


def _key(page: Page) -> str:
    return subject_key(page.derived.subject) if page.derived is not None else ""
