"""kill -9 at random moments: what was acknowledged is there, whole and in order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pagefault.model.events import PageBody
from pagefault.store.embedded.segments import SegmentLog
from tests.store.logs import open_log
from tests.warm import python

ROUNDS = 20

_WRITER = """
import os, sys, time
from pathlib import Path
from pagefault.testing.builders import said
from tests.store.logs import open_log

root, order, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = open_log(root, segment_bytes=20_000, seed=seed)
print(f"open {log.head()} {os.getpid()}", flush=True)
while True:
    seq = log.head() + 1
    batch = [said(f"turn {seq + n}") for n in range(seq % 4 + 1)]
    if order == "acks_first":
        print(seq + len(batch) - 1, flush=True)
        time.sleep(0.003)
    log.append(batch)
    log.sync()
    if order == "acks_last":
        print(seq + len(batch) - 1, flush=True)
    if seq % 50 < 4:
        log.erase([seq])
"""


def _write_until_killed(root: Path, order: str, delay_s: float, seed: int) -> int:
    """The last seq that a writer acknowledged before it was killed."""
    writer = subprocess.Popen(
        [*python(), "-c", _WRITER, str(root), order, str(seed)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    begun = writer.stdout.readline()
    assert begun.startswith("open "), begun
    time.sleep(delay_s)
    os.kill(int(begun.split()[2]), signal.SIGKILL)
    told, _ = writer.communicate()
    acknowledged = [int(line) for line in told.splitlines(keepends=True) if line.endswith("\n")]
    return acknowledged[-1] if acknowledged else int(begun.split()[1])


def check_after_kill(root: Path, acknowledged: int) -> SegmentLog:
    log = open_log(root, segment_bytes=20_000)
    assert log.refusal is None
    assert log.head() >= acknowledged, "an acknowledged record is gone"
    assert log.verify() == []
    for event in log.read():
        if isinstance(event.body, PageBody):
            assert event.body.text == f"turn {event.seq}"
    return log


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.torture)])
def test_no_acknowledged_record_is_lost_to_a_kill(tmp_path: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    acknowledged = 0
    for number in range(rounds):
        told = _write_until_killed(tmp_path, "acks_last", chance.uniform(0, 0.12), number)
        acknowledged = max(acknowledged, told)
        check_after_kill(tmp_path, acknowledged).close()
    assert acknowledged > rounds, "the writer was killed before it wrote anything"


def test_control_a_writer_that_acknowledges_first_is_caught(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    def rounds() -> None:
        for number in range(ROUNDS):
            delay_s = chance.uniform(0.01, 0.03)
            told = _write_until_killed(tmp_path, "acks_first", delay_s, number)
            check_after_kill(tmp_path, told).close()

    with pytest.raises(AssertionError, match="an acknowledged record is gone"):
        rounds()
