"""A bill tells what was paid beside what the client alone would have paid, and flatters nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pagefault
from pagefault import Bill, BillRow, Usage
from pagefault.model.catalogue import find_model
from pagefault.pack.bill import BillItem, add_up
from pagefault.pack.ledger import Disagreement
from pagefault.proxy.history.history import Json
from tests.proxy.histories import FACT, long_talk, model, text, user
from tests.proxy.histories import body as unnamed
from tests.proxy.standing import Standing, post, standing
from tests.proxy.upstream import Say, Seen, Upstream, always

CHEAP = "deepseek-v4-pro"  # caches from 64 tokens on, without marks
MARKED = "claude-sonnet-5"  # caches at marks alone
PRICES = find_model(CHEAP).prices


@pytest.fixture
def upstream() -> Any:
    with Upstream(always("Understood.")) as provider:
        yield provider


def body(*messages: Json, asked: str = CHEAP, **more: Any) -> Json:
    return unnamed(*messages, **more) | {"model": asked}


async def talk(to: Standing, turns: int, *, asked: str = CHEAP) -> list[Json]:
    """A conversation in which the client sends its whole history each time."""
    said = long_talk(turns)
    for upto in range(1, len(said) + 1, 2):
        assert (await post(to, body(*said[:upto], asked=asked))).status_code == 200
    return said


async def the_bill(to: Standing, **asked: Any) -> Bill:
    await to.proxy.settled()
    return await to.memory.bill(**asked)


def counted(words: int, cached: int) -> Say:
    return Say(text="Understood.", input_tokens=words, cached_tokens=cached)


def words_of(value: Any) -> int:
    """About what `COUNTER` counts of a request, as a provider would."""
    if isinstance(value, dict):
        return sum(map(words_of, value.values()))
    if isinstance(value, list):
        return sum(map(words_of, value))
    return len(str(value).split())


# --- both sides ---------------------------------------------------------------------------------


async def test_what_only_passes_costs_what_it_would_have(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await talk(to, 8)
        told = (await the_bill(to)).total
    assert told.tokens == told.without_tokens
    assert told.cost == told.without_cost > 0
    assert told.net == told.left_tokens == told.rewritten.requests == 0
    assert told.cached_share == told.without_cached_share


async def test_without_us_the_whole_history_is_sent_and_read_from_the_cache(
    upstream: Upstream,
) -> None:
    async with standing(upstream) as to:
        await talk(to, 40)
        whole = (await the_bill(to)).total
    async with standing(upstream, window=900) as to:
        await talk(to, 40)
        paged = (await the_bill(to)).total
    assert paged.tokens < whole.tokens
    assert paged.without_tokens == whole.tokens
    assert paged.without_cost == pytest.approx(whole.cost)
    assert paged.without_cached_share == pytest.approx(whole.cached_share)
    assert paged.net == pytest.approx(whole.cost - paged.cost)
    assert paged.left_tokens > 0


async def test_epochs_and_what_is_put_in_are_told_apart(upstream: Upstream) -> None:
    async with standing(upstream, window=900) as to:
        said = await talk(to, 30)
        await post(to, body(*said, user("Who keeps the launch code of project Heron?")))
        told = (await the_bill(to)).total
        epochs = sum("epoch" in line for line in await to.lines())
    assert told.rewritten.requests == epochs > 0
    assert 0 < told.rewritten.tokens < told.tokens - told.cached_tokens
    assert told.rewritten.cost > 0
    assert told.misses["epoch"].cost == told.rewritten.cost
    assert FACT in str(upstream.seen[-1].body["messages"][-1])
    assert told.added.tokens > 0
    assert told.added.cost > 0


async def test_a_rewrite_that_does_not_pay_is_a_loss(upstream: Upstream) -> None:
    """A window that is rewritten all the time, beside a history that is read cheaply."""
    async with standing(upstream, window=420) as to:
        await talk(to, 14)
        told = (await the_bill(to)).total
    assert told.cost > told.without_cost
    assert told.net < 0
    assert told.to_dict()["net"] < 0


async def test_a_client_that_rewrites_its_reminders_would_have_paid_for_that(
    upstream: Upstream,
) -> None:
    """The proxy sends again what it sent before; the client alone would break its own prefix."""
    said = long_talk(6)

    def reminded(n: int) -> list[Json]:
        first = user(f"<system-reminder>\nIt is {n} o'clock.\n</system-reminder>", FACT)
        return [first, *said[1 : 2 * n + 1]]

    async with standing(upstream, window=9_000) as to:
        to.http.headers["x-claude-code-session-id"] = "one"
        for n in range(1, 6):
            await post(to, body(*reminded(n)))
        told = (await the_bill(to)).total
    assert told.without_cached_tokens < told.cached_tokens
    assert told.cost < told.without_cost


# --- why nothing was read -----------------------------------------------------------------------


async def test_of_a_client_that_marks_nothing_nothing_is_cached_and_the_reason_is_said(
    upstream: Upstream,
) -> None:
    async with standing(upstream) as to:
        await talk(to, 30, asked=MARKED)
        told = (await the_bill(to)).total
    assert told.cached_tokens == told.without_cached_tokens == 0
    assert told.cost == told.tokens, "plain input: nothing is written to a cache either"
    assert set(told.misses) == {"unmarked"}
    assert told.unmarked.requests == told.requests
    assert told.marking_saves > 0


async def test_control_of_one_that_marks_it_is(upstream: Upstream) -> None:
    said = long_talk(30)
    async with standing(upstream) as to:
        for upto in range(1, len(said) + 1, 2):
            marked = user(text(said[upto - 1]["content"][0]["text"], mark=True))
            await post(to, body(*said[: upto - 1], marked, asked=MARKED))
        told = (await the_bill(to)).total
    assert told.cached_tokens > 0
    assert told.unmarked.requests == told.marking_saves == 0
    assert "unmarked" not in told.misses


async def test_a_client_that_begins_to_mark_finds_an_empty_cache_with_or_without_us(
    upstream: Upstream,
) -> None:
    said, bills = long_talk(30), []
    async with standing(upstream) as to:
        for upto, mark in ((57, False), (59, True), (61, True)):
            last = user(text(said[upto - 1]["content"][0]["text"], mark=mark))
            await post(to, body(*said[: upto - 1], last, asked=MARKED))
            bills.append((await the_bill(to)).total)
    _, begun, told = bills
    assert set(told.misses) == {"unmarked"}
    assert told.misses["unmarked"].requests == 1
    assert begun.cached_tokens == begun.without_cached_tokens == 0
    assert told.cached_tokens == told.without_cached_tokens > 0, "the next one reads what it wrote"


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (body(user("Another. " + FACT * 40)), "begun"),
        (body(user(FACT * 40), model("Understood."), tools=[{"name": "Read"}]), "reinstructed"),
        (body(user(FACT * 40), asked="deepseek-v4-1-flash"), "remodelled"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
async def test_what_the_client_changed_is_the_client_s(
    upstream: Upstream, second: Json, why: str
) -> None:
    async with standing(upstream) as to:
        await post(to, body(user(FACT * 40)))
        await post(to, second)
        told = (await the_bill(to)).total
    assert set(told.misses) == {why}
    assert told.misses[why].tokens > 0


# --- reports ------------------------------------------------------------------------------------


def scripted(cached: float) -> Any:
    """A provider that reads this share of the request before from its cache."""
    before = [0]

    def script(seen: Seen) -> Say:
        words, last = words_of(seen.body["messages"]) * 2, before[0]
        before[0] = words
        return counted(words, int(min(last, words) * cached))

    return script


async def test_a_report_takes_the_place_of_an_estimate(upstream: Upstream) -> None:
    upstream.script = scripted(1.0)
    async with standing(upstream) as to:
        await talk(to, 10)
        told = (await the_bill(to)).total
        entries = await (await to.memory.session((await to.sessions())[0])).ledger()
    usages = [entry.reported for entry in entries]
    assert told.estimated == 0
    assert told.reported.requests == told.requests
    assert told.tokens == sum(one.input_tokens for one in usages if one is not None)
    assert told.cached_tokens == sum(one.cached_tokens or 0 for one in usages if one is not None)
    assert told.cost == pytest.approx(
        PRICES.read * told.cached_tokens + (told.tokens - told.cached_tokens)
    )


async def test_control_without_a_report_all_is_estimated(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await talk(to, 10)
        told = (await the_bill(to)).total
    assert told.estimated == told.requests == 11
    assert told.reported.requests == 0


async def test_a_provider_that_reads_less_speaks_against_us_alone(upstream: Upstream) -> None:
    upstream.script = scripted(0.3)
    async with standing(upstream) as to:
        await talk(to, 10)
        told = (await the_bill(to)).total
    assert told.cost > told.without_cost
    assert told.misses["provider"].tokens > 0


async def test_one_that_never_caches_would_not_have_cached_the_client_s_either(
    upstream: Upstream,
) -> None:
    upstream.script = scripted(0.0)
    async with standing(upstream) as to:
        await talk(to, 10)
        told = (await the_bill(to)).total
    assert told.cached_tokens == told.without_cached_tokens == 0
    assert told.cost == pytest.approx(told.without_cost)


async def test_after_a_restart_both_sides_go_on(upstream: Upstream, tmp_path: Path) -> None:
    root, said = tmp_path / "memory", long_talk(6)
    async with standing(upstream, root=root) as to:
        await talk(to, 5)
    async with standing(upstream, root=root) as to:
        await post(to, body(*said))
        told = (await the_bill(to)).total
    assert told.cost == told.without_cost
    assert told.misses.get("cold") is None


# --- what cannot be priced ----------------------------------------------------------------------


async def test_of_a_model_that_nobody_knows_there_are_tokens_alone(upstream: Upstream) -> None:
    async with standing(upstream, window=900) as to:
        await talk(to, 12, asked="nobody-knows-it")
        told = await the_bill(to, per_million={"": 5.0})
    plain = told.total.to_dict()
    assert told.total.tokens > 0
    assert told.total.unpriced == told.total.requests
    for name in ("cost", "without_cost", "net", "net_share", "money", "net_money"):
        assert plain[name] is None
    assert told.prices == {}


async def test_control_with_a_price_list_of_one_s_own_it_is_priced(tmp_path: Path) -> None:
    async with pagefault.open(
        tmp_path / "memory", prices=pagefault.find_prices("0.1/1.25")
    ) as memory:
        session = await memory.session("one")
        await session.user("Hello")
        await session.request()
        told = await memory.bill(per_million={"": 5.0})
    assert told.total.cost > 0
    assert told.total.money == pytest.approx(told.total.cost * 5 / 1_000_000)


async def test_beyond_the_model_s_window_there_is_no_request_to_compare(
    upstream: Upstream,
) -> None:
    large = [user(f"garden{n} " + "leaf " * 45_000) for n in range(4)]
    said = [one for n in range(4) for one in (large[n], model("Understood."))]
    async with standing(upstream, window=60_000, body_bytes_max=10_000_000) as to:
        for upto in range(1, len(said), 2):
            await post(to, body(*said[:upto]))
        told = (await the_bill(to)).total
    assert find_model(CHEAP).window_tokens == 128_000
    assert told.requests == 4
    assert told.impossible.requests == 2
    assert told.compared.requests == 2
    assert told.without_tokens < 2 * 128_000
    assert told.cost == pytest.approx(told.compared.cost + told.impossible.cost)
    assert told.net == pytest.approx(told.without_cost - told.compared.cost)


# --- rows ---------------------------------------------------------------------------------------


async def test_rows_are_sessions_days_or_models_and_add_up(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        await talk(to, 3)
        to.http.headers["x-pagefault-session"] = "other"
        await to.http.post("/v1/messages", json=body(user("hello"), asked="gpt-5"))
        by_session, by_model = await the_bill(to), await the_bill(to, by="model")
        by_day = await the_bill(to, by="day")
        one = await the_bill(to, session=by_session.rows[0].of)
        never = await the_bill(to, since="2090-01-01")
    assert len(by_session.rows) == 2
    assert {row.of for row in by_model.rows} == {CHEAP, "gpt-5"}
    for told in (by_session, by_model, by_day):
        assert sum(row.requests for row in told.rows) == told.total.requests == 5
        assert sum(row.cost for row in told.rows) == pytest.approx(told.total.cost)
    assert one.total.requests == by_session.rows[0].requests
    assert never.total == BillRow("")


async def test_what_cannot_be_asked_for_is_said(upstream: Upstream) -> None:
    async with standing(upstream) as to:
        with pytest.raises(pagefault.BadInput):
            await to.memory.bill(by="week")
        with pytest.raises(pagefault.BadInput):
            await to.memory.bill(per_million={"": -1.0})
        with pytest.raises(pagefault.SessionNotFound):
            await to.memory.bill("nobody's")


# --- requests of our own ------------------------------------------------------------------------

SENT = BillItem(
    session="s", model="m", at_ms=0, tokens=10_000, predicted_cached=8_000, before=8_000,
    shared=8_000, new=2_000, without=20_000, without_shared=18_000, prices=PRICES,
)  # fmt: skip


def total_of(*items: BillItem) -> BillRow:
    return add_up([("", one) for one in items], by="session", per_million={}).total


def test_what_memory_s_calls_asked_is_paid_and_nobody_would_have_asked_it() -> None:
    again = replace(SENT, is_ours=True, tokens=11_000, before=10_000, predicted_cached=10_000)
    plain, served = total_of(SENT), total_of(SENT, again)
    assert served.without_cost == plain.without_cost
    assert served.memory_calls.requests == 1
    assert served.net == pytest.approx(plain.net - served.memory_calls.cost)


def test_a_cache_that_was_warm_against_expectation_was_warm_for_both() -> None:
    cold = replace(SENT, is_cold=True, predicted_cached=0, broke="cold")
    warm = replace(
        cold,
        usage=Usage(input_tokens=10_000, output_tokens=1, cached_tokens=8_000),
        disagreement=Disagreement.MORE,
    )
    assert total_of(cold).without_cached_tokens == 0
    assert total_of(warm).without_cached_tokens == PRICES.cacheable(18_000)
    assert total_of(warm).net < total_of(cold).net
