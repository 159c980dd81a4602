"""Ranking of candidate places: by words first, then by everything else.

The score of a page is a sum of parts: `own` and `neighbourhood` by words (`lexical.py`), those of
`parts.py`, and `meaning` if there is an embedder (`semantic.py`).

The weights were fitted to several kinds of conversation together (between people, with assistants,
with agents), each kind counting the same (`benchmarks/refit.py`), and tested on conversations that
had no part in the fit: docs/recall.md has the figures.
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
from pagefault.store.likely import Numbers, among, distinct
from pagefault.store.precedence import give_way
from pagefault.store.rarity import rarity
from pagefault.store.said import ASKS

NEIGHBOURHOOD: Final = 0.55  # weight of the words around a page
MENTION: Final = 0.5  # weight of a speaker's name as a word, once it was read as a speaker
LITTLE: Final = 0.2
"""Factor on relevance if the query has only stop words: known ones or, in any language, words that
occur in most pages of a conversation of at least `MANY`.
"""

MANY: Final = 20
MEASURED_MAX: Final = 200
"""Places that are scored in detail: the best by the approximate score."""


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
    """Rank places in scope by how likely they answer, best first; ties in order of place.

    Neighbours among the places of `found` are neighbours in a conversation; `look` returns the
    traits of the pages at places. `speakers` are the positions of query terms that name a speaker.
    A place without any query term is ranked if a neighbour has one, unless `words_min` is above 0:
    the share of the terms, unweighted, that a page itself must have. Every place scored in detail
    has a page. With `only` (ascending), no other place is ranked.
    """
    weights = np.array([rarity(found.pages, frequency) for frequency in found.frequencies])
    if len(speakers) < sum(map(bool, found.frequencies)):
        weights[list(speakers)] *= MENTION
    at, counts = found.places, found.counts.astype(np.float64)
    near = _NOWHERE if similar is None else similar.places
    if not len(at) and not len(near):
        return NOTHING_RANKED
    # First as if every page had the mean length, which needs no look-up.
    places = distinct(np.append(lexical.windows(at), near))
    mean = max(found.length_mean, 1e-9)
    give_way()
    told = lexical.roughly(places, at, counts, mean, weights)
    if only is not None:
        are_wanted = among(places, only)
        places, told = places[are_wanted], lexical.Worth(*(one[are_wanted] for one in told))
        if not len(places):
            return NOTHING_RANKED
    relevance, _ = _relevance(told, similar, places)
    give_way()
    order = np.argsort(-(told.own + NEIGHBOURHOOD * told.around), kind="stable")
    order = order[relevance[order] >= relevance_min]
    if words_min > 0:
        having = at[(counts > 0).mean(axis=1) >= words_min]
        order = order[among(places, having)[order]]
    total = len(order)
    # Then the best of them by their real lengths.
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
    give_way()
    usual = _usual_lengths(known, mean)[here.roles]
    lengths = lexical.Lengths(known.places, known.lengths.astype(np.float64), known.days, mean)
    told = lexical.worth(places, at, counts, usual, lengths, weights)
    relevance, close = _relevance(told, similar, places)
    give_way()
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
        # Filled in later, from the text of the best pages: `links.py`, `novelty.py`.
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
    """Whether the query has a word that distinguishes pages of this scope."""
    there = [frequency for frequency in found.frequencies if frequency]
    is_common = found.pages >= MANY and bool(there) and 2 * min(there) > found.pages
    return asked.tells and not is_common


_NOWHERE: Final = np.empty(0, dtype=np.int64)


def _relevance(
    told: lexical.Worth, similar: Similar | None, places: Numbers
) -> tuple[Values, Values]:
    """The relevance of each place, and its closeness in meaning."""
    if similar is None:
        return told.coverage, np.zeros(len(places))
    close = closeness(similar, places)
    return np.maximum(told.coverage, RELEVANCE * close), close


def _usual_lengths(known: Traits, mean: float) -> Values:
    """The mean page length of each role, by its number, over the pages looked up: those with a word
    of the query, and their neighbours. It ranks as well as the mean over all pages.
    """
    pages = np.bincount(known.roles, minlength=ROLES_MAX)
    terms = np.bincount(known.roles, weights=known.lengths, minlength=ROLES_MAX)
    return np.where(pages > 0, np.maximum(terms / np.maximum(pages, 1), 1.0), mean)


def _evidence(
    places: Numbers, told: lexical.Worth, known: Traits, here: Traits, usual: Values
) -> Evidence:
    before = aligned(known, places - 1)
    worth = told.own + told.around
    # The page before a run of places was not scored, so it has no worth here.
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
