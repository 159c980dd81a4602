"""A state machine for indexes: `SqliteIndex` and the dicts of `MemoryIndex` must never differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pagefault.model.events import Event, PageBody, SessionOpened, erased
from pagefault.model.ids import FOREVER, Seq, SessionNo
from pagefault.model.kinds import Kind
from pagefault.model.page import EVERYTHING, Scope
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.service.regions import joined
from pagefault.store.api import PageFilter
from pagefault.store.embedded.connections import MEMORY
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.testing.index_contract import TEXTS, told
from pagefault.testing.records import Records

CHANCE = st.integers(0, 2**16)
QUERY = ["plan", "databas", "cafe", "the", "da*"]


FILTERS: Final = (
    ANY,
    SearchFilter(kinds=(Kind.ARTIFACT,)),
    SearchFilter(since="2024-03-01", until="2024-06-01"),
)


class IndexMachine(RuleBasedStateMachine):
    """Opens, forks, extends and forgets sessions; now and then rebuilds the index."""

    @initialize()
    def begin(self) -> None:
        self.records = Records()
        self.real = SqliteIndex.create(MEMORY, root_id="machine")
        self.model = MemoryIndex()
        self.scopes: dict[int, Scope] = {}
        self.orders: dict[int, int] = {}
        self.pending: list[Event] = []

    @rule()
    def open(self) -> None:
        event = self.records.open("name")
        self._opened(event, (), order=0)

    @precondition(lambda self: self.scopes)
    @rule(chance=CHANCE)
    def fork(self, chance: int) -> None:
        self._apply()
        parent = self._one(chance)
        row = self.model.session(SessionNo(parent))
        if row is None:
            return
        seen = [s for s in self.model.events(SessionNo(parent)) if s >= parent]
        upto = seen[chance % len(seen)]
        event = self.records.open("fork", parent=parent, parent_seq=upto)
        above = tuple((s, min(u, upto)) for s, u in self.scopes[parent].parts)
        self._opened(event, above, order=0)
        self._apply()
        opened = self.model.session(SessionNo(event.seq))
        assert opened is not None
        self.orders[event.seq] = opened.pages

    @precondition(lambda self: self.scopes)
    @rule(chance=CHANCE, text=TEXTS, key=st.sampled_from(["", "", "k1", "k2"]))
    def say(self, chance: int, text: str, key: str) -> None:
        session = self._one(chance)
        order = self.orders[session]
        self.orders[session] += 1
        kind = Kind.ARTIFACT if chance % 5 == 0 else Kind.TRANSCRIPT
        occurred_at = f"2024-0{chance % 9 + 1}-01" if chance % 3 else ""
        self.pending.append(
            self.records.say(
                *(session, text),
                order=order,
                turn=order // 2,
                kind=kind,
                key=key,
                occurred_at=occurred_at,
            )
        )

    @precondition(lambda self: self.scopes)
    @rule(chance=CHANCE, text=TEXTS)
    def derive(self, chance: int, text: str) -> None:
        self._apply()
        session = self._one(chance)
        number = self.model.prefix_counts(self.scopes[session]).get("clm", 0) + 1
        self.pending.append(self.records.derive(session, text, number=number))

    @rule()
    def apply(self) -> None:
        self._apply()

    @rule()
    def tidy(self) -> None:
        while self.real.tidy():
            pass
        assert not self.model.tidy()

    @precondition(lambda self: self.scopes)
    @rule(chance=CHANCE)
    def forget_a_page(self, chance: int) -> None:
        self._apply()
        pages = [e for e in self.records.events if isinstance(e.body, PageBody)]
        if pages:
            self._forget([pages[chance % len(pages)].seq], [])

    @precondition(lambda self: len(self.scopes) > 1)
    @rule(chance=CHANCE)
    def forget_a_session(self, chance: int) -> None:
        self._apply()
        session = SessionNo(self._one(chance))
        seqs = [event.seq for event in self.records.events if event.session == session]
        self._forget(seqs, [session])
        del self.scopes[session]

    @rule()
    def rebuild(self) -> None:
        """Rebuild both from the current log: numbers once taken may by now be only in receipts."""
        self._apply()
        self.real.close()
        self.real = SqliteIndex.create(MEMORY, root_id="machine")
        self.model = MemoryIndex()
        self.real.apply(self.records.events)
        self.model.apply(self.records.events)

    @invariant()
    def agrees(self) -> None:
        assert self.real.applied_seq() == self.model.applied_seq()
        assert self.real.sessions() == self.model.sessions()
        assert self.real.session_names("") == self.model.session_names("")
        for session, scope in self.scopes.items():
            assert told(self.real.candidates(scope, QUERY, limit=5)) == told(
                self.model.candidates(scope, QUERY, limit=5)
            )
            assert told(self.real.candidates(scope, QUERY, limit=5, count_max=1)) == told(
                self.model.candidates(scope, QUERY, limit=5, count_max=1)
            )
            for wanted in FILTERS:
                ours, theirs = (one.matching(scope, wanted) for one in (self.real, self.model))
                assert ours.places.tolist() == theirs.places.tolist()
                assert ours.said_ms.tolist() == theirs.said_ms.tolist()
            for newest_first in (False, True):
                assert self.real.pages(
                    scope, PageFilter(kinds=(Kind.TRANSCRIPT,)), limit=7, newest_first=newest_first
                ) == self.model.pages(
                    scope, PageFilter(kinds=(Kind.TRANSCRIPT,)), limit=7, newest_first=newest_first
                )
            assert told(self.real.candidates(scope.derived, QUERY, limit=5)) == told(
                self.model.candidates(scope.derived, QUERY, limit=5)
            )
            claims = self.model.pages(scope.derived, PageFilter(), limit=9)
            assert self.real.pages(scope.derived, PageFilter(), limit=9) == claims
            for row in claims:
                found = self.model.find_page(scope, row.page_id)
                assert self.real.find_page(scope, row.page_id) == found
            assert self.real.prefix_counts(scope) == self.model.prefix_counts(scope)
            number = SessionNo(session)
            assert self.real.events(number) == self.model.events(number)
            assert self.real.events(number, turns=(1,)) == self.model.events(number, turns=(1,))
            assert self.real.find_key(number, "k1") == self.model.find_key(number, "k1")
        some = joined(Scope(()), list(self.scopes.values())[::2])
        for scope in (EVERYTHING, replace(some, is_several=True)):
            assert told(self.real.candidates(scope, QUERY, limit=2)) == told(
                self.model.candidates(scope, QUERY, limit=2)
            )
            ours, theirs = (one.matching(scope, ANY) for one in (self.real, self.model))
            assert ours.places.tolist() == theirs.places.tolist()
            assert self.real.history(scope) == self.model.history(scope)
        assert self.real.check() == []
        assert self.model.check() == []

    def teardown(self) -> None:
        if hasattr(self, "real"):
            self.real.close()

    def _one(self, chance: int) -> int:
        return sorted(self.scopes)[chance % len(self.scopes)]

    def _opened(self, event: Event, above: tuple[tuple[SessionNo, Seq], ...], order: int) -> None:
        assert isinstance(event.body, SessionOpened)
        self.pending.append(event)
        self.scopes[event.seq] = Scope(((SessionNo(event.seq), FOREVER), *above))
        self.orders[event.seq] = order

    def _apply(self) -> None:
        self.real.apply(self.pending)
        self.model.apply(self.pending)
        self.pending = []

    def _forget(self, seqs: list[Seq], sessions: list[SessionNo]) -> None:
        self.real.forget(seqs, sessions)
        self.model.forget(seqs, sessions)
        for position, event in enumerate(self.records.events):
            if event.seq in seqs:
                self.records.events[position] = erased(event)
