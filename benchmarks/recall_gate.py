"""What the runtime pages in by itself, with the gate of `recall/gate.py` and without it.

    python benchmarks/recall_gate.py path/to/locomo.json

Each LoCoMo conversation is one session. Printed for each, and for several gates: the share of the
evidence of answerable questions that is paged in when the question is asked, and the tokens that
this takes; and the tokens that a turn of the conversation takes, for turns that ask and for others.
The first line of each conversation is no gate at all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pagefault
from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.model.defaults import RECALL_TOKENS
from pagefault.model.kinds import Role
from pagefault.pack.render import LABEL_TOKENS
from pagefault.recall.gate import ASKING, TELLING, Gate, asks
from pagefault.recall.search import SearchHit

OPEN = Gate(relevance_min=0.0, share_min=0.0, room_share=1.0)
GATES = (
    ("none", OPEN, OPEN),
    ("default", ASKING, TELLING),
    ("stricter", Gate(0.3, 0.5, 1.0), TELLING),
    ("looser", Gate(0.2, 0.4, 1.0), TELLING),
)
CANDIDATES = 50
SKIPPED = 100  # lines at the beginning, when there is nothing to recall yet


def paged_in(hits: Sequence[SearchHit], gate: Gate) -> tuple[set[str], int]:
    """The pages that the gate lets in, and their tokens."""
    room = total = int(gate.room_share * RECALL_TOKENS)
    pages: set[str] = set()
    for hit in gate.admitted(hits):
        cost = hit.page.tokens + LABEL_TOKENS
        if cost <= room:
            pages.add(hit.page.page_id)
            room -= cost
    return pages, total - room


async def measure(conversation: Conversation) -> None:
    asked: list[Sequence[SearchHit]] = []
    told: list[Sequence[SearchHit]] = []
    questions: list[tuple[Sequence[SearchHit], list[str]]] = []
    async with pagefault.open(":memory:", mode="passive") as memory:
        session = await memory.session("talk")
        pages: dict[str, str] = {}
        for number, line in enumerate(conversation.lines):
            if line.role is Role.USER and number > SKIPPED:
                hits = (await session.recall(line.text, limit=CANDIDATES)).hits
                (asked if asks(line.text) else told).append(hits)
            say = session.user if line.role is Role.USER else session.assistant
            page_id = await say(line.text, speaker=line.speaker, occurred_at=line.occurred_at)
            pages[line.ref] = page_id
        for question in conversation.questions:
            if question.answerable:
                hits = (await session.recall(question.text, limit=CANDIDATES)).hits
                named = [pages[ref] for ref in question.evidence if ref in pages]
                questions.append((hits, named))
    for name, asking, telling in GATES:
        found = total = tokens = 0
        for hits, named in questions:
            shown, cost = paged_in(hits, asking)
            found, total = found + sum(page in shown for page in named), total + len(named)
            tokens += cost
        sys.stdout.write(
            f"{conversation.name:12} {name:10} evidence {found / total:.3f}"
            f"  tokens: question {tokens / len(questions):4.0f}"
            f"  asking turn {_mean(asked, asking):4.0f}  other turn {_mean(told, telling):4.0f}\n"
        )


def _mean(found: Sequence[Sequence[SearchHit]], gate: Gate) -> float:
    return sum(paged_in(hits, gate)[1] for hits in found) / max(1, len(found))


if __name__ == "__main__":
    for one in read_conversations(Path(sys.argv[1]), "locomo"):
        asyncio.run(measure(one))
