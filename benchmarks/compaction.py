"""Whether summaries of what left the window help whoever is asked about it: an A/B/C over replays.

    python benchmarks/compaction.py [FILE …] [--format turns] [--window 2000] [--questions 12]
        [--url http://127.0.0.1:8080/v1 --model NAME]

Each conversation is played into a session, a request at every message of the user, and then its
questions are asked, each on a fork of its own. The arms: **A**, no memory, only what the window still
has; **B**, raw retrieval: what search finds comes in word for word, and nothing stands for what left;
**C**, the same search with compaction, once for each strategy. Nobody faults, so what the first
request shows is all there is. For each arm:

 - `shown`: questions of which an answering sentence (of each turn in evidence the one nearest to
   question and answer, as `bench ladder` has it) stands in the request; and `answered`, of which the
   scripted reader quotes one, or the turn that has it.
 - `citations_valid`: of the pages that the reader cites, the share that the request shows.
 - `unsupported`: sentences of summaries that stand in no page of their run, and cite none of it; of
   how many (`told`).
 - `tokens`: of the request that asks, on average, and of all requests of the replay in all (`spent`);
   `cpu_ms` of a request that asks.
 - `lost`: why the others failed. "not brought": nothing stands for their turns, and search did not
   bring them; "header only": a summary does, but as its header, or in an index; "not in summary": its
   text is shown and has other sentences; "in window": a turn in evidence is there whole, and the
   sentence nearest to the question is another.

Without a model, `abstractive_with_citations` and `hybrid` are formed by the rules that quote, each
sentence with its page: that shows the mechanism, and nothing of what a model would write.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from pagefault import EngineError, Limits, RemoteEngine, ScriptedEngine, Session
from pagefault.engine.api import Engine
from pagefault.engine.scripted import Passage, passages_of
from pagefault.lab.ladder import ALIVE
from pagefault.lab.transcripts import Conversation, Line, Question, read_conversations
from pagefault.lab.turns import ConversationClock, say
from pagefault.model.kinds import Kind, Role
from pagefault.model.request import Request
from pagefault.represent.sentences import units
from pagefault.represent.words import telling_terms
from pagefault.service.bootstrap import Wiring, open_memory

FOLDER = Path(__file__).parent.parent / "tests" / "recall" / "recordings"
NO_SUMMARIES = Limits(summary_window_share=0.0)
ARMS: dict[str, Wiring] = {
    "A none": {"control": "capture_only"},
    "B raw retrieval": {"limits": NO_SUMMARIES},
    "C extractive": {"compaction": "extractive"},
    "C hierarchical": {"compaction": "hierarchical"},
    "C abstractive_with_citations": {"compaction": "abstractive_with_citations"},
    "C hybrid": {"compaction": "hybrid"},
}
FORMED_EVERY = 4  # turns
_CITED = re.compile(r"\[([a-z]{3,4}_\d+)\]")
_SPEAKER = re.compile(r"[^:\n]{1,40}: ")

Terms = frozenset[str]


@dataclass(slots=True)
class Told:
    """Sums over the questions of an arm."""

    questions: int = 0
    shown: int = 0
    answered: int = 0
    cited: int = 0
    cited_there: int = 0
    told: int = 0
    unsupported: int = 0
    spent: int = 0
    tokens: list[int] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)

    def row(self, arm: str, name: str, window: int) -> dict[str, Any]:
        return {
            "recording": name,
            "window": window,
            "arm": arm,
            "questions": self.questions,
            "shown": round(100 * self.shown / self.questions, 1),
            "answered": round(100 * self.answered / self.questions, 1),
            "citations_valid": round(100 * self.cited_there / self.cited, 1)
            if self.cited
            else None,
            "told": self.told,
            "unsupported": self.unsupported,
            "tokens": round(mean(self.tokens)),
            "spent": self.spent,
            "cpu_ms": round(1000 * mean(self.cpu_s), 1),
            "lost": dict(sorted(self.lost.items())),
        }


def sentences(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in units(text)]


def alive(wanted: Sequence[Terms], said: Sequence[Terms]) -> bool:
    return any(len(one & other) >= ALIVE * len(one) for one in wanted for other in said)


def answering(question: Question, lines: dict[str, Line]) -> list[Terms]:
    """Of each turn in evidence the sentence that shares most terms with question and answer."""
    asked = frozenset(telling_terms(f"{question.text} {question.answer}"))
    found = []
    for ref in question.evidence:
        said = [frozenset(telling_terms(one)) for one in sentences(lines[ref].text)]
        if said := [one for one in said if len(one) > 1]:
            found.append(max(said, key=lambda one: len(one & asked)))
    return found


class Asked:
    """An engine that keeps what it was asked."""

    def __init__(self) -> None:
        self._engine = ScriptedEngine()
        self.request: Request | None = None

    async def reply(self, request: Request) -> Any:
        self.request = request
        async for piece in self._engine.reply(request):
            yield piece


async def ask(
    session: Session, question: Question, lines: dict[str, Line], pages: dict[str, str], told: Told
) -> None:
    wanted = answering(question, lines)
    if not wanted:
        return
    fork = await session.fork(f"{session.name} ? {told.questions}")
    await fork.user(question.text)
    begun = time.process_time()
    request = await fork.request()
    told.cpu_s.append(time.process_time() - begun)
    told.tokens.append(request.tokens)
    engine = Asked()
    answer = await fork.run(engine)
    assert engine.request is not None
    passages = [
        one
        for message in engine.request.messages
        for one in passages_of(message)
        if one.text != question.text
    ]
    shown = {one.page_id for one in passages}
    said = [frozenset(telling_terms(one)) for each in passages for one in sentences(each.text)]
    quoted = [frozenset(telling_terms(one)) for one in sentences(answer.text)]
    evidence = {pages[ref] for ref in question.evidence}
    told.questions += 1
    is_shown = alive(wanted, said)
    told.shown += is_shown
    told.answered += is_shown and (
        alive(wanted, quoted) or not evidence.isdisjoint(answer.citations)
    )
    told.cited += len(answer.citations)
    told.cited_there += sum(one in shown for one in answer.citations)
    if not is_shown:
        told.lost[await why(fork, evidence, passages, engine.request)] += 1


async def why(
    fork: Session, evidence: set[str], passages: Sequence[Passage], request: Request
) -> str:
    if not evidence.isdisjoint(one.page_id for one in passages):
        return "in window"
    for one in passages:
        if one.letter == "S":
            page = await fork.page(one.page_id)
            if page.derived and not evidence.isdisjoint(page.derived.provenance):
                return "not in summary"
    text = "\n".join(message.content for message in request.messages)
    for name in set(re.findall(r"\b(?:sum|idx)_\d+\b", text)):
        page = await fork.page(name)
        if page.derived and not evidence.isdisjoint(page.derived.provenance):
            return "header only"
        if page.row.kind is Kind.INDEX:
            return "header only"
    return "not brought"


async def weigh(session: Session, told: Told) -> None:
    """The sentences of the summaries that the session's next request shows."""
    request = await session.request()
    for one in (each for message in request.messages for each in passages_of(message)):
        if one.letter != "S":
            continue
        page = await session.page(one.page_id)
        if page.derived is None:
            continue
        there = set(page.derived.provenance)
        run = "\n".join([(await session.page(name)).text for name in page.derived.provenance])
        run = " ".join(run.split())
        for line in filter(None, map(str.strip, page.text.splitlines())):
            told.told += 1
            words = " ".join(_SPEAKER.sub("", _CITED.sub("", line), count=1).split())
            cites = set(_CITED.findall(line))
            quoted = all(part.strip() in run for part in sentences(words))
            told.unsupported += not (quoted or (cites and cites <= there))


async def play(
    conversation: Conversation,
    arm: str,
    told: Told,
    *,
    window: int,
    most: int,
    model: Engine | None,
) -> None:
    clock = ConversationClock()
    clock.begin(conversation)
    wiring = ARMS[arm]
    lines = {line.ref: line for line in conversation.lines if line.ref}
    questions = [one for one in conversation.questions if one.answerable][:most]
    async with open_memory(":memory:", seed=1, clock=clock, window=window, **wiring) as memory:
        session = await memory.session(
            "bench", window=window, mode="passive", system=conversation.system
        )
        pages: dict[str, str] = {}
        forms = wiring.get("compaction") in ("abstractive_with_citations", "hybrid")
        for number, line in enumerate(conversation.lines):
            for one in questions:
                if one.before == number:
                    await ask(session, one, lines, pages, told)
            clock.reach(line)
            made = await say(session, line)
            pages[line.ref] = made[0].page_id
            if line.role is Role.USER:
                told.spent += (await session.request()).tokens
            if forms and number % (2 * FORMED_EVERY) == 0:
                with suppress(EngineError):
                    await session.form(model)
        for one in questions:
            if one.before is None:
                await ask(session, one, lines, pages, told)
        await weigh(session, told)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--format", default="turns")
    parser.add_argument("--window", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=12, help="of each conversation, at most")
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--arms", nargs="+", default=list(ARMS))
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default="")
    asked = parser.parse_args()
    model = RemoteEngine(asked.url, asked.model) if asked.url else None
    for path in asked.files or sorted(FOLDER.glob("*.jsonl")):
        for arm in asked.arms:
            told = Told()
            for conversation in read_conversations(path, asked.format)[: asked.conversations]:
                await play(
                    conversation, arm, told, window=asked.window, most=asked.questions, model=model
                )
            sys.stdout.write(json.dumps(told.row(arm, path.stem, asked.window)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
