"""The index is overwritten, deleted, or another's: answers stay, and the log is not touched."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Some
from tests.faults.conftest import Rooms, Tally, look, peek
from tests.faults.damage import segments
from tests.faults.nursery import Nursery
from tests.faults.script import Step, Violation, check, fold, talk, text

PAGE_BYTES = 4096
QUESTIONS = [
    f"What about {text(3).split()[0]}?",
    "filler",
    f"{text(22).split()[0]} end22",
    "nothing of the kind",
]

_EARLY: list[Step] = [*talk("talk", 0, 6), ["request", "talk"], *talk("aside", 20, 4)]
_LATE: list[Step] = [*talk("talk", 30, 140), ["request", "aside"]]
_ALL: list[Step] = [*_EARLY, *_LATE]


class Museum:
    """Roots of one history, at several moments, and what the last of them answers."""

    def __init__(self, nursery: Nursery, rooms: Rooms) -> None:
        self._nursery, self._rooms, self.tally = nursery, rooms, Tally()
        self.early = rooms.make("early", _EARLY)
        self.late = rooms.copy(self.early, "late")
        self.caught = rooms.copy(self.early, "caught")  # killed: its -wal and -shm are there
        self.foreign = rooms.make("foreign", [*talk("talk", 0, 6), *talk("aside", 90, 40)])
        ended = nursery.bear("live", root=self.late, steps=_LATE)
        assert ended.how == "returned", ended.error
        killed = nursery.bear("live_and_die", root=self.caught, steps=_LATE[:20])
        assert killed.how == "killed", killed.error
        assert (self.caught / "index.db-wal").stat().st_size
        self.answers = self.ask(self.room())

    def room(self, of: Path | None = None) -> Path:
        return self._rooms.copy(of or self.late)

    def ask(self, root: Path, weakness: str = "") -> dict[str, Any]:
        ended = self._nursery.bear("answers", root=root, questions=QUESTIONS, weakness=weakness)
        if ended.how != "returned":
            raise Violation(f"asking {ended.how}: {ended.error}")
        answers: dict[str, Any] = ended.result
        return answers

    def check_same(self, root: Path, weakness: str = "") -> None:
        """Its answers are those of the undisturbed root, and its log begins as it did."""
        self.tally.add(faults=1)
        before = [path.read_bytes() for path in segments(root)]
        answers = self.ask(root, weakness)
        _compare(answers, self.answers)
        after = [path.read_bytes() for path in segments(root)]
        if not all(now.startswith(then) for now, then in zip(after, before, strict=True)):
            raise Violation("the log was changed")

    def check_same_or_told(self, root: Path) -> str:
        """As `check_same`; or else it says so, and doing as one is told helps."""
        spare = self._rooms.copy(root, "spare")
        try:
            self.check_same(root)
        except Violation as violation:
            self._follow(str(violation), root)
        else:
            return "same"
        self.command(spare, "verify", sound=False)
        self.command(spare, "rebuild", sound=True)
        self.check_same(spare)
        return "told"

    def _follow(self, told: str, root: Path) -> None:
        """It was told to open the memory again, or to rebuild: the one leads to the other."""
        if "open it again" in told:
            try:
                self.ask(root)
            except Violation as violation:
                told = str(violation)
        if "pagefault rebuild" not in told:
            raise Violation(f"nothing says what to do: {told}")

    def command(self, root: Path, word: str, *, sound: bool) -> None:
        ended = self._nursery.bear("attempt", root=root, words=[word])
        if ended.how != "returned" or (ended.result["code"] == 0) != sound:
            raise Violation(f"{word}: {ended.result or ended.error}")


def _compare(answers: dict[str, Any], expected: dict[str, Any]) -> None:
    for what in expected.keys() | answers.keys():
        if answers.get(what) != expected.get(what):
            raise Violation(f"{what}: {answers.get(what)} instead of {expected.get(what)}")


@pytest.fixture(scope="module")
def opened_museum(nursery: Nursery, rooms: Rooms) -> Museum:
    return Museum(nursery, rooms)


@pytest.fixture
def museum(opened_museum: Museum, tally: Tally) -> Museum:
    opened_museum.tally = tally
    return opened_museum


# --- another index ----------------------------------------------------------------------------


def _put(source: Path, root: Path, *, also: tuple[str, ...] = ()) -> None:
    for name in ("index.db", *also):
        shutil.copy(source / name, root / name)


def _delete(museum: Museum, root: Path) -> None:
    (root / "index.db").unlink()


def _empty(museum: Museum, root: Path) -> None:
    (root / "index.db").write_bytes(b"")


def _no_database(museum: Museum, root: Path) -> None:
    (root / "index.db").write_bytes(b"This is no database. " * 1_000)


def _halve(museum: Museum, root: Path) -> None:
    data = (root / "index.db").read_bytes()
    (root / "index.db").write_bytes(data[: len(data) // 2 // PAGE_BYTES * PAGE_BYTES])


def _older(museum: Museum, root: Path) -> None:
    _put(museum.early, root)


def _foreign(museum: Museum, root: Path) -> None:
    _put(museum.foreign, root)


def _directory(museum: Museum, root: Path) -> None:
    (root / "index.db").unlink()
    (root / "index.db").mkdir()


SWAPS: dict[str, Callable[[Museum, Path], None]] = {
    "deleted": _delete,
    "empty": _empty,
    "no database": _no_database,
    "of an earlier moment": _older,
    "of another root": _foreign,
}


@pytest.mark.parametrize("swap", SWAPS)
def test_with_another_index_the_answers_are_the_same(swap: str, museum: Museum) -> None:
    root = museum.room()
    SWAPS[swap](museum, root)
    museum.check_same(root)


@pytest.mark.parametrize("what", ["SCHEMA", "ANALYZER"])
@pytest.mark.parametrize("version", [0, 9_999])
def test_an_index_of_another_version_gives_the_same_answers(
    what: str, version: int, museum: Museum, nursery: Nursery
) -> None:
    root = museum.room()
    ended = nursery.bear("age_index", root=root, what=what, version=version)
    assert ended.how == "returned", ended.error
    museum.check_same(root)


def test_an_index_that_is_ahead_of_the_log_tells_what_is_missing(
    museum: Museum, nursery: Nursery
) -> None:
    root = museum.room(museum.early)
    _put(museum.late, root)
    found = peek(nursery, root, write=True)
    assert found["refused"].startswith("StoreCorrupt")
    assert not found["wrote"]
    assert any("the index has seen them" in problem for problem in found["problems"])
    said = fold(_EARLY)
    found = peek(nursery, root, repair=True, write=True)
    assert found["wrote"]
    assert found["texts"]["talk"][: len(said["talk"])] == said["talk"]


# --- damage inside it -------------------------------------------------------------------------


def _overwrite(root: Path, page: int, how: str, chance: random.Random) -> None:
    data = bytearray((root / "index.db").read_bytes())
    begin = page * PAGE_BYTES
    if how == "zeros":
        data[begin : begin + PAGE_BYTES] = bytes(PAGE_BYTES)
    elif how == "noise":
        data[begin : begin + PAGE_BYTES] = chance.randbytes(PAGE_BYTES)
    else:
        other = chance.randrange(len(data) // PAGE_BYTES) * PAGE_BYTES
        data[begin : begin + PAGE_BYTES] = data[other : other + PAGE_BYTES]
    (root / "index.db").write_bytes(data)


def _pages(museum: Museum) -> int:
    return (museum.late / "index.db").stat().st_size // PAGE_BYTES


@pytest.mark.parametrize("how", ["zeros", "noise"])
def test_an_overwritten_page_of_the_index_gives_no_other_answer(
    how: str, museum: Museum, chance: random.Random
) -> None:
    for page in chance.sample(range(_pages(museum)), 1):
        root = museum.room()
        _overwrite(root, page, how, chance)
        museum.check_same_or_told(root)


def test_an_overwritten_list_of_free_pages_is_told(museum: Museum, chance: random.Random) -> None:
    root = museum.room()
    first = int.from_bytes((root / "index.db").read_bytes()[32:36], "big")
    assert first, "no page of this index is free"
    _overwrite(root, first - 1, "noise", chance)  # zeros are a list of that page alone
    museum.command(root, "verify", sound=False)
    museum.command(root, "rebuild", sound=True)
    museum.check_same(root)


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("how", ["zeros", "noise"])
def test_any_overwritten_page_of_the_index_gives_no_other_answer(
    how: str, museum: Museum, chance: random.Random, some: Some
) -> None:
    told = []
    for page in some(range(_pages(museum))):
        root = museum.room()
        _overwrite(root, page, how, chance)
        told.append(museum.check_same_or_told(root))
    print(f"{told.count('same')} with the same answers, {told.count('told')} said so")


# --- -wal and -shm ----------------------------------------------------------------------------


def _check_caught(museum: Museum, nursery: Nursery, root: Path, tally: Tally) -> None:
    tally.add(faults=1)
    check(look(nursery, root), _EARLY, _LATE[:20], 20)


def _wal_gone(museum: Museum, root: Path) -> None:
    (root / "index.db-wal").unlink()


def _both_gone(museum: Museum, root: Path) -> None:
    _wal_gone(museum, root)
    (root / "index.db-shm").unlink()


def _shm_gone(museum: Museum, root: Path) -> None:
    (root / "index.db-shm").unlink()


def _shm_noise(museum: Museum, root: Path) -> None:
    (root / "index.db-shm").write_bytes(random.Random(1).randbytes(32_768))


def _wal_halved(museum: Museum, root: Path) -> None:
    data = (root / "index.db-wal").read_bytes()
    (root / "index.db-wal").write_bytes(data[: len(data) // 2 + 17])


def _wal_flipped(museum: Museum, root: Path) -> None:
    data = bytearray((root / "index.db-wal").read_bytes())
    data[len(data) // 2] ^= 4
    (root / "index.db-wal").write_bytes(data)


LOGS_OF_THE_INDEX: dict[str, Callable[[Museum, Path], None]] = {
    "the -wal deleted": _wal_gone,
    "the -shm deleted": _shm_gone,
    "both deleted": _both_gone,
    "the -shm noise": _shm_noise,
    "the -wal cut": _wal_halved,
    "the -wal with a flipped bit": _wal_flipped,
}


@pytest.mark.parametrize("what", LOGS_OF_THE_INDEX)
def test_after_a_kill_a_broken_wal_of_the_index_changes_nothing(
    what: str, museum: Museum, nursery: Nursery, tally: Tally
) -> None:
    root = museum.room(museum.caught)
    LOGS_OF_THE_INDEX[what](museum, root)
    _check_caught(museum, nursery, root, tally)


@pytest.mark.parametrize("suffixes", [("-wal",), ("-wal", "-shm")])
def test_a_wal_of_another_moment_gives_no_other_answer(
    suffixes: tuple[str, ...], museum: Museum
) -> None:
    root = museum.room()
    for suffix in suffixes:
        shutil.copy(museum.caught / f"index.db{suffix}", root)
    museum.check_same_or_told(root)


def test_a_wal_of_an_earlier_moment_than_its_database_is_caught_up(
    museum: Museum, nursery: Nursery, tally: Tally
) -> None:
    root = museum.room(museum.caught)
    _put(museum.early, root)
    _check_caught(museum, nursery, root, tally)


# --- controls ---------------------------------------------------------------------------------


def test_control_an_index_that_is_believed_unasked_is_caught(museum: Museum) -> None:
    root = museum.room()
    _foreign(museum, root)
    with pytest.raises(Violation):
        museum.check_same(root, "believes_any_index")


def test_control_an_index_that_is_never_caught_up_is_caught(museum: Museum) -> None:
    root = museum.room()
    _older(museum, root)
    with pytest.raises(Violation):
        museum.check_same(root, "never_catches_up")


def test_texts_are_unlike_one_another() -> None:
    assert len({text(number) for number in range(100)}) == 100
