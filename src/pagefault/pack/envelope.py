"""The canonical envelope of tool results.

All of these are JSON texts, the same bytes for the same input.
"""

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

REFERENCE_TOKENS: Final = 24  # of the one line that level 3 is
SENTENCE_TOKENS: Final = 24  # a text of no more has nothing to leave out

NO_EVICTIONS: Final[tuple[PageId, ...]] = ()
"""What leaves the window because of a fault, when its result is written.

A fault is granted only where its page fits beside all that must stay, and what that displaces is
chosen once for all calls of a reply, when the next request is packed: pages leave with an epoch
and never between two requests. `EpochBegun.evicted` lists them. A result is in the window from
then on, byte for byte, so it cannot say afterwards what nobody had decided when it was written.
"""


def dump(value: Any) -> str:
    """Compact JSON with readable Unicode."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def page_result(page: Page, level: Level, tokens_est: int, made: Page | None = None) -> str:
    """A page that was faulted in: `{page, effects}`. `made` is what stands for it at `level`."""
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
    """What the record tells of the bytes that a page stands for; nothing that it does not."""
    told = {"mime_type": page.mime_type and neutralise(page.mime_type)}
    return {k: v for k, v in (told | {"size_bytes": page.size_bytes}).items() if v is not None}


def mapped_result(row: PageRow, level: Level) -> str:
    """The page is in the window already: where it stands is the content."""
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
    """What a search found: rows, hints (never evidence) and relevance, best first."""
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
    """Why a call was not served, in a form that a program can match on.

    `levels` would be granted; `tokens` is what each of them takes.
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
    """What a page at a level takes at most, as far as can be told without reading it."""
    match level:
        case Level.FULL | Level.REDUCED:
            return row.tokens
        case Level.ABSTRACT:
            return min(row.tokens, max(SENTENCE_TOKENS, row.tokens // 10))
        case Level.REFERENCE:
            return min(row.tokens, REFERENCE_TOKENS)


def own_level(row: PageRow) -> Level:
    """The level that a page's own text is of what the page stands for.

    Said or written, it is the page. Of media it is what somebody wrote about the bytes, which no
    request shows: a caption, an abstract; of a recording, where it is long, a transcript.
    """
    if not is_media(row):
        return Level.FULL
    is_transcript = (
        row.modality in (Modality.AUDIO, Modality.VIDEO) and row.tokens > SENTENCE_TOKENS
    )
    return Level.REDUCED if is_transcript else Level.ABSTRACT


def told_level(row: PageRow, level: Level) -> Level:
    """The level that a page's text at `level` is told to be: never more than its own."""
    return max(level, own_level(row))


def told_levels(row: PageRow) -> list[int]:
    """The levels that a page is offered at, as they are told."""
    return sorted({int(told_level(row, level)) for level in offered_levels(row)})


def offered_levels(row: PageRow) -> tuple[Level, ...]:
    """The levels at which a page's text can be served. A sentence is shown whole, or named; a page
    of a region whole, as its shorter forms would be the session's own and outlive its mount.
    """
    if is_shared(row.page_id):
        return (Level.FULL,)
    levels = RULES[row.kind].levels
    if row.tokens <= SENTENCE_TOKENS:
        return tuple(level for level in levels if level in (Level.FULL, Level.REFERENCE))
    return levels
