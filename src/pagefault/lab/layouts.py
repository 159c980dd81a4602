"""Request layouts of others, as baselines for the stable one.

Each gets the calls of a conversation in order and returns the request it would send. All render
pages alike, and all but the full history bring in the same search results, unless already shown.
Each is built as its users build it; where there was a choice, the cheaper one was taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from pagefault.lab.turns import Call
from pagefault.model.ids import NOTHING, PageId
from pagefault.model.kinds import Mode, Role
from pagefault.model.page import Page
from pagefault.model.request import Message, ToolSpec
from pagefault.model.residency import tier_of
from pagefault.pack import prompts, render
from pagefault.pack.count import REQUEST_TOKENS, TokenCounter, message_tokens, tools_tokens
from pagefault.pack.envelope import dump
from pagefault.pack.layout import UNSEALED, Layout, Note, Shown, pages_of
from pagefault.pack.tools import vm_tools
from pagefault.recall.hint import hint
from pagefault.service.limits import Limits

_HINTS: Final = 5  # pages listed as available in the developer message


@dataclass(frozen=True, slots=True)
class Shot:
    """A request as it would be sent."""

    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]


class RequestLayout(Protocol):
    def next(self, call: Call) -> Shot:
        """The request of the next call."""
        ...


class Stable:
    """Ours: what the session itself sent."""

    def next(self, call: Call) -> Shot:
        return Shot(call.request.tools, call.request.messages)


class FullHistory:
    """The whole conversation in an unlimited window; needs no rules, tools or recall."""

    def __init__(self, counter: TokenCounter, system: str) -> None:
        self._layout = Layout(counter, system, ())

    def next(self, call: Call) -> Shot:
        for page in call.new:
            self._layout.add(Shown(page))
        self._layout.freeze()
        return Shot((), self._layout.messages())


class SlidingWindow:
    """The newest messages that fit; hits among the older ones are added to the newest."""

    def __init__(self, counter: TokenCounter, system: str, *, window: int) -> None:
        self._counter, self._system = counter, system
        self._window = window
        self._pages: list[Page] = []

    def next(self, call: Call) -> Shot:
        self._pages += call.new
        while True:
            shown = {page.page_id for page in self._pages}
            layout = Layout(self._counter, self._system, ())
            layout.pending = [Shown(page) for page in self._pages]
            recalled = recallable(call, shown)
            if layout.tokens(recalled) <= self._window or len(self._pages) == 1:
                layout.freeze(recalled)
                return Shot((), layout.messages())
            del self._pages[0]


class FlushWhenFull:
    """MemGPT's layout: append until the window is full, then keep its newer half and put the rest
    into one summary at the top, rewritten with each flush.

    The summary has a tenth of every message, in at most an eighth of the window; older ones are
    dropped first. The price of having a model write it is not counted.
    """

    def __init__(self, counter: TokenCounter, system: str, *, window: int, limits: Limits) -> None:
        fault_limits = limits.fault_limits(window)
        self._counter = counter
        self._head = prompts.head(system, Mode.ACTIVE, fault_limits)
        self._tools = vm_tools(fault_limits)
        self._window = window
        self._layout = Layout(counter, self._head, self._tools)
        self._summary: list[str] = []

    def next(self, call: Call) -> Shot:
        for page in call.new:
            self._layout.add(Shown(page))
        recalled = self._recallable(call)
        if self._layout.tokens(recalled) > self._window:
            self._flush()
            recalled = self._recallable(call)
        self._layout.freeze(recalled)
        return Shot(self._tools, self._layout.messages())

    def _recallable(self, call: Call) -> list[Page]:
        shown = {page.page_id for entry in self._layout.entries() for page in pages_of(entry)}
        return recallable(call, shown)

    def _flush(self) -> None:
        turns = [entry for entry in self._layout.entries() if isinstance(entry, Shown)]
        layout = Layout(self._counter, self._head, self._tools)
        half = (self._window - layout.head_tokens) // 2
        kept = 0
        tokens = 0
        for entry in reversed(turns):
            tokens += entry.page.row.tokens + render.LABEL_TOKENS
            if kept and tokens > half:
                break
            kept += 1
        self._summary += [_tenth(entry.page) for entry in turns[: len(turns) - kept]]
        while len(self._summary) > 1 and self._summary_tokens() > self._window // 8:
            del self._summary[: max(1, len(self._summary) // 16)]
        if self._summary:
            layout.add(Note(self._summary_text(), NOTHING))
        for entry in turns[len(turns) - kept :]:
            layout.add(entry)
        self._layout = layout

    def _summary_text(self) -> str:
        return "Summary of what was said before:\n" + "\n".join(self._summary)

    def _summary_tokens(self) -> int:
        return self._counter.count(self._summary_text())


class Developer:
    """Requirement 000's message: rules, a manifest and the working set, rebuilt for every request.

    The working set fills the window. When full, it is cut to 80 %, least recently used pages first.
    The manifest is compact JSON.
    """

    def __init__(self, counter: TokenCounter, system: str, *, window: int, limits: Limits) -> None:
        fault_limits = limits.fault_limits(window)
        self._counter = counter
        self._rules = prompts.head(system, Mode.ACTIVE, fault_limits)
        self._tools = vm_tools(fault_limits)
        self._policies = {
            "faults_allowed": True,
            "max_faults_per_turn": fault_limits.faults_max,
            "upgrade_budget_tokens": fault_limits.tokens_max,
            "prefer_levels": [2, 1, 0],
        }
        self._window = window
        self._used: dict[PageId, Page] = {}  # least recently used first

    def next(self, call: Call) -> Shot:
        user = [page for page in call.new if page.row.turn == call.new[-1].row.turn]
        user = [page for page in user if page.row.role is Role.USER]
        said = {page.page_id for page in user}
        recalled = recallable(call, self._used)
        for page in (*recalled, *(page for page in call.new if page.page_id not in said)):
            self._used[page.page_id] = page
        newest = Message(role=Role.USER, content=render.message(user))
        messages = (self._developer(call), newest)
        if self._tokens(messages) > self._window:
            while self._used and self._tokens(messages) > self._window * 0.8:
                for page_id in list(self._used)[: max(1, len(self._used) // 20)]:
                    del self._used[page_id]
                messages = (self._developer(call), newest)
        for page in user:
            self._used[page.page_id] = page
        return Shot(self._tools, messages)

    def _tokens(self, messages: Iterable[Message]) -> int:
        tokens = REQUEST_TOKENS + tools_tokens(self._counter, self._tools)
        return tokens + sum(message_tokens(self._counter, message) for message in messages)

    def _developer(self, call: Call) -> Message:
        pages = sorted(self._used.values(), key=lambda page: page.row.order)
        manifest = {
            "session_id": "ses_1",
            "working_set": [
                {
                    "page_id": page.page_id,
                    "modality": page.row.modality,
                    "level": 0,
                    "tokens_est": page.row.tokens,
                }
                for page in pages
            ],
            "available_pages": [
                {
                    "page_id": page.page_id,
                    "modality": page.row.modality,
                    "tier": tier_of(page.row),
                    "levels": [0, 3],
                    "hint": hint(page.text, title=page.title),
                }
                for page in [p for p in call.hits if p.page_id not in self._used][:_HINTS]
            ],
            "policies": self._policies,
        }
        content = f"{self._rules}\n\n<VM:MANIFEST_JSON>\n{dump(manifest)}\n</VM:MANIFEST_JSON>\n\n"
        content += render.block([render.line([page]) for page in pages], UNSEALED)
        return Message(role=Role.SYSTEM, content=content)


def recallable(call: Call, shown: Collection[PageId]) -> list[Page]:
    """The best hits that are not shown, as many as fit into the room for recall."""
    chosen, room = [], call.recall_room
    for page in call.hits:
        cost = page.row.tokens + render.LABEL_TOKENS
        if page.page_id not in shown and cost <= room:
            chosen.append(page)
            room -= cost
    return chosen


def _tenth(page: Page) -> str:
    words = page.text.split()
    return f"{page.speaker or page.row.role}: {' '.join(words[: max(1, len(words) // 10)])}"
