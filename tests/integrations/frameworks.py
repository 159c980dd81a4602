"""Whether a framework is there, and a conversation that outgrows its window, as a model sees it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

FACT = "The spare key of the cottage hangs behind the juniper barrel."
QUESTION = "Where does the spare key of the cottage hang?"
WINDOW = 2_000


def needs(package: str, called: str) -> pytest.MarkDecorator:
    """Skips where a package is not installed.

    It is not imported to see that, nor at the head of a file of tests: some take seconds, and every
    worker collects every file.
    """
    parent = package.partition(".")[0]
    is_there = find_spec(parent) is not None and find_spec(package) is not None
    return pytest.mark.skipif(not is_there, reason=f"{called} is not installed")


def notes(count: int = 24) -> list[str]:
    """What a user says in turn: a fact, a lot of talk, and at last a question about the fact."""
    talk = [
        f"Note {number}: " + f"the invoice of supplier {number} was paid. " * 30
        for number in range(count)
    ]
    return [FACT, *talk, QUESTION]


def check_paged(seen: Sequence[str]) -> None:
    """What a model was sent, request by request: never much, and at last the fact again."""
    assert max(map(len, seen)) < 12_000
    assert QUESTION in seen[-1]
    assert "juniper barrel" in seen[-1]
    assert "Note 3:" not in seen[-1]


def check_whole(seen: Sequence[str]) -> None:
    """The control: without us, all of it goes to the model."""
    assert max(map(len, seen)) > 25_000
