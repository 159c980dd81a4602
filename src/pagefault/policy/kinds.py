"""Rules by kind of page: how soon it leaves the window, and at which levels it may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pagefault.model.kinds import Kind, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """`weight` multiplies a page's value: at equal age and importance the lightest leaves first.
    `levels` lists the levels at which such a page may be shown.
    """

    weight: float
    levels: tuple[Level, ...]


_LADDER: Final = tuple(Level)
_WHOLE_OR_NAMED: Final = (Level.FULL, Level.REFERENCE)

RULES: Final[dict[Kind, KindRule]] = {
    Kind.TRANSCRIPT: KindRule(weight=1.0, levels=_LADDER),
    Kind.ARTIFACT: KindRule(weight=1.25, levels=_LADDER),
    Kind.SUMMARY: KindRule(weight=2.0, levels=_WHOLE_OR_NAMED),  # short already, and can be remade
    Kind.PROCEDURE: KindRule(weight=2.0, levels=_WHOLE_OR_NAMED),
    Kind.CLAIM: KindRule(weight=8.0, levels=_WHOLE_OR_NAMED),  # one important sentence
    Kind.INDEX: KindRule(weight=16.0, levels=(Level.FULL,)),  # never compressed, last to leave
}
