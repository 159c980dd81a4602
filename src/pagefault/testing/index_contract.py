"""The contract suite for page indexes: subclass it and provide the fixture."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagefault.language.analyzer import analyze
from pagefault.language.sought import Sought
from pagefault.model.errors import StoreError
from pagefault.model.events import (
    EpochBegun,
    Erased,
    Event,
    ForgetBegun,
    Lost,
    PageBody,
    Pinned,
    SessionLeased,
    SessionOpened,
    Taken,
    erased,
)
from pagefault.model.ids import FOREVER, NOTHING, PageId, Seq, SessionNo
from pagefault.model.kinds import Kind, Modality, Role
from pagefault.model.page import DERIVED_ORDER, EVERYTHING, Scope
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.store.api import Candidates, PageFilter, PageIndex, role_number
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.store.languages import languages_in
from pagefault.store.said import ASKS, TELLS_NAME, TELLS_NUMBER, TELLS_TIME
from pagefault.store.tokens import COUNT_MAX
from pagefault.testing.records import Records

WORDS = st.sampled_from(
    "plan plans Database index.py café 東京タワー 3.5 1,200 fooBar the a naïve x don't".split()
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=40)


def planning() -> Records:
    """The records of one session, `planning`, that was just opened."""
    records = Records()
    records.open("planning")
    return records


def whole(*sessions: int) -> Scope:
    """The scope of whole sessions."""
    return Scope.whole(*map(SessionNo, sessions))


def containing(index: PageIndex, scope: Scope, term: str) -> frozenset[Seq]:
    """Every page in scope that has this (analysed) term."""
    return seqs(index, scope, index.candidates(scope, [term], limit=100_000))


def seqs(index: PageIndex, scope: Scope, found: Candidates) -> frozenset[Seq]:
    """The records of candidates."""
    return frozenset(row.seq for row in index.pages_at(scope, found.places.tolist()))


def told(found: Candidates) -> tuple[object, ...]:
    """The full content of candidates, comparable."""
    rows = list(zip(found.places.tolist(), map(tuple, found.counts.tolist()), strict=True))
    return found.pages, found.length_mean, found.frequencies, rows


def lengths(index: PageIndex, scope: Scope, places: Collection[int]) -> dict[int, int]:
    seen = index.traits(scope, places)
    return dict(zip(seen.places.tolist(), seen.lengths.tolist(), strict=True))


def traits(index: PageIndex, scope: Scope, places: Collection[int]) -> list[list[int]]:
    seen = index.traits(scope, places)
    columns = (
        seen.places, seen.lengths, seen.days, seen.roles, seen.marks, seen.likenesses, seen.spoken
    )  # fmt: skip
    return [column.tolist() for column in columns]


class PageIndexContract:
    """Tests every method of `PageIndex`. A subclass provides the fixture `index`."""

    @pytest.fixture
    def index(self) -> PageIndex:
        raise NotImplementedError

    def test_a_new_index_has_seen_nothing(self, index: PageIndex) -> None:
        assert index.applied_seq() == NOTHING
        assert index.sessions() == []
        assert index.find_session("planning") is None
        assert index.find_page(whole(1), PageId("msg_1")) is None
        assert index.page_at(Seq(1)) is None
        assert told(index.candidates(whole(1), ["tea"], limit=5)) == (0, 0.0, (0,), [])
        assert index.check() == []

    def test_applying_twice_changes_nothing(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "We drink tea.")
        index.apply(records.events)
        once = index.sessions(), told(index.candidates(whole(1), ["tea"], limit=5))
        index.apply(records.events)
        assert (index.sessions(), told(index.candidates(whole(1), ["tea"], limit=5))) == once
        assert index.check() == []

    def test_a_gap_is_refused_and_nothing_is_applied(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "one")
        records.say(1, "two")
        with pytest.raises(StoreError, match="record 1 is missing"):
            index.apply(records.events[1:])
        assert index.applied_seq() == NOTHING
        assert index.page_at(Seq(2)) is None

    def test_who_reads_meanwhile_sees_whole_batches(self, index: PageIndex) -> None:
        records, batch = Records(), 50
        index.apply([records.open("planning")])
        seen: list[int] = []
        has_looked, is_done = threading.Event(), threading.Event()

        def look() -> None:
            while not is_done.is_set():
                rows = index.pages(whole(1), PageFilter(), limit=10_000)
                index.speakers(EVERYTHING)
                seen.append(len(rows))
                has_looked.set()

        with ThreadPoolExecutor(1) as others:
            looking = others.submit(look)
            assert has_looked.wait(60)
            for _ in range(20):
                index.apply([records.say(1, "We drink tea and eat cake.") for _ in range(batch)])
            is_done.set()
            looking.result()
        assert all(count % batch == 0 for count in seen)
        assert seen == sorted(seen)

    def test_a_session_counts_its_turns_and_pages(self, index: PageIndex) -> None:
        records = planning()
        index.apply(records.events)
        assert [(row.turns, row.pages) for row in index.sessions()] == [(0, 0)]
        records.say(1, "one", turn=0)
        records.say(1, "two", turn=0, role=Role.ASSISTANT)
        last = records.say(1, "three", turn=1)
        index.apply(records.events)
        row = index.session(SessionNo(1))
        assert row is not None
        assert (row.turns, row.pages, row.last_seq, row.last_used_ms) == (
            2,
            3,
            last.seq,
            last.at_ms,
        )

    def test_what_was_written_and_stands_is_summed_up(self, index: PageIndex) -> None:
        """By session, origin and minute, and in each session's row."""
        records = planning()
        records.say(1, "Größe")  # seven bytes
        records.from_tool(1, "four", tool="ls")
        first = records.events[-1]
        records.say(1, "six   ")
        records.events[-1] = replace(records.events[-1], at_ms=first.at_ms + 60_000)
        records.derive(1, "ten bytes.", number=1)
        records.events[-1] = replace(records.events[-1], at_ms=first.at_ms + 60_000)
        index.apply(records.events)

        def told(after: int, since_ms: int = 0) -> list[tuple[str, int, int]]:
            found = index.written(Seq(after), since_ms)
            assert {one.session for one in found} <= {1}
            return sorted((one.origin, one.pages, one.bytes) for one in found if one.pages)

        assert told(0) == [("tool:ls", 1, 4), ("user_typed", 1, 7), ("user_typed", 2, 16)]
        assert told(3) == [("user_typed", 2, 16)]
        assert told(0, first.at_ms + 1) == told(3)
        minutes = {one.minute for one in index.written(NOTHING, 0)}
        assert minutes == {first.at_ms // 60_000, first.at_ms // 60_000 + 1}
        row = index.session(SessionNo(1))
        assert row is not None
        assert (row.own_pages, row.bytes) == (4, 27)
        index.forget([Seq(2), Seq(3)], [])
        row = index.session(SessionNo(1))
        assert row is not None
        assert (row.own_pages, row.bytes) == (2, 16)
        assert "tool:ls" not in {one.origin for one in index.written(NOTHING, 0)}
        assert index.check() == []

    def test_sessions_come_most_recently_used_first(self, index: PageIndex) -> None:
        records = Records()
        for name in ("planning", "cooking", "planning"):
            records.open(name)
        records.say(2, "tea")
        index.apply(records.events)
        assert [row.session for row in index.sessions()] == [2, 3, 1]
        assert index.session_names("") == ["cooking", "planning", "planning"]
        assert index.session_names("plan") == ["planning", "planning"]
        assert index.session_names("p_an") == index.session_names("Plan") == []

    def test_a_session_is_found_by_id_or_as_the_last_used_of_a_name(self, index: PageIndex) -> None:
        records = Records()
        for name in ("planning", "planning", "cooking"):
            records.open(name)
        records.say(1, "tea")
        index.apply(records.events)
        by_name, by_id = index.find_session("planning"), index.find_session("id-2")
        assert by_name is not None
        assert by_name.session == 1
        assert by_id is not None
        assert by_id.session == 2

    def test_a_page_is_known_without_its_text(self, index: PageIndex) -> None:
        records = planning()
        event = records.say(1, "tea", importance=0.9, kind=Kind.ARTIFACT, role=Role.TOOL)
        index.apply(records.events)
        row = index.page_at(event.seq)
        assert row is not None
        assert row == index.find_page(whole(1), PageId("msg_1"))
        assert (row.seq, row.session, row.order, row.turn) == (2, 1, 0, 0)
        assert (row.kind, row.role, row.importance) == (Kind.ARTIFACT, Role.TOOL, 0.9)
        assert (row.at_ms, row.tokens, row.part, row.parts) == (event.at_ms, 1, 0, 1)

    def test_only_content_makes_a_page(self, index: PageIndex) -> None:
        records = planning()
        pin = records.add(1, Pinned(page_id=PageId("msg_1")))
        index.apply(records.events)
        assert index.page_at(pin.seq) is None
        assert index.events(SessionNo(1)) == [1, 2]
        assert index.events(SessionNo(1), types=("pinned",)) == [2]

    def test_records_are_found_by_their_turn(self, index: PageIndex) -> None:
        records = planning()
        said = [records.say(1, "tea", turn=turn).seq for turn in (0, 1, 1, 2)]
        index.apply(records.events)
        assert index.events(SessionNo(1), types=("chat_turn",), turns=(1,)) == said[1:3]
        assert index.events(SessionNo(1), turns=(1, 2), after=said[1]) == said[2:]
        assert index.events(SessionNo(1), turns=(3,)) == []

    def test_pages_come_by_order_from_either_end(self, index: PageIndex) -> None:
        records = planning()
        for number in range(6):
            records.say(1, "tea", kind=Kind.ARTIFACT if number == 3 else Kind.TRANSCRIPT)
        index.apply(records.events)

        def orders(wanted: PageFilter, *, limit: int = 9, newest_first: bool = False) -> list[int]:
            rows = index.pages(whole(1), wanted, limit=limit, newest_first=newest_first)
            return [row.order for row in rows]

        assert orders(PageFilter()) == [0, 1, 2, 3, 4, 5]
        assert orders(PageFilter(), limit=2, newest_first=True) == [5, 4]
        assert orders(PageFilter(after_order=1, before_order=4)) == [2, 3]
        assert orders(PageFilter(kinds=(Kind.ARTIFACT,))) == [3]
        assert orders(PageFilter(kinds=(Kind.CLAIM,))) == []
        assert [row.order for row in index.pages_at(whole(1), [9, 4, 0])] == [0, 4]
        assert index.standing(whole(1), [9, 4, 0, -1]) == {0, 4}

    def test_a_page_in_whose_place_other_words_were_put_is_history_for_who_sees_them(
        self, index: PageIndex
    ) -> None:
        records = planning()
        old = records.say(1, "on Monday")
        records.say(1, "noted")
        new = records.say(1, "on Friday", supersedes=PageId("msg_1"))
        again = records.say(1, "on Sunday", supersedes=PageId("msg_3"))
        index.apply(records.events)
        rows = index.pages(whole(1), PageFilter(), limit=9)
        assert [row.superseded for row in rows] == [new.seq, NOTHING, again.seq, NOTHING]
        assert index.history(whole(1)) == {0, 2}
        before = Scope(((SessionNo(1), new.seq),))
        assert index.history(before) == {0}
        assert index.history(Scope(((SessionNo(1), old.seq),))) == frozenset()
        assert index.history(whole(1).derived) == frozenset()
        assert len(index.history(EVERYTHING)) == 2
        assert index.check() == []

    def test_a_claim_that_another_closed_is_history_until_that_is_forgotten(
        self, index: PageIndex
    ) -> None:
        records = planning()
        records.derive(1, "we use tulips", number=1)
        new = records.derive(1, "we use roses", number=2, supersedes=PageId("clm_1"))
        index.apply(records.events)
        derived = whole(1).derived
        assert [row.superseded for row in index.pages(derived, PageFilter(), limit=9)] == [
            new.seq,
            NOTHING,
        ]
        assert index.history(whole(1)) == frozenset()
        assert len(index.history(derived)) == len(index.history(EVERYTHING)) == 1
        index.forget([new.seq], [])
        assert index.history(derived) == frozenset()
        assert index.check() == []

    def test_a_page_is_of_when_it_was_said_or_else_of_when_it_was_logged(
        self, index: PageIndex
    ) -> None:
        records = planning()
        told = records.say(1, "tea", occurred_at="2024-03-05T08:45:00+01:00")
        untold = records.say(1, "tea")
        garbled = records.say(1, "tea", occurred_at="on the fifth, I think")
        index.apply(records.events)
        rows = index.pages(whole(1), PageFilter(), limit=9)
        assert [row.occurred_ms for row in rows] == [1_709_624_700_000, None, None]
        times = [1_709_624_700_000, untold.at_ms, garbled.at_ms]
        assert [row.said_ms for row in rows] == times
        assert [row.at_ms for row in rows] == [told.at_ms, untold.at_ms, garbled.at_ms]
        assert index.matching(whole(1), ANY).said_ms.tolist() == times

    def test_what_matches_a_filter_is_told_by_its_place_and_time(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "a cup of tea", occurred_at="2024-03-05")
        records.say(1, "tea.png", kind=Kind.ARTIFACT, modality=Modality.IMAGE)
        records.say(1, "tea too", occurred_at="2024-03-07T23:30:00Z")
        records.from_tool(1, "a tool's tea", tool="kettle", occurred_at="2024-03-06")
        records.open("aside", parent=1, parent_seq=4)
        records.say(6, "more tea", order=3, occurred_at="2024-03-08")
        records.derive(6, "We decided for tea.", number=1)
        index.apply(records.events)

        def places(scope: Scope, **wanted: Any) -> list[int]:
            found = index.matching(scope, SearchFilter(**wanted))
            assert len(found.said_ms) == len(found.places)
            at: list[int] = found.places.tolist()
            return at

        assert places(whole(1)) == [0, 1, 2, 3]
        assert places(whole(1), kinds=(Kind.ARTIFACT,)) == [1]
        assert places(whole(1), modalities=("image",)) == [1]
        assert places(whole(1), origins=("tool",)) == places(whole(1), origins=("tool:kettle",))
        assert places(whole(1), origins=("tool",)) == [3]
        assert places(whole(1), origins=("tool:pot",)) == places(whole(1), origins=("web",)) == []
        assert places(whole(1), origins=("user_typed", "tool")) == [0, 1, 2, 3]
        assert places(whole(1), since="2024-03-06", until="2024-03-07") == [2, 3]
        assert places(whole(1), until="2024-03-07T23:30:00Z") == [0, 3]
        assert places(whole(1), since="2024-03-07T23:30:00Z", kinds=("transcript",)) == [2]
        fork = Scope(((SessionNo(6), FOREVER), (SessionNo(1), Seq(4))))
        assert places(fork) == [0, 1, 2, 3]
        assert places(fork, since="2024-03-07", kinds=("transcript",)) == [2, 3]
        assert len(places(EVERYTHING)) == 6
        assert len(places(EVERYTHING, kinds=("claim",))) == 1
        assert places(fork.derived, kinds=("claim",)) == [DERIVED_ORDER]
        index.forget([Seq(4)], [])
        assert places(whole(1), since="2024-03-07", kinds=("transcript",)) == []

    def test_a_fork_sees_its_parent_as_it_was(self, index: PageIndex) -> None:
        records = planning()
        kept = records.say(1, "tea before the fork")
        later = records.say(1, "tea after it")
        fork = records.open("variant", parent=1, parent_seq=kept.seq)
        scope = Scope(((SessionNo(fork.seq), FOREVER), (SessionNo(1), kept.seq)))
        index.apply(records.events)
        row = index.session(SessionNo(fork.seq))
        assert row is not None
        assert (row.parent, row.parent_seq, row.turns, row.pages) == (1, kept.seq, 1, 1)
        records.say(fork.seq, "tea in the fork", order=1)
        index.apply(records.events)
        assert [row.order for row in index.pages(scope, PageFilter(), limit=9)] == [0, 1]
        found = index.candidates(scope, ["tea"], limit=9)
        assert (found.pages, found.frequencies) == (2, (2,))
        assert later.seq not in seqs(index, scope, found)
        assert containing(index, scope, "fork") == {kept.seq, records.events[-1].seq}

    def test_a_fork_in_one_batch_with_its_parent_is_the_same(self, index: PageIndex) -> None:
        records = planning()
        kept = records.say(1, "one")
        records.say(1, "two")
        middle = records.open("variant", parent=1, parent_seq=kept.seq)
        records.open("variant of it", parent=middle.seq, parent_seq=middle.seq)
        index.apply(records.events)
        assert [row.pages for row in sorted(index.sessions(), key=lambda r: r.session)] == [2, 1, 1]

    def test_candidates_carry_exact_counts_and_lengths(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "tea tea cake")
        records.say(1, "cake")
        records.say(1, "nothing of the kind")
        index.apply(records.events)
        found = index.candidates(whole(1), ["tea", "cake", "moon"], limit=9)
        assert told(found) == (3, 8 / 3, (1, 2, 0), [(0, (2, 1, 0)), (1, (0, 1, 0))])
        assert lengths(index, whole(1), [0, 1, 2, 3]) == {0: 3, 1: 1, 2: 4}

    def test_terms_of_which_any_will_do_are_one(self, index: PageIndex) -> None:
        records = planning()
        for text in ("tea tea cake", "coffee", "tea coffee coffee coffee", "milk"):
            records.say(1, text)
        index.apply(records.events)
        [coffee] = analyze("coffee")
        terms: list[Sought] = [("tea", coffee), "cake", ("moon", "sun")]
        found = index.candidates(whole(1), terms, limit=9)
        counts = [(0, (2, 1, 0)), (1, (1, 0, 0)), (2, (3, 0, 0))]
        assert told(found) == (4, 9 / 4, (3, 1, 0), counts)

    def test_a_beginning_finds_whatever_begins_so_and_counts_once(self, index: PageIndex) -> None:
        records = planning()
        for text in ("deploy deploy", "the deployer, a depot", "dep", "redeploy", "Déployé"):
            records.say(1, text)
        records.say(1, "milk")
        index.apply(records.events)
        found = index.candidates(whole(1), ["deplo*", ("dep*", "milk"), "zeb*"], limit=9)
        counts = [(0, (1, 1, 0)), (1, (1, 1, 0)), (2, (0, 1, 0)), (4, (1, 1, 0)), (5, (0, 1, 0))]
        assert told(found)[2:] == ((3, 5, 0), counts)

    def test_the_languages_of_a_scope_are_known(self, index: PageIndex) -> None:
        records = planning()
        records.open("reisen")
        records.say(1, "The keys are in the box.")
        records.say(2, "Die Schlüssel liegen nicht in der Kiste.")
        records.say(2, "Où est la clé de la boîte ?\n\nThe box is not here.")
        index.apply(records.events)
        assert languages_in(index, whole(1)) == ()
        assert languages_in(index, whole(2)) == ("de", "fr")
        assert languages_in(index, EVERYTHING) == ("de", "fr")

    def test_traits_tell_the_day_and_the_form_of_each_page(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "Shall we meet?", occurred_at="2026-05-07T09:00:00")
        records.say(1, "On Friday, with Ann, at 9.", occurred_at="2026-05-08T09:00:00+02:00")
        third = records.say(1, "on friday WITH ann at 9")
        records.say(1, "ON friday: WITH ann at 9!", occurred_at="2026-05-08")
        index.apply(records.events)
        seen = index.traits(whole(1), [7, 3, 2, 1, 0])
        assert seen.places.tolist() == [0, 1, 2, 3]
        logged = datetime.fromtimestamp(third.at_ms / 1000, UTC).date()
        days = [date(2026, 5, 7), date(2026, 5, 8), logged, date(2026, 5, 8)]
        assert seen.days.tolist() == [day.toordinal() for day in days]
        said = TELLS_TIME | TELLS_NUMBER
        assert seen.marks.tolist() == [ASKS, said | TELLS_NAME, said, said]
        assert seen.likenesses[1] == seen.likenesses[3], "however it is written"
        assert len(set(seen.likenesses.tolist())) == 3, "and on that Friday, not another"
        assert seen.roles.tolist() == [role_number(Role.USER, is_named=False)] * 4
        assert len(index.traits(whole(1), []).places) == 0
        assert len(index.traits(whole(77), [0]).places) == 0

    def test_the_days_that_a_page_tells_of_are_known(self, index: PageIndex) -> None:
        records = planning()
        for text in (
            "We met Ann last weekend.",
            "We meet on 5 October and on the 7th.",
            "In October we moved.",
            "Nothing is told here.",
            "Today it rains.",
        ):
            records.say(1, text, occurred_at="2026-10-06T09:00:00")
        index.apply(records.events)
        of = [date(2026, 10, day).toordinal() for day in (1, 3, 4, 5, 31)]
        first, third, fourth, fifth, last = of
        seen = index.traits(whole(1), range(5))
        assert seen.told_first.tolist() == [third, fifth, first, 0, 0]
        assert seen.told_last.tolist() == [fourth, fifth, last, 0, 0]
        assert index.telling_of(whole(1), first, last).tolist() == [0, 1, 2]
        assert index.telling_of(whole(1), first, fifth).tolist() == [0, 1]
        assert index.telling_of(whole(1), fourth, last).tolist() == [1]
        assert index.telling_of(whole(77), first, last).tolist() == []
        assert len(index.telling_of(EVERYTHING, first, last)) == 3
        index.forget([Seq(2)], [])
        assert index.telling_of(whole(1), first, last).tolist() == [1, 2]

    def test_a_term_counts_so_often_at_most(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "tea " * 2)
        records.say(1, "tea " * (COUNT_MAX + 7))
        index.apply(records.events)
        found = index.candidates(whole(1), ["tea"], limit=9)
        assert found.counts.tolist() == [[2], [COUNT_MAX]]

    def test_a_limit_keeps_the_stretches_where_most_is_told(self, index: PageIndex) -> None:
        records = planning()
        for order in range(60):
            records.say(1, {20: "cake", 21: "milk", 40: "cake"}.get(order, "tea"))
        index.apply(records.events)
        scope, terms = whole(1), ["tea", "cake", "milk"]
        found = index.candidates(scope, terms, limit=1)
        assert found.frequencies == (57, 2, 1)
        assert {20, 21, 22} <= set(found.places.tolist()), "the weak ones beside them, too"
        assert not {5, 40, 50} & set(found.places.tolist())
        assert len(index.candidates(scope, terms, limit=99).places) == 60
        assert len(index.candidates(scope, terms, limit=0).places) == 0

    def test_what_is_told_elsewhere_takes_no_room_from_what_is_near(self, index: PageIndex) -> None:
        records = planning()
        for _ in range(40):
            records.say(1, "tea tea tea")
        wanted = records.say(1, "tea", order=200)
        index.apply(records.events)
        near = np.array([200], dtype=np.int64)
        found = index.candidates(whole(1), ["tea"], limit=1, near=near)
        assert seqs(index, whole(1), found) == {wanted.seq}
        assert found.frequencies == (41,)
        nowhere = index.candidates(whole(1), ["tea"], limit=9, near=near + 100)
        assert not len(nowhere.places)

    def test_what_was_derived_stands_apart_from_what_was_said(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "We drink tea.")
        records.derive(1, "Preference: tea", number=1)
        records.say(1, "We buy tea.")
        records.derive(1, "Preference: green tea", number=2)
        index.apply(records.events)
        said, derived = whole(1), whole(1).derived
        row = index.session(SessionNo(1))
        assert row is not None
        assert row.pages == 2
        assert [page.page_id for page in index.pages(said, PageFilter(), limit=9)] == [
            "msg_1",
            "msg_2",
        ]
        assert [page.page_id for page in index.pages(derived, PageFilter(), limit=9)] == [
            "clm_1",
            "clm_2",
        ]
        assert len(index.candidates(said, ["tea"], limit=5).places) == 2
        assert len(index.candidates(derived, ["green"], limit=5).places) == 1
        claim = index.find_page(said, PageId("clm_2"))
        assert claim is not None
        assert claim.kind is Kind.CLAIM
        assert index.prefix_counts(said) == {"msg": 2, "clm": 2}
        index.forget([claim.seq], [])
        assert index.find_page(said, PageId("clm_2")) is None
        assert index.prefix_counts(said) == {"msg": 2, "clm": 2}
        assert index.check() == []

    def test_another_session_is_never_found(self, index: PageIndex) -> None:
        records = planning()
        records.open("cooking")
        records.say(1, "tea")
        records.say(2, "tea")
        index.apply(records.events)
        assert containing(index, whole(2), "tea") == {4}
        assert index.find_page(whole(2), PageId("msg_1")) == index.page_at(Seq(4))

    def test_many_pages_are_found_as_each_alone(self, index: PageIndex) -> None:
        records = planning()
        first, second = records.say(1, "tea"), records.say(1, "coffee")
        records.derive(1, "tea", number=1)
        fork = records.open("branch", parent=1, parent_seq=first.seq)
        records.say(fork.seq, "juice", order=1)
        index.apply(records.events)
        ids = [PageId(one) for one in ("msg_2", "msg_1", "clm_1", "msg_7", "msg_2")]
        scopes = whole(1), Scope(((SessionNo(fork.seq), FOREVER), (SessionNo(1), first.seq)))
        for scope in scopes:
            alone = {one: index.find_page(scope, one) for one in ids}
            assert dict(index.find_pages(scope, ids)) == {k: v for k, v in alone.items() if v}
        assert index.find_pages(whole(1), []) == {}
        assert index.find_pages(whole(1), ids)[PageId("msg_2")].seq == second.seq
        assert index.find_pages(scopes[1], ids)[PageId("msg_2")].seq > fork.seq

    def test_speaker_date_and_title_can_be_searched(self, index: PageIndex) -> None:
        records = planning()
        said = records.say(
            1, "ok", speaker="Caroline", occurred_at="2026-05-07T09:00:00Z", title="Brewing"
        )
        index.apply(records.events)
        for term in ("thursday", "may", "2026", "brew"):
            assert containing(index, whole(1), analyze(term)[0]) == {said.seq}
        [name] = analyze("Caroline")
        assert index.speakers(whole(1)) == {name}
        assert index.traits(whole(1), [0], {name: 0.5}).spoken.tolist() == [0.5]
        assert index.traits(whole(1), [0], {"brew": 1.0}).spoken.tolist() == [0.0]
        assert index.traits(whole(1), [0]).spoken.tolist() == [0.0]
        assert containing(index, whole(1), name) == frozenset(), "nobody mentions her"

    def test_a_speaker_is_known_in_sessions_where_she_speaks(self, index: PageIndex) -> None:
        records = planning()
        records.open("cooking")
        said = records.say(1, "ok", speaker="Caroline")
        records.say(2, "Caroline is not here")
        index.apply(records.events)
        [name] = analyze("Caroline")
        assert index.speakers(whole(2)) == frozenset()
        assert index.speakers(EVERYTHING) == {name}
        index.forget([said.seq], [])
        assert index.speakers(EVERYTHING) == frozenset()
        assert index.check() == []

    def test_of_everything_no_word_stands_in_more_pages_than_there_are(
        self, index: PageIndex
    ) -> None:
        records = planning()
        said = records.say(1, "tea in the morning")
        gone = records.derive(1, "tea", number=1)
        records.derive(1, "tea again", number=2)
        index.apply(records.events)
        found = index.candidates(EVERYTHING, ["tea"], limit=9)
        assert (found.pages, found.frequencies, found.length_mean) == (3, (3,), 4)
        index.forget([gone.seq], [])
        found = index.candidates(EVERYTHING, ["tea"], limit=9)
        assert (found.pages, found.frequencies) == (2, (2,))
        index.forget([said.seq], [])
        found = index.candidates(EVERYTHING, ["tea"], limit=9)
        assert (found.pages, found.frequencies, found.length_mean) == (1, (1,), 0)
        assert index.check() == []

    def test_everything_is_one_scope_of_all_sessions(self, index: PageIndex) -> None:
        records = planning()
        records.open("cooking")
        records.say(1, "tea")
        records.say(1, "nothing")
        records.say(2, "tea and cake")
        index.apply(records.events)
        found = index.candidates(EVERYTHING, ["tea", "cake"], limit=9)
        assert (found.pages, found.frequencies) == (3, (2, 1))
        places = found.places.tolist()
        assert [row.seq for row in index.pages_at(EVERYTHING, places)] == [3, 5]
        assert index.pages_at(EVERYTHING, [places[0] + 1]) == [index.page_at(Seq(4))]
        assert index.standing(EVERYTHING, [places[1] + 1, *places]) == set(places)
        assert lengths(index, EVERYTHING, places) == {places[0]: 1, places[1]: 3}

    def test_within_a_moment_a_thread_sees_one_state_of_the_index(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "tea")
        index.apply(records.events)
        with index.moment():
            before = index.candidates(whole(1), ["tea", "milk"], limit=9)
            with index.moment():
                again = index.candidates(whole(1), ["tea", "milk"], limit=9)
        assert before.frequencies == again.frequencies == (1, 0)
        assert before.places.tolist() == again.places.tolist() == [0]

        records.say(1, "milk")
        index.apply(records.events)
        with index.moment():
            assert index.candidates(whole(1), ["tea", "milk"], limit=9).frequencies == (1, 1)

    def test_a_key_names_the_first_record_that_carried_it(self, index: PageIndex) -> None:
        records = planning()
        first = records.say(1, "tea", key="k")
        records.say(1, "tea again", key="k")
        index.apply(records.events)
        assert index.find_key(SessionNo(1), "k") == first.seq
        assert index.find_key(SessionNo(2), "k") is None

    def test_the_epoch_of_a_session_is_the_last_that_began(self, index: PageIndex) -> None:
        records = planning()
        records.add(1, EpochBegun(epoch=1, reason="window"))
        last = records.add(1, EpochBegun(epoch=2, reason="window"))
        records.say(1, "tea")
        index.apply(records.events)
        row = index.session(SessionNo(1))
        assert row is not None
        assert row.epoch_seq == last.seq

    def test_the_lease_of_a_session_is_the_last_one(self, index: PageIndex) -> None:
        records = Records()
        first = records.open("planning")
        index.apply(records.events)
        row = index.session(SessionNo(1))
        assert row is not None
        assert row.lease_seq == first.seq, "who opens a session leases it"
        records.add(1, SessionLeased(holder="b", fence=1))
        last = records.add(1, SessionLeased(holder="c", fence=2))
        records.say(1, "tea")
        index.apply(records.events[1:])
        row = index.session(SessionNo(1))
        assert row is not None
        assert row.lease_seq == last.seq
        given_up = records.add(1, SessionLeased(holder="", fence=3))
        index.apply(records.events[-1:])
        now = index.session(SessionNo(1))
        assert now is not None
        assert now.lease_seq == now.last_seq == given_up.seq
        assert now.last_used_ms == row.last_used_ms, "nobody used it"

    def test_the_numbers_of_pages_are_counted_by_prefix(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "tea")
        records.say(1, "cake", page_id="tool_7")
        records.say(1, "milk", page_id="msg_12")
        index.apply(records.events)
        assert index.prefix_counts(whole(1)) == {"msg": 12, "tool": 7}
        assert index.prefix_counts(Scope(((SessionNo(1), Seq(2)),))) == {"msg": 1}

    def test_what_was_forgotten_is_found_by_nothing(self, index: PageIndex) -> None:
        records = planning()
        kept = records.say(1, "tea")
        gone = records.say(1, "secret tea", key="k")
        index.apply(records.events)
        index.forget([gone.seq], [])
        index.forget([gone.seq], [])  # an interrupted forget is repeated
        assert index.page_at(gone.seq) is None
        assert index.find_page(whole(1), PageId("msg_2")) is None
        assert containing(index, whole(1), "secret") == frozenset()
        assert containing(index, whole(1), "tea") == {kept.seq}
        assert index.candidates(whole(1), ["tea"], limit=9).length_mean == 1
        assert index.events(SessionNo(1)) == [1, 2]
        assert index.check() == []

    def test_a_forgotten_page_keeps_its_number_and_loses_its_key(self, index: PageIndex) -> None:
        records = planning()
        gone = records.say(1, "secret", key="k")
        index.apply(records.events)
        index.forget([gone.seq], [])
        row = index.session(SessionNo(1))
        assert row is not None
        assert (row.turns, row.pages) == (1, 1)
        assert index.prefix_counts(whole(1)) == {"msg": 1}
        assert index.find_key(SessionNo(1), "k") is None
        records.say(1, "another", page_id="msg_2", key="k")
        index.apply(records.events)
        assert index.find_key(SessionNo(1), "k") == 3

    def test_folding_an_erased_record_equals_forgetting_it(self, index: PageIndex) -> None:
        records = planning()
        records.say(1, "tea")
        gone = records.say(1, "secret", key="k")
        taken = Taken(session=SessionNo(1), stem="msg", number=2, order=1)
        records.add(0, ForgetBegun(targets=((gone.seq, gone.seq),), taken=(taken,)))
        live = MemoryIndex()
        live.apply(records.events)
        live.forget([gone.seq], [])
        records.events[gone.seq - 1] = erased(gone)
        index.apply(records.events)
        assert index.sessions() == live.sessions()
        assert index.prefix_counts(whole(1)) == live.prefix_counts(whole(1)) == {"msg": 2}
        assert index.events(SessionNo(1)) == live.events(SessionNo(1))
        assert index.find_key(SessionNo(1), "k") == live.find_key(SessionNo(1), "k")

    def test_a_revised_page_is_found_by_what_it_says_now(self, index: PageIndex) -> None:
        """As if it had always had that text: the index equals one built from it."""
        records = planning()
        records.say(1, "green tea at noon", key="k")
        records.say(1, "coffee", key="other")
        records.open("aside")
        index.apply(records.events)
        page, opening = records.events[1], records.events[3]
        assert isinstance(page.body, PageBody)
        assert isinstance(opening.body, SessionOpened)
        text = replace(page.body, text="red tea", tokens=2)
        page = replace(page, body=text, key="")
        opening = replace(opening, body=replace(opening.body, name="elsewhere"))
        for _ in range(2):
            index.revise([page, opening])
            anew = MemoryIndex()
            anew.apply([records.events[0], page, records.events[2], opening])
            for word in ("green", "red", "tea", "coffee"):
                assert containing(index, whole(1), word) == containing(anew, whole(1), word)
            assert index.sessions() == anew.sessions()
            assert index.page_at(page.seq) == anew.page_at(page.seq)
            found, wanted = (
                one.candidates(whole(1), ["tea"], limit=9).length_mean for one in (index, anew)
            )
            assert found == wanted
            assert index.find_key(SessionNo(1), "k") is None
            assert index.find_key(SessionNo(1), "other") == 3
            assert index.prefix_counts(whole(1)) == {"msg": 2}
            assert index.check() == []

    def test_a_session_is_forgotten_whole_and_alone(self, index: PageIndex) -> None:
        records = planning()
        records.open("cooking")
        records.say(1, "tea", key="k")
        records.say(2, "tea")
        index.apply(records.events)
        index.forget([Seq(1), Seq(3)], [SessionNo(1)])
        assert [row.session for row in index.sessions()] == [2]
        assert index.find_session("planning") is None
        assert index.events(SessionNo(1)) == []
        assert index.find_key(SessionNo(1), "k") is None
        assert containing(index, whole(1), "tea") == frozenset()
        assert containing(index, whole(2), "tea") == {Seq(4)}
        assert index.prefix_counts(whole(1)) == {"msg": 1}, "a fork of it may live on"
        assert index.check() == []

    def test_a_session_whose_opening_was_lost_is_known_by_its_other_records(
        self, index: PageIndex
    ) -> None:
        records = Records()
        records.add(0, Lost(reason="damaged"))
        records.say(1, "tea", turn=0)
        records.say(1, "coffee", turn=1)
        index.apply(records.events)
        [row] = index.sessions()
        assert (row.session, row.session_id, row.name) == (1, "recovered-1", "recovered-1")
        assert (row.parent, row.turns, row.pages, row.last_seq) == (0, 2, 2, 3)
        assert index.find_session("recovered-1") == row
        assert containing(index, whole(1), "tea") == {Seq(2)}
        assert index.check() == []

    def test_what_is_left_of_a_forgotten_session_makes_none(self, index: PageIndex) -> None:
        records = Records()
        records.add(1, Erased(type="session_opened"))
        records.add(1, Erased(type="chat_turn"))
        records.add(0, ForgetBegun(targets=((Seq(1), Seq(2)),), sessions=(SessionNo(1),)))
        index.apply(records.events)
        assert index.sessions() == []

    def test_a_fork_keeps_its_turns_though_only_a_receipt_tells_them(
        self, index: PageIndex
    ) -> None:
        records = Records()
        records.add(1, Erased(type="session_opened"))
        records.add(1, Erased(type="chat_turn"))
        fork = records.open("fork", parent=1, parent_seq=2).seq
        taken = Taken(session=SessionNo(fork), stem="msg", number=1, order=0, turns=4)
        records.add(0, ForgetBegun(targets=((Seq(1), Seq(2)),), taken=(taken,)))
        index.apply(records.events)
        [row] = index.sessions()
        assert (row.turns, row.pages) == (4, 1)

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,  # each subclass runs it, over another index
        ],
    )
    @given(data=st.data())
    def test_candidates_are_those_of_the_specification(
        self, index: PageIndex, data: st.DataObject
    ) -> None:
        # The index lives through all examples: each adds a session of its own.
        texts = data.draw(st.lists(TEXTS, min_size=1, max_size=12))
        query = data.draw(TEXTS)
        limit = data.draw(st.integers(0, 15))
        head = index.applied_seq()
        records = Records(after=head)
        session = records.open("drawn").seq
        for text in texts:
            records.say(session, text)
        index.apply(records.events)
        model = MemoryIndex()
        model.apply(_renumbered(records.events, head))
        scope = whole(session)
        words = list(dict.fromkeys(analyze(query)))
        terms: list[Sought] = [*words, tuple(words[:2])] if len(words) > 1 else [*words]
        expected = model.candidates(whole(session - head), terms, limit=limit)
        found = index.candidates(scope, terms, limit=limit)
        assert told(found) == told(expected)
        places = [*range(-1, len(texts) + 1)]
        assert traits(index, scope, places) == traits(model, whole(session - head), places)


def _renumbered(events: list[Event], by: int) -> list[Event]:
    records = Records()
    for event in events:
        body = event.body
        if isinstance(body, PageBody):
            records.add(event.session - by, body, turn=event.turn)
        else:
            records.add(0, body)
    return records.events
