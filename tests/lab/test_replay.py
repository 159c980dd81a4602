"""Replays: every promised figure, requests that fit, questions that do not help each other."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagefault.lab import kernel
from pagefault.lab.compare import PRICES
from pagefault.lab.replay import ReplayReport, replay
from pagefault.lab.transcripts import Conversation, Line, Question, read_conversations
from pagefault.lab.turns import ConversationClock
from pagefault.model.kinds import Role
from pagefault.model.request import Request
from pagefault.service.bootstrap import open_memory
from pagefault.service.stopwatch import Stopwatch
from pagefault.service.window.state import SessionState
from tests.lab.test_layouts import LIMITS, talk
from tests.lab.test_transcripts import LOCOMO

pytestmark = pytest.mark.slow

LOCOMO5 = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo5.json"
PROMISED = {
    "turns", "requests", "window_tokens", "max_request_tokens", "requests_over_window",
    "newest_turn_missing", "duplicate_pages", "faults", "faults_per_question_max", "questions",
    "evidence_found_frac", "paged_in_tokens_per_question", "citations_valid_frac",
    "recalled_by_turns",
    "append_p50_ms", "append_p95_ms", "request_p50_ms", "request_p95_ms", "fault_p95_ms",
    "layout", "prefix_breaks_outside_epochs", "epochs", "prefix_survival", "effective_input_cost",
    "regret", "cost_vs_rebuild", "cost_vs_flush", "tlb_hit_rate", "prefetch_hit_rate",
    "thrash_index", "context_utilisation", "compression_ratio",
}  # fmt: skip
BENCH = {
    "append_p50_ms", "append_p95_ms", "append_p999_ms", "append_max_ms", "fsync_p50_ms",
    "ingest_per_s", "request_p50_ms", "request_p95_ms", "fault_p50_ms", "fault_p95_ms",
    "search_p50_ms", "search_p95_ms", "search_p99_ms", "first_request_ms", "rebuild_per_s",
    "bytes_on_disk_per_text_byte", "rss_growth_mb", "load_before", "load_after", "append_cpu_ms",
    "ingest_cpu_us_per_turn", "turn_cpu_ms", "request_cpu_ms", "request_again_cpu_ms",
    "rebuild_cpu_us_per_record", "fault_cpu_ms", "search_cpu_ms", "session_search_cpu_ms",
}  # fmt: skip


async def _replayed(
    tmp_path: Path, path: Path, format: str, *, window: int, **options: Any
) -> dict[str, Any]:
    conversations = read_conversations(path, format)
    watch = Stopwatch()
    async with open_memory(tmp_path / "m", sync="os", window=window, meter=watch) as memory:
        report = await replay(memory, conversations, window=window, stopwatch=watch, **options)
        assert (await memory.verify()).problems == ()
    told = report.to_dict()
    assert told.keys() >= PROMISED
    json.dumps(told, allow_nan=False)
    return told


def _check_sound(told: dict[str, Any]) -> None:
    assert told["requests_over_window"] == 0
    assert told["newest_turn_missing"] == 0
    assert told["duplicate_pages"] == 0
    assert 0 < told["max_request_tokens"] <= told["window_tokens"]
    assert told["faults_per_question_max"] <= 2


def _messages(count: int) -> list[dict[str, str]]:
    told = [{"role": "system", "content": "Be brief."}]
    for number in range(count):
        filler = " ".join(f"w{number}x{k}" for k in range(30))
        told.append({"role": "user", "content": f"Topic{number}: {filler}"})
        told.append({"role": "assistant", "content": f"Noted {number}. {filler}"})
    told.append({"role": "tool", "content": "row\n" * 3_000, "name": "sql"})
    told.append({"role": "user", "content": "Enough of that."})
    return told


@pytest.mark.parametrize("format", ["jsonl", "openai"])
async def test_a_transcript_of_ones_own(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"{'a long name ' * 9}.{format}"
    messages = _messages(40)
    if format == "openai":
        path.write_text(json.dumps(messages))
    else:
        path.write_text("\n".join(map(json.dumps, messages)))
    told = await _replayed(tmp_path, path, format, window=3_000)
    _check_sound(told)
    assert told["turns"] == 82
    assert told["requests"] == 41
    assert told["questions"] == 0
    assert told["evidence_found_frac"] is None
    assert told["append_p50_ms"] > 0


async def test_what_is_too_large_to_be_typed_is_handed_in(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    large = {"role": "user", "content": "word " * 4_000}
    path.write_text("\n".join(json.dumps(line) for line in (large, *_messages(3)[1:])))
    told = await _replayed(tmp_path, path, "jsonl", window=3_000)
    _check_sound(told)
    assert told["too_large_for_window"] == 1


async def test_a_file_with_questions(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([LOCOMO, LOCOMO | {"sample_id": "a/b\n"}]))
    asked: list[tuple[str, int, int]] = []
    told = await _replayed(
        tmp_path,
        path,
        "locomo",
        window=2_000,
        questions=True,
        progress=lambda label, done, total: asked.append((label, done, total)),
    )
    _check_sound(told)
    assert len(set(told["sessions"])) == 2
    assert told["questions"] == 4
    assert told["evidence_found_frac"] == 1.0
    assert told["citations_valid_frac"] == 1.0
    assert asked[-1][1:] == (2, 2)


@pytest.mark.parametrize(("before", "found"), [(2, 0.5), (None, 1.0), (9, 1.0)])
async def test_a_question_is_asked_when_its_file_says(before: int | None, found: float) -> None:
    said = ["The ferry to Hanko leaves at nine.", "Noted.", "The ferry leaves at noon now.", "Ah."]
    roles = [Role.USER, Role.ASSISTANT] * 2
    told = Conversation(
        name="ferry",
        lines=tuple(
            Line(role=role, text=text, ref=str(number))
            for number, (role, text) in enumerate(zip(roles, said, strict=True))
        ),
        questions=(
            Question(
                text="When does the ferry leave?",
                evidence=("0", "2"),
                category="when",
                answerable=True,
                before=before,
            ),
        ),
    )
    async with open_memory(":memory:", window=4_000) as memory:
        report = await replay(memory, [told], window=4_000, questions=True)
    assert report.to_dict()["evidence_found_frac"] == found


async def test_what_turns_had_paged_in_that_ask_nothing_is_told_apart() -> None:
    filler = "The weather is mild and the bread was good, so we sat outside for long."
    told = ["The captain of the ferry is called Heronimus."]
    told += [f"{filler} It was day {number}." for number in range(60)]
    told += ["How is the captain of the ferry called?", "Fine. I went home."]
    lines = [
        line
        for text in told
        for line in (Line(role=Role.USER, text=text), Line(role=Role.ASSISTANT, text="Good."))
    ]
    async with open_memory(":memory:", window=1_500) as memory:
        report = await replay(
            memory, [Conversation(name="ferry", lines=tuple(lines))], window=1_500
        )
    recalled = report.to_dict()["recalled_by_turns"]
    assert recalled["asking"]["turns"] == 1
    assert recalled["asking"]["pages"] >= 1
    assert recalled["asking"]["tokens_per_turn"] > 0
    assert recalled["telling"]["turns"] == 62
    assert recalled["telling"]["pages_per_turn"] < recalled["asking"]["pages_per_turn"]


async def test_a_replay_of_the_same_file_is_another_session(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(map(json.dumps, _messages(2))))
    names = []
    for _ in range(3):
        told = await _replayed(tmp_path, path, "jsonl", window=3_000)
        names += told["sessions"]
    assert names == ["talk", "talk (2)", "talk (3)"]


async def _costs(conversation: Conversation, **how: Any) -> dict[str, Any]:
    clock = ConversationClock()
    async with open_memory(
        ":memory:", window=2_500, prices=PRICES[0], limits=LIMITS, cache_s=clock.monotonic_s
    ) as memory:
        report = await replay(memory, [conversation], window=2_500, clock=clock, **how)
    return report.to_dict()


@pytest.fixture(scope="module")
def steady() -> dict[str, Any]:
    return asyncio.run(_costs(talk(40)))


def test_what_requests_cost_is_measured_on_their_bytes(steady: dict[str, Any]) -> None:
    assert steady["layout"] == "stable"
    assert steady["prefix_breaks_outside_epochs"] == 0
    assert steady["prefix_survival_outside_epochs"] == 1.0
    assert 0 < steady["epochs"] < steady["requests"] / 2
    assert 0 < steady["prefix_survival"] < 1
    assert steady["cost_vs_rebuild"] < 1
    assert 1.0 <= steady["regret"] < 3.0
    assert steady["tlb_hit_rate"] > 0.8


async def test_a_prefix_that_changes_is_seen_in_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a session whose rules differ by a word each time, and no epoch tells of it."""
    made = SessionState.request

    def restless(state: SessionState) -> Request:
        request = made(state)
        head, *rest = request.messages
        words = f"{head.content} ({state.request_next})"
        return replace(request, messages=(replace(head, content=words), *rest))

    monkeypatch.setattr(SessionState, "request", restless)
    told = await _costs(talk(30))
    assert told["prefix_breaks_outside_epochs"] == told["requests"] - 1 - told["epochs"] > 10
    assert told["prefix_survival"] < 0.5


async def test_a_pause_of_days_lets_the_cache_lapse(steady: dict[str, Any]) -> None:
    paused = await _costs(talk(40, days_every=10))
    assert paused["epochs_by_reason"].get("cache_cold", 0) >= 2
    assert "cache_cold" not in steady["epochs_by_reason"]
    assert paused["effective_input_cost"] > steady["effective_input_cost"]


async def test_real_conversations(tmp_path: Path) -> None:
    if not LOCOMO5.exists():
        pytest.skip(f"{LOCOMO5} is not here")
    conversation = read_conversations(LOCOMO5, "locomo")[0]
    async with open_memory(tmp_path / "m", sync="os") as memory:
        report = await replay(
            memory, [conversation], window=8_000, questions=True, questions_max=12
        )
    told = report.to_dict()
    _check_sound(told)
    assert told["turns"] > 300
    assert told["questions"] == 12
    assert told["evidence_found_frac"] >= 0.5
    assert told["paged_in_tokens_per_question"] <= 2_000
    assert told["citations_valid_frac"] == 1.0


def test_a_report_of_nothing_has_every_figure() -> None:
    told = ReplayReport(window_tokens=8_000).to_dict()
    assert told.keys() >= PROMISED
    assert told["turns"] == told["questions"] == 0
    assert told["append_p95_ms"] is None


@pytest.mark.parametrize("text", ["english", "made-up"])
async def test_the_bench_gives_every_figure(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "SEARCHES", 10)
    monkeypatch.setattr(kernel, "SAMPLES", 20)
    seen: set[str] = set()
    told = await kernel.bench_kernel(
        pages=60, root=tmp_path, text=text, tell=lambda label, done, total: seen.add(label)
    )
    assert told.keys() >= BENCH
    assert (told["pages"], told["text"]) == (60, text)
    assert all(isinstance(told[name], int | float) for name in BENCH)
    assert told["bytes_on_disk_per_text_byte"] > 1
    assert {"ingesting", "rebuilding"} <= seen
    json.dumps(told, allow_nan=False)
