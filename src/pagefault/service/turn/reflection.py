"""Lessons of finished work, on the results that show how it went. No model is asked.

A failure: a command, or a runner's tests, that failed in a session and later succeeded is a lesson
for the next time it fails, a `gotcha` on both results. The files are those changed in between, and
nothing says that the change was the reason. A task: if a person ended a claim about the state of
some work (`expire_claim`), and it or an earlier state of it rests on results that succeeded, these
say how it was done: a `procedure` on these results. A task whose evidence is words alone makes no
lesson; its model may propose what it learned (formation).

Lessons are found from the calls and results in the log (`work_events.py`). They are only proposed,
because results have a tool's origin, and each only once: one that was retracted, or that lapsed, is
not proposed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pagefault.model.errors import BadInput, NoSuchPage, RecordGone
from pagefault.model.events import Draft, PageBody
from pagefault.model.ids import PageId, Seq
from pagefault.model.kinds import Actor, ClaimType, EventType, Origin, RulingKind
from pagefault.model.page import Evidence
from pagefault.service.derived.claims import Claims
from pagefault.service.derived.labels import Labels
from pagefault.service.inspection.work_events import WorkEvent, WorkFilter, find_events
from pagefault.service.ownership import Owned
from pagefault.service.turn.stated_claims import Stated, StatedClaims, page_id_of
from pagefault.truth.claims import ClaimEntry
from pagefault.truth.subjects import value_key

_EVENTS: Final = 10_000  # of work in a session that are searched
_COMMAND_CHARS: Final = 120
_TASK_CHARS: Final = 200
_PATHS: Final = 3
_RESULTS: Final = 3  # of one task
_QUOTED_BYTES: Final = 400  # of a result: its beginning identifies it
_CHANNEL: Final = Origin("command_output")
REST_MAX: Final = 3
"""New lessons at one rest. A coding session has many, and each waits for a person to judge it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson, and its claim; a new one has no id in a dry run. `kind` is gotcha or procedure."""

    value: str
    evidence: tuple[Evidence, ...]
    claim_id: PageId = PageId("")
    kind: str = "gotcha"


@dataclass(frozen=True, slots=True)
class _Found:
    lesson: Lesson
    seq: Seq  # of the event that finished the work


class Reflection:
    """Finds and proposes the lessons of one session."""

    def __init__(self, owned: Owned, claims: Claims, labels: Labels) -> None:
        self._owned = owned
        self._claims = claims
        self._labels = labels

    async def reflect(self, *, dry_run: bool = False) -> tuple[Lesson, ...]:
        """Propose the lessons that are new. Returns all, oldest first."""
        await self._owned.caught_up()
        if dry_run:
            return tuple(one.lesson for one in await asyncio.to_thread(self._found))
        return await self._owned.carry_out(lambda: self._plan(at_rest=False))

    async def rest(self) -> None:
        """Propose a few new lessons, in the background: not an action that `undo` reverts."""
        await self._owned.carry_out(lambda: self._plan(at_rest=True))

    def _plan(self, *, at_rest: bool) -> tuple[list[Draft], tuple[Lesson, ...]]:
        stated = StatedClaims(self._owned, self._claims, self._labels)
        drafts: list[Draft] = []
        told: list[Lesson] = []
        for one in self._found():
            lesson = one.lesson
            if not lesson.claim_id and not (at_rest and len(drafts) == REST_MAX):
                try:
                    draft = self._draft(stated, lesson, drafts)
                except (BadInput, NoSuchPage, RecordGone):
                    continue  # its results are no evidence any more
                if at_rest:  # by a tool, with a cause: so `undo.py` knows that nobody asked for it
                    draft = replace(draft, cause=one.seq, actor=Actor.TOOL)
                drafts.append(draft)
                lesson = replace(lesson, claim_id=page_id_of(draft))
            told.append(lesson)
        return drafts, tuple(told)

    def _draft(self, stated: StatedClaims, lesson: Lesson, before: Sequence[Draft]) -> Draft:
        claim = stated.claim(
            Stated(
                value=lesson.value,
                evidence=lesson.evidence,
                kind=ClaimType(lesson.kind),
                subject="",
                replaces=PageId(""),
                origin=_CHANNEL,
                key="",
            )
        )
        return stated.draft(ClaimEntry(claim), _CHANNEL, "", before=before)

    def _found(self) -> list[_Found]:
        """The lessons of a session, oldest first, with the claims that already say so."""
        owned = self._owned
        row = owned.runtime.index.session(owned.session)
        found = find_events(owned.runtime, [row] if row else [], WorkFilter(), _EVENTS)
        events = [one for one in reversed(found) if not one.withdrawn]
        known = {
            (held.type, value_key(held.value)): held.claim_id
            for held in self._claims.book(owned.state)
        }
        told: dict[tuple[str, str], _Found] = {}
        for one in sorted(
            [*self._recovered(events), *self._tasks(events)], key=lambda one: one.seq
        ):
            key = one.lesson.kind, value_key(one.lesson.value)
            claim_id = known.get((ClaimType(key[0]), key[1]), PageId(""))
            told.setdefault(key, replace(one, lesson=replace(one.lesson, claim_id=claim_id)))
        return list(told.values())

    def _recovered(self, events: Sequence[WorkEvent]) -> Iterator[_Found]:
        for failed, passed, changed in _recovered(events):
            spans = [self._span(one.result_id or one.page_id) for one in (failed, passed)]
            if all(spans):
                evidence = tuple(span for span in spans if span is not None)
                yield _Found(Lesson(value=_value(passed, changed), evidence=evidence), passed.seq)

    def _tasks(self, events: Sequence[WorkEvent]) -> Iterator[_Found]:
        book = self._claims.book(self._owned.state)
        merged = book.merged()
        went_well = [one for one in events if _is_run(one) and not _has_failed(one)]
        for held in book.standing():
            ended = book.rulings(held.claim_id, RulingKind.ENDED)
            if held.type is not ClaimType.TASK or not ended:
                continue
            states = [*book.versions(held.claim_id), *merged.get(held.claim_id, ())]
            pages = {page for state in states for page in state.pages}
            on = [one for one in went_well if (one.result_id or one.page_id) in pages][-_RESULTS:]
            spans = filter(None, (self._span(one.result_id or one.page_id) for one in on))
            if evidence := tuple(spans):
                names = ", ".join(dict.fromkeys(f"`{_name(one)}`" for one in on))
                value = f"{_cut(held.value, _TASK_CHARS)}: done, with {names}."
                kind = str(ClaimType.PROCEDURE)
                yield _Found(Lesson(value=value, evidence=evidence, kind=kind), ended[-1].seq)

    def _span(self, page_id: PageId) -> Evidence | None:
        row = self._owned.state.find_row(page_id)
        body = None if row is None else self._owned.runtime.log.get(row.seq).body
        if not isinstance(body, PageBody) or not body.text.strip():
            return None
        end = len(body.text.encode()[:_QUOTED_BYTES].decode(errors="ignore").encode())
        return Evidence(page_id=page_id, start=0, end=end)


def _recovered(events: Sequence[WorkEvent]) -> Iterator[tuple[WorkEvent, WorkEvent, list[str]]]:
    """Failures with the next success of the same command, and the files changed in between."""
    open_: dict[tuple[object, ...], tuple[WorkEvent, list[str]]] = {}
    for event in events:
        if event.event_type is EventType.FILE_CHANGE:
            for _, paths in open_.values():
                paths.append(event.path)
        elif _is_run(event):
            run = (event.event_type, event.argv, event.script, event.runner)
            if _has_failed(event):
                open_.setdefault(run, (event, []))
            elif run in open_:
                failed, paths = open_.pop(run)
                yield failed, event, list(dict.fromkeys(filter(None, paths)))


def _is_run(event: WorkEvent) -> bool:
    return event.is_over and event.event_type in (EventType.COMMAND_RUN, EventType.TEST_RESULT)


def _has_failed(event: WorkEvent) -> bool:
    return bool(event.failed or event.tests_failed or event.exit_code)


def _value(passed: WorkEvent, changed: Sequence[str]) -> str:
    name = _name(passed)
    if not changed:
        return f"`{name}` failed, and passed later with no change of a file in between."
    more = f" and {len(changed) - _PATHS} more" if len(changed) > _PATHS else ""
    return f"`{name}` failed, and passed after changes of {', '.join(changed[:_PATHS])}{more}."


def _name(run: WorkEvent) -> str:
    said = run.script or " ".join(run.argv) or f"{run.runner} tests"
    return _cut(" ".join(said.split()), _COMMAND_CHARS)


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"
