"""How long claims are trusted without being checked again, by their kind.

A decision is trusted for 28 days (requirement 004). What follows files or a state of affairs is
trusted for as long as that usually stays as it is: a week for where a task stands and how things
are just now, four for facts of a project, eight for how something is done or goes wrong. What a
person told of themselves, a name, a word or a standing rule is true until somebody says otherwise.
Nothing grows too old by its kind alone: a check renews it, however old it is.
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
"""Of kinds that are not here: for ever."""


def decay_days(kind: ClaimType, facts: CardFacts) -> int:
    """How many days a claim is trusted since it was made or passed a check; 0 is for ever."""
    return DECAY_DAYS.get(kind, 0) if facts.decay_days is None else facts.decay_days


def max_age_days(facts: CardFacts) -> int:
    """How many days a claim is trusted in all; 0 is for ever."""
    return facts.max_age_days or 0


def in_ms(days: int) -> int | None:
    """Days as a claim that is held counts them; None is for ever."""
    return days * DAY_MS if days else None
