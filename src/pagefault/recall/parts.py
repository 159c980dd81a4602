"""The parts of a score beside words: what else of a conversation tells where an answer stands.

Each is a rule of thumb about how people talk, none knows a subject, and each only reorders what
words (or meaning) found. Weights are in units of the best page's words or of the page's own; they
were fitted together, and results are flat around them (docs/recall.md says how).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pagefault.recall.evidence import Evidence
from pagefault.recall.lexical import Values
from pagefault.recall.question import Question
from pagefault.recall.when import nearness
from pagefault.store.api import USER
from pagefault.store.said import ASKS

SPEAKER: Final = 0.55
ROLE: Final = 0.18
SITTING: Final = 0.55
SITTING_BEST: Final = 3  # pages by which a sitting is judged
DATE: Final = 1.25
FORM: Final = 0.36
REPLY: Final = 0.23
SHORT: Final = 0.18
MISSING: Final = 0.5  # of the question's words: a short page that lacks so many says little
SHORTEST: Final = -2.0  # the logarithm of a share of the usual length: what is shorter is as short


def speaker(seen: Evidence) -> Values:
    """Who is asked about tells it."""
    part: Values = np.multiply(SPEAKER * seen.best, seen.spoken)
    return part


def date(seen: Evidence, asked: Question) -> Values:
    """What happened then was told then, or soon after, or is told to have been then."""
    near = nearness(asked.days, seen.days)
    first, last = seen.told_days
    tells = first > 0
    near[tells] = np.maximum(near[tells], nearness(asked.days, first[tells], last[tells]))
    part: Values = np.multiply(DATE * seen.worth, near)
    return part


def form(seen: Evidence, asked: Question) -> Values:
    """An answer to *when* tells a time, one to *how many* a number, to *who* or *where* a name."""
    part: Values = np.multiply(FORM * seen.worth, (seen.marks & asked.wants) != 0)
    return part


def reply(seen: Evidence) -> Values:
    """A question that has the words is answered by the next page, which need not repeat them."""
    asks = (seen.marks_before & ASKS) != 0
    part: Values = np.multiply(REPLY * seen.worth_before, asks)
    return part


def sitting(seen: Evidence) -> Values:
    """Where several pages bear on it, that was what was talked about then."""
    numbers = seen.sittings
    order = np.lexsort((-seen.worth, numbers))
    ordered = numbers[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    best = np.where(rank < SITTING_BEST, seen.worth[order], 0.0)
    mean = np.bincount(ordered, weights=best) / SITTING_BEST
    part: Values = np.multiply(SITTING, mean[numbers])
    return part


def length(seen: Evidence) -> Values:
    """What is short for who says it tells little: "[call get_user]", "Noted.". It is not held
    against what has most of the words that were asked for: `exit code 137` is all there is to say.
    """
    relative = np.clip(np.log(np.maximum(seen.relative_lengths, 1e-9)), SHORTEST, 0.0)
    missing = np.minimum((1 - seen.told) / MISSING, 1.0)
    part: Values = np.multiply(SHORT * seen.best * missing, relative)
    return part


def role(seen: Evidence) -> Values:
    """A user tells what is their own; a model repeats it, at more length."""
    part: Values = np.multiply(ROLE * seen.worth, seen.roles == USER)
    return part
