"""The sentences of the north-star scripts: a JSON file for each phrasing.

`{v}` is a value, in a change of mind the new one, `{w}` another value or the earlier one, `{s}` a
name of the topic, `{n}` and `{x}` are numbers. No rule in `truth/` was made for these sentences.
`docs/benchmarks.md` says who wrote which, when, and which were used in development.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

NAMES: Final = ("script", "talk", "club", "german", "spanish", "museum", "boulangerie", "hof")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrasing:
    """The sentences of a script. `topics` maps each topic to its values and names."""

    topics: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    opening: str
    asking: str
    decide: Sequence[str]
    agree: Sequence[tuple[str, str]]  # what the assistant proposes, and how the user agrees
    ask: Sequence[tuple[str, str, str]]  # a question, the choices, a decision that names no topic
    change: Sequence[str]  # empty if minds are not changed
    recall: Sequence[str]
    chatter: Sequence[tuple[str, str]]
    offer: str = "There is {w}, and there is {v}."
    noted: str = "Noted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Harder:
    """Sentences that the harder scripts add. `decoys` mention a choice that is somebody else's,
    before anything is decided, and are answered; `open_ends` put a topic off; `rests` are a
    consequence of a decision, its subject, and the question for it.
    """

    change: Sequence[str]
    decoys: Sequence[tuple[str, str]]
    undo: Sequence[str]
    open_ends: Sequence[tuple[str, str]]
    rests: Sequence[tuple[str, str, str]]


def parsed(text: str) -> tuple[Phrasing, Harder]:
    """A phrasing from JSON: the fields of `Phrasing`, and under `harder` those of `Harder`, whose
    `change` is used for both. Raises `ValueError`, `LookupError`, `TypeError` or `AttributeError`
    if the text has another form.
    """
    told = _frozen(json.loads(text))
    harder = Harder(**told.pop("harder"))
    return Phrasing(**{"change": harder.change, **told}), harder


def _frozen(value: Any) -> Any:
    """The value with tuples in place of lists."""
    match value:
        case list():
            return tuple(map(_frozen, value))
        case dict():
            return {key: _frozen(one) for key, one in value.items()}
        case _:
            return value


SHIPPED: Final = {
    name: parsed(files(__package__).joinpath(f"{name}.json").read_text("utf-8")) for name in NAMES
}
