"""What `python:MODULE:NAME` in a setting makes: an object of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pagefault.model.errors import BadInput


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
        raise BadInput(f"{place} makes no {what}", hint=f"see pagefault.{what.capitalize()}")
    return made
