"""The whole store on a disk that fails: the machine over it, and the controls that it catches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from pagefault.model.ids import Seq
from pagefault.model.progress import Progress
from pagefault.store import codec
from pagefault.store.embedded import opening
from pagefault.store.embedded.index import SqliteIndex
from pagefault.store.embedded.recovery import Recovery, Tear, Verdict
from pagefault.store.embedded.scan import Scan, Surroundings
from pagefault.store.embedded.segments import SegmentLog
from pagefault.store.store import Store
from pagefault.testing.sim_disk import Death, SimulatedDisk
from pagefault.testing.store_machine import Fate, Saying, StoreMachine

pytestmark = pytest.mark.slow

# A failure is not made smaller, which takes minutes: `LONG` does that.
SHORT = settings(
    max_examples=8,
    stateful_step_count=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=400, stateful_step_count=60, phases=tuple(Phase))
CONTROL = settings(
    SHORT, max_examples=150, phases=(Phase.generate,), database=None, report_multiple_bugs=False
)


def test_a_store_under_fire_is_what_its_model_says() -> None:
    run_state_machine_as_test(StoreMachine, settings=SHORT)


@pytest.mark.torture
@pytest.mark.timeout(7_200)
def test_a_store_under_fire_is_what_its_model_says_for_long() -> None:
    run_state_machine_as_test(StoreMachine, settings=LONG)


# --- controls ---------------------------------------------------------------------------------


def _caught(saying: str, machine: type[StoreMachine] = StoreMachine) -> None:
    """The same machine, over a build that was weakened, fails, and says so."""

    @seed(1)
    class Weakened(machine):  # type: ignore[misc, valid-type]
        """A class of its own, so that the seed is not everybody's."""

    with pytest.raises(Exception, match=saying):
        run_state_machine_as_test(Weakened, settings=CONTROL)


def test_control_a_disk_whose_sync_does_nothing_is_caught() -> None:
    class Lying(StoreMachine):
        lying = True

    _caught("an acknowledged|read as a memory root|it cannot be written|is not \\[", Lying)


def test_control_acknowledging_before_the_sync_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(self: SegmentLog) -> None: ...

    monkeypatch.setattr(SegmentLog, "sync", sync)
    _caught("an acknowledged record|it cannot be written")


def test_control_cutting_at_the_first_bad_record_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judge(data: bytes, result: Scan, around: Surroundings, acknowledged: Seq) -> Verdict:
        if result.footer or not result.stretches:
            return Verdict()
        kept = result.stretches[0].offset
        cut = len([one for one in result.found if one.offset > kept])
        torn = Recovery(
            path=around.path,
            tear=Tear.LINE,
            kept=kept,
            bytes_cut=result.size - kept,
            records_cut=cut,
        )
        return Verdict(torn=torn)

    monkeypatch.setattr(opening, "judge_tail", judge)
    _caught("damage")


def test_control_an_index_that_does_not_catch_up_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Store.catch_up

    def catch_up(self: Store, progress: Progress | None = None, *, synced: bool = False) -> int:
        return 0 if self.index.applied_seq() else whole(self, progress, synced=synced)

    monkeypatch.setattr(Store, "catch_up", catch_up)
    _caught("the index has seen")


def test_control_a_forgetting_that_leaves_the_old_generation_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = SimulatedDisk.unlink

    def unlink(self: SimulatedDisk, path: Path) -> None:
        if path.suffix != ".jsonl":
            whole(self, path)

    monkeypatch.setattr(SimulatedDisk, "unlink", unlink)
    _caught("was forgotten, and is in")


def test_control_a_batch_that_counts_in_part_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = codec.encode

    def encode(*args: Any, **fields: Any) -> Any:
        return whole(*args, **{**fields, "more": 0})

    monkeypatch.setattr(codec, "encode", encode)

    def deaths() -> None:
        for seed_ in range(8):
            machine = StoreMachine()
            try:
                machine.begin(seed=seed_)
                together = [Saying(0, ["plan", "outage", "huge", "code"], "")]
                machine.say(Fate(death=Death.KILL, after=0), together)
            finally:
                machine.teardown()

    with pytest.raises(AssertionError, match="a batch is there in part"):
        deaths()


def test_control_a_key_that_is_not_looked_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_key(self: SqliteIndex, session: int, key: str) -> None: ...

    monkeypatch.setattr(SqliteIndex, "find_key", find_key)
    _caught("a retried key was written twice")
