"""Do summaries of what left the window help answer questions about it? An A/B/C test over replays.

Each conversation is played into a session, with a request at every message of the user, and each of
its questions is asked on a fork. The arms: *A*, no memory, only what the window still has; *B*, raw
retrieval: search results word for word, and nothing in place of what left; *C*, search results as a
context pack of excerpts, in the room for recall; and *B* with summaries, once for each way of
compaction. There are no faults, so the request that asks shows all there is.

Without a model, the ways that need one are formed by rules that quote, each sentence with its page.
That tests the mechanism, but says nothing about a model's text.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from pagefault.engine.api import Engine
from pagefault.engine.scripted import Passage, ScriptedEngine, passages_of
from pagefault.lab.ladder import ALIVE
from pagefault.lab.replay import Watched
from pagefault.lab.transcripts import Conversation, Line, Question
from pagefault.lab.turns import ConversationClock, say
from pagefault.model.errors import EngineError
from pagefault.model.kinds import Compaction, ControlMode, Kind, Role
from pagefault.model.request import Request
from pagefault.represent.sentences import units
from pagefault.represent.words import telling_terms
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY
from pagefault.service.limits import Limits
from pagefault.service.session import Session


@dataclass(frozen=True, slots=True)
class CompactionArm:
    """One kind of memory: what it retrieves, and what it shows unasked."""

    name: str
    recalls: bool = True
    packs: bool = False
    sums_up: bool = True
    compaction: Compaction = Compaction.EXTRACTIVE


NONE: Final = CompactionArm("A none", recalls=False, sums_up=False)
RAW: Final = CompactionArm("B raw retrieval", sums_up=False)
COMPACTED: Final = tuple(CompactionArm(f"C {way}", compaction=way) for way in Compaction)
PACKED: Final = CompactionArm("C pack", recalls=False, packs=True, sums_up=False)
ARMS: Final = (NONE, RAW, PACKED, *COMPACTED)
FORMED_EVERY: Final = 8  # lines
RUNS: Final = 8  # per window
RUN_TOKENS_MIN: Final = 200
_CITED: Final = re.compile(r"\[([a-z]{3,4}_\d+)\]")
_SPEAKER: Final = re.compile(r"[^:\n]{1,40}: ")

Terms = frozenset[str]


@dataclass(slots=True)
class ArmTally:
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

    def row(self) -> dict[str, Any]:
        """For `--json`; shares in percent."""
        return {
            "questions": self.questions,
            "shown": round(100 * self.shown / self.questions, 1),
            "answered": round(100 * self.answered / self.questions, 1),  # 0 for packs
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


def terms_of(texts: Sequence[str]) -> list[Terms]:
    """The content words of each sentence of these texts."""
    return [frozenset(telling_terms(one)) for text in texts for one in sentences(text)]


def alive(wanted: Sequence[Terms], said: Sequence[Terms]) -> bool:
    return any(len(one & other) >= ALIVE * len(one) for one in wanted for other in said)


def answering(question: Question, lines: dict[str, Line]) -> list[Terms]:
    """For each turn in evidence, the sentence that shares most terms with question and answer."""
    asked = frozenset(telling_terms(f"{question.text} {question.answer}"))
    told = (terms_of([lines[ref].text]) for ref in question.evidence)
    wordy = ([one for one in said if len(one) > 1] for said in told)
    return [max(said, key=lambda one: len(one & asked)) for said in wordy if said]


async def ask(
    session: Session,
    question: Question,
    lines: dict[str, Line],
    pages: dict[str, str],
    told: ArmTally,
) -> None:
    """Ask on a fork and inspect its request; `pages` maps the refs of lines to pages."""
    wanted = answering(question, lines)
    if not wanted:
        return
    fork = await session.fork(f"{session.name} ? {told.questions}")
    await fork.user(question.text)
    begun = time.process_time()
    request = await fork.request()
    told.cpu_s.append(time.process_time() - begun)
    told.tokens.append(request.tokens)
    engine = Watched(ScriptedEngine())
    answer = await fork.run(engine)
    passages = [
        one
        for message in engine.requests[-1].messages
        for one in passages_of(message)
        if one.text != question.text
    ]
    shown = {one.page_id for one in passages}
    said = terms_of([one.text for one in passages])
    evidence = {pages[ref] for ref in question.evidence}
    told.questions += 1
    is_shown = alive(wanted, said)
    told.shown += is_shown
    told.answered += is_shown and (
        alive(wanted, terms_of([answer.text])) or not evidence.isdisjoint(answer.citations)
    )
    told.cited += len(answer.citations)
    told.cited_there += sum(one in shown for one in answer.citations)
    if not is_shown:
        told.lost[await why(fork, evidence, passages, engine.requests[-1])] += 1


async def ask_packed(
    session: Session,
    question: Question,
    lines: dict[str, Line],
    pages: dict[str, str],
    told: ArmTally,
) -> None:
    """The same with a context pack that a program adds to what the window still has."""
    wanted = answering(question, lines)
    if not wanted:
        return
    fork = await session.fork(f"{session.name} ? {told.questions}")
    await fork.user(question.text)
    begun = time.process_time()
    request = await fork.request()
    room = Limits().recall_room(request.window_tokens, faults=False)
    pack = await session.pack(question.text, budget=room)
    told.cpu_s.append(time.process_time() - begun)
    told.tokens.append(request.tokens + pack.token_budget.used)
    told.questions += 1
    cited = {ref for _, line in pack.lines for ref in line.cites}
    there = {ref for ref in cited if (await session.page(ref)).text}
    for _, line in pack.lines:
        told.told += 1
        told.unsupported += not line.cites
        told.cited += len(line.cites)
        told.cited_there += sum(one in there for one in line.cites)
    passages = [one for message in request.messages for one in passages_of(message)]
    texts = [one.text for one in passages if one.text != question.text]
    texts.append(pack.text("codex"))
    if alive(wanted, terms_of(texts)):
        told.shown += 1
        return
    evidence = {pages[ref] for ref in question.evidence}
    shown = {one.page_id for one in passages}
    is_cut = not evidence.isdisjoint(cited)
    told.lost[
        "not in excerpt" if is_cut else "in window" if evidence & shown else "not brought"
    ] += 1


async def why(
    fork: Session, evidence: set[str], passages: Sequence[Passage], request: Request
) -> str:
    """Where an answer was lost, by what the request shows in place of its evidence."""
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


async def weigh(session: Session, told: ArmTally) -> None:
    """Check the sentences of the summaries in the session's next request."""
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
    arm: CompactionArm,
    told: ArmTally,
    *,
    window: int,
    most: int,
    run_tokens: int = 0,
    model: Engine | None = None,
) -> None:
    """Add the results for up to `most` questions of a conversation to `told`.

    `run_tokens` is how much one summary covers. 0 means an eighth of the window, so that some runs
    close, and can be formed, before they leave it.
    """
    clock = ConversationClock()
    clock.begin(conversation)
    limits = Limits(
        recall_tokens_max=Limits().recall_tokens_max if arm.recalls else 0,
        summary_window_share=Limits().summary_window_share if arm.sums_up else 0.0,
        summarised_tokens_max=run_tokens or max(RUN_TOKENS_MIN, window // RUNS),
        formed_after_turns=1,
    )
    control = ControlMode.ASSIST if arm.recalls or arm.packs else ControlMode.CAPTURE_ONLY
    asks = ask_packed if arm.packs else ask
    lines = {line.ref: line for line in conversation.lines if line.ref}
    questions = [one for one in conversation.questions if one.answerable][:most]
    async with open_memory(
        MEMORY,
        seed=1,
        clock=clock,
        window=window,
        limits=limits,
        control=control,
        compaction=arm.compaction,
    ) as memory:
        session = await memory.session(
            "bench", window=window, mode="passive", system=conversation.system
        )
        pages: dict[str, str] = {}
        for number, line in enumerate(conversation.lines):
            for one in questions:
                if one.before == number:
                    await asks(session, one, lines, pages, told)
            clock.reach(line)
            made = await say(session, line)
            pages[line.ref] = made[0].page_id
            if line.role is Role.USER:
                told.spent += (await session.request()).tokens
            if arm.compaction.forms and number % FORMED_EVERY == 0:
                with suppress(EngineError):
                    await session.form(model)
        for one in questions:
            if one.before is None:
                await asks(session, one, lines, pages, told)
        await weigh(session, told)
