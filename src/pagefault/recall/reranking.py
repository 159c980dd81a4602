"""Reranking: the best pages by words, judged by a model that reads question and page together.

Search needs none. Where there is one, it is asked once a search, for a few candidates, and only
where words leave it open which page answers. It finds no page that words and vectors did not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from pagefault.recall.certainty import is_sure
from pagefault.recall.excerpt import excerpt

if TYPE_CHECKING:
    from pagefault.model.page import Page
    from pagefault.recall.reading import Reading
    from pagefault.recall.search import SearchHit

CANDIDATES_MAX: Final = 40
"""Hits that are judged, each for all of its copies: what one call of a small model takes."""

TEXT_CHARS_MAX: Final = 1_000  # of each: some 250 tokens, half of what small cross-encoders read


@dataclass(frozen=True, slots=True)
class Judged:
    """A finite score for each text, in order; larger is better, on any scale.

    `weight` is what the best text gains, in units of what the best hit is worth by words.
    """

    scores: Sequence[float]
    weight: float = 0.1


class Rerank(Protocol):
    """Called from several threads at once. Nothing, where no answer can be had soon: the order by
    words stands then. It raises no error for that.
    """

    def __call__(self, query: str, texts: Sequence[str]) -> Judged | None: ...


def reranked(
    hits: Sequence[SearchHit], query: str, *, told: float, reading: Reading, rerank: Rerank
) -> list[SearchHit]:
    """The same hits, the first `CANDIDATES_MAX` of them in the order of their scores with a part
    `reranked`, if words were not sure (`told` is what they tell of the first) and an answer came.
    A hit alone has nothing to be put before.

    The part is `weight` times the best score by words for the text that is judged best, 0 for the
    one judged worst, and linear between, so that rerankers of different scales weigh alike, and
    one that judges all the same changes nothing. A page whose text is out of reach gains nothing.
    No later hit can pass one that was judged: no part is below 0.
    """
    if len(hits) < 2 or is_sure([hit.score for hit in hits[:2]], told):
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


def _lifted(hit: SearchHit, gain: float) -> SearchHit:
    return replace(hit, score=hit.score + gain, parts={**hit.parts, "reranked": gain})


def _text(page: Page, query: str) -> str:
    """What of a page bears on a query, and who says it."""
    text = page.text.strip()
    if len(text) > TEXT_CHARS_MAX:
        text = excerpt(text, query, chars_max=TEXT_CHARS_MAX).text
    return f"{page.speaker}: {text}" if page.speaker and text else text
