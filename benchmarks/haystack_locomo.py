"""Evidence among a million other turns: does cutting candidates short cost any?

    python benchmarks/haystack_locomo.py FILE TURNS [QUESTIONS]

puts the conversations of FILE (LoCoMo's form) among TURNS other turns, and asks their
answerable questions (or QUESTIONS of them, by chance) over everything. The others are drawn word by
word from the conversations' own words and speakers, so that every word of a question is about as
common as in the conversations. Beside the search as it is, the same ranking over every page that
has any term of the question: the exhaustive one.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pagefault.lab.transcripts import Conversation, read_conversations
from pagefault.model.events import Body, Event, PageBody, Said, SessionOpened
from pagefault.model.ids import PageId, Seq, SessionNo, TurnNo
from pagefault.model.kinds import IMPORT, RUNTIME, Actor, EventType, Mode, Role
from pagefault.model.page import EVERYTHING
from pagefault.recall import search
from pagefault.store.embedded.index import SqliteIndex

DEPTH = 10
BATCH = 2_000
SESSION_TURNS = 600  # about what a conversation of the file has
EXHAUSTIVE = 10**9


@dataclass(frozen=True)
class Question:
    """An answerable one, and the records that answer it."""

    text: str
    evidence: frozenset[Seq]


def recorded(talk: Conversation) -> tuple[list[Event], list[Question]]:
    """A conversation as records of one session, and what is asked of it."""
    opening = SessionOpened(session_id="s", name="s", window_tokens=1, mode=Mode.PASSIVE, system="")
    events = [_event(1, 0, opening)]
    seqs: dict[str, Seq] = {}
    for order, line in enumerate(talk.lines):
        seqs[line.ref] = Seq(order + 2)
        body = Said(
            event_type=EventType.CHAT_TURN,
            page_id=PageId(f"msg_{order}"),
            order=order,
            role=Role.USER,
            text=line.text,
            tokens=0,
            speaker=line.speaker,
            occurred_at=line.occurred_at,
        )
        events.append(_event(order + 2, order, body))
    questions = [
        Question(one.text, frozenset(seqs[ref] for ref in one.evidence))
        for one in talk.questions
        if one.answerable and one.evidence
    ]
    return events, questions


def _event(seq: int, turn: int, body: Body) -> Event:
    return Event(
        seq=Seq(seq),
        event_id=str(seq),
        session=SessionNo(1),
        turn=TurnNo(turn),
        at_ms=0,
        actor=Actor.SYSTEM,
        origin=IMPORT if isinstance(body, PageBody) else RUNTIME,
        body=body,
    )


class Haystack:
    """An index that fills from one log of many sessions."""

    def __init__(self, index: SqliteIndex) -> None:
        self.index = index
        self.seq = 0
        self._waiting: list[Event] = []

    def add(self, event: Event, session: SessionNo | None = None) -> Seq:
        """Log an event as the next one, in a session or as the opening of a new one."""
        self.seq += 1
        seq = Seq(self.seq)
        self._waiting.append(replace(event, seq=seq, session=session or SessionNo(seq)))
        if len(self._waiting) >= BATCH:
            self.flush()
        return seq

    def flush(self) -> None:
        self.index.apply(self._waiting)
        self._waiting.clear()
        while self.index.tidy():
            pass


def fill(
    hay: Haystack,
    talks: list[tuple[list[Event], list[Question]]],
    others: int,
    chance: random.Random,
) -> list[Question]:
    """The conversations stand apart from one another, others before, between and after them."""
    turns = [
        event.body for events, _ in talks for event in events if isinstance(event.body, PageBody)
    ]
    template = next(e for events, _ in talks for e in events if isinstance(e.body, PageBody))
    opening = talks[0][0][0]
    words = [word for body in turns for word in body.text.split()]
    each = others // (len(talks) + 1)
    questions: list[Question] = []
    for events, asked in [*talks, ([], [])]:
        for first in range(0, each, SESSION_TURNS):
            session = SessionNo(hay.add(_named(opening, hay.seq)))
            speakers = chance.sample(turns, 2)
            for order in range(min(SESSION_TURNS, each - first)):
                like = chance.choice(turns)
                body = replace(
                    like,
                    page_id=PageId(f"msg_{order}"),
                    order=order,
                    text=" ".join(chance.choices(words, k=len(like.text.split()))),
                    speaker=speakers[order % 2].speaker,
                )
                hay.add(replace(template, turn=TurnNo(order), body=body), session)
        moved: dict[Seq, Seq] = {}
        for event in events:
            if isinstance(event.body, SessionOpened):
                moved[event.seq] = hay.add(_named(event, hay.seq))
            else:
                moved[event.seq] = hay.add(event, SessionNo(moved[Seq(1)]))
        questions += [
            Question(one.text, frozenset(moved[seq] for seq in one.evidence)) for one in asked
        ]
    hay.flush()
    return questions


def _named(event: Event, number: int) -> Event:
    assert isinstance(event.body, SessionOpened)
    return replace(event, body=replace(event.body, session_id=f"s{number}", name=f"s{number}"))


def found(
    index: SqliteIndex, questions: Collection[Question], candidates: int
) -> tuple[float, str]:
    """Evidence among the first hits in percent, and how long a search took."""
    search.STRETCHES_MAX = candidates  # type: ignore[misc]
    searcher, share, times = search.Searcher(index), 0.0, []
    for question in questions:
        began = time.perf_counter()
        hits = searcher.search(EVERYTHING, question.text, limit=DEPTH).hits
        times.append(1000 * (time.perf_counter() - began))
        seqs = {hit.page.seq for hit in hits}
        share += len(seqs & question.evidence) / len(question.evidence)
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(0.95 * len(times))]
    return 100 * share / len(questions), f"p50 {p50:.1f}, p95 {p95:.1f} ms"


def lines(file: Path, others: int, count: int) -> Iterator[str]:
    chance = random.Random(5)
    talks = [recorded(talk) for talk in read_conversations(file, "locomo")]
    with tempfile.TemporaryDirectory() as folder:
        index = SqliteIndex.create(Path(folder) / "index.db", root_id="benchmark")
        questions = fill(Haystack(index), talks, others, chance)
        if count:
            questions = chance.sample(questions, count)
        yield f"{others:,} other turns, {len(questions)} questions, evidence@{DEPTH} in percent"
        for candidates in (50, 100, 200, 400, EXHAUSTIVE):
            share, times = found(index, questions, candidates)
            name = "exhaustive" if candidates == EXHAUSTIVE else f"{candidates} stretches"
            yield f"{name:<20}{share:6.1f}   {times}"
        index.close()


if __name__ == "__main__":
    for line in lines(
        Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    ):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
