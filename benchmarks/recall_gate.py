"""What the runtime pages in by itself, with the gate of `recall/gate.py` and with others.

    python benchmarks/recall_gate.py people=locomo.json assistant.jsonl coding=coding.jsonl …

Each argument is a file of conversations (`kinds.py`), and each conversation one session. Printed by
kind of conversation: the share of the evidence of answerable questions that 500, 1,000 and 2,000
tokens hold when the question is asked, by gate; and what a turn of the conversation takes of 1,000
tokens, for turns that ask, that tell and ask, and that tell (every tenth of them). Lines are
counted as they would stand in the window; what it shows anyway is not known here, nor are sequels.
`none` is no gate at all: what search's hits alone hold.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kinds import conversations_of

from pagefault.lab.transcripts import Conversation
from pagefault.lab.turns import ConversationClock, say
from pagefault.model.defaults import RECALL_TOKENS
from pagefault.model.kinds import Role
from pagefault.pack import render
from pagefault.pack.count import O200k
from pagefault.recall.gate import ASKING, MIXED, TELLING, Gate, gate
from pagefault.recall.search import SearchHit
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.turn.auto_recall import RECALL_CANDIDATES


@dataclass(frozen=True, slots=True)
class Likely(Gate):
    """A gate by the best hit's `relevance`, whatever the form of the message."""

    likely_min: float = 0.2

    def admitted(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        return Gate.admitted(self, hits) if hits and hits[0].relevance >= self.likely_min else []


OPEN = Gate(coverage_min=0.0, share_min=0.0, room_share=1.0)
LIKELY = Likely(coverage_min=0.0, share_min=0.45, room_share=1.0)
GATES = (
    ("none", (OPEN, OPEN, OPEN)),
    ("default", (ASKING, MIXED, TELLING)),
    ("stricter", (Gate(0.0, 0.55, 1.0), Gate(0.0, 0.55, 0.75), Gate(0.7, 0.5, 0.25))),
    ("looser", (Gate(0.0, 0.35, 1.0), Gate(0.0, 0.35, 0.75), Gate(0.5, 0.5, 0.25))),
    ("likely", (LIKELY, LIKELY, LIKELY)),
    ("floor", (Gate(0.25, 0.45, 1.0), Gate(0.25, 0.45, 0.75), TELLING)),
)
FORMS = (ASKING, MIXED, TELLING)  # of messages; each gets the gate in the same place
TOKENS = (500, 1_000, 2_000)
SKIPPED = 50  # lines at the beginning, when there is little to recall yet
EVERY = 10  # of the user's lines after them, one is a turn that is measured

Hits = Sequence[SearchHit]


@dataclass(slots=True)
class Tally:
    evidence: int = 0
    found: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    turns: list[int] = field(default_factory=lambda: [0] * len(FORMS))
    taken: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * len(FORMS))
    )


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


async def measure(conversation: Conversation, tally: Tally) -> None:
    counter = O200k()
    clock = ConversationClock()
    clock.begin(conversation)
    asked_at = defaultdict(list)
    for question in conversation.questions:
        if question.answerable and question.evidence:
            end = len(conversation.lines)
            asked_at[end if question.before is None else question.before].append(question)
    async with open_memory(MEMORY, clock=clock, seed=0, claims="off") as memory:
        session = await memory.session("talk")
        refs: dict[str, str] = {}
        lines: dict[str, int] = {}
        turn = 0
        for number in range(len(conversation.lines) + 1):
            for question in asked_at[number]:
                hits = (await session.recall(question.text, limit=RECALL_CANDIDATES)).hits
                evidence = set(question.evidence)
                tally.evidence += len(evidence)
                form = FORMS.index(gate(question.text))
                for name, gates in GATES:
                    for tokens in TOKENS:
                        shown, _ = paged_in(hits, gates[form], lines, tokens)
                        held = evidence.intersection(refs[page_id] for page_id in shown)
                        tally.found[name, tokens] += len(held)
            if number == len(conversation.lines):
                return
            line = conversation.lines[number]
            turn += line.role is Role.USER and number >= SKIPPED
            if line.role is Role.USER and turn % EVERY == 1:
                hits = (await session.recall(line.text, limit=RECALL_CANDIDATES)).hits
                form = FORMS.index(gate(line.text))
                tally.turns[form] += 1
                for name, gates in GATES:
                    tally.taken[name][form] += paged_in(hits, gates[form], lines, RECALL_TOKENS)[1]
            clock.reach(line)
            for page in await say(session, line):
                refs[page.page_id] = line.ref
                lines[page.page_id] = counter.count(render.line([page])) + 1


def main() -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for conversation in conversations_of(sys.argv[1:]):
        asyncio.run(measure(conversation, tallies[conversation.kind]))
    for kind, tally in sorted(tallies.items()):
        for name, _ in GATES:
            held = " ".join(
                f"{tally.found[name, tokens] / max(1, tally.evidence):.3f}" for tokens in TOKENS
            )
            means = zip(tally.taken[name], tally.turns, strict=True)
            asks, both, tells = (tokens / max(1, turns) for tokens, turns in means)
            sys.stdout.write(
                f"{kind:16} {name:10} evidence of {tally.evidence}: {held}  tokens of a turn that"
                f" asks {asks:4.0f}, tells and asks {both:4.0f}, tells {tells:4.0f}\n"
            )


if __name__ == "__main__":
    main()
