"""What children of the nursery do, through the public face: live, and look at what was left.

Each function takes `note`, which sends a line to the parent, and returns what JSON can carry.
"""

from __future__ import annotations

import dis
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final

from tests.faults.script import artifact

Note = Callable[..., None]

WINDOW: Final = 2_000

_MARK: Final = re.compile(r"(\[REDACTED:given\.1):[0-9a-f]{8}\]")  # keyed with the root's secret


def warm() -> None:
    """Load what takes long, and start nothing: this process forks."""
    import pagefault.testing.index_contract  # noqa: F401
    from tests.warm import prepare

    prepare()


# --- living -----------------------------------------------------------------------------------


class Hand:
    """Does steps. The memory is open while verbs of the library follow one another."""

    def __init__(self, root: Path, **options: Any) -> None:
        self._root = root
        self._options = options
        self._open = ExitStack()
        self._memory: Any = None
        self._sessions: dict[str, Any] = {}

    def do(self, verb: str, *arguments: Any) -> Any:
        if verb in COMMANDS:
            self.close()
            return COMMANDS[verb](self._root, *arguments)
        return VERBS[verb](self, *arguments)

    @property
    def memory(self) -> Any:
        if self._memory is None:
            import pagefault

            self._memory = self._open.enter_context(
                pagefault.sync.open(self._root, window=WINDOW, **self._options)
            )
        return self._memory

    def session(self, name: str) -> Any:
        if name not in self._sessions:
            self._sessions[name] = self.memory.session(name)
        return self._sessions[name]

    def page_of(self, session: str, text: str) -> str:
        pages = said_in(self.memory, self.session(session))
        return next(page_id for page_id, there in pages if there == text)

    def close(self) -> None:
        self._memory = None
        self._sessions.clear()
        self._open.close()


def _batch(hand: Hand, session: str, texts: list[str]) -> None:
    from pagefault import Incoming
    from pagefault.model.kinds import USER_TYPED, Role

    hand.session(session).say(
        [Incoming(text=text, role=Role.USER) for text in texts], origin=USER_TYPED
    )


def _forget_session(hand: Hand, session: str) -> None:
    hand.memory.forget(session)
    hand._sessions.pop(session, None)


VERBS: Final[dict[str, Callable[..., Any]]] = {
    "open": lambda hand: hand.memory.notices,
    "session": lambda hand, session: hand.session(session).session_id,
    "say": lambda hand, session, text: hand.session(session).user(text),
    "batch": _batch,
    "artifact": lambda hand, session, text: hand.session(session).artifact(
        artifact(text), name=f"{text.split()[0]}.png", text=text
    ),
    "request": lambda hand, session: hand.session(session).request(format="openai"),
    "recall": lambda hand, session, query: bool(hand.session(session).recall(query)),
    "fork": lambda hand, session, name: hand.session(session).fork(name).session_id,
    "forget_page": lambda hand, session, text: (
        hand.memory.forget(session, hand.page_of(session, text)).records
    ),
    "forget_session": _forget_session,
    "scrub": lambda hand, text: hand.memory.scrub([text.split()[0]]).records,
}


def command(root: Path, *words: str) -> dict[str, Any]:
    """A command line on the root, in this process. Raises if it fails."""
    code, out, err = run_command(root, *words)
    if code:
        raise RuntimeError(f"pagefault {' '.join(words)} exited {code}: {err or out}")
    return {"out": out}


def copy_of(root: Path) -> Path:
    """Where the backup of a root, or what is restored from it, is."""
    return root.with_name("copy")


def litter(root: Path) -> None:
    """A blob that nothing names and files half written, two hours old."""
    import os
    import time

    from pagefault.store.embedded.blobs import DirectoryBlobs
    from pagefault.store.embedded.root_file import read_root

    blobs = DirectoryBlobs(root / "blobs", secret=read_root(root).secret)
    for number in range(3):
        blobs.put(b"left %d" % number)
    (root / "log" / "00000009.g0.jsonl.new").write_bytes(b"half")
    (root / "root.json.tmp").write_bytes(b"half")
    then_s = time.time() - 7_200
    for file in root.rglob("*"):
        os.utime(file, (then_s, then_s))


COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "command": command,
    "backup": lambda root: command(root, "backup", str(copy_of(root))),
    "restore": lambda root: command(copy_of(root), "restore", str(root)),
    "litter": litter,
}


def run_command(root: Path, *words: str) -> tuple[int, str, str]:
    """The exit code of a command line, and what it printed."""
    import contextlib
    import io

    from pagefault.cli.outcome import run

    out, err = _Text(), _Text()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["--root", str(root), *words])
    assert isinstance(out, io.StringIO)
    return code, out.getvalue(), err.getvalue()


def _text_type() -> type:
    import io

    class Text(io.StringIO):
        """A stream that can be set up as a real one can."""

        def reconfigure(self, **_: Any) -> None: ...

        def fileno(self) -> int:
            raise io.UnsupportedOperation("fileno")

    return Text


_Text: Final[Any] = _text_type()


def live(
    note: Note,
    root: str,
    steps: list[list[Any]],
    *,
    segment_bytes: int = 0,
    index_schema: int | None = None,
    acks: str = "last",
    go_on: bool = False,
    fails_max: int = 10**9,
    sync: str = "group",
) -> str:
    """Do the steps, and say of each when it begins and that it is done.

    `segment_bytes` makes segments small, `index_schema` makes the index that of another version.
    With `acks` "first" it says that a step is done before it is: a control. With `go_on` what
    fails is told and the next step tried, until `fails_max` have failed.
    """
    if segment_bytes:
        small_segments(segment_bytes)
    if index_schema is not None:
        from pagefault.store.embedded import index

        index.SCHEMA = index_schema  # type: ignore[misc]
    hand = Hand(Path(root), sync=sync)
    for number, (verb, *arguments) in enumerate(steps):
        note(begun=number)
        if acks == "first":
            note(done=number)
        try:
            hand.do(verb, *arguments)
        except Exception as failure:
            if not go_on:
                raise
            hint = getattr(failure, "hint", "")
            note(failed=number, kind=type(failure).__name__, text=str(failure), hint=hint)
            fails_max -= 1
            if not fails_max:
                break
            continue
        if acks == "last":
            note(done=number)
    with suppress(Exception) if go_on else ExitStack():
        hand.close()
    return "lived"


def live_and_die(note: Note, root: str, steps: list[list[Any]], **options: Any) -> None:
    """Live, and be killed before anything is closed."""
    import os
    import signal

    hand = Hand(Path(root), **options)
    for number, step in enumerate(steps):
        hand.do(*step)
        note(done=number)
    os.kill(os.getpid(), signal.SIGKILL)


@cache
def _with_ends(code: CodeType) -> frozenset[int]:
    """Offsets where a `with` block is left: by `__exit__(None, None, None)`, by a `return` that
    leads to it (with a value, which is put below what is called, or bare), or with an error.
    """
    instructions = list(dis.get_instructions(code))
    names = [(one.opname, one.argval) for one in instructions]
    exits = {at for at in range(len(names)) if names[at : at + 3] == [("LOAD_CONST", None)] * 3}
    returns = {at - 1 for at in exits if at and names[at - 1][0] in {"NOP", "SWAP"}}
    errors = {
        at
        for at in range(len(names) - 1)
        if (names[at][0], names[at + 1][0]) == ("PUSH_EXC_INFO", "WITH_EXCEPT_START")
    }
    return frozenset(instructions[at].offset for at in exits | returns | errors)


def live_short_of_memory(
    note: Note, root: str, steps: list[list[Any]], *, at: int, **options: Any
) -> int:
    """Live, with a `MemoryError` at the line of the store's code that is executed as the `at`-th.

    Returns how many lines of it were executed, in all threads. Where a `with` block ends, the line
    of its `with` is told again, right before the lock is released: that takes no memory, and an
    error there would leave the lock taken, as none can in earnest.
    """
    import threading
    from itertools import count

    import pagefault.store

    folder = str(Path(pagefault.store.__file__).parent)
    lines = count(1)

    def trace(frame: Any, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(folder):
            return None
        if event != "line" or frame.f_lasti in _with_ends(frame.f_code):
            return trace
        if next(lines) == at:
            raise MemoryError(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return trace

    threading.settrace(trace)
    live(note, root, steps, go_on=True, **options)
    return next(lines)


def age_index(note: Note, root: str, what: str, version: int) -> None:
    """Make the index one of another version: built by it, and with what it calls itself."""
    from pagefault.store.embedded import index

    assert hasattr(index, what)
    setattr(index, what, version)
    command(Path(root), "rebuild")


def live_on(
    note: Note,
    root: str,
    seed: int,
    *,
    first: int,
    forgets: bool = True,
    acks: str = "last",
    segment_bytes: int = 30_000,
) -> None:
    """Say, ask and forget without end, until killed. Notes hold the whole step."""
    from tests.faults.script import text

    small_segments(segment_bytes)
    chance = random.Random(seed)
    hand = Hand(Path(root))
    hand.do("open")
    note(opened=True)
    said: dict[str, list[str]] = {}
    number = first
    while True:
        session = f"talk{chance.randrange(3)}"
        dice = chance.random()
        own = said.setdefault(session, [])
        if dice < 0.6 or not own:
            step: list[Any] = ["say", session, text(number)]
            own.append(step[2])
            number += 1
        elif dice < 0.75:
            texts = [text(number + n) for n in range(chance.randint(2, 5))]
            step = ["batch", session, texts]
            own.extend(texts)
            number += len(texts)
        elif dice < 0.92 or not forgets:
            step = ["request", session]
        elif dice < 0.99:
            step = ["forget_page", session, own.pop(chance.randrange(len(own)))]
        else:
            step = ["forget_session", session]
            own.clear()
        note(begun=step)
        if acks == "first":
            note(done=True)
        hand.do(*step)
        if acks == "last":
            note(done=True)


def small_segments(size: int) -> None:
    """The library's users cannot choose this; a test can."""
    from pagefault.store.embedded.root import open_store
    from pagefault.store.embedded.segments import SegmentLog

    for made in (SegmentLog.__init__, open_store):
        options: dict[str, Any] = made.__kwdefaults__  # type: ignore[assignment]
        assert "segment_bytes" in options
        options["segment_bytes"] = size


def live_by_a_clock(
    note: Note, root: str, steps: list[list[Any]], *, times_ms: list[int], order: str
) -> list[str]:
    """Live by a clock that shows these times, the last of them for ever. Returns the sessions.

    With `order` "time" they are done in the order in which the clock shows them: a control.
    """
    from contextlib import AbstractAsyncContextManager
    from itertools import chain, repeat

    import pagefault.sync
    from pagefault.service.bootstrap import open_memory

    class Clock:
        def __init__(self) -> None:
            self._times = chain(times_ms, repeat(times_ms[-1]))
            self._monotonic = 0.0

        def now_ms(self) -> int:
            return next(self._times)

        def monotonic_s(self) -> float:
            self._monotonic += 0.001
            return self._monotonic

    def with_a_clock(root: Path, *, window: int, **_: Any) -> AbstractAsyncContextManager[Any]:
        return open_memory(root, window=window, clock=Clock())

    face: Any = pagefault.sync
    face._open = with_a_clock
    if order == "time":
        said = [step for step in steps if step[0] == "say"]
        steps = [*said[1:2], *said[:1], *said[2:], *(s for s in steps if s[0] != "say")]
    live(note, root, steps)
    with pagefault.sync.open(Path(root), window=WINDOW) as memory:
        return [row.name for row in memory.sessions()]


def facts(note: Note, root: str) -> dict[str, Any]:
    """What the records of a log say of themselves, and the order of its texts."""
    from pagefault.cli.upkeep import store_tools
    from pagefault.model.events import PageBody
    from pagefault.store.embedded.root import open_store

    store = open_store(Path(root), read_only=True, **store_tools())
    try:
        events = list(store.log.read())
    finally:
        store.close()
    return {
        "ids": [event.event_id for event in events],
        "seqs": [event.seq for event in events],
        "order": [
            event.body.text.split()[0] for event in events if isinstance(event.body, PageBody)
        ],
    }


# --- looking ----------------------------------------------------------------------------------


def look(note: Note, root: str, *, repair: bool = False, write: bool = True) -> dict[str, Any]:
    """Open a memory and tell everything about it; with `repair`, mend it first.

    The keys are those that `script.check` reads.
    """
    path = Path(root)
    found: dict[str, Any] = {"refused": "", "wrote": False, "notices": []}
    if repair:
        command(path, "repair")
    hand = Hand(path)
    try:
        found["notices"] = hand.do("open")
        found["texts"] = texts_of(hand.memory)
    finally:
        hand.close()
    code, out, err = run_command(path, "verify", "--json")
    found["verify"] = code
    found["problems"] = json.loads(out)["problems"] if out else err
    found["index"] = index_differences(path)
    found["leftovers"] = [file for file in half_made(path) if not is_for_gc(file)]
    found["markers"] = markers(path)
    found["garbage"] = garbage(path)
    if write:
        hand = Hand(path)
        try:
            hand.do("say", "afterwards", "The fault is over.")
            found["wrote"] = texts_of(hand.memory)["afterwards"][-1] == "The fault is over."
        except Exception as failure:
            found["refused"] = f"{type(failure).__name__}: {failure}"
        finally:
            hand.close()
    return found


def half_made(root: Path) -> list[str]:
    return sorted(
        str(file.relative_to(root))
        for file in root.rglob("*")
        if file.name.endswith((".new", ".tmp")) or ".db.new" in file.name
    )


def is_for_gc(file: str) -> bool:
    """Whether a file that was left half made stays until `gc`: another process may be at it."""
    return file.startswith(("blobs/", "archive/", "root.json"))


def garbage(root: Path) -> list[str]:
    """What is left of it after a `gc` to which nothing is too young."""
    from pagefault.cli.upkeep import store_tools
    from pagefault.store.embedded.gc import collect

    collect(root, clock=store_tools()["clock"], older_than_s=-60, delete=True)
    return half_made(root)


def peek(
    note: Note, root: str, *, repair: bool = False, write: bool = False, read_only: bool = False
) -> dict[str, Any]:
    """What a memory says that may be damaged, without what cannot be read.

    Opened for writing, unless `read_only`; whether it can be is told as in `look`.
    """
    import pagefault

    path = Path(root)
    found: dict[str, Any] = {"refused": "", "hint": "", "wrote": False, "repaired": None}
    if repair:
        found["repaired"] = json.loads(command(path, "repair", "--json")["out"])
    with pagefault.sync.open(path, window=WINDOW, read_only=read_only) as memory:
        found["notices"] = memory.notices
        found["texts"], found["unopened"] = readable_texts(memory)
        if write:
            try:
                memory.session("afterwards").user("The fault is over.")
                found["wrote"] = True
            except pagefault.StoreError as failure:
                found["refused"] = f"{type(failure).__name__}: {failure}"
                found["hint"] = failure.hint
    found["log"] = texts_in_log(path)
    code, out, err = run_command(path, "verify", "--json")
    found["verify"] = code
    found["problems"] = json.loads(out)["problems"] if out else [err]
    return found


def texts_of(memory: Any) -> dict[str, list[str]]:
    """By session: every text in order."""
    texts = {}
    for row in memory.sessions():
        session = memory.session(row.session_id, create=False)
        said = [text for _, text in said_in(memory, session)]
        if said:
            texts[row.name] = said
    return texts


def said_in(memory: Any, session: Any) -> list[tuple[str, str]]:
    """The texts of a session, the parts of each joined, and the page that each begins with."""
    said: list[tuple[str, str]] = []
    for page in memory.pages(session, limit=10**6):
        text = _MARK.sub(r"\1]", session.page(page.page_id).text)
        if page.part:
            first, before = said.pop()
            said.append((first, before + text))
        else:
            said.append((page.page_id, text))
    return said


def readable_texts(memory: Any) -> tuple[dict[str, list[str]], list[str]]:
    """As `texts_of`, without what cannot be read, and the sessions that cannot be opened."""
    from pagefault import StoreError

    texts: dict[str, list[str]] = {}
    unopened: list[str] = []
    for row in memory.sessions():
        try:
            session = memory.session(row.session_id, create=False)
        except StoreError:
            unopened.append(row.name)
            continue
        texts[row.name] = []
        for page in memory.pages(session, limit=10**6):
            with suppress(StoreError):
                texts[row.name].append(session.page(page.page_id).text)
    return texts, unopened


def texts_in_log(root: Path) -> list[str]:
    """Every text that the log can still tell, whatever its session."""
    from pagefault.cli.upkeep import store_tools
    from pagefault.model.events import PageBody
    from pagefault.store.embedded.root import open_store
    from pagefault.store.embedded.segments import SegmentLog

    store = open_store(root, read_only=True, **store_tools())
    try:
        assert isinstance(store.log, SegmentLog)
        bodies = [event.body for event in store.log.read_rest()]
    finally:
        store.close()
    return [body.text for body in bodies if isinstance(body, PageBody)]


def markers(root: Path) -> dict[str, list[str]]:
    """The unlike word of each text, and the files in whose bytes it stands."""
    found: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            if file.suffix == ".gz":
                data = gzip.decompress(data)
            for word in set(re.findall(rb"qx\d+z", data)):
                place = f"{file.relative_to(root)} at {data.index(word)}"
                found.setdefault(word.decode(), []).append(place)
    return found


def served(note: Note, root: str, questions: list[str]) -> dict[str, Any]:
    """What `verify` says of a root whose index may be damaged, and what is served of it, first for
    reading and then for writing, and what `verify` says once the index was made again.
    """
    path = Path(root)
    code, out, err = run_command(path, "verify", "--json")
    told = json.loads(out) if out else {"problems": [err], "notices": []}
    return {
        "verify": code,
        "told": [*told["problems"], *told["notices"]],
        "reading": _all_served(path, questions, read_only=True),
        "writing": _all_served(path, questions, read_only=False),
        "after": run_command(path, "rebuild")[0] + run_command(path, "verify")[0],
    }


def _all_served(path: Path, questions: list[str], *, read_only: bool) -> list[str]:
    import pagefault

    with pagefault.sync.open(path, window=WINDOW, read_only=read_only) as memory:
        rows = memory.sessions()
        found: list[Any] = [*rows]
        for question in questions:
            found += memory.recall(question, limit=1_000).hits
        for row in rows:
            session = memory.session(row.session_id, create=False)
            found += memory.pages(session, limit=10**6)
            found += [session.page(page.page_id).text for page in memory.pages(session)]
            for question in questions:
                found += session.recall(question, limit=1_000).hits
    return [*map(repr, found), *map(repr, index_answers(path))]


def copied_while_open(note: Note, root: str, to: str, steps: list[Any]) -> None:
    """Do these steps and copy the root before it is closed: as a killed process leaves it."""
    import pagefault

    with pagefault.sync.open(root, window=WINDOW) as memory:
        for _, session, text in steps:
            memory.session(session).user(text)
        shutil.copytree(root, to)


def index_differences(root: Path) -> str:
    """Where the index answers otherwise than one made anew from the same log."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(root, copy)
        for file in copy.glob("index.db*"):
            file.unlink()
        ours, anew = list(index_answers(root)), list(index_answers(copy))
    for one, other in zip(ours, anew, strict=False):
        if one != other:
            return f"{one} where a rebuild has {other}"
    return "" if len(ours) == len(anew) else f"{len(ours)} answers, not {len(anew)}"


def index_answers(root: Path) -> Iterator[Any]:
    """Everything that an index can be asked, through its contract."""
    from pagefault.cli.upkeep import store_tools
    from pagefault.model.events import PageBody
    from pagefault.model.page import Scope
    from pagefault.store.api import PageFilter
    from pagefault.store.embedded.root import open_store
    from pagefault.store.said import said_by
    from pagefault.store.tokens import page_terms
    from pagefault.testing.index_contract import told

    store = open_store(root, read_only=True, **store_tools())
    try:
        index = store.index
        yield "applied", index.applied_seq()
        terms: dict[int, set[str]] = {}
        for event in store.log.read():
            if isinstance(event.body, PageBody):
                terms.setdefault(event.session, set()).update(
                    page_terms(event.body, said_by(event.body.text))
                )
            if event.key:
                yield "key", event.seq, index.find_key(event.session, event.key)
        for row in index.sessions():
            scope = Scope(((row.session, store.log.head()),))
            yield "session", row
            yield "events", index.events(row.session)
            yield "numbers", index.prefix_counts(scope)
            yield "pages", index.pages(scope, PageFilter(), limit=10**6)
            own = sorted(terms.get(row.session, ()))
            yield "terms", own, told(index.candidates(scope, own, limit=10**6))
    finally:
        store.close()


def answers(note: Note, root: str, questions: list[str]) -> dict[str, Any]:
    """What a memory says and packs: all that a faulty index could make different."""
    import pagefault

    told: dict[str, Any] = {}
    with pagefault.sync.open(root, window=WINDOW) as memory:
        told["texts"] = texts_of(memory)
        for row in sorted(memory.sessions(), key=lambda row: row.name):
            session = memory.session(row.session_id, create=False)
            for question in questions:
                result = session.recall(question, limit=20)
                told[f"{row.name}: {question}"] = [str(hit) for hit in result.hits]
            session.user("And what follows from that?")
            told[f"{row.name}: request"] = session.request(format="openai")
    return told


def attempt(note: Note, root: str, words: list[str]) -> dict[str, Any]:
    """A command line, whatever comes of it."""
    code, out, err = run_command(Path(root), *words)
    return {"code": code, "out": out, "err": err}


if __name__ == "__main__":
    sys.exit("the nursery imports this")
