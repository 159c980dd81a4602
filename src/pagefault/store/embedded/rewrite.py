"""New generations of a segment, as bytes: with records erased or replaced, or damage set aside.

Unaffected lines are copied unchanged, so fields unknown to this version survive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pagefault.model.errors import StoreCorrupt
from pagefault.model.events import Erased, Event
from pagefault.model.ids import Seq
from pagefault.store import codec
from pagefault.store.embedded.scan import Scan, Stretch, lines, salvage
from pagefault.store.embedded.segment_format import (
    Footer,
    Header,
    offsets_for,
    parse_footer,
    parse_header,
)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The bytes of a new generation, and their layout."""

    data: bytes
    header: Header
    header_end: int
    lengths: list[int]  # of the records' lines
    changed: int  # number of changed records


def without(data: bytes, seqs: Collection[Seq], generation: int, last: Seq) -> Rewritten:
    """A segment with these records erased. `StoreCorrupt` if it is not intact up to `last`."""
    return _changed(data, dict.fromkeys(seqs, codec.erase), generation, last)


def with_lines(data: bytes, lines_of: Mapping[Seq, bytes], generation: int, last: Seq) -> Rewritten:
    """A segment with the lines of these records replaced. Same errors."""
    changes = {seq: partial(_put, new) for seq, new in lines_of.items()}
    return _changed(data, changes, generation, last)


def _put(new: bytes, line: bytes, previous: bytes) -> bytes:
    if codec.parse(line).link != codec.parse(new).link:
        raise StoreCorrupt("a line that is to be put in a record's place is another record's")
    return new


def revised(
    data: bytes, events: Mapping[Seq, Event], last: Seq, salt: Callable[[], bytes]
) -> dict[Seq, bytes]:
    """The new lines of a segment's records, with the content of these events. For an erased event,
    the line that erasing gives. Same errors.
    """

    def line_of(event: Event, line: bytes, previous: bytes) -> bytes:
        if isinstance(event.body, Erased):
            return codec.erase(line, previous)
        return codec.revise(line, event, salt=salt(), previous=previous)

    header, body, _ = _taken_apart(data, last)
    changes = {seq: partial(line_of, event) for seq, event in events.items()}
    return dict(_lines_made(header, body, changes))


_Change = Callable[[bytes, bytes], bytes]
"""A replacement for a line, given that and the link before it."""


def _changed(data: bytes, changes: Mapping[Seq, _Change], generation: int, last: Seq) -> Rewritten:
    header, body, footer = _taken_apart(data, last)
    changed = 0
    for seq, line in _lines_made(header, body, changes):
        index = seq - header.first
        changed += line != body[index]
        body[index] = line
    return _assemble(replace(header, generation=generation), body, footer, changed)


def _taken_apart(data: bytes, last: Seq) -> tuple[Header, list[bytes], Footer | None]:
    spans = list(lines(data))
    header = parse_header(data[: spans[0][1]]) if spans else None
    footer = parse_footer(data[spans[-1][0] :]) if spans else None
    body = [data[start:end] for start, end in (spans[1:-1] if footer else spans[1:])]
    if header is None or len(body) != last - header.first + 1:
        raise StoreCorrupt("a segment is damaged, so nothing in it can be erased safely")
    return header, body, footer


def _lines_made(
    header: Header, body: list[bytes], changes: Mapping[Seq, _Change]
) -> Iterator[tuple[Seq, bytes]]:
    for seq, change in changes.items():
        index = seq - header.first
        record = codec.parse(body[index])
        if record.seq != seq:
            raise StoreCorrupt(f"where record {seq} should be is record {record.seq}")
        yield seq, change(body[index], _link_before(body, index, header))


def _link_before(body: list[bytes], index: int, header: Header) -> bytes:
    """The link before a record; b"" if the record before is damaged: then it is not checked."""
    if index == 0:
        return header.link
    try:
        return codec.long(codec.parse(body[index - 1]).link)
    except StoreCorrupt:
        return b""


@dataclass(frozen=True, slots=True)
class Mended:
    """A segment without damage, and what became of the rest."""

    new: Rewritten
    lost: list[Seq]
    aside: list[Stretch]  # bytes of the old generation that are in no new line
    link: bytes  # after its last record


def mend(
    data: bytes,
    result: Scan,
    header: Header,
    *,
    last: Seq,
    sealed: bool,
    link: bytes | None,
    lost_line: Callable[[Seq, bytes], tuple[bytes, bytes]],
) -> Mended:
    """A segment with every record from its first to `last`: read, salvaged, or marked as lost.

    `lost_line` makes the line of a lost record, given the link before it. The chain continues from
    the stored link of the next record, or, if there is none, from `link` if that is known.
    """
    kept = {one.seq: data[one.offset : one.end] for one in result.found}
    aside: list[Stretch] = []
    for stretch in result.stretches:
        offset, end = stretch.offset, stretch.end
        for at, line in salvage(data[offset:end]):
            seq, start = Seq(codec.parse(line).seq), stretch.offset + at
            if header.first <= seq <= last and seq not in kept:
                kept[seq] = line
                aside.append(Stretch(offset, start - offset))
                offset = start + len(line) - 1  # its newline may be the damaged byte
        aside.append(Stretch(offset, end - offset))
    body: list[bytes] = []
    lost: list[Seq] = []
    running = header.link
    for number in range(header.first, last + 1):
        seq = Seq(number)
        if seq in kept:
            line = kept[seq]
            running = codec.long(codec.parse(line).link)
        else:
            line, running = lost_line(seq, running)
            lost.append(seq)
        body.append(line)
    if lost and lost[-1] == last and link is not None:
        running = link
    footer = None
    if sealed:
        footer = Footer(
            segment=header.segment,
            records=len(body),
            last=last,
            link=running,
            offsets=offsets_for([]),
        )
    new = _assemble(header, body, footer, len(lost))
    return Mended(new, lost, [one for one in aside if data[one.offset : one.end].strip()], running)


def _assemble(header: Header, body: list[bytes], footer: Footer | None, changed: int) -> Rewritten:
    first_line = header.encode()
    lengths = [len(line) for line in body]
    parts = [first_line, *body]
    if footer:
        starts, offset = [], len(first_line)
        for length in lengths:
            starts.append(offset)
            offset += length
        parts.append(replace(footer, offsets=offsets_for(starts)).encode())
    return Rewritten(b"".join(parts), header, len(first_line), lengths, changed)
