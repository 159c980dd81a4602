"""The contract suites for event logs and blob stores: subclass one and provide the fixture."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from pagefault.model.errors import BadInput
from pagefault.model.events import (
    Erased,
    Lost,
    Opaque,
    PageBody,
    ScrubBegun,
    SessionOpened,
    erased,
)
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.model.kinds import SOME_TOOL, Origin
from pagefault.store.api import BlobStore, EventLog
from pagefault.store.codec import decode
from pagefault.testing.builders import opened, said


class EventLogContract:
    """A subclass has the fixture `log`: an empty log, fresh for each test."""

    def test_an_empty_log_has_no_records(self, log: EventLog) -> None:
        assert log.head() == NOTHING
        assert list(log.read()) == []
        log.sync()

    def test_what_is_appended_reads_back_at_once_and_equal(self, log: EventLog) -> None:
        events = log.append([opened(), said("one"), said('two \u2028 \U0001f600 \\ " \x00')])
        assert [log.get(event.seq) for event in events] == events
        assert list(log.read()) == events

    def test_seqs_count_from_one_without_gaps_across_appends(self, log: EventLog) -> None:
        seqs = [event.seq for n in (1, 3, 2) for event in log.append([said("x")] * n)]
        assert seqs == [1, 2, 3, 4, 5, 6]
        assert log.head() == 6

    def test_appending_nothing_changes_nothing(self, log: EventLog) -> None:
        log.append([said("x")])
        assert log.append([]) == []
        assert log.head() == 1

    def test_a_session_is_numbered_by_the_record_that_opens_it(self, log: EventLog) -> None:
        log.append([said("x")])
        first, _, second = log.append([opened(), said("y", session=2), opened()])
        assert isinstance(first.body, SessionOpened)
        assert (first.session, second.session) == (2, 4)

    def test_event_ids_are_unique(self, log: EventLog) -> None:
        events = log.append([said("x")] * 50)
        assert len({event.event_id for event in events}) == 50

    def test_a_seq_outside_the_log_is_an_index_error(self, log: EventLog) -> None:
        log.append([said("x")])
        for seq in (-1, 0, 2):
            with pytest.raises(IndexError):
                log.get(Seq(seq))

    def test_reading_starts_after_the_given_seq(self, log: EventLog) -> None:
        events = log.append([said(f"turn {n}") for n in range(40)])
        for after in (0, 1, 15, 16, 17, 39, 40, 41):
            assert list(log.read(Seq(after))) == events[after:]

    def test_reading_ends_with_the_given_seq(self, log: EventLog) -> None:
        events = log.append([said(f"turn {n}") for n in range(40)])
        for after, upto in ((0, 0), (0, 1), (3, 16), (15, 17), (16, 40), (16, 41), (17, 3)):
            assert list(log.read(Seq(after), Seq(upto))) == events[after:upto]

    def test_reading_sees_the_past_and_not_the_future(self, log: EventLog) -> None:
        log.append([said("past")])
        reader = log.read()
        log.append([said("future")])
        assert [event.seq for event in reader] == [1]

    def test_what_is_read_for_a_fold_or_past_damage_is_all_of_it(self, log: EventLog) -> None:
        events = log.append([opened(), *(said(f"turn {n}") for n in range(20))])
        for after in (0, 1, 7, 21):
            assert list(log.read_rest(Seq(after))) == events[after:]
            assert [one.seq for one in log.read_to_fold(Seq(after))] == [
                event.seq for event in events[after:]
            ]

    def test_the_records_of_one_type_are_found_whatever_a_text_quotes(self, log: EventLog) -> None:
        events = log.append([said('"type":"session_opened"'), opened(), said("x"), opened()])
        for after, expected in ((0, [events[1], events[3]]), (2, [events[3]]), (4, [])):
            assert list(log.of_type("session_opened", Seq(after))) == expected
        assert list(log.of_type("of_no_record")) == []

    def test_a_line_is_of_its_record_or_there_is_none(self, log: EventLog) -> None:
        events = log.append([said(f"tea {number} \n in a line") for number in range(40)])
        for wanted in (events, events[::3], events[35:], []):
            told = list(log.lines([event.seq for event in wanted]))
            assert [seq for seq, _ in told] == [event.seq for event in wanted]
            for (_, line), event in zip(told, wanted, strict=True):
                assert not line or decode(line + b"\n") == event
        log.erase([events[5].seq])
        [(_, line)] = log.lines([events[5].seq])
        assert b"tea 5" not in line

    def test_who_wrote_last_finds_nothing_new(self, log: EventLog) -> None:
        log.append([said("x")])
        assert log.is_current()
        log.refresh()
        log.refresh(log.head())
        assert (log.head(), log.is_current()) == (1, True)

    def test_a_sound_log_can_be_written_and_reports_nothing(self, log: EventLog) -> None:
        events = log.append([said("x"), said("y")])
        log.sync()
        assert log.refusal is None
        log.check_writable()
        log.check_reach([event.seq for event in events])
        assert (log.out_of_reach([Seq(1)]), log.archived([Seq(1)])) == ({}, frozenset())
        for report in (log.known(), log.audit()):
            assert (report.problems, report.advice, report.missing) == ((), (), 0)
            assert (report.recovery, report.strays, report.away) == ("", (), "")

    def test_a_log_beside_reads_the_same_and_its_end_ends_nothing(self, log: EventLog) -> None:
        events = log.append([said("x"), said("y")])
        log.sync()
        beside = log.beside(log.head())
        assert list(beside.read()) == events
        beside.close()
        assert log.append([said("z")])[0].seq == 3
        assert log.get(Seq(3)).body == said("z").body

    def test_a_key_is_kept_only_as_a_hash_of_key_and_session(self, log: EventLog) -> None:
        (event,) = log.append([said("x", session=7, key="order-1234")])
        assert "order" not in event.key
        assert event.key == log.hash_key(SessionNo(7), "order-1234")
        assert event.key != log.hash_key(SessionNo(8), "order-1234")
        assert log.hash_key(SessionNo(1), "2x") != log.hash_key(SessionNo(12), "x")

    def test_what_cannot_be_stored_is_refused_whole(self, log: EventLog) -> None:
        log.append([said("before")])
        infinite = said("x")
        assert isinstance(infinite.body, PageBody)
        for bad in (
            said("lone \ud800 surrogate"),
            replace(infinite, body=replace(infinite.body, importance=float("nan"))),
            replace(infinite, body=Erased(type="chat_turn")),
            replace(infinite, body=Lost(reason="mine")),
            replace(infinite, body=Opaque(type="chat_turn")),
            replace(opened(), session=SessionNo(1)),
        ):
            with pytest.raises(BadInput):
                log.append([said("fine"), bad])
            assert log.head() == 1
        assert log.append([said("after")])[0].seq == 2

    def test_an_erased_record_keeps_its_place_and_loses_its_body(self, log: EventLog) -> None:
        events = log.append([opened(), said("secret"), said("open")])
        assert log.erase([Seq(2)]) == 1
        gone = log.get(Seq(2))
        assert gone == replace(events[1], body=Erased(type="chat_turn"))
        assert list(log.read()) == [events[0], gone, events[2]]
        assert log.head() == 3

    def test_neither_a_key_nor_a_tools_name_outlives_an_erasure(self, log: EventLog) -> None:
        told = replace(said("10 °C", key="k"), origin=Origin("tool:weather"))
        _, event, after = log.append([said("a"), told, said("b")])
        assert (event.origin, bool(event.key)) == ("tool:weather", True)
        assert log.erase([event.seq]) == 1
        gone = log.get(event.seq)
        assert (gone.origin, gone.key) == (SOME_TOOL, "")
        assert gone == erased(event)
        assert log.get(after.seq) == after

    def test_erasing_twice_is_harmless(self, log: EventLog) -> None:
        log.append([said("a"), said("b")])
        assert log.erase([]) == 0
        assert log.erase([Seq(1), Seq(1)]) == 1
        assert log.erase([Seq(1), Seq(2)]) == 1
        assert log.erase([Seq(1), Seq(2)]) == 0

    def test_erasing_what_is_not_there_is_an_index_error_and_erases_nothing(
        self, log: EventLog
    ) -> None:
        (event,) = log.append([said("a")])
        with pytest.raises(IndexError):
            log.erase([Seq(1), Seq(2)])
        assert log.get(Seq(1)) == event

    def test_appending_goes_on_after_an_erasure(self, log: EventLog) -> None:
        log.append([said("a")])
        log.erase([Seq(1)])
        (event,) = log.append([said("b")])
        log.sync()
        assert log.get(Seq(2)) == event

    def test_a_revised_record_reads_as_it_was_staged_in_its_own_place(self, log: EventLog) -> None:
        first, event, after = log.append([opened(), said("secret", key="k"), said("open")])
        assert isinstance(event.body, PageBody)
        new = replace(event, body=replace(event.body, text="***"), key="")
        vouched = log.stage([new, erased(after)], ["a blob"])
        targets = ((event.seq, after.seq),)
        [begun] = log.append(
            [replace(said(""), body=ScrubBegun(targets=targets, vouches=vouched), key="")]
        )
        assert list(log.read()) == [first, event, after, begun], "not before it is said"
        for _ in range(2):
            assert log.revise(vouched) == ["a blob"]
            assert list(log.read()) == [first, new, erased(after), begun]
        log.unstage()
        assert list(log.read()) == [first, new, erased(after), begun]
        assert log.append([said("more")])[0].seq == 5
        assert b"***" in log.payload(Seq(2))

    def test_readers_are_never_disturbed_by_the_writer(self, log: EventLog) -> None:
        """Readers get every record they ask for, whole, while others are written."""
        log.append([said("turn 1", order=1)])
        wrong: list[str] = []
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                for event in log.read(Seq(max(0, log.head() - 40))):
                    again = log.get(event.seq)
                    texts = {e.body.text for e in (event, again) if isinstance(e.body, PageBody)}
                    if texts - {f"turn {event.seq}"}:
                        wrong.append(f"{event.seq}: {texts}")

        readers = [threading.Thread(target=look) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            for n in range(2, 302, 2):
                log.append([said(f"turn {n}", order=n), said(f"turn {n + 1}", order=n + 1)])
                if n % 60 == 0:
                    log.erase([Seq(n - 7)])
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert wrong == []


class BlobStoreContract:
    """A subclass has the fixture `blobs`: an empty blob store, fresh for each test."""

    def test_a_blob_reads_back(self, blobs: BlobStore) -> None:
        for data in (b"", b"x", bytes(range(256)) * 1000):
            assert blobs.get(blobs.put(data)) == data

    def test_the_same_bytes_have_the_same_name(self, blobs: BlobStore) -> None:
        assert blobs.put(b"x") == blobs.put(b"x")
        assert blobs.put(b"x") != blobs.put(b"y")
        assert len(list(blobs.names())) == 2

    def test_a_name_does_not_tell_the_content(self, blobs: BlobStore) -> None:
        """Guessed bytes cannot be confirmed: the name is not a plain hash of them."""
        import hashlib

        name = blobs.put(b"guess me")
        assert name not in {hashlib.new(h, b"guess me").hexdigest() for h in ("sha256", "blake2s")}

    def test_what_is_not_there_is_a_key_error(self, blobs: BlobStore) -> None:
        for name in ("0" * 64, "", "../../etc/passwd", "x/y"):
            with pytest.raises(KeyError):
                blobs.get(name)
            assert blobs.delete(name) is False
            assert not blobs.holds(name)

    def test_a_deleted_blob_is_gone_and_can_come_back(self, blobs: BlobStore) -> None:
        name = blobs.put(b"x")
        assert blobs.holds(name)
        assert blobs.delete(name) is True
        assert not blobs.holds(name)
        assert blobs.delete(name) is False
        assert list(blobs.names()) == []
        with pytest.raises(KeyError):
            blobs.get(name)
        assert blobs.put(b"x") == name

    def test_names_lists_every_blob_once(self, blobs: BlobStore) -> None:
        names = {blobs.put(bytes([n])) for n in range(20)}
        assert sorted(blobs.names()) == sorted(names)
