"""The work done in a session, according to its calls: files changed, work shipped, failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pagefault.model.kinds import EventType
from pagefault.service.inspection.work_events import WorkEvent
from pagefault.service.memory import Memory
from pagefault.views.shown import WorkLine, WorkView

EVENTS: Final = 1_000
_SHIPPING: Final = {
    "git": ("commit", "push", "tag", "merge"),
    "gh": ("pr", "release"),
    "npm": ("publish",),
    "twine": ("upload",),
    "cargo": ("publish",),
    "uv": ("publish",),
}
"""Commands that hand work over, and the subcommands that do so."""


async def work_of(memory: Memory, session_id: str, shown: Callable[[str], str]) -> WorkView:
    """From the last `EVENTS` events of a session. `shown` is applied to every text."""
    found = await memory.events(session=session_id, limit=EVENTS)
    told = {(one.seq, one.path): line for one in found if (line := _line(one, shown)) is not None}
    lines = sorted(told.values(), key=lambda one: one.seq, reverse=True)
    return WorkView(
        lines=tuple(lines),
        files=len({one.path for one in found if one.event_type is EventType.FILE_CHANGE}),
        events=len(found),
        more=len(found) == EVENTS,
    )


def _line(one: WorkEvent, shown: Callable[[str], str]) -> WorkLine | None:
    what = "failed" if _has_failed(one) else "shipped" if is_shipping(one.argv) else "changed"
    if what == "changed" and one.event_type is not EventType.FILE_CHANGE:
        return None
    return WorkLine(
        seq=one.seq,
        at_ms=one.at_ms,
        what=what,
        told=shown(_told(one)),
        page_id=one.page_id,
        result_id=one.result_id,
        origin=str(one.origin),
        path=shown(one.path),
        exit_code=one.exit_code,
        failing=tuple(map(shown, one.failing)),
        withdrawn=one.withdrawn,
    )


def is_shipping(argv: Sequence[str]) -> bool:
    """Whether a command hands work over: commits, pushes, publishes."""
    words = [word for word in argv if not word.startswith("-")]
    return len(words) > 1 and words[1] in _SHIPPING.get(words[0].rpartition("/")[2], ())


def _has_failed(one: WorkEvent) -> bool:
    return one.failed or bool(one.exit_code) or bool(one.tests_failed)


def _told(one: WorkEvent) -> str:
    if one.path:
        return f"{one.change} {one.path}"
    if one.runner or one.tests_failed or one.tests_passed:
        return f"{one.runner or 'tests'}: {one.tests_passed} passed, {one.tests_failed} failed"
    return " ".join(one.argv) or one.script or one.text or str(one.event_type)
