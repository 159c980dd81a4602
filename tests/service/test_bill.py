"""The bill of a library's own session: beside it, the full history sent each time."""

from __future__ import annotations

import re

import pytest

import pagefault
from pagefault import Memory, Session
from tests.service.memories import COUNTER, fault, words

PRICES = pagefault.find_prices("0.1/1.25")
FRAME = 4  # tokens that frame a message


async def talk(session: Session, turns: int, *, size: int = 60) -> int:
    """So many turns, and a request for each; returns the tokens of all that was said before the
    last request.
    """
    said = 0
    for n in range(turns):
        asked, answer = words(size, f"q{n}x"), words(size, f"a{n}x")
        await session.user(asked)
        said += COUNTER.count(asked) + FRAME
        await session.request()
        if n < turns - 1:
            await session.assistant(answer)
            said += COUNTER.count(answer) + FRAME
    return said


@pytest.fixture
async def memory() -> object:
    async with pagefault.open(":memory:", prices=PRICES, window=4_000) as opened:
        yield opened


async def test_without_us_all_that_was_said_is_sent_each_time(memory: Memory) -> None:
    session = await memory.session("long")
    last = await talk(session, 30)
    told = (await memory.bill("long")).total
    assert told.requests == 30
    assert told.without_tokens > told.tokens
    assert last < told.without_tokens < 30 * last
    one = (await memory.bill("long", since="2020-01-01")).total
    assert one == told


async def test_a_short_session_pays_for_our_rules_and_the_bill_says_so(memory: Memory) -> None:
    session = await memory.session("short")
    await talk(session, 1, size=10)
    told = (await memory.bill("short")).total
    assert told.tokens > told.without_tokens
    assert told.net < 0


async def test_a_request_after_a_call_of_memory_is_ours_and_counted_so(memory: Memory) -> None:
    session = await memory.session("asks", mode="active")
    await session.user("Remember: the launch code of Heron is 7741.")
    await session.request()
    before = (await memory.bill("asks")).total
    await session.call(fault("msg_1"))
    await session.request()
    after = (await memory.bill("asks")).total
    assert (before.memory_calls.requests, after.memory_calls.requests) == (0, 1)
    assert after.requests == 2
    assert after.without_tokens == before.without_tokens
    assert after.net < before.net


async def test_epochs_of_a_session_cost_what_they_write_again(memory: Memory) -> None:
    session = await memory.session("long")
    await talk(session, 40)
    told = (await memory.bill("long")).total
    epochs = (await session.metrics()).figures["epochs"]
    assert told.rewritten.requests == epochs > 0
    assert told.cost == pytest.approx(
        sum(entry.line(PRICES).predicted_cost for entry in await session.ledger()), rel=0.01
    )


class Former:
    """A model that talks, and remembers one sentence of each range; its usage is that of caches."""

    def __init__(self) -> None:
        self.formed = 0

    async def reply(self, request: pagefault.Request):  # type: ignore[no-untyped-def]
        asked = request.messages[-1].content
        first = re.search(r"turns from \((\w+)\)", asked)
        if first is None:
            yield pagefault.Reply(text=words(40, "noted"))
        else:
            self.formed += 1
            said = f'summary: They planned. [ref: {first[1]}] "the survey"'
            usage = pagefault.Usage(input_tokens=request.tokens, output_tokens=7, cached_tokens=800)
            yield pagefault.Reply(text=said, usage=usage)


async def test_what_is_asked_to_form_memory_is_paid_and_counted_against_us() -> None:
    limits = pagefault.Limits(summarised_tokens_max=300)
    async with pagefault.open(":memory:", prices=PRICES, window=16_000, limits=limits) as memory:
        session, model = await memory.session("s"), Former()
        for turn in range(6):
            await session.user(f"About the survey, {words(40, f't{turn}w')}")
            await session.run(model)
        before = (await memory.bill("s")).total
        await session.form(model)
        after = (await memory.bill("s")).total
        assert model.formed > 1
        assert (before.formation.requests, after.formation.requests) == (0, model.formed)
        assert after.requests == before.requests + model.formed
        assert after.without_cost == before.without_cost
        assert after.formation.cost > 0
        assert after.net == pytest.approx(before.net - after.formation.cost)
        assert after.formation_output_tokens == 7 * model.formed
