"""The retrieval bench: how much of a question's evidence search finds in recorded conversations.

Every line goes through the verbs of a real session, in memory, and every question through the
session's own `recall`. Claims are off: they would rank before what was said, but evidence names the
lines themselves. A `session` of a conversation is the part of a line's ref before the colon (`D3`
of `D3:11`), ranked where its first line is.

Plain BM25 over the same lines (`baseline.py`) shows what our ranking adds to it.

`frac` is the mean share of a question's evidence among the first k hits; `any` and `all` are the
shares of questions with some or all of it there; `ndcg10` discounts by the logarithm of the rank
(Järvelin and Kekäläinen, TOIS 2002). All in percent.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any, Final

from pagefault.engine.embedding import Embedder
from pagefault.engine.reranking import Reranker
from pagefault.lab.baseline import PlainBm25
from pagefault.lab.transcripts import Conversation, Line, Question, named_lines
from pagefault.lab.turns import ConversationClock, say
from pagefault.model.errors import BadInput
from pagefault.model.ids import PageId
from pagefault.recall.search import SearchHit
from pagefault.service.bootstrap import open_memory
from pagefault.service.config import MEMORY

DEPTHS: Final = (1, 5, 10, 20, 50)
HITS: Final = 150
"""Hits per search: enough lines to rank sessions by, too."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its search results: hits, each with the lines of its page and of the pages
    with the same content (`SearchHit.also`). `by_words` are the lines that plain BM25 finds, best
    first.
    """

    conversation: str
    question: Question
    hits: tuple[SearchHit, ...]
    lines: tuple[tuple[str, ...], ...]
    seconds: float
    kind: str = ""
    by_words: tuple[str, ...] = ()

    @property
    def refs(self) -> list[str]:
        """The lines found, each once, because a long line is several pages. Copies take a place
        each, as in a ranking without deduplication.
        """
        return list(dict.fromkeys(chain.from_iterable(self.lines)))


Evidence = Callable[[Asked], Sequence[str]]


async def bench_retrieval(
    conversations: Sequence[Conversation],
    *,
    audit: Sequence[Correction] = (),
    cross_validate: bool = False,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """`{"turn": …, "session": …, "by_category": …, …}`, as docs/recall.md describes it.

    With `cross_validate`, `cross_validated` has the figures of conversations ranked with weights
    fitted to the others.
    """
    asked = await ask_all(conversations, embedder=embedder, reranker=reranker, progress=progress)
    told = figures(asked, audit)
    told["embedder"] = None if embedder is None else embedder.name
    told["reranker"] = None if reranker is None else reranker.name
    if cross_validate:
        from pagefault.lab.crossfit import left_out

        ranked = await asyncio.to_thread(left_out, asked, progress=progress)
        told["cross_validated"] = _both(
            [one for one in ranked if one.question.answerable], as_named
        )
    return told


async def ask_all(
    conversations: Sequence[Conversation],
    *,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    progress: Progress = lambda label, done, total: None,
) -> list[Asked]:
    """Ask every question that names evidence, in a session that has the whole conversation. An
    `embedder`, if given, has embedded every page before; a `reranker` is used if words leave the
    answer open.
    """
    asked: list[Asked] = []
    total = sum(len(one.questions) for one in conversations)
    for conversation in conversations:
        before = len(asked)

        def done(count: int, before: int = before) -> None:
            progress("questions", before + count, total)

        asked += await _ask(conversation, embedder, reranker, done)
    return asked


async def _ask(
    conversation: Conversation,
    embedder: Embedder | None,
    reranker: Reranker | None,
    done: Callable[[int], None],
) -> list[Asked]:
    clock = ConversationClock()
    clock.begin(conversation)
    opening = open_memory(
        MEMORY, clock=clock, seed=0, claims="off", embedder=embedder, reranker=reranker
    )
    async with opening as memory:
        session = await memory.session("conversation")
        lines = conversation.lines
        names = [line.ref or str(number) for number, line in enumerate(lines)]
        refs: dict[PageId, str] = {}
        plain = PlainBm25([line.text for line in lines])
        heard = 0
        asked: list[Asked] = []
        for question in sorted(conversation.questions, key=lambda one: _asked_at(one, lines)):
            if not question.evidence:
                continue
            until = _asked_at(question, lines)
            for line, name in zip(lines[heard:until], names[heard:until], strict=True):
                clock.reach(line)
                refs |= dict.fromkeys([page.page_id for page in await say(session, line)], name)
            if embedder is not None and until > heard:
                await memory.embed()
            heard = until
            begun = time.perf_counter()
            hits = (await session.recall(question.text, limit=HITS)).hits
            took = time.perf_counter() - begun
            found = tuple(
                tuple(refs[page.page_id] for page in (hit.page, *hit.also)) for hit in hits
            )
            by_words = plain.rank(question.text, among=question.before)[:HITS]
            asked.append(
                Asked(
                    conversation.name,
                    question,
                    hits,
                    found,
                    took,
                    conversation.kind,
                    tuple(names[number] for number in by_words),
                )
            )
            done(len(asked))
        return asked


def _asked_at(question: Question, lines: Sequence[Line]) -> int:
    """The number of lines before the question is asked."""
    return len(lines) if question.before is None else question.before


# --- figures ------------------------------------------------------------------------------------


def figures(asked: Sequence[Asked], audit: Sequence[Correction] = ()) -> dict[str, Any]:
    answerable = [one for one in asked if one.question.answerable]
    others = [one for one in asked if not one.question.answerable]
    corrected = {(c.question, c.cited): c.evidence for c in audit}

    def as_corrected(one: Asked) -> Sequence[str]:
        key = one.question.text, frozenset(one.question.evidence)
        return corrected.get(key, one.question.evidence)

    offered = [one for one in others if one.hits]
    times = sorted(one.seconds * 1000 for one in asked)
    return {
        "questions": len(answerable),
        **_both(answerable, as_named),
        "bm25": _measures(answerable, refs=_by_words),
        "by_kind": {
            kind: {"turn": _measures(of_kind), "bm25": _measures(of_kind, refs=_by_words)}
            for kind in sorted({one.kind for one in answerable} - {""})
            if (of_kind := [one for one in answerable if one.kind == kind])
        },
        "by_category": {
            category: _measures([one for one in asked if one.question.category == category])
            for category in sorted({one.question.category for one in asked})
        },
        "by_conversation": {
            name: _measures([one for one in answerable if one.conversation == name])
            for name in dict.fromkeys(one.conversation for one in answerable)
        },
        "all_categories": _both(asked, as_named),
        "corrected": _both(answerable, as_corrected) if audit else None,
        "adversarial": {
            "questions": len(others),
            "nothing_offered": _percent(1 - len(offered) / len(others)) if others else None,
        },
        "search_p50_ms": _quantile(times, 0.5),
        "search_p95_ms": _quantile(times, 0.95),
    }


def as_named(one: Asked) -> Sequence[str]:
    return one.question.evidence


def _by_words(one: Asked) -> Sequence[str]:
    return one.by_words


def session_of(ref: str) -> str:
    return ref.partition(":")[0]


def _both(asked: Sequence[Asked], evidence: Evidence) -> dict[str, Any]:
    return {
        "turn": _measures(asked, evidence),
        "session": _measures(asked, evidence, unit=session_of),
    }


def _measures(
    asked: Sequence[Asked],
    evidence: Evidence = as_named,
    *,
    unit: Callable[[str], str] = lambda ref: ref,
    refs: Callable[[Asked], Sequence[str]] = lambda one: one.refs,
) -> dict[str, Any]:
    """`frac`, `any` and `all` at every depth and `ndcg10`, over questions that have evidence."""
    found: list[tuple[list[str], set[str]]] = []
    for one in asked:
        wanted = set(map(unit, evidence(one)))
        if wanted:
            found.append((_distinct(map(unit, refs(one))), wanted))
    if not found:
        return {}

    def at(depth: int, worth: Callable[[float], float]) -> float:
        shares = (len(wanted.intersection(units[:depth])) / len(wanted) for units, wanted in found)
        return _percent(mean(map(worth, shares)))

    return {
        "n": len(found),
        "frac": {str(depth): at(depth, float) for depth in DEPTHS},
        "any": {str(depth): at(depth, lambda share: share > 0) for depth in DEPTHS},
        "all": {str(depth): at(depth, lambda share: share == 1) for depth in DEPTHS},
        "ndcg10": _percent(mean(ndcg(units[:10], wanted) for units, wanted in found)),
    }


def ndcg(refs: Sequence[str], wanted: set[str]) -> float:
    """Over as many ranks as there are refs; every wanted ref has the same gain."""
    gains = [1 / math.log2(place + 2) for place in range(len(refs))]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    return sum(g for g, ref in zip(gains, refs, strict=True) if ref in wanted) / ideal


def _distinct(units: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(units))


def _percent(share: float) -> float:
    return round(100 * share, 2)


def _quantile(values: Sequence[float], share: float) -> float | None:
    if not values:
        return None
    return round(values[math.ceil(len(values) * share) - 1], 2)


# --- corrections --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Correction:
    """An audit's correction of one question: the evidence it names, and what it should name."""

    question: str
    cited: frozenset[str]
    evidence: tuple[str, ...]


def find_audit(data: Path) -> Path | None:
    """The audit beside a file of conversations, if there is one: `locomo5.json`, `audit5.json`."""
    digits = "".join(char for char in data.stem if char.isdigit())
    beside = [data.with_name(f"audit{digits}.json"), data.with_name("audit.json")]
    return next((path for path in beside if path.is_file()), None)


def read_audit(path: Path) -> list[Correction]:
    """Raises `BadInput`, naming the file, if it is not a list of corrections."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(entries, list):
            raise TypeError("no list")
        return [
            Correction(
                question=str(entry["question"]),
                cited=frozenset(named_lines(entry["cited_evidence"])),
                evidence=tuple(named_lines(entry["correct_evidence"])),
            )
            for entry in entries
        ]
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}", hint="check the path") from None
    except (ValueError, KeyError, TypeError, RecursionError) as bad:
        raise BadInput(
            f"{path}: not an audit ({type(bad).__name__}: {bad})",
            hint='a JSON array of objects with "question", "cited_evidence", "correct_evidence"',
        ) from None
