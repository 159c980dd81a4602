"""Weakened builds: what a child does to the library before it lives, so that a check must fail.

A control shows that a check has teeth. None of this can be reached from the product: a child of the
nursery alone is patched, in its own process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final


def _patch(owner: Any, name: str, value: Any) -> None:
    """A control that patches what is no longer there would show nothing."""
    assert hasattr(owner, name), f"{owner} has no {name}"
    setattr(owner, name, value)


def never_syncs() -> None:
    from pagefault.store.embedded.disk import Disk

    _patch(Disk, "sync", lambda self, fd: None)
    _patch(Disk, "sync_directory", lambda self, path: None)


def ignores_failed_writes() -> None:
    from pagefault.store.embedded.disk import Disk

    write = Disk.write

    def pretend(self: Disk, fd: int, data: bytes | memoryview) -> int:
        try:
            return write(self, fd, data)
        except OSError:
            return len(data)

    _patch(Disk, "write", pretend)


def ignores_short_writes() -> None:
    from pagefault.store.embedded.disk import Disk

    _patch(Disk, "write_all", lambda self, fd, data: self.write(fd, data))


def ignores_failed_syncs() -> None:
    from contextlib import suppress

    from pagefault.store.embedded.disk import Disk

    sync = Disk.sync

    def pretend(self: Disk, fd: int) -> None:
        with suppress(OSError):
            sync(self, fd)

    _patch(Disk, "sync", pretend)


def ignores_a_failed_disk() -> None:
    ignores_failed_writes()
    ignores_failed_syncs()


def never_latches() -> None:
    from pagefault.store.latch import Latch

    _patch(Latch, "refuse_from_now", lambda self, refusal, cause=None: None)


def removes_before_it_replaces() -> None:
    """An old generation goes before the new one is in its place."""
    from pagefault.store.embedded.disk import Disk

    rename = Disk.rename

    def rashly(self: Disk, old: Path, new: Path) -> None:
        for other in new.parent.glob(f"{new.name.split('.')[0]}.g*.jsonl"):
            self.unlink(other)
        rename(self, old, new)

    _patch(Disk, "rename", rashly)


def never_finishes_forgetting() -> None:
    from pagefault.store.store import Store

    _patch(Store, "finish_forgetting", lambda self: 0)


def never_catches_up() -> None:
    from pagefault.store.store import Store

    _patch(Store, "catch_up", lambda self, progress=None, **how: 0)


def has_no_memory_after_a_write() -> None:
    """No weakness of the library, but bad luck: the third append fails when it is written."""
    from itertools import count

    from pagefault.store.embedded.segment import Segment

    grow, times = Segment.grow, count(1)

    def unluckily(self: Segment, lengths: Any) -> None:
        if next(times) == 3:
            raise MemoryError
        grow(self, lengths)

    _patch(Segment, "grow", unluckily)


def keeps_half_batches() -> None:
    from pagefault.store.embedded import opening, recovery

    judge = recovery.judge_tail

    def kindly(*arguments: Any) -> recovery.Verdict:
        verdict = judge(*arguments)
        if verdict.torn is not None and verdict.torn.tear is recovery.Tear.BATCH:
            return recovery.Verdict()
        return verdict

    _patch(opening, "judge_tail", kindly)


def cuts_at_the_first_bad_record() -> None:
    from pagefault.store.embedded import opening, recovery
    from pagefault.store.embedded.scan import Scan

    judge = recovery.judge_tail

    def naively(data: bytes, result: Scan, around: Any, acknowledged: Any) -> recovery.Verdict:
        if not result.stretches or result.header is None:
            return judge(data, result, around, acknowledged)
        first = result.stretches[0].offset
        result.found = [one for one in result.found if one.end <= first]
        return recovery.Verdict(
            torn=recovery.Recovery(
                path=around.path,
                tear=recovery.Tear.LINE,
                kept=first,
                bytes_cut=len(data) - first,
                records_cut=0,
            )
        )

    _patch(opening, "judge_tail", naively)


def skips_checksums() -> None:
    """A line is what it says, whatever its checksum and its commitment."""
    from pagefault.store import codec

    _patch(codec, "is_sealed", lambda line: line.endswith(b'"}\n'))
    _patch(codec, "confirms", lambda record: True)


def believes_any_index() -> None:
    """The index is not asked whose it is, nor by which version it was made."""
    from pagefault.store.embedded import index

    _patch(index, "_facts", lambda root_id: {})


def reads_pages_unchecked() -> None:
    """The index's pages are believed, whatever their checksums."""
    from pagefault.store.embedded import connections

    _patch(connections, "checking_vfs", lambda: None)


WEAKNESSES: Final[dict[str, Callable[[], None]]] = {
    weakness.__name__: weakness
    for weakness in (
        never_syncs,
        ignores_failed_writes,
        ignores_short_writes,
        ignores_failed_syncs,
        ignores_a_failed_disk,
        never_latches,
        removes_before_it_replaces,
        never_finishes_forgetting,
        never_catches_up,
        has_no_memory_after_a_write,
        keeps_half_batches,
        cuts_at_the_first_bad_record,
        skips_checksums,
        believes_any_index,
        reads_pages_unchecked,
    )
}
