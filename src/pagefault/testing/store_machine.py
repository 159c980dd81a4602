"""A state machine for a whole store under faults: log, index, blobs, forgetting. The model is a
list.

Run it with `hypothesis.stateful.run_state_machine_as_test(StoreMachine)`. Each step may meet a
fate: at the n-th change on the disk the process is killed, the power fails, or a call fails, once
or until healed. After each step everything acknowledged is there, the index answers like the model,
`verify` finds nothing, and no file has a forgotten text.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pagefault.model.errors import StoreCorrupt, StoreError, StoreReadOnly
from pagefault.model.events import Draft, ForgetBegun, PageBody, Said, SessionOpened, Taken
from pagefault.model.ids import FOREVER, PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import RUNTIME, USER_TYPED, Actor, EventType, Mode, Role
from pagefault.model.page import Scope
from pagefault.store.api import PageFilter, PageIndex
from pagefault.store.embedded.root import rebuild
from pagefault.store.store import Store
from pagefault.testing.index_contract import told
from pagefault.testing.sim_disk import FILLING, INDEX, LOG, Death, Died, Fault, Syscall
from pagefault.testing.store_life import StoreLife, close_whole
from pagefault.testing.store_model import Forgetting, StoreModel

T = TypeVar("T")

# --- what may happen --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fate:
    """The faults during one step."""

    death: Death | None = None
    after: int = 0  # changes on the disk that still succeed
    fault: Fault | None = None
    short_writes: float = 0.0

    @property
    def is_calm(self) -> bool:
        return self.death is None and self.fault is None


CALM: Final = Fate()
DEATHS: Final = st.builds(
    Fate, death=st.sampled_from(Death), after=st.integers(0, 12) | st.integers(0, 60)
)
FAULTS: Final = st.builds(
    Fate,
    fault=st.builds(
        Fault,
        st.sampled_from(
            [LOG, INDEX, FILLING, {Syscall.SYNC}, {Syscall.INDEX_READ}, {Syscall.SYNC_DIRECTORY}]
        ).map(frozenset),
        st.sampled_from([errno.EIO, errno.ENOSPC]),
        st.integers(1, 15),
        st.booleans(),
    ),
)
SHORT: Final = st.builds(Fate, short_writes=st.sampled_from([0.5, 1.0]))
FATES: Final = st.just(CALM) | st.just(CALM) | SHORT | DEATHS | DEATHS | FAULTS

# --- what is said -----------------------------------------------------------------------------

THEMES: Final = {
    "empty": "",
    "plan": "we chose postgres after the outage in march",
    "outage": "the outage was long, and the plan was slow",
    "cjk": "数据库选型已经决定了 東京タワー",
    "emoji": "👩‍👩‍👧‍👦 family 🇩🇪 é́ \u202egnirts\u200b",
    "forged": '"}\n{"v":"1.0","seq":1,"id":"x"}\n{"seal":1',
    "control": ',"crc":"00000000"}\n\x00\x1f\x7f\u2028\r',
    "code": "def f(x):\n\treturn x\n" * 8,
    "long": "a long plan about the database, word for word. " * 60,
    "huge": "x" * 20_000,
}
"""Texts by name, so that failing examples are readable."""

TEXTS: Final = st.sampled_from(sorted(THEMES)) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=40
)
QUERY: Final = ["plan", "databas", "outag", "the", "ou*"]
CHANCE: Final = st.integers(0, 2**16)


@dataclass(frozen=True, slots=True)
class Saying:
    """One batch: its session, texts and key."""

    chance: int
    texts: Sequence[str]
    key: str


SAYINGS: Final = st.builds(
    Saying, CHANCE, st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from(["", "", "k1", "k2"])
)
_LETTERS: Final = "bcfhjkmpqrtvwxz"
"""No stemmer shortens a word of these letters, and few words share its beginning."""


class StoreMachine(RuleBasedStateMachine):
    """Segments are small, so that there are many."""

    segment_bytes: ClassVar[int] = 4_000
    sessions_max: ClassVar[int] = 5
    lying: ClassVar[bool] = False  # a disk that reports syncs without doing them: a control

    def __init__(self) -> None:
        super().__init__()
        self._made = False

    @initialize(seed=st.integers(0, 2**32 - 1))
    def begin(self, seed: int) -> None:
        self.life = StoreLife(seed, segment_bytes=self.segment_bytes, lying=self.lying)
        self._made = True
        self.model = StoreModel()
        self._words: dict[Seq, str] = {}
        self._said: dict[int, str] = {}  # by `id` of the draft's body: the word that identifies it
        self._older: dict[str, bytes] = {}  # earlier versions of index files
        self._opened(CALM)
        self._write(CALM, [[_opening("first", 0, Seq(0))]])

    def teardown(self) -> None:
        if self._made:
            self.life.end()

    @property
    def store(self) -> Store:
        assert self.life.store is not None
        return self.life.store

    # --- doing something, whatever happens on the way -----------------------------------------

    def _try(self, fate: Fate, verb: Callable[[], T]) -> T | None:
        """Call `verb`; returns its result or, unacknowledged, None once the store recovered."""
        disk = self.life.disk
        disk.short_writes = fate.short_writes
        if fate.fault is not None:
            disk.fail(fate.fault)
        if fate.death is not None:
            disk.die_after(fate.after, fate.death)
        try:
            told = verb()
        except (StoreError, Died) as failure:
            told, wrong = None, failure
            assert not fate.is_calm, f"it failed though nothing happened: {wrong!r}"
            del wrong, failure
            acknowledged = False
        else:
            acknowledged = True
        disk.heal()
        if disk.dead:
            self._bury_and_open()
            return None
        if not acknowledged:
            self._check_readable()
            if self.life.chance.random() < 0.5 and self._recovers():
                self._adopt(holes=False)
            else:
                self._opened(CALM)
            return None
        return told

    def _recovers(self) -> bool:
        """Whether an open store recovers by itself, as after a full disk."""
        store = self.life.store
        return store is not None and store.refusal is not None and self.life.run(store.recover)

    def _bury_and_open(self) -> None:
        self.life.bury()
        self._opened(CALM)

    def _opened(self, fate: Fate) -> None:
        """Close and reopen the store, as a process with this fate, then as a healthy one.

        `_try` calls this again if the first one fails.
        """
        self.life.close()
        if not fate.is_calm:
            self._try(fate, self._open_once)
            return
        store = self.life.open()
        if isinstance(store.refusal, StoreCorrupt) and self._has_holes():
            self._repair()
            holes = True
        else:
            holes = False
        self._adopt(holes=holes)

    def _adopt(self, *, holes: bool) -> None:
        """The store is correct, whether or not it has what was not acknowledged."""
        store = self.store
        assert store.refusal is None, f"it cannot be written: {store.refusal}"
        assert not store.unfinished, store.unfinished
        self.model.adopt(list(store.log.read()), holes=holes)
        assert not self.model.begun, "what was begun to be forgotten was not finished"
        self._learn_words()

    def _open_once(self) -> None:
        """Opening may fail, or give a read-only store; what it shows is correct."""
        if self.life.store is None:
            self.life.open()
        if not self.life.disk.dead:
            self.life.disk.heal()
            self._check_readable()
        self._opened(CALM)

    def _has_holes(self) -> bool:
        return any(name.startswith("memory/log/") for name in self.life.disk.medium.reordered)

    def _repair(self) -> None:
        """Repair a log whose unsynced append lost a block before one that survived."""
        log = self.store.log
        log.repair()  # type: ignore[attr-defined]
        self.life.close()
        for path in self.life.root.glob("index.db*"):
            path.unlink()
        self.life.open()

    def _check_readable(self) -> None:
        """A store that refuses writes still shows what it has."""
        store = self.life.store
        if store is not None and not isinstance(store.refusal, StoreCorrupt):
            self.model.check_records(list(store.log.read()))
            if store.refusal is not None:
                head = store.log.head()
                try:
                    store.append([_opening("refused", 0, Seq(0))])
                except type(store.refusal):
                    pass
                else:
                    raise AssertionError("a latched store took a record")
                assert store.log.head() == head

    # --- writing ------------------------------------------------------------------------------

    def _write(self, fate: Fate, group: Sequence[Sequence[Draft]]) -> None:
        """Write these batches as one group. The model gets those that are acknowledged."""
        self.model.doubtful = list(group)

        def verb() -> None:
            failures: list[StoreError | Died] = []
            for batch, outcome in zip(group, self.life.append(group), strict=True):
                if isinstance(outcome, list):
                    assert not failures, "acknowledged, though what came before it was not"
                    if not self.life.disk.dead:
                        self.model.doubtful.remove(batch)
                        self.model.acknowledge(outcome)
                else:
                    failures.append(outcome)
            if failures:
                raise failures[0]

        self._try(fate, verb)
        self._learn_words()
        if self.life.store is not None:
            assert not self.model.doubtful

    @rule(fate=FATES)
    def open_session(self, fate: Fate) -> None:
        if len(self.model.sessions()) < self.sessions_max:
            self._write(fate, [[_opening(f"name {len(self.model.events)}", 0, Seq(0))]])

    @precondition(lambda self: self.model.sessions())
    @rule(fate=FATES, chance=CHANCE)
    def fork(self, fate: Fate, chance: int) -> None:
        sessions = self.model.sessions()
        if len(sessions) < self.sessions_max:
            parent = sessions[chance % len(sessions)]
            own = [e.seq for e in self.model.events if e.session == parent]
            self._write(fate, [[_opening("fork", parent, own[chance % len(own)])]])

    @precondition(lambda self: self.model.sessions())
    @rule(
        death=st.sampled_from(Death),
        after=st.integers(0, 6),
        sayings=st.lists(SAYINGS, min_size=1, max_size=3),
    )
    def say_and_lose_power(self, death: Death, after: int, sayings: Sequence[Saying]) -> None:
        """A process may die while it appends; then the power fails, before anything else is
        written.
        """
        self.say(Fate(death=death, after=after), sayings)
        self.everything_is_there()
        self.die(Death.POWER, CALM)

    @precondition(lambda self: self.model.sessions())
    @rule(fate=FATES, sayings=st.lists(SAYINGS, min_size=1, max_size=4))
    def say(self, fate: Fate, sayings: Sequence[Saying]) -> None:
        """A few batches that share a sync, written as a session writes them."""
        sessions, index = self.model.sessions(), self.store.index
        places: dict[SessionNo, tuple[int, int]] = {}
        used: set[tuple[SessionNo, str]] = set()
        group = []
        for saying in sayings:
            session = sessions[saying.chance % len(sessions)]
            if saying.key:
                hashed = self.store.log.hash_key(session, saying.key)
                if (session, saying.key) in used or index.find_key(session, hashed):
                    continue
                used.add((session, saying.key))
            if session not in places:
                row = index.session(session)
                assert row is not None
                numbers = index.prefix_counts(scope_of(index, session))
                places[session] = row.pages, numbers.get("msg", 0)
            order, number = places[session]
            group.append(self._batch(session, order, number, saying))
            places[session] = order + len(saying.texts), number + len(saying.texts)
        self._write(fate, group)

    def _batch(self, session: SessionNo, order: int, number: int, saying: Saying) -> list[Draft]:
        batch = []
        for count, text in enumerate(saying.texts):
            word, text = "", THEMES.get(text, text)
            if text:
                word = "".join(self.life.chance.choices(_LETTERS, k=12))
                text = f"{text[:10]} {word} {text[10:]}"
            body = Said(
                event_type=EventType.CHAT_TURN,
                page_id=PageId(f"msg_{number + 1 + count}"),
                order=order + count,
                role=Role.USER,
                text=text,
                tokens=len(text.split()),
            )
            batch.append(
                Draft(
                    session=session,
                    turn=TurnNo(order),
                    actor=Actor.USER,
                    origin=USER_TYPED,
                    body=body,
                    key="" if count else saying.key,
                )
            )
        return batch

    def _learn_words(self) -> None:
        for event in self.model.events[len(self._words) :]:
            words = []
            if isinstance(event.body, PageBody):
                words = [w for w in event.body.text.split(" ") if set(w) < set(_LETTERS)]
            found = [w for w in words if len(w) == 12]
            self._words[event.seq] = found[0][3:11] if found else ""

    # --- forgetting ---------------------------------------------------------------------------

    @precondition(lambda self: self.model.sessions())
    @rule(fate=FATES, chance=CHANCE)
    def forget_a_page(self, fate: Fate, chance: int) -> None:
        pages = [e for s in self.model.sessions() for e in self.model.pages(s)]
        if pages:
            page = pages[chance % len(pages)]
            self._forget(fate, {page.seq}, (), {page.session})

    @precondition(lambda self: len(self.model.sessions()) > 1)
    @rule(fate=FATES, chance=CHANCE)
    def forget_a_session(self, fate: Fate, chance: int) -> None:
        sessions = self.model.sessions()
        session = sessions[chance % len(sessions)]
        self._forget(fate, set(self.store.index.events(session)), (session,), {session})

    def _forget(
        self, fate: Fate, seqs: set[Seq], whole: tuple[SessionNo, ...], owners: set[SessionNo]
    ) -> None:
        index = self.store.index
        forks = {
            row.session
            for row in index.sessions()
            if any(part in owners for part, _ in scope_of(index, row.session).parts)
        }
        rows = [row for row in map(index.session, sorted(owners | forks)) if row is not None]
        taken = [
            Taken(
                session=row.session,
                stem=stem,
                number=number,
                order=row.pages - 1,
                turns=row.turns,
            )
            for row in rows
            for stem, number in index.prefix_counts(scope_of(index, row.session)).items()
        ]
        words = tuple(word for seq in sorted(seqs) if (word := self._words[seq]))
        plan = Forgetting(frozenset(seqs), whole, words)
        self.model.doubtful = [plan]
        store = self.store

        def verb() -> None:
            receipt = self.life.run(lambda: store.forget(seqs, whole, taken))
            if not self.life.disk.dead:
                begun = store.log.get(Seq(receipt.seq - 1))
                assert isinstance(begun.body, ForgetBegun)
                self.model.doubtful.clear()
                self.model.begun[begun.seq] = plan
                self.model.acknowledge([begun, receipt])

        self._try(fate, verb)
        self._learn_words()

    # --- blobs --------------------------------------------------------------------------------

    @rule(fate=FATES, number=st.integers(0, 9), size=st.sampled_from([0, 20, 9_000]))
    def put_blob(self, fate: Fate, number: int, size: int) -> None:
        blobs, data = self.store.blobs, bytes([number]) * size
        name = name_of(self.store, data)
        if name not in self.model.blobs:
            self.model.blobs_doubtful.add(name)

        def verb() -> None:
            assert blobs.put(data) == name
            if not self.life.disk.dead:
                self.model.blobs[name] = data
                self.model.blobs_doubtful.discard(name)

        self._try(fate, verb)

    @precondition(lambda self: self.model.blobs)
    @rule(fate=FATES, chance=CHANCE)
    def delete_blob(self, fate: Fate, chance: int) -> None:
        name = sorted(self.model.blobs)[chance % len(self.model.blobs)]
        blobs = self.store.blobs
        del self.model.blobs[name]
        self.model.blobs_doubtful.add(name)

        def verb() -> None:
            blobs.delete(name)
            if not self.life.disk.dead:
                self.model.blobs_doubtful.discard(name)

        self._try(fate, verb)

    # --- processes, power, time ---------------------------------------------------------------

    @rule(fate=FATES)
    def reopen(self, fate: Fate) -> None:
        self._opened(fate)

    @rule(death=st.sampled_from(Death), again=FATES)
    def die(self, death: Death, again: Fate) -> None:
        """Die between two steps, and perhaps again while the next process opens."""
        self.life.disk.die(death)
        self.life.bury()
        self._opened(again)

    @rule(chance=CHANCE)
    def time_jumps(self, chance: int) -> None:
        clock = self.life.clock
        jumps = (0, 1, 17, 3_600_000, -3_600_000, 10 * 86_400_000, -10 * 86_400_000)
        clock.now = max(1, clock.now + jumps[chance % len(jumps)])

    @rule()
    def look_beside_the_writer(self) -> None:
        """A reader sees the same, without the lock."""
        reader = self.life.another(read_only=True)
        try:
            assert isinstance(reader.refusal, StoreReadOnly)
            assert list(reader.log.read()) == self.model.events
            agree(reader.index, self.model.index)
        finally:
            close_whole(reader)

    # --- the index is disposable --------------------------------------------------------------

    @rule(fate=FATES)
    def delete_the_index(self, fate: Fate) -> None:
        self.life.close()
        for path in self.life.root.glob("index.db*"):
            path.unlink()
        self._opened(fate)

    @rule()
    def keep_a_copy_of_the_index(self) -> None:
        self.life.close()
        self._older = {path.name: path.read_bytes() for path in self.life.root.glob("index.db*")}
        self._opened(CALM)

    @precondition(lambda self: self._older)
    @rule(fate=FATES)
    def put_an_older_index_back(self, fate: Fate) -> None:
        self.life.close()
        self._replace_index(self._older)
        self._opened(fate)

    @rule(chance=CHANCE, fate=FATES)
    def damage_the_index(self, chance: int, fate: Fate) -> None:
        """Overwrite, cut or empty an index file. SQLite has no checksums, so damage that opening
        does not notice is repaired by a rebuild here; the log must never be affected.
        """
        self.life.close()
        path = self.life.root / "index.db"
        data = bytearray(path.read_bytes())
        at = chance * 37 % len(data)
        match chance % 4:
            case 0:
                data[at : at + 64] = bytes(64)
            case 1:
                del data[at:]
            case 2:
                data[at] ^= 1 << chance % 8
            case _:
                data[:100] = b"no database".ljust(100)
        self._replace_index({"index.db": bytes(data)})
        self._try_to_open_damaged()
        self._rebuild()
        self._opened(fate)

    def _try_to_open_damaged(self) -> None:
        store = self.life.open()
        assert store.refusal is None
        self.model.check_records(list(store.log.read()))
        self.life.close()

    def _replace_index(self, files: dict[str, bytes]) -> None:
        for path in self.life.root.glob("index.db*"):
            path.unlink()
        for name, data in files.items():
            (self.life.root / name).write_bytes(data)

    @rule()
    def rebuild(self) -> None:
        self.life.close()
        self._rebuild()
        self._opened(CALM)

    def _rebuild(self) -> None:
        clock, minter = self.life.clock, self.life.minter
        rebuilt = rebuild(self.life.root, clock=clock, minter=minter)
        assert rebuilt.records == len(self.model.events)
        self.life.disk.medium.settle()  # this bypassed the simulated disk

    # --- the log is not -----------------------------------------------------------------------

    @rule(chance=CHANCE)
    def damage_the_log(self, chance: int) -> None:
        """Flip a bit in acknowledged data, then flip it back. Meanwhile nothing is cut, and at most
        one record is unreadable.
        """
        self.life.close()
        paths = [
            path
            for path in sorted((self.life.root / "log").glob("*.jsonl"))
            if path.read_bytes().count(b"\n") > 1  # one without records is started over instead
        ]
        path = paths[chance % len(paths)]
        data = path.read_bytes()
        at = chance * 37 % len(data)
        wrong = bytearray(data)
        wrong[at] ^= 1 << chance % 8
        path.write_bytes(wrong)
        store = self.life.open()
        problems = store.verify().problems
        # The last segment's seal was never acknowledged: it is cut, reported, and rewritten.
        sealed_at = data.rfind(b'{"seal":') if path == paths[-1] else -1
        in_seal = 0 <= sealed_at <= at
        if in_seal:
            cut = store.log.recovery  # type: ignore[attr-defined]
            assert cut.kept == sealed_at, "something else than the seal was cut"
        assert problems or in_seal, "damage was not noticed"
        found = {event.seq: event for event in store.log.read_rest()}
        bad = [event for event in self.model.events if found.get(event.seq) != event]
        assert len(bad) <= 1, "damage to one record lost others"
        self.life.close()
        assert in_seal or path.read_bytes() == wrong, "damage was cut away"
        path.write_bytes(data)
        self.life.disk.medium.settle()
        self._opened(CALM)

    # --- what must hold -----------------------------------------------------------------------

    @invariant()
    def everything_is_there(self) -> None:
        if not self._made:
            return
        store = self.store
        found = list(store.log.read())
        assert len(found) == len(self.model.events), "a record is there that nobody asked for"
        self.model.check_records(found)
        self.model.check_keys()
        agree(store.index, self.model.index)
        verified = store.verify()
        assert verified.problems == (), verified.problems
        self.model.check_blobs(store.blobs)
        if self.model.forgotten:
            self.model.check_nowhere(self.life.disk.medium.contents())


def agree(index: PageIndex, model: PageIndex) -> None:
    """Check that two indexes give the same answers."""
    seen, last = index.applied_seq(), model.applied_seq()
    assert seen == last, f"the index has seen {seen} records of {last}"
    rows, expected = index.sessions(), model.sessions()
    assert rows == expected, f"{rows} is not {expected}"
    for row in model.sessions():
        session = row.session
        scope = scope_of(model, session)
        found = told(index.candidates(scope, QUERY, limit=5))
        assert found == told(model.candidates(scope, QUERY, limit=5))
        for newest_first in (False, True):
            assert index.pages(
                scope, PageFilter(), limit=9, newest_first=newest_first
            ) == model.pages(scope, PageFilter(), limit=9, newest_first=newest_first)
        assert index.prefix_counts(scope) == model.prefix_counts(scope)
        assert index.events(session) == model.events(session)


def scope_of(index: PageIndex, session: SessionNo) -> Scope:
    """A session's scope: itself, and its ancestors up to where it was forked."""
    parts: list[tuple[SessionNo, Seq]] = []
    upto = FOREVER
    while session:
        parts.append((session, upto))
        row = index.session(session)
        if row is None:
            break
        session, upto = row.parent, min(upto, row.parent_seq)
    return Scope(tuple(parts))


def name_of(store: Store, data: bytes) -> str:
    """The name of a blob with these bytes in this root."""
    import hmac

    return hmac.digest(store.secret, data, "sha256").hex()


def _opening(name: str, parent: int, upto: Seq) -> Draft:
    body = SessionOpened(
        session_id=f"id of {name}",
        name=name,
        window_tokens=32_000,
        mode=Mode.ACTIVE,
        system="",
        parent=SessionNo(parent),
        parent_seq=upto,
    )
    return Draft(
        session=SessionNo(0), turn=TurnNo(0), actor=Actor.SYSTEM, origin=RUNTIME, body=body
    )
