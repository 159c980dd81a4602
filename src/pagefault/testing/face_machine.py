"""A state machine for the public face: every verb, with all kinds of values, in any order.

It finds the verbs and their parameters by inspecting `Memory` and `Session`. Values for a parameter
come from `VALUES`, by name; a missing name fails the machine, so that no verb is left out. Half of
the calls get an invalid value: they must raise an error of ours, change nothing and lose nothing.
Now and then the memory is reopened, its index rebuilt, everything verified, and all that was said
read back.

Run it with `hypothesis.stateful.run_state_machine_as_test(FaceMachine)`.
"""

from __future__ import annotations

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pagefault.activity.commits import Commit
from pagefault.engine.scripted import ScriptedEngine
from pagefault.model.clock import SystemClock
from pagefault.model.errors import CallerError, PagefaultError, SessionNotFound
from pagefault.model.events import RetentionRule
from pagefault.model.ids import IdMinter
from pagefault.model.kinds import ORIGINS, EventType, Modality, Role, Source
from pagefault.model.page import CardFacts, Evidence, FileQuote, Quote
from pagefault.model.request import ToolCall, ToolSpec, Usage
from pagefault.model.wanted import ANY, SearchFilter
from pagefault.service.bootstrap import open_memory
from pagefault.service.limits import Limits
from pagefault.service.memory import Memory
from pagefault.service.session import Session
from pagefault.service.turn.drafts import Incoming
from pagefault.store.embedded.root import rebuild
from pagefault.testing.formers import ScriptedFormer

T = TypeVar("T")

WORDS: Final = "we chose postgres in march as the outage was slow #42 and 数据库 ABC-7".split()
TEXTS: Final = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join),
    st.text(max_size=60),
    st.sampled_from(
        ["\0", "a\0b", " ", "\n", "</VM:RULES>", "word " * 900, "msg_1", "_1", "x_" * 40]
    ),
)
NAMES: Final = st.sampled_from(["", "one", "two", "zwei Wörter", "msg_1"])
IDS: Final = st.one_of(
    st.integers(0, 9).map("msg_{}".format),
    st.sampled_from(
        [
            "note_1",
            "core_1",
            "tool_1",
            "art_1",
            "clm_1",
            "sum_1",
            "idx_1",
            "prc_1",
            "",
            "msg_",
            "_1",
            "msg_01",
            "\0",
        ]
    ),
)
COUNTS: Final = st.one_of(st.integers(0, 9), st.sampled_from([-1, 2**31, 2**53 - 1]))
TIMES: Final = st.sampled_from(
    ["", "2026-03-05", "2026-03-05T08:45:00Z", "2026-03-05T08:45", "tomorrowish", "9999-12-31"]
)
MOMENTS: Final = st.one_of(TIMES, st.just(datetime(2026, 3, 2, 8, tzinfo=UTC)))

JUNK: Final = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "\ud800", "x", "", b"x"),
        *((), [], ["x"], {}, {"x": 1}, {1}, object, object(), lambda: None, Path("/"), len),
        *(Role.USER, EventType.SUMMARY, Modality.TEXT, Session, Incoming, 1j, range(3), ...),
    ]
)
"""Values that are valid nowhere, or in a few places."""


CALLED_BACK: Final = {"callback", "on_text", "progress"}
UNCALLED: Final = JUNK.filter(lambda value: not callable(value))
"""A caller's own function may raise anything."""


def _made(cls: Callable[..., T], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[T | None]:
    """Values of a public class with some junk in their fields; None if the class rejects them."""

    def make(given: dict[str, Any]) -> T | None:
        try:
            return cls(**given)
        except CallerError:
            return None

    each = {name: values | JUNK for name, values in fields.items()}
    return st.one_of(
        st.fixed_dictionaries({}, optional=fields).map(make),
        st.fixed_dictionaries({}, optional=each).map(make),
    )


SAID: Final = _made(
    lambda **given: Incoming(**({"text": "said", "role": Role.USER} | given)),
    text=TEXTS,
    role=st.sampled_from([*Role, "user"]),
    event_type=st.sampled_from([*EventType, "chat_turn"]),
    speaker=TEXTS,
    title=TEXTS,
    occurred_at=TIMES,
    call_id=TEXTS,
    importance=st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0]),
    key=st.sampled_from(["", "k1", "k2"]),
    modality=st.sampled_from([*Modality, "smell"]),
    blob=st.sampled_from(["", "0" * 64, "../secret"]),
    source=st.sampled_from([*Source, "git", "gut"]),
    model=TEXTS,
    mime_type=TEXTS,
    size_bytes=COUNTS,
    is_error=st.booleans(),
)
WANTED: Final = _made(
    SearchFilter,
    kinds=st.sampled_from([(), ("transcript",), ["summary", "claim"], ("smell",)]),
    modalities=st.sampled_from([(), ("text",), ("image", "audio")]),
    origins=st.sampled_from([(), ("user_typed",), ("tool",), ("tool:x",)]),
    since=MOMENTS,
    until=MOMENTS,
    session=NAMES,
).map(lambda wanted: ANY if wanted is None else wanted)
CALLS: Final = _made(
    lambda **given: ToolCall(**({"call_id": "c1", "name": "page_fault", "arguments": ""} | given)),
    call_id=TEXTS,
    name=st.sampled_from(["page_fault", "search_pages", "get_time", ""]),
    arguments=st.one_of(
        st.builds(lambda page, level: {"page_id": page, "target_level": level}, IDS, COUNTS),
        st.builds(lambda query: {"query": query}, TEXTS),
        TEXTS,
    ),
)

GRANTS: Final = st.none() | st.lists(
    st.sampled_from(["owner", "anyone", "user:ann", "project:red", "session:one", "user:", "them"]),
    max_size=2,
)
"""Grantees of a region's permissions."""

TOOLS: Final[list[Any]] = [
    ToolSpec("clock", "Tells the time", {"type": "object"}),
    ToolSpec("", "", {}),
    {"name": "maps", "description": "Ways", "input_schema": {"type": "object"}},
    {"type": "function", "function": {"name": "sql", "parameters": {}}},
    {"type": "web_search"},
]

VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "actor": st.sampled_from(["", "user", "model", "nobody"]),
    "after": COUNTS,
    "approve": st.booleans(),
    "area": st.sampled_from(["", "personal", "task", "both"]),
    "at": MOMENTS | st.integers(),
    "at_level": COUNTS,
    "auto_promote": st.booleans() | st.none(),
    "before": COUNTS,
    "budget": COUNTS,
    "call": CALLS,
    "command": st.sampled_from(["", "pytest", "ls -l", "\0"]),
    "call_id": TEXTS,
    "calls_max": COUNTS,
    "calls": st.lists(CALLS.filter(lambda call: call is not None), max_size=3),
    "callback": st.just(lambda *_: None),
    "by": st.sampled_from(["", "ann", "nobody", "session", "day", "model"]),
    "checkpoint": NAMES | st.none(),
    "columns": COUNTS,
    "claim_ids": st.lists(st.sampled_from(["clm_1", "clm_2", "clm_3", "msg_1", "\0"]), max_size=3),
    "claim_id": st.sampled_from(["clm_1", "clm_2", "clm_3", "clm_9", "msg_1", "", "\0"]),
    "commits": st.lists(
        st.builds(
            Commit,
            sha=st.sampled_from(["1a2b3c4d5e6f", "x"]),
            at_ms=COUNTS,
            subject=TEXTS.filter(str.isprintable),
            files=st.lists(st.sampled_from([("edited", "a.py"), ("written", "b")]), max_size=2),
        ),
        max_size=2,
    ),
    "consent": st.sampled_from([None, "never", "write", "always", "perhaps"]),
    "control": st.sampled_from([None, "assist", "capture_only", "paused", "off", "loud"]),
    "count": COUNTS,
    "create": st.booleans(),
    "data": st.sampled_from([b"", b"x", bytearray(b"y"), memoryview(b"z"), b"x" * 4_000]),
    "derived_from": st.lists(st.sampled_from(["clm_1", "clm_2", "msg_1", ""]), max_size=2),
    "details": st.booleans(),
    "digest": st.sampled_from(["", "0" * 16, "x"]),
    "dry_run": st.booleans(),
    "end": MOMENTS | st.integers() | st.none(),
    "engine": st.builds(ScriptedEngine),
    "event_type": st.sampled_from(["", *EventType, "sneezed"]),
    "evidence": st.lists(
        st.one_of(
            TEXTS,
            st.builds(Quote, TEXTS, IDS),
            st.builds(Evidence, page_id=IDS, start=COUNTS, end=COUNTS),
            st.builds(FileQuote, TEXTS, st.sampled_from(["", "nowhere", "../x", "\0"])),
        ),
        max_size=3,
    ),
    "facts": st.none()
    | st.dictionaries(
        st.sampled_from(["argv", "exit_code", "path", "content", "failing", "passed", "x"]),
        st.sampled_from(["a", ["pytest"], 1, -1, None]),
        max_size=3,
    )
    | st.builds(CardFacts, branch=TEXTS, owner=TEXTS, decay_days=COUNTS, max_age_days=COUNTS),
    "form": st.sampled_from(["snapshot", "events", "markdown", "csv"]),
    "former": st.sampled_from([None, ScriptedFormer(lambda given: [])]),
    "format": st.sampled_from([None, "openai", "openai-responses", "anthropic", "gemini", "morse"]),
    "item_id": IDS,
    "item_ids": st.lists(IDS, max_size=3),
    "items": st.lists(SAID.filter(lambda said: said is not None), max_size=3),
    "home_paths": st.booleans(),
    "is_error": st.booleans(),
    "keep": st.sampled_from([None, "30d", "forever", "a while", ""]),
    "key": st.sampled_from(["", "k1", "k2", "k" * 5_000]),
    "kind": st.sampled_from(["decision", "fact", "task", "gotcha", "rule", "goal", "x"]),
    "kinds": st.lists(st.sampled_from(["decision", "fact", "goal", "x"]), max_size=2),
    "layout": st.sampled_from([None, "stable", "developer", "upside down"]),
    "level": COUNTS,
    "limit": COUNTS,
    "media_type": st.sampled_from(["", "image/png", "text/plain", "audio", "?/?"]),
    "message_seq": COUNTS,
    "metadata": st.none() | st.sampled_from([{}, {"a": [1]}, {"a": object()}, {"x": "y" * 5_000}]),
    "min_relevance": st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    "mode": st.sampled_from(
        [
            *(None, "passive", "active", "strict", "lazy", "assist", "capture_only", "paused"),
            *("off", "ro", "rw", "none"),
        ]
    ),
    "model": TEXTS,
    "name": NAMES,
    "new": TEXTS,
    "newest_first": st.booleans(),
    "occurred_at": MOMENTS,
    "old": st.sampled_from(["", "we", "postgres"]),
    "on_text": st.just(lambda _: None) | st.none(),
    "origin": st.sampled_from([*ORIGINS, "tool:x", "tool:", "elsewhere"]),
    "other": st.sampled_from(["clm_1", "clm_2", "msg_1", ""]),
    "owner": st.sampled_from([None, "", "ann", "x" * 9_000]),
    "pack_type": st.sampled_from(["", "boot", "task", "handoff", "synopsis", "digest", "sonnet"]),
    "page_id": IDS,
    "outcome": st.sampled_from(["", "passed", "failed", "unsure"]),
    "page_ids": st.lists(IDS, max_size=3),
    "path": st.sampled_from(["", "a.py", "src/", "\0"]),
    "paths": st.lists(st.sampled_from(["", "\0", "nowhere", "x" * 300]), max_size=2),
    "per_million": st.none()
    | st.dictionaries(st.sampled_from(["", "gpt-5"]), st.sampled_from([0.0, 1.25, -1.0])),
    "per_turn": st.booleans(),
    "profile": st.sampled_from(["", "measured", "studio-v1", "guessed"]),
    "project": st.sampled_from([None, "", "red"]),
    "promote": GRANTS,
    "proposed": st.booleans(),
    "progress": st.just(lambda _done, _total: None) | st.none(),
    "prune": st.booleans(),
    "query": TEXTS,
    "read": GRANTS,
    "region": st.sampled_from(["", "one", "zwei Wörter", "region:one", "nowhere", "\0"]),
    "replaces": st.sampled_from(["", "note_1", "clm_1", "clm_2", "msg_1", "\0"]),
    "request": COUNTS | st.none(),
    "rest": st.booleans(),
    "result": st.sampled_from([None, "12:00", {"t": [1]}, b"x", [], 7, object(), float("nan")]),
    "root": st.sampled_from(["", "nowhere", "\0"]),
    "rules": st.lists(st.builds(RetentionRule, days=st.integers(0, 99)), max_size=2) | st.none(),
    "run": st.sampled_from(["", "1", "nobody's"]),
    "said": TEXTS,
    "scope": st.sampled_from(["project", "user", "global", "galaxy"]),
    "rows": COUNTS,
    "section": st.sampled_from(["human", "persona", "", "x" * 50, "\0"]),
    "seq": COUNTS | st.none(),
    "sessions": st.none() | st.lists(NAMES, max_size=2),
    "since": MOMENTS,
    "source": st.sampled_from([*Source, "docs", "dogs"]),
    "speaker": TEXTS,
    "subject": st.sampled_from(["", "database", "the DB", "x" * 2_000, "\0"]),
    "start": MOMENTS | st.integers() | st.none(),
    "system": TEXTS | st.none(),
    "target": st.sampled_from(["", "\0", "x" * 300]),  # of a backup: no folder can be made there
    "task": st.sampled_from(["", "#42", "42", "ABC-7", "\0"]),
    "test": st.sampled_from(["", "test_a", "::", "\0"]),
    "text": TEXTS,
    "time": MOMENTS | st.integers() | st.none(),
    "title": TEXTS,
    "timeout_s": st.sampled_from([0.0, 1.0, -1.0]),
    "tokens": COUNTS | st.none(),
    "tools": st.none() | st.lists(st.sampled_from(TOOLS), max_size=3),
    "topic": st.sampled_from(["", "postgres", "outage", "\0"]),
    "turn": COUNTS | st.none(),
    "type": st.sampled_from(["", "fact", "context", "x"]),
    "types": st.lists(st.sampled_from(["fact", "message", "x"]), max_size=2),
    "unproved": st.booleans(),
    "until": MOMENTS,
    "usage": _made(
        lambda **given: Usage(**({"input_tokens": 9, "output_tokens": 1} | given)),
        input_tokens=COUNTS,
        output_tokens=COUNTS,
        cached_tokens=COUNTS | st.none(),
        cache_write_tokens=COUNTS,
    ),
    "user": st.sampled_from([None, "", "ann"]),
    "value": TEXTS,
    "values": st.lists(st.sampled_from(["", "short", "said by nobody", "\0" * 9]), max_size=2),
    "verdict": st.sampled_from(["", "pass", "fail", "unknown", "perhaps"]),
    "wanted": WANTED,
    "words": TEXTS,
    "window": st.sampled_from([None, 0, 1, 300, 1_500, 4_000, 2**52]),
    "write": GRANTS,
}
"""Values for each parameter name: mostly valid, some invalid."""

NOT_CALLED: Final = {
    *("close", "check", "no_such_page"),
    *("find_said", "keyed", "passed_on", "session_names", "written"),
}
"""Verbs that the machine calls itself, that only make an error, or that are the proxy's alone."""


def verbs() -> list[tuple[type, str]]:
    """Every public verb: its class and its name."""
    return [
        (cls, name)
        for cls in (Memory, Session)
        for name, _ in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in NOT_CALLED
    ]


def unknown_parameters() -> set[str]:
    """Parameters of public verbs that `VALUES` lacks."""
    named = {name for cls, verb in verbs() for name in _parameters(cls, verb)}
    return named - {"session", "row", *VALUES}


def _parameters(cls: type, verb: str) -> dict[str, inspect.Parameter]:
    told = dict(inspect.signature(getattr(cls, verb)).parameters)
    del told["self"]
    return told


class FaceMachine(RuleBasedStateMachine):
    """Sessions of one root, and the texts said in each, by page id."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="pagefault-face-")
        self._root = Path(self._folder.name) / "memory"
        self._loop = asyncio.new_event_loop()
        self._said: dict[str, dict[str, str]] = {}
        self._memory: Memory
        self._gone: list[Session] = []  # of a memory that was closed
        self._other = self._enter(":memory:")
        self._stranger = self._do(self._other[1].session("stranger"))
        self._open()

    def _do(self, verb: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(verb)

    def _enter(self, root: str | Path) -> tuple[Any, Memory]:
        limits = Limits(artifact_bytes_max=3_000, loading="contextual")
        opening = open_memory(root, sync="os", window=1_500, limits=limits, lock_wait_s=5.0)
        return opening, self._do(opening.__aenter__())

    def _open(self) -> None:
        self._opening, self._memory = self._enter(self._root)
        self._sessions: dict[str, Session] = {}

    def _close(self) -> None:
        self._gone = list(self._sessions.values())[:2]
        self._do(self._opening.__aexit__(None, None, None))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            self._sessions[name] = self._do(self._memory.session(name))
        return self._sessions[name]

    # --- calls ----------------------------------------------------------------------------------

    @rule(data=st.data(), spoils=st.booleans())
    def call(self, data: st.DataObject, spoils: bool) -> None:
        """Call any verb with valid values, or with one spoilt."""
        cls, verb = data.draw(st.sampled_from(verbs()))
        name = data.draw(st.sampled_from(["one", "two"]))
        target: Any = self._memory if cls is Memory else self._session(name)
        told = _parameters(cls, verb)
        given = {
            p: data.draw(self._values(p), label=p) for p in told if self._is_given(told[p], data)
        }
        if spoils and told:
            spoilt = data.draw(st.sampled_from(sorted(told)), label="spoilt")
            given[spoilt] = data.draw(UNCALLED if spoilt in CALLED_BACK else JUNK, label=spoilt)
        result = self._attempt(target, verb, given)
        self._remember(cls, verb, name, given, result)

    @rule(data=st.data())
    def call_what_is_closed(self, data: st.DataObject) -> None:
        """A session of a closed memory raises that it is closed, or answers from what it has."""
        if self._gone:
            session = data.draw(st.sampled_from(self._gone))
            verb = data.draw(st.sampled_from([verb for cls, verb in verbs() if cls is Session]))
            told = _parameters(Session, verb)
            given = {p: data.draw(self._values(p)) for p in told if self._is_given(told[p], data)}
            self._attempt(session, verb, given)

    def _values(self, parameter: str) -> st.SearchStrategy[Any]:
        if parameter == "session":
            known = [*self._sessions.values(), *self._gone, self._stranger, "one", "nobody"]
            return st.sampled_from(known)
        if parameter == "row":
            rows: list[Any] = [
                row for s in self._sessions.values() for row in self._do(self._memory.pages(s))
            ]
            return st.sampled_from(rows or [None])
        return VALUES[parameter]

    @staticmethod
    def _is_given(parameter: inspect.Parameter, data: st.DataObject) -> bool:
        return parameter.default is parameter.empty or data.draw(st.booleans())

    def _attempt(self, target: Any, verb: str, given: dict[str, Any]) -> Any:
        """Call it; returns its result, or None on an error of ours, which must give a reason."""
        try:
            result = getattr(target, verb)(**given)
            return self._do(result) if inspect.iscoroutine(result) else result
        except PagefaultError as error:
            if not str(error):
                raise AssertionError(f"{verb} refuses and does not say why") from error
            return None

    def _remember(
        self, cls: type, verb: str, name: str, given: dict[str, Any], result: Any
    ) -> None:
        """Update the model: what was said, and what was forgotten."""
        forgot = result if isinstance(result, tuple) else (result,)
        is_forgetting = cls is Memory and verb in ("forget", "forget_matching", "expire")
        if is_forgetting and any(one is not None and one.done for one in forgot):
            self._sessions = {}
            self._said = {}  # whoever forgot, and from where: the rest is learned again
            for row in self._do(self._memory.sessions()):
                if row.name in ("one", "two"):
                    self._said[row.name] = self._everything(self._session(row.name))
        elif self._session(name).overlay is not None:
            pass  # nothing of it is kept
        elif cls is Session and verb in ("user", "assistant") and result and not given.get("key"):
            self._said.setdefault(name, {})[result] = given["text"]

    def _everything(self, session: Session) -> dict[str, str]:
        rows = self._do(self._memory.pages(session, limit=10_000))
        whole = [row for row in rows if row.parts == 1 and row.origin != "runtime"]
        return {row.page_id: self._do(self._memory.read(row)).text for row in whole}

    # --- the memory -----------------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        self._close()
        self._open()
        self._read_back()

    @rule()
    def build_anew(self) -> None:
        self._close()
        clock = SystemClock()
        rebuilt = rebuild(self._root, clock=clock, minter=IdMinter(clock, _chance()))
        assert (rebuilt.unread, rebuilt.aside) == (0, 0)
        self._open()
        self._read_back()

    @rule()
    def verify(self) -> None:
        found = self._do(self._memory.verify())
        assert (found.problems, found.set_aside) == ((), ())

    def _read_back(self) -> None:
        """Every session opens, accepts a message, and has all that was said in it."""
        for row in self._do(self._memory.sessions()):
            session = self._do(self._memory.session(row.session_id, create=False))
            session.check()
            for verb in ("request", "metrics", "ledger", "claims", "checkpoints", "status"):
                self._attempt(session, verb, {})
            self._do(self._memory.pages(session))
        for name, texts in self._said.items():
            session = self._session(name)
            for page_id, text in texts.items():
                page = self._do(session.page(page_id))
                if page.row.parts == 1:
                    assert page.text == text, (name, page_id)

    @invariant()
    def holds(self) -> None:
        for session in self._sessions.values():
            try:
                session.owned.check_there()
            except SessionNotFound:
                continue
            session.check()

    def teardown(self) -> None:
        try:
            self.verify()
            self.reopen()
            self.build_anew()
        finally:
            self._close()
            self._do(self._other[0].__aexit__(None, None, None))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()
            self._folder.cleanup()


def _chance() -> Any:
    import random

    return random.Random(1)
