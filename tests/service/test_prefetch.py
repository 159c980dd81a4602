"""Reading ahead: of use, free of charge for the model, and judged by the log."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

import pagefault
from pagefault import Limits, Memory, Session
from pagefault.model.errors import BadInput
from pagefault.model.events import Packed
from pagefault.model.ids import PageId
from pagefault.policy.prefetch import LOADING, Facts, Habits, wishes
from pagefault.service.flights import Flights
from pagefault.service.turn.prefetch import Prefetcher
from tests.service.memories import fault, faulted, text_of, without_numbers, words

PARTS = 6


async def begun(memory: Memory, turns: int = 25) -> tuple[Session, list[Any]]:
    """A session with a document of several pages, none of them in the window or in memory."""
    session = await memory.session("s")
    text = "\n\n".join(f"Chapter {n}. " + words(90, f"c{n}w") for n in range(PARTS))
    pages = await session.document(text, title="book")
    for number in range(turns):
        await session.user(f"Message {number}. " + words(30, f"x{number}y"))
        await session.request()
        await session.assistant(words(30, f"z{number}a"))
    await session.prefetcher.idle()
    memory._runtime.pages.flush()
    return session, pages


def recorded(memory: Memory, session: Session) -> tuple[list[PageId], list[PageId]]:
    """What the log says was read ahead, and what of it was used."""
    events = memory._runtime.events_of(session.session, ("packed",))
    bodies = [event.body for event in events if isinstance(event.body, Packed)]
    loaded = [page for body in bodies for page in body.prefetched]
    return loaded, [page for body in bodies for page in body.prefetch_used]


LIMITS = {
    # What recall brings in by itself is another matter.
    name: Limits(page_tokens_max=300, recall_tokens_max=0, loading=name)
    for name in LOADING
}


async def read_through(session: Session, pages: list[Any]) -> None:
    """The model reads the document, a page a turn."""
    for page in pages:
        await session.user("Go on. " + words(5))
        await session.request()
        assert "page" in await faulted(session, fault(page))
        await session.request()
        await session.prefetcher.idle()
        await session.assistant("Read.")


async def test_who_reads_on_finds_the_next_page_at_hand(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=5_400, limits=LIMITS["contextual"]
    ) as memory:
        session, pages = await begun(memory)
        await read_through(session, pages)
        await session.user("Done.")
        await session.request()
        status = (await session.status()).prefetch
        assert status.hit_rate is not None
        loaded, used = recorded(memory, session)
        # Of the book alone: what recall wanted meanwhile counts as used, too.
        assert len(set(used) & set(pages)) >= 7
        assert len(used) == status.used
        assert set(used) <= set(loaded)


async def test_on_demand_reads_nothing_ahead(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=5_400, limits=LIMITS["on_demand"]
    ) as memory:
        session, pages = await begun(memory)
        await read_through(session, pages)
        assert (await session.status()).prefetch.loaded == 0
        assert recorded(memory, session) == ([], [])


async def test_reading_ahead_leaves_the_models_whole_quota_and_its_window(tmp_path: Path) -> None:
    """CASES 5."""
    requests = []
    for name in ("on_demand", "speculative"):
        root = tmp_path / name
        limits = LIMITS[name]
        async with pagefault.open(root, sync="os", window=5_400, limits=limits) as memory:
            session, pages = await begun(memory)
            await session.user(f"What do {pages[0]}, {pages[1]} and {pages[2]} say?")
            request = await session.request()
            await session.prefetcher.idle()
            status = await session.status()
            assert status.faults_left == memory.limits.faults_per_turn_max
            rows = [session.owned.state.find_row(page) for page in pages[:3]]
            at_hand = [row is not None and memory._runtime.pages.holds(row) for row in rows]
            if name == "speculative":  # what recall looked at is at hand, too, and not read again
                assert all(at_hand)
            else:
                assert status.prefetch.loaded == 0
            assert not set(pages) & set(session.resident())
            requests.append(without_numbers(text_of(request)))
    assert requests[0] == requests[1], "what was read ahead shows in the request"


async def test_a_change_of_topic_cancels_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=5_400, limits=LIMITS["speculative"]
    ) as memory:
        session, pages = await begun(memory)

        async def nobody_reads(self: Prefetcher, state: Any) -> None: ...

        monkeypatch.setattr(Prefetcher, "_read_on", nobody_reads)
        await session.user(f"Otters otters otters {' '.join(pages)}")
        await session.request()
        waiting = (await session.status()).prefetch.waiting
        assert waiting > 0
        await session.user("Granite granite granite.")
        await session.request()
        assert (await session.status()).prefetch.cancelled >= waiting


async def test_closing_waits_for_nothing_that_is_only_wished_for(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=5_400, limits=LIMITS["speculative"]
    ) as memory:
        session, pages = await begun(memory)
        await session.user(" ".join(pages))
        await session.request()
    assert (session.prefetcher.status()).waiting == 0


async def test_what_was_forgotten_is_not_kept_at_hand(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "m", sync="os", window=5_400, limits=LIMITS["speculative"]
    ) as memory:
        session, pages = await begun(memory)
        await session.user(f"See {pages[3]}.")
        await session.request()
        await session.prefetcher.idle()
        await memory.forget("s", pages[3])
        with pytest.raises((pagefault.RecordGone, pagefault.NoSuchPage)):
            await session.page(pages[3])


class Wishes:
    """A strategy of a caller's: always the same pages."""

    weight = 0.99

    def __init__(self, name: str, *page_ids: str) -> None:
        self.name = name
        self.page_ids = page_ids
        self.told: list[Facts] = []

    def pages(self, facts: Facts) -> list[str]:
        self.told.append(facts)
        return list(self.page_ids)


class Fails(Wishes):
    def pages(self, facts: Facts) -> list[str]:
        raise KeyError(self.name)


async def test_a_strategy_of_the_caller_s_is_asked_and_what_it_names_is_at_hand(
    tmp_path: Path,
) -> None:
    mine = Wishes("mine", "nonsense", "msg_999", "art_5")
    async with pagefault.open(
        tmp_path, window=3_000, limits=LIMITS["on_demand"], prefetch=[mine]
    ) as memory:
        session, pages = await begun(memory)
        assert pages[4] == "art_5"
        loaded, _ = recorded(memory, session)
        assert set(loaded) == {"art_5"}
        await session.user("Go on.")
        await session.request()
        assert "page" in await faulted(session, fault("art_5"))
        await session.request()
        assert recorded(memory, session)[1] == ["art_5"]
        assert (await session.metrics()).figures["prefetch_hit_rate"] > 0
        assert (await session.status()).prefetch.failure == ""
    assert mine.told


async def test_a_strategy_that_fails_costs_its_wishes_and_no_request(tmp_path: Path) -> None:
    strategies = [Fails("broken"), Wishes("mine", "art_5")]
    async with pagefault.open(
        tmp_path, window=3_000, limits=LIMITS["on_demand"], prefetch=strategies
    ) as memory:
        session, _ = await begun(memory, turns=2)
        assert recorded(memory, session)[0] == ["art_5"]
        assert (await session.status()).prefetch.failure == "broken: KeyError('broken')"


def test_an_unknown_loading_strategy_is_refused() -> None:
    with pytest.raises(BadInput, match="loading"):
        Limits(loading="eager")


def test_what_was_read_before_a_tool_is_wished_for_when_it_is_called_again() -> None:
    habits = Habits()
    a, b = PageId("msg_1"), PageId("msg_2")
    habits.called("weather", [a])
    habits.called("weather", [a, b])
    habits.used(b, after=a)
    facts = Facts(tools=["weather"], used=[a], habits=habits)
    found = {wish.strategy: wish.page_id for wish in wishes(LOADING["predictive"], facts)}
    assert found["learned"] == b
    first = min(w for w in wishes(LOADING["predictive"], facts) if w.strategy != "learned")
    assert (first.page_id, first.strategy) == (a, "tool_prerequisites")


@pytest.mark.parametrize("loading", LOADING)
def test_each_strategy_loads_what_the_one_before_does_and_more(loading: str) -> None:
    names = list(LOADING)
    earlier = LOADING[names[max(0, names.index(loading) - 1)]]
    assert set(earlier) <= set(LOADING[loading])


def test_two_that_want_a_page_at_once_read_it_once() -> None:
    flights: Flights[str, int] = Flights()
    both_ask, reads, got = Barrier(2), [], []
    is_in = Barrier(2)

    def fetch() -> int:
        reads.append(1)
        is_in.wait(300)  # the other one has asked by now
        return 7

    def first() -> None:
        both_ask.wait(300)
        got.append(flights.fly("page", fetch))

    def second() -> None:
        both_ask.wait(300)
        while "page" not in flights._flying:
            pass
        waiting = Thread(target=lambda: got.append(flights.fly("page", fetch)))
        waiting.start()
        is_in.wait(300)
        waiting.join(300)

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert got == [7, 7]
    assert len(reads) == 1
    assert flights._flying == {}


def test_a_flight_that_fails_fails_for_all_and_the_next_may_succeed() -> None:
    flights: Flights[str, int] = Flights()

    def fail() -> int:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        flights.fly("page", fail)
    assert flights.fly("page", lambda: 1) == 1


def test_a_failure_is_told_to_all_who_wait_for_it() -> None:
    flights: Flights[str, int] = Flights()
    told: list[str] = []

    def wait() -> None:
        with pytest.raises(OSError, match="gone"):
            flights.fly("page", lambda: 1)
        told.append("gone")

    waiting = Thread(target=wait)

    def fail() -> int:
        waiting.start()
        while flights._flying["page"] is None:
            pass
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        flights.fly("page", fail)
    waiting.join(300)
    assert told == ["gone"]
