"""Replays: a recorded conversation run through a session, with questions asked afterwards.

Every line goes through the same verbs as in a live conversation, and a request is packed at every
user message. What requests contain is checked from the outside: by reading them as a model would,
not by asking the session.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from pagefault.engine.scripted import Passage, ScriptedEngine, passages_of
from pagefault.guard.neutralise import neutralise
from pagefault.lab.compare import Remembering, measure, priced
from pagefault.lab.layouts import Developer, FlushWhenFull, Stable
from pagefault.lab.transcripts import Conversation, Question
from pagefault.lab.turns import Call, ConversationClock, Recorder
from pagefault.model.ids import PageId
from pagefault.model.kinds import LayoutName, Role
from pagefault.model.progress import StageProgress
from pagefault.model.request import Reply, Request
from pagefault.pack.count import REQUEST_TOKENS, O200k, TokenCounter, message_tokens, tools_tokens
from pagefault.recall.gate import ASKING, TELLING, gate
from pagefault.service.inspection.ledger import timing_of
from pagefault.service.inspection.metrics import Tally
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.stopwatch import Stopwatch

_NO_NAME: Final = re.compile(r"[\x00-\x1f\x7f/]")  # characters that a session's name must not have
_NAME_CHARS: Final = 60  # leaves room for a number


@dataclass(slots=True, kw_only=True)
class Cost:
    """The cost of the conversations' requests, measured on their bytes: sums over all.

    `survivals` are the shares of each request that are the next one's prefix; `outside` those for
    calls that began no epoch; `breaks` counts those of them that changed anything already sent.
    """

    prices: str = ""
    calls: int = 0
    epochs: int = 0
    breaks: int = 0
    survivals: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    ours: float = 0.0
    rebuild: float = 0.0
    flush: float = 0.0
    timed: float = 0.0  # by the model of `policy/hindsight.py`
    best: float = 0.0
    timed_of: float = 0.0  # cost of the same calls by their bytes

    def to_dict(self) -> dict[str, Any]:
        return {
            "prices": self.prices,
            "prefix_breaks_outside_epochs": self.breaks,
            "prefix_survival": round(mean(self.survivals), 4) if self.survivals else None,
            "prefix_survival_outside_epochs": round(min(self.outside), 4) if self.outside else None,
            "epochs": self.epochs,
            "epochs_share": _share(self.epochs, self.calls),
            "effective_input_cost": round(self.ours),
            "regret": _share(self.timed, self.best),
            "regret_modelled_share": _share(self.timed, self.timed_of),
            "cost_vs_rebuild": _share(self.ours, self.rebuild),
            "cost_vs_flush": _share(self.ours, self.flush),
        }


@dataclass(slots=True)
class Recalled:
    """What the runtime paged in for the conversation's own turns of one form: sums."""

    turns: int = 0
    turns_with_some: int = 0
    pages: int = 0
    tokens: int = 0

    def add(self, call: Call) -> None:
        self.turns += 1
        self.turns_with_some += call.recalled_pages > 0
        self.pages += call.recalled_pages
        self.tokens += call.recalled_tokens

    def to_dict(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "turns_with_pages_frac": _share(self.turns_with_some, self.turns),
            "pages": self.pages,
            "pages_per_turn": _share(self.pages, self.turns),
            "tokens_per_turn": _share(self.tokens, self.turns),
        }


@dataclass(slots=True, kw_only=True)
class ReplayReport:
    """The results of a replay. `turns` counts lines; evidence is that of answerable questions."""

    window_tokens: int
    layout: str = "stable"
    sessions: list[str] = field(default_factory=list)
    turns: int = 0
    requests: int = 0
    max_request_tokens: int = 0
    requests_over_window: int = 0
    newest_turn_missing: int = 0
    duplicate_pages: int = 0
    too_large_for_window: int = 0
    faults: int = 0
    faults_refused: int = 0
    faults_per_question: list[int] = field(default_factory=list)
    paged_in_tokens: list[int] = field(default_factory=list)
    evidence_by_category: dict[str, list[int]] = field(default_factory=dict)  # found, named
    unanswerable: int = 0
    unanswerable_declined: int = 0
    citations: int = 0
    citations_valid: int = 0
    cost: Cost = field(default_factory=Cost)
    recalled: dict[str, Recalled] = field(
        default_factory=lambda: {name: Recalled() for name in ("asking", "mixed", "telling")}
    )
    said: Tally = field(default_factory=Tally)  # the conversations, from their logs
    asked: Tally = field(default_factory=Tally)  # the forks with the questions
    lookups: list[int] = field(default_factory=lambda: [0, 0])  # page table hits and look-ups
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def to_dict(self) -> dict[str, Any]:
        """One object for `--json`. Fractions are None if there was nothing to divide by."""
        found = sum(found for found, _ in self.evidence_by_category.values())
        named = sum(named for _, named in self.evidence_by_category.values())
        watch = self.stopwatch
        # A replay without questions has no faults: thrash is then that of no turns.
        thrash = self.asked if self.asked.turns else self.said
        return {
            "sessions": self.sessions,
            "turns": self.turns,
            "requests": self.requests,
            "window_tokens": self.window_tokens,
            "max_request_tokens": self.max_request_tokens,
            "requests_over_window": self.requests_over_window,
            "newest_turn_missing": self.newest_turn_missing,
            "duplicate_pages": self.duplicate_pages,
            "too_large_for_window": self.too_large_for_window,
            "faults": self.faults,
            "faults_refused": self.faults_refused,
            "faults_per_question_max": max(self.faults_per_question, default=0),
            "questions": len(self.faults_per_question),
            "evidence_found_frac": _share(found, named),
            "evidence_found_by_category": {
                category: _share(*pair)
                for category, pair in sorted(self.evidence_by_category.items())
            },
            "paged_in_tokens_per_question": (
                round(mean(self.paged_in_tokens), 1) if self.paged_in_tokens else None
            ),
            "paged_in_tokens_per_question_max": max(self.paged_in_tokens, default=None),
            "recalled_by_turns": {name: one.to_dict() for name, one in self.recalled.items()},
            "unanswerable_declined_frac": _share(self.unanswerable_declined, self.unanswerable),
            "citations": self.citations,
            "citations_valid_frac": _share(self.citations_valid, self.citations),
            "layout": self.layout,
            **self.cost.to_dict(),
            "epochs_by_reason": dict(sorted(self.said.epochs.items())),
            "tlb_hit_rate": _share(*self.lookups),
            "prefetch_hit_rate": self.said.figures()["prefetch_hit_rate"],
            "thrash_index": thrash.figures()["thrash_index"],
            "context_utilisation": self.said.figures()["context_utilisation"],
            "live_fraction": self.said.figures()["live_fraction"],
            "compression_ratio": self.said.figures()["compression_ratio"],
            "append_p50_ms": watch.quantile_ms("append", 0.5),
            "append_p95_ms": watch.quantile_ms("append", 0.95),
            "request_p50_ms": watch.quantile_ms("request", 0.5),
            "request_p95_ms": watch.quantile_ms("request", 0.95),
            "search_p95_ms": watch.quantile_ms("search", 0.95),
            "fault_p95_ms": watch.quantile_ms("fault", 0.95),
            "latency": watch.to_dict(),
        }


async def replay(
    memory: Memory,
    conversations: Sequence[Conversation],
    *,
    window: int,
    mode: str = "active",
    questions: bool = False,
    questions_max: int | None = None,
    stopwatch: Stopwatch | None = None,
    progress: StageProgress | None = None,
    counter: TokenCounter | None = None,
    clock: ConversationClock | None = None,
) -> ReplayReport:
    """Run conversations through new sessions of `memory`; with `questions`, ask theirs on forks.

    Each question is asked on its own fork, so that none helps another: of the finished session, or,
    if it says so (`before`), once that many lines were said. `questions_max` limits the questions
    per conversation. `stopwatch` is the meter that `memory` was opened with. `clock` is the clock
    of its `cache_s`, so that a pause in a conversation lets the provider's cache lapse. `progress`
    gets a label, the number done, and the total.
    """
    report = ReplayReport(window_tokens=window, stopwatch=stopwatch or Stopwatch())
    player = _Player(
        memory, report, progress or _silent, counter or O200k(), clock or ConversationClock()
    )
    for conversation in conversations:
        asked = conversation.questions[:questions_max] if questions else ()
        await player.play(conversation, asked, window=window, mode=mode)
    return report


class _Player:
    def __init__(
        self,
        memory: Memory,
        report: ReplayReport,
        progress: StageProgress,
        counter: TokenCounter,
        clock: ConversationClock,
    ) -> None:
        self._memory = memory
        self._report = report
        self._progress = progress
        self._counter = Remembering(counter)
        self._clock = clock

    async def play(
        self, conversation: Conversation, questions: Sequence[Question], *, window: int, mode: str
    ) -> None:
        name = await self._free_name(conversation.name)
        session = await self._memory.session(
            name, window=window, mode=mode, system=conversation.system
        )
        self._report.sessions.append(name)
        self._clock.begin(conversation)
        recorder = Recorder(session, self._memory.limits, self._clock)
        pages: dict[str, tuple[PageId, str]] = {}
        numbered = enumerate(questions, 1)
        waiting = sorted(numbered, key=lambda one: _asked_after(one[1], conversation), reverse=True)
        asked = len(waiting)

        async def ask(after: int) -> None:
            while waiting and _asked_after(waiting[-1][1], conversation) <= after:
                count, question = waiting.pop()
                await self._ask(session, question, f"{name} ? {count}", pages)
                self._progress(f"asking {name}", asked - len(waiting), asked)

        for number, line in enumerate(conversation.lines, 1):
            await ask(number - 1)
            said, request = await recorder.say(line)
            if request is not None:
                self._look(request, line.text)
                self._report.recalled[_form(line.text)].add(recorder.calls[-1])
            if line.ref:
                pages[line.ref] = (said[0].page_id, line.text)
            self._report.turns += 1
            self._progress(f"replaying {name}", number, len(conversation.lines))
        self._report.too_large_for_window += recorder.documents
        await self._weigh(session, recorder, conversation.system)
        await ask(len(conversation.lines))

    async def _weigh(self, session: Session, recorder: Recorder, system: str) -> None:
        """The cost of the conversation's requests by their bytes, beside two other layouts."""
        calls, prices, cost = recorder.calls, session.prices, self._report.cost
        status = await session.status()
        metrics = await session.metrics()
        self._report.said.add(metrics.tally)
        self._report.lookups[0] += status.tlb_hits
        self._report.lookups[1] += status.tlb_hits + status.tlb_misses
        cost.prices, self._report.layout = prices.name, status.layout
        if not calls:
            return
        entries = await session.ledger()
        window, limits, counter = status.window_tokens, self._memory.limits, self._counter
        ours = measure(Stable(), calls, counter)
        rebuilt = Developer(counter, system, window=window, limits=limits)
        flushed = FlushWhenFull(counter, system, window=window, limits=limits)
        cost.calls += len(ours)
        for entry, seen in zip(entries, ours, strict=True):
            cost.epochs += bool(entry.epoch)
            if seen.before is not None:
                survival = seen.shared / seen.before
                cost.survivals.append(survival)
                if not entry.epoch:
                    cost.outside.append(survival)
                    cost.breaks += seen.breaks
        cost.ours += priced(prices, ours).cost
        cost.rebuild += priced(prices, measure(rebuilt, calls, counter)).cost
        cost.flush += priced(prices, measure(flushed, calls, counter)).cost
        if status.layout == LayoutName.STABLE:  # the other layout does not choose when
            timed = timing_of(prices, entries, window)
            cost.timed += timed.cost
            cost.best += timed.best
            cost.timed_of += priced(prices, ours).cost

    async def _free_name(self, name: str) -> str:
        name = _NO_NAME.sub("-", name)[:_NAME_CHARS]
        taken = {row.name for row in await self._memory.sessions()}
        names = (name if n == 1 else f"{name} ({n})" for n in range(1, len(taken) + 2))
        return next(candidate for candidate in names if candidate not in taken)

    async def _ask(
        self, session: Session, question: Question, name: str, pages: dict[str, tuple[PageId, str]]
    ) -> None:
        fork = await session.fork(name)
        await fork.user(question.text)
        engine = Watched(ScriptedEngine())
        answer = await fork.run(engine)
        self._report.asked.add((await fork.metrics()).tally)
        for request in engine.requests:
            self._look(request, question.text)
        shown = {p.page_id: p.text for m in engine.requests[-1].messages for p in passages_of(m)}
        report = self._report
        report.faults += answer.faults
        report.faults_refused += answer.faults_refused
        report.faults_per_question.append(answer.faults)
        report.paged_in_tokens.append(answer.paged_in_tokens)
        report.citations += len(answer.citations)
        report.citations_valid += sum(page in shown for page in answer.citations)
        if not question.answerable:
            report.unanswerable += 1
            report.unanswerable_declined += not answer.citations
            return
        tally = report.evidence_by_category.setdefault(question.category, [0, 0])
        for ref in question.evidence:
            tally[1] += 1
            if ref in pages:  # else it is said after the question
                page_id, text = pages[ref]
                tally[0] += neutralise(text) in shown.get(page_id, "")

    def _look(self, request: Request, newest: str) -> None:
        """Check a request from its bytes alone, as an outsider would."""
        report, counter = self._report, self._counter
        tokens = REQUEST_TOKENS + tools_tokens(counter, request.tools)
        tokens += sum(message_tokens(counter, message) for message in request.messages)
        report.requests += 1
        report.max_request_tokens = max(report.max_request_tokens, tokens)
        report.requests_over_window += tokens * request.factor > request.window_tokens
        spoken = [m.content for m in request.messages if m.role is Role.USER]
        report.newest_turn_missing += not any(neutralise(newest) in text for text in spoken[-2:])
        passages: list[Passage] = [p for m in request.messages for p in passages_of(m)]
        ids = [passage.page_id for passage in passages]
        report.duplicate_pages += len(ids) - len(set(ids))


def _asked_after(question: Question, conversation: Conversation) -> int:
    """The number of lines after which it is asked: what is said later cannot be known."""
    lines = len(conversation.lines)
    return lines if question.before is None else min(question.before, lines)


class Watched:
    """An engine that keeps the requests it gets."""

    def __init__(self, engine: ScriptedEngine) -> None:
        self._engine = engine
        self.requests: list[Request] = []

    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        self.requests.append(request)
        async for piece in self._engine.reply(request):
            yield piece


def _form(message: str) -> str:
    """The form of a message: one of the three that recall distinguishes."""
    called_for = gate(message)
    return "telling" if called_for is TELLING else "asking" if called_for is ASKING else "mixed"


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _silent(label: str, done: int, total: int) -> None:
    pass
