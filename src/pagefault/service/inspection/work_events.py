"""Typed events of work, a fold of the log: what clients' calls did, and what a host recorded with
`Session.record_event`.

Nothing is written for a call: `activity/` parses it and its result from the log on demand. So old
imports have events too, a better parser finds more in them, redacted text stays redacted, and
events are forgotten with their pages. The price is that a query reads the calls and results of the
sessions searched; for a file, a command or tests it reads only those whose line in the log may
match (`_Sieve`).

Withdrawn pages are not believed: for a call that was withdrawn, or whose result was, the event says
only that it was made (`withdrawn`), not its outcome; and there is no test run.

That a run of tests passed one test is known in three ways, named in `how`: the runner `named` it;
the command `selected` it, or its container, and nothing in it failed; or the command ran the
`whole` suite, of a runner that names the test elsewhere, and no unnamed test failed. The last two
are inferences: a test that was skipped, or did not exist yet, counts as passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, assert_never

from pagefault.activity.calls import command_of, deeds, members
from pagefault.activity.outcomes import may_tell, named_in, runs_in
from pagefault.activity.shell import argv_of, may_run_tests, only_reads, selected
from pagefault.activity.values import (
    Change,
    CommandRun,
    Deed,
    FileChange,
    TestRun,
    json_object,
    whole_number,
)
from pagefault.model.errors import ArchiveMissing, CallerError, StoreCorrupt, StoreError
from pagefault.model.events import Called, Event, OriginalBody, Received, Returned, Said
from pagefault.model.ids import PageId, Seq, SessionNo
from pagefault.model.kinds import EventType, Origin
from pagefault.model.page import SessionRow
from pagefault.model.times import iso_ms
from pagefault.service.inspection.received import client_json
from pagefault.service.runtime import Runtime

STATED: Final = (
    EventType.COMMAND_RUN,
    EventType.FILE_CHANGE,
    EventType.TEST_RESULT,
    EventType.COMMAND_INTENT,
    EventType.VOICE_TRANSCRIPT,
)
ID_CHARS_MIN: Final = 16  # of a call's id, to be unique among all
CUT_CHARS_MIN: Final = 1_000  # a shorter call was not cut
_CALLED: Final = str(EventType.TOOL_CALL)
_RETURNED: Final = str(EventType.TOOL_RESULT)
_TYPES: Final = (*map(str, STATED), _CALLED, _RETURNED)
_CALL_ID: Final = b'"call_id":"'  # in a line, where the quotes of its text are escaped
_PARTS: Final = b'"parts":'
_COLOUR: Final = b"u001b"
_UNESCAPED: Final = re.compile(r"[A-Za-z0-9_.-]+")
_AIDER: Final = "import:aider:"
_TYPED: Final = re.compile(r"(?:/(?:run|test) |!)(.+)")
_CALL: Final = re.compile(r"\[calls ([^\]]*)\] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEvent:
    """One event, parsed or recorded. `event_type` decides which fields are set.

    `page_id` is that of the call, or of the page that states it, and `result_id` that of its
    result. `origin` is the source: a command's outcome is whatever the command printed. `withdrawn`
    means that a person withdrew its page: then the outcome is omitted. `exit_code` and
    `duration_ms` are None if unknown; `failed` means that the result shows a failure, `is_over`
    that there is a result. `hash` is of a file's whole content, if known; it is keyed with the
    memory's secret, and the same for the same content in one memory.
    """

    event_type: EventType
    session_id: str
    session: str  # its name
    page_id: PageId
    seq: Seq
    at_ms: int
    origin: Origin
    result_id: PageId = PageId("")
    is_over: bool = True
    withdrawn: bool = False
    failed: bool = False
    argv: tuple[str, ...] = ()
    script: str = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    path: str = ""
    change: str = ""  # written, edited or deleted
    hash: str = ""
    runner: str = ""
    tests_passed: int = 0
    tests_failed: int = 0
    tests_skipped: int = 0
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    text: str = ""  # of what was intended or spoken
    outcome: str = ""  # of the test in the query: passed or failed
    how: str = ""  # how that is known: named, selected or whole


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFilter:
    """A filter for events; None matches any. Times are milliseconds."""

    event_type: str = ""
    path: str = ""
    command: str = ""
    test: str = ""
    outcome: str = ""
    after_ms: int | None = None
    before_ms: int | None = None


@dataclass(slots=True)
class _Text:
    """A text of several pages, joined."""

    event: Event
    body: OriginalBody
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def at_ms(self) -> int:
        told = iso_ms(self.body.occurred_at)
        return self.event.at_ms if told is None else told


def find_events(
    runtime: Runtime, rows: Iterable[SessionRow], asked: WorkFilter, limit: int
) -> list[WorkEvent]:
    """The newest events of these sessions that pass a filter, newest first. Blocks on the store."""
    broad = replace(asked, outcome="", after_ms=None, before_ms=None) if asked.test else asked
    seen = set[tuple[str, str, str]]()
    oldest = sorted(rows, key=lambda row: row.session)
    found = [one for row in oldest for one in _of_session(runtime, row, broad, seen)]
    if asked.test:
        known = {one.runner for one in found if one.how == "named"}
        real = (one for one in found if one.how != "whole" or one.runner in known)
        bounds = replace(asked, test="", outcome="")
        found = [
            one
            for one in real
            if asked.outcome in ("", one.outcome) and _wanted(one, bounds) is not None
        ]
    found.sort(key=lambda one: (one.at_ms, one.seq), reverse=True)
    return found[: max(limit, 0)]


def _of_session(
    runtime: Runtime, row: SessionRow, asked: WorkFilter, seen: set[tuple[str, str, str]]
) -> Iterator[WorkEvent]:
    """The events of a session, without those of calls `seen` in another: a client that forks a
    conversation sends all of it again, and a proxied one may be imported, too.
    """
    is_aiders = row.name.startswith(_AIDER)
    sieve = _Sieve(runtime, row.session, asked)
    told_of = sieve.all_of(EventType.CHAT_TURN) if is_aiders else sieve.worth_reading()
    texts = _texts(runtime, told_of)
    results = {
        one.body.call_id: one
        for one in texts
        if isinstance(one.body, Returned) and one.body.call_id
    }
    whole = _WholeCalls(runtime, row.session)
    tests = not (asked.path or asked.command) and asked.event_type in ("", EventType.TEST_RESULT)
    is_withdrawn = runtime.quarantine.is_withdrawn_at
    for place, one in enumerate(texts):
        body = one.body
        if isinstance(body, Called):
            result = results.get(body.call_id)
            if len(body.call_id) >= ID_CHARS_MIN:
                what = (body.call_id, one.text, "" if result is None else result.text)
                if what in seen:
                    continue
                seen.add(what)
            is_gone = is_withdrawn(one.event.seq) or (
                result is not None and is_withdrawn(result.event.seq)
            )
            found = _called(runtime, row, one, result, whole, tests=tests, is_gone=is_gone)
        elif isinstance(body, Said) and body.event_type in STATED:
            found = _stated(row, one, body.event_type)
        elif isinstance(body, Said) and is_aiders:
            found = _typed(row, one, texts[place + 1 : place + 2])
        else:
            continue
        if not isinstance(body, Called) and is_withdrawn(one.event.seq):
            found = (_as_withdrawn(event) for event in found)
        for event in found:
            wanted = _wanted(event, asked)
            if wanted is not None:
                yield wanted


class _Sieve:
    """The records of a session that may match a query.

    A call is matched by its line in the log, unparsed: the query's words occur there in characters
    (letters, digits, points, lines and dashes) that no JSON writer escapes; a test run by its
    result's line (`may_tell`). A call comes with its result. Lines that cannot decide are read: a
    text of several parts, and a call of which a proxy's client sent more than its page holds.
    """

    def __init__(self, runtime: Runtime, session: SessionNo, asked: WorkFilter) -> None:
        self._runtime = runtime
        self._session = session
        words = f"{asked.path} {asked.command}"
        self._marks = [one.encode() for one in _UNESCAPED.findall(words)]
        self._test = asked.test
        self._names = [one.encode() for one in _UNESCAPED.findall(asked.test.replace(".", " "))]
        self._only_runs = bool(asked.test or asked.outcome) or (
            asked.event_type == EventType.TEST_RESULT
        )

    def all_of(self, *more: EventType) -> Sequence[Seq]:
        """Every record of an event, of these types."""
        types = (*_TYPES, *map(str, more))
        return self._runtime.index.events(self._session, types=types)

    def worth_reading(self) -> Sequence[Seq]:
        if not (self._marks or self._only_runs):
            return self.all_of()
        events = self._runtime.index.events
        calls = frozenset(events(self._session, types=(_CALLED,)))
        is_proxied = bool(events(self._session, types=("received",)))
        seqs = sorted([*calls, *events(self._session, types=(_RETURNED,))])
        call_of, runs = dict[Seq, bytes](), set[bytes]()
        wanted, named = set[bytes](), set[bytes]()
        for seq, line in self._runtime.log.lines(seqs):
            if not line:
                return self.all_of()  # this log has no lines, or it is damaged
            begin = line.rfind(_CALL_ID) + len(_CALL_ID)
            call = call_of[seq] = line[begin : line.find(b'"', begin)]
            is_long = _PARTS in line or (is_proxied and len(line) >= CUT_CHARS_MIN)
            if not self._only_runs:
                if seq in calls and (is_long or all(mark in line for mark in self._marks)):
                    wanted.add(call)
            elif seq in calls:
                if is_long:
                    named.add(call)
                if is_long or not self._test or may_run_tests(line):
                    runs.add(call)
            else:
                is_named = all(name in line for name in self._names)
                is_named = is_named or is_long or _COLOUR in line  # which may be within a name
                if (is_named or call in runs) and (is_long or may_tell(line)):
                    wanted.add(call)
                    named |= {call} if is_named else set()
        if self._test:
            asked = [one for one in calls if call_of[one] in wanted - named]
            wanted &= named.union(call_of[one] for one in asked if self._runs_it(one))
        stated = events(self._session, types=[*map(str, STATED)])
        return sorted([*stated, *(seq for seq, call in call_of.items() if call in wanted)])

    def _runs_it(self, call: Seq) -> bool:
        """Whether a command ran the test of the query, or all, whatever its result names."""
        with suppress(ArchiveMissing, StoreCorrupt):
            body = self._runtime.log.get(call).body
            return isinstance(body, Called) and bool(
                selected(command_of(_CALL.sub("", body.text, count=1)), self._test)
            )
        return True


def _texts(runtime: Runtime, seqs: Iterable[Seq]) -> list[_Text]:
    texts: list[_Text] = []
    firsts: dict[PageId, _Text] = {}
    for seq in seqs:
        try:
            event = runtime.log.get(seq)
        except (ArchiveMissing, StoreCorrupt):
            continue
        body = event.body
        if not isinstance(body, OriginalBody):
            continue
        if body.part:
            with suppress(KeyError):
                firsts[body.part_of].parts.append(body.text)
            continue
        one = _Text(event, body, [body.text])
        firsts[body.page_id] = one
        texts.append(one)
    return texts


# --- parsing --------------------------------------------------------------------------------------


class _WholeCalls:
    """Calls as a proxy's client sent them: the page of a long one holds only its beginning."""

    def __init__(self, runtime: Runtime, session: SessionNo) -> None:
        self._runtime = runtime
        self._session = session
        self._messages: dict[PageId, Seq] | None = None  # by the pages of their items

    def arguments(self, call: _Text) -> str:
        """The arguments of a call, "" if no message has them."""
        if self._messages is None:
            self._messages = {}
            for event in self._runtime.events_of(self._session, ("received",)):
                if isinstance(event.body, Received):
                    pages = (one.page_id for one in event.body.items if one.page_id)
                    self._messages |= dict.fromkeys(pages, event.seq)
        seq = self._messages.get(call.body.page_id)
        if seq is None or not isinstance(call.body, Called):
            return ""
        with suppress(StoreError, CallerError, ValueError, RecursionError):
            scope = self._runtime.scope(self._session)
            message = json.loads(client_json(self._runtime, scope, seq))
            return next(_arguments(message, call.body.call_id), "")
        return ""


def _arguments(value: Any, call_id: str) -> Iterator[str]:
    """The arguments of the call with this id, in a message of any wire format."""
    match value:
        case list():
            for one in value:
                yield from _arguments(one, call_id)
        case dict():
            if call_id in (value.get("id"), value.get("call_id")):
                function = value.get("function")
                told: dict[str, Any] = function if isinstance(function, dict) else value
                for name in ("input", "arguments"):
                    given = told.get(name)
                    if isinstance(given, (dict, str)):
                        yield given if isinstance(given, str) else json.dumps(given)
            for one in value.values():
                yield from _arguments(one, call_id)
        case _:
            pass


def _called(
    runtime: Runtime,
    row: SessionRow,
    call: _Text,
    result: _Text | None,
    whole: _WholeCalls,
    *,
    tests: bool,
    is_gone: bool = False,
) -> Iterator[WorkEvent]:
    """What a call did; for a call that was withdrawn, or whose result was, what it was to do."""
    text, name = call.text, call.body.title
    if (named := _CALL.match(text)) is not None:
        text, name = text[named.end() :], name or named[1]
    if len(text) >= CUT_CHARS_MIN and not members(text)[1]:
        text = whole.arguments(call) or text
    is_error = isinstance(result, _Text) and getattr(result.body, "is_error", False)
    base = replace(_base(row, call, result), withdrawn=is_gone)
    told = None if result is None or is_gone else result.text
    for deed in deeds(name, text, told, is_error=is_error and not is_gone, tests=tests):
        if isinstance(deed, CommandRun):  # comes first: what follows belongs to it
            base = replace(base, argv=deed.argv, script=deed.script)
        yield _event(base, deed, runtime)


def _as_withdrawn(event: WorkEvent) -> WorkEvent:
    """A recorded event without its outcome."""
    if event.event_type is EventType.TEST_RESULT:
        event = replace(event, tests_passed=0, tests_failed=0, tests_skipped=0)
        event = replace(event, failing=(), passing=())
    return replace(event, withdrawn=True, failed=False, exit_code=None, duration_ms=None)


def _typed(row: SessionRow, said: _Text, after: Sequence[_Text]) -> Iterator[WorkEvent]:
    """A command that somebody ran with aider, and its output."""
    command = _TYPED.fullmatch(said.text.strip())
    if command is None:
        return
    answer = next((one for one in after if one.body.speaker == "aider"), None)
    base, script = _base(row, said, answer), command[1].strip()
    yield _event(base, CommandRun(argv=argv_of(script), script=script), None)
    if answer is not None and not only_reads(script):
        for run in runs_in(answer.text):
            yield _event(replace(base, argv=argv_of(script), script=script), run, None)


def _stated(row: SessionRow, one: _Text, event_type: EventType) -> Iterator[WorkEvent]:
    """An event of `Session.record_event`: JSON facts on the first line, and a text."""
    base = replace(_base(row, one, None), event_type=event_type, is_over=True)
    if event_type in (EventType.COMMAND_INTENT, EventType.VOICE_TRANSCRIPT):
        yield replace(base, text=one.text)
        return
    first, _, rest = one.text.partition("\n")
    facts = json_object(first)
    if not facts:
        first, rest = "", one.text
    code, took = whole_number(facts.get("exit_code")), whole_number(facts.get("duration_ms"))
    argv = _strings(facts.get("argv"))
    script = str(facts.get("script") or " ".join(argv))
    known = replace(base, argv=argv, script=script)
    match event_type:
        case EventType.COMMAND_RUN:
            failed = bool(code)
            yield replace(known, exit_code=code, duration_ms=took, failed=failed)
            for run in runs_in(rest):
                yield _event(known, run, None)
        case EventType.FILE_CHANGE:
            path, change = facts.get("path"), facts.get("change")
            if isinstance(path, str):
                told = str(facts.get("hash") or "")
                yield replace(base, path=path, change=str(change or Change.EDITED), hash=told)
        case _:
            failing, passing = _strings(facts.get("failing")), _strings(facts.get("passing"))
            if facts:
                run = TestRun(
                    runner=str(facts.get("runner") or ""),
                    passed=whole_number(facts.get("passed")) or len(passing),
                    failed=whole_number(facts.get("failed")) or len(failing),
                    skipped=whole_number(facts.get("skipped")) or 0,
                    failing=failing,
                    passing=passing,
                    duration_ms=took,
                )
                yield _event(known, run, None)
            for run in () if facts else runs_in(rest):
                yield _event(known, run, None)


def _base(row: SessionRow, one: _Text, result: _Text | None) -> WorkEvent:
    """The fields common to all events of a call; the type is set with what it did."""
    return WorkEvent(
        event_type=EventType.COMMAND_RUN,
        session_id=row.session_id,
        session=row.name,
        page_id=one.body.page_id,
        seq=one.event.seq,
        at_ms=one.at_ms,
        origin=one.event.origin if result is None else result.event.origin,
        result_id=PageId("") if result is None else result.body.page_id,
        is_over=result is not None,
    )


def _event(base: WorkEvent, deed: Deed, runtime: Runtime | None) -> WorkEvent:
    match deed:
        case CommandRun():
            return replace(
                base,
                event_type=EventType.COMMAND_RUN,
                argv=deed.argv,
                script=deed.script,
                exit_code=deed.exit_code,
                duration_ms=deed.duration_ms,
                failed=deed.failed,
            )
        case FileChange():
            told = "" if runtime is None or deed.content is None else hash_of(runtime, deed.content)
            return replace(
                base,
                event_type=EventType.FILE_CHANGE,
                path=deed.path,
                change=str(deed.change),
                hash=told,
                failed=deed.failed,
            )
        case TestRun():
            return replace(
                base,
                event_type=EventType.TEST_RESULT,
                runner=deed.runner,
                tests_passed=deed.passed,
                tests_failed=deed.failed,
                tests_skipped=deed.skipped,
                failing=deed.failing,
                passing=deed.passing,
                duration_ms=deed.duration_ms,
                failed=bool(deed.failed),
            )
        case undecided:
            assert_never(undecided)


def hash_of(runtime: Runtime, content: str) -> str:
    """A keyed hash of a file's content."""
    return runtime.hash_key(SessionNo(0), f"file {content}")


# --- filters --------------------------------------------------------------------------------------


def _wanted(event: WorkEvent, asked: WorkFilter) -> WorkEvent | None:
    if asked.event_type and event.event_type != asked.event_type:
        return None
    if asked.after_ms is not None and event.at_ms < asked.after_ms:
        return None
    if asked.before_ms is not None and event.at_ms >= asked.before_ms:
        return None
    if asked.path and not _is_at(event.path, asked.path):
        return None
    if asked.command and not _says(event, asked.command):
        return None
    if event.withdrawn and (asked.test or asked.outcome):
        return None
    if asked.test:
        event = _of_test(event, asked.test)
        if not event.outcome or (asked.outcome and event.outcome != asked.outcome):
            return None
    elif asked.outcome:
        is_run = event.event_type is EventType.TEST_RESULT
        if not is_run or event.failed is (asked.outcome == "passed"):
            return None
    return event


def _is_at(path: str, wanted: str) -> bool:
    """Whether a path is the given one, whole or by its end, or below a folder."""
    if wanted.endswith("/"):
        return path.startswith(wanted) or f"/{wanted}" in path
    return path == wanted or path.endswith(f"/{wanted}")


def _says(event: WorkEvent, words: str) -> bool:
    told = event.script if event.event_type is EventType.COMMAND_RUN else ""
    told = event.text if event.event_type is EventType.COMMAND_INTENT else told
    return " ".join(words.split()) in " ".join(told.split())


def _of_test(event: WorkEvent, test: str) -> WorkEvent:
    """The event, with its outcome for one test."""
    if event.event_type is not EventType.TEST_RESULT:
        return event
    if any(named_in(test, event.failing)):
        return replace(event, outcome="failed", how="named")
    if any(named_in(test, event.passing)):
        return replace(event, outcome="passed", how="named")
    if event.tests_failed > len(event.failing) or not event.tests_passed:
        return event  # the unnamed one may be this one
    how = selected(event.script, test) if event.script else ""
    return replace(event, outcome="passed", how=how) if how else event


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
