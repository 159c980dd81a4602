"""Fast construction of frozen values.

A frozen dataclass refuses assignments, so the `__init__` that `dataclasses` makes calls
`object.__setattr__` for each field. Every message becomes half a dozen values with up to two dozen
fields, and those calls would be a tenth of its cost. With `fast_init`, an object belongs to a
subclass that allows assignments while its fields are set, and the interpreter stores each field
directly. It gets its own class back, and is frozen, before the caller or `__post_init__` sees it.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

_SET: Final = object.__setattr__


def fast_init(cls: type[T]) -> type[T]:
    """Decorate a frozen dataclass with slots that every message makes objects of. What `__init__`
    takes and does stays as `dataclasses` defines it. Each field is an argument of `__init__`, and
    has no default factory. Objects of a subclass are made as `dataclasses` makes them.
    """
    data: Any = cls
    # One slot of a type serves assignment and deletion: with `__setattr__` alone, each assignment
    # is still dispatched in Python, and nothing is gained.
    unfrozen = type(
        f"_Unfrozen{cls.__name__}",
        (cls,),
        {"__slots__": (), "__setattr__": _SET, "__delattr__": object.__delattr__},
    )
    space = {"__name__": cls.__module__, "_set": _SET, "_unfrozen": unfrozen, "_own": cls}
    space["_slowly"] = data.__init__
    positional, keyword = ["self"], list[str]()
    for one in fields(data):
        assert one.init, f"{cls.__name__}.{one.name}"
        assert one.default_factory is MISSING, f"{cls.__name__}.{one.name}"
        default = "" if one.default is MISSING else f"=_default_{one.name}"
        space[f"_default_{one.name}"] = one.default
        (keyword if one.kw_only else positional).append(one.name + default)
    parameters = [*positional, "*", *keyword] if keyword else positional
    each = ["self", *(f"{one.name}={one.name}" for one in fields(data))]
    lines = [
        f"def __init__({', '.join(parameters)}):",
        f" if self.__class__ is not _own: return _slowly({', '.join(each)})",
        " _set(self, '__class__', _unfrozen)",
        *(f" self.{one.name} = {one.name}" for one in fields(data)),
        " self.__class__ = _own",
    ]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join(lines), space)  # noqa: S102 - as `dataclasses` makes its own
    made: Any = space["__init__"]
    made.__annotations__ = data.__init__.__annotations__
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    data.__init__ = made
    return cls
