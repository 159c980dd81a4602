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
