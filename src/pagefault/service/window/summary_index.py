"""The index page: one line each for the oldest summaries of a session, in place of their headers.

An epoch makes it when the headers have grown too long. It replaces the previous index, which is its
source. Its text is its data: lines are parsed, and if there are more than fit, the two neighbours
that cover the fewest turns become one line. So its size is bounded however long the session grows,
and the distant past is described more coarsely.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from typing import Final

from pagefault.model.ids import PageId
from pagefault.model.kinds import EventType, Kind
from pagefault.model.page import Derived, Page, PageRow
from pagefault.model.trust import least_trusted
from pagefault.service.window.derived_drafts import Made

TOPICS_MAX: Final = 5  # of a line
_LINE: Final = re.compile(
    r"(?:(?P<count>\d+) summaries )?(?P<first>sum_\d+)(?:…(?P<last>sum_\d+))?"
    r" · turns (?P<since>\d+)–(?P<upto>\d+)(?: · (?P<pages>[a-z]+_\d+…[a-z]+_\d+))?"
    r"(?:: (?P<topics>.*))?"
)


@dataclass(frozen=True, slots=True)
class IndexLine:
    """Consecutive summaries: their ids, the turns and pages they cover, and their topics."""

    count: int
    first: str
    last: str
    since: int
    upto: int
    pages: tuple[str, str]
    topics: tuple[str, ...]

    def __str__(self) -> str:
        ids = self.first if self.count == 1 else f"{self.count} summaries {self.first}…{self.last}"
        pages = f" · {'…'.join(self.pages)}" if all(self.pages) else ""
        topics = f": {', '.join(self.topics)}" if self.topics else ""
        return f"{ids} · turns {self.since}–{self.upto}{pages}{topics}"

    def and_(self, other: IndexLine) -> IndexLine:
        """One line for this and the next."""
        both = chain.from_iterable(zip_longest(self.topics, other.topics))
        topics = tuple(dict.fromkeys(topic for topic in both if topic))[:TOPICS_MAX]
        pages = (self.pages[0], other.pages[1])
        count = self.count + other.count
        return IndexLine(count, self.first, other.last, self.since, other.upto, pages, topics)


def index_of(
    before: Page | None,
    folded: Sequence[Page],
    *,
    find_row: Callable[[PageId], PageRow | None],
    count: Callable[[str], int],
    tokens_max: int,
) -> Made | None:
    """An index of the lines of `before` and of these summaries, in at most so many tokens; None if
    one line does not fit.
    """
    lines = [
        *(lines_of(before.text) if before else ()),
        *(_line(page, find_row) for page in folded),
    ]
    # Each line is counted once, with its newline: this bounds the whole.
    tokens = [count(f"{line}\n") for line in lines]
    while len(lines) > 1 and sum(tokens) > tokens_max:
        spans = [two.upto - one.since for one, two in pairwise(lines)]
        at = spans.index(min(spans))
        lines[at : at + 2] = [lines[at].and_(lines[at + 1])]
        tokens[at : at + 2] = [count(f"{lines[at]}\n")]
    text = "\n".join(map(str, lines))
    if count(text) > tokens_max:
        return None
    sources = ([before] if before else []) + list(folded)
    return Made(
        event_type=EventType.INDEX,
        text=text,
        title="earlier summaries, oldest first",
        origin=least_trusted(page.row.origin for page in sources),
        cause=max(page.row.seq for page in sources),
        importance=0.9,
        derived=Derived(provenance=tuple(page.page_id for page in sources)),
    )


def lines_of(text: str) -> list[IndexLine]:
    found = (_LINE.fullmatch(line) for line in text.split("\n"))
    return [_read(line) for line in found if line]


def is_index(page: Page) -> bool:
    return page.row.kind is Kind.INDEX


def _read(line: re.Match[str]) -> IndexLine:
    first, _, last = (line["pages"] or "").partition("…")
    return IndexLine(
        count=int(line["count"] or 1),
        first=line["first"],
        last=line["last"] or line["first"],
        since=int(line["since"]),
        upto=int(line["upto"]),
        pages=(first, last),
        topics=tuple((line["topics"] or "").split(", ")) if line["topics"] else (),
    )


def _line(page: Page, find_row: Callable[[PageId], PageRow | None]) -> IndexLine:
    assert page.derived is not None
    pages = page.derived.provenance
    ends = [find_row(page_id) for page_id in (pages[:1] + pages[-1:])]
    turns = [row.turn for row in ends if row is not None] or [page.row.turn]
    return IndexLine(
        count=1,
        first=page.page_id,
        last=page.page_id,
        since=turns[0],
        upto=turns[-1],
        pages=(pages[0], pages[-1]) if pages else ("", ""),
        topics=tuple(" ".join(topic.split()) for topic in page.topic_tags),
    )
