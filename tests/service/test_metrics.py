"""What a session tells about itself: figures that agree with what was seen from the outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pagefault
from pagefault import BadInput, ScriptedEngine, Session
from pagefault.lab.compare import Remembering, measure
from pagefault.lab.layouts import Stable
from pagefault.lab.turns import Call
from pagefault.model.catalogue import find_prices
from pagefault.model.request import Request, Usage
from pagefault.pack import ledger
from pagefault.pack.count import REQUEST_TOKENS, O200k
from pagefault.pack.ledger import Broke, Disagreement
from pagefault.service.bootstrap import open_memory
from pagefault.service.inspection.report import fold_session
from pagefault.service.limits import Limits
from tests.service.memories import Replies, calls, fault, words

LIMITS = Limits(recall_tokens_max=200)
PRICES = find_prices("0.10/1.25")


async def talked(session: Session, turns: int = 24, *, level: int = 0) -> list[Request]:
    """A talk that outgrows its window, and every request of it."""
    requests = []
    for number in range(turns):
        await session.user(f"Topic{number}: {words(40, f't{number}w')}")
        requests.append(await session.request())
        if number % 6 == 5:
            await session.call(fault(f"msg_{number - 4}", call_id=f"c{number}", level=level))
            requests.append(await session.request())
        await session.tool_result(words(900, f"r{number}x") if number == 7 else "ok", name="sql")
        await session.assistant(f"Noted {number} [ref: msg_{max(1, number - 3)}].")
    return requests


@pytest.mark.parametrize(
    ("layout", "level"),
    [
        ("stable", 0),
        pytest.param("stable", 1, marks=pytest.mark.torture),
        pytest.param("developer", 0, marks=pytest.mark.torture),
        ("developer", 1),
    ],
)
async def test_the_fold_knows_the_window_without_folding_the_state(
    tmp_path: Path, layout: str, level: int
) -> None:
    async with open_memory(tmp_path / "m", window=1_900, limits=LIMITS, layout=layout) as memory:
        session = await memory.session("s")
        await talked(session, level=level)
        fork = await session.fork("f")
        await talked(fork, 9, level=level)
        for one in (session, fork):
            await one.owned.written()
            folded = fold_session(one._runtime, one.session)
            assert set(folded.meter.residents.pages) == set(one.resident())
            assert folded.meter.session_total.epochs.total() >= 1  # or it only added up


async def test_a_session_is_the_sum_of_its_turns(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS) as memory:
        session = await memory.session("s")
        requests = await talked(session)
        told = (await session.metrics(per_turn=True)).to_dict()
        turns = told["per_turn"]
        assert [one["turn"] for one in turns] == list(range(24))
        for name in ("requests", "faults", "citations", "evictions", "epochs", "pages"):
            assert sum(one[name] for one in turns) == told[name] > 0, name
        cost = sum(one["effective_input_cost"] for one in turns)
        assert cost == pytest.approx(told["effective_input_cost"], abs=2)
        assert told["requests"] == len(requests)
        assert told["citations"] == 24
        mean = sum(request.tokens for request in requests) / len(requests)
        assert told["request_tokens_mean"] == pytest.approx(mean, abs=0.1)
        assert told["context_utilisation"] == pytest.approx(mean / 1_600, abs=1e-3)
        served = [one for one in await session.faults() if not one.body.refusal]  # type: ignore[union-attr]
        assert told["faults_by_outcome"].get("refused", 0) + len(served) == 4
        shown = told["page_references"] - told["citations"] - 4
        assert told["fault_rate"] == pytest.approx(
            told["faults"] / (shown + told["citations"] + 4), abs=1e-3
        )
        assert told["compression_ratio"] > 2
        fork = await session.fork("f")
        assert (await fork.metrics()).figures["turns"] <= 1, "a fork counts its own"


async def test_the_ledger_agrees_with_the_bytes_that_were_sent(tmp_path: Path) -> None:
    async with open_memory(tmp_path / "m", window=1_600, limits=LIMITS, prices=PRICES) as memory:
        session = await memory.session("s")
        requests = await talked(session)
        entries = await session.ledger()
        summary = (await session.metrics()).figures
    asked = [
        Call(
            new=(),
            hits=(),
            recall_room=0,
            idle_s=1.0,
            request=request,
            recalled_pages=0,
            recalled_tokens=0,
        )
        for request in requests
    ]
    seen = measure(Stable(), asked, Remembering(O200k()))
    assert len(entries) == len(seen)
    for entry, measured in zip(entries, seen, strict=True):
        before = None if measured.before is None else measured.before + REQUEST_TOKENS
        assert entry.before_tokens == before
        # At an epoch the log counts the head alone: words that happen to be shared are no promise.
        shared = measured.shared + REQUEST_TOKENS if before is not None else 0
        assert entry.shared_tokens == shared or entry.epoch
        assert entry.shared_tokens <= shared
        assert bool(entry.epoch) == measured.breaks
    assert sum(bool(entry.epoch) for entry in entries) == summary["epochs"] > 1
    assert summary["prefix_breaks_outside_epochs"] == 0
    assert 1.0 <= summary["regret"] < 3.0
    lines = [entry.line(PRICES) for entry in entries]
    assert lines[0].broke is Broke.FIRST
    assert {line.broke for line in lines[1:]} == {Broke.NOTHING, Broke.EPOCH}
    # The control: something else than an epoch changed what had been sent.
    at = next(n for n, one in enumerate(entries) if n > 2 and not one.epoch)
    entries[at] = replace(entries[at], shared_tokens=100)
    broken = ledger.summary(PRICES, [entry.line(PRICES) for entry in entries])
    assert broken["prefix_breaks_outside_epochs"] == 1
    assert broken["broke"]["prefix_changed"] == 1


async def test_what_a_provider_reports_is_set_beside_what_was_predicted(tmp_path: Path) -> None:
    async with pagefault.open(tmp_path / "m", window=4_000, prices=PRICES) as memory:
        session = await memory.session("s")
        for number in range(3):
            await session.user(f"Hello {number}. {words(60)}")
            request = await session.request()
            cached = 0 if number == 2 else 10_000 * number
            tokens = request.tokens
            await session.observe(
                Usage(input_tokens=tokens, output_tokens=9, cached_tokens=min(cached, tokens))
            )
            await session.assistant("Hello.")
        lines = [entry.line(PRICES) for entry in await session.ledger()]
        assert [line.disagreement for line in lines] == [
            Disagreement.NOTHING,
            Disagreement.MORE,
            Disagreement.NONE_AT_ALL,
        ]
        figures = (await session.metrics()).figures
        assert figures["calls_reported"] == 3
        assert figures["effective_input_cost_reported"] > 0


async def test_a_report_that_is_silent_of_the_cache_stays_so_in_the_log(tmp_path: Path) -> None:
    told = [None, 0, 7]
    async with pagefault.open(tmp_path / "m", window=4_000, prices=PRICES) as memory:
        session = await memory.session("s")
        for number, cached in enumerate(told):
            await session.user(f"Hello {number}.")
            tokens = (await session.request()).tokens
            await session.observe(Usage(input_tokens=tokens, output_tokens=9, cached_tokens=cached))
            await session.assistant("Hello.")
    async with pagefault.open(tmp_path / "m", window=4_000, prices=PRICES) as memory:
        session = await memory.session("s")
        entries = await session.ledger()
        assert [entry.reported and entry.reported.cached_tokens for entry in entries] == told
        assert entries[0].line(PRICES).disagreement is Disagreement.CACHE_UNREPORTED
        assert (await session.metrics()).figures["calls_reported"] == 2


@pytest.mark.parametrize(
    ("next_message", "success"),
    [("No, that's wrong: it was Postgres.", 0.0), ("Thanks. And the cache?", 1.0)],
)
async def test_a_correction_by_the_user_is_a_recall_that_failed(
    next_message: str, success: float
) -> None:
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("s")
        for text, answer in (
            ("We take Postgres for the ledger.", "Noted."),
            ("What did we decide about the database?", "We picked MySQL."),
            (next_message, "I see."),
        ):
            await session.user(text)
            await session.request()
            await session.assistant(answer)
        figures = (await session.metrics()).figures
        assert figures["recalls"] == 1
        assert figures["recall_success"] == success


async def test_faults_on_one_topic_thrash_and_those_on_several_do_not() -> None:
    async def thrash(first: str, second: str, apart: int) -> int:
        limits = Limits(recall_tokens_max=0)
        async with open_memory(":memory:", window=1_600, limits=limits) as memory:
            session = await memory.session("s")
            await session.user(first)
            await session.user(second)
            for number in range(14):
                await session.user(words(40, f"t{number}w"))
                await session.assistant("I see.")
            await session.request()
            for number in range(apart + 1):
                await session.user("Go on.")
                await session.request()
                if number == 0:
                    await session.call(fault("msg_1", call_id="a"))
                if number == apart:
                    await session.call(fault("msg_2", call_id="b"))
                await session.request()
                await session.assistant("I see.")
            figures = await session.metrics()
            assert figures.figures["faults"] == 2
            return figures.tally.thrash_faults

    compressor = "The compressor in the basement was serviced on Sunday."
    again = "A new compressor costs nine hundred euros in the basement."
    assert await thrash(compressor, again, 0) == 1
    assert await thrash(compressor, again, 2) == 1
    assert await thrash(compressor, again, 6) == 0
    assert await thrash(compressor, "Maria paints portraits of sailors.", 0) == 0


async def test_a_red_flag_marks_the_reasons_of_a_model_that_guesses(tmp_path: Path) -> None:
    limits = Limits(faults_per_turn_max=20)
    async with open_memory(tmp_path / "m", window=8_000, limits=limits) as memory:
        session = await memory.session("s")
        for reason in ("speculative", "user_requested_recall"):
            await session.user(f"Hello. {reason}")
            await session.request()
            for number in range(10):
                await session.call(fault("msg_77", call_id=f"c{number}", reason=reason))
            await session.assistant("Hello.")
            flags = {one.target.name for one in (await session.metrics()).red_flags}
            if reason == "speculative":
                assert {"speculative", "user_requested_recall"} <= flags
        assert "speculative" in flags, "half of them are still guesses"
        assert "user_requested_recall" not in flags


async def test_the_rule_for_epochs_can_be_chosen_and_its_prices_named(tmp_path: Path) -> None:
    async def reasons(**how: object) -> set[str]:
        async with open_memory(":memory:", window=1_600, limits=LIMITS, **how) as memory:  # type: ignore[arg-type]
            session = await memory.session("s")
            await talked(session)
            return set((await session.metrics()).figures["epochs_by_reason"])

    assert "break_even" in await reasons(prices=PRICES, beta=0.0)
    assert await reasons(prices=PRICES, epochs="window_full") == {"window_full"}
    with pytest.raises(BadInput, match="unknown rule"):
        await reasons(epochs="never")
    async with pagefault.open(":memory:", model="gpt-4o") as memory:
        session = await memory.session("s")
        assert session.prices.read == 0.5
        assert (await session.status()).window_tokens == 96_000
    with pytest.raises(BadInput, match="unknown price list") as refused:
        find_prices("cheap")
    assert "anthropic-5m" in refused.value.hint
    assert find_prices("0.05/1.25/60").is_cold(61.0)


async def test_an_answer_that_cites_uses_its_tokens() -> None:
    async with pagefault.open(":memory:", window=4_000) as memory:
        session = await memory.session("s")
        await session.user("Maria keeps the keys in the blue drawer.")
        await session.run(Replies(calls(text="Noted.")))
        without = (await session.metrics()).figures["effective_tokens"]
        await session.user("Where are the keys?")
        await session.run(Replies(calls(text="In the drawer [ref: msg_1].")))
        cited = (await session.metrics(per_turn=True)).turns[-1]["effective_tokens"]
        await session.user("And now?")
        await session.run(ScriptedEngine())
        assert 0 < without < 1
        assert cited > 0


async def test_faults_are_judged_by_the_pages_needed_and_told_by_all_that_were_shown() -> None:
    limits = Limits(recall_tokens_max=0)
    async with open_memory(":memory:", window=8_000, limits=limits, claims="off") as memory:
        session = await memory.session("s")
        documents = [
            (await session.document(f"Fact {n} is {words(20, f'f{n}x')}.", title=f"d{n}"))[0]
            for n in range(60)
        ]
        for turn in range(30):
            await session.user(f"Facts of pair {turn}?")
            await session.request()
            first, second = documents[2 * turn : 2 * turn + 2]
            await session.call(fault(first, call_id=f"a{turn}", reason="user_requested_recall"))
            await session.call(fault(second, call_id=f"b{turn}"))
            await session.call(fault(first, call_id=f"c{turn}"))  # mapped already: no need more
            await session.call(fault("msg_9999", call_id=f"d{turn}"))  # there is none
            await session.request()
            cites = f"[ref: {first}] [ref: msg_1]" if turn % 3 else "It is a guess."
            await session.assistant(f"This is fact {turn}. {cites}")
        metrics = await session.metrics()
        figures = metrics.figures
        assert figures["faults"] == 60
        assert figures["pages_needed"] == 60 + 20, "two documents a turn, and msg_1 where cited"
        assert figures["fault_rate_needed"] == 0.75
        assert figures["fault_rate"] < 0.05
        judged = {one.target.name: one for one in metrics.judged}
        assert judged["fault_rate_needed"].is_red_flag
        assert not judged["fault_rate"].is_red_flag
        assert not judged["fault_rate"].is_aim
        assert figures["fault_success_by_reason"] == {
            "resolve_reference": {"calls": 90, "served": 30, "cited": 0, "success": 0.0},
            "user_requested_recall": {
                "calls": 30,
                "served": 30,
                "cited": 20,
                "success": round(2 / 3, 4),
            },
        }


async def test_what_the_runtime_brings_in_is_needed_and_no_fault_and_pins_are_neither() -> None:
    async with open_memory(":memory:", window=1_600, limits=LIMITS, claims="off") as memory:
        session = await memory.session("s")
        await session.user("Maria keeps the keys to the observatory in the blue drawer.")
        await session.user("The gate of the harbour is green.")
        await session.request()
        await session.assistant("Noted.")
        await session.pin("msg_2")
        for number in range(20):
            await session.user(words(40, f"t{number}w"))
            await session.request()
            await session.assistant("I see.")
        before = (await session.metrics()).figures["pages_needed"]
        await session.user("Where does Maria keep the keys to the observatory?")
        await session.request()
        await session.assistant("In the blue drawer [ref: msg_1].")
        figures = (await session.metrics()).figures
        assert before == 0
        assert (figures["pages_needed"], figures["fault_rate_needed"]) == (1, 0.0)
        judged = {one.target.name: one for one in (await session.metrics()).judged}
        assert judged["fault_rate_needed"].waits_for == "50 pages needed"
