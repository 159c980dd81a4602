"""The synchronous face: the same verbs, from any thread, and never where it would block a loop."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pagefault
from pagefault import ScriptedEngine, ToolCall
from pagefault.model.errors import CallerError, MessageTooLarge, SessionBusy
from pagefault.model.request import Usage
from tests.scripts import sync_script


def test_a_conversation(tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m", window=4_000, sync="os") as memory:
        assert memory.notices == []
        assert memory.limits.faults_per_turn_max == 2
        session = memory.session("planning", system="Be brief.")
        assert session.name == "planning"
        assert session.user("Which database did we pick?", key="k") == "msg_1"
        assert session.user("Which database did we pick?", key="k") == "msg_1"
        assert session.assistant("PostgreSQL.") == "msg_2"
        assert session.document("The plan is postgres.", title="plan") == ["art_1"]
        assert session.tool_result("42", name="sql") == ["tool_1"]
        assert session.user("And the plan?") == "msg_3"
        body = session.request(format="openai")
        assert body["messages"][0]["role"] == "system"
        assert session.request().tokens == session.status().request_tokens
        session.observe(Usage(input_tokens=1, output_tokens=1))
        assert "art_1" in session.call(ToolCall("c", "page_fault", '{"page_id": "art_1"}'))
        session.pin("msg_1")
        session.unpin("msg_1")
        session.configure(mode="strict")
        answer = session.run(ScriptedEngine())
        assert session.page(answer.page_id).text == answer.text
        assert session.recall("postgres").hits
        assert "msg_1" in session.resident()
        assert len(session.faults()) >= 1
        fork = session.fork("f")
        assert fork.user("only here") == "msg_5"
        assert [row.name for row in memory.sessions()] == ["f", "planning"]
        assert [row.page_id for row in memory.pages(session, limit=2)] == ["msg_1", "msg_2"]
        assert memory.forget("planning", "art_1", dry_run=True).done is False
        assert memory.forget(session, "art_1", dry_run=True).pages == ("art_1",)
        assert memory.forget("planning", "art_1").done
        picture = session.artifact(b"bytes", name="plan.png")
        assert session.artifact_bytes(picture) == b"bytes"
        assert memory.verify().problems == ()
        assert memory.backup(tmp_path / "b").blobs == 1
        with pytest.raises(MessageTooLarge):
            session.user("word " * 9_000)
        with pytest.raises(SessionBusy), pagefault.sync.open(tmp_path / "m") as beside:
            beside.session("planning").user("Me too!")
        with pagefault.sync.open(tmp_path / "m") as beside:
            pass
    with pagefault.sync.open(tmp_path / "m") as memory:
        assert memory.session("planning", create=False).status().pages == 7


def test_several_threads_share_a_session(tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m") as memory:
        session = memory.session("s")
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda n: session.user(f"from a thread: {n}"), range(80)))
            list(pool.map(lambda n: session.request(), range(20)))
        assert sorted(made, key=lambda page: int(page[4:])) == [f"msg_{n + 1}" for n in range(80)]
        texts = {session.page(page).text for page in made}
        assert texts == {f"from a thread: {n}" for n in range(80)}
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("pagefault-sync") == 1, "one loop for the whole process"


def test_it_works_inside_a_running_loop_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> str:
        with pagefault.sync.open(tmp_path / "m", sync="os") as memory:
            return memory.session("s").user("Hello")

    assert asyncio.run(cell()) == "msg_1"
    with pagefault.sync.open(tmp_path / "m", sync="os") as memory:
        session = memory.session("s")

        async def verbs() -> list[str]:
            return [session.user("Again"), await asyncio.to_thread(session.user, "And again")]

        assert asyncio.run(verbs()) == ["msg_2", "msg_3"]


def test_a_callback_of_a_verb_that_calls_one_is_told_what_to_do(tmp_path: Path) -> None:
    """It runs on the one thread that would have to serve it."""
    with pagefault.sync.open(tmp_path / "m", sync="os", window=1_500) as memory:
        session = memory.session("s")
        refused: list[CallerError] = []

        def mistaken(before: object, now: object) -> None:
            try:
                session.user("From a callback.")
            except CallerError as error:
                refused.append(error)

        session.on_pressure(mistaken)
        for n in range(20):
            session.user(f"{n}: " + "word " * 60)
            session.request()
            session.assistant("Noted.")
        assert refused, "the pressure never changed, so nothing is shown"
        assert "callback of its own" in str(refused[0])
        assert "another thread" in refused[0].hint
        assert not session.recall("From a callback").hits


_FORKS = """
import os, sys
import pagefault.sync
from pagefault.model.errors import CallerError

with pagefault.sync.open(sys.argv[1]) as memory:
    session = memory.session("s")
    child = os.fork()
    if not child:
        try:
            session.user("from the child")
        except CallerError as error:
            print(error, "|", error.hint, flush=True)
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
    assert session.user("from the parent") == "msg_1"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork_it_says_what_to_do(tmp_path: Path) -> None:
    source = Path(pagefault.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _FORKS, str(tmp_path / "m")],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    assert done.returncode == 0, done.stderr
    assert "forked" in done.stdout
    assert "in the child process only" in done.stdout


@pytest.mark.parametrize("name", ["Memory", "Session"])
def test_every_verb_says_what_its_asynchronous_twin_says(name: str) -> None:
    twin, verbs = getattr(pagefault, name), vars(getattr(pagefault.sync, name))
    public = {verb: made for verb, made in verbs.items() if not verb.startswith("_")}
    assert len(public) > 8
    for verb, made in public.items():
        assert made.__doc__, f"{name}.{verb} says nothing"
        told = getattr(getattr(twin, verb, None), "__doc__", None)
        if told is not None:
            assert made.__doc__ == told, f"{name}.{verb} says something else"


def test_what_is_not_awaited_runs_on_the_one_thread_that_changes_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resident(self: pagefault.Session) -> list[str]:
        return [threading.current_thread().name]

    monkeypatch.setattr(pagefault.Session, "resident", resident)
    with pagefault.sync.open(tmp_path / "m", sync="os", window=1_500) as memory:
        session = memory.session("s")
        assert session.resident() == ["pagefault-sync"]
        seen: list[list[str]] = []
        session.on_pressure(lambda before, now: seen.append(list(session.resident())))
        for n in range(20):
            session.user(f"{n}: " + "word " * 60)
            session.request()
            session.assistant("Noted.")
        assert seen, "the pressure never changed, so nothing is shown"
        assert seen[0] == ["pagefault-sync"], "in a callback, which is on that thread, it works"


def test_a_page_on_its_way_is_had_without_a_loop(tmp_path: Path) -> None:
    with pagefault.sync.open(tmp_path / "m", sync="os") as memory:
        session = memory.session("s")
        session.user("Hello.")
        deferred = session.defer("msg_1")
        assert (deferred.page_id, deferred.placeholder) == ("msg_1", "(msg_1: loading)")
        assert deferred.page().text == "Hello."
        assert deferred.is_ready
        assert deferred.page_or_placeholder(10) == deferred.page()


# --- how it is written ----------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]


def test_it_is_what_the_script_writes() -> None:
    made = sync_script().written()
    current = (ROOT / "src" / "pagefault" / "sync.py").read_text(encoding="utf-8")
    assert made == current, "src/pagefault/sync.py is out of date: script/sync"


def test_a_verb_that_is_added_is_written_and_an_old_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = sync_script()
    (tmp_path / "src").mkdir()
    shutil.copytree(ROOT / "src" / "pagefault", tmp_path / "src" / "pagefault")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    facade = tmp_path / "src" / "pagefault" / "service" / "facades" / "inspector.py"
    before = "    async def status(self)"
    doze = '    async def doze(self, *, hours: int = 8) -> list[Page]:\n        """Of what."""\n\n'
    text = facade.read_text(encoding="utf-8")
    assert before in text
    facade.write_text(text.replace(before, doze + before), encoding="utf-8")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(script, "TARGET", tmp_path / "src" / "pagefault" / "sync.py")
    assert script.main(["--check"]) == 1
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0
    made = script.TARGET.read_text(encoding="utf-8")
    assert "def doze(self, *, hours: int = 8) -> list[Page]:" in made
    assert "return _LOOP.run(self.asynchronous.doze(hours=hours))" in made


_SMALL = """
from elsewhere import Session

class Small:
    {0}
        \"\"\"It does.\"\"\"
"""


def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> str:
    """What is written of a class with this one verb."""
    script = sync_script()
    (tmp_path / "small.py").write_text(_SMALL.format(verb), encoding="utf-8")
    monkeypatch.setattr(script, "SOURCES", tmp_path)
    face = script.Face("Small", "", "theirs.Small", "small", "Small", "held", "A class.")
    return str(script._class(face))


@pytest.mark.parametrize(
    ("verb", "made"),
    [
        ("async def a(self, x: int, /, y: int, *, z: int) -> int:", "run(self.held.a(x, y, z=z))"),
        ("async def a(self, *x: int, **y: int) -> int:", "return _LOOP.run(self.held.a(*x, **y))"),
        ("def a(self) -> int:", "return _LOOP.call(self.held.a)"),
        ("def a(self, x: int) -> None:", "_LOOP.call(lambda: self.held.a(x))"),
        ("async def a(self, x: Session) -> Session:", "Session(_LOOP.run(self.held.a(x.async"),
    ],
)
def test_every_form_of_a_parameter_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, made: str
) -> None:
    assert made in small(tmp_path, monkeypatch, verb)


@pytest.mark.parametrize(
    ("verb", "why"),
    [
        ("async def a(self) -> Session | None:", "returns Session | None, and has no rule in WRA"),
        ("async def a(self) -> list[Session]:", "no rule in WRAPPED"),
        ("def a(self) -> AsyncIterator[str]:", "no rule in WRAPPED"),
        ("def a(self) -> AbstractAsyncContextManager[int]:", "no rule in WRAPPED"),
        ("async def a(self, x: Session | None) -> None:", "no rule in GIVEN"),
        ("async def a(self, *x: Session) -> None:", "no rule in GIVEN"),
        ("async def a(self, x: Callable[[], Awaitable[int]]) -> None:", "no rule in GIVEN"),
        ("@staticmethod\n    def a() -> None:", "Small.a is a @staticmethod"),
        ("@asynccontextmanager\n    async def a(self) -> None:", "is a @asynccontextmanager"),
    ],
)
def test_what_no_table_tells_how_to_write_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, why: str
) -> None:
    with pytest.raises(SystemExit, match=re.escape(why)):
        small(tmp_path, monkeypatch, verb)


def test_a_verb_that_is_inherited_is_written_once_and_one_of_another_face_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = sync_script()
    (tmp_path / "base.py").write_text(
        "class Base:\n    def deep(self) -> int: ...\n\n"
        "class Side(Base):\n    async def side(self) -> int: ...\n",
        encoding="utf-8",
    )
    (tmp_path / "small.py").write_text(
        "from base import Base, Side\nfrom pagefault.elsewhere import Asking\n\n"
        "class Small(Side, Base, Asking):\n    def own(self) -> int: ...\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(script, "SOURCES", tmp_path)
    made = str(
        script._class(script.Face("Small", "", "theirs.Small", "small", "Small", "held", "A class"))
    )
    assert [line.split("(")[0].strip() for line in made.splitlines() if "-> int" in line] == [
        "def own",
        "def side",
        "def deep",
    ]


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    for name, why in sync_script().LEFT_OUT.items():
        cls, _, verb = name.partition(".")
        assert hasattr(getattr(pagefault, cls), verb) or verb == "session", name
        assert why
