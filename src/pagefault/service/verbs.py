"""Whether a verb is under way: code within it must not wait for what waits for its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_WITHIN: Final = ContextVar("pagefault_within_a_verb", default=False)


def is_within() -> bool:
    """Whether this task holds a session, or the lock on opening sessions."""
    return _WITHIN.get()


@contextmanager
def within() -> Iterator[None]:
    """Within this block this task does, and so do those that it starts."""
    token = _WITHIN.set(True)
    try:
        yield
    finally:
        _WITHIN.reset(token)
