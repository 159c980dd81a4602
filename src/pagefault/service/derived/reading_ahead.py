"""Reads the pages that the next epoch will summarise, in idle time.

It decides nothing: an epoch that comes before a page was read reads it then, and summarises it the
same way.
"""

from __future__ import annotations

from typing import Final

from pagefault.service.window.eviction import request_target_tokens
from pagefault.service.window.state import SessionState

AT_ONCE_TOKENS: Final = 2_000
"""Pages read after one request, plus one: some milliseconds, for which the next verb waits."""


def awaits_reading(state: SessionState) -> bool:
    """Whether the window holds more than an epoch would leave, and pages that were not read yet."""
    return bool(state.unread) and state.layout.frozen_tokens() > request_target_tokens(state)


def read_ahead(state: SessionState) -> None:
    """Read the oldest of these pages: the worth of each of their sentences, and their topics."""
    # Only needed near an epoch.
    from pagefault.represent.about import Found
    from pagefault.represent.api import Source
    from pagefault.represent.reading import read

    tokens = AT_ONCE_TOKENS if awaits_reading(state) else 0
    while state.unread and tokens > 0:
        page = state.unread.popleft()
        tokens -= page.row.tokens
        if isinstance(page.about, Found):
            read(Source.of(page), state.counter.count).learn()
            _ = page.topic_tags
