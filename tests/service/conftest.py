"""Every test here runs in an empty home."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _in_an_empty_home(empty_home: Path) -> None: ...
