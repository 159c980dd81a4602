"""Salience: which sentences of a text are most informative for their length, for an abstract.

The choice is a budgeted maximum coverage (Lin and Bilmes, "Multi-document Summarization via
Budgeted Maximization of Submodular Functions", NAACL 2010): it repeatedly takes the sentence whose
*new* terms are worth most per token. Covered terms no longer count, which avoids repetition without
a second rule. Ranking by similarity to the whole (LexRank, TextRank, the centroid) finds what all
sentences share. In conversations that is courtesy, while what is asked for later is said once;
docs/decisions/018-abstracts-by-coverage.md compares them.

A term is worth 1. Specifics are added: names, numbers, identifiers and times. The sum is raised for
the first person, lowered for questions, and raised much for a citable statement with a protected
token. Prohibitions are raised, too: a rule is short, has no specifics, and holds for all that
follows. On LoCoMo that costs 0.2 points of answering sentences; on recordings of assistants and of
programmers it gains 0.8 and 0.2. No weight is specific to a data set.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence, Set
from typing import Final, NamedTuple

from pagefault.language.language import Cue
from pagefault.language.patterns import count
from pagefault.represent.cues import forbids, is_citable, is_decision, is_question
from pagefault.represent.protected import Guarded, guarded
from pagefault.represent.sentences import Manner
from pagefault.represent.words import telling_terms

SPECIFIC: Final = 1.0  # terms that a name, number, identifier or time is worth
SPECIFIC_MAX: Final = 3  # of each sort that count
TIMES_MAX: Final = 2
SPEAKER: Final = 1.4
QUESTION: Final = 0.4
DECISION: Final = 1.5
FORBIDS: Final = 2.0
FORBIDS_TERMS_MIN: Final = 3
CITABLE: Final = 3.0
CODE: Final = 0.3
DENIED: Final = "not "
DATA_TERMS_MAX: Final = 24  # of a line of code, a table or a dump: nobody retells it word by word

_NAME: Final = re.compile(r"(?<=[a-z,;:'\"] )(?!I\b)[A-Z][\w'’-]+")


class Worth(NamedTuple):
    """The worth of a sentence, whoever speaks: the terms it covers, and its specifics."""

    terms: frozenset[str]
    about: frozenset[str]  # the same, without negation
    found: int = 0  # numbers and identifiers
    names: tuple[str, ...] = ()
    times: int = 0
    factor: float = 1.0

    def specific(self, speakers: Set[str]) -> float:
        """Its worth besides its terms. Names of `speakers` do not count."""
        if not self.terms:
            return 0.0
        names = [name for name in self.names if name not in speakers] if speakers else self.names
        return SPECIFIC * (
            min(self.found, SPECIFIC_MAX)
            + min(len(names), SPECIFIC_MAX)
            + min(self.times, TIMES_MAX)
        )


class Candidate(NamedTuple):
    """A candidate sentence: the terms it covers, its other worth, its cost."""

    terms: frozenset[str]
    specific: float
    factor: float
    tokens: int
    line_tokens: int = 0  # further ones, unless it stands in the line of one of these
    beside: tuple[int, ...] = ()

    def cost(self, chosen: Set[int]) -> int:
        """Its tokens beside those chosen."""
        begins = chosen.isdisjoint(self.beside)
        return self.tokens + (self.line_tokens if begins else 0)

    def gain(self, covered: Set[str], chosen: Set[int] = frozenset()) -> float:
        """What it adds per token. Never grows as more is covered."""
        worth = len(self.terms - covered) + self.specific
        return worth * self.factor / max(1, self.cost(chosen))


def worth(sentence: str, manner: Manner = Manner.PROSE) -> Worth:
    """The worth of a sentence by itself."""
    terms = telling_terms(sentence)
    if manner is Manner.CODE:
        covered = frozenset(terms[:DATA_TERMS_MAX])
        return Worth(covered, covered, factor=CODE)
    all_found = guarded(sentence)
    found = [token for token in all_found if token.what is not Guarded.NEGATION]
    factor = 1.0
    denied = len(found) < len(all_found)
    own = count(Cue.SPEAKER, sentence, flags=re.NOFLAG) > 0
    if is_question(sentence):
        factor *= QUESTION
    elif found or denied:  # a decision with one of these is citable
        if is_citable(sentence):
            factor *= CITABLE
        elif denied and not own and len(terms) >= FORBIDS_TERMS_MIN and forbids(sentence):
            factor *= FORBIDS
    elif is_decision(sentence):
        factor *= DECISION
    if own:
        factor *= SPEAKER
    about = frozenset(terms)
    # A negated term is a different term: taking something back is news.
    return Worth(
        terms=frozenset(DENIED + term for term in terms) if denied else about,
        about=about,
        found=len(found),
        names=tuple(map(_bare, _NAME.findall(sentence))),
        times=count(Cue.TIME, sentence),
        factor=factor,
    )


def choose(candidates: Sequence[Candidate], tokens_max: int, gain_min: float = 0.0) -> list[int]:
    """Indices of the candidates to take, best first, with at most `tokens_max` tokens together.

    Lazy greedy: gains only shrink, so a candidate still on top after its gain is recomputed is the
    best (Minoux, 1978); one that its neighbour makes cheaper is entered anew. Ties go to the
    earlier one. What adds no more than `gain_min` a token, in a line of its own, is not taken.
    """
    covered: set[str] = set()
    chosen: dict[int, None] = {}
    heap = [(-one.gain(covered), place) for place, one in enumerate(candidates)]
    heapq.heapify(heap)
    left = tokens_max
    while heap and left > 0:
        _, place = heapq.heappop(heap)
        one = candidates[place]
        if place in chosen or (cost := one.cost(chosen.keys())) > left:
            continue
        if one.gain(covered) <= gain_min:
            continue
        gain = one.gain(covered, chosen.keys())
        if heap and (-gain, place) > heap[0]:
            heapq.heappush(heap, (-gain, place))
            continue
        chosen[place] = None
        covered |= one.terms
        left -= cost
        for other in one.beside if one.line_tokens else ():
            heapq.heappush(heap, (-candidates[other].gain(covered, chosen.keys()), other))
    return list(chosen)


def _bare(name: str) -> str:
    return re.split("['’]", name)[0].casefold()
