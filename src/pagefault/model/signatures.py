"""Validates the arguments of public calls against their signatures, before the call does anything.

A signature states what a verb takes, but Python does not enforce it. `checked` does: a wrong type
is `BadInput`, naming the argument, rather than a failure in the middle of a verb, or a record that
cannot be read back. New verbs need nothing extra. Constraints beyond the type (which names exist,
how large a number may be) are checked where values are made: `service/arguments.py`.

A signature that ends in `**options: Unpack[Options]` takes the keys of that typed dict, each by its
own type: `inspect.signature` and `help` list them.

A number is not a bool, and is finite; a text is encodable Unicode; a text is not a sequence of
texts. A value given by a protocol has its methods.

A verb receives the plain value of the declared type: an `str` for an enumeration member or a numpy
string, a tuple for a list, `bytes` for a `bytearray`. So neither a subclass's behaviour nor a later
mutation by the caller reaches the log.
"""

from __future__ import annotations

import collections.abc
import difflib
import functools
import inspect
import math
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, Literal, TypeVar, Union

from pagefault.model.errors import BadInput
from pagefault.model.texts import check_text

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

_WRITTEN_MAX: Final = 10**40
INT_MAX: Final = (1 << 53) - 1
"""The largest integer that a call takes and a record may hold: every JSON reader, and a column of
SQLite, hold it exactly.
"""

ANY_TEXT: Final = "whatever a model wrote, be it Unicode or not"
"""In `Annotated[str, ANY_TEXT]`: a text that may contain what no file can hold."""

ANY_VALUE: Final = "whoever takes it says what is wrong with it"
"""In `Annotated[…, ANY_VALUE]`: a value that is checked where it is used."""

Take = Callable[[object], object]
"""The plain value of an argument, or `_REFUSED`."""

Usable = Callable[[Any], Awaitable[None] | None]
"""Raises if an object can no longer be used; its result is awaited before the verb."""

_REFUSED: Final = object()


def checked_verbs(
    usable: Usable | None = None,
) -> Callable[[type[C]], type[C]]:
    """A class decorator that makes public verbs `checked`. Coroutine verbs also call `usable`,
    which raises if the object can no longer be used, and may return something to await first;
    `close`, which is idempotent, does not.
    """

    def decorate(cls: type[C]) -> type[C]:
        for name, verb in list(vars(cls).items()):
            if inspect.isfunction(verb) and not name.startswith("_"):
                setattr(cls, name, checked(verb, usable=None if name == "close" else usable))
        return cls

    return decorate


def checked(verb: F, *, usable: Usable | None = None) -> F:
    """The same verb, raising `BadInput` for arguments that its signature does not accept."""
    signature = _signature(verb)
    if signature != inspect.signature(verb):
        vars(verb)["__signature__"] = signature  # copied by the wrapper
    is_method = next(iter(signature.parameters), "") == "self"

    def called_on(args: tuple[Any, ...]) -> str:
        """The caller's name for it: a verb by the class of its object, inherited or not."""
        of = type(args[0]).__qualname__ if is_method and args else ""
        return ".".join(one for one in (of, verb.__name__) if one not in ("", "__init__"))

    @functools.cache
    def expected() -> dict[str, tuple[Take, str]]:
        return {name: _expected(hint) for name, hint in hints(verb).items() if name != "return"}

    parameters = signature.parameters.values()
    in_order = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    simple = {
        one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    needed = {one.name for one in parameters if one.default is one.empty}
    is_simple = len(simple) == len(parameters)

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The value of each argument. `Signature.bind` takes a fifth of a short verb's time, so it
        is used only for unusual and for wrong calls.
        """
        if is_simple and len(args) <= len(in_order):
            given = dict(zip(in_order, args, strict=False))
            if simple >= kwargs.keys() and given.keys().isdisjoint(kwargs):
                given |= kwargs
                if needed <= given.keys():
                    return given
        return signature.bind(*args, **kwargs).arguments

    def taken(
        args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            given = bound(args, kwargs)
        except TypeError as wrong:
            meant = _meant(signature, kwargs)
            raise TypeError(f"{called_on(args)}: {wrong}{meant}") from None
        known, plain_of = expected(), dict[str, Any]()
        for name, value in given.items():
            if name not in known:
                continue
            take, words = known[name]
            plain = take(value)
            if plain is _REFUSED:
                raise _refusal(called_on(args), name, words, value)
            if plain is not value:
                plain_of[name] = plain
        if not plain_of:
            return args, kwargs
        if is_simple:
            plain_args = [plain_of.get(*one) for one in zip(in_order, args, strict=False)]
            return tuple(plain_args), {name: plain_of.get(name, kwargs[name]) for name in kwargs}
        told = signature.bind(*args, **kwargs)
        told.arguments |= plain_of
        return told.args, told.kwargs

    if inspect.iscoroutinefunction(verb):

        @functools.wraps(verb)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = taken(args, kwargs)
            if usable is not None and (first := usable(args[0])) is not None:
                await first
            return await verb(*args, **kwargs)

        return typing.cast(F, awaited)

    @functools.wraps(verb)
    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = taken(args, kwargs)
        return verb(*args, **kwargs)

    return typing.cast(F, called)


def check_fields(value: Any) -> None:
    """Convert each field of a dataclass to the plain value of its declared type. `BadInput` if that
    is impossible.
    """
    cls: Any = type(value)
    for name, take, words, default in _fields_expected(cls):
        given = getattr(value, name)
        if given is default:
            continue
        plain = take(given)
        if plain is _REFUSED:
            raise _refusal(cls.__qualname__, name, words, given)
        if plain is not given:
            object.__setattr__(value, name, plain)


def hints(verb: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations of a callable, without those unknown at run time."""
    told: dict[str, Any] = {}
    where = getattr(inspect.unwrap(verb), "__globals__", {})
    for name, hint in inspect.unwrap(verb).__annotations__.items():
        try:
            told[name] = eval(hint, where) if isinstance(hint, str) else hint  # noqa: S307
        except NameError:  # imported for type checkers only
            continue
        if typing.get_origin(told[name]) is typing.Unpack:
            [options] = typing.get_args(told.pop(name))
            told |= typing.get_type_hints(options, include_extras=True)
    return told


class _LeftOut:
    """The default of an optional key of a typed dict."""

    def __repr__(self) -> str:
        return "..."


_LEFT_OUT: Final = _LeftOut()


def _signature(verb: Callable[..., Any]) -> inspect.Signature:
    """The signature of a callable, with a typed dict's keys in place of `**options: Unpack[…]`."""
    told = inspect.signature(verb)
    named = [one for one in told.parameters.values() if one.kind is not one.VAR_KEYWORD]
    if len(named) == len(told.parameters):
        return told
    keys = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_LEFT_OUT, annotation=hint)
        for name, hint in hints(verb).items()
        if name not in told.parameters and name != "return"
    ]
    return told.replace(parameters=[*named, *keys]) if keys else told


def _meant(signature: inspect.Signature, given: Mapping[str, object]) -> str:
    """The argument that a misspelt name probably meant, if one is near."""
    unknown = [name for name in given if name not in signature.parameters]
    near = difflib.get_close_matches(unknown[0], signature.parameters, 1) if unknown else []
    return f": did you mean {near[0]!r}?" if near else ""


def _refusal(called: str, name: str, words: str, value: object) -> BadInput:
    got = type(value).__name__
    if words.endswith(f" {got}"):  # an argument has that name
        got = f"{type(value).__module__}.{got}"
    if _is(value, str):
        try:
            check_text(typing.cast(str, _any_text(value)), called=name)
        except BadInput as flaw:
            return flaw
    if _is(value, int | float) and not _is(value, bool):
        number = _plain_number(value)
        # Python refuses to print an integer of more than 4,300 digits.
        got = "a number that large" if abs(number) > _WRITTEN_MAX else f"{number!r:.40}"
    return BadInput(
        f"{name} is {words}, not {got}", hint=f"help(pagefault.{called}) shows what it accepts"
    )


@functools.cache
def _fields_expected(cls: type) -> list[tuple[str, Take, str, object]]:
    """For each field: its name, its converter, its type's name, and its default."""
    told = typing.get_type_hints(cls, include_extras=True)
    return [(one.name, *_expected(told[one.name]), one.default) for one in fields(cls)]


def _expected(hint: Any) -> tuple[Take, str]:
    """The converter to a type, and the type's name."""
    while isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if typing.get_origin(hint) is Annotated:
        if ANY_TEXT in hint.__metadata__:
            return _any_text, "a str"
        if ANY_VALUE in hint.__metadata__:
            return _anything
        hint = typing.get_args(hint)[0]
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(*map(_expected, inner))
    if origin is Literal:
        return _literal(*inner)
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _many(tuple, inner[0], "a tuple")
    if origin is tuple:
        return _row(*inner)
    if origin is collections.abc.Mapping:
        return _mapping(*inner)
    if origin is collections.abc.Callable:
        return (lambda value: value if callable(value) else _REFUSED), "a function"
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return _many(origin, inner[0], "a list" if origin is not frozenset else "a set")
    if isinstance(hint, type):
        return _instance(hint)
    return _anything


# --- composite types ------------------------------------------------------------------------------


def _one_of(*each: tuple[Take, str]) -> tuple[Take, str]:
    takes = [take for take, _ in each]

    def take(value: object) -> object:
        for one in takes:
            if (plain := one(value)) is not _REFUSED:
                return plain
        return _REFUSED

    return take, " or ".join(dict.fromkeys(words for _, words in each))


def _literal(*known: Any) -> tuple[Take, str]:
    def take(value: object) -> object:
        plain = _text(value) if _is(value, str) else value
        same = (one for one in known if type(one) is type(plain) and one == plain)
        return next(same, _REFUSED)

    return take, f"one of {', '.join(map(repr, known))}"


def _many(container: type, item: Any, words: str) -> tuple[Take, str]:
    take_one, of = _expected(item)
    made: Callable[[Any], object] = frozenset if container is frozenset else tuple

    def take(value: object) -> object:
        if _is(value, str | bytes | bytearray | memoryview) or not _is(value, container):
            return _REFUSED
        if not isinstance(value, collections.abc.Collection):
            return value  # can be read only once: the consumer checks it
        plain = [take_one(one) for one in value]
        return _REFUSED if any(one is _REFUSED for one in plain) else made(plain)

    return take, f"{words}, each {of}"


def _row(*items: Any) -> tuple[Take, str]:
    """A tuple of fixed length, each value with its own type."""
    each = [_expected(item) for item in items]

    def take(value: object) -> object:
        if not isinstance(value, tuple) or len(value) != len(each):
            return _REFUSED
        plain = tuple(take(one) for (take, _), one in zip(each, value, strict=True))
        return _REFUSED if any(one is _REFUSED for one in plain) else plain

    return take, f"a tuple of {', '.join(of for _, of in each)}"


def _mapping(key: Any, value: Any) -> tuple[Take, str]:
    (take_key, _), (take_value, of) = _expected(key), _expected(value)

    def take(given: object) -> object:
        if not isinstance(given, Mapping):
            return _REFUSED
        plain = {take_key(k): take_value(v) for k, v in given.items()}
        is_refused = _REFUSED in plain or any(one is _REFUSED for one in plain.values())
        return _REFUSED if is_refused else plain

    return take, f"a dict, each value {of}"


def _instance(cls: type) -> tuple[Take, str]:
    article = "an" if cls.__name__[0] in "AEIOU" else "a"
    words = f"{article} {cls.__name__}"
    if not getattr(cls, "_is_protocol", False):
        return (lambda value: value if _is(value, cls) else _REFUSED), words
    methods = [name for part in cls.__mro__ for name in vars(part) if not name.startswith("_")]
    named = " and ".join(f"`{name}`" for name in methods)

    def take(value: object) -> object:
        if isinstance(value, type):
            return _REFUSED  # the class itself, not an instance
        has = all(inspect.getattr_static(value, name, None) is not None for name in methods)
        return value if has else _REFUSED

    return take, f"{words} (it has {named})" if methods else words


# --- plain types --------------------------------------------------------------------------------


def _is(value: object, cls: Any) -> bool:
    """Whether it has a type, whatever it claims: a proxy can fake `__class__`."""
    return issubclass(type(value), cls)


def _any_text(value: object) -> object:
    if type(value) is str:
        return value
    return str.__str__(typing.cast(str, value)) if _is(value, str) else _REFUSED


def _text(value: object) -> object:
    plain = _any_text(value)
    if plain is not _REFUSED:
        try:
            check_text(typing.cast(str, plain), called="")
        except BadInput:
            return _REFUSED
    return plain


def _plain_number(value: object) -> int | float:
    if _is(value, int):
        return int.__int__(typing.cast(int, value))
    return float.__float__(typing.cast(float, value))


def _whole(value: object) -> object:
    if not _is(value, int) or _is(value, bool):
        return _REFUSED
    plain = _plain_number(value)
    return plain if -INT_MAX <= plain <= INT_MAX else _REFUSED


def _number(value: object) -> object:
    if not _is(value, float):
        return _whole(value)
    plain = _plain_number(value)
    return plain if math.isfinite(plain) else _REFUSED


def _bytes(value: object) -> object:
    if type(value) is bytes:
        return value
    if not _is(value, bytes | bytearray | memoryview):
        return _REFUSED
    try:
        return memoryview(typing.cast(bytes, value)).tobytes()
    except ValueError:  # a released view
        return _REFUSED


_anything: Final[tuple[Take, str]] = (lambda value: value), "anything"
_nothing: Final[tuple[Take, str]] = (lambda value: None if value is None else _REFUSED), "None"

_PLAIN: Final[dict[Any, tuple[Take, str]]] = {
    str: (_text, "a str"),
    int: (_whole, "a whole number"),
    float: (_number, "a number"),
    bool: ((lambda value: value if _is(value, bool) else _REFUSED), "True or False"),
    bytes: (_bytes, "bytes"),
    None: _nothing,
    type(None): _nothing,
    Any: _anything,
    object: _anything,
}
