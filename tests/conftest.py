"""What every test shares: how long Hypothesis may think, and what it prints of a failure."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, Phase, settings

from tests import warm

# On many cores the threads of numpy wait for one another longer than a small sum takes. Workers of
# xdist, and the processes that tests start, are told so; this one may have numpy already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if typing.TYPE_CHECKING:
    from pagefault.model.clock import Clock
    from pagefault.model.ids import IdMinter
    from pagefault.store.store import Store
    from tests.faults.nursery import Nursery

T = TypeVar("T")

# No deadline: loading a vocabulary, or a busy machine, is not a slow example.
# Nor chance: the same examples each time, so that a run says something about the code alone. Once
# they have passed, more of the same examples tell nothing new, so they are few; and a failure is
# not made smaller, which takes most of a control's time. With `drawn`, as in script/torture, each
# run looks somewhere else, makes what it finds small and prints what repeats it.
settings.register_profile(
    "drawn", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fixed",
    settings.get_profile("drawn"),
    derandomize=True,
    max_examples=10,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("fixed")


@pytest.fixture(scope="session", autouse=True)
def _a_state_folder_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Which memories are adopted is noted here, and not in the developer's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def nursery(
    tmp_path_factory: pytest.TempPathFactory, _a_state_folder_of_its_own: None
) -> Iterator[Nursery]:
    """Where processes come from that need no time to start."""
    from tests.faults.nursery import Nursery

    nursery = Nursery(tmp_path_factory.mktemp("nursery"))
    yield nursery
    nursery.close()


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing but this machine is asked, and each client would read a hundred of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_warm_process_ends() -> Iterator[None]:
    yield
    warm.close()


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with nothing of the developer's in it, and an empty home to work in."""
    for name in os.environ:
        if name.startswith(("PAGEFAULT_", "OPENAI_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.chdir(home)
    return home


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-seed", type=int, help="the seed of the tests that draw their faults")
    parser.addoption(
        "--faults-max",
        type=int,
        default=60,
        help="how many faults a test of torture draws, where it could try more; 0 tries all",
    )
    parser.addoption(
        "--engine",
        choices=["in_memory", "slow", "embedded"],
        default="in_memory",
        help="what stands behind `:memory:`: its own engine, the same behind a link on which any "
        "call may be slow, or the one of a folder, in a new one",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of many slow tests first, then of many tests: a worker has a file to itself, and none
    shall begin a long one when the others have nothing left to do.
    """
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (-slow[item.path], -count[item.path]))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """A worker rewrites the assertions of its share of the files, and reads what others wrote.

    Else each rewrites every file that nobody did yet, and in a fresh clone nobody did.
    """
    told = getattr(session.config, "workerinput", None)
    if told is None or sys.dont_write_bytecode:
        return
    given = [session.config.rootpath / arg.partition("::")[0] for arg in session.config.args]
    files = sorted(
        {file for one in given for file in (one.rglob("test_*.py") if one.is_dir() else [one])}
    )
    for file in files[int(told["workerid"][2:]) :: told["workercount"]]:
        cached = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(cached.parent) and rewrite._read_pyc(file, cached) is None:
            source_hash, code = rewrite._rewrite_test(file, session.config)
            rewrite._write_pyc(
                session.config.stash[rewrite.assertstate_key], code, source_hash, cached
            )


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported and collected is not looked through again and again


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So it is for what a shell runs in the background, and a child would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    made = _ENGINES[config.getoption("--engine")]
    if made is not None:
        from pagefault.service import bootstrap

        vars(bootstrap)["memory_store"] = made


def _slow(*given: typing.Any) -> Store:
    from pagefault.store.in_memory.store import memory_store
    from pagefault.testing.distant import Link, put_away

    return put_away(memory_store(*given), Link(random.Random(0), slow=0.02))


def _embedded(clock: Clock, minter: IdMinter, entropy: Callable[[int], bytes]) -> Store:
    from pagefault.store.embedded.root import open_store

    folder = tempfile.mkdtemp(prefix="pagefault-")
    store = open_store(Path(folder), clock=clock, minter=minter, entropy=entropy)
    store.closing.callback(shutil.rmtree, folder)
    return store


_ENGINES: typing.Final = {"in_memory": None, "slow": _slow, "embedded": _embedded}


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    """What chance in a test begins with: fixed by the seed of the run (`--randomly-seed`)."""
    seed: int | None = pytestconfig.getoption("--fault-seed")
    if seed is None:
        seed = random.randrange(10**6)
    print(f"seed {seed}: repeat with --fault-seed {seed}")
    return seed


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


class Some(Protocol):
    def __call__(self, things: Sequence[T]) -> list[T]: ...


@pytest.fixture
def some(pytestconfig: pytest.Config, chance: random.Random) -> Some:
    """As many of these, drawn, as one run of torture tries: the next one tries others."""
    most: int = pytestconfig.getoption("--faults-max")

    def drawn(things: Sequence[T]) -> list[T]:
        return chance.sample(things, min(most or len(things), len(things)))

    return drawn


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many faults were tried: a test that passed has lost nothing that it counted."""
    sums: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for what, counts in report.user_properties:
                    for name, count in counts.items() if what == "faults" else ():
                        sums[name] = sums.get(name, 0) + count
    if sums:
        told = ", ".join(f"{count:,} {name}" for name, count in sums.items())
        terminalreporter.write_line(f"faults that were tried: {told}")
