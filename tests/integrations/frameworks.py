"""A conversation that outgrows its window, as any framework's model sees it."""

from __future__ import annotations

from collections.abc import Sequence

FACT = "The spare key of the cottage hangs behind the juniper barrel."
QUESTION = "Where does the spare key of the cottage hang?"
WINDOW = 2_000


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
