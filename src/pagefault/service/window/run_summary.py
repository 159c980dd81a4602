"""Summaries without a model: of runs of turns that lose their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pagefault.guard.neutralise import uncited
from pagefault.model.kinds import EventType, Level
from pagefault.model.page import Derived, Evidence, Page
from pagefault.model.trust import least_trusted
from pagefault.pack.count import TokenCounter
from pagefault.service.window.derived_drafts import Made
from pagefault.service.window.sources import Summarise

TOPICS_MAX: Final = 3  # in the header of a summary


def summariser(counter: TokenCounter) -> Summarise:
    """Summarises runs of turns by quoting them (`represent/extractive.py`), or by their topics
    alone.
    """

    def summarise(run: Sequence[Page], quotes: bool, without: Sequence[Evidence]) -> Made | None:
        # Only needed at an epoch.
        from pagefault.represent.api import Source
        from pagefault.represent.extractive import RATIO, compress_range
        from pagefault.represent.topics import topic_tags

        if not run:
            return None
        said = sum(page.row.tokens for page in run)
        # A run too short for a sentence of that size has only its header.
        text = ""
        if quotes:
            sources = [Source.of(page) for page in run]
            quoted = compress_range(
                sources,
                Level.ABSTRACT,
                count=counter.count,
                tokens_max=said // RATIO,
                without=without,
            )
            text = uncited(quoted.text)  # beside formed ones, whose lines end in their sources
        topics = topic_tags("\n".join(page.text for page in run))[:TOPICS_MAX]
        return Made(
            event_type=EventType.SUMMARY,
            text=text,
            title=", ".join(topics),
            topic_tags=topics,
            origin=least_trusted(page.row.origin for page in run),
            cause=max(page.row.seq for page in run),
            derived=Derived(
                provenance=tuple(page.page_id for page in run),
                level=int(Level.ABSTRACT),
                source_tokens=said,
            ),
        )

    return summarise
