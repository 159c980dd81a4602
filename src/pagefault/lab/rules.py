"""Compares epoch rules over a recorded conversation, in tokens alone.

A simulation of the stable layout. Turns are appended; those older than the last few become dead
segment by segment, except for a tenth that summarises them, and so does what was recalled for them.
When summaries take more than an eighth of the window, their older half becomes dead. An epoch
removes what is dead. Runs differ only in the rule, so their costs, and the optimum in hindsight,
show what timing is worth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pagefault.lab.layouts import recallable
from pagefault.lab.turns import Call
from pagefault.model.ids import PageId
from pagefault.model.kinds import Mode
from pagefault.model.page import Page
from pagefault.model.prices import PriceList
from pagefault.pack import prompts, render
from pagefault.pack.count import (
    MESSAGE_TOKENS,
    REQUEST_TOKENS,
    TokenCounter,
    tools_tokens,
)
from pagefault.pack.tools import vm_tools
from pagefault.policy import hindsight
from pagefault.policy.epochs import (
    BreakEven,
    CallFacts,
    ColdOrFull,
    EpochRule,
    EveryCalls,
    OnlyWhenFull,
)
from pagefault.policy.hindsight import Edit
from pagefault.service.limits import Limits

RULES: Final[Mapping[str, Callable[[PriceList], EpochRule]]] = {
    "break_even": lambda prices: BreakEven(prices=prices),
    "break_even_uncapped": lambda prices: BreakEven(prices=prices, dead_share_max=1.0),
    "break_even_beta_8": lambda prices: BreakEven(prices=prices, beta=8.0, dead_share_max=1.0),
    "cold_or_full": lambda prices: ColdOrFull(prices=prices),
    "every_4_calls": lambda prices: EveryCalls(prices=prices, calls=4),
    "only_when_full": lambda prices: OnlyWhenFull(prices=prices),
}

_SUMMARY_PART: Final = 10  # ratio of a text to its summary
_SEGMENT_PART: Final = 16  # a segment closes at this part of the window,
_SEGMENT_TOKENS: Final = 1_000  # but at this many tokens at the latest
_SUMMARIES_PART: Final = 8  # largest part of the window for summaries


@dataclass(slots=True)
class Run:
    """A conversation under one rule."""

    calls: list[hindsight.Call] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    cost: float = 0.0
    optimum: float = 0.0
    survival: float = 1.0
    recalled_tokens: int = 0
    prompt_tokens: int = 0


def play(
    calls: Sequence[Call],
    rule: EpochRule,
    *,
    system: str,
    window: int,
    counter: TokenCounter,
    limits: Limits | None = None,
) -> Run:
    """Run a conversation through the simulated layout, with epochs where `rule` says so."""
    run = _Play(rule, system, window, counter, limits or Limits())
    for call in calls:
        run.step(call)
    return run.done()


class _Play:
    """Offsets are those of `hindsight`: in the history as if nothing had been removed."""

    def __init__(
        self, rule: EpochRule, system: str, window: int, counter: TokenCounter, limits: Limits
    ) -> None:
        fault_limits = limits.fault_limits(window)
        head = prompts.head(system, Mode.ACTIVE, fault_limits)
        self._rule, self._window, self._limits = rule, window, limits
        self._head = REQUEST_TOKENS + MESSAGE_TOKENS + counter.count(head)
        self._head += tools_tokens(counter, vm_tools(fault_limits))
        self._full, self._saved = self._head, 0
        self._pending: list[Edit] = []
        self._applied: list[Edit] = []
        self._turns: list[tuple[int, int, list[Page]]] = []  # offset and tokens, unsummarised
        self._summaries: list[Edit] = []  # the edit that would remove each, oldest first
        self._recalled: deque[tuple[int, Edit, list[Page]]] = deque()  # by call, while alive
        self._shown: set[PageId] = set()
        self._leaving: set[PageId] = set()  # of those shown; leave at the next epoch
        self._survivals: list[float] = []
        self._accrued, self._since = 0.0, 0
        self.run = Run()

    def step(self, call: Call) -> None:
        number, sent = len(self.run.calls), self._full
        is_cold = not number or self._rule.prices.is_cold(call.idle_s)
        edits = self._become_dead()
        self._pending += edits
        self._say(call.new)
        pages, recalled = self._recallable(call)
        dead = sum(edit.saves for edit in self._pending)
        before = sent - self._saved
        kept = self._cut() if self._pending else before
        decision = self._rule.decide(
            CallFacts(
                prompt_tokens=self._full + recalled - self._saved,
                room_tokens=self._window,
                dead_tokens=dead,
                surviving_tokens=before - kept - dead,
                is_cold=is_cold,
                calls_since=self._since,
                accrued=self._accrued,
            )
        )
        self._accrued, self._since = decision.accrued, self._since + 1
        if decision.fire and self._pending:
            self._epoch(number)
            pages, recalled = self._recallable(call)  # what just left can be recalled at once
        elif number:
            kept = before
        if pages:
            self._recalled.append((number, Edit(self._full, recalled), pages))
            self._shown |= {page.page_id for page in pages}
            self._full += recalled
        if number:
            self._survivals.append(kept / before)
        self.run.recalled_tokens += recalled
        self.run.prompt_tokens += self._full - self._saved
        self.run.calls.append(
            hindsight.Call(
                appended=self._full - (sent if number else 0),
                edits=tuple(edits),
                is_cold=is_cold,
                room=self._window,
            )
        )

    def done(self) -> Run:
        run, prices = self.run, self._rule.prices
        run.cost = hindsight.cost_of(prices, run.calls, run.epochs)
        run.optimum = hindsight.optimum(prices, run.calls).cost
        if self._survivals:
            run.survival = sum(self._survivals) / len(self._survivals)
        return run

    def _cut(self) -> int:
        """The position in the prompt of the first pending edit."""
        first = min(edit.offset for edit in self._pending)
        return first - sum(edit.saves for edit in self._applied if edit.offset < first)

    def _epoch(self, number: int) -> None:
        self._saved += sum(edit.saves for edit in self._pending)
        self._applied += self._pending
        self._pending = []
        self._shown -= self._leaving
        self._leaving = set()
        self._since = 0
        self.run.epochs.append(number)

    def _say(self, pages: Sequence[Page]) -> None:
        tokens = sum(_tokens(page) for page in pages)
        self._turns.append((self._full, tokens, list(pages)))
        self._shown |= {page.page_id for page in pages}
        self._full += tokens

    def _recallable(self, call: Call) -> tuple[list[Page], int]:
        pages = recallable(call, self._shown)
        tokens = sum(page.row.tokens + render.LABEL_TOKENS for page in pages)
        return pages, tokens + (render.BLOCK_TOKENS if pages else 0)

    def _become_dead(self) -> list[Edit]:
        """What became removable since the previous call."""
        edits: list[Edit] = []
        number = len(self.run.calls)
        while self._recalled and self._recalled[0][0] < number - self._limits.last_turns_kept:
            _, edit, pages = self._recalled.popleft()
            edits.append(edit)
            self._leaving |= {page.page_id for page in pages}
        old = self._turns[: max(0, len(self._turns) - self._limits.last_turns_kept)]
        if sum(tokens for _, tokens, _ in old) >= min(
            self._window // _SEGMENT_PART, _SEGMENT_TOKENS
        ):
            del self._turns[: len(old)]
            for offset, tokens, pages in old:
                summary = tokens // _SUMMARY_PART
                edits.append(Edit(offset, tokens - summary))
                self._leaving |= {page.page_id for page in pages}
                if summary:
                    self._summaries.append(Edit(offset + tokens - summary, summary))
        total = sum(summary.saves for summary in self._summaries)
        if total > self._window // _SUMMARIES_PART:
            goal = total // 2
            while total > goal:
                edits.append(self._summaries.pop(0))
                total -= edits[-1].saves
        return edits


def _tokens(page: Page) -> int:
    return page.row.tokens + render.LABEL_TOKENS + MESSAGE_TOKENS
