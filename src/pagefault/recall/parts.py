"""The parts of a score beside words and meaning: further signs that a page answers.

Each is a rule of thumb about how people talk, independent of subject, and only reorders what words
or meaning found. Weights are in units of the best page's lexical score or of the page's own. They
were fitted together, and results are flat around them (docs/recall.md describes the fit).
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
MISSING: Final = 0.5  # share of the question's words a short page must lack for the full penalty
SHORTEST: Final = -2.0  # floor of the logarithm of length over the role's mean


def speaker(seen: Evidence) -> Values:
    """Gain for pages whose speaker the question names."""
    part: Values = np.multiply(SPEAKER * seen.best, seen.spoken)
    return part


def date(seen: Evidence, asked: Question) -> Values:
    """Gain for pages said on the days named or soon after, or that mention those days."""
    near = nearness(asked.days, seen.days)
    first, last = seen.told_days
    tells = first > 0
    near[tells] = np.maximum(near[tells], nearness(asked.days, first[tells], last[tells]))
    part: Values = np.multiply(DATE * seen.worth, near)
    return part


def form(seen: Evidence, asked: Question) -> Values:
    """Gain for a time if *when* is asked, a number if *how many*, a name if *who* or *where*."""
    part: Values = np.multiply(FORM * seen.worth, (seen.marks & asked.wants) != 0)
    return part


def reply(seen: Evidence) -> Values:
    """Gain for the page after a question in the query's words: an answer need not repeat them."""
    asks = (seen.marks_before & ASKS) != 0
    part: Values = np.multiply(REPLY * seen.worth_before, asks)
    return part


def sitting(seen: Evidence) -> Values:
    """Gain for pages of a sitting in which several pages match: it was about the subject."""
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
    """Penalty for pages that are short for their role ("[call get_user]", "Noted."), but not for
    those with most of the question's words: `exit code 137` is a complete answer.
    """
    relative = np.clip(np.log(np.maximum(seen.relative_lengths, 1e-9)), SHORTEST, 0.0)
    missing = np.minimum((1 - seen.told) / MISSING, 1.0)
    part: Values = np.multiply(SHORT * seen.best * missing, relative)
    return part


def role(seen: Evidence) -> Values:
    """Gain for users, who speak of their own affairs; a model repeats that at more length."""
    part: Values = np.multiply(ROLE * seen.worth, seen.roles == USER)
    return part
