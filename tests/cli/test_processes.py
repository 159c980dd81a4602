"""What only a real process shows: imports, pipes, signals, locales, neighbours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import start
from tests.faults.nursery import Nursery


def test_help_loads_nothing_that_is_slow() -> None:
    code = (
        "import sys\n"
        "from pagefault.cli.outcome import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'apsw', 'rich', 'httpx2', 'msgspec', 'asyncio', 'toktok', 'Stemmer'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "pagefault demo" in done.stdout


def test_help_of_any_command_loads_nothing_that_opens_a_memory() -> None:
    code = (
        "import sys\n"
        "from contextlib import redirect_stdout\n"
        "from io import StringIO\n"
        "from pagefault.cli.outcome import run\n"
        "from pagefault.cli.root import SECTIONS\n"
        "with redirect_stdout(StringIO()):\n"
        "    for command in [name for section in SECTIONS.values() for name in section]:\n"
        "        assert run([command, '--help']) == 0\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert "pagefault.cli.claims" in loaded
    heavy = {"apsw", "rich", "httpx2", "msgspec", "toktok", "Stemmer", "numpy", "mcp", "textual"}
    assert not loaded & (heavy | {"pagefault.service.memory", "pagefault.service.session"})


def loaded_by(memory_root: Path, *argv: str) -> set[str]:
    code = (
        "import sys\n"
        "from pagefault.cli.outcome import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, "-q", "--root", str(memory_root), *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {*done.stderr.split()}


def test_a_command_that_only_reads_loads_no_arrays_and_no_vocabulary(memory_root: Path) -> None:
    """Each takes longer to load than all that these commands do."""
    looks = [("claims",), ("sessions",), ("pages", "ls"), ("pages", "show", "msg_1")]
    loaded = set[str]().union(*(loaded_by(memory_root, *one) for one in looks))
    assert "apsw" in loaded
    assert not loaded & {"numpy", "toktok", "httpx2", "rich", "uvicorn", "mcp", "textual"}


def test_control_a_search_loads_arrays_and_a_status_the_vocabulary(memory_root: Path) -> None:
    assert "numpy" in loaded_by(memory_root, "search", "wheel")
    loaded = loaded_by(memory_root, "status")
    assert "toktok" in loaded
    assert "numpy" not in loaded


def test_the_version_is_told() -> None:
    with start("--version", popen=subprocess.Popen) as process:
        out, _ = process.communicate(timeout=300)
    assert out.startswith("pagefault ")


@pytest.mark.parametrize("argv", [["pages", "ls", "--all"], ["schema"], ["--help"]])
def test_a_closed_pipe_ends_quietly(memory_root: Path, argv: list[str]) -> None:
    command = [sys.executable, "-m", "pagefault.cli", "-q", "--root", str(memory_root), *argv]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


def test_any_text_can_be_printed_in_any_locale(memory_root: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    ask = ["chat", "talk", "--engine", "scripted", "--json"]
    really: Any = {"popen": subprocess.Popen, "env": environment}
    with start("--root", memory_root, *ask, stdin=subprocess.PIPE, **really) as process:
        out, err = process.communicate("spokes 漢字 red wheel?".encode().decode(), timeout=300)
    assert process.returncode == 0, err
    assert json.loads(out)["text"]
    with start("--root", memory_root, "pages", "ls", **really) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.isascii()


def _long_transcript(path: Path) -> Path:
    lines = [
        json.dumps({"role": ("user", "assistant")[n % 2], "content": f"Line {n}. " + "word " * 40})
        for n in range(20_000)
    ]
    path.write_text("\n".join(lines))
    return path


def _wait_for_records(root: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(6_000):
        files = list((root / "log").glob("*")) if (root / "log").is_dir() else []
        if sum(file.stat().st_size for file in files) > 50_000:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("nothing was written")


def test_an_interrupted_replay_leaves_a_sound_memory_and_its_neighbours_can_work(
    tmp_path: Path, nursery: Nursery
) -> None:
    root = tmp_path / "memory"
    transcript = _long_transcript(tmp_path / "long.jsonl")
    short = tmp_path / "short.jsonl"
    short.write_text(json.dumps({"role": "user", "content": "Beside the other."}))
    with start("--root", root, "replay", transcript, "--window", "3000") as writer:
        try:
            _wait_for_records(root, writer)
            for argv, code in (
                (["sessions", "--json"], 0),
                (["pages", "ls", "--json"], 0),
                (["pages", "search", "word", "--json"], 0),
                (["verify", "--json"], 0),
                (["pages", "pin", "msg_1", "--json"], 4),
                (["rebuild", "--json"], 4),
                (["replay", str(short), "--json"], 0),
                (["forget", "--session", "short", "--session-whole", "--yes", "--json"], 0),
            ):
                neighbour = nursery.bear("attempt", root=root, words=argv).result
                assert neighbour["code"] == code, (argv, neighbour["err"])
                if code:
                    assert str(writer.pid) in json.loads(neighbour["err"])["error"]["message"]
                else:
                    json.loads(neighbour["out"])
        finally:
            writer.send_signal(signal.SIGINT)
        _, err = writer.communicate(timeout=300)
    assert writer.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    verified = nursery.bear("attempt", root=root, words=["verify", "--json"]).result
    assert verified["code"] == 0, verified
    assert json.loads(verified["out"])["notices"] == []
