"""`fast_init` changes nothing but the time that it takes to make a value."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from pagefault.model.construction import fast_init
from pagefault.model.events import Called, Draft, Event, Returned, Said
from pagefault.model.page import Page, PageRow
from pagefault.paging.questions import Resident
from pagefault.service.turn.drafts import Incoming
from pagefault.window.slots import Item

DECORATED = [Said, Called, Returned, Draft, Event, Page, PageRow, Resident, Incoming, Item]


@dataclass(frozen=True, slots=True)
class Base:
    first: int
    second: str = "two"


@dataclass(frozen=True, slots=True)
class Plain(Base):
    """The same fields and checks as `Quick`, made by `dataclasses` alone."""

    third: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")
        object.__setattr__(self, "second", self.second.strip())


@fast_init
@dataclass(frozen=True, slots=True)
class Quick(Base):
    third: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")
        object.__setattr__(self, "second", self.second.strip())


def test_it_takes_what_the_plain_class_takes_and_has_the_same_fields() -> None:
    assert inspect.signature(Quick) == inspect.signature(Plain)
    given: list[tuple[tuple[Any, ...], dict[str, Any]]]
    given = [((1,), {}), ((1, " b "), {"third": (3,)}), ((), {"first": 4})]
    for args, named in given:
        quick, plain = Quick(*args, **named), Plain(*args, **named)
        assert type(quick) is Quick
        assert repr(quick) == repr(plain).replace("Plain", "Quick")
        assert quick == Quick(*args, **named)
        assert hash(quick) == hash(plain)
    wrongs: list[dict[str, Any]] = [{}, {"first": 1, "fourth": 4}]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            Quick(**wrong)
    with pytest.raises(ValueError, match="negative"):
        Quick(-1)


class Heir(Quick):
    """Another module's, which wants more of the class; with a `__dict__`."""


class SlottedHeir(Quick):
    __slots__ = ("more",)


class AskedHeir(Quick):
    __slots__ = ()

    def __init__(self, first: int) -> None:
        super().__init__(first, second=" b ")


@pytest.mark.parametrize("heir", [Heir, SlottedHeir, AskedHeir])
def test_an_heir_makes_its_own_objects(heir: type[Quick]) -> None:
    made = heir(1)
    assert type(made) is heir
    assert (made.first, made.second, made.third) == (1, "b" if heir is AskedHeir else "two", ())
    with pytest.raises(FrozenInstanceError):
        made.first = 2  # type: ignore[misc]
    with pytest.raises(ValueError, match="negative"):
        heir(-1)


def test_a_field_that_init_would_not_set_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Computed:
        first: int
        made: int = field(default=0, init=False)

    @dataclass(frozen=True, slots=True)
    class Growing:
        made: list[int] = field(default_factory=list)

    for wrong in (Computed, Growing):
        with pytest.raises(AssertionError, match="made"):
            fast_init(wrong)


def test_it_is_frozen_as_soon_as_anybody_has_it() -> None:
    quick = Quick(1)
    with pytest.raises(FrozenInstanceError):
        quick.first = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del quick.first
    assert replace(quick, second="b") == Quick(1, "b")
    assert pickle.loads(pickle.dumps(quick)) == copy.copy(quick) == quick


@pytest.mark.parametrize("cls", DECORATED)
def test_a_decorated_class_is_frozen_and_has_no_subclasses(cls: type) -> None:
    """A subclass would be made slowly."""
    subclasses: list[type] = cls.__subclasses__()
    assert [one.__name__ for one in subclasses] == [f"_Unfrozen{cls.__name__}"]
    given = inspect.signature(cls).parameters
    assert set(given) == {one.name for one in fields(cls)}
    needed = {name: name for name, one in given.items() if one.default is one.empty}
    if cls is not Incoming:  # it checks its fields
        made = cls(**needed)
        assert type(made) is cls
        assert all(
            getattr(made, one.name) == needed.get(one.name, one.default) for one in fields(cls)
        )
        with pytest.raises(FrozenInstanceError):
            setattr(made, fields(cls)[0].name, None)
