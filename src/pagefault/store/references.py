"""The blobs that records refer to, read from the log: an index may be behind, or gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from typing import Final

from pagefault.model.events import Event, ForgetBegun, ScrubBegun
from pagefault.model.ids import NOTHING, Seq
from pagefault.model.kinds import EventType
from pagefault.store.api import EventLog
from pagefault.store.soundness import blobs_of

NAMING: Final = (str(EventType.ARTIFACT), "received")
"""The types of records that may name blobs."""


def references(log: EventLog, after: Seq = NOTHING) -> dict[str, set[Seq]]:
    """For each blob that a record after `after` names, the records that do.

    `StoreCorrupt` if a record that may name one cannot be read.
    """
    named: dict[str, set[Seq]] = {}
    for type_ in NAMING:
        for event in log.of_type(type_, after):
            for blob in blobs_of(event.body):
                named.setdefault(blob, set()).add(event.seq)
    return named


class References:
    """The references from records to blobs, up to where the log was read.

    Reading a log takes long, so it is done while others write. Under the root's lock the rest is
    read, which takes almost no time and makes this complete.
    """

    def __init__(self, log: EventLog) -> None:
        """Reads the log as it is now. `StoreCorrupt` if a record that may name one is damaged."""
        self._upto = log.head()
        self._named = references(log)

    @property
    def names(self) -> Set[str]:
        """Every blob that a record names, or named when it was read."""
        return self._named.keys()

    def read_on(self, log: EventLog) -> None:
        """Read what was appended since."""
        head = log.head()
        if head > self._upto:
            for name, seqs in references(log, after=self._upto).items():
                self._named.setdefault(name, set()).update(seqs)
            self._upto = head

    def others(self, name: str, going: Collection[Seq], log: EventLog) -> set[Seq]:
        """The records that now name a blob, apart from those that are going."""
        known = self._named.get(name, set()) - set(going)
        return {seq for seq in known if _names(log.get(seq), name)}  # any may be forgotten since


def _names(event: Event, name: str) -> bool:
    return name in blobs_of(event.body)


def targets(begun: ForgetBegun | ScrubBegun) -> list[Seq]:
    """The records that a forget erases, or that a scrub changes."""
    return [Seq(seq) for first, last in begun.targets for seq in range(first, last + 1)]


def ranges(seqs: Collection[Seq]) -> Iterator[tuple[Seq, Seq]]:
    """Records as a receipt lists them: the first and last of each unbroken run."""
    first = last = NOTHING
    for seq in sorted(set(seqs)):
        if last and seq == last + 1:
            last = seq
            continue
        if last:
            yield first, last
        first = last = seq
    if last:
        yield first, last


def going(receipts: Iterable[Event]) -> set[Seq]:
    """The records that some forget is erasing, according to the receipts written before it begins.

    Their blobs are deleted first, so a missing one is not damage.
    """
    return {
        seq
        for event in receipts
        if isinstance(event.body, ForgetBegun)
        for seq in targets(event.body)
    }
