"""Lessons of finished work: a failure, the changes after it, and the success that followed.

A command, or a runner's tests, that failed in a session and later succeeded is a lesson for the
next time it fails. It is found from the calls and results in the log (`work_events.py`), without a
model and without a guess at causes: the files are those changed in between, and nothing says that
the change was the reason. A lesson is a claim of the kind `gotcha`, on both results, and proposed:
results have a tool's origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pagefault.model.events import PageBody
from pagefault.model.ids import PageId
from pagefault.model.kinds import EventType
from pagefault.model.page import Evidence
from pagefault.service.inspection.work_events import WorkEvent, WorkFilter, find_events
from pagefault.service.ownership import Owned

_EVENTS: Final = 10_000  # of work in a session that are searched
_COMMAND_CHARS: Final = 120
_PATHS: Final = 3
_QUOTED_BYTES: Final = 400  # of a result: its beginning identifies it


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson, and its claim; no id in a dry run."""

    value: str
    evidence: tuple[Evidence, ...]
    claim_id: PageId = PageId("")


def lessons(owned: Owned) -> list[Lesson]:
    """The lessons of a session, oldest first. Blocks on the store."""
    runtime = owned.runtime
    row = runtime.index.session(owned.session)
    found = find_events(runtime, [row] if row else [], WorkFilter(), _EVENTS)
    events = [one for one in reversed(found) if not one.withdrawn]
    told: list[Lesson] = []
    for failed, passed, changed in _recovered(events):
        spans = [_span(owned, one.result_id or one.page_id) for one in (failed, passed)]
        if all(spans):
            told.append(
                Lesson(
                    value=_value(passed, changed),
                    evidence=tuple(span for span in spans if span is not None),
                )
            )
    return told


def _recovered(events: Sequence[WorkEvent]) -> Iterator[tuple[WorkEvent, WorkEvent, list[str]]]:
    """Failures with the next success of the same command, and the files changed in between."""
    open_: dict[tuple[object, ...], tuple[WorkEvent, list[str]]] = {}
    for event in events:
        if event.event_type is EventType.FILE_CHANGE:
            for _, paths in open_.values():
                paths.append(event.path)
        elif event.is_over and event.event_type in (EventType.COMMAND_RUN, EventType.TEST_RESULT):
            run = (event.event_type, event.argv, event.script, event.runner)
            if event.failed or event.tests_failed or event.exit_code:
                open_.setdefault(run, (event, []))
            elif run in open_:
                failed, paths = open_.pop(run)
                yield failed, event, list(dict.fromkeys(filter(None, paths)))


def _value(passed: WorkEvent, changed: Sequence[str]) -> str:
    said = passed.script or " ".join(passed.argv) or f"{passed.runner} tests"
    name = " ".join(said.split())
    name = name if len(name) <= _COMMAND_CHARS else f"{name[: _COMMAND_CHARS - 1]}…"
    if not changed:
        return f"`{name}` failed, and passed later with no change of a file in between."
    more = f" and {len(changed) - _PATHS} more" if len(changed) > _PATHS else ""
    return f"`{name}` failed, and passed after changes of {', '.join(changed[:_PATHS])}{more}."


def _span(owned: Owned, page_id: PageId) -> Evidence | None:
    row = owned.state.find_row(page_id)
    body = None if row is None else owned.runtime.log.get(row.seq).body
    if not isinstance(body, PageBody) or not body.text.strip():
        return None
    end = len(body.text.encode()[:_QUOTED_BYTES].decode(errors="ignore").encode())
    return Evidence(page_id=page_id, start=0, end=end)
