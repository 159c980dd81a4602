"""Fast construction of frozen values.

In a frozen dataclass an assignment is refused, so the `__init__` that `dataclasses` makes calls
`object.__setattr__` for each field. Every message becomes half a dozen values with ten to twenty
fields, and those calls were a tenth of its cost. With `fast_init`, an object is of a subclass while
its fields are set, one that allows assignments, and the interpreter stores each field directly.
Then it is of its own class, and frozen, before anybody else has it. Objects of an heir are made as
`dataclasses` makes them.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

_SET: Final = object.__setattr__


def fast_init(cls: type[T]) -> type[T]:
    """A decorator for a frozen dataclass with slots that is made for every message. What `__init__`
    takes and does stays as `dataclasses` defines it. A field has no default factory.
    """
    data: Any = cls
    unfrozen = type(
        f"_Unfrozen{cls.__name__}",
        (cls,),
        {"__slots__": (), "__setattr__": _SET, "__delattr__": object.__delattr__},
    )
    space = {"__name__": cls.__module__, "_set": _SET, "_unfrozen": unfrozen, "_own": cls}
    space["_slowly"] = data.__init__
    taken: dict[bool, list[str]] = {False: [], True: []}  # by whether only a keyword gives it
    for one in fields(data):
        assert one.default_factory is MISSING, f"{cls.__name__}.{one.name}"
        default = "" if one.default is MISSING else f"=_default_{one.name}"
        space[f"_default_{one.name}"] = one.default
        taken[one.kw_only is True].append(one.name + default)
    named = ["*", *taken[True]] if taken[True] else []
    each = [f"{one.name}={one.name}" for one in fields(data)]
    lines = [
        f"def __init__({', '.join(['self', *taken[False], *named])}):",
        f" if self.__class__ is not _own: return _slowly({', '.join(['self', *each])})",
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
