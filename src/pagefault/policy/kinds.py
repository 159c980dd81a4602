"""What the kinds of pages are owed: how soon each leaves the window, and how
short it may be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pagefault.model.kinds import Kind, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """`weight` multiplies a page's worth: at equal age and importance the lightest leaves first.
    `levels` are those at which such a page is ever shown.
    """

    weight: float
    levels: tuple[Level, ...]


_LADDER: Final = tuple(Level)
_WHOLE_OR_NAMED: Final = (Level.FULL, Level.REFERENCE)

RULES: Final[dict[Kind, KindRule]] = {
    Kind.TRANSCRIPT: KindRule(weight=1.0, levels=_LADDER),
    Kind.ARTIFACT: KindRule(weight=1.25, levels=_LADDER),
    Kind.SUMMARY: KindRule(weight=2.0, levels=_WHOLE_OR_NAMED),  # short already, and made anew
    Kind.PROCEDURE: KindRule(weight=2.0, levels=_WHOLE_OR_NAMED),
    Kind.CLAIM: KindRule(weight=8.0, levels=_WHOLE_OR_NAMED),  # a sentence that much rests on
    Kind.INDEX: KindRule(weight=16.0, levels=(Level.FULL,)),  # never compressed, last to leave
}
