"""What context packs find, cite and take: over the recordings of search, each question one pack.

    python benchmarks/context_packs.py [FOLDER]

For each budget: the share of a question's labelled evidence that the pack cites, beside that of raw
retrieval (what `Session.recall` finds, best first, whole pages, in as many tokens); the tokens that
a pack used; the share of lines that cite something that is there (coverage), and lines that do not
(unsupported); and how long a pack took, in wall time and in CPU time of the process. Last, the same
of packs without a query.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from pagefault import ContextPack, Session
from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.lab.turns import ConversationClock, say
from pagefault.service.bootstrap import open_memory

FOLDER = Path(__file__).parent.parent / "tests" / "recall" / "recordings"
BUDGETS = (500, 2_000)


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Of milliseconds: p50, p95 and p99."""
    cuts = quantiles(seconds, n=100, method="inclusive")
    return {f"p{at}": round(cuts[at - 1] * 1000, 1) for at in (50, 95, 99)}


def tell(row: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


async def cited(session: Session, pack: ContextPack) -> tuple[set[str], int, int]:
    """The pages that a pack shows or rests on; its lines, and those of them that cite nothing."""
    pack.check()
    refs: set[str] = set()
    for one in pack.evidence:
        refs |= {one.ref, *one.also, *(span.ref for span in one.rests_on)}
    there = {ref for ref in refs if (await session.page(ref)).text}
    lines = [line for _, line in pack.lines]
    return refs, len(lines), sum(not set(line.cites) <= there for line in lines)


async def measure(conversation: Conversation, told: dict[int, dict[str, list[float]]]) -> None:
    clock = ConversationClock()
    clock.begin(conversation)
    async with open_memory(":memory:", seed=1, clock=clock, window=8_000) as memory:
        session = await memory.session("bench")
        pages: dict[str, set[str]] = {}
        for line in conversation.lines:
            clock.reach(line)
            pages[line.ref] = {page.page_id for page in await say(session, line)}
        for question in conversation.questions:
            wanted = [pages[ref] for ref in question.evidence]
            for budget in BUDGETS:
                began, cpu = time.perf_counter(), time.process_time()
                pack = await session.pack(question.text, budget=budget)
                row = told.setdefault(budget, {})
                row.setdefault("wall", []).append(time.perf_counter() - began)
                row.setdefault("cpu", []).append(time.process_time() - cpu)
                refs, lines, bare = await cited(session, pack)
                raw = await session.recall(question.text, limit=60, tokens=budget)
                found = {row.page_id for hit in raw.hits for row in (hit.page, *hit.also)}
                for name, has in (("pack", refs), ("raw", found)):
                    share = mean(not one.isdisjoint(has) for one in wanted)
                    row.setdefault(name, []).append(share)
                row.setdefault("used", []).append(pack.token_budget.used)
                row.setdefault("lines", []).append(lines)
                row.setdefault("bare", []).append(bare)
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(20):
            await cited(session, await session.pack())
        row = told.setdefault(0, {})
        row.setdefault("wall", []).append((time.perf_counter() - began) / 20)
        row.setdefault("cpu", []).append((time.process_time() - cpu) / 20)


async def main(paths: Sequence[Path]) -> None:
    for path in paths:
        told: dict[int, dict[str, list[float]]] = {}
        for conversation in read_conversations(path, "turns"):
            await measure(conversation, told)
        for budget in BUDGETS:
            row = told[budget]
            lines = sum(row["lines"])
            shown: dict[str, Any] = {
                "recording": path.stem,
                "budget": budget,
                "questions": len(row["pack"]),
                "evidence_in_pack": round(100 * mean(row["pack"]), 1),
                "evidence_in_raw": round(100 * mean(row["raw"]), 1),
                "tokens_used": round(mean(row["used"])),
                "coverage": round(100 * (1 - sum(row["bare"]) / lines), 2) if lines else None,
                "unsupported": sum(row["bare"]),
                "wall_ms": percentiles(row["wall"]),
                "cpu_ms": percentiles(row["cpu"]),
            }
            tell(shown)
        boot = {name: round(1000 * mean(values), 1) for name, values in told[0].items()}
        tell({"recording": path.stem, "boot_ms": boot})


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    asyncio.run(main(sorted(folder.glob("*.jsonl"))))
