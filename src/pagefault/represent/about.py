"""What a text is about, found when somebody asks and kept from then on.

Most pages are never asked: to look at each when it is written would cost as much as to store it.
"""

from __future__ import annotations

from functools import cached_property


class Found:
    """An `About`. Lives as long as the page that holds it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.reading: object = None
        """What was read of the text for shorter forms, if it was: a `reading.Reading`."""

    @cached_property
    def topic_tags(self) -> tuple[str, ...]:
        from pagefault.represent.topics import topic_tags  # not for who only reads

        return topic_tags(self._text)

    @cached_property
    def entities(self) -> tuple[str, ...]:
        from pagefault.represent.topics import entities

        return entities(self._text)

    @cached_property
    def task_refs(self) -> tuple[str, ...]:
        from pagefault.represent.topics import task_refs

        return task_refs(self._text)
