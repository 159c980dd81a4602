"""Settings that name a model, and the loading of `python:MODULE:NAME`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

from pagefault.model.errors import BadInput

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelSpec(ABC, Generic[Model]):
    """A setting, and the default endpoint of its remote form.

    `FORM:MODEL@URL` sends no key: the key is for the default endpoint only.
    """

    text: str
    base_url: str = ""
    api_key: str = ""
    key_from: str = ""
    allow_http: bool = False

    WHAT: ClassVar[str]  # e.g. "embedder"
    NEEDS: ClassVar[Sequence[str]]  # the attributes that a caller's own must have
    REMOTE: ClassVar[str]  # the form that is called over a network
    LOCAL: ClassVar[Sequence[str]] = ()  # other forms, as errors list them

    def make(self) -> Model:
        """The named model, which loads itself when needed. Raises `BadInput`."""
        form, _, rest = self.text.partition(":")
        if rest and form == self.REMOTE:
            model, at, url = rest.partition("@")
            return self.remote(url if at else self.base_url, model, "" if at else self.api_key)
        if form == "python" and rest.count(":") == 1:
            own: Model = made_by(rest, self.WHAT, self.NEEDS)
            return own
        made = self.local(form, rest) if rest else None
        if made is None:
            raise BadInput(f"unknown {self.WHAT} {self.text!r}", hint=f"one of {self.forms()}")
        return made

    @classmethod
    def forms(cls) -> str:
        """The forms that a setting may have."""
        remote = f"{cls.REMOTE}:MODEL"
        return ", ".join([*cls.LOCAL, remote, f"{remote}@URL", "python:MODULE:NAME"])

    @abstractmethod
    def remote(self, url: str, model: str, key: str) -> Model:
        """The model behind an endpoint. Raises `BadInput`."""

    def local(self, form: str, rest: str) -> Model | None:
        """The model on this machine, if the form is a local one."""
        return None

    @property
    def is_remote(self) -> bool:
        """Whether it is called over a network."""
        return self.text.startswith(f"{self.REMOTE}:")

    def close(self, made: Model) -> None:
        """Close what `make` returned."""
        close = getattr(made, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


def made_by(place: str, what: str, attributes: Sequence[str]) -> Any:
    """The object that the class or function at `MODULE:NAME` makes, called without arguments.

    `what` is its kind ("embedder"), with the attributes such an object needs. Raises `BadInput`.
    """
    module, _, name = place.partition(":")
    try:
        make = getattr(import_module(module), name)
    except (ImportError, AttributeError) as missing:
        raise BadInput(
            f"there is no {what} {place}: {missing}", hint="MODULE must be found on PYTHONPATH"
        ) from missing
    try:
        made = make()
    except Exception as failed:  # code of the caller's own: it may raise anything
        raise BadInput(
            f"{place} made no {what}: {type(failed).__name__}: {failed}",
            hint="NAME is a class or function that is called without arguments",
        ) from failed
    if not all(hasattr(made, one) for one in attributes):
        raise BadInput(f"{place} does not make a {what}", hint=f"see pagefault.{what.capitalize()}")
    return made
