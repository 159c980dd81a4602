"""What test runners write, read by their own formats: pytest, unittest, jest, vitest, go test,
cargo test, JUnit's XML, and TAP.

Each reader looks for the summary that only its runner writes, and reads names beside that. Without
a summary there is no run: a name in a log, or a traceback, is none. Formats are those that the
runners print in 2026; of a summary that was cut off nothing is told.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pagefault.activity.values import TestRun, json_object

NAMES_MAX: Final = 2_000
"""Of each outcome that are kept of one run; the counts are the runner's own."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_M: Final = re.MULTILINE


def runs_in(text: str) -> tuple[TestRun, ...]:
    """Every run of tests that a text tells of, one for each runner."""
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    found = (read(plain) for read in READERS)
    return tuple(run for run in found if run is not None)


def _names(found: Iterable[str]) -> tuple[str, ...]:
    """Each once, in its order."""
    known = dict.fromkeys(name.strip() for name in found if name.strip())
    return tuple(known)[:NAMES_MAX]


def _ms(seconds: str | None) -> int | None:
    return None if not seconds else round(float(seconds) * 1_000)


def _counts(summary: str) -> dict[str, int]:
    """`3 failed, 2 passed` as numbers by their words."""
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", summary)}


# --- Python ---------------------------------------------------------------------------------------

_PYTEST: Final = re.compile(
    r"^=*[ ]?((?:\d+ [a-z]+(?:, )?)+) in (\d+\.\d+)s(?: \([\d:]+\))?[ ]?=*$", _M
)
_PYTEST_WORDS: Final = frozenset({"passed", "failed", "error", "errors", "skipped", "xfailed"})
_PYTEST_FAILED: Final = re.compile(
    # What a parameter is called may have the sign that stands before the reason, too.
    r"^(?:FAILED|ERROR) (\S+?\.py(?:::[^\n\[]+?(?:\[[^\n]*?\])?)?)(?: - .*)?$",
    _M,
)
_PYTEST_TOLD: Final = re.compile(
    r"^(?:PASSED (\S+\.py::.+)|(\S+\.py::.+?) (PASSED|FAILED|ERROR)(?: +\[ *\d+%\])?"
    r"|\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR) (\S+\.py::.+))$",
    _M,
)


def _pytest(text: str) -> TestRun | None:
    found = [one for one in _PYTEST.finditer(text) if _PYTEST_WORDS & set(_counts(one[1]))]
    if not found:
        return None
    counts = _counts(found[-1][1])
    failing: list[str] = _PYTEST_FAILED.findall(text)
    passing: list[str] = []
    for one in _PYTEST_TOLD.finditer(text):
        name = one[1] or one[2] or one[5]
        word = one[3] or one[4] or "PASSED"
        (passing if word == "PASSED" else failing).append(name)
    return TestRun(
        runner="pytest",
        passed=counts.get("passed", 0) + counts.get("xpassed", 0),
        failed=counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0),
        skipped=counts.get("skipped", 0) + counts.get("xfailed", 0),
        failing=_names(failing),
        passing=_names(passing),
        duration_ms=_ms(found[-1][2]),
    )


_UNITTEST: Final = re.compile(
    r"^Ran (\d+) tests? in (\d+\.\d+)s\s+^(OK|FAILED)(?: \(([^)\n]*)\))?$", _M
)
_UNITTEST_FAILED: Final = re.compile(r"^(?:FAIL|ERROR): (\S+) \(([\w.]+)\)", _M)
_UNITTEST_TOLD: Final = re.compile(r"^(\S+) \(([\w.]+)\)(?:\n[^\n]*)? \.\.\. ok$", _M)


def _unittest(text: str) -> TestRun | None:
    found = _UNITTEST.search(text)
    if found is None:
        return None
    counts = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", found[4] or "")}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    skipped = counts.get("skipped", 0)
    return TestRun(
        runner="unittest",
        passed=max(0, int(found[1]) - failed - skipped),
        failed=failed,
        skipped=skipped,
        failing=_names(map(_dotted, _UNITTEST_FAILED.findall(text))),
        passing=_names(map(_dotted, _UNITTEST_TOLD.findall(text))),
        duration_ms=_ms(found[2]),
    )


def _dotted(told: Sequence[str]) -> str:
    """A method and where it is: from Python 3.11 on the second has the first in it."""
    method, place = told
    return place if place.endswith(f".{method}") else f"{place}.{method}"


# --- JavaScript -----------------------------------------------------------------------------------

_JEST: Final = re.compile(r"^Tests: +(.+), (\d+) total$", _M)
_JEST_FAILED: Final = re.compile(r"^ *● (?!Console$)(.+)$", _M)
_JEST_MARKED: Final = re.compile(r"^ *([✓√✕×]) (.+?)(?: \(\d+(?:\.\d+)? m?s\))?$", _M)
_JEST_TIME: Final = re.compile(r"^Time: +(\d+(?:\.\d+)?) (m?s)\b", _M)
_VITEST: Final = re.compile(r"^ *Tests {2,}(\d+ .+?) \((\d+)\)$", _M)
_VITEST_FAILED: Final = re.compile(r"^ *(?:FAIL|×) +(\S.* > .+?)(?: +\d+m?s)?$", _M)
_VITEST_PASSED: Final = re.compile(r"^ *✓ +(\S.* > .+?)(?: +\d+m?s)?$", _M)
_VITEST_TIME: Final = re.compile(r"^ *Duration +(\d+(?:\.\d+)?)(m?s)\b", _M)


def _jest(text: str) -> TestRun | None:
    found = _JEST.search(text)
    if found is None:
        return None
    counts = _counts(found[1])
    marked = _JEST_MARKED.findall(text)
    failing = _JEST_FAILED.findall(text) or [name for mark, name in marked if mark in "✕×"]
    return TestRun(
        runner="jest",
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failing=_names(failing),
        passing=_names(name for mark, name in marked if mark in "✓√"),
        duration_ms=_unit_ms(_JEST_TIME.search(text)),
    )


def _vitest(text: str) -> TestRun | None:
    found = _VITEST.search(text)
    if found is None:
        return None
    counts = _counts(found[1])
    return TestRun(
        runner="vitest",
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failing=_longest(_VITEST_FAILED.findall(text)),
        passing=_names(_VITEST_PASSED.findall(text)),
        duration_ms=_unit_ms(_VITEST_TIME.search(text)),
    )


def _longest(found: Iterable[str]) -> tuple[str, ...]:
    """The names, less those that only lack the file in which another has them."""
    names = _names(found)
    return tuple(one for one in names if not any(o.endswith(f" > {one}") for o in names))


def _unit_ms(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    return round(float(found[1]) * (1 if found[2] == "ms" else 1_000))


# --- Go and Rust ----------------------------------------------------------------------------------

_GO_TEST: Final = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$", _M)
_GO_PACKAGE: Final = re.compile(r"^(ok  |FAIL)\t(\S+)\t(\d+\.\d+s|\(cached\)|\[.+\])", _M)
_GO_JSON: Final = re.compile(r'^\{.*"Action":"(?:pass|fail|skip)".*\}$', _M)


def _go(text: str) -> TestRun | None:
    told = [(word, name) for word, name in _GO_TEST.findall(text)]
    packages = [("PASS" if word == "ok  " else "FAIL", name) for word, name, _ in
                _GO_PACKAGE.findall(text)]  # fmt: skip
    for line in _GO_JSON.findall(text):
        one = json_object(line)
        name = str(one.get("Test") or "")
        into = told if name else packages
        into.append((str(one.get("Action")).upper(), name or str(one.get("Package"))))
    if not packages:
        return None
    counted = told or packages  # without -v only failures are named, beside their packages
    if told and not any(word == "PASS" for word, _ in told):
        counted = [*told, *((w, name) for w, name in packages if w == "PASS")]
    by = {word: _names(n for w, n in counted if w == word) for word in ("PASS", "FAIL", "SKIP")}
    return TestRun(
        runner="go",
        passed=len(by["PASS"]),
        failed=len(by["FAIL"]),
        skipped=len(by["SKIP"]),
        failing=by["FAIL"],
        passing=by["PASS"],
    )


_CARGO: Final = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;"
    r"[^\n]*?(?:finished in (\d+\.\d+)s)?$",
    _M,
)
_CARGO_TEST: Final = re.compile(r"^test (\S.*?) \.\.\. (ok|FAILED)$", _M)


def _cargo(text: str) -> TestRun | None:
    found = _CARGO.findall(text)  # one for each binary, and one for the documentation
    if not found:
        return None
    told = _CARGO_TEST.findall(text)
    seconds = [float(one[3]) for one in found if one[3]]
    return TestRun(
        runner="cargo",
        passed=sum(int(one[0]) for one in found),
        failed=sum(int(one[1]) for one in found),
        skipped=sum(int(one[2]) for one in found),
        failing=_names(name for name, word in told if word == "FAILED"),
        passing=_names(name for name, word in told if word == "ok"),
        duration_ms=round(sum(seconds) * 1_000) if seconds else None,
    )


# --- what many runners write ----------------------------------------------------------------------

_CASE: Final = re.compile(r"<testcase\b([^<>]*?)(?:/>|>(.*?)</testcase>)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"""\b(name|classname|time)=(?:"([^"]*)"|'([^']*)')""")
_NOT_PASSED: Final = re.compile(r"<(failure|error|skipped)\b")


def _junit(text: str) -> TestRun | None:
    if "<testsuite" not in text:
        return None
    by: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    for one in _CASE.finditer(text):
        told = {name: html.unescape(a or b) for name, a, b in _ATTRIBUTE.findall(one[1])}
        name = ".".join(filter(None, (told.get("classname"), told.get("name"))))
        broke = _NOT_PASSED.search(one[2] or "")
        word = "passed" if broke is None else "skipped" if broke[1] == "skipped" else "failed"
        by[word].append(name)
    if not any(by.values()):
        return None
    return _sorted_run("junit", by)


_TAP: Final = re.compile(r"^(?:TAP version \d+|1\.\.\d+)\b", _M)
_TAP_TEST: Final = re.compile(
    r"^(?P<space> *)(?P<no>not )?ok\b(?: \d+)?(?: -)?(?P<name>[^#\n]*)(?:# *(?P<why>\w+))?", _M
)


def _tap(text: str) -> TestRun | None:
    if not _TAP.search(text):
        return None
    by: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    depth = 0
    for one in _TAP_TEST.finditer(text):
        before, depth = depth, len(one["space"])
        if depth < before:  # it sums up those that stand in from it
            continue
        why = (one["why"] or "").upper()
        word = "skipped" if why in ("SKIP", "TODO") else "failed" if one["no"] else "passed"
        by[word].append(one["name"])
    if not any(by.values()):
        return None
    return _sorted_run("tap", by)


def _sorted_run(runner: str, by: Mapping[str, Sequence[str]]) -> TestRun:
    """A run of tests that are each named, by how they went."""
    return TestRun(
        runner=runner,
        passed=len(by["passed"]),
        failed=len(by["failed"]),
        skipped=len(by["skipped"]),
        failing=_names(by["failed"]),
        passing=_names(by["passed"]),
    )


_SUMMARIES: Final = (
    *(b"Ran ", b"Tests:", b"Tests ", b"test result: ", b"ok  ", b"FAIL", b"Action", b"<testsuite"),
    *(b"u003ctestsuite", b"TAP version", b"1..", b"\x1b", b"u001b"),
)
_COUNTED: Final = (b" passed", b" failed", b" error", b" skipped", b" xfailed")
_TOOK: Final = re.compile(rb" in \d+\.\d+s")


def may_tell(written: bytes) -> bool:
    """Whether a reader could make a run of a text, as it is or in JSON; for who would not read the
    others. True wherever the summary of any runner stands, or a colour, which may stand in one.
    """
    for mark in _SUMMARIES:
        if mark in written:
            return True
    is_counted = any(_is_counted(written, word) for word in _COUNTED)  # as pytest does
    return is_counted and _TOOK.search(written) is not None


def _is_counted(written: bytes, word: bytes) -> bool:
    at = written.find(word)
    while at >= 0:
        if written[at - 1 : at].isdigit():
            return True
        at = written.find(word, at + 1)
    return False


READERS: Final[tuple[Callable[[str], TestRun | None], ...]] = (
    _pytest,
    _unittest,
    _jest,
    _vitest,
    _go,
    _cargo,
    _junit,
    _tap,
)


# --- names ----------------------------------------------------------------------------------------

_CASES: Final = re.compile(r"\[.*\]\Z", re.DOTALL)
_JOINTS: Final = ("::", ".", " > ", " › ", "/", " ")


def is_named(wanted: str, name: str) -> bool:
    """Whether a test that somebody asks for is the one that a runner names: its whole name, or the
    end of it. All cases of a parametrised test are that test.
    """
    if "[" not in wanted:
        name = _CASES.sub("", name)
    return name == wanted or any(name.endswith(f"{joint}{wanted}") for joint in _JOINTS)


def named_in(wanted: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if is_named(wanted, name))
