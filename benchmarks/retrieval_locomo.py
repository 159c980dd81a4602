"""How much of the evidence search finds on LoCoMo (Maharana et al., ACL 2024), at turn level.

    python benchmarks/retrieval_locomo.py path/to/locomo.json

Each conversation is one session, each turn one page; no model is asked. Printed is the mean
fraction of a question's evidence among the first 1, 5, 10, 20 and 50 hits, in percent: for
categories 1-4 (answerable), for all five, for each, and for plain BM25 as the line to beat. Two
rows split the conversations, to show how much the figures owe to which. The constants in `recall/`
were chosen with these conversations in sight: the fair test is a file of others.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pagefault.model.events import Body, Content, Event, SessionOpened
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import IMPORT, RUNTIME, Actor, EventType, Kind, Mode, Role
from pagefault.model.page import Scope
from pagefault.recall.search import Searcher
from pagefault.store.analyzer import query_terms
from pagefault.store.index import SqliteIndex
from pagefault.store.likely import rarity

DEPTHS = (1, 5, 10, 20, 50)
SESSION = SessionNo(1)


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    evidence: frozenset[Seq]


@dataclass(frozen=True)
class Conversation:
    events: list[Event]
    questions: list[Question]


@dataclass(frozen=True)
class Answer:
    question: Question
    found: list[Seq]
    seconds: float

    def fraction(self, depth: int) -> float:
        return len(self.question.evidence & set(self.found[:depth])) / len(self.question.evidence)


def conversation(sample: dict[str, Any]) -> Conversation:
    events = [_event(1, 0, _opening())]
    seqs: dict[str, Seq] = {}
    talk = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        when = datetime.strptime(  # noqa: DTZ007 – the data has local time without a zone
            talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        ).isoformat()
        for turn in talk[f"session_{number}"]:
            order = len(events) - 1
            seqs[turn["dia_id"]] = Seq(order + 2)
            events.append(_event(order + 2, order, _content(turn, order, when)))
    questions = [
        Question(asked["question"], asked["category"], evidence)
        for asked in sample["qa"]
        if (evidence := frozenset(_named(asked["evidence"], seqs)))
    ]
    return Conversation(events, questions)


def _named(evidence: Iterable[str], seqs: dict[str, Seq]) -> Iterable[Seq]:
    """Some entries join several ids in one string, some name no turn."""
    ids = (dia_id for entry in evidence for dia_id in re.findall(r"D\d+:\d+", entry))
    return (seqs[dia_id] for dia_id in ids if dia_id in seqs)


def _opening() -> SessionOpened:
    return SessionOpened(session_id="s", name="s", window_tokens=1, mode=Mode.PASSIVE, system="")


def _content(turn: dict[str, Any], order: int, when: str) -> Content:
    text = turn["text"]
    if "blip_caption" in turn:
        text += f" [shares {turn['blip_caption']}]"
    return Content(
        event_type=EventType.CHAT_TURN,
        page_id=PageId(f"msg_{order}"),
        order=order,
        role=Role.USER,
        kind=Kind.TRANSCRIPT,
        text=text,
        tokens=0,
        speaker=turn["speaker"],
        occurred_at=when,
    )


def _event(seq: int, turn: int, body: Body) -> Event:
    return Event(
        seq=Seq(seq),
        event_id=str(seq),
        session=SESSION,
        turn=TurnNo(turn),
        at_ms=0,
        actor=Actor.SYSTEM,
        origin=IMPORT if isinstance(body, Content) else RUNTIME,
        body=body,
    )


def by_search(index: SqliteIndex, scope: Scope, question: str) -> list[Seq]:
    result = Searcher(index).search(scope, question, limit=max(DEPTHS))
    return [hit.page.seq for hit in result.hits]


def by_bm25(index: SqliteIndex, scope: Scope, question: str) -> list[Seq]:
    found = index.candidates(scope, query_terms(question), limit=100_000)
    places = found.places.tolist()
    lengths = index.lengths(scope, places)
    scores: dict[int, float] = defaultdict(float)
    for place, counts in zip(places, found.counts.tolist(), strict=True):
        norm = 1.2 * (0.25 + 0.75 * lengths[place] / found.length_mean)
        for count, frequency in zip(counts, found.frequencies, strict=True):
            scores[place] += rarity(found.pages, frequency) * count * 2.2 / (count + norm)
    seqs = {row.order: row.seq for row in index.pages_at(scope, places)}
    return [seqs[place] for place in sorted(scores, key=lambda place: (-scores[place], place))]


def ask(talk: Conversation, method: Callable[[SqliteIndex, Scope, str], list[Seq]]) -> list[Answer]:
    index = SqliteIndex.create(":memory:", root_id="benchmark")
    index.apply(talk.events)
    scope = Scope(((SESSION, talk.events[-1].seq),))
    answers = []
    for question in talk.questions:
        begun = time.perf_counter()
        found = method(index, scope, question.text)
        answers.append(Answer(question, found, time.perf_counter() - begun))
    index.close()
    return answers


def line(name: str, answers: Collection[Answer]) -> str:
    cells = (sum(a.fraction(d) for a in answers) / len(answers) * 100 for d in DEPTHS)
    return f"{name:<28}{len(answers):>5}" + "".join(f"{cell:>8.1f}" for cell in cells)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main(path: Path) -> None:
    talks = [conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]
    plain = [answer for talk in talks for answer in ask(talk, by_bm25)]
    each = [ask(talk, by_search) for talk in talks]
    ours = [answer for answers in each for answer in answers]

    def answerable(answers: Iterable[Answer]) -> list[Answer]:
        return [answer for answer in answers if answer.question.category != 5]

    say(f"{'':<28}{'n':>5}" + "".join(f"{'@' + str(depth):>8}" for depth in DEPTHS))
    say(line("plain BM25, 1-4", answerable(plain)))
    say(line("search, 1-4", answerable(ours)))
    first = answerable(a for answers in each[:3] for a in answers)
    say(line("search, 1-4, first three", first))
    if len(each) > 3:
        say(line("search, 1-4, the others", answerable(a for answers in each[3:] for a in answers)))
    say(line("plain BM25, all", plain))
    say(line("search, all", ours))
    for category in sorted({answer.question.category for answer in ours}):
        chosen = [answer for answer in ours if answer.question.category == category]
        say(line(f"search, category {category}", chosen))
    times = sorted(answer.seconds * 1000 for answer in ours)
    p95 = times[math.ceil(len(times) * 0.95) - 1]
    say(f"search ms: p50 {times[len(times) // 2]:.2f}, p95 {p95:.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
