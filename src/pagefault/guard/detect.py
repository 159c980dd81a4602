"""What looks like a secret without being known to be one: the interface of a layer that tells."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch of a text that should not be kept, and the rule that says so.

    `mark` stands in its place; "" is `[REDACTED:rule:hmac8]`.
    """

    start: int
    end: int
    rule: str
    mark: str = ""


class Layer(Protocol):
    """One way to tell secrets. It reads a text and nothing else: no file, no network, no clock."""

    @property
    def name(self) -> str:
        """What people are told that found something."""

    def may_hold(self, text: str) -> bool:
        """Whether `find` may find anything: quick, and never wrongly no."""

    def find(self, text: str) -> list[Finding]:
        """Every secret, in any order; they may overlap. What it raises withholds the text."""

    def open_from(self, text: str) -> int:
        """Where something begins that what follows `text` may make a secret, or make longer;
        the length of `text` where nothing does.

        What stands before an end of a line before that point is found, or not, whatever follows.
        """


def is_allowed(value: str, patterns: tuple[str, ...]) -> bool:
    """Whether the user says that a value is no secret: as it is, or with `*` and `?`."""
    return any(fnmatchcase(value, pattern) for pattern in patterns)
