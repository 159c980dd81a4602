"""How long claims of each kind are trusted without another check.

A decision is trusted for 28 days (requirement 004). Claims about files or a state of affairs are
trusted for as long as that usually lasts: a week for the state of a task and for present
circumstances, four weeks for facts of a project, eight for how something is done or goes wrong.
What a person stated about themselves, a name, a word or a standing rule is true until somebody says
otherwise. No kind has a maximum age: a check renews a claim, however old it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pagefault.model.defaults import CARD_DECAY_DAYS
from pagefault.model.kinds import ClaimType
from pagefault.model.page import CardFacts

DAY_MS: Final = 24 * 60 * 60 * 1000
DECAY_DAYS: Final[Mapping[ClaimType, int]] = {
    ClaimType.DECISION: CARD_DECAY_DAYS,
    ClaimType.PROJECT_FACT: 28,
    ClaimType.PROCEDURE: 56,
    ClaimType.GOTCHA: 56,
    ClaimType.TASK: 7,
    ClaimType.CONTEXT: 7,
}
"""Other kinds: forever."""


def decay_days(kind: ClaimType, facts: CardFacts) -> int:
    """Days that a claim is trusted since it was made or passed a check; 0 is forever."""
    return DECAY_DAYS.get(kind, 0) if facts.decay_days is None else facts.decay_days


def max_age_days(facts: CardFacts) -> int:
    """Days that a claim is trusted in total; 0 is forever."""
    return facts.max_age_days or 0


def in_ms(days: int) -> int | None:
    """Days in the form that held claims use; None is forever."""
    return days * DAY_MS if days else None
