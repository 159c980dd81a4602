"""Questions about a day, and other words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from pagefault.model.wanted import SearchFilter
from pagefault.recall import daily
from pagefault.recall.search import Searcher
from pagefault.store.in_memory.index import MemoryIndex
from pagefault.testing.index_contract import whole
from pagefault.testing.records import Records

TODAY = date(2026, 5, 12)  # a Tuesday
DAYS = 30


def diary() -> Records:
    """Three lines a day, by two people, in the thirty days before today."""
    records = Records()
    records.open("diary")
    for back in range(DAYS, 0, -1):
        at = datetime(2026, 5, 12, 9, tzinfo=UTC) - timedelta(days=back)
        for number, speaker in enumerate(("Ann", "Bob", "Ann")):
            when = (at + timedelta(hours=number)).isoformat()
            text = f"Walked round lake {'abcdefghij'[back % 10]}, it rained {number} times."
            records.say(1, text, speaker=speaker, occurred_at=when)
    return records


def days_found(query: str, *, limit: int = 3, wanted: SearchFilter | None = None) -> list[str]:
    """The days of what is found, best first; of her or him alone, if that is `wanted`."""
    records, index = diary(), MemoryIndex()
    index.apply(records.events)
    found = Searcher(index).search(
        whole(1), query, limit=limit, today=TODAY, wanted=wanted or SearchFilter()
    )
    told = {event.seq: event.body for event in records.events}
    return [told[hit.page.seq].occurred_at[:10] for hit in found.hits]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("What happened yesterday?", "2026-05-11"),
        ("What did we talk about last Friday?", "2026-05-08"),
        ("What happened three days ago?", "2026-05-09"),
        ("anything new on 3 May?", "2026-05-03"),
        ("2026-04-30", "2026-04-30"),
    ],
)
def test_what_was_said_on_a_day_is_found_by_the_day(query: str, day: str) -> None:
    assert days_found(query) == [day] * 3


def test_who_is_named_with_the_day_comes_first() -> None:
    assert days_found("What did Bob say yesterday?", limit=1) == ["2026-05-11"]
    records, index = diary(), MemoryIndex()
    index.apply(records.events)
    [best] = (
        Searcher(index).search(whole(1), "What did Bob say yesterday?", limit=1, today=TODAY).hits
    )
    assert records.events[best.page.seq - 1].body.speaker == "Bob"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("told", "query", "is_found"),
    [
        ("We fixed the fence last weekend.", "What happened on 2026-05-02?", True),
        ("We fixed the fence last weekend.", "What happened on 3 May 2026?", True),
        ("We fixed the fence last week.", "What happened on 30 April 2026?", True),
        ("We fixed the fence last weekend.", "What happened on 2026-05-01?", False),
        ("We fixed the fence last month.", "What happened on 2026-04-12?", False),
    ],
)
def test_what_a_page_says_of_a_weekend_or_week_is_found_by_one_of_its_days(
    told: str, query: str, is_found: bool
) -> None:
    records, index = Records(), MemoryIndex()
    records.open("diary")
    for back in range(60, 0, -1):
        at = datetime(2026, 6, 12, 9, tzinfo=UTC) - timedelta(days=back)
        text = (
            told if at.date() == date(2026, 5, 5) else f"Lake {'abcdefghij'[back % 10]} was cold."
        )
        if at.date() not in {date(2026, 5, 2), date(2026, 5, 3), date(2026, 4, 30)}:
            records.say(1, text, speaker="Ann", occurred_at=at.isoformat())
    index.apply(records.events)
    hits = Searcher(index).search(whole(1), query, limit=1, today=TODAY).hits
    assert [records.events[hit.page.seq - 1].body.text == told for hit in hits] == [is_found]  # type: ignore[union-attr]


def test_where_more_is_asked_for_words_decide() -> None:
    assert days_found("Which lake did it rain at, lake c?", limit=1)[0] in {
        f"2026-{(date(2026, 5, 12) - timedelta(days=back)).isoformat()[5:]}" for back in (2, 12, 22)
    }


def test_a_filter_holds_for_a_day_too() -> None:
    before = SearchFilter(until="2026-05-10")
    assert "2026-05-11" not in days_found("What happened yesterday?", wanted=before)


def test_of_a_long_time_the_last_pages_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily, "PAGES_MAX", 6)
    assert set(days_found("What happened last month?", limit=6)) == {"2026-04-29", "2026-04-30"}


def test_control_by_words_alone_yesterday_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily, "asks_of_days_alone", lambda asked, named: False)
    monkeypatch.setattr(daily, "any_within", lambda pages, spans: True)
    assert days_found("What happened yesterday?") != ["2026-05-11"] * 3


def days_of_songs(query: str) -> list[str]:
    """The days of what is found where the words of the query were said on another day."""
    records, index = diary(), MemoryIndex()
    records.say(1, "In April we never practise songs.", occurred_at="2026-04-20T09:00:00+00:00")
    index.apply(records.events)
    hits = Searcher(index).search(whole(1), query, limit=4, today=TODAY).hits
    return [records.events[hit.page.seq - 1].body.occurred_at[:10] for hit in hits]  # type: ignore[union-attr]


def test_if_the_words_find_nothing_of_a_day_its_pages_are_found() -> None:
    assert days_of_songs("Which songs did we practise on 3 May?")[:3] == ["2026-05-03"] * 3


def test_control_by_the_words_alone_nothing_of_that_day_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daily, "any_within", lambda pages, spans: True)
    assert "2026-05-03" not in days_of_songs("Which songs did we practise on 3 May?")


def test_of_a_day_without_pages_the_words_decide() -> None:
    assert days_of_songs("Which songs did we practise on 3 July?")[0] == "2026-04-20"
