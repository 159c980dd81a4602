"""Ctrl-C is quiet whenever it comes: during imports, in a command, and at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

AT_AN_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
number = int(sys.argv.pop(1))
import pagefault.cli

class Interrupts:
    count = 0
    def find_spec(self, *_):
        self.count += 1
        if self.count == number:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
pagefault.cli.main()
"""


BEGUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pagefault.cli
print("begun", file=sys.stderr, flush=True)
pagefault.cli.main()
"""


def begun(*words: str | Path) -> subprocess.Popen[str]:
    """A command in a process of its own, whose interpreter has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGUN, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    return process


def was_quiet(code: int, err: str) -> bool:
    lines = [line for line in err.splitlines() if line.strip()]
    assert not any(sign in err for sign in ("Traceback", "Error", "ignored in")), err
    assert all(line.startswith(("interrupted", "note: ")) or "{" in err for line in lines), err
    return code in (130, -signal.SIGINT)


AT_ANY = (1, 5, 20, 60, 150, 300)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["status"], AT_ANY),
        (["doctor", "--json"], (300,)),
        (["chat", "--engine", "scripted"], (300,)),
        pytest.param(["doctor", "--json"], AT_ANY, marks=pytest.mark.torture),
        pytest.param(["chat", "--engine", "scripted"], AT_ANY, marks=pytest.mark.torture),
    ],
    ids=["status", "doctor", "chat", "doctor at any", "chat at any"],
)
def test_an_interrupt_during_any_import_is_quiet(
    memory_root: Path, words: list[str], numbers: Sequence[int]
) -> None:
    """At imports spread over all there are; where none is left, the command ends as ever."""
    seen = set()
    for number in numbers:
        done = subprocess.run(
            [sys.executable, "-c", AT_AN_IMPORT, str(number), "--root", memory_root, *words],
            check=False,
            capture_output=True,
            text=True,
            input="Who has an allergy?",
            timeout=300,
            env=dict(os.environ),
        )
        if done.returncode in (0, 1):
            break
        assert was_quiet(done.returncode, done.stderr), (number, done)
        seen.add(done.returncode)
    assert seen


AT_SOME_MOMENT = [("demo", 1.2), ("verify", 0.4), ("rebuild", 0.4)]
AT_EACH = [(word, wait_s) for word in ("demo", "verify", "rebuild") for wait_s in (0.02, 0.4, 1.2)]


@pytest.mark.parametrize(
    ("word", "wait_s"),
    [
        pytest.param(*one, marks=() if one in AT_SOME_MOMENT else pytest.mark.torture)
        for one in AT_EACH
    ],
)
def test_a_command_that_is_interrupted_says_one_line_and_leaves_the_memory_whole(
    cli: Cli, memory_root: Path, word: str, wait_s: float
) -> None:
    with begun("--root", memory_root, word) as process:
        time.sleep(wait_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    if process.returncode not in (0, 1):
        end = err[err.rfind("interrupted") :] if "interrupted" in err else ""
        assert "Traceback" not in err
        assert "ignored in" not in err
        assert was_quiet(process.returncode, end)
    checked = cli("--root", memory_root, "verify", "--json")
    assert checked.code == 0, checked.err
    assert checked.data


def test_two_interrupts_in_a_row_are_as_quiet_as_one(memory_root: Path) -> None:
    with begun("--root", memory_root, "demo") as process:
        time.sleep(0.5)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        _, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    assert process.returncode in (0, 130, -signal.SIGINT)
