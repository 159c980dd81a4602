"""As of when something was folded from a session's derived pages: whether it holds still."""

from __future__ import annotations

from typing import Final, NamedTuple

from pagefault.service.window.state import SessionState


class AsOf(NamedTuple):
    """Equal as long as no page of the kind was written, and none was forgotten."""

    state: SessionState | None  # another one after something that it sees was forgotten here
    made: int  # pages of the kind
    forgets: int  # of other processes


NEVER: Final = AsOf(None, 0, 0)
"""Before any page of the kind was made, or anything forgotten: there is nothing to fold."""


def as_of(state: SessionState, stem: str, forgets: int) -> AsOf:
    """What holds now for pages whose ids have this stem."""
    made = state.numbers.get(stem, 0)
    return AsOf(state if made else None, made, forgets)
