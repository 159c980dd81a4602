"""Which records need which blobs. The log alone knows: an index may be behind, or gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pagefault.model.events import Content, Event
from pagefault.model.ids import Seq
from pagefault.model.kinds import EventType
from pagefault.store.api import EventLog
from pagefault.store.segments import SegmentLog

_MARK: Final = f'"type":"{EventType.ARTIFACT}"'.encode()
"""Stands in the line of every record that can name a blob: no text can, as its quotes are escaped.
"""


def references(log: EventLog) -> dict[str, set[Seq]]:
    """For each blob that a record names, the records that do.

    `StoreCorrupt` if a record that may name one cannot be read.
    """
    told: Iterable[Event] = log.holding(_MARK) if isinstance(log, SegmentLog) else log.read()
    named: dict[str, set[Seq]] = {}
    for event in told:
        if isinstance(event.body, Content) and event.body.blob:
            named.setdefault(event.body.blob, set()).add(event.seq)
    return named
