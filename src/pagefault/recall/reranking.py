"""Reranking: a model that reads question and page together judges the best pages by words.

Optional. If there is a reranker, it is called once per search, for a few candidates, and only if
words leave the answer open. It finds no pages beyond those of words and vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from pagefault.recall.certainty import is_sure
from pagefault.recall.excerpt import excerpt

if TYPE_CHECKING:
    from pagefault.model.page import Page, PageRow
    from pagefault.recall.ranking import Ranked
    from pagefault.recall.reading import Reading

CANDIDATES_MAX: Final = 40
"""Hits judged, each for all of its copies: as many as one call of a small model takes."""

TEXT_CHARS_MAX: Final = 1_000  # of each: some 250 tokens, half of a small cross-encoder's limit


class Scored(NamedTuple):
    """A page at a ranked place, its score with the parts that add up to it, and its copies."""

    place: Ranked
    page: PageRow
    score: float
    parts: Mapping[str, float]
    also: tuple[PageRow, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A finite score for each text, in order; larger is better, on any scale.

    `weight` is what the best text gains, in units of the best hit's score by words.
    """

    scores: Sequence[float]
    weight: float = 0.1


class Rerank(Protocol):
    """Scores texts against a query. Called from several threads at once. Returns None if no answer
    comes in time, which leaves the order by words; it raises no error for that.
    """

    def __call__(self, query: str, texts: Sequence[str]) -> Judged | None: ...


def reranked(
    hits: Sequence[Scored], query: str, *, reading: Reading, rerank: Rerank
) -> list[Scored]:
    """Reorder the first `CANDIDATES_MAX` hits by their scores plus a part `reranked`, if words were
    not certain and the model answered. A single hit is not judged.

    The part is `weight` times the best score by words for the text judged best, 0 for the one
    judged worst, and linear between. So rerankers of different scales weigh alike, and one that
    gives equal scores changes nothing. A page whose text is out of reach gains nothing. No part is
    below 0, so no later hit can pass a judged one.
    """
    if len(hits) < 2 or is_sure([hit.score for hit in hits[:2]], hits[0].place.told):
        return list(hits)
    head = hits[:CANDIDATES_MAX]
    texts: dict[int, str] = {}
    for at, hit in enumerate(head):
        page = reading.page(hit.page)
        text = "" if page is None else _text(page, query)
        if text:
            texts[at] = text
    if len(texts) < 2:
        return list(hits)
    judged = rerank(query, list(texts.values()))
    if judged is None:
        return list(hits)
    lowest, highest = min(judged.scores), max(judged.scores)
    unit = judged.weight * max(hits[0].score, 0.0)
    if not math.isfinite(highest - lowest) or highest <= lowest or unit <= 0:
        return list(hits)
    gains = {
        at: unit * (score - lowest) / (highest - lowest)
        for at, score in zip(texts, judged.scores, strict=True)
    }
    lifted = [_lifted(hit, gains.get(at, 0.0)) for at, hit in enumerate(head)]
    lifted.sort(key=lambda hit: (-hit.score, hit.page.seq))
    return [*lifted, *hits[CANDIDATES_MAX:]]


def _lifted(hit: Scored, gain: float) -> Scored:
    return hit._replace(score=hit.score + gain, parts={**hit.parts, "reranked": gain})


def _text(page: Page, query: str) -> str:
    """The passage of a page that bears on a query, with its speaker."""
    text = page.text.strip()
    if len(text) > TEXT_CHARS_MAX:
        text = excerpt(text, query, chars_max=TEXT_CHARS_MAX).text
    return f"{page.speaker}: {text}" if page.speaker and text else text
