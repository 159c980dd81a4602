"""A state machine for hot, warm and cold memory, against a list of items and requirement 002's
rules.

The model has no records, pages or windows. Each of its items has tokens, a heat, a relevance, and a
number of recalls. Which items a recall finds, and their relevance, is taken from the memory; the
consequences are predicted here. Now and then the memory is reopened midway, or its index rebuilt.

Run it with `hypothesis.stateful.run_state_machine_as_test(HeatMachine)`.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pagefault.model.clock import SystemClock
from pagefault.model.errors import HotFull
from pagefault.model.ids import IdMinter
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from pagefault.store.embedded.root import rebuild

T = TypeVar("T")

HOT: Final = 24
COLD: Final = 3
WARM_AFTER: Final = 3
SURE: Final = 0.85
WORDS: Final = ("harbour", "lantern", "orchard", "granite", "violin")

TEXTS: Final = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)


@dataclass
class KnownItem:
    """An item of the model."""

    id: str
    tokens: int
    born: int
    heat: str = "hot"
    relevance: float = 1.0
    accesses: int = 0


class HeatMachine(RuleBasedStateMachine):
    """One session's items."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="pagefault-heat-"))
        self.runner = asyncio.Runner()
        self.items: dict[str, KnownItem] = {}
        self.open()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def open(self) -> None:
        limits = Limits(hot_tokens_max=HOT, cold_items_max=COLD)
        self.stack = AsyncExitStack()
        opening = open_memory(self.root, window=8_000, sync="os", limits=limits)
        self.memory = self.run(self.stack.enter_async_context(opening))
        self.session = self.run(self.memory.session("talk"))

    def close(self) -> None:
        self.run(self.stack.aclose())

    def teardown(self) -> None:
        self.close()
        self.runner.close()
        shutil.rmtree(self.root, ignore_errors=True)

    # --- the rules of the requirement -----------------------------------------------------------

    def of(self, heat: str) -> list[KnownItem]:
        found = [item for item in self.items.values() if item.heat == heat]
        return sorted(found, key=lambda item: (item.relevance, item.born))

    def spill(self, victims: list[KnownItem]) -> None:
        for item in victims:
            item.heat = "warm" if item.accesses > WARM_AFTER else "cold"

    def make_room(self, tokens: int, at_once: int) -> bool:
        if tokens > HOT:
            return False
        while sum(item.tokens for item in self.of("hot")) + tokens > HOT:
            self.spill(self.of("hot")[:at_once])
        return True

    def keep_the_cap(self) -> None:
        cold = self.of("cold")
        for item in cold[: max(0, len(cold) - COLD)]:
            item.heat = "archived"

    # --- what is done ---------------------------------------------------------------------------

    @rule(texts=st.lists(TEXTS, min_size=1, max_size=6))
    def add(self, texts: list[str]) -> None:
        for text in texts:
            self.add_one(text)

    def add_one(self, text: str) -> None:
        try:
            item = self.run(self.session.heat_add(text, type="fact"))
        except HotFull:
            assert self.run(self.session.heat_status()).limit == HOT
            return
        assert self.make_room(item.tokens, 4), "what is too large is refused"
        self.items[item.id] = KnownItem(item.id, item.tokens, len(self.items))
        self.keep_the_cap()

    @rule(count=st.integers(0, 5))
    def spill_some(self, count: int) -> None:
        victims = self.of("hot")[:count]
        told = self.run(self.session.heat_spill(count=count))
        assert list(told.spilled) == [item.id for item in victims]
        self.spill(victims)
        assert told.spilled == {item.id: item.heat for item in victims}
        self.keep_the_cap()

    @rule(word=st.sampled_from(WORDS), limit=st.integers(1, 3), promotes=st.booleans())
    def recall(self, word: str, limit: int, promotes: bool) -> None:
        found = self.run(self.session.heat_recall(word, limit=limit, auto_promote=promotes))
        scores = dict(found.relevance_scores or {})
        assert len(scores) <= limit
        chosen = [self.items[one] for one in scores]
        for item in chosen:
            assert item.heat in ("warm", "cold"), "what is hot or archived is not recalled"
            item.accesses += 1
            item.relevance = (item.relevance + scores[item.id]) / 2
        promoted = []
        for item in chosen if promotes else ():
            if scores[item.id] > SURE or item.accesses > WARM_AFTER:
                assert self.make_room(item.tokens, 2)
                item.heat, item.relevance = "hot", 1.0
                promoted.append(item.id)
        assert list(found.promoted) == promoted
        self.keep_the_cap()

    @rule()
    def recall_what_nobody_said(self) -> None:
        assert self.run(self.session.heat_recall("xylophone")).items == ()

    @precondition(lambda self: self.items)
    @rule(data=st.data())
    def promote(self, data: st.DataObject) -> None:
        item = self.items[data.draw(st.sampled_from(sorted(self.items)))]
        self.run(self.session.heat_promote(item.id))
        if item.heat != "hot":
            assert self.make_room(item.tokens, 2)
            item.heat, item.relevance = "hot", 1.0
        self.keep_the_cap()

    @rule(count=st.integers(1, 3))
    def prune(self, count: int) -> None:
        gone = self.of("cold")[:count]
        assert self.run(self.session.heat_prune(count=count)) == [item.id for item in gone]
        for item in gone:
            item.heat = "archived"

    @rule(text=st.sampled_from(["And now?", "word " * 300]))
    def talk(self, text: str) -> None:
        self.run(self.session.user(text))
        self.run(self.session.request())
        self.run(self.session.assistant("Well."))
        shown = set(self.session.resident())
        assert {item.id for item in self.of("hot")} <= shown, "what is hot stands in the request"

    @rule(anew=st.booleans())
    def reopen(self, anew: bool) -> None:
        self.close()
        if anew:
            clock = SystemClock()
            rebuild(self.root, clock=clock, minter=IdMinter(clock, random.Random(1)))
        self.open()

    # --- what holds -----------------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        status = self.run(self.session.heat_status())
        assert status.tokens["hot"] <= HOT, "the cap holds after every call"
        told = {heat: len(self.of(heat)) for heat in ("hot", "warm", "cold", "archived")}
        assert dict(status.items) == told
        hot = self.run(self.session.heat_hot())
        assert {item.id for item in hot} == {item.id for item in self.of("hot")}
        self.session.check()
