"""What test runners write: outputs of the real ones (`outputs/`), and, of those that need a
download to run, the forms that they publish.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault.activity.outcomes import is_named, may_tell, runs_in
from pagefault.activity.values import TestRun

OUTPUTS = Path(__file__).parent / "outputs"

FAILING = {
    "test_tea.py::TestPot::test_leaks",
    "test_tea.py::test_spills",
    "test_tea.py::test_cups[2]",
    "test_tea.py::test_broken",
}
PASSING = {
    "test_tea.py::test_boils",
    "test_tea.py::test_cups[1]",
    "test_tea.py::TestPot::test_pours",
}


def run_of(text: str) -> TestRun:
    [run] = runs_in(text)
    return run


@pytest.mark.parametrize("name", ["pytest", "pytest_q", "pytest_v", "pytest_xdist"])
def test_what_pytest_writes(name: str) -> None:
    run = run_of((OUTPUTS / f"{name}.txt").read_text())
    assert (run.runner, run.passed, run.failed, run.skipped) == ("pytest", 3, 4, 1)
    assert set(run.failing) == FAILING
    assert run.duration_ms
    assert set(run.passing) == (PASSING if name in ("pytest_v", "pytest_xdist") else set())


@pytest.mark.parametrize("name", ["unittest", "unittest_v"])
def test_what_unittest_writes(name: str) -> None:
    run = run_of((OUTPUTS / f"{name}.txt").read_text())
    assert (run.passed, run.failed, run.failing) == (1, 1, ("test_ok.TestCup.test_b",))
    assert run.passing == (("test_ok.TestCup.test_a",) if name == "unittest_v" else ())


def test_a_class_of_unittest_before_3_11_does_not_hold_its_method() -> None:
    told = "FAIL: test_b (tests.test_ok.TestCup)\n\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"
    assert run_of(told).failing == ("tests.test_ok.TestCup.test_b",)


def test_what_cargo_writes() -> None:
    run = run_of((OUTPUTS / "cargo.txt").read_text())
    assert (run.passed, run.failed, run.skipped) == (1, 1, 1)
    assert (run.failing, run.passing) == (("tests::spills",), ("tests::boils",))


def test_what_node_writes_as_tap() -> None:
    run = run_of((OUTPUTS / "tap.txt").read_text())
    assert (run.passed, run.failed, run.skipped) == (1, 1, 1), "the suite itself is none"
    assert (run.failing, run.passing) == (("leaks",), ("pours",))


def test_what_pytest_writes_as_junits_xml() -> None:
    run = run_of((OUTPUTS / "junit.xml").read_text())
    assert (run.runner, run.passed, run.failed, run.skipped) == ("junit", 3, 4, 1)
    assert "test_tea.TestPot.test_leaks" in run.failing
    assert "test_tea.test_boils" in run.passing


GO = """\
--- FAIL: TestSpills (0.00s)
    tea_test.go:9: spilled
FAIL
FAIL\texample.com/tea\t0.004s
ok  \texample.com/cake\t0.003s
FAIL
"""
GO_V = """\
=== RUN   TestBoils
--- PASS: TestBoils (0.00s)
=== RUN   TestCups
=== RUN   TestCups/two
    --- FAIL: TestCups/two (0.00s)
--- FAIL: TestCups (0.00s)
FAIL
FAIL\texample.com/tea\t0.004s
"""
GO_JSON = """\
{"Time":"2026-03-01T10:00:00Z","Action":"run","Package":"example.com/tea","Test":"TestBoils"}
{"Time":"2026-03-01T10:00:00Z","Action":"pass","Package":"example.com/tea","Test":"TestBoils","Elapsed":0}
{"Time":"2026-03-01T10:00:00Z","Action":"pass","Package":"example.com/tea","Elapsed":0.004}
"""


def test_what_go_writes() -> None:
    run = run_of(GO)
    assert (run.failing, run.passing) == (("TestSpills",), ("example.com/cake",))
    run = run_of(GO_V)
    assert (run.failing, run.passing) == (("TestCups/two", "TestCups"), ("TestBoils",))
    run = run_of(GO_JSON)
    assert (run.failed, run.passing) == (0, ("TestBoils",))


@pytest.mark.parametrize("name", ["jest", "jest_short"])
def test_what_jest_writes(name: str) -> None:
    run = run_of((OUTPUTS / f"{name}.txt").read_text())
    assert (run.runner, run.passed, run.failed, run.skipped) == ("jest", 1, 1, 1)
    assert run.failing == ("pot › leaks",)
    assert run.passing == (("pours",) if name == "jest" else ())
    assert run.duration_ms


@pytest.mark.parametrize("name", ["vitest", "vitest_verbose"])
def test_what_vitest_writes(name: str) -> None:
    run = run_of((OUTPUTS / f"{name}.txt").read_text())
    assert (run.runner, run.passed, run.failed, run.skipped) == ("vitest", 1, 1, 1)
    assert run.failing == ("v/tea.test.mjs > pot > leaks",)
    assert len(run.passing) == 1
    assert run.passing[0].endswith("pot > pours")
    assert run.duration_ms


def test_colours_hide_nothing() -> None:
    told = "\x1b[31mFAILED\x1b[0m t.py::test_a - x\n\x1b[31m\x1b[1m1 failed\x1b[0m in 0.10s\x1b[0m"
    assert run_of(told).failing == ("t.py::test_a",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The tests passed, all 12 of them, in 3 seconds.",
        "FAILED tests/test_tea.py::test_boils - as the log of Monday says",
        "Please run pytest: 3 passed is what we want",
        "ok\nnot ok",
        "Ran 3 tests in 0.1s",
        "1 file changed in 0.12s",
    ],
)
def test_without_a_runners_own_summary_nothing_ran(text: str) -> None:
    assert runs_in(text) == ()


@given(
    st.text()
    | st.lists(st.sampled_from([GO, GO_JSON, "ok 1\n", "1..2\n", "<testsuite>"])).map("".join)
)
def test_whatever_a_command_prints_is_read_without_an_error(text: str) -> None:
    for run in runs_in(text):
        assert min(run.passed, run.failed, run.skipped) >= 0


@given(
    st.sampled_from(sorted(one.name for one in OUTPUTS.iterdir())),
    st.sampled_from(["", "\x1b[32m", "{}"]),
)
def test_who_would_not_read_the_others_reads_whatever_tells_of_a_run(name: str, way: str) -> None:
    text = (OUTPUTS / name).read_text()
    if way.startswith("\x1b"):
        text = text.replace(" passed", f"{way} passed")
    elif way:
        text = json.dumps({"output": text})
    assert may_tell(json.dumps({"text": text}).encode())
    assert may_tell(json.dumps(GO_JSON).encode())
    assert may_tell(json.dumps(GO).encode())
    assert not may_tell(b"The tests passed, all 12 of them, in 3 seconds. Look for errors.")


@pytest.mark.parametrize(
    ("wanted", "name", "is_it"),
    [
        ("test_a", "tests/test_tea.py::test_a", True),
        ("test_a", "tests/test_tea.py::test_a[2-x]", True),
        ("test_a[2-x]", "tests/test_tea.py::test_a[2-x]", True),
        ("test_a[1]", "tests/test_tea.py::test_a[2-x]", False),
        ("test_a", "tests/test_tea.py::test_aa", False),
        ("a", "tests/test_tea.py::test_a", False),
        ("TestPot::test_a", "test_tea.py::TestPot::test_a", True),
        ("leaks", "src/tea.test.ts > pot > leaks", True),
        ("spills", "tests::spills", True),
    ],
)
def test_a_test_is_asked_for_by_the_end_of_its_name(wanted: str, name: str, is_it: bool) -> None:
    assert is_named(wanted, name) is is_it


def test_a_parameter_may_have_the_sign_that_stands_before_a_reason() -> None:
    run = run_of(
        ".F\n=== short test summary info ===\n"
        "FAILED tests/test_y.py::test_q[a - b] - AssertionError: [x - y]\n"
        "1 failed, 1 passed in 0.5s\n"
    )
    assert run.failing == ("tests/test_y.py::test_q[a - b]",)
