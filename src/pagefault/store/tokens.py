"""A page's entry in the full-text index: its terms, each as often as it counts, and its languages
apart from the defaults of its scripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pagefault.language.analyzer import analyze, date_terms
from pagefault.language.known import OTHER_CODES
from pagefault.model.events import PageBody
from pagefault.model.kinds import EventType
from pagefault.store.said import Said

COUNT_MAX: Final = 3
"""The most that a term's occurrences in a page count."""


def token(term: str, count: int) -> str:
    """The token of a page that has this term so often. No term has a `#`."""
    return term if count == 1 else f"{term}#{count}"


OTHER_LANGUAGE: Final = "#"
"""The token of a text in any of these languages."""

LANGUAGES: Final[Mapping[str, str]] = {code: f"#{code}" for code in OTHER_CODES}
"""The token of a text in such a language, even of one paragraph in it."""

_SAYS_AGAIN: Final = frozenset({EventType.SUMMARY, EventType.REPRESENTATION})


def page_terms(body: PageBody, said: Said) -> Counter[str]:
    """The terms that find a page, with counts: of its text, its title and when it happened. `said`
    is the analysis of its text.

    A summary or a shorter form has none: the pages that it repeats are found instead.
    """
    if body.event_type in _SAYS_AGAIN:
        return Counter()
    if not (said.languages or body.title or body.occurred_at):
        return said.terms
    terms = said.terms.copy()
    if said.languages:
        terms.update([OTHER_LANGUAGE, *(LANGUAGES[code] for code in said.languages)])
    if body.title:
        terms.update(analyze(body.title))
    if body.occurred_at:
        terms.update(_occurred_terms(body.occurred_at))
    return terms


def _occurred_terms(occurred_at: str) -> list[str]:
    try:
        return date_terms(datetime.fromisoformat(occurred_at))
    except ValueError:
        return []


_MARKS: Final = tuple(token("", count) for count in range(2, COUNT_MAX + 1))


def tokens(counts: Mapping[str, int]) -> str:
    """All tokens of a page, in text order: sort them where the text could be read back."""
    words, again = [*counts], [(term, count) for term, count in counts.items() if count > 1]
    for least, mark in enumerate(_MARKS, 2):
        words += [term + mark for term, count in again if count >= least]
    return " ".join(words)
