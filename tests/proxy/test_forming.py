"""Behind the proxy memory is formed of a conversation whose user agreed, and of no other."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from typing import Any

import pytest

import pagefault
from pagefault.lab.billing import Blocks, cache_of
from pagefault.pack.count import O200k
from pagefault.proxy.history.history import Json
from tests.proxy.histories import COUNTER, call, model, result, text, user
from tests.proxy.histories import body as unnamed
from tests.proxy.standing import KEY, SESSION, Standing, standing
from tests.proxy.strict import strict
from tests.proxy.upstream import _WIRES, Call, Say, Seen, Upstream

MODEL = "claude-sonnet-5"  # caches at marks alone
AGREED = {**SESSION, "x-pagefault-form": "on"}
RANGE = 60  # tokens of one: words, as these are counted
LIMITS = pagefault.Limits(summarised_tokens_max=RANGE, formation_rest_s=0)
ASKED = re.compile(r"turns from \((?P<first>\w+)\) to \((?P<last>\w+)\)")
FACT = "the launch code of project Heron is kept by Maria"


def asks(seen: Seen) -> bool:
    return b"<VM:FORMATION>" in seen.raw


class Model:
    """A scripted proposer: it talks, and writes these lines where memory is to be formed."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines or ("summary: They planned the survey. [ref: {first}]",)
        self.turns: list[Seen] = []
        self.forming: list[Seen] = []

    def __call__(self, seen: Seen) -> Say:
        if not asks(seen):
            self.turns.append(seen)
            return Say(text="Understood.")
        self.forming.append(seen)
        first, last = ASKED.search(seen.raw.decode()).groups()  # type: ignore[union-attr]
        return Say(text="\n".join(self.lines).replace("{first}", first).replace("{last}", last))


def said(turn: int, who: str = "survey") -> str:
    about = f"In turn {turn} of the {who}: {FACT if not turn else ''} "
    return about + " ".join(f"{who}{turn}w{n}" for n in range(40))


async def talk(
    to: Standing, turns: int, *, headers: Any = AGREED, who: str = "survey", after: int = 0
) -> list[Json]:
    history: list[Json] = []
    for turn in range(after + turns):
        history.append(user(said(turn, who)))
        if turn >= after:
            answer = await to.http.post(
                "/v1/messages", json=unnamed(*history) | {"model": MODEL}, headers=headers
            )
            assert answer.status_code == 200, answer.text
            await formed_so_far(to)
        history.append(model("Understood."))
    return history


async def formed_so_far(to: Standing) -> None:
    await to.proxy.settled()
    if tasks := list(to.memory._runtime.forming):
        await asyncio.wait(tasks)


async def the_session(to: Standing, who: str = "") -> pagefault.Session:
    names = [one for one in await to.sessions() if who in one]
    return await to.memory.session(names[0], create=False)


async def test_without_the_users_consent_no_request_is_made_that_no_client_made() -> None:
    provider = Model()
    with Upstream(provider) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            await talk(to, 6, headers=SESSION)
            assert len(provider.turns) == 6
            assert provider.forming == []
            assert {one.outcome for one in await (await the_session(to)).formations()} == {"due"}
            # Control: once he agrees, what is closed is formed.
            await talk(to, 1, after=6)
            assert provider.forming


async def test_the_live_request_goes_out_once_more_with_the_answer_and_one_message() -> None:
    provider = Model()
    with Upstream(strict(provider, COUNTER, 1_000_000)) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            await talk(to, 8)
            ranges = await (await the_session(to)).formations()
        formed = [one for one in ranges if one.outcome == "formed"]
        assert len(formed) == len(provider.forming) >= 3
        for asked in provider.forming:
            sent = max((one for one in provider.turns if is_begun_by(asked, one)), key=size)
            *before, answer, question = asked.body["messages"]
            assert before == sent.body["messages"]
            assert answer == model("Understood.")
            assert question["role"] == "user"
            rest = {k: v for k, v in asked.body.items() if k != "messages"}
            assert rest == {k: v for k, v in sent.body.items() if k != "messages"}
            assert (asked.path, asked.method) == (sent.path, sent.method)
            assert asked.headers["x-api-key"] == KEY
            assert not [one for one in asked.headers if one.startswith("x-pagefault")]
        ends = [ASKED.search(one.raw.decode()).groups() for one in provider.forming]  # type: ignore[union-attr]
        assert ends == [(one.first, one.last) for one in formed]


def is_begun_by(asked: Seen, sent: Seen) -> bool:
    messages = sent.body["messages"]
    return bool(asked.body["messages"][: len(messages)] == messages)


def size(seen: Seen) -> int:
    return len(seen.raw)


async def test_nearly_all_of_it_is_read_from_the_providers_cache_and_the_bill_has_it() -> None:
    provider, blocks, cache = Model(), Blocks(), cache_of(MODEL)
    shares: list[float] = []
    sizes: list[int] = []

    def answer(seen: Seen) -> Say:
        _, cached = cache.cost(arrived := blocks.of(seen.body, at_s=len(shares), step=len(shares)))
        shares.append(cached / arrived.tokens)
        sizes.append(arrived.tokens)
        say = provider(seen)
        return Say(text=say.text, input_tokens=arrived.tokens, cached_tokens=cached)

    with Upstream(answer) as upstream:
        limits = pagefault.Limits(formation_rest_s=0)
        async with standing(upstream, limits=limits, counter=O200k(), marks=True) as to:
            history: list[Json] = []
            for turn in range(7):
                words = " ".join(f"leaf{turn} says {n}" for n in range(1_200))
                history.append(user(f"Of the survey, {turn}: {words}"))
                asked = unnamed(*history) | {"model": MODEL}
                await to.http.post("/v1/messages", json=asked, headers=AGREED)
                await formed_so_far(to)
                history.append(model("Understood."))
            bill = (await to.memory.bill()).total
            metrics = (await to.http.get("/metrics")).text
            ranges = await (await the_session(to)).formations()
            lines = await to.lines()
    asked_with = zip(shares, sizes, upstream.seen, strict=True)
    forming = [(share, tokens) for share, tokens, seen in asked_with if asks(seen)]
    formed = [one for one in ranges if one.outcome == "formed"]
    assert len(forming) == len(formed) >= 3
    warm = [share for share, tokens in forming if tokens > 6_500]
    assert len(warm) >= 6
    assert min(warm) >= 0.95, forming
    reported = sum(one.input_tokens for one in formed)
    assert bill.formation.requests == len(formed)
    assert bill.formation.tokens == reported > 0
    assert f'pagefault_formations_total{{outcome="formed"}} {len(formed)}.0' in metrics
    assert f'pagefault_formation_tokens_total{{kind="input"}} {reported}.0' in metrics
    assert sum("memory of msg_" in line for line in lines) == len(formed)


async def test_a_users_key_goes_with_his_own_conversation_and_with_no_other() -> None:
    provider = Model()
    with Upstream(provider) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            hers = {"x-pagefault-session": "hers", "x-api-key": "sk-hers-0123456789abcdef"}
            agreed = hers | {"x-pagefault-form": "on"}
            await talk(to, 5, headers=SESSION, who="tides")
            await talk(to, 5, headers=agreed, who="survey")
            await talk(to, 2, headers=SESSION, who="tides", after=5)
        assert provider.forming
        for seen in provider.forming:
            assert seen.headers["x-api-key"] == hers["x-api-key"]
            assert b"survey" in seen.raw
            assert b"tides" not in seen.raw


async def test_a_turn_waits_for_nothing_of_it_and_what_the_provider_refuses_forms_nothing() -> None:
    provider = Model()

    def answer(seen: Seen) -> Say:
        say = provider(seen)
        return Say(status=429) if asks(seen) else say

    with Upstream(answer) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            history = await talk(to, 7)
            ranges = await (await the_session(to)).formations()
            metrics = (await to.http.get("/metrics")).text
            pages = await to.logged((await to.sessions())[0])
    assert len(provider.turns) == 7
    assert len(pages) == len(history), "nothing was made"
    assert next(one.outcome for one in ranges if one.tries) == "given_up"
    assert all(one.tries <= LIMITS.formation_tries_max for one in ranges)
    assert 'pagefault_formations_total{outcome="failed"}' in metrics


async def test_a_client_that_goes_on_has_its_answers_while_a_model_is_still_at_it() -> None:
    import threading

    waits, provider = threading.Event(), Model()

    def answer(seen: Seen) -> Say:
        say = provider(seen)
        if asks(seen):
            waits.wait(300)
        return say

    with Upstream(answer) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            history: list[Json] = []
            for turn in range(8):
                history.append(user(said(turn)))
                asked = unnamed(*history) | {"model": MODEL}
                told = await to.http.post("/v1/messages", json=asked, headers=AGREED)
                assert told.status_code == 200
                await to.proxy.settled()
                history.append(model("Understood."))
            assert len(provider.turns) == 8
            assert len(provider.forming) == 1, "one at a time"
            waits.set()
            await formed_so_far(to)
            assert (await (await the_session(to)).formations())[0].outcome == "formed"


async def test_amid_a_turn_and_where_the_client_wants_json_nothing_is_asked() -> None:
    provider = Model()

    def answer(seen: Seen) -> Say:
        say = provider(seen)
        called = Call("c1", "Read", {"path": "a.txt"})
        amid = seen.body["messages"][-1]["content"][0].get("text") == "Use a tool."
        return Say(text="One moment.", calls=(called,)) if amid else say

    history = [one for n in range(6) for one in (user(said(n)), model("Understood."))]
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    with Upstream(answer) as upstream:
        async with standing(upstream, limits=LIMITS) as to:

            async def ask(*messages: Json, **more: Any) -> None:
                asked = unnamed(*history, *messages, tools=tools, **more) | {"model": MODEL}
                await to.http.post("/v1/messages", json=asked, headers=AGREED)
                await formed_so_far(to)

            await ask(user("Use a tool."))
            assert provider.forming == []
            moment = model("One moment.", call("c1", path="a.txt"))
            wanted = {"format": {"type": "json_schema", "schema": {}}}
            await ask(user("Use a tool."), moment, user(result("c1", "leaf"), text("Go on.")),
                      output_config=wanted)  # fmt: skip
            assert provider.forming == []
            await ask(user("Use a tool."), moment, user(result("c1", "leaf"), text("Go on.")))
            assert provider.forming, "control: the turn is over"


async def test_what_was_formed_stands_in_front_where_turns_left_and_after_a_restart(
    tmp_path: Any,
) -> None:
    provider = Model("summary: Maria keeps it, they planned. [ref: {first}]")
    where = {"root": tmp_path / "m", "window": 600, "limits": LIMITS, "faults": False}
    with Upstream(provider) as upstream:
        async with standing(upstream, **where) as to:
            history = await talk(to, 14)
            shown = [one for one in provider.turns if b"Maria keeps it, they planned." in one.raw]
            assert shown, "an epoch shows it"
            early = provider.turns[: LIMITS.formed_after_turns + 2]
            assert not any(b"they planned" in one.raw for one in early), "control: not at once"
            session = await the_session(to)
            made = {page for one in await session.formations() for page in one.made}
        async with standing(upstream, **where) as to:
            await to.http.post(
                "/v1/messages",
                json=unnamed(*history, user("And now?")) | {"model": MODEL},
                headers=SESSION,
            )
            again = provider.turns[-1].body["messages"]
            assert again[0] == shown[-1].body["messages"][0], "the same bytes after a restart"
            # What is forgotten of a range takes what was formed of it along.
            session = await the_session(to)
            await to.memory.forget(session, "msg_1")
            first = (await session.formations())[0].made[0]
            assert first in made
            with pytest.raises(pagefault.RecordGone):
                await session.page(first)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
        ("/v1beta/models/gemini-4-pro:streamGenerateContent?alt=sse", "contents"),
    ],
)
async def test_each_wire_is_asked_in_its_own_form(path: str, field: str) -> None:
    provider = Model()
    with Upstream(strict(provider, COUNTER, 1_000_000)) as upstream:
        async with standing(upstream, limits=LIMITS, forms=True) as to:
            history: list[Json] = []
            for turn in range(5):
                history.append(_message("user", said(turn), field))
                asked: Json = {field: history}
                if field != "contents":
                    asked |= {"model": "gpt-6-1-sol", "store": False, "stream": True}
                told = await to.http.post(path, json=asked, headers=SESSION)
                assert told.status_code == 200, told.text
                await formed_so_far(to)
                history.append(_message("assistant", "Understood.", field))
            formed = await (await the_session(to)).formations()
    assert provider.forming
    assert [one.outcome for one in formed].count("formed") == len(provider.forming)


def _message(role: str, text: str, field: str) -> Json:
    if field == "contents":
        return {"role": role.replace("assistant", "model"), "parts": [{"text": text}]}
    return {"role": role, "content": text}


async def test_the_bytes_decide_behind_the_proxy_too_and_nothing_proposed_stands() -> None:
    provider = Model(
        f'decision (launch code): {FACT} [ref: {{first}}] "{FACT}"',
        'gotcha (tides): the tide is high [ref: {first}] "the tide was never high"',
        f'rule: Maria decides [ref: {{first}}] "{FACT}"',
    )
    with Upstream(provider) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            await talk(to, 4)
            session = await the_session(to)
            [first, *_] = await session.formations()
            assert {one.why: one.count for one in first.dropped} == {"unquoted": 1}
            cards = {one.card_type: one for one in await session.cards()}
            assert cards["decision"].ttl_policy.decay_days == 28
            assert {one.validation.status for one in cards.values()} == {"proposed"}
            assert list(session.owned.state.core) == []


async def test_the_header_says_on_or_off_and_off_takes_a_consent_back() -> None:
    provider = Model()
    with Upstream(provider) as upstream:
        async with standing(upstream, limits=LIMITS, forms=True) as to:
            refused = await to.http.post(
                "/v1/messages", json={}, headers=SESSION | {"x-pagefault-form": "yes"}
            )
            assert refused.status_code == 400
            await talk(to, 5, headers=SESSION | {"x-pagefault-form": "off"})
            assert provider.forming == []
            await to.memory.set_control("capture_only")
            await to.http.post(
                "/v1/messages",
                json=unnamed(user("x")) | {"model": MODEL},
                headers=SESSION | {"x-pagefault-mode": "off"},
            )
            assert provider.forming == []


OFF = {**SESSION, "x-pagefault-form": "off"}


@pytest.mark.parametrize(
    ("then", "formed"), [(OFF, 0), (OFF | {"x-pagefault-mode": "incognito"}, 0), (AGREED, 1)]
)
async def test_a_request_asks_for_nothing_more_once_the_next_comes_and_stops_without_consent(
    then: dict[str, str], formed: int
) -> None:
    waits, provider = asyncio.Event(), Model()
    loop = asyncio.get_running_loop()

    def answer(seen: Seen) -> Say:
        if asks(seen):
            asyncio.run_coroutine_threadsafe(waits.wait(), loop).result(300)
        return provider(seen)

    with Upstream(answer) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            history = await talk(to, 5, headers=OFF)
            for turn, headers in enumerate((AGREED, then), 5):
                history.append(user(said(turn)))
                asked = unnamed(*history) | {"model": MODEL}
                await to.http.post("/v1/messages", json=asked, headers=headers)
                await to.proxy.settled()
                history.append(model("Understood."))
                assert turn > 5 or to.memory._runtime.forming, "control: it is under way"
            waits.set()
            await formed_so_far(to)
            assert len(provider.forming) <= 1
            ranges = await (await the_session(to)).formations()
            assert [one.outcome for one in ranges].count("formed") == formed
            assert len(ranges) > 2, "control: there was more to form"


@pytest.mark.parametrize("how", ["forgotten", "withdrawn"])
async def test_once_something_that_the_client_still_sends_is_gone_nothing_more_is_formed(
    tmp_path: Any, how: str
) -> None:
    provider, root = Model(), tmp_path / "m"
    with Upstream(provider) as upstream:
        async with standing(upstream, root=root, limits=LIMITS) as to:
            await talk(to, 5)
            before = len(provider.forming)
            assert before, "control: it is formed until then"
            go = to.memory.forget if how == "forgotten" else to.memory.revoke_origin
            await go(await the_session(to), "msg_3")
            await talk(to, 3, after=5)
        async with standing(upstream, root=root, limits=LIMITS) as to:
            await talk(to, 3, after=8)
    assert len(provider.turns) == 11
    assert len(provider.forming) == before


async def test_a_conversation_that_rests_is_formed_to_its_end_and_one_that_goes_on_is_not() -> None:
    provider = Model(f'core (human): {FACT} [ref: {{first}}] "{FACT}"')
    limits = pagefault.Limits(summarised_tokens_max=100, formation_rest_s=0.05)
    with Upstream(provider) as upstream:
        async with standing(upstream, limits=limits) as to:
            await talk(to, 1)
            for _ in range(6_000):
                await asyncio.sleep(0.01)
                await formed_so_far(to)
                if provider.forming:
                    break
            assert b"core (human" in provider.forming[0].raw
            session = await the_session(to)
            [proposed] = await session.core(proposed=True)
            assert FACT in proposed.text
            assert await session.core() == []


@pytest.mark.parametrize("way", [None, "extractive", "hierarchical"])
async def test_a_way_of_compaction_that_is_named_sums_up_without_consent_and_asks_nobody(
    way: str | None, tmp_path: Any
) -> None:
    provider = Model()
    where: dict[str, Any] = {"window": 600, "limits": LIMITS, "faults": False, "compaction": way}
    with Upstream(provider) as upstream:
        async with standing(upstream, root=tmp_path / "m", **where) as to:
            # a sentence that a summary of so few tokens can quote, in each turn
            history = await talk(to, 14, headers=SESSION, who="hut. Anna has key 14. ")
            assert provider.forming == []
            session = await the_session(to)
            formed = [one for one in await session.formations() if one.outcome == "formed"]
            assert bool(formed) is (way is not None)
            assert {one.former for one in formed} <= {"extractive"}
            last = provider.turns[-1].body["messages"]
            lines = re.findall(
                r"S \(sum_\d+[^\n]*", json.dumps(last, ensure_ascii=False).replace("\\n", "\n")
            )
            assert bool(lines) is (way is not None)
            assert all((" · L3 · " in line) is (way == "hierarchical") for line in lines)
        async with standing(upstream, root=tmp_path / "m", **where) as to:
            again = unnamed(*history, user("And now?")) | {"model": MODEL}
            await to.http.post("/v1/messages", json=again, headers=SESSION)
            assert provider.turns[-1].body["messages"][0] == last[0], "the same after a restart"


async def test_under_a_window_smaller_than_a_usual_range_turns_are_formed_before_they_leave() -> (
    None
):
    provider = Model()
    with Upstream(provider) as upstream:
        async with standing(upstream, window=600, faults=False) as to:
            await talk(to, 14)
            ranges = await (await the_session(to)).formations()
        assert provider.forming
        assert {one.outcome for one in ranges[:-1]} == {"formed"}
        assert b"S (sum_" in provider.turns[-1].raw


async def test_an_answer_that_is_not_kept_is_not_paired_with_a_later_requests_pages() -> None:
    """The same question twice at once: the later one is answered first, and that answer is kept."""
    arrived, late = threading.Event(), threading.Event()
    agreed = {"x-api-key": KEY, "x-pagefault-form": "on"}
    whole = json.dumps(_WIRES["/messages"].whole(Say(text="Late."), 1)).encode()

    def reply(seen: Seen) -> Say:
        if asks(seen) or "x-waits" not in seen.headers:
            return provider(seen)
        arrived.set()
        return Say(pieces=(late, whole), headers={"content-type": "application/json"})

    provider = Model()
    with Upstream(reply) as upstream:
        async with standing(upstream, limits=LIMITS) as to:
            history = await talk(to, 6, headers={"x-api-key": KEY})
            asked = unnamed(*history, user(said(6))) | {"model": MODEL}
            slow = agreed | {"x-waits": "1"}
            first = asyncio.create_task(to.http.post("/v1/messages", json=asked, headers=slow))
            assert await asyncio.to_thread(arrived.wait, 60)
            kept = await to.http.post("/v1/messages", json=asked, headers={"x-api-key": KEY})
            assert kept.json()["content"][0]["text"] == "Understood."
            [row] = await to.memory.sessions()
            session = await to.memory.session(row.name, create=False)
            for _ in range(3_000):  # the slow one holds up `settled`
                if len(await to.memory.pages(session)) == len(history) + 2:
                    break
                await asyncio.sleep(0.02)
            late.set()
            assert (await first).json()["content"][0]["text"] == "Late."
            await formed_so_far(to)
            told = [json.dumps(one.body["messages"][-2]) for one in provider.forming]
            assert not any("Late." in one for one in told)
            history += [user(said(6)), model("Understood."), user(said(7))]
            last = unnamed(*history) | {"model": MODEL}
            await to.http.post("/v1/messages", json=last, headers=agreed)
            await formed_so_far(to)
            assert provider.forming, "of an answer that is kept memory is formed"
