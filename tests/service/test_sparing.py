"""What a session spares by itself, where its tokens go, and how hard its window is pressed."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagefault
from pagefault import Limits, Session
from pagefault.model.errors import PinsFull
from pagefault.paging.pressure import Pressure
from pagefault.policy.steady import Steady
from tests.service.memories import check_request, fault, faulted, text_of, words

pytestmark = pytest.mark.slow

CATALOGUE = "The quick survey of {topic} says that {topic} costs {n} and lasts until {n} May."


async def test_repeated_access_hits_the_tlb(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=2_000) as memory:
        session = await memory.session("s")
        for number in range(25):
            await session.user(f"Message {number}: {words(60)}")
            await session.request()
            await session.assistant(words(60))
        for _ in range(12):
            for number in range(1, 20):
                await session.page(f"msg_{number}")
        rate = (await session.status()).tlb_hit_rate
        assert rate is not None
        assert rate > 0.8


async def test_what_an_opening_looks_up_counts_for_nothing(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path, window=2_000) as memory:
        session = await memory.session("s")
        for number in range(20):
            await session.user(f"Message {number}. " + words(40, f"x{number}y"))
            await session.request()
            await session.assistant(words(40, f"z{number}a"))
    async with pagefault.open(tmp_path) as memory:
        session = await memory.session("s")
        status = await session.status()
        assert (status.tlb_hits, status.tlb_misses) == (0, 0)
        metrics = await session.metrics()
        assert "tlb_hit_rate" not in [one.target.name for one in metrics.red_flags]


async def test_control_a_tlb_that_keeps_nothing_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.paging.tlb.TLB.insert", lambda self, row: None)
    with pytest.raises(AssertionError):
        await test_repeated_access_hits_the_tlb(tmp_path)


async def test_the_budget_of_a_window_adds_up_at_every_turn(tmp_path: Path) -> None:
    """CASES 1."""
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s", system="Be brief.")
        picture = await session.artifact(b"\x89PNG", name="plan.png", text="The plan of the hall.")
        for number in range(15):
            await session.user(f"Message {number}: {words(80)} {picture}")
            request = await session.request()
            budget = (await session.status()).budget
            assert budget.total == 3_000
            assert budget.used + budget.reserved == request.tokens
            assert budget.available == budget.total - request.tokens >= 0
            assert min(budget.text, budget.image, budget.reserved_head, budget.reserved_tools) >= 0
            await session.assistant(words(40))
        early = budget
        assert early.reserved_tools > 0
        assert early.reserved_head > 0


async def test_an_image_in_the_window_is_counted_as_one(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.artifact(b"\x89PNG", name="plan.png", text="The plan of the hall.")
        await session.user("Look.")
        await session.request()
        budget = (await session.status()).budget
        assert budget.image > 0
        assert budget.audio == budget.video == 0


async def test_the_goal_stays_in_the_window_until_the_next_takes_its_place(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("Hello")
        first = await session.goal("Ship the ledger by Friday.")
        assert first is not None
        for number in range(20):
            await session.user(f"Message {number}: {words(80)}")
            request = await session.request()
            check_request(request, f"Message {number}: ")
            assert "Ship the ledger by Friday." in text_of(request), number
            await session.assistant(words(80))
        status = await session.status()
        assert status.epoch > 1
        assert status.auto_pins.goal == first
        assert first in status.pinned
        second = await session.goal("Ship it by Monday.")
        assert second is not None
        assert f"supersedes {first}" in text_of(await session.request())
        status = await session.status()
        assert status.auto_pins.goal == second
        assert second in status.pinned
        assert first not in status.pinned
    async with pagefault.open(tmp_path / "m", window=3_000) as memory:
        session = await memory.session("s")
        assert (await session.status()).auto_pins.goal == second
        assert await session.goal("") is None
        status = await session.status()
        assert status.auto_pins.goal == ""
        assert second not in status.pinned


async def test_a_goal_stands_beside_claims_and_is_none_of_them(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        await session.goal("Ship the ledger by Friday.")
        await session.user("Decision: we use PostgreSQL for the ledger.")
        await session.goal("Ship it by Monday.")
        await session.user("Decision: we use MySQL for the ledger.")
        await session.goal("")
        await session.user("What is the goal for the ledger?")
        await session.request()
        assert all("Ship" not in told.text for told in await session.claims())
        assert (await session.recall("ship ledger Friday")).total >= 0


async def test_a_goal_larger_than_the_pins_allow_is_refused_and_the_old_one_stands(
    tmp_path: Path,
) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        await session.user("Hello")
        first = await session.goal("Ship it.")
        with pytest.raises(PinsFull):
            await session.goal(words(900))
        assert (await session.status()).auto_pins.goal == first


async def test_the_status_says_what_is_spared_by_itself(tmp_path: Path) -> None:
    """CASES 8."""
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s", system="Be brief.")
        for number in range(16):
            page = await session.user(f"Message {number}: {words(90)}")
            await session.request()
            answer = await session.assistant(words(90))
            pins = (await session.status()).auto_pins
            assert pins.head_tokens > 0
            assert pins.tools_tokens > 0
            assert {page, answer} <= set(pins.last_turns) <= set(session.resident())
            assert all(one.startswith("msg_") for one in pins.last_turns), "a summary is no turn"


async def test_what_a_callback_raises_loses_no_request(tmp_path: Path) -> None:
    def fails(before: object, now: object) -> None:
        raise RuntimeError("the light is broken")

    async with pagefault.open(tmp_path, window=1_500) as memory:
        session = await memory.session("s")
        session.on_pressure(fails)

        async def talk() -> None:
            for number in range(20):
                await session.user(f"Message {number}. " + words(40))
                await session.request()

        with pytest.raises(RuntimeError, match="light"):
            await talk()
        newest = (await session.status()).turns - 1
        request = await session.request()
        assert f"Message {newest}. " in text_of(request)
        assert await session.request() == request


async def test_pressure_is_told_and_grows_with_use(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000) as memory:
        session = await memory.session("s")
        heard: list[tuple[Pressure, Pressure]] = []
        end = session.on_pressure(lambda before, now: heard.append((before, now)))
        await session.user("Hello")
        await session.request()
        assert (await session.status()).pressure.level == "low"
        await session.user(words(900))
        await session.request()
        assert (await session.status()).pressure.level in ("high", "critical")
        end()
        assert heard[0][0] is Pressure.LOW
        assert heard[-1][1] >= Pressure.HIGH
        before = (await session.status()).pressure
    async with pagefault.open(tmp_path / "m", read_only=True) as memory:
        again = (await (await memory.session("s", create=False)).status()).pressure
        assert (again.level, again.used) == (before.level, before.used)


TOPICS = ("otters", "granite")


async def toggled(session: Session, turns: int) -> tuple[int, int]:
    """Two topics in turn, the model faulting what it needs of each: pages brought back, and how
    many of them had left within the five turns before.
    """
    pages = []
    for topic in TOPICS:
        for n in range(3):
            said = CATALOGUE.format(topic=topic, n=n + 10) + " " + words(20, f"{topic}{n}x")
            pages.append(await session.user(said))
            await session.request()
            await session.assistant("Noted.")
    left: dict[str, int] = {}
    brought = thrashed = 0
    resident = set(session.resident())
    for turn in range(turns):
        await session.user(f"Round {turn}. " + words(20, f"r{turn}q"))
        await session.request()
        wanted = pages[:3] if turn % 2 == 0 else pages[3:]
        page = wanted[turn // 2 % 3]
        if page not in session.resident():
            result = await faulted(session, fault(page))
            if "page" in result:
                brought += 1
                thrashed += turn - left.get(page, -99) <= 5
        await session.request()
        await session.assistant(f"It is so [ref: {page}].")
        now = set(session.resident())
        left |= dict.fromkeys(resident - now, turn)
        resident = now
    return brought, thrashed


async def test_two_topics_in_turn_do_not_thrash(tmp_path: Path) -> None:
    """CASES 10: the chat's own verbs are the only clock."""
    async with pagefault.open(tmp_path / "m", sync="os", window=5_000) as memory:
        session = await memory.session("s")
        brought, thrashed = await toggled(session, 60)
        assert (await session.status()).epoch > 1
        assert brought > 0
        assert thrashed / 60 < 0.5


async def test_a_page_faulted_in_this_turn_is_still_there_in_the_next(tmp_path: Path) -> None:
    """Though no turn is spared for its own sake, the window is full, and nothing is brought in but
    by faults.
    """
    limits = Limits(last_turns_kept=0, recall_tokens_max=0)
    async with pagefault.open(tmp_path / "m", sync="os", window=3_000, limits=limits) as memory:
        session = await memory.session("s")
        page = await session.user(CATALOGUE.format(topic="otters", n=7))
        for number in range(15):
            await session.user(f"Message {number}: {words(80)}")
            await session.request()
            await session.assistant(words(80))
        epochs = 0
        for number in range(5):
            await session.user(f"Next {number}: {words(40)}")
            await session.request()
            result = await faulted(session, fault(page))
            is_fetched = result["page"]["content"]["text"] != ""
            await session.assistant(words(40))
            await session.user(f"And then {number}: {words(520)}")
            before = (await session.status()).epoch
            await session.request()
            epochs += is_fetched and (await session.status()).epoch > before
            assert page in session.resident() or not is_fetched, (
                "it left in the turn after it was faulted"
            )
            await session.assistant(words(40))
        assert epochs > 1


async def test_every_session_has_the_steady_policy_around_its_own(tmp_path: Path) -> None:
    for policy in ("lru", "importance_weighted_lru"):
        from pagefault.service.bootstrap import open_memory

        async with open_memory(tmp_path / policy, sync="os", eviction_policy=policy) as memory:
            assert isinstance(memory._runtime.policy(), Steady)


async def test_control_without_it_a_page_leaves_in_the_turn_after_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Steady, "faulted", lambda self, page_id: None)
    with pytest.raises(AssertionError, match="it left in the turn after"):
        await test_a_page_faulted_in_this_turn_is_still_there_in_the_next(tmp_path)


async def test_a_blank_goal_is_refused_and_the_one_that_stands_stays(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", sync="os") as memory:
        session = await memory.session("s")
        stands = await session.goal("Ship the ledger by Friday.")
        with pytest.raises(pagefault.BadInput, match="must not be blank") as refused:
            await session.goal("  \n")
        assert refused.value.hint
        assert (await session.status()).auto_pins.goal == stands
