"""Pages by what they are about: their topics, and the tasks they name.

Tags are found by form alone (`represent/topics.py`), in the pages that have the word: a tag is a
word of its page, so the words of the index lead to it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.page import Page, Scope
from pagefault.recall.search import SearchHit, SearchResult
from pagefault.service.runtime import Runtime

LOOKED_AT: Final = 500
"""Pages that have the word, the best of which are asked for their tags."""

_NUMBER: Final = re.compile(r"#(\d+)")


def is_about(page: Page, topic: str, task: str) -> bool:
    """Whether a page has this topic and this task; an empty one is any."""
    if task and task.casefold() not in map(str.casefold, page.task_refs):
        return False
    wanted = topic.casefold().rstrip("s")
    return not topic or any(tag.rstrip("s") == wanted for tag in page.topic_tags)


async def search_about(
    runtime: Runtime, scope: Scope, query: str, *, topic: str, task: str, limit: int
) -> SearchResult:
    """As a search, of pages with this topic and task alone. An empty query asks for those."""
    number = _NUMBER.fullmatch(task)
    words = " ".join(filter(None, (query or topic, number[1] if number else task)))
    found = await runtime.search(scope, words, limit=LOOKED_AT, modality=None)
    hits = await asyncio.to_thread(_about, runtime, found.hits, topic, task)
    return SearchResult(tuple(hits[:limit]), len(hits))


def _about(runtime: Runtime, hits: Sequence[SearchHit], topic: str, task: str) -> list[SearchHit]:
    kept: list[SearchHit] = []
    for hit in hits:
        for row in (hit.page, *hit.also):  # each is about it, whatever else says the same
            with suppress(RecordGone, ArchiveMissing):
                if is_about(runtime.pages.read(row), topic, task):
                    kept.append(replace(hit, page=row, also=()))
    return kept
