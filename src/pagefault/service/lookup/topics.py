"""Pages by topic and task.

Tags are found by form alone (`represent/topics.py`), in the pages that contain the word: a tag is a
word of its page, so the index's terms lead to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from pagefault.language.analyzer import query_words
from pagefault.model.errors import ArchiveMissing, RecordGone
from pagefault.model.ids import PageId
from pagefault.model.page import Page, PageRow, Scope
from pagefault.pack.citations import cited_pages
from pagefault.recall.analyzed import AnalyzedText
from pagefault.service.runtime import PageReader, Runtime
from pagefault.store.languages import languages_in
from pagefault.store.precedence import give_way

LOOKED_AT: Final = 5_000
"""Pages containing the word, the latest of which are checked for their tags."""

_NUMBER: Final = re.compile(r"#?(\d+)")


def is_about(page: Page, topic: str, task: str) -> bool:
    """Whether a page has this topic and this task; an empty one matches any."""
    if task and _as_named(task) not in map(str.casefold, page.task_refs):
        return False
    wanted = topic.casefold().rstrip("s")
    return not topic or any(tag.rstrip("s") == wanted for tag in page.topic_tags)


def _as_named(task: str) -> str:
    """A task in the form of tags: a bare number is an issue's, `4711` is `#4711`."""
    number = _NUMBER.fullmatch(task)
    return f"#{number[1]}" if number else task.casefold()


def words_of(topic: str, task: str) -> str:
    """The words that every page with these tags has."""
    number = _NUMBER.fullmatch(task)
    return " ".join(filter(None, (topic, number[1] if number else task)))


def pages_about(runtime: Runtime, scope: Scope, topic: str, task: str) -> Iterator[PageRow]:
    """Pages of a scope with this topic and this task, the latest first. Reads each."""
    terms = query_words(words_of(topic, task), languages_in(runtime.index, scope))
    found = runtime.index.candidates(scope, terms, limit=LOOKED_AT, count_max=1)
    places = found.places[found.counts.any(axis=1)].tolist()
    rows = runtime.index.pages_at(scope, places[-LOOKED_AT:])
    for row in reversed(rows):
        with suppress(RecordGone, ArchiveMissing):
            if is_about(runtime.pages.read(row), topic, task):
                yield row


class Texts:
    """The text of pages, for `Searcher`."""

    def __init__(self, pages: PageReader) -> None:
        self._pages = pages

    def page(self, row: PageRow) -> Page | None:
        give_way()
        with suppress(RecordGone, ArchiveMissing):
            return self._pages.read(row)
        return None

    def analyzed(self, page: Page) -> AnalyzedText:
        return self._pages.analyzed(page)

    def cited(self, page: Page) -> Sequence[PageId]:
        return cited_pages(page.text)
