"""The labels of pages: the least trusted origin of everything that went into each.

A record's origin is the channel that its text came through. The *label* is the least trusted of
that and of the sources that `flow.py` finds: so an answer written with a web page in the window has
the web's label, whatever it says. None of this is stored. It is a fold of a session's records, made
when first asked for, and so works for old logs.
"""

from __future__ import annotations

from contextlib import suppress
from heapq import merge
from threading import Lock
from typing import Final

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Claimed, Event, PageBody
from pagefault.model.ids import NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import MODEL_GENERATED, USER_APPROVED, Origin, Role
from pagefault.model.page import Derived, Page, Scope
from pagefault.model.trust import is_untrusted, least_trusted
from pagefault.service.derived.flow import Flow
from pagefault.service.restore import records
from pagefault.service.runtime import Runtime
from pagefault.service.window.content import page_of
from pagefault.service.window.state import SessionState

_NEVER: Final = (NOTHING, -1)


class Labels:
    """The labels of one session's pages. Blocks on the store; thread-safe."""

    def __init__(self, runtime: Runtime, session: SessionNo) -> None:
        self._runtime = runtime
        self._session = session
        self._flow = Flow(self._rule, least_trusted)
        self._as_of: tuple[Seq, int] = _NEVER  # the last ruling, and forgets
        self._folded = NOTHING
        self._folding = Lock()

    def label(self, page: Page) -> Origin:
        """The label of a page. Raises `ArchiveMissing` if earlier records cannot be read: then it
        is unknown.
        """
        ruled = self._runtime.quarantine.label(page)
        is_users = page.derived is None and page.row.role is Role.USER
        is_users = is_users or bool(page.derived and page.derived.digest)  # approved as it is
        if is_untrusted(ruled) or ruled != page.row.origin or is_users:
            return ruled  # it is the least, a person ruled so, or nothing went into it
        with self._folding:
            marks = self._known().marks
        derived = page.derived or Derived()
        made_of = (page.page_id, derived.represents, *derived.provenance)  # it may not be written
        return least_trusted([ruled, *(marks[one] for one in made_of if one in marks)])

    def before_the_model(self) -> Origin | None:
        """The least trusted label in the current window; None if all of it is trusted. Raises
        `ArchiveMissing` likewise.
        """
        with self._folding:
            return self._known().before_the_model

    def written_now(self, channel: Origin) -> Origin:
        """The label of text written through this channel now: a model's has the label of its
        window. Raises `ArchiveMissing` likewise.
        """
        before = self.before_the_model() if channel == MODEL_GENERATED else None
        return channel if before is None else least_trusted([channel, before])

    def is_current(self, state: SessionState) -> bool:
        """Whether the labels of the last request's pages are cached, so that no log must be
        read.
        """
        rulings = self._runtime.quarantine.read_on(), self._runtime.journal.forgets
        return self._as_of == rulings and self._folded >= state.reply_cause

    def _known(self) -> Flow[Origin]:
        now = self._runtime.quarantine.read_on(), self._runtime.journal.forgets
        if now != self._as_of:
            self._flow, self._folded = Flow(self._rule, least_trusted), NOTHING
            self._as_of = now
        scope = self._runtime.scope(self._session)
        said = records(self._runtime, scope, after=self._folded, to_look=False)
        shared = shared_with(self._runtime, self._session, after=self._folded)
        for event in merge(said, shared, self._erased(scope), key=lambda one: one.seq):
            self._flow.fold(event)
            self._folded = event.seq
        return self._flow

    def _erased(self, scope: Scope) -> list[Event]:
        """Forgotten texts that were in the model's window all the same."""
        return [
            event
            for session, upto in reversed(scope.parts)
            for event in self._runtime.receipts.erased(session)
            if self._folded < event.seq <= upto
        ]

    def _rule(self, event: Event, body: PageBody | None, inherited: Origin | None) -> Origin | None:
        quarantine = self._runtime.quarantine
        ruled = event.origin if body is None else quarantine.label(page_of(event, body))
        is_confirmed = isinstance(body, Claimed) and body.digest
        if ruled == USER_APPROVED and (is_confirmed or event.origin != USER_APPROVED):
            return None  # a person approved this very text
        label = ruled if inherited is None else least_trusted([ruled, inherited])
        return label if is_untrusted(label) else None


def closure(runtime: Runtime, session: SessionNo, seeds: frozenset[Seq]) -> dict[PageId, Seq]:
    """The pages that a session sees of these records, and all that was derived from them or written
    under them: their ids there, and their records.
    """
    flow = Flow[bool](lambda event, _, inherited: inherited or event.seq in seeds or None, any)
    said = records(runtime, runtime.scope(session))
    for event in merge(said, shared_with(runtime, session), key=lambda one: one.seq):
        flow.fold(event)
    return flow.seqs


def shared_with(runtime: Runtime, session: SessionNo, *, after: Seq = NOTHING) -> list[Event]:
    """The pages of regions that a session may have seen, in log order."""
    own = {part for part, _ in runtime.scope(session).parts}
    seqs = {
        seq
        for part, upto in runtime.could_see(session).parts
        if part not in own
        for seq in runtime.index.events(part, types=("shared",), after=after)
        if seq <= upto
    }
    found = []
    for seq in sorted(seqs):
        with suppress(StoreCorrupt):
            found.append(runtime.log.get(seq))
    return found
