"""Shorter forms by a caller's compressor, such as one that asks a model: validated, not trusted.

It may be slow, so it is called before the session blocks other verbs. Its text is used only if it
is shorter than what the rules would keep and, unless it is a quotation, keeps the names and numbers
that a claim may cite. Otherwise the rules' own form is used.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pagefault.model.errors import EngineError
from pagefault.model.kinds import MODEL_GENERATED, Level
from pagefault.model.page import Page
from pagefault.model.trust import least_trusted
from pagefault.service.derived.levels import Levels, made_of
from pagefault.service.runtime import Runtime
from pagefault.service.window.derived_drafts import Made

if TYPE_CHECKING:
    from pagefault.represent.api import Representation


async def ask(
    runtime: Runtime, levels: Levels, page: Page, level: Level
) -> tuple[Made, int] | None:
    """The compressor's form of a page, and its tokens; None if an earlier form, or the rules',
    serves.
    """
    compressor = runtime.compressor
    if compressor is None or compressor.modality is not page.row.modality:
        return None
    if await asyncio.to_thread(levels.has, page, level):
        return None
    from pagefault.represent.api import Source, size_of
    from pagefault.represent.asked import is_faithful
    from pagefault.represent.extractive import compress_page

    count = runtime.counter.count
    source = Source.of(page)
    try:
        written = await compressor.compress([source], level)
    except EngineError:
        return None
    above = compress_page(source, Level.REDUCED, count=count)
    tokens = count(written.text)
    if tokens > above.tokens or size_of(written.text) > size_of(above.text):
        return None
    is_quoted = written.verbatim and _quotes(written, page.text)
    if not written.text or not (is_quoted or is_faithful(written.text, [page.text])):
        return None
    made = made_of(page, level, written)
    if is_quoted:
        return made, tokens
    origin = least_trusted([page.row.origin, MODEL_GENERATED])
    return replace(made, origin=origin), tokens


def _quotes(written: Representation, page: str) -> bool:
    """Whether a declared quotation is one: its words, in order, are words of its spans."""
    data = page.encode()
    spans = (data[span.start : span.end].decode(errors="replace") for span in written.spans)
    said = iter(" ".join(spans).split())
    return all(word in said for word in written.text.split() if word.strip("…"))
