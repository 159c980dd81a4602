"""The lattice of origins: how much each may decide. They are compared here and nowhere else.

From most to least trusted: what the user typed, what a user approved, the user's files, output of
commands, what a model wrote; then the untrusted ones: a tool's results, the web, and last imports.
What has several sources has the label of the least trusted, so nothing gains by being summarised,
quoted, repeated or found twice: the meet is associative, commutative and idempotent, and so does
not count (TMA-NM, arXiv 2606.24322).

`runtime` is our own bookkeeping, which has no content and decides nothing.
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
"""Origins by how much they may decide, most first. Any other is untrusted."""

_LAST: Final = "import"


def rank(origin: Origin) -> int:
    """The rank of an origin: 0 is the most trusted."""
    if origin in _TRUSTED:
        return _TRUSTED.index(origin)
    return len(_TRUSTED) + (origin == _LAST)


def is_untrusted(origin: Origin) -> bool:
    """Whether a stranger may have written it: the web, a tool, an import. Such text is shown as
    data and found by search; it is neither pinned nor held true until a person raises it.
    """
    return rank(origin) >= len(_TRUSTED)


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """The origin with the least authority, which is that of anything made from all of them. Of
    none: that of a model's text. Ties are broken by name, so that the order of the sources does not
    matter.
    """
    return max(origins, key=lambda one: (rank(one), one), default=MODEL_GENERATED)
