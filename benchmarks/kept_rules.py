"""What of rules, constraints, facts, goals and preferences survives compaction at fixed budgets, by
the package compaction-conformance-kit (MIT), which is no part of this one.

    pip install compaction-conformance-kit
    python benchmarks/kept_rules.py [--seeds 1 2 3 4] [--budgets 0.1 0.2 0.3]
        [--url http://127.0.0.1:8080/v1 --model NAME]

Three ways of ours to make a conversation shorter. `ladder`: the abstract that summaries of a window
are (`represent/extractive.py`), of which each round makes another of what the round before left;
also where each update is a claim. `pack`: a context pack to begin with. `formation`: the summaries
that were formed of a session at rest, by the share of a range that has room; by rules, where no
model is named. Of these two the log stays whole, so that each round begins anew, and their lines
cite their pages. Beside them stand two of the kit's
own: a summary with the latest turns, and its checklist, which knows the labels that the kit plants.

Budgets are characters. `random` is the kit's corpus of its budget benchmark: a value is told again
in the same words. In `generated` it is told again by another template, in `semantic` and `heldout`
in other words altogether; there `survival` counts the canaries and `pairs` those that only look
alike and must both be there. `stale` are updates of which the old value is still there, of so many.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from compaction_kit.adapters import ProgressiveSummaryCompactor
from compaction_kit.canaries import Canary
from compaction_kit.compacted import CompactedContext
from compaction_kit.compactors import UpdateAwareChecklistCompactor
from compaction_kit.corpus import build_random_session
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.semantic_corpus import build_semantic_heldout_session, build_semantic_session

import pagefault
from pagefault.engine.api import Engine
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level, Role
from pagefault.model.page import Evidence
from pagefault.represent.api import Source
from pagefault.represent.extractive import compress_range

CORPORA: dict[str, Callable[[int], Any]] = {
    "random": build_random_session,
    "generated": build_generated_session,
    "semantic": build_semantic_session,
    "heldout": build_semantic_heldout_session,
}


class Ladder:
    name = "ladder"

    def compact(
        self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        sources = [
            Source(page_id=PageId(f"msg_{n}"), text=turn.text, role=Role(turn.role))
            for n, turn in enumerate(turns)
        ]
        made = compress_range(sources, Level.ABSTRACT, count=len, tokens_max=budget_chars)
        return CompactedContext(made.text, self.name, round_num)


class Closing(Ladder):
    """The ladder, where every update was claimed, and the claim before closed: `closed` are the old
    values, whose sentences no abstract takes. So none is stale; what survives instead is measured.
    """

    name = "ladder, updates claimed"

    def __init__(self) -> None:
        self.closed: list[str] = []

    def compact(
        self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        sources, without = [], []
        for number, turn in enumerate(turns):
            page_id = PageId(f"msg_{number}")
            sources.append(Source(page_id=page_id, text=turn.text, role=Role(turn.role)))
            for value in self.closed:
                at = turn.text.casefold().find(value.casefold())
                if at >= 0:
                    start, end = (len(turn.text[:n].encode()) for n in (at, at + len(value)))
                    without.append(Evidence(page_id=page_id, start=start, end=end))
        made = compress_range(
            sources, Level.ABSTRACT, count=len, tokens_max=budget_chars, without=without
        )
        return CompactedContext(made.text, self.name, round_num)


class Kept:
    """Of a session in which everything was said. What a memory holds is not what is left of it, so
    each round has the same.
    """

    name = ""

    def __init__(self) -> None:
        self._text = ""

    def compact(
        self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        self._text = self._text or asyncio.run(self.left(turns, budget_chars or 1 << 20))
        return CompactedContext(self._text, self.name, round_num)

    async def left(self, turns: list[Any], room: int) -> str:
        raise NotImplementedError


@asynccontextmanager
async def told(turns: list[Any], **limits: Any) -> AsyncIterator[pagefault.Session]:
    """A session in which these turns were said."""
    within = pagefault.Limits(**limits)
    async with pagefault.open(":memory:", window=200_000, limits=within) as memory:
        session = await memory.session("kit")
        for turn in turns:
            if turn.role == "user":
                await session.user(turn.text)
            elif turn.role == "assistant":
                await session.assistant(turn.text)
            else:
                await session.document(turn.text, origin="local_file")
        yield session


async def largest(make: Callable[[int], Awaitable[str]], most: int, room: int) -> str:
    """The text of the largest size, up to `most`, that is within `room` characters."""
    few, many, best = 1, most, ""
    while few <= many:
        size = (few + many) // 2
        text = await make(size)
        if len(text) <= room:
            few, best = size + 1, text
        else:
            many = size - 1
    return best


class Packs(Kept):
    name = "pack"

    async def left(self, turns: list[Any], room: int) -> str:
        async with told(turns) as session:

            async def packed(tokens: int) -> str:
                return (await session.pack(budget=tokens)).text("codex")

            return await largest(packed, room // 2, room)


class Formed(Kept):
    name = "formation"
    engine: Engine | None = None
    limits: ClassVar[dict[str, Any]] = {}

    async def left(self, turns: list[Any], room: int) -> str:
        """By the share of a range that leaves most within the room; a model is asked once."""
        if self.engine is not None:
            said = sum(len(turn.text) for turn in turns)
            return await self._formed(turns, 1_000 * room // said)
        return await largest(lambda permille: self._formed(turns, permille), 1_000, room)

    async def _formed(self, turns: list[Any], permille: int) -> str:
        async with told(turns, formed_share=permille / 1_000, **self.limits) as session:
            await session.form(self.engine, rest=True)
            made = [one.made[0] for one in await session.formations() if one.outcome == "formed"]
            return "\n".join([(await session.page(page_id)).text for page_id in made])


class FormedInRanges(Formed):
    name = "formation, in ranges of 500 tokens"
    limits: ClassVar[dict[str, Any]] = {"summarised_tokens_max": 500}


COMPACTORS: tuple[Callable[[], Any], ...] = (
    Ladder,
    Closing,
    Packs,
    Formed,
    FormedInRanges,
    ProgressiveSummaryCompactor,
    UpdateAwareChecklistCompactor,
)


def measure(
    corpus: str, make: Callable[[], Any], seeds: Iterable[int], budget: float, rounds: int
) -> dict[str, Any]:
    kept: Counter[str] = Counter()
    planted: Counter[str] = Counter()
    updates = stale = pairs = both = 0
    fits = True
    name = ""
    for seed in seeds:
        session, canaries, *more = CORPORA[corpus](seed)
        compactor = make()
        name = compactor.name
        if isinstance(compactor, Closing):
            compactor.closed = [token for one in canaries for token in one.superseded_tokens]
        run = run_conformance(
            session, compactor, rounds=rounds, canaries=canaries, budget_fraction=budget
        )
        last = run.rounds[-1]
        fits = fits and all(one.within_budget for one in run.rounds)
        text = last.context.text.lower()
        for canary in canaries:
            planted[canary.type.value] += 1
            kept[canary.type.value] += last.survived[canary.id]
            if canary.superseded_tokens:
                updates += 1
                stale += _is_stale(canary, text)
        for one, other in more[0]["distinct_pairs"] if more else ():
            pairs += 1
            both += last.survived[one] and last.survived[other]
    return {
        "corpus": corpus,
        "compactor": name,
        "budget": budget,
        "within_budget": fits,
        "survival": round(100 * kept.total() / planted.total(), 1),
        "by_type": {one: round(100 * kept[one] / planted[one]) for one in sorted(planted)},
        "stale": stale,
        "of": updates,
        **({"pairs": round(100 * both / pairs, 1)} if pairs else {}),
    }


def _is_stale(canary: Canary, text: str) -> bool:
    return any(token.lower() in text for token in canary.superseded_tokens)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.1, 0.2, 0.3])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--compactors", type=int, default=len(COMPACTORS), help="the first so many")
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default="")
    asked = parser.parse_args()
    if asked.url:
        Formed.engine = pagefault.RemoteEngine(asked.url, asked.model)
    for corpus in asked.corpora:
        for budget in asked.budgets:
            for make in COMPACTORS[: asked.compactors]:
                row = measure(corpus, make, asked.seeds, budget, asked.rounds)
                sys.stdout.write(json.dumps(row) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
