"""Uninformative words: those that nearly every conversation has, whatever its subject.

They stand in for the background frequencies that one session cannot provide.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache

from pagefault.language.analyzer import analyze, query_terms, terms_of
from pagefault.language.english import ENGLISH
from pagefault.language.known import told
from pagefault.language.language import Language


def common_words(text: str) -> Set[str]:
    """Grammatical words, fillers and calendar words of the languages detected in a text."""
    return _words(told(text))


@lru_cache(maxsize=256)
def _words(languages: Sequence[Language]) -> Set[str]:
    each = (
        one.stop_words | one.function_words | one.fillers | one.calendar
        for one in (ENGLISH, *languages)
    )
    return frozenset[str]().union(*each)


@lru_cache(maxsize=256)
def _terms(languages: Sequence[Language]) -> Set[str]:
    common = frozenset(
        term
        for one in languages
        for word in one.stop_words | one.function_words | one.fillers
        for term in terms_of(word, one)
    )
    # Fillers of short texts may be analysed as English.
    return common.union(*(analyze(word) for one in languages for word in one.fillers))


def telling_terms(text: str) -> list[str]:
    """The terms of a text that carry its subject, distinct and in order."""
    common = _terms(told(text) or (ENGLISH,))
    return [term for term in query_terms(text) if term not in common]
