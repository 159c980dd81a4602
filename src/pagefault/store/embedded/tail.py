"""Reading what was added to a segment: whole batches, and perhaps a rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from pagefault.model.errors import StoreCorrupt
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.scan import lines


@dataclass(slots=True)
class Tail:
    """`lengths` are those of the records in whole batches, `link` is the link after them."""

    link: bytes
    lengths: list[int] = field(default_factory=list)
    rest: bytes = b""  # a partial batch, a torn line, a footer: anything but a whole batch

    @property
    def is_sealed(self) -> bool:
        """Whether what follows the batches is a footer, or the beginning of one."""
        return self.rest.startswith(b'{"seal":')


def read_tail(data: bytes, seq: Seq, link: bytes) -> Tail:
    """Read records from `seq` on, chained to `link`; stops at the first invalid one.

    `StoreIncompatible` if a newer version wrote one.
    """
    tail = Tail(link)
    batch: list[int] = []
    end = 0  # of the last complete batch
    for start, stop in lines(data):
        line = data[start:stop]
        try:
            record = codec.parse(line)
            own = codec.long(record.link)
        except StoreCorrupt:
            break
        if record.seq != seq or not codec.follows(link, line, record):
            break
        batch.append(len(line))
        seq, link = Seq(seq + 1), own
        if not record.more:
            tail.lengths += batch
            tail.link, end = link, stop
            batch = []
    tail.rest = data[end:]
    return tail
