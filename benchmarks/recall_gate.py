"""What the runtime pages in by itself, with the gate of `recall/gate.py` and with others.

    python benchmarks/recall_gate.py path/to/locomo.json [TOKENS]

Each LoCoMo conversation is one session. Printed for each, and for several gates: the share of the
evidence of answerable questions that TOKENS (1,000) hold when the question is asked, and what they
take of them; and what a turn of the conversation takes, for turns that ask, that tell and ask, and
that tell. Lines are counted as they would stand in the window; what it shows anyway is not known
here. The first line of each conversation is no gate at all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pagefault
from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.model.defaults import RECALL_TOKENS
from pagefault.model.kinds import Role
from pagefault.pack import render
from pagefault.pack.count import O200k
from pagefault.recall.gate import ASKING, MIXED, TELLING, Gate, gate
from pagefault.recall.search import SearchHit

OPEN = Gate(coverage_min=0.0, share_min=0.0, room_share=1.0)
GATES = (
    ("none", (OPEN, OPEN, OPEN)),
    ("default", (ASKING, MIXED, TELLING)),
    ("stricter", (Gate(0.0, 0.55, 1.0), Gate(0.0, 0.55, 0.75), Gate(0.7, 0.5, 0.25))),
    ("looser", (Gate(0.0, 0.35, 1.0), Gate(0.0, 0.35, 0.75), Gate(0.5, 0.5, 0.25))),
    ("floor", (Gate(0.25, 0.45, 1.0), Gate(0.25, 0.45, 0.75), TELLING)),
)
CANDIDATES = 50
SKIPPED = 100  # lines at the beginning, when there is nothing to recall yet

Hits = Sequence[SearchHit]


def paged_in(hits: Hits, let: Gate, lines: Mapping[str, int], tokens: int) -> tuple[set[str], int]:
    """The pages that a gate lets in, and their tokens."""
    room = total = int(let.room_share * tokens)
    pages: set[str] = set()
    for hit in let.admitted(hits):
        cost = lines[hit.page.page_id]
        if cost <= room:
            pages.add(hit.page.page_id)
            room -= cost
    return pages, total - room


async def measure(conversation: Conversation, tokens: int) -> None:
    counter = O200k()
    turns: dict[Gate, list[Hits]] = {ASKING: [], MIXED: [], TELLING: []}
    questions: list[tuple[Hits, list[str]]] = []
    async with pagefault.open(":memory:", mode="passive") as memory:
        session = await memory.session("talk")
        pages: dict[str, str] = {}
        lines: dict[str, int] = {}

        async def found_by(words: str) -> Hits:
            hits = (await session.recall(words, limit=CANDIDATES)).hits
            return [hit for hit in hits if hit.page.page_id in lines]  # claims are found apart

        for number, line in enumerate(conversation.lines):
            if line.role is Role.USER and number > SKIPPED:
                hits = await found_by(line.text)
                turns[gate(line.text)].append(hits)
            say = session.user if line.role is Role.USER else session.assistant
            page_id = await say(line.text, speaker=line.speaker, occurred_at=line.occurred_at)
            pages[line.ref] = page_id
            lines[page_id] = counter.count(render.line([await session.page(page_id)])) + 1
        for question in conversation.questions:
            if question.answerable:
                hits = await found_by(question.text)
                named = [pages[ref] for ref in question.evidence if ref in pages]
                questions.append((hits, named))
    for name, gates in GATES:
        found = total = cost = 0
        for hits, named in questions:
            shown, took = paged_in(hits, gates[0], lines, tokens)
            found, total = found + sum(page in shown for page in named), total + len(named)
            cost += took
        taken = [
            sum(paged_in(hits, let, lines, tokens)[1] for hits in some) / max(1, len(some))
            for let, some in zip(gates, turns.values(), strict=True)
        ]
        sys.stdout.write(
            f"{conversation.name:12} {name:10} evidence {found / total:.3f}"
            f"  tokens: question {cost / len(questions):4.0f}  turn that asks {taken[0]:4.0f}"
            f"  tells and asks {taken[1]:4.0f}  tells {taken[2]:4.0f}\n"
        )


if __name__ == "__main__":
    for one in read_conversations(Path(sys.argv[1]), "locomo"):
        asyncio.run(measure(one, int(sys.argv[2]) if len(sys.argv) > 2 else RECALL_TOKENS))
