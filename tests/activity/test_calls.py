"""What calls of clients' tools did, in the shapes in which each client sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.activity.calls import deeds, outcome
from pagefault.activity.shell import argv_of, commands_in, only_reads, selected
from pagefault.activity.values import Change, CommandRun, FileChange, TestRun

CODEX = (
    "Chunk ID: 2a9ecb\nWall time: {wall} seconds\nProcess exited with code {code}\n"
    "Original token count: 2\nOutput:\n{printed}"
)
PASSED = "..\n2 passed in 0.03s\n"


def did(name: str, arguments: Any, result: str | None = "", **more: bool) -> list[Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return list(deeds(name, text, result, **more))


def test_claude_codes_shell() -> None:
    [run] = did("Bash", {"command": "ls -l src", "description": "look"}, "tea.py")
    assert run == CommandRun(argv=("ls", "-l", "src"), script="ls -l src")
    failed = did("Bash", {"command": "make"}, "Exit code 2\nmake: *** No targets.", is_error=True)
    assert failed == [CommandRun(argv=("make",), script="make", exit_code=2, failed=True)]


def test_codexs_shells() -> None:
    result = CODEX.format(wall="1.2500", code=0, printed=PASSED)
    run, tests = did("exec_command", {"cmd": "pytest -q"}, result)
    assert run == CommandRun(
        argv=("pytest", "-q"), script="pytest -q", exit_code=0, duration_ms=1_250
    )
    assert (tests.runner, tests.passed) == ("pytest", 2)
    told = {"output": "no\n", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}
    [old] = did("shell", {"command": ["bash", "-lc", "make all"], "workdir": "/"}, json.dumps(told))
    assert (old.argv, old.script) == (("bash", "-lc", "make all"), "make all")
    assert (old.exit_code, old.duration_ms, old.failed) == (1, 500, True)
    [local] = did("local_shell_call", {"type": "exec", "command": ["ls", "my file"]})
    assert local.script == "ls 'my file'"


def test_opencodes_shell_tells_no_code() -> None:
    [run] = did("bash", {"command": "ls", "description": "Lists the folder"}, "notes.txt\n")
    assert (run.exit_code, run.failed) == (None, False)


def test_a_call_without_a_result_ran_nothing_that_is_known() -> None:
    assert did("Bash", {"command": "pytest"}, None) == [
        CommandRun(argv=("pytest",), script="pytest")
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "change", "content"),
    [
        ("Write", {"file_path": "a.py", "content": "x\n"}, Change.WRITTEN, "x\n"),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, Change.EDITED, None),
        ("MultiEdit", {"file_path": "a.py", "edits": [{}]}, Change.EDITED, None),
        ("NotebookEdit", {"notebook_path": "a.py", "new_source": "1"}, Change.EDITED, None),
        ("write", {"filePath": "a.py", "content": ""}, Change.WRITTEN, ""),
        ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y"}, Change.EDITED, None),
        ("write_file", {"path": "a.py", "content": "x"}, Change.WRITTEN, "x"),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "a.py", "file_text": "x"},
            Change.WRITTEN,
            "x",
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            Change.EDITED,
            None,
        ),
    ],
)
def test_files_that_are_written_and_edited(
    name: str, arguments: dict[str, Any], change: Change, content: str | None
) -> None:
    [told] = did(name, arguments, "Done.")
    assert told == FileChange(path="a.py", change=change, content=content)


PATCH = """\
*** Begin Patch
*** Add File: new.py
+x = 1
+y = 2
*** Update File: old.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", PATCH),
        ("apply_patch", {"input": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}),
        ("patch", {"patchText": PATCH}),
    ],
)
def test_codexs_patches(name: str, arguments: Any) -> None:
    changes = [one for one in did(name, arguments) if isinstance(one, FileChange)]
    assert changes == [
        FileChange(path="new.py", change=Change.WRITTEN, content="x = 1\ny = 2\n"),
        FileChange(path="old.py", change=Change.EDITED),
        FileChange(path="gone.py", change=Change.DELETED),
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"file_path": "a.py"}),
        ("read", {"filePath": "a.py", "limit": 5}),
        ("Grep", {"pattern": "x", "path": "src"}),
        ("upload", {"path": "a.py", "content": "x"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}),
        ("weather", {"city": "Graz"}),
        ("broken", "{"),
        ("broken", "[1, 2]"),
        ("broken", '{"command": 7, "file_path": ["a"]}'),
    ],
)
def test_calls_that_change_and_run_nothing(name: str, arguments: Any) -> None:
    assert did(name, arguments, "1 passed in 0.01s") == []


def test_a_write_that_was_refused_has_failed() -> None:
    write = {"file_path": "a.py", "content": "x"}
    [told] = did("Write", write, "<tool_use_error>File has not been read yet.</tool_use_error>")
    assert told.failed
    [told] = did("Write", write, "no", is_error=True)
    assert told.failed


def test_of_a_call_that_was_cut_what_stands_before_is_told() -> None:
    whole = json.dumps({"file_path": "src/a.py", "content": "x" * 5_000})
    [told] = did("Write", whole[:4_000], "Done.")
    assert told == FileChange(path="src/a.py", change=Change.WRITTEN)


def test_what_a_reader_prints_happened_at_another_time() -> None:
    kinds = [type(one) for one in did("Bash", {"command": "cd logs && cat run.log"}, PASSED)]
    assert kinds == [CommandRun]
    kinds = [type(one) for one in did("Bash", {"command": "pytest | tail -3"}, PASSED)]
    assert kinds == [CommandRun, TestRun], "the control"


def test_an_exit_code_that_a_program_prints_is_none_of_its_own() -> None:
    assert outcome("all is well\nExit code: 3\n") == (None, None)
    assert outcome("Exit code 3\nno") == (3, None)


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        ("pytest -q 'a b'", ("pytest", "-q", "a b")),
        ("cd x && pytest", ("sh", "-c", "cd x && pytest")),
        ("FOO=1 make", ("make",)),
        ("echo 'unclosed", ("sh", "-c", "echo 'unclosed")),
    ],
)
def test_the_arguments_of_a_line(script: str, argv: tuple[str, ...]) -> None:
    assert argv_of(script) == argv


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("pytest", "whole"),
        ("cd x && python -m pytest -q", "whole"),
        ("pytest -n 2", ""),
        ("pytest tests/test_tea.py", "selected"),
        ("pytest tests/", "selected"),
        ("pytest tests/test_tea.py::test_a", "selected"),
        ("pytest -k test_a", "selected"),
        ("pytest -k other", ""),
        ("pytest tests/test_cake.py", ""),
        ("go test ./...", "whole"),
        ("npm test", "whole"),
        ("cargo test", "whole"),
        ("ls tests", ""),
    ],
)
def test_which_tests_a_line_runs(script: str, how: str) -> None:
    assert selected(script, "tests/test_tea.py::test_a") == how


@given(st.text(), st.text() | st.none(), st.booleans())
def test_whatever_a_call_says_is_read_without_an_error(
    arguments: str, result: str | None, is_error: bool
) -> None:
    list(deeds("Bash", arguments, result, is_error=is_error))
    list(deeds("Bash", json.dumps({"command": arguments}), result, is_error=is_error))
    assert isinstance(only_reads(arguments), bool)
    assert all(commands_in(arguments))


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("pytest -q -x --tb=short", "whole"),
        ("npm test -- --watchAll=false", "whole"),
        ("cargo test --workspace --no-fail-fast", "whole"),
        ("pytest --lf", ""),
        ("pytest --testmon", ""),
        ("pytest --shard-id=0 --num-shards=4", ""),
        ("pytest --version", ""),
        ("pytest --some-unknown-plugin-option", ""),
    ],
)
def test_a_run_is_whole_only_where_no_option_may_leave_a_test_out(line: str, how: str) -> None:
    assert selected(line, "tests/test_tea.py::test_boils") == how
