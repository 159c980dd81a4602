"""Importing the package is cheap, and every name it promises is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import pagefault

HEAVY = {
    "apsw",
    "click",
    "httpx2",
    "msgspec",
    "platformdirs",
    "rich",
    "Stemmer",
    "toktok",
    "uvicorn",
}


def _loaded(statement: str) -> set[str]:
    """What a fresh interpreter has loaded once it ran the statement."""
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    source = Path(pagefault.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    return set(done.stdout.split())


def test_importing_loads_no_driver_no_http_and_no_terminal() -> None:
    loaded = _loaded("import pagefault")
    assert "pagefault" in loaded
    assert not loaded & HEAVY


def test_control_opening_a_memory_loads_a_driver() -> None:
    assert {"apsw", "msgspec"} <= _loaded("import pagefault; pagefault.open")


def test_a_remote_engine_needs_no_http_library_until_it_is_used() -> None:
    assert "httpx2" not in _loaded("import pagefault; pagefault.RemoteEngine")


def test_wrapping_needs_no_sdk_and_no_http_library_until_a_client_is_wrapped() -> None:
    loaded = _loaded("import pagefault; pagefault.wrap, pagefault.behind")
    assert not loaded & {"httpx2", "openai", "anthropic", "uvicorn"}


@pytest.mark.parametrize("name", pagefault.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(pagefault, name) is not None
    assert name in dir(pagefault)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pagefault.nonsense  # noqa: B018


def test_no_three_classes_have_one_name() -> None:
    """One word for one thing: a reader who meets a name has at most two places to look."""
    package = Path(pagefault.__file__).parent
    texts = [path.read_text() for path in package.rglob("*.py")]
    counts = Counter(name for text in texts for name in re.findall(r"(?m)^class ([^\W_]\w*)", text))
    assert counts["Memory"] == 2, "as a program with an event loop has it, and as one without"
    assert [name for name, count in counts.items() if count > 2] == []
