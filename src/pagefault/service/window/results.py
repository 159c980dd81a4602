"""The model's view of a call's result, rendered from its record and the pages in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pagefault.model.events import Faulted, Searched
from pagefault.model.ids import PageId
from pagefault.model.kinds import Level
from pagefault.model.page import Page
from pagefault.pack import envelope
from pagefault.pack.render import noted
from pagefault.recall.hint import hint

Find = Callable[[PageId], Page | None]  # None for forgotten pages


def search_result(body: Searched, find: Find) -> str:
    """A search result for the model."""
    if body.refusal:
        return envelope.refusal(body.refusal, body.why, faults_left=body.faults_left)
    hits = []
    for hit in body.hits:
        page = find(hit.page_id)
        if page is not None:
            told = hint(page.text)
            hits.append((page.row, noted(told, hit.lapse), hit.relevance))
    return envelope.search_result(hits, body.total)


def fault_result(body: Faulted, find: Find) -> tuple[str, Page | None]:
    """A fault's result for the model, and the page that it newly shows, if any."""
    page = None if body.refusal else find(body.page_id)
    if page is None:
        code, why = body.refusal or "forgotten", body.why or "the page was forgotten"
        return (
            envelope.refusal(
                code,
                why,
                faults_left=body.faults_left,
                levels=body.levels,
                tokens=body.level_tokens,
            ),
            None,
        )
    page = replace(page, lapse=body.lapse) if body.lapse else page
    level = Level(body.level)
    if body.already_mapped:
        return envelope.mapped_result(page.row, level), None
    made = find(body.shows) if body.shows else None
    text = envelope.page_result(page, level, body.tokens, made)
    if level is Level.REFERENCE:
        return text, None  # a line about the page, not the page
    return text, page if level is Level.FULL else made
