"""Plain BM25: the baseline that any other ranking must beat to be worth its parts.

Lines are the documents. Words are ours (`language/analyzer.py`): stemmed, and for the query without
stop words, in the languages of the lines, as a question of few words does not reveal its own.
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
with the default constants of most engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final

from pagefault.language.analyzer import analyze_told, query_terms
from pagefault.store.rarity import rarity

K1: Final = 1.2
B: Final = 0.75


class PlainBm25:
    """Ranks texts by the words of a query; ties go to the earlier text."""

    def __init__(self, texts: Sequence[str]) -> None:
        told = [analyze_told(text) for text in texts]
        self._counts = [Counter(terms) for terms, _ in told]
        self._languages = [languages for _, languages in told]
        self._lengths = [count.total() for count in self._counts]

    def rank(self, query: str, *, among: int | None = None) -> list[int]:
        """Indices of the texts that have a word of the query, best first; only of the first
        `among`, with statistics over those.
        """
        counts, lengths = self._counts[:among], self._lengths[:among]
        length_mean = sum(lengths) / max(len(lengths), 1) or 1.0
        languages = sorted({*chain.from_iterable(self._languages[:among])})
        weights = {
            term: rarity(len(counts), sum(term in count for count in counts))
            for term in query_terms(query, languages)
        }
        scores: dict[int, float] = {}
        for number, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            norm = K1 * (1 - B + B * length / length_mean)
            if not weights.keys().isdisjoint(count):
                scores[number] = sum(
                    weight * count[term] * (K1 + 1) / (count[term] + norm)
                    for term, weight in weights.items()
                )
        return sorted(scores, key=lambda number: (-scores[number], number))
