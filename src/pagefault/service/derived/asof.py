"""A cache key for folds of a session's derived pages: equal while the fold is valid."""

from __future__ import annotations

from typing import Final, NamedTuple

from pagefault.service.window.state import SessionState


class AsOf(NamedTuple):
    """Equal as long as no page of the kind was written, and none was forgotten."""

    state: SessionState | None  # replaced after a forget here
    made: int  # pages of the kind
    forgets: int  # of other processes


NEVER: Final = AsOf(None, 0, 0)
"""Before any page of the kind was written, or anything forgotten: there is nothing to fold."""


def as_of(state: SessionState, stem: str, forgets: int) -> AsOf:
    """The current key for pages whose ids have this prefix."""
    made = state.numbers.get(stem, 0)
    return AsOf(state if made else None, made, forgets)
