"""Advice on the problems that `verify` finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pagefault.store.api import Advice
from pagefault.store.embedded.archived_segment import KEPT
from pagefault.store.embedded.opening import SHORT_HINT
from pagefault.store.embedded.repair import UNCHECKED
from pagefault.store.embedded.scan import Problem

REPAIR: Final = "`pagefault repair` sets the damage aside"
FACTS: Final = "`pagefault repair` mends it if it can; else restore it from a backup"
ARCHIVE: Final = "`pagefault archive` makes it again of the archive"
MOUNT: Final = "mount the archive, or put it back, then verify again"

ADVICE: Final = Advice(
    index="`pagefault rebuild` makes the index again; nothing is lost",
    blobs="put the file back from a backup (`blobs/`): nothing else has its bytes",
    secret=FACTS,
    vectors="delete vectors.db; nothing is lost, `Memory.embed` makes it again",
)


def advice_on(wrong: Sequence[Problem], *, missing: int) -> Iterator[str]:
    """Remedies for these problems of a log that lacks `missing` records at its end."""
    away = sum(one.what.startswith(UNCHECKED) for one in wrong)
    if away:
        yield MOUNT
    if missing:
        yield SHORT_HINT
    kept = sum(one.what == KEPT for one in wrong)
    if kept:
        yield ARCHIVE
    if len(wrong) > away + kept + bool(missing):
        yield REPAIR
