"""Writes `src/pagefault/sync.py`, the synchronous face, from the asynchronous classes.

    script/sync            rewrites it
    script/sync --check    says whether it is out of date, and exits 1

Signatures and docstrings are those of the sources, as they are written there. A verb that is
awaited there is waited for here, any other is called on the thread of the loop, whose state it may
touch; a property, which is a value, is read. What must be made otherwise stands in the tables
below, each with its reason, and a form that no table tells how to make is refused by name.
"""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCES: Final = ROOT / "src"
TARGET: Final = SOURCES / "pagefault" / "sync.py"


@dataclass(frozen=True)
class Face:
    """A class of the synchronous face: its name, what it is made of, and where it keeps that."""

    name: str
    bases: str
    theirs: str  # the asynchronous class, as it is written here
    module: str  # where that is
    cls: str
    held: str
    doc: str
    attributes: tuple[tuple[str, str, str], ...] = ()  # that are no properties there: type and doc


FACES: Final = (
    Face(
        "_Asks",
        "",
        "Asking",
        "pagefault.service.lookup.questions",
        "Asking",
        "_asking",
        "The verbs that memories and sessions have in common.",
    ),
    Face(
        "Memory",
        "_Asks",
        "_memory.Memory",
        "pagefault.service.memory",
        "Memory",
        "_memory",
        "As `pagefault.Memory`; every verb returns when it is done.",
    ),
    Face(
        "Session",
        "_Asks",
        "_session.Session",
        "pagefault.service.session",
        "Session",
        "asynchronous",
        "As `pagefault.Session`; every verb returns when it is done.",
        (
            ("session_id", "str", "Its id, which never changes."),
            ("name", "str", "Its name; empty if it has none."),
            ("called", "str", "Its name, or its id if it has none."),
        ),
    ),
    Face(
        "DeferredPage",
        "",
        "_deferred.DeferredPage",
        "pagefault.paging.deferred",
        "DeferredPage",
        "asynchronous",
        "As `pagefault.DeferredPage`; what is awaited there returns when it is done.",
        (
            ("page_id", "PageId", "The page that is on its way."),
            ("placeholder", "str", "What stands where it will be."),
        ),
    ),
)

_BY_THE_PROXY: Final = "the proxy asks it, and no user"
_BY_THE_COMMANDS: Final = "commands and the laboratory ask it; `status` and `metrics` tell users"

LEFT_OUT: Final = {  # and why
    "Memory.close": "the `with` block closes",
    "Memory.find_said": _BY_THE_PROXY,
    "Memory.forgettings": _BY_THE_PROXY,
    "Memory.keyed": _BY_THE_PROXY,
    "Memory.passed_on": _BY_THE_PROXY,
    "Memory.session_names": _BY_THE_PROXY,
    "Memory.written": _BY_THE_PROXY,
    "Session.calls_that_fit": "`run` asks it, which has a verb of its own",
    "Session.check": "tests ask it: every invariant, slowly",
    "Session.fault_counts": _BY_THE_COMMANDS,
    "Session.no_such_page": "it makes an error for the verbs",
    "Session.paged_in_tokens": _BY_THE_COMMANDS,
    "Session.replied": "`run` asks it, which has a verb of its own",
    "Session.session": "a number of the store's: `session_id` is the session's",
    "Session.visible": "`run` asks it, which has a verb of its own",
    "Session.written": "`run` asks it, which has a verb of its own",
}

GIVEN: Final = {  # by its annotation, what is passed on for a parameter: sessions wrap their own
    "Session": "{0}.asynchronous",
    "Session | str": "{0}.asynchronous if isinstance({0}, Session) else {0}",
}
AS_ANY: Final = {"Session.request"}  # overloaded by a literal type, which its body has as a text
WRAPPED: Final = {"Session": "Session({0})", "DeferredPage": "DeferredPage({0})"}  # by what returns
_NEEDS_A_RULE: Final = re.compile(
    r"\b(Memory|Session|DeferredPage|Asking|Awaitable|Coroutine|\w*ContextManager|Async\w+)\b"
)
"""What is one thing there and another here, wherever it stands in an annotation."""

HEAD: Final = '''\
# Written by script/sync from the asynchronous classes: change those, and run it.
"""The verbs of `pagefault` for programs without an event loop.

    with pagefault.sync.open("./memory") as memory:
        session = memory.session("planning")
        session.user("Which database did we pick?")
        request = session.request(format="openai")

One thread with an event loop serves the whole process; calls may come from any thread. It does not
survive `os.fork`: open memories in the child, not before it. In a program that has an event loop of
its own, as a notebook has, a verb works and keeps that loop waiting; in a callback of a verb, which
runs on that one thread, it would wait for itself, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from pagefault.model.signatures import checked, checked_verbs
from pagefault.paging import deferred as _deferred
from pagefault.service import memory as _memory
from pagefault.service import session as _session
from pagefault.service.loop_thread import LoopThread
from pagefault.service.open import open as _open
'''

OPEN: Final = '''\
_LOOP = LoopThread()


@checked
@contextmanager
def open({parameters}) -> Iterator[Memory]:
    """As `pagefault.open`, for a `with` block: `help(pagefault.Options)` tells of each option."""
    opening = _open({arguments})
    memory = _LOOP.run(_enter(opening))
    try:
        yield Memory(memory)
    finally:
        _LOOP.run(_leave(opening))


async def _enter(opening: Any) -> _memory.Memory:
    entered: _memory.Memory = await opening.__aenter__()
    return entered


async def _leave(opening: Any) -> None:
    await opening.__aexit__(None, None, None)
'''

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main(arguments: Sequence[str]) -> int:
    made = written()
    if made == TARGET.read_text():
        return 0
    if "--check" in arguments:
        sys.stderr.write("src/pagefault/sync.py is out of date: script/sync\n")
        return 1
    TARGET.write_text(made)
    return 0


def written() -> str:
    """The file as it should be."""
    opening = _module("pagefault.service.open")
    verb = _named("open", opening)
    assert isinstance(verb, ast.FunctionDef)
    parts = [OPEN.format(parameters=ast.unparse(verb.args), arguments=_passed(verb))]
    parts += [_class(face) for face in FACES]
    body = "\n\n".join(parts)
    return _formatted(f"{HEAD}{_imports(body)}\n\n{body}")


def _class(face: Face) -> str:
    given = face.cls.lower()
    lines = [
        "@checked_verbs()",
        f"class {face.name}({face.bases}):" if face.bases else f"class {face.name}:",
        f'    """{face.doc}"""',
        "",
        f"    def __init__(self, {given}: {face.theirs}) -> None:",
        *([f"        super().__init__({given})"] if face.bases else []),
        f"        self.{face.held} = {given}",
        "",
    ]
    if not face.bases:  # what stands here for another looks like it
        lines += ["    def __repr__(self) -> str:", f"        return repr(self.{face.held})", ""]
    for name, kind, doc in face.attributes:
        lines += ["    @property", f"    def {name}(self) -> {kind}:", f'        """{doc}"""']
        lines += [f"        return self.{face.held}.{name}", ""]
    for source in dict.fromkeys(_sources(face.cls, face.module)):
        for verb in _verbs(source, face):
            lines += [_verb(verb, face), ""]
    return "\n".join(lines)


def _named(name: str, module: ast.Module) -> Function | ast.ClassDef:
    [found] = [
        one for one in module.body if isinstance(one, Function | ast.ClassDef) and one.name == name
    ]
    return found


def _sources(cls: str, home: str) -> Iterator[ast.ClassDef]:
    """A class and those that it inherits verbs from, less what is a face of its own."""
    module = _module(home)
    source = _named(cls, module)
    assert isinstance(source, ast.ClassDef)
    yield source
    homes = {
        alias.name: node.module
        for node in module.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for name in map(ast.unparse, source.bases):
        if not any(face.cls == name for face in FACES):
            yield from _sources(name, homes.get(name, home))


def _verbs(source: ast.ClassDef, face: Face) -> Iterator[Function]:
    for one in source.body:
        if not isinstance(one, Function) or one.name.startswith("_"):
            continue
        if f"{face.cls}.{one.name}" not in LEFT_OUT:
            yield one


def _verb(verb: Function, face: Face) -> str:
    _check_has_rules(verb, face)
    returns = ast.unparse(verb.returns) if verb.returns else "None"
    decorators = [ast.unparse(one) for one in verb.decorator_list]
    lines = [f"    @{one}" for one in decorators if one in ("property", "overload")]
    head = f"    def {verb.name}({ast.unparse(verb.args)}) -> {returns}:"
    if "overload" in decorators:
        return "\n".join([*lines, f"{head} ..."])
    lines.append(head)
    if (doc := _docstring(verb)) is not None:
        lines.append(f"        {doc}")
    call = f"self.{face.held}.{verb.name}"
    passed = _passed(verb, as_any=f"{face.cls}.{verb.name}" in AS_ANY)
    if isinstance(verb, ast.AsyncFunctionDef):
        call = f"_LOOP.run({call}({passed}))"
    elif "property" not in decorators:
        call = f"_LOOP.call(lambda: {call}({passed}))" if passed else f"_LOOP.call({call})"
    call = WRAPPED.get(returns, "{0}").format(call)
    lines.append(f"        {call}" if returns == "None" else f"        return {call}")
    return "\n".join(lines)


def _passed(verb: Function, *, as_any: bool = False) -> str:
    """What a verb is called with, given its own parameters."""
    told = verb.args
    first = [one for one in (*told.posonlyargs, *told.args) if one.arg != "self"]
    passed = [_given(one, as_any=as_any) for one in first]
    passed += [f"*{told.vararg.arg}"] if told.vararg else []
    passed += [f"{one.arg}={_given(one, as_any=as_any)}" for one in told.kwonlyargs]
    passed += [f"**{told.kwarg.arg}"] if told.kwarg else []
    return ", ".join(passed)


def _check_has_rules(verb: Function, face: Face) -> None:
    """Raise `SystemExit` for what would be passed on as it is and mean something else here."""
    name = f"{face.cls}.{verb.name}"
    unknown = {ast.unparse(one) for one in verb.decorator_list} - {"property", "overload"}
    for one in sorted(unknown):
        if one != "checked":
            raise SystemExit(f"script/sync: {name} is a @{one}, which it cannot write")
    told = verb.args
    rest = [one for one in (told.vararg, told.kwarg) if one is not None]
    for parameter in (*told.posonlyargs, *told.args, *told.kwonlyargs, *rest):
        kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if _NEEDS_A_RULE.search(kind) and (kind not in GIVEN or parameter in rest):
            raise SystemExit(f"script/sync: {name}({parameter.arg}: {kind}) has no rule in GIVEN")
    returns = ast.unparse(verb.returns) if verb.returns else ""
    if _NEEDS_A_RULE.search(returns) and returns not in WRAPPED:
        raise SystemExit(f"script/sync: {name} returns {returns}, and has no rule in WRAPPED")


def _given(parameter: ast.arg, *, as_any: bool) -> str:
    kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
    if as_any:
        return f'cast("Any", {parameter.arg})'
    return GIVEN.get(kind, "{0}").format(parameter.arg)


def _docstring(verb: Function) -> str | None:
    """As it stands in the source, quotes and indentation included."""
    first = verb.body[0]
    if ast.get_docstring(verb) is None or not isinstance(first, ast.Expr):
        return None
    return ast.get_source_segment(_TEXTS[id(verb)], first)


_TEXTS: dict[int, str] = {}
_MODULES: dict[str, ast.Module] = {}


def _module(name: str) -> ast.Module:
    if name not in _MODULES:
        text = (SOURCES / name.replace(".", "/")).with_suffix(".py").read_text()
        _MODULES[name] = ast.parse(text)
        _TEXTS.update((id(node), text) for node in ast.walk(_MODULES[name]))
    return _MODULES[name]


# --- imports ------------------------------------------------------------------------------------


def _imports(body: str) -> str:
    """What the body names, from where the sources have it."""
    tree = ast.parse(f"from __future__ import annotations\n{body}")
    named = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    defined = {one.name for one in ast.walk(tree) if isinstance(one, Function | ast.ClassDef)}
    defined |= {alias.asname or alias.name for alias in _names_in(ast.parse(HEAD))}
    homes: dict[str, str] = {}
    for module, parsed in _MODULES.items():
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom) and node.module:
                homes |= {alias.name: node.module for alias in node.names if not alias.asname}
        homes |= {one: module for one in _defined_in(parsed) if one not in homes}
    wanted = sorted((named - defined - set(dir(builtins))) & homes.keys())
    return "\n".join(f"from {homes[name]} import {name}" for name in wanted)


def _names_in(tree: ast.Module) -> Iterator[ast.alias]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names


def _defined_in(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _formatted(text: str) -> str:
    """As `ruff` puts it, with its imports in order."""
    steps = (["check", "--quiet", "--select", "I", "--fix"], ["format"])
    for step in steps:
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *step, "--stdin-filename", str(TARGET), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
