"""Checks what a public call is given against its own signature, before it does anything.

A signature says already what a verb takes; Python does not look at it. `checked` does, so that a
wrong type is `BadInput`, naming the argument, and never a fault in the middle of a verb, or a
record that nobody can read back. There is nothing to add for a new verb. What a value may be beyond
its type (which names there are, how large a number) is checked where values are made of it:
`service/arguments.py`.

A number is no bool, and finite; a text is Unicode that can be written down; a sequence of texts is
not a text. What is given by its protocol has its methods.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, Literal, TypeVar, Union

from pagefault.model.errors import BadInput
from pagefault.model.texts import check_text

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

_WRITTEN_MAX: Final = 10**40
INT_MAX: Final = (1 << 53) - 1
"""The largest whole number that a call takes and a record may hold: every reader of JSON holds it
exactly, and so does a column of SQLite.
"""

ANY_TEXT: Final = "whatever a model wrote, be it Unicode or not"
"""In `Annotated[str, ANY_TEXT]`: a text that may have what no file can hold."""

Check = Callable[[object], bool]


def checked_verbs(usable: Callable[[Any], None]) -> Callable[[type[C]], type[C]]:
    """A class whose public verbs are `checked`. Those that are awaited ask `usable` besides, which
    raises where the object can be used no more; but for `close`, which may be repeated.
    """

    def decorate(cls: type[C]) -> type[C]:
        for name, verb in list(vars(cls).items()):
            if inspect.isfunction(verb) and not name.startswith("_"):
                setattr(cls, name, checked(verb, usable=None if name == "close" else usable))
        return cls

    return decorate


def checked(verb: F, *, usable: Callable[[Any], None] | None = None) -> F:
    """The same verb, which raises `BadInput` for what its signature does not take."""
    signature = inspect.signature(verb)

    @functools.cache
    def expected() -> dict[str, tuple[Check, str]]:
        return {name: _expected(hint) for name, hint in hints(verb).items() if name != "return"}

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as wrong:
            raise TypeError(f"{verb.__qualname__}: {wrong}") from None
        known = expected()
        for name, value in given.items():
            if name not in known:
                continue
            accepts, words = known[name]
            if not accepts(value):
                raise _refusal(verb, name, words, value)

    if inspect.iscoroutinefunction(verb):

        @functools.wraps(verb)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            if usable is not None:
                usable(args[0])
            return await verb(*args, **kwargs)

        return typing.cast(F, awaited)

    @functools.wraps(verb)
    def called(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return verb(*args, **kwargs)

    return typing.cast(F, called)


def check_fields(value: Any) -> None:
    """Raise `BadInput` unless each field of a dataclass is what it is declared to be."""
    cls: Any = type(value)
    for name, (accepts, words) in _fields_expected(cls).items():
        if not accepts(getattr(value, name)):
            raise _refusal(cls, name, words, getattr(value, name))


def hints(verb: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a callable, resolved; those that are not known at run time left out."""
    told: dict[str, Any] = {}
    where = getattr(inspect.unwrap(verb), "__globals__", {})
    for name, hint in inspect.unwrap(verb).__annotations__.items():
        try:
            told[name] = eval(hint, where) if isinstance(hint, str) else hint  # noqa: S307
        except NameError:  # imported for type checkers alone
            continue
    return told


def _refusal(of: Any, name: str, words: str, value: object) -> BadInput:
    got = type(value).__name__
    if isinstance(value, str):
        try:
            check_text(value, called=name)
        except BadInput as flaw:
            return flaw
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Python refuses to write out an integer of more than 4,300 digits.
        got = "a number that large" if abs(value) > _WRITTEN_MAX else f"{value!r:.40}"
    called = of.__qualname__.removesuffix(".__init__").replace("Asking.", "Session.")
    return BadInput(
        f"{name} is {words}, not {got}", hint=f"help(pagefault.{called}) tells what it takes"
    )


@functools.cache
def _fields_expected(cls: type) -> dict[str, tuple[Check, str]]:
    told = typing.get_type_hints(cls)
    return {field.name: _expected(told[field.name]) for field in fields(cls)}


def _expected(hint: Any) -> tuple[Check, str]:
    """Whether a value is of a type, and what that type is called."""
    while isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if typing.get_origin(hint) is Annotated and ANY_TEXT in hint.__metadata__:
        return (lambda value: isinstance(value, str)), "a str"
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        each = [_expected(one) for one in inner]
        words = " or ".join(dict.fromkeys(words for _, words in each))
        return (lambda value: any(accepts(value) for accepts, _ in each)), words
    if origin is Literal:
        return (lambda value: value in inner), f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _many(tuple, inner[0], "a tuple")
    if origin is tuple:
        return _row(*inner)
    if origin is collections.abc.Mapping:
        return _mapping(*inner)
    if origin is collections.abc.Callable:
        return callable, "a function"
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return _many(origin, inner[0], "a list" if origin is not frozenset else "a set")
    if isinstance(hint, type):
        return _instance(hint)
    return (lambda value: True), "anything"


def _many(container: type, item: Any, words: str) -> tuple[Check, str]:
    accepts, of = _expected(item)

    def are(value: object) -> bool:
        is_text = isinstance(value, str | bytes | bytearray)
        if is_text or not isinstance(value, container):
            return False
        if not isinstance(value, collections.abc.Collection):
            return True  # read once: whoever reads it checks
        return all(map(accepts, value))

    return are, f"{words}, each {of}"


def _row(*items: Any) -> tuple[Check, str]:
    """A tuple of so many values, each of its own type."""
    each = [_expected(item) for item in items]

    def is_row(value: object) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(each)
            and all(accepts(one) for (accepts, _), one in zip(each, value, strict=True))
        )

    return is_row, f"a tuple of {', '.join(of for _, of in each)}"


def _mapping(key: Any, value: Any) -> tuple[Check, str]:
    (is_key, _), (is_value, of) = _expected(key), _expected(value)

    def are(given: object) -> bool:
        return isinstance(given, Mapping) and all(
            is_key(k) and is_value(v) for k, v in given.items()
        )

    return are, f"a dict, each value {of}"


def _instance(cls: type) -> tuple[Check, str]:
    article = "an" if cls.__name__[0] in "AEIOU" else "a"
    words = f"{article} {cls.__name__}"
    if not getattr(cls, "_is_protocol", False):
        return (lambda value: isinstance(value, cls)), words
    methods = [name for part in cls.__mro__ for name in vars(part) if not name.startswith("_")]
    named = " and ".join(f"`{name}`" for name in methods)

    def has(value: object) -> bool:
        if isinstance(value, type):
            return False  # the class, and not one of it
        return all(inspect.getattr_static(value, name, None) is not None for name in methods)

    return has, f"{words} (it has {named})" if methods else words


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        check_text(value, called="")
    except BadInput:
        return False
    return True


def _is_whole(value: object) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and -INT_MAX <= typing.cast(int, value) <= INT_MAX


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


_PLAIN: Final[dict[Any, tuple[Check, str]]] = {
    str: (_is_text, "a str"),
    int: (_is_whole, "a whole number"),
    float: (_is_number, "a number"),
    bool: (lambda value: isinstance(value, bool), "True or False"),
    bytes: (lambda value: isinstance(value, bytes | bytearray | memoryview), "bytes"),
    None: (lambda value: value is None, "None"),
    type(None): (lambda value: value is None, "None"),
    Any: (lambda value: True, "anything"),
    object: (lambda value: True, "anything"),
}
