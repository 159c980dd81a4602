"""Which places answer a question: what words find, then what else tells of them.

The score of a page is a sum of parts: `own` and `neighbourhood` by words (`lexical.py`), those of
`parts.py`, and `meaning` where there is an embedder (`semantic.py`).

The weights were fitted on talk of several kinds together, between people, with assistants and with
agents, each kind counting the same (`benchmarks/refit.py`), and judged by conversations that had no
part in it: docs/recall.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from pagefault.recall import lexical, parts
from pagefault.recall.evidence import Evidence, aligned
from pagefault.recall.lexical import Values
from pagefault.recall.question import Question
from pagefault.recall.ranking import NOTHING_RANKED, Ranking
from pagefault.recall.semantic import RELEVANCE, Similar, closeness
from pagefault.store.api import ROLES_MAX, Candidates, Traits
from pagefault.store.likely import Numbers, among, distinct, rarity
from pagefault.store.said import ASKS

NEIGHBOURHOOD: Final = 0.55  # of what the words around a page add to its own
MENTION: Final = 0.5  # what the speaker's name tells as a word, once it was read as a speaker
LITTLE: Final = 0.2
"""Of what stands in a page, where the query has nothing but stop words: those that we know, and in
any language those that stand in most pages of a conversation of `MANY` or more.
"""

MANY: Final = 20
MEASURED_MAX: Final = 200
"""Places that are looked at closely: those that lead before they are."""


def rank(
    found: Candidates,
    look: Callable[[Collection[int]], Traits],
    asked: Question,
    *,
    speakers: Collection[int] = (),
    similar: Similar | None = None,
    relevance_min: float = 0.0,
    words_min: float = 0.0,
    only: Numbers | None = None,
) -> Ranking:
    """Places in scope by how likely they answer, best first; ties in their order.

    `found` are candidates whose neighbours in place are neighbours in a conversation; `look` tells
    what is known of the pages at places. `speakers` are the positions, among the query's terms, of
    words that name a speaker. A place without any term of the query is in the answer if a neighbour
    has one, unless `words_min` is above 0: the share of them, each counting alike, that a page must
    have itself. Of those that were looked at, there is a page at each. With `only`, which ascend,
    no other place is in the answer.
    """
    weights = np.array([rarity(found.pages, frequency) for frequency in found.frequencies])
    if len(speakers) < sum(map(bool, found.frequencies)):
        weights[list(speakers)] *= MENTION
    at, counts = found.places, found.counts.astype(np.float64)
    near = _NOWHERE if similar is None else similar.places
    if not len(at) and not len(near):
        return NOTHING_RANKED
    # First as if every page were of mean length, which costs no look-up.
    places = distinct(np.append(lexical.windows(at), near))
    mean = max(found.length_mean, 1e-9)
    told = lexical.roughly(places, at, counts, mean, weights)
    if only is not None:
        are_wanted = among(places, only)
        places, told = places[are_wanted], lexical.Worth(*(one[are_wanted] for one in told))
        if not len(places):
            return NOTHING_RANKED
    relevance, _ = _relevance(told, similar, places)
    order = np.argsort(-(told.own + NEIGHBOURHOOD * told.around), kind="stable")
    order = order[relevance[order] >= relevance_min]
    if words_min > 0:
        having = at[(counts > 0).mean(axis=1) >= words_min]
        order = order[among(places, having)[order]]
    total = len(order)
    # Then the best of them as they are.
    chosen = np.zeros(len(places), dtype=np.bool_)
    chosen[order[:MEASURED_MAX]] = True
    chosen[order] |= among(places, near)[order]
    places = places[chosen]
    if not len(places):
        return NOTHING_RANKED
    within = lexical.within_reach(at, places)
    at, counts = at[within], counts[within]
    known = look(distinct(np.concatenate([at, places, places - 1])).tolist())
    here = aligned(known, places)
    usual = _usual_lengths(known, mean)[here.roles]
    lengths = lexical.Lengths(known.places, known.lengths.astype(np.float64), known.days, mean)
    told = lexical.worth(places, at, counts, usual, lengths, weights)
    relevance, close = _relevance(told, similar, places)
    seen = _evidence(places, told, known, here, usual)
    columns = {
        "own": told.own,
        "neighbourhood": NEIGHBOURHOOD * told.around,
        "role": parts.role(seen),
        "speaker": parts.speaker(seen),
        "date": parts.date(seen, asked),
        "form": parts.form(seen, asked),
        "reply": parts.reply(seen),
        "sitting": parts.sitting(seen),
        "length": parts.length(seen),
        # Told later, by what is in the best of them: `links.py`, `novelty.py`.
        "link": np.zeros(len(places)),
        "stated": np.zeros(len(places)),
        "quoted": np.zeros(len(places)),
    }
    if similar is not None:
        columns["meaning"] = similar.weight * seen.best * close
    if not _tells(found, asked):
        relevance = LITTLE * relevance
    ranked = np.array([*columns.values()])
    stands = among(places, known.places)
    return (
        Ranking(
            names=tuple(columns),
            places=places,
            scores=ranked.sum(axis=0),
            parts=ranked,
            relevances=relevance,
            likenesses=seen.likenesses,
            told=told.own_coverage,
            asks=(seen.marks & ASKS) != 0,
            total=total - len(places) + int(stands.sum()),
        )
        .taken(stands)
        .ordered()
    )


def _tells(found: Candidates, asked: Question) -> bool:
    """Whether the query has a word that tells one page of this scope from most others."""
    there = [frequency for frequency in found.frequencies if frequency]
    is_common = found.pages >= MANY and bool(there) and 2 * min(there) > found.pages
    return asked.tells and not is_common


_NOWHERE: Final = np.empty(0, dtype=np.int64)


def _relevance(
    told: lexical.Worth, similar: Similar | None, places: Numbers
) -> tuple[Values, Values]:
    """How relevant each place is, and how close in meaning."""
    if similar is None:
        return told.coverage, np.zeros(len(places))
    close = closeness(similar, places)
    return np.maximum(told.coverage, RELEVANCE * close), close


def _usual_lengths(known: Traits, mean: float) -> Values:
    """The mean length of what each role says, by its number: of the pages that were looked at,
    which have a word of the query or stand beside one. It ranks as well as the mean of all.
    """
    pages = np.bincount(known.roles, minlength=ROLES_MAX)
    terms = np.bincount(known.roles, weights=known.lengths, minlength=ROLES_MAX)
    return np.where(pages > 0, np.maximum(terms / np.maximum(pages, 1), 1.0), mean)


def _evidence(
    places: Numbers, told: lexical.Worth, known: Traits, here: Traits, usual: Values
) -> Evidence:
    before = aligned(known, places - 1)
    worth = told.own + told.around
    # What stands before the first of a run of places was not looked at: it has no worth there.
    follows = np.append(False, places[1:] == places[:-1] + 1)
    return Evidence(
        places=places,
        worth=worth,
        best=float(worth.max()) or 1.0,
        relative_lengths=here.lengths / usual,
        days=here.days,
        told_days=(here.told_first, here.told_last),
        roles=here.roles,
        marks=here.marks,
        likenesses=here.likenesses,
        told=told.own_coverage,
        spoken=here.spoken,
        marks_before=before.marks,
        worth_before=np.where(follows, np.roll(told.own, 1), 0.0),
    )
