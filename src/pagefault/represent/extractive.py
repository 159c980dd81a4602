"""The extractive ladder: shorter forms made of pieces of the text, without a model.

`compress_page` and `compress_range` are pure functions: the same pages give the same bytes.
`Extractive` adapts them to the protocol.

An abstract quotes: each of its sentences is in a page, and its span says where. It never cuts a
sentence that negates something, and it never has a decision that its own range takes back later
without the sentence that takes it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from pagefault.model.kinds import Level, Modality
from pagefault.model.page import Evidence
from pagefault.represent.api import (
    CountTokens,
    Representation,
    Source,
    check_asked,
    full_text,
    size_of,
    speaker_of,
)
from pagefault.represent.reading import Reading, Sentence, read, said_last
from pagefault.represent.reduce import is_said, stretches
from pagefault.represent.reference import reference
from pagefault.represent.restated import restated
from pagefault.represent.reversal import Reversals
from pagefault.represent.salience import Candidate, choose
from pagefault.represent.sentences import Unit, touched

RATIO: Final = 10
"""An abstract has at most one token for this many of its sources …"""
ABSTRACT_MIN: Final = 24
"""… but may always have this many, about a sentence: less would say nothing."""
LINE_GAIN_MIN: Final = 0.1
"""What a key sentence must add for each token of its line: a new term for ten."""
TRIES: Final = 3
BREAKS: Final = ("\n", "\r", "\u2028", "\u2029", "\x0b", "\x0c", "\x85")


def compress_page(source: Source, level: Level, *, count: CountTokens) -> Representation:
    """One page at `level`: `compress_range` of that page alone, without the speaker."""
    return compress_range([source], level, count=count)


def compress_range(
    sources: Sequence[Source],
    level: Level,
    *,
    count: CountTokens,
    tokens_max: int | None = None,
    without: Sequence[Evidence] = (),
    cited: bool = False,
) -> Representation:
    """A run of pages, in order, as one text at `level` (1, 2 or 3).

    With several pages, speakers are named. An abstract has at most `tokens_max` tokens, by default
    a tenth of the pages' texts; below 240 tokens, it has 24 or one sentence. It is empty if no
    whole sentence fits, and has no sentence that a span in `without` touches. If `cited`, an
    abstract has one line for each page, which ends with the page's id, as in `[msg_3]`, and names
    the speaker even of a single page. Raises `BadInput` as `check_asked` does.
    """
    check_asked(sources, level, tokens_max)
    if level is Level.REFERENCE:
        return _reference(sources, count, tokens_max)
    readings = [read(source, count) for source in sources]
    draft = _reduced(sources, readings, count)
    if level is Level.ABSTRACT:
        room = abstract_tokens(sources, count) if tokens_max is None else tokens_max
        if draft.tokens > room or without or cited:
            one = tokens_max is None and room == ABSTRACT_MIN
            lines = _as_it_stands(sources, readings, without)
            abstract = _abstract(sources, lines, room, count, one_at_least=one, cited=cited)
            is_shorter = abstract.tokens <= draft.tokens and size_of(abstract.text) <= size_of(
                draft.text
            )
            if is_shorter or cited:
                draft = abstract
    return draft.representation(sources, level)


def key_sentences(
    sources: Sequence[Source], *, count: CountTokens, tokens_max: int, line_tokens: int
) -> list[tuple[int, str]]:
    """The most informative sentences, as lines: each its page's place, and its words.

    The best first. A line costs `line_tokens` besides its sentences, and has to be worth them:
    "Wise." is not. A sentence that follows another shares its line, so it costs itself alone. The
    best are taken until the next would bring the lines over `tokens_max` tokens; no shorter one
    takes its place.
    """
    lines = _as_it_stands(sources, [read(source, count) for source in sources], ())
    follows = [_follows(sources, one, other) for one, other in pairwise(lines)]
    none = [0] * len(sources)
    candidates = _in_lines(_candidates(sources, lines, none), follows, [line_tokens] * len(lines))
    reversals = Reversals([line.sentence for line in lines])
    left, fitting = tokens_max, dict[int, None]()
    for place in choose(candidates, tokens_max * 2, LINE_GAIN_MIN):
        left -= candidates[place].cost(fitting.keys())
        if left < 0:
            break
        fitting[place] = None
    taken = reversals.settled(list(fitting))
    while alone := reversals.alone(taken):
        taken = [place for place in taken if place not in alone]
    runs: list[list[int]] = []
    for place in sorted(taken):
        if runs and runs[-1][-1] == place - 1 and follows[place - 1]:
            runs[-1].append(place)
        else:
            runs.append([place])
    runs.sort(key=lambda run: min(map(taken.index, run)))
    ends = ((lines[run[0]], lines[run[-1]]) for run in runs)
    return [
        (first.place, sources[first.place].text[first.unit.start : last.unit.end])
        for first, last in ends
    ]


def _follows(sources: Sequence[Source], one: _Line, other: _Line) -> bool:
    """Whether a sentence stands right behind another, in its line."""
    between = sources[one.place].text[one.unit.end : other.unit.start]
    return one.place == other.place and not between.strip(" \t")


def abstract_tokens(sources: Sequence[Source], count: CountTokens) -> int:
    """The default limit for an abstract of these pages."""
    return max(ABSTRACT_MIN, sum(count(source.text) for source in sources) // RATIO)


def _reference(
    sources: Sequence[Source], count: CountTokens, tokens_max: int | None
) -> Representation:
    above = compress_range(sources, Level.ABSTRACT, count=count, tokens_max=tokens_max)
    text = reference(
        sources,
        _full(sources, count).tokens,
        count=count,
        tokens_max=above.tokens,
        bytes_max=size_of(above.text),
    )
    return Representation(text=text, level=Level.REFERENCE, tokens=count(text), pages=above.pages)


def _full(sources: Sequence[Source], count: CountTokens) -> _Draft:
    """Level 0."""
    text = full_text(sources)
    whole = [(place, 0, len(source.text)) for place, source in enumerate(sources) if source.text]
    return _Draft(text, count(text), tuple(whole))


@dataclass(frozen=True, slots=True)
class Extractive:
    """The extractive ladder as a `Compressor` of text."""

    count: CountTokens
    modality: Modality = Modality.TEXT

    async def compress(
        self, sources: Sequence[Source], level: Level, *, tokens_max: int | None = None
    ) -> Representation:
        """As `compress_range`; never waits."""
        return compress_range(sources, level, count=self.count, tokens_max=tokens_max)


def _as_it_stands(
    sources: Sequence[Source], readings: Sequence[Reading], without: Sequence[Evidence]
) -> list[_Line]:
    """Candidates of an abstract; of a repeated statement, or a restated value, only the last; none
    that `without` touches.
    """
    lines = [_Line(place, sentence) for place, sentence in said_last(readings)]
    if without:
        gone = {
            (place, unit)
            for place, source in enumerate(sources)
            for unit in touched(source.page_id, source.text, without)
        }
        lines = [line for line in lines if (line.place, line.unit) not in gone]
    said = [line for line in lines if is_said(sources[line.place])]
    old = {id(said[place]) for place in restated([line.sentence for line in said])}
    return [line for line in lines if id(line) not in old] if old else lines


# --- drafts -------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A sentence of the page at `place`."""

    place: int
    sentence: Sentence

    @property
    def unit(self) -> Unit:
        return self.sentence.unit


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text and its sources: ranges of characters, by the pages' positions."""

    text: str
    tokens: int
    stretches: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], lines: Sequence[_Line], count: CountTokens, cited: bool
    ) -> _Draft:
        text = _rendered(sources, lines, cited)
        quoted = ((line.place, line.unit.start, line.unit.end) for line in lines)
        return cls(text, count(text), tuple(quoted))

    def representation(self, sources: Sequence[Source], level: Level) -> Representation:
        return Representation(
            text=self.text,
            level=level,
            tokens=self.tokens,
            pages=tuple(source.page_id for source in sources),
            spans=tuple(_spans(sources, self.stretches)),
        )


def _reduced(sources: Sequence[Source], readings: Sequence[Reading], count: CountTokens) -> _Draft:
    """Level 1: what is kept, with its white space. Never longer than level 0, and for a single page
    never empty.
    """
    full = _full(sources, count)
    is_same = all(len(one.kept) == len(one.units) for one in readings)
    if is_same or (len(sources) == 1 and not readings[0].kept):
        return full
    parts = [
        stretches(source.text, one.units, one.kept)
        for source, one in zip(sources, readings, strict=True)
    ]
    texts = [
        replace(source, text="".join(source.text[start:end] for start, end in part))
        for source, part in zip(sources, parts, strict=True)
    ]
    text = full_text(texts)
    quoted = ((place, *one) for place, part in enumerate(parts) for one in part)
    draft = _Draft(text, count(text), tuple(quoted))
    if draft.tokens <= full.tokens and size_of(draft.text) <= size_of(full.text):
        return draft
    return full  # fewer characters rarely have more tokens; then nothing is gained


def _abstract(
    sources: Sequence[Source],
    lines: Sequence[_Line],
    room: int,
    count: CountTokens,
    *,
    one_at_least: bool,
    cited: bool,
) -> _Draft:
    """The most informative of `lines`, within `room` tokens."""
    labels = dict.fromkeys(map(speaker_of, sources), 0)
    if len(sources) > 1 or cited:
        labels = {who: count(f"{who}: ") for who in labels}
    around = [0 if cited else 1 + labels[speaker_of(one)] for one in sources]
    candidates = _candidates(sources, lines, around)
    if cited:  # a line costs its citation, and after that a line break is no token of its own
        citing = [count(_citation(source)) for source in sources]
        together = [one.place == other.place for one, other in pairwise(lines)]
        candidates = _in_lines(candidates, together, [citing[line.place] for line in lines])
    if one_at_least and candidates:
        nothing: set[str] = set()
        room = max(room, max(candidates, key=lambda one: one.gain(nothing)).cost(frozenset()))
    reversals = Reversals([line.sentence for line in lines])
    best = _Draft("", 0, ())
    allowed = room - (max(labels.values()) if cited else 0)  # the first line has a label
    for _ in range(TRIES):
        chosen = reversals.settled(choose(candidates, allowed))
        draft, took_all = _fitting(sources, lines, chosen, room, count, reversals, cited)
        if draft.tokens > best.tokens:
            best = draft
        if not took_all or draft.tokens == room:
            break
        allowed += room - draft.tokens  # the estimate counted labels and seams that cost nothing
    return best


def _candidates(
    sources: Sequence[Source], lines: Sequence[_Line], around: Sequence[int]
) -> list[Candidate]:
    """The lines as candidates; `around` is what a line of each page costs besides its sentence."""
    speakers = frozenset(word.casefold() for source in sources for word in source.speaker.split())
    return [
        Candidate(
            terms=(says := line.sentence.worth).terms,
            specific=says.specific(speakers),
            factor=says.factor,
            tokens=line.sentence.tokens + around[line.place],
        )
        for line in lines
    ]


def _in_lines(
    candidates: Sequence[Candidate], together: Sequence[bool], line_tokens: Sequence[int]
) -> list[Candidate]:
    """The candidates, with `line_tokens`: what a line with each costs besides its sentences.
    `together` says whether each may share a line with the next.
    """
    return [
        one._replace(
            line_tokens=tokens,
            beside=tuple(
                near
                for near, seam in ((at - 1, at - 1), (at + 1, at))
                if 0 <= seam < len(together) and together[seam]
            ),
        )
        for at, (one, tokens) in enumerate(zip(candidates, line_tokens, strict=True))
    ]


def _fitting(
    sources: Sequence[Source],
    lines: Sequence[_Line],
    chosen: list[int],
    room: int,
    count: CountTokens,
    reversals: Reversals,
    cited: bool,
) -> tuple[_Draft, bool]:
    """The best of `chosen` that fit, in the range's order; and whether all did."""
    taken = list(chosen)
    while True:
        for place in reversals.alone(taken):
            taken.remove(place)
        draft = _Draft.of(sources, [lines[place] for place in sorted(taken)], count, cited)
        if draft.tokens <= room:
            return draft, len(taken) == len(chosen)
        taken.pop()


def _rendered(sources: Sequence[Source], lines: Sequence[_Line], cited: bool) -> str:
    """Join the units: on one line if they shared one, or if it is `cited`, else on separate lines;
    a page starts a line.

    Labels name the speaker wherever it changes.
    """
    parts: list[str] = []
    before: _Line | None = None
    speaker = ""
    for line in lines:
        source = sources[line.place]
        if before is not None:
            between = source.text[before.unit.end : line.unit.start]
            is_same = before.place == line.place
            together = len(between.splitlines()) <= 1 and not between.endswith(BREAKS)
            parts.append(_citation(sources[before.place]) if cited and not is_same else "")
            parts.append(" " if is_same and (together or cited) else "\n")
        if (len(sources) > 1 or cited) and speaker_of(source) != speaker:
            speaker = speaker_of(source)
            parts.append(f"{speaker}: ")
        parts.append(line.sentence.text)
        before = line
    parts.append(_citation(sources[before.place]) if cited and before is not None else "")
    return "".join(parts)


def _citation(source: Source) -> str:
    return f" [{source.page_id}]"


def _spans(
    sources: Sequence[Source], stretches: Sequence[tuple[int, int, int]]
) -> Iterator[Evidence]:
    """Character ranges as byte spans. Ranges are in order, so each text is encoded once."""
    page, done, size = -1, 0, 0
    for place, start, end in stretches:
        if place != page:
            page, done, size = place, 0, 0
        text = sources[place].text
        first = size + size_of(text[done:start])
        size = first + size_of(text[start:end])
        done = end
        yield Evidence(page_id=sources[place].page_id, start=first, end=size)
