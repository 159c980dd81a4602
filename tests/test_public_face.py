"""The public face: what it offers asynchronously it offers synchronously, documented and typed."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import traceback
import types
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import pagefault
import pagefault.sync
from pagefault.cli.outcome import COMMANDS, worded
from pagefault.model import errors
from pagefault.model.signatures import hints
from tests.scripts import sync_script

INSIDE = sync_script().LEFT_OUT
"""What the floors around it call, and no user: `script/sync.py` says why, verb by verb."""


def _verbs(cls: type) -> dict[str, object]:
    return {
        name: value
        for part in reversed(cls.__mro__[:-1])
        for name, value in vars(part).items()
        if not name.startswith("_") and f"{cls.__name__}.{name}" not in INSIDE and callable(value)
    }


@pytest.mark.parametrize("name", ["Memory", "Session"])
def test_the_synchronous_verbs_are_the_asynchronous_ones(name: str) -> None:
    ours, theirs = getattr(pagefault, name), getattr(pagefault.sync, name)
    verbs = set(_verbs(ours))
    assert set(_verbs(theirs)) == verbs
    for verb in verbs:
        expected = inspect.signature(getattr(ours, verb))
        found = inspect.signature(getattr(theirs, verb))
        assert list(found.parameters) == list(expected.parameters), verb
        for parameter, told in expected.parameters.items():
            assert found.parameters[parameter].default == told.default, f"{verb}({parameter})"
            assert found.parameters[parameter].kind == told.kind, f"{verb}({parameter})"


def test_opening_takes_the_same_either_way() -> None:
    ours = inspect.signature(pagefault.open).parameters
    theirs = inspect.signature(pagefault.sync.open).parameters
    assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in theirs.items()}


@pytest.mark.parametrize("name", [name for name in pagefault.__all__ if name != "sync"])
def test_every_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(pagefault, name))


@pytest.mark.parametrize("cls", [pagefault.Memory, pagefault.Session])
def test_every_verb_says_what_it_promises(cls: type) -> None:
    for name, verb in _verbs(cls).items():
        assert inspect.getdoc(verb) or name == "status", name


def test_every_error_is_of_one_family() -> None:
    families = {errors.CallerError, errors.ModelError, errors.StoreError, errors.EngineError}
    for value in vars(errors).values():
        is_error = isinstance(value, type) and issubclass(value, errors.PagefaultError)
        if is_error and value not in families | {errors.PagefaultError}:
            assert sum(issubclass(value, family) for family in families) == 1, value


# --- what signatures name -----------------------------------------------------------------------

BEHIND = {"Broke", "Disagreement", "Found", "Habits"}
"""Named in what the library hands out, and looked at by nobody who did not make it."""


def _classes(hint: object) -> Iterator[type]:
    while isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    inner = typing.get_args(hint)
    for one in inner:
        for each in one if isinstance(one, list) else [one]:
            yield from _classes(each)
    if not inner and isinstance(hint, type):
        yield hint


def _hints_of(value: object) -> Iterator[object]:
    if isinstance(value, types.FunctionType):
        yield from hints(value).values()
    if not isinstance(value, type):
        return
    if dataclasses.is_dataclass(value):
        yield from typing.get_type_hints(value).values()
    for part in value.__mro__:
        for name, made in vars(part).items() if part.__module__.startswith("pagefault") else ():
            is_made_here = value in (pagefault.Memory, pagefault.Session)
            if not name.startswith("_") or (name == "__init__" and not is_made_here):
                verb = made.fget if isinstance(made, property) else made
                if isinstance(verb, types.FunctionType):
                    yield from hints(verb).values()


def test_whatever_a_public_signature_names_can_be_imported_from_here() -> None:
    named = {
        cls
        for name in pagefault.__all__
        if name != "sync"
        for hint in _hints_of(getattr(pagefault, name))
        for cls in _classes(hint)
    }
    ours = {c for c in named if c.__module__.startswith("pagefault")}
    records = {c for c in ours if c.__module__ == "pagefault.model.events"}
    assert {c.__name__ for c in ours - records} - set(pagefault.__all__) == BEHIND


@pytest.mark.parametrize("cls", [pagefault.Memory, pagefault.Session])
def test_the_ids_that_verbs_give_and_take_can_be_named(cls: type) -> None:
    """They are no classes at run time, and a program that is typed names them."""
    told = " ".join(str(inspect.signature(getattr(cls, verb))) for verb in _verbs(cls))
    ids = {name for name in ("PageId", "Seq") if re.search(rf"\b{name}\b", told)}
    assert ids
    assert ids <= set(pagefault.__all__)


FACES = [pagefault.Memory, pagefault.Session, pagefault.sync.Memory, pagefault.sync.Session]
FOR_OURSELVES = {
    *("Limits", "PriceList", "QuotaExceeded", "Quotas", "Retries", "Source", "Tally", "Target"),
    *("SearchFilter.admits", "SearchFilter.admits_origin", "SearchResult.marked"),
}
"""What only sums up, or asks a value of itself: nothing of it is written, or begun."""


def test_whatever_else_is_public_and_takes_something_checks_it() -> None:
    made = {name: getattr(pagefault, name) for name in pagefault.__all__}
    functions = {name: one for name, one in made.items() if isinstance(one, types.FunctionType)}
    methods = {
        f"{name}.{verb}": method
        for name, cls in made.items()
        if isinstance(cls, type) and not getattr(cls, "_is_protocol", False)
        if name not in FOR_OURSELVES
        for verb, method in vars(cls).items()
        if isinstance(method, types.FunctionType) and not verb.startswith("_")
        if len(inspect.signature(method).parameters) > 1
    }
    unchecked = {name for name, f in (functions | methods).items() if inspect.unwrap(f) is f}
    assert unchecked <= FOR_OURSELVES


def _call(face: object, verb: str, given: dict[str, Any]) -> None:
    result = getattr(face, verb)(**given)
    if inspect.iscoroutine(result):
        pagefault.sync._LOOP.run(result)


@pytest.mark.parametrize("cls", FACES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_no_verb_takes_what_it_cannot_use(cls: type) -> None:
    """Each argument of each verb in turn, with others that are as their signature says."""
    with pagefault.sync.open(":memory:") as memory:
        session = memory.session("work")
        session.user("Hello.")
        [row] = memory.pages(session)
        face: dict[type, Any] = {
            pagefault.sync.Memory: memory,
            pagefault.sync.Session: session,
            pagefault.Memory: memory._memory,
            pagefault.Session: session.asynchronous,
        }
        fitting: dict[Any, Any] = {
            **face,
            str: "work",
            int: 1,
            bytes: b"x",
            pagefault.PageRow: row,
            pagefault.Usage: pagefault.Usage(input_tokens=1, output_tokens=1),
            pagefault.ToolCall: pagefault.ToolCall("c", "page_fault", ""),
            pagefault.Engine: pagefault.ScriptedEngine(),
        }
        before = memory.records
        for name, verb in _verbs(cls).items():
            assert isinstance(verb, types.FunctionType)
            told = hints(verb)
            needed = {
                p: next((fitting[one] for one in _classes(told[p]) if one in fitting), ())
                if typing.get_origin(told[p]) is not Sequence
                else ()
                for p, one in inspect.signature(verb).parameters.items()
                if p != "self" and one.default is one.empty
            }
            for spoilt in set(told) - {"return"}:
                with pytest.raises(pagefault.BadInput, match=f"^{spoilt} is ") as refused:
                    _call(face[cls], name, needed | {spoilt: object()})
                assert f"help(pagefault.{cls.__name__}.{name})" in refused.value.hint
        assert memory.records == before


@pytest.mark.parametrize("cls", FACES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_argument_of_every_verb_is_checked(cls: type) -> None:
    for name, verb in _verbs(cls).items():
        assert isinstance(verb, types.FunctionType)
        plain = inspect.unwrap(verb)
        assert plain is not verb, f"{name} is not checked"
        told = set(plain.__annotations__) - {"return"}
        assert told <= set(hints(verb)), f"{name}: what it takes cannot be looked up"


# --- what errors say ----------------------------------------------------------------------------


def test_a_traceback_says_what_to_do_next() -> None:
    with pytest.raises(errors.SessionNotFound) as raised:
        raise errors.SessionNotFound("planning")
    error = raised.value
    assert error.hint in str(error)
    assert error.hint in "".join(traceback.format_exception(error))
    assert error.hint not in f"{error}", "in another message it is the message alone"


SOURCES = Path(pagefault.__file__).parent
NO_CALL = {"archive", "upgrade", "repair", "rebuild", "config", "models", "chat", "serve", "replay"}
"""Commands for which a program has no call."""


def _texts() -> Iterator[tuple[str, str]]:
    """The texts of the library, front ends apart, without what documents it."""
    for path in sorted(SOURCES.rglob("*.py")):
        if path.relative_to(SOURCES).parts[0] in (
            "cli",
            "dashboard",
            "lab",
            "proxy",
            "studio",
            "testing",
            "views",
        ):
            continue
        text = path.read_text()
        if not re.search("`(pagefault|Memory|Session)", text):
            continue
        tree = ast.parse(text)
        said = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in said:
                yield path.name, node.value  # type: ignore[attr-defined]


def test_hints_of_the_library_name_calls_and_commands_only_where_there_is_none() -> None:
    for name, text in _texts():
        for command in re.findall(r"`pagefault (\w+)", text):
            assert command in NO_CALL | {"verify"} or name == "backup.py", (name, text)
        for cls, verb in re.findall(r"`(Memory|Session)\.(\w+)`", text):
            assert hasattr(getattr(pagefault, cls), verb), (name, text)
            assert f"{cls}.{verb}" in COMMANDS, (name, text)


def test_the_command_line_words_a_hint_in_its_commands() -> None:
    assert worded(errors.SessionNotFound("x").hint) == "`pagefault sessions` lists what there is"
    assert "Memory" not in worded(errors.StoreCorrupt.hint)
    assert worded("lower `window`, or `nothing`") == "lower --window, or `nothing`"
