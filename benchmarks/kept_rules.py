"""What of rules, constraints, facts, goals and preferences survives compaction at fixed budgets, by
the package compaction-conformance-kit (MIT), which is no part of this one.

    pip install compaction-conformance-kit
    python benchmarks/kept_rules.py [--seeds 1 2 3 4] [--budgets 0.1 0.2 0.3]

Two ways of ours to make a conversation shorter, without a model: `ladder`, the abstract that the
window's summaries are (`represent/extractive.py`), of which each round makes another of what the
round before left; and `pack`, a context pack to begin with of a session in which every turn was
said, whose log stays whole, so that each round packs it anew. Beside them stand two of the kit's
own: a summary with the latest turns, and its reference, which knows the kit's labels.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from compaction_kit.adapters import ProgressiveSummaryCompactor
from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.compacted import CompactedContext

import pagefault.sync
from pagefault.model.kinds import Level, Role
from pagefault.pack.count import O200k
from pagefault.represent.api import Source
from pagefault.represent.extractive import compress_range

CHARS_PER_TOKEN = 3.0  # to begin with: less room is asked for until the text fits
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}


class Ladder:
    name = "pagefault-ladder"

    def compact(
        self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        sources = [
            Source(page_id=f"msg_{n}", text=turn.text, role=ROLES[turn.role])
            for n, turn in enumerate(turns)
        ]
        room = budget_chars or 1 << 20
        tokens = int(room / CHARS_PER_TOKEN)
        while True:
            made = compress_range(
                sources, Level.ABSTRACT, count=O200k().count, tokens_max=max(tokens, 1)
            )
            if len(made.text) <= room or tokens <= 1:
                return CompactedContext(made.text[:room], self.name, round_num)
            tokens = int(tokens * 0.9)


class Packs:
    name = "pagefault-pack"

    def __init__(self) -> None:
        self._turns: list[Any] = []

    def compact(
        self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        self._turns = self._turns or turns  # what a memory holds is not what is left of it
        room = budget_chars or 1 << 20
        with pagefault.sync.open(":memory:", window=200_000) as memory:
            session = memory.session("kit")
            for turn in self._turns:
                if turn.role == "user":
                    session.user(turn.text)
                elif turn.role == "assistant":
                    session.assistant(turn.text)
                else:
                    session.document(turn.text, origin="local_file")
            tokens = int(room / CHARS_PER_TOKEN)
            while True:
                text = session.pack(budget=tokens).text("codex")
                if len(text) <= room:
                    return CompactedContext(text, self.name, round_num)
                tokens = int(tokens * 0.95)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.1, 0.2, 0.3])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    told = run_budget_benchmark(
        {
            Ladder.name: Ladder,
            Packs.name: Packs,
            "kit-summary-and-tail": ProgressiveSummaryCompactor,
        },
        budgets=asked.budgets,
        seeds=asked.seeds,
        rounds=asked.rounds,
    )
    for entry in told["entries"]:
        row = {
            "compactor": entry["compactor"],
            "budget": entry["budget_fraction"],
            "within_budget": entry["budget_compliant"],
            "survival": entry["randomized"]["overall_final_survival"],
            "by_type": entry["randomized"]["final_median_by_type"],
            "stale": entry["randomized"]["supersession"]["stale"],
            "of": entry["randomized"]["supersession"]["n"],
        }
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
