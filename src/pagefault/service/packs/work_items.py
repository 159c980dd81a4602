"""Items of a pack about work: changed files, failing or recovered tests and commands, commits.
Pure.

Runs decide whether a test fails, the newest first: it does if a run says so and no newer one passed
it, by its name, by the same command, or by a run of the same runner in which as many passed as were
run then. A test that was deleted since counts as failing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from pagefault.activity.commits import Commit
from pagefault.activity.shell import only_reads
from pagefault.model.ids import PageId
from pagefault.model.kinds import EventType, Source
from pagefault.model.reprs import counted
from pagefault.model.times import iso_utc
from pagefault.pack.context_forms import one_line
from pagefault.pack.context_pack import PackEvidence
from pagefault.pack.context_packer import PackItem
from pagefault.service.inspection.work_events import WorkEvent

T = TypeVar("T")

NAMES_MAX: Final = 5  # of tests, in a line
COMMANDS_MAX: Final = 8
SCRIPT_CHARS: Final = 160
TWICE: Final = 2  # runs of a command that make a habit

Cited = Callable[[WorkEvent, PageId, Source], PackEvidence]
"""The kind of evidence for an event's page."""


def file_items(events: Sequence[WorkEvent], cited: Cited, *, tier: int) -> Iterator[PackItem]:
    """Each changed file, with its last change. `events` are the newest first."""
    done = [
        one
        for one in events
        if one.event_type is EventType.FILE_CHANGE and one.is_over and not one.failed
    ]
    times = Counter(one.path for one in done)
    for path, last in _firsts(done, lambda one: one.path):
        often = f" ({times[path]} times)" if times[path] > 1 else ""
        yield PackItem(
            section="changed_files",
            tier=tier,
            text=one_line(f"{last.change} {path}{often}"),
            evidence=cited(last, last.page_id, Source.FILES),
            reason=f"the last change of this file, at {iso_utc(last.at_ms)}",
            at_ms=last.at_ms,
            says=(path,),
        )


def commit_items(commits: Sequence[Commit], *, tier: int) -> Iterator[PackItem]:
    """Commits, and the files that they changed, newest first."""
    for commit in commits:
        number = len(commit.files)
        files = f" ({counted(number, 'file')})" if number else ""
        yield PackItem(
            section="commits",
            tier=tier,
            text=one_line(f"{iso_utc(commit.at_ms)[:10]}: {commit.subject}{files}"),
            evidence=commit_evidence(commit, "commits"),
            reason="a commit of the range",
            at_ms=commit.at_ms,
        )
    changes = [(commit, change, path) for commit in commits for change, path in commit.files]
    for path, (commit, change, _) in _firsts(changes, lambda one: one[2]):
        yield PackItem(
            section="changed_files",
            tier=tier,
            text=one_line(f"{change} {path}"),
            evidence=commit_evidence(commit, "changed_files"),
            reason=f"changed by a commit of the range, at {iso_utc(commit.at_ms)}",
            at_ms=commit.at_ms,
        )


def commit_evidence(commit: Commit, section: str) -> PackEvidence:
    return PackEvidence(
        ref=commit.ref,
        kind="commit",
        source=Source.GIT,
        section=section,
        text=one_line(commit.subject),
        said_at=iso_utc(commit.at_ms),
    )


def run_items(
    events: Sequence[WorkEvent], cited: Cited, *, section: str, tier: int, passed: str = ""
) -> Iterator[PackItem]:
    """Tests that fail now; in the section `passed`, those that failed and pass again."""
    runs = [one for one in events if one.event_type is EventType.TEST_RESULT and not one.withdrawn]
    known: set[str] = set()
    clean: list[WorkEvent] = []
    scripts: set[tuple[str, str]] = set()
    for run in runs:
        was_run = (run.runner, run.script)
        if not run.failed:
            known |= {*run.passing}
            clean.append(run)
            scripts.add(was_run)
            continue
        is_over = was_run in scripts or any(_covers(one, run) for one in clean)
        open_ = [] if is_over else [name for name in run.failing if name not in known]
        fails = bool(open_) or not (is_over or run.failing)
        known |= {*run.passing, *run.failing}
        scripts.add(was_run)
        names = _names(open_ if fails else run.failing, run.tests_failed)
        if not (fails or passed):
            continue
        what = "tests fail" if fails else "tests pass again"
        yield PackItem(
            section=section if fails else passed,
            tier=tier,
            text=one_line(f"{what}: {names} ({run.runner or 'tests'})"),
            evidence=cited(run, run.result_id or run.page_id, Source.TERMINAL),
            reason=f"the last run that reported them as failing, at {iso_utc(run.at_ms)}",
            at_ms=run.at_ms,
        )


def _covers(clean: WorkEvent, run: WorkEvent) -> bool:
    return clean.runner == run.runner and clean.tests_passed >= run.tests_passed + run.tests_failed


def _names(names: Sequence[str], number: int) -> str:
    if not names:
        return f"{number} of them"
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def failed_commands(events: Sequence[WorkEvent], cited: Cited, *, tier: int) -> Iterator[PackItem]:
    """Commands whose last run failed, without those that only read."""
    told_by_tests = {one.page_id for one in events if one.event_type is EventType.TEST_RESULT}
    runs = _commands(events)
    for script, last in [*_firsts(runs, lambda one: one.script)][:COMMANDS_MAX]:
        if last.failed and last.page_id not in told_by_tests:
            how = f" (exit {last.exit_code})" if last.exit_code is not None else ""
            yield PackItem(
                section="failures",
                tier=tier,
                text=one_line(f"failed: `{script[:SCRIPT_CHARS]}`{how}"),
                evidence=cited(last, last.result_id or last.page_id, Source.TERMINAL),
                reason=f"it failed when it was run last, at {iso_utc(last.at_ms)}",
                at_ms=last.at_ms,
            )


def habits(events: Sequence[WorkEvent], cited: Cited, *, tier: int) -> Iterator[PackItem]:
    """Commands that were run more than once, and whose last run did not fail."""
    runs = _commands(events)
    times = Counter(one.script for one in runs)
    often = sorted(_firsts(runs, lambda one: one.script), key=lambda one: -times[one[0]])
    for script, last in often[:COMMANDS_MAX]:
        if times[script] >= TWICE and not last.failed:
            yield PackItem(
                section="procedures",
                tier=tier,
                text=one_line(f"`{script[:SCRIPT_CHARS]}` ({times[script]} times)"),
                evidence=cited(last, last.page_id, Source.TERMINAL),
                reason=f"a command that was run {times[script]} times, and did not fail last",
                rank=-times[script],
                at_ms=last.at_ms,
            )


def _commands(events: Iterable[WorkEvent]) -> list[WorkEvent]:
    return [
        one
        for one in events
        if one.event_type is EventType.COMMAND_RUN
        and one.is_over
        and not one.withdrawn
        and one.script.strip()
        and not only_reads(one.script)
    ]


def _firsts(values: Iterable[T], key: Callable[[T], str]) -> Iterator[tuple[str, T]]:
    """The first of each key, in order."""
    firsts: dict[str, T] = {}
    for value in values:
        firsts.setdefault(key(value), value)
    yield from firsts.items()
