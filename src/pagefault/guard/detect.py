"""Detection of unknown secrets: the interface of a detection layer."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finding:
    """A span of a text that should not be stored, and the rule that matched.

    `mark` replaces it; "" means `[REDACTED:rule:hmac8]`.
    """

    start: int
    end: int
    rule: str
    mark: str = ""


class Layer(Protocol):
    """One way to detect secrets. It reads only the text: no file, no network, no clock."""

    @property
    def name(self) -> str:
        """The layer's name in messages."""

    def may_hold(self, text: str) -> bool:
        """Whether `find` may find anything: quick, without false negatives."""

    def find(self, text: str) -> list[Finding]:
        """Every secret, in any order; they may overlap. If it raises, the text is withheld."""

    def open_from(self, text: str) -> int:
        """The start of the last part of `text` that later text could make a secret, or extend; the
        length of `text` if there is none.

        Findings before the last line end before that point do not depend on what follows.
        """


def is_allowed(value: str, patterns: tuple[str, ...]) -> bool:
    """Whether the user allows a value, literally or by a pattern with `*` and `?`."""
    return any(fnmatchcase(value, pattern) for pattern in patterns)
