"""The public face: what it offers asynchronously it offers synchronously, documented and typed."""

from __future__ import annotations

import inspect

import pytest

import pagefault
import pagefault.sync
from pagefault.model import errors

INSIDE = {
    "calls_that_fit",
    "check",
    "fault_counts",
    "no_such_page",
    "visible",
}
"""Of a session: what the floors around it call, and no user."""


def _verbs(cls: type) -> dict[str, object]:
    return {
        name: value
        for part in reversed(cls.__mro__[:-1])
        for name, value in vars(part).items()
        if not name.startswith("_") and name not in INSIDE and callable(value)
    }


@pytest.mark.parametrize("name", ["Memory", "Session"])
def test_the_synchronous_verbs_are_the_asynchronous_ones(name: str) -> None:
    ours, theirs = getattr(pagefault, name), getattr(pagefault.sync, name)
    verbs = set(_verbs(ours)) - {"close"}
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
