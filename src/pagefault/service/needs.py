"""The records needed to open the sessions of a memory: they stay when others are archived.

They are found by opening every session over a log that notes each read. So they include whatever
the fold of a session reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pagefault.model.errors import ArchiveMissing, SessionNotFound
from pagefault.model.events import Claimed, Event
from pagefault.model.ids import NOTHING, Seq, SessionNo
from pagefault.pack.cache import PackCache
from pagefault.service.receipts import Receipts
from pagefault.service.restore import restore
from pagefault.service.runtime import PageReader, Runtime
from pagefault.store.api import EventLog
from pagefault.store.store import STORE


def records_to_open(runtime: Runtime) -> set[Seq]:
    """The records that opening each session reads, and those about the memory itself. Blocks on the
    store.
    """
    noting = _Noting(runtime.log)
    own = replace(
        runtime,
        log=noting,
        pages=PageReader(noting),
        receipts=Receipts(noting, runtime.index),
        packs=PackCache(),
    )
    noting.noted.update(runtime.index.events(STORE))
    for row in runtime.index.sessions():
        noting.noted |= {Seq(row.session), row.lease_seq, row.last_seq}
        noting.noted.update(_claimed(own, row.session))
        with suppress(SessionNotFound, ArchiveMissing):
            restore(own, row)
    return noting.noted


def _claimed(runtime: Runtime, session: SessionNo) -> Iterator[Seq]:
    """The claims of a session, and their evidence: a claim that cannot be proved is stale."""
    scope = runtime.scope(session)
    for event in runtime.events_of(session, ("claim",)):
        yield event.seq
        if isinstance(event.body, Claimed):
            for span in event.body.evidence:
                row = runtime.index.find_page(scope, span.page_id)
                if row is not None:
                    yield row.seq


class _Noting:
    """A log that notes which of its records were read."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.noted: set[Seq] = set()

    def get(self, seq: Seq) -> Event:
        self.noted.add(seq)
        return self._log.get(seq)

    def read(self, after: Seq = NOTHING, upto: Seq | None = None) -> Iterator[Event]:
        for event in self._log.read(after, upto):
            self.noted.add(event.seq)
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)
