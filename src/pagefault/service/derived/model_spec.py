"""What a setting that names a model means, and how `python:MODULE:NAME` in one is made."""

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
    """A setting, and the endpoint that its remote form means without a URL of its own.

    `FORM:MODEL@URL` sends no key: the key is for the endpoint's address and no other.
    """

    text: str
    base_url: str = ""
    api_key: str = ""
    key_from: str = ""
    allow_http: bool = False

    WHAT: ClassVar[str]  # "embedder"
    NEEDS: ClassVar[Sequence[str]]  # what one of somebody's own has to have
    REMOTE: ClassVar[str]  # the form that is asked over a network
    LOCAL: ClassVar[Sequence[str]] = ()  # other forms, as they are told

    def make(self) -> Model:
        """What is named, which loads its model when that is needed. Raises `BadInput`."""
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
        """One behind an endpoint. Raises `BadInput`."""

    def local(self, form: str, rest: str) -> Model | None:
        """One on this machine, if that is a form of one."""
        return None

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over a network."""
        return self.text.startswith(f"{self.REMOTE}:")

    def close(self, made: Model) -> None:
        """Let go of what `make` made."""
        close = getattr(made, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


def made_by(place: str, what: str, attributes: Sequence[str]) -> Any:
    """What the class or function at `MODULE:NAME` makes, called without arguments.

    `what` it is to be ("embedder"), and what such an object has. Raises `BadInput`.
    """
    module, _, name = place.partition(":")
    try:
        made = getattr(import_module(module), name)()
    except (ImportError, AttributeError) as missing:
        raise BadInput(
            f"there is no {what} {place}: {missing}",
            hint="MODULE must be found on PYTHONPATH, and NAME in it be called without arguments",
        ) from missing
    if not all(hasattr(made, one) for one in attributes):
        raise BadInput(f"{place} does not make a {what}", hint=f"see pagefault.{what.capitalize()}")
    return made
