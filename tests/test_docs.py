"""README and docs: their code runs, what is made from code is current, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import click
import pytest

import pagefault
from pagefault.cli.outcome import run as command_line
from pagefault.cli.root import root
from pagefault.engine.scripted import ScriptedEngine
from pagefault.model.events import Faulted
from pagefault.model.kinds import Role
from pagefault.model.request import Message, Request, ToolCall, ToolSpec
from tests.adopted import copied
from tests.scripts import docs_script, man_script, site_script
from tests.warm import python

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")
_PATH: Final = re.compile(r"`((?:src|tests|docs|script|benchmarks|\w+)/[\w/.-]*\w\.(?:py|sql|md))`")
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(path: Path, language: str) -> Iterator[str]:
    for match in _BLOCK.finditer(path.read_text(encoding="utf-8")):
        if match[1] == language:
            yield match[2]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


PYTHON: Final = [
    pytest.param(code, id=f"{named(path)}-{number}")
    for path in PAGES
    for number, code in enumerate(blocks(path, "python"), 1)
]
SHELL: Final = [
    pytest.param(code, id=f"{named(path)}-{number}")
    for path in PAGES
    for number, code in enumerate(blocks(path, "sh"), 1)
]


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, far from this checkout and from what its user has configured."""
    work = emptied(tmp_path, monkeypatch) / "work"
    monkeypatch.chdir(work)
    return work


def emptied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty `work` in it, and an environment with nothing of its user's."""
    for name in [name for name in os.environ if name.startswith(("PAGEFAULT_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(folder / "home"))
    (folder / "work").mkdir()
    return folder


DEMO: Final = "pagefault --root tour demo --json > demo.json\n"
"""What several examples begin with."""


def typed_in(code: str, folder: Path) -> str:
    """What a shell says, in this folder, whose PATH has this pagefault."""
    command = folder / "bin" / "pagefault"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.join(python())} -m pagefault.cli "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["sh", "-eu", "-c", code],
        cwd=folder / "work",
        env=os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `DEMO` was typed: it takes seconds, so once."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        typed_in(DEMO, emptied(folder, patch))
    return folder / "work"


def execute(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, "<documentation>", "exec", dont_inherit=True), names)


@pytest.mark.parametrize("code", PYTHON)
@pytest.mark.usefixtures("away")
def test_python_in_the_documentation_runs(code: str) -> None:
    execute(code, {"__name__": "__main__"})


@pytest.mark.slow
@pytest.mark.parametrize("code", SHELL)
def test_commands_in_the_documentation_run(
    code: str, away: Path, request: pytest.FixtureRequest
) -> None:
    if code.startswith(DEMO):
        there: Path = request.getfixturevalue("demo")
        shutil.copy(there / "demo.json", away)
        copied(there / "tour", away / "tour")
    assert typed_in(code.removeprefix(DEMO), away.parent)


def typed(path: Path) -> Iterator[list[str]]:
    """The words of each line that a page has somebody type, up to a pipe or a remark."""
    for language in ("sh", "text"):
        for code in blocks(path, language):
            for line in code.replace("\\\n", " ").splitlines():
                if re.match(r"\s*pagefault [a-z-]", line):
                    yield shlex.split(re.split(r" [|#>] ?|;", line)[0])[1:]


def test_commands_that_are_only_shown_are_there_with_their_options() -> None:
    lines = [(named(path), words) for path in PAGES for words in typed(path)]
    assert len(lines) > 100
    for page, words in lines:
        command: click.Command = root
        for at, word in enumerate(words):
            if word == "--" or (word.startswith("--") and "=" in word):
                break  # the client's own
            if word.startswith("-"):
                known = {name for one in command.params for name in one.opts + one.secondary_opts}
                assert word in known or _takes_any(command), f"{page}: {' '.join(words)}"
            elif isinstance(command, click.Group) and not _is_value(command, words, at):
                found = command.get_command(click.Context(command), word)
                assert found or command is not root, f"{page}: {' '.join(words)}"
                command = found or command


def _takes_any(command: click.Command) -> bool:
    """Whether it hands on what it does not know: to a client, or to what a group does by itself."""
    is_group = isinstance(command, click.Group) and command is not root
    return is_group or command.context_settings.get("ignore_unknown_options", False)


def _is_value(command: click.Command, words: list[str], at: int) -> bool:
    """Whether a word is what the option before it is given."""
    options = [one for one in command.params if at and words[at - 1] in one.opts]
    return bool(options) and not getattr(options[0], "is_flag", False)


def test_what_is_typed_for_a_framework_is_what_its_example_runs() -> None:
    """Of each section of docs/clients.md that names an example: every name that it calls."""
    text = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    with_example = [one for one in sections if "(../examples/" in one]
    assert len(with_example) == 11
    for section in with_example:
        [example] = set(re.findall(r"\(\.\./(examples/\w+\.py)\)", section))
        code = (ROOT / example).read_text(encoding="utf-8")
        ours = re.findall(r"\b(Pagefault\w*|pagefault\.wrap)\(", section)
        assert ours or "pagefault:" in section
        missing = [name for name in ours if f"{name}(" not in code and name != "PagefaultPlugin"]
        assert not missing, f"{example} does not run {missing}"


class Client:
    """An OpenAI client whose model is the scripted engine: it sees the wire and nothing else."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)
        self.requests = 0

    def create(self, *, messages: Any, model: str, tools: Any = ()) -> Any:
        assert model
        json.dumps([messages, tools])
        self.requests += 1
        request = Request(
            messages=tuple(map(_message, messages)),
            tools=tuple(ToolSpec(**tool["function"]) for tool in tools),
            tokens=0,
            factor=1.0,
            window_tokens=0,
        )
        reply = ScriptedEngine().decide(request)
        calls = [
            SimpleNamespace(
                id=call.call_id, function=SimpleNamespace(name=call.name, arguments=call.arguments)
            )
            for call in reply.tool_calls
        ]
        message = SimpleNamespace(content=reply.text or None, tool_calls=calls or None)
        usage = SimpleNamespace(
            prompt_tokens=700,
            completion_tokens=9,
            prompt_tokens_details=SimpleNamespace(cached_tokens=640),
        )
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=usage)


def _message(wire: dict[str, Any]) -> Message:
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in wire.get("tool_calls", ())
    ]
    return Message(
        role=Role(wire["role"]),
        content=wire["content"] or "",
        tool_calls=tuple(calls),
        call_id=wire.get("tool_call_id", ""),
    )


def test_the_documented_loop_lets_a_client_search_and_fault(away: Path) -> None:
    [code] = [
        code for code in blocks(ROOT / "docs" / "library.md", "python") if "client.chat" in code
    ]
    names: dict[str, Any] = {}
    execute(code, names)
    client = Client()
    limits = pagefault.Limits(recall_tokens_max=0)
    with pagefault.sync.open(away / "memory", window=1_500, limits=limits) as memory:
        session = memory.session("planning")
        session.user("The compressor must not run on Sundays.")
        for number in range(12):
            session.request()
            session.assistant(f"Noted, {number}. " + "And so on and on. " * 20)
            session.user(f"Something else, {number}. " + "It goes on for a while. " * 20)
        session.request()
        assert "msg_1" not in session.resident()
        answer = names["answer"](session, client, "a-model", "When must the compressor not run?")
        assert "[ref: msg_1]" in answer
        assert client.requests == 3
        told = session.ledger()[-1].reported
        assert told is not None
        assert (told.input_tokens, told.cached_tokens) == (700, 640)
        fault = session.faults()[0].body
        assert isinstance(fault, Faulted)
        assert fault.page_id == "msg_1"


# --- what comes from the code ---------------------------------------------------------------------


def test_what_is_made_from_the_code_is_current() -> None:
    make = docs_script()
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert make.regenerated(text) == text, f"{path.name} is out of date: script/docs"


def test_every_part_that_is_made_stands_somewhere_and_is_closed() -> None:
    made = {name for name, _ in docs_script().parts()}
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    begun = re.findall(r"<!-- begin ([\w-]+) \(script/docs\) -->", text)
    assert sorted(begun) == sorted(made)
    assert sorted(re.findall(r"<!-- end ([\w-]+) -->", text)) == sorted(made)


# --- what is told of JSON -------------------------------------------------------------------------


def fields(title: str) -> set[str]:
    """The names in the table under a heading of docs/cli.md, and in the sentence before it."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = text.partition(f"### `{title}`\n")[2].partition("\n### ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    before = section.partition("|")[0]
    return set(re.findall(r"`(\w+)`", " ".join(first_cells) + before))


@pytest.fixture
def run(away: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """What a command says in JSON."""

    def call(*arguments: str) -> Any:
        command_line([*arguments, "--json"])
        out, err = capsys.readouterr()
        assert out, err
        return json.loads(out)

    return call


@pytest.mark.slow
def test_every_field_of_an_import_is_described(run: Callable[..., Any]) -> None:
    Path("note.md").write_text("# A note\n")
    report = run("--root", "m", "import", "note.md", "--yes")
    [listed] = run("--root", "m", "import", "list")
    section = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").partition("`import --json`")[2]
    told = set(re.findall(r"`(\w+)`", section.partition("\n### ")[0]))
    assert set(report) == fields("import --json")
    assert set(report) | set(report["sources"][0]) | {"place", "why", "kept"} <= told
    assert set(listed) == fields("import list --json")
    found = run("--root", "m", "search", "note")
    assert set(found["hits"][0]) <= fields("recall search --json") | fields("pages ls --json") | {
        "tokens"
    }


@pytest.mark.slow
def test_every_field_that_a_command_prints_is_described(
    demo: Path, away: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(demo / "tour", away / "m")
    monkeypatch.setenv("PAGEFAULT_HOME", "m")
    assert set(run("sessions")[0]) == fields("sessions --json")
    listed = run("pages", "ls", "-n", "1")
    page = set(listed["pages"][0])
    assert set(listed) | page == fields("pages ls --json")
    assert set(run("pages", "show", "msg_1")) | {"hint"} == fields("pages show --json") | page
    found = run("pages", "search", "latex")
    told = set(found) | set(found["hits"][0]) | set(found["hits"][0]["parts"])
    words = "recent task timeline topic search text image audio video structured meaning"
    assert told == fields("recall search --json") - {*words.split()}
    assert set(run("faults", "--forks")[0]) <= fields("faults --json")
    assert set(run("verify")) == fields("verify --json")
    doctor = run("doctor")
    described = fields("doctor --json") - {"ok", "warn", "fail"}
    assert set(doctor) | set(doctor["checks"][0]) == described


def test_every_figure_of_a_replay_and_of_the_bench_is_defined(
    away: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagefault.lab.kernel.SEARCHES", 10)
    monkeypatch.setattr("pagefault.lab.kernel.SAMPLES", 20)
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    (away / "talk.jsonl").write_text('{"role": "user", "content": "Hello there."}\n')
    replayed = run("replay", "talk.jsonl", "--ephemeral")
    measured = run("bench", "kernel", "--pages", "10", "--at", str(away))
    assert measured["pages"] == 10
    shortened = run("bench", "ladder", "--sessions", "1")
    told = [*replayed, *measured, *shortened]
    missing = {name for name in told if f"`{name}`" not in text}
    assert not missing


def test_every_command_has_a_manual_page_that_a_formatter_takes(tmp_path: Path) -> None:
    written = dict(man_script().pages())
    assert set(root.list_commands(click.Context(root))) <= {
        name.removeprefix("pagefault-") for name in written
    }
    for name in ("pagefault-pages-show", "pagefault-claims-edit", "pagefault"):
        assert ".SH SYNOPSIS" in written[name]
        assert r"\fB\-h, \-\-help\fR" in written[name]
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("no groff here to lay them out")
    files = [tmp_path / f"{name}.1" for name in written]
    for path, text in zip(files, written.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    command = [groff, "-man", "-k", "-Tutf8", "-ww", "-z", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- links ----------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    headings = _HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_and_paths_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), f"{named(path)}: {link} leads nowhere"
        assert not anchor or anchor in anchors(there), f"{named(path)}: no heading for {link}"
    for name in _PATH.findall(_BLOCK.sub("", text)):
        places = (ROOT / name, ROOT / "src" / "pagefault" / name, path.parent / name)
        assert any(place.exists() for place in places), f"{named(path)}: there is no {name}"


def test_the_site_has_every_page_in_its_place_and_no_dead_link(tmp_path: Path) -> None:
    site = site_script()
    site.gather(tmp_path / "site")
    listed = [name for names in site.NAV.values() for name in names]
    there = {path.stem for path in (ROOT / "docs").glob("*.md")}
    outside = {"README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"}
    assert sorted(listed) == sorted(there | outside)
    shown = [name for names in site.REFERENCE.values() for name in names]
    assert [name for name in shown if name not in pagefault.__all__] == []
    with pytest.raises(LookupError, match="leads nowhere"):
        site.in_site("[gone](gone.md)", ROOT / "docs" / "cli.md")


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_lines_fit_a_terminal(path: Path) -> None:
    prose = re.sub(r"<!-- begin.*?<!-- end", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    long = [
        textwrap.shorten(line, 60)
        for line in prose.splitlines()
        if len(line) > 110 and not line.startswith(("|", "<"))
    ]
    assert not long, f"{named(path)}: {long}"
