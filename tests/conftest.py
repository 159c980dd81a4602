"""What every test shares: how long Hypothesis may think, and what it prints of a failure."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline: loading a vocabulary, or a busy machine, is not a slow example.
settings.register_profile(
    "pagefault", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pagefault")


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
    parser.addoption("--fault-seed", type=int, help="the seed of the tests in tests/faults")


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
