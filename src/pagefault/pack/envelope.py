"""The envelope of tool results: canonical JSON, the same bytes for the same input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pagefault.guard.neutralise import neutralise
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level, Modality, Tier
from pagefault.model.page import Page, PageRow, is_shared
from pagefault.model.residency import is_media, tier_of
from pagefault.model.times import iso_utc
from pagefault.pack.render import reference
from pagefault.policy.kinds import RULES

REFERENCE_TOKENS: Final = 24  # of the single line of level 3
SENTENCE_TOKENS: Final = 24  # nothing can be left out of a text this short

NO_EVICTIONS: Final[tuple[PageId, ...]] = ()
"""The pages that a fault has evicted when its result is written: always none.

A fault is granted only if its page fits beside everything that must stay. The pages it displaces
are chosen once for all calls of a reply, when the next request is packed: pages leave with an epoch
and never between two requests. `EpochBegun.evicted` lists them. A result stays in the window byte
for byte, so it cannot report a later decision.
"""


def dump(value: Any) -> str:
    """Compact JSON with readable Unicode."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def page_result(page: Page, level: Level, tokens_est: int, made: Page | None = None) -> str:
    """A faulted page: `{page, effects}`. `made` is its representation at `level`."""
    if made is not None:
        text = neutralise(made.text)
    else:
        text = neutralise(page.text) if level is Level.FULL else reference(page.row)
    meta: dict[str, Any] = {"source_tier": tier_of(page.row), "role": page.row.role}
    meta["origin"] = neutralise(page.row.origin)
    meta["created_at"] = iso_utc(page.row.at_ms)
    meta["word_count"] = len(page.text.split())
    if page.blob:
        meta |= _of_bytes(page)
    if made is not None:
        meta["full_tokens"] = page.row.tokens
    if page.speaker:
        meta["speaker"] = neutralise(page.speaker)
    if page.title:
        meta["title"] = neutralise(page.title)
    if page.occurred_at:
        meta["occurred_at"] = neutralise(page.occurred_at)
    if page.lapse:
        meta["lapse"] = page.lapse
    if page.row.parts > 1:
        meta["part"] = [page.row.part + 1, page.row.parts]
    return dump(
        {
            "page": {
                "page_id": page.page_id,
                "modality": page.row.modality,
                "level": int(told_level(page.row, level)),
                "tier": Tier.L0,
                "content": {"text": text},
                "meta": meta,
            },
            "effects": {
                "promoted_to_working_set": level is not Level.REFERENCE,
                "tokens_est": tokens_est,
                "evictions": NO_EVICTIONS,
            },
        }
    )


def _of_bytes(page: Page) -> dict[str, Any]:
    """The fields on a page's bytes, as far as its record has them."""
    told = {"mime_type": page.mime_type and neutralise(page.mime_type)}
    return {k: v for k, v in (told | {"size_bytes": page.size_bytes}).items() if v is not None}


def mapped_result(row: PageRow, level: Level) -> str:
    """The result for a page that is already in the window, which has the content."""
    return dump(
        {
            "page": {
                "page_id": row.page_id,
                "modality": row.modality,
                "level": int(told_level(row, level)),
                "tier": Tier.L0,
                "content": {"text": ""},
                "meta": {"source_tier": tier_of(row), "note": "already mapped: read it above"},
            },
            "effects": {
                "promoted_to_working_set": False,
                "tokens_est": 0,
                "evictions": NO_EVICTIONS,
            },
        }
    )


def search_result(hits: Sequence[tuple[PageRow, str, float]], total: int) -> str:
    """The hits of a search: rows, hints (never evidence) and relevance, best first."""
    return dump(
        {
            "results": [
                {
                    "page_id": row.page_id,
                    "modality": row.modality,
                    "tier": tier_of(row),
                    "levels": told_levels(row),
                    "hint": neutralise(hint),
                    "relevance": relevance,
                    "tokens_est": row.tokens,
                }
                for row, hint, relevance in hits
            ],
            "total_available": total,
        }
    )


def refusal(
    code: str,
    message: str,
    *,
    faults_left: int,
    levels: Sequence[int] = (),
    tokens: Sequence[int] = (),
) -> str:
    """A refusal, in a form that a program can match on.

    `levels` would be granted; `tokens` has the tokens of each.
    """
    error: dict[str, Any] = {
        "code": code,
        "message": neutralise(message),
        "faults_left": faults_left,
    }
    if levels:
        error["levels"] = list(levels)
    if tokens:
        error["level_tokens"] = {str(n): t for n, t in zip(levels, tokens, strict=True)}
    return dump({"error": error})


def level_tokens(row: PageRow, level: Level) -> int:
    """An upper bound on a page's tokens at a level, without reading the page."""
    match level:
        case Level.FULL | Level.REDUCED:
            return row.tokens
        case Level.ABSTRACT:
            return min(row.tokens, max(SENTENCE_TOKENS, row.tokens // 10))
        case Level.REFERENCE:
            return min(row.tokens, REFERENCE_TOKENS)


def own_level(row: PageRow) -> Level:
    """The level of a page's own text, relative to its content.

    Text is the content itself. For media, whose bytes no request shows, the text is a caption (an
    abstract) or, for a recording with a long text, a transcript.
    """
    if not is_media(row):
        return Level.FULL
    is_transcript = (
        row.modality in (Modality.AUDIO, Modality.VIDEO) and row.tokens > SENTENCE_TOKENS
    )
    return Level.REDUCED if is_transcript else Level.ABSTRACT


def told_level(row: PageRow, level: Level) -> Level:
    """The level reported for a page's text at `level`: never fuller than its own."""
    return max(level, own_level(row))


def told_levels(row: PageRow) -> list[int]:
    """The levels that a page is offered at, as reported."""
    return sorted({int(told_level(row, level)) for level in offered_levels(row)})


def offered_levels(row: PageRow) -> tuple[Level, ...]:
    """The levels at which a page's text can be served. A sentence is shown whole or as a reference.
    A page of a region is shown whole, because shorter forms would belong to the session and outlive
    the mount.
    """
    if is_shared(row.page_id):
        return (Level.FULL,)
    levels = RULES[row.kind].levels
    if row.tokens <= SENTENCE_TOKENS:
        return tuple(level for level in levels if level in (Level.FULL, Level.REFERENCE))
    return levels
