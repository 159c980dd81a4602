"""The lattice of origins: how much may be done on whose word, compared here and nowhere else.

From the most to the least: what the user typed, what a user approved, files of the user's, output
of commands, what a model wrote; then what is untrusted: what a tool returned, or the web, and last
what was imported. What is made of several has the label of the least trusted, so nothing gains by
being summed up, quoted, repeated or found twice: the meet is associative, commutative and
idempotent, and so does not count (TMA-NM, arXiv 2606.24322).

`runtime` is bookkeeping of our own, which carries no content and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pagefault.model.kinds import MODEL_GENERATED, Origin

_TRUSTED: Final = (
    "user_typed",
    "user_approved",
    "local_file",
    "command_output",
    "runtime",
    "model_generated",
)
"""Origins by how much they may decide, most first. What is not here is untrusted."""

_LAST: Final = "import"


def rank(origin: Origin) -> int:
    """The place of an origin in the order of trust: 0 is the most trusted."""
    if origin in _TRUSTED:
        return _TRUSTED.index(origin)
    return len(_TRUSTED) + (origin == _LAST)


def is_untrusted(origin: Origin) -> bool:
    """Whether a stranger may have written it: the web, a tool, an import. Such text is shown as
    data and found by search; it is neither pinned nor held true until a person raises it.
    """
    return rank(origin) >= len(_TRUSTED)


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """The origin with the least authority: what is made of several has no more than that. Of
    nothing, what a model wrote. Two that are trusted alike are told apart by their names, so that
    no order of the sources counts.
    """
    return max(origins, key=lambda one: (rank(one), one), default=MODEL_GENERATED)
