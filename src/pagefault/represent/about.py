"""Topics, entities and tasks of a text, computed on demand and cached.

Most pages are never asked: computing them on every write would cost as much as storing it.
"""

from __future__ import annotations

from functools import cached_property


class Found:
    """An `About`. Lives as long as the page that holds it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.reading: object = None
        """The text as read for its shorter forms, if it was: a `reading.Reading`."""

    @cached_property
    def topic_tags(self) -> tuple[str, ...]:
        from pagefault.represent.topics import topic_tags  # lazy: readers do not need it

        return topic_tags(self._text)

    @cached_property
    def entities(self) -> tuple[str, ...]:
        from pagefault.represent.topics import entities

        return entities(self._text)

    @cached_property
    def task_refs(self) -> tuple[str, ...]:
        from pagefault.represent.topics import task_refs

        return task_refs(self._text)
