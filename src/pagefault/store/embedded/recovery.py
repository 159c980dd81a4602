"""Recovery of the last segment when a log is opened: what to trust, and what to cut.

An unreadable record has one of two causes. If it is the last one, nothing intact follows it, and it
was not acknowledged, then a writer died while writing it: a torn tail, which is cut. Anything else
was damaged after it was acknowledged: nothing is cut, the rest can be read, and `repair` is
offered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pagefault.model.ids import NOTHING, Seq
from pagefault.store.embedded.scan import Problem, Scan, Surroundings, last_hidden


class Tear(StrEnum):
    """How the log ended."""

    LINE = "a record was written in part"
    BATCH = "a batch was written in part"
    HEADER = "a segment was begun, and its first line written in part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What opening found at the tail and left out. None of it had been acknowledged."""

    path: Path
    tear: Tear
    kept: int  # intact bytes of the file
    bytes_cut: int
    records_cut: int  # intact records of an incomplete batch, without a partial record
    performed: bool = False  # cut on disk, not only ignored (when opened for reading)

    def __str__(self) -> str:
        done = "were cut" if self.performed else "are left out"
        return f"{self.path.name}: {self.tear}; {self.bytes_cut} bytes {done} from {self.kept} on"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A torn tail or damage, never both: if there is damage, nothing is cut."""

    wrong: tuple[Problem, ...] = ()
    torn: Recovery | None = None


def judge_tail(data: bytes, result: Scan, around: Surroundings, acknowledged: Seq) -> Verdict:
    """Whether what follows the last complete batch is a torn tail or damage.

    Records up to `acknowledged` are known to have been durable.
    """
    if result.footer is not None:
        return Verdict()
    if result.header is None and not result.found:
        return _judge_header(data, result, around, acknowledged)
    told: list[Problem] = []
    torn: Recovery | None = None
    found = result.found
    expected = (
        Seq(found[-1].seq + 1) if found else result.header.first if result.header else NOTHING
    )
    rest = result.size - result.records_end
    if rest:
        stretch = result.stretches[-1]
        hidden = last_hidden(data, stretch)
        if hidden or expected <= acknowledged:
            last = max(expected, acknowledged, hidden)
            told.append(
                Problem(
                    around.path, stretch.offset, stretch.length, expected, last, "cannot be read"
                )
            )
        else:
            torn = _torn(around, Tear.LINE, result.size, result.records_end, 0)
    if found and found[-1].more:
        start = len(found) - 1
        while start and found[start - 1].more == found[start].more + 1:
            start -= 1
        first = found[start]
        if first.seq <= acknowledged:
            last = Seq(found[-1].seq + found[-1].more)
            what = "the rest of its batch is missing"
            told.append(Problem(around.path, result.records_end, 0, expected, last, what))
        else:
            whole = len(found) - start
            torn = _torn(around, Tear.BATCH, result.size, first.offset, whole)
    return Verdict(wrong=tuple(told)) if told else Verdict(torn=torn)


def _judge_header(data: bytes, result: Scan, around: Surroundings, acknowledged: Seq) -> Verdict:
    """A file without a single intact line: a torn beginning, if it never had more than one line."""
    one_line = b"\n" not in data[:-1]
    hidden = max((last_hidden(data, stretch) for stretch in result.stretches), default=NOTHING)
    if one_line and not hidden and around.first is not None and around.first > acknowledged:
        return Verdict(torn=_torn(around, Tear.HEADER, result.size, 0, 0))
    first, last = around.first or Seq(1), max(acknowledged, hidden)
    return Verdict(wrong=(Problem(around.path, 0, result.size, first, last, "cannot be read"),))


def _torn(around: Surroundings, tear: Tear, size: int, kept: int, records: int) -> Recovery:
    return Recovery(
        path=around.path, tear=tear, kept=kept, bytes_cut=size - kept, records_cut=records
    )
