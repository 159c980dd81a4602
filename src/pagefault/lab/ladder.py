"""The ladder bench: the length of each level, and what it keeps.

A range is one session of a conversation. *Evidence* are the sentences of the turns that an
answerable question names; the *answering* one of a turn is the sentence that shares most with the
question and its answer. A sentence survives in a text if some sentence there has at least `ALIVE`
of its terms, so all methods are judged by content alone. The ladder is compared, at the same size,
with the beginning of the range, its lead sentences, and nearly the most that sentences of the range
could keep with the questions known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from pagefault.lab.transcripts import Conversation, Line
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level
from pagefault.represent.api import CountTokens, Source, full_text
from pagefault.represent.cues import is_citable
from pagefault.represent.extractive import abstract_tokens, compress_range
from pagefault.represent.protected import Guarded, guarded_set
from pagefault.represent.sentences import units
from pagefault.represent.words import telling_terms

ALIVE: Final = 0.8
TERMS_MIN: Final = 2  # terms that make a sentence distinguishable

Progress = Callable[[str, int, int], None]
Shorten = Callable[["Range", int, CountTokens], str]
"""A method: makes a text from a range, a size in tokens, and a token counter."""


@dataclass(frozen=True, slots=True)
class Sentence:
    page: int  # index in the range
    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Range:
    """Pages of one session, their sentences, and those that questions ask about."""

    sources: tuple[Source, ...]
    sentences: tuple[Sentence, ...]
    evidence: tuple[int, ...]  # indices of sentences
    answering: tuple[int, ...]  # one per question and turn, so repeated as often as asked for

    def tokens(self, count: CountTokens) -> int:
        return sum(count(source.text) for source in self.sources)


def ranges(conversations: Iterable[Conversation]) -> Iterator[Range]:
    """The sessions of conversations. Lines with equal refs up to a colon are from one."""
    for conversation in conversations:
        asked: dict[str, list[frozenset[str]]] = {}
        for question in conversation.questions:
            terms = frozenset(telling_terms(f"{question.text} {question.answer}"))
            for ref in question.evidence if question.answerable else ():
                asked.setdefault(ref, []).append(terms)
        for _, lines in groupby(conversation.lines, key=_session):
            yield _range(list(lines), asked)


def _session(line: Line) -> str:
    return line.ref.partition(":")[0] if line.ref else line.occurred_at[:10]


def _range(lines: Sequence[Line], asked: dict[str, list[frozenset[str]]]) -> Range:
    sentences: list[Sentence] = []
    evidence: list[int] = []
    answering: list[int] = []
    for page, line in enumerate(lines):
        first = len(sentences)
        for unit in units(line.text):
            said = line.text[unit.start : unit.end]
            sentences.append(Sentence(page, said, frozenset(telling_terms(said))))
        telling = [n for n in range(first, len(sentences)) if len(sentences[n].terms) >= TERMS_MIN]
        answering += (
            _nearest(terms, telling, sentences) for terms in asked.get(line.ref, ()) if telling
        )
        evidence += telling if line.ref in asked else []
    sources = (
        Source(page_id=PageId(f"msg_{n}"), text=line.text, role=line.role, speaker=line.speaker)
        for n, line in enumerate(lines, 1)
    )
    return Range(tuple(sources), tuple(sentences), tuple(evidence), tuple(answering))


def _nearest(terms: frozenset[str], telling: Sequence[int], said: Sequence[Sentence]) -> int:
    """The sentence that shares most terms; ties go to the first."""
    return max(telling, key=lambda place: (len(terms & said[place].terms), -place))


# --- what is measured beside the ladder ---------------------------------------------------------


def ladder(talk: Range, room: int, count: CountTokens) -> str:
    return compress_range(talk.sources, Level.ABSTRACT, count=count, tokens_max=room).text


def truncation(talk: Range, room: int, count: CountTokens) -> str:
    """As much of the beginning as fits, to the character."""
    text = full_text(talk.sources)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def lead_sentences(talk: Range, room: int, count: CountTokens) -> str:
    """The first sentence of each page, in order, as far as they fit."""
    pages = [sentence.page for sentence in talk.sentences]
    return filled(talk, [pages.index(page) for page in dict.fromkeys(pages)], room, count)


def known(talk: Range, room: int, count: CountTokens) -> str:
    """Nearly the maximum: answering sentences, by how often they are asked for per token."""
    wanted = Counter(talk.answering)
    order = sorted(wanted, key=lambda n: (-wanted[n] / max(1, count(talk.sentences[n].text)), n))
    return filled(talk, order, room, count)


def filled(talk: Range, order: Iterable[int], room: int, count: CountTokens) -> str:
    """The sentences that fit, chosen in `order` and shown in the range's order, with speakers."""
    taken: list[int] = []
    text = ""
    for place in order:
        wider = _quoted(talk, sorted([*taken, place]))
        if count(wider) <= room:
            taken.append(place)
            text = wider
    return text


def _quoted(talk: Range, places: Sequence[int]) -> str:
    said: dict[int, list[str]] = {}
    for place in places:
        sentence = talk.sentences[place]
        said.setdefault(sentence.page, []).append(sentence.text)
    quoted: list[str] = []
    speaker = ""
    for page, sentences in said.items():
        who = talk.sources[page].speaker or talk.sources[page].role.value
        quoted.append(("" if who == speaker else f"{who}: ") + " ".join(sentences))
        speaker = who
    return "\n".join(quoted)


METHODS: Final[dict[str, Shorten]] = {
    "ladder": ladder,
    "truncation": truncation,
    "lead": lead_sentences,
    "known": known,
}


# --- the bench ----------------------------------------------------------------------------------


def survivors(talk: Range, text: str, places: Iterable[int]) -> int:
    """How many of these sentences survive in a text, counting repetitions."""
    said = [frozenset(telling_terms(text[unit.start : unit.end])) for unit in units(text)]
    return sum(
        any(len(terms & other) >= ALIVE * len(terms) for other in said)
        for terms in (talk.sentences[place].terms for place in places)
    )


def bench_ladder(
    conversations: Iterable[Conversation],
    *,
    count: CountTokens,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Every figure over the sessions of these conversations; shares of nothing are null."""
    talks = [talk for talk in ranges(conversations) if talk.sentences]
    tokens: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    kept: Counter[tuple[str, Guarded]] = Counter()
    there: Counter[tuple[str, Guarded]] = Counter()
    smallest = float("inf")
    seconds: list[float] = []
    for number, talk in enumerate(talks, 1):
        whole = talk.tokens(count)
        tokens["0"] += whole
        tokens["shown"] += count(full_text(talk.sources))
        for level in (Level.REDUCED, Level.ABSTRACT, Level.REFERENCE):
            begun = time.process_time()
            made = compress_range(talk.sources, level, count=count)
            if level is Level.ABSTRACT:
                seconds.append(time.process_time() - begun)
                smallest = min(smallest, whole / max(1, made.tokens))
            tokens[str(level.value)] += made.tokens
            in_it = guarded_set(made.text)
            for name, sentences in _told(talk, level):
                must = frozenset().union(*(guarded_set(sentence) for sentence in sentences))
                there.update((name, what) for what, _ in must)
                kept.update((name, what) for what, _ in must & in_it)
        for name, shorten in METHODS.items():
            text = shorten(talk, abstract_tokens(talk.sources, count), count)
            alive[f"evidence_{name}"] += survivors(talk, text, talk.evidence)
            alive[f"answering_{name}"] += survivors(talk, text, talk.answering)
        if progress is not None:
            progress("shortening sessions", number, len(talks))
    asked = {
        "evidence": sum(len(talk.evidence) for talk in talks),
        "answering": sum(len(talk.answering) for talk in talks),
    }
    seconds.sort()
    return {
        "ranges": len(talks),
        "range_tokens_mean": _ratio(tokens["0"], len(talks), 1),
        "level1_ratio": _ratio(tokens["shown"], tokens["1"], 2),
        "level2_ratio": _ratio(tokens["0"], tokens["2"], 2),
        "level2_ratio_min": round(smallest, 2) if talks else None,
        "level3_tokens_mean": _ratio(tokens["3"], len(talks), 1),
        "evidence_sentences": asked["evidence"],
        "answering_sentences": asked["answering"],
        **{
            f"{sort}_{name}_frac": _ratio(alive[f"{sort}_{name}"], asked[sort])
            for sort in asked
            for name in METHODS
        },
        **{
            f"{name}_{what.value}s_frac": _ratio(kept[name, what], there[name, what])
            for name in ("level1", "level2", "level2_cited")
            for what in Guarded
        },
        "cited_sentences": sum(len(_cited(talk)) for talk in talks),
        "level2_cpu_p50_ms": round(1000 * seconds[len(seconds) // 2], 1) if seconds else None,
        "level2_cpu_p95_ms": round(1000 * seconds[len(seconds) * 95 // 100], 1)
        if seconds
        else None,
    }


def _told(talk: Range, level: Level) -> Iterator[tuple[str, list[str]]]:
    """The sources whose names, numbers and negations this level should keep."""
    everything = [sentence.text for sentence in talk.sentences]
    if level is Level.REDUCED:
        yield "level1", everything
    if level is Level.ABSTRACT:
        yield "level2", everything
        yield "level2_cited", _cited(talk)


def _cited(talk: Range) -> list[str]:
    return [sentence.text for sentence in talk.sentences if is_citable(sentence.text)]


def _ratio(part: float, whole: float, digits: int = 3) -> float | None:
    return round(part / whole, digits) if whole else None
