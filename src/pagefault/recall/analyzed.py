"""A text analyzed for a search: its terms, its details, whether it only asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from pagefault.language.analyzer import is_telling, query_terms, query_words
from pagefault.language.sought import Sought
from pagefault.store.said import told_in

_QUESTION_MARKS: Final = frozenset("?？؟՞፧꘏⁇⁈⁉")
_END: Final = re.compile(rf"(?<=[.!…।]) |(?<=[{''.join(sorted(_QUESTION_MARKS))}。！])\s*|\n+")


def has_question_mark(text: str) -> bool:
    return "?" in text or not (text.isascii() or _QUESTION_MARKS.isdisjoint(text))


class AnalyzedText:
    """The words of a text. Each analysis is made on first use."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._in_languages: dict[tuple[str, ...], frozenset[Sought]] = {}

    @cached_property
    def telling(self) -> frozenset[str]:
        """The terms without stop words; empty if all are."""
        return frozenset(query_terms(self._text)) if is_telling(self._text) else frozenset()

    def telling_in(self, languages: Sequence[str]) -> frozenset[Sought]:
        """Likewise, stemmed in all these languages: a short text may not reveal its language, and
        its words must match those of a longer one that does.
        """
        if not languages:  # with one language each word has one form, at half the work
            return frozenset[Sought](self.telling)
        key = tuple(languages)
        if key not in self._in_languages:
            words = query_words(self._text, languages) if is_telling(self._text) else ()
            self._in_languages[key] = frozenset(words)
        return self._in_languages[key]

    @cached_property
    def details(self) -> frozenset[str]:
        """Names, numbers and negations."""
        return frozenset(told_in(self._text))

    @cached_property
    def only_asks(self) -> bool:
        """Whether every sentence ends with a question mark."""
        if not has_question_mark(self._text):
            return not any(map(str.isalnum, self._text))  # it has no sentence
        sentences = [one for one in _END.split(self._text.strip()) if any(map(str.isalnum, one))]
        return all(one[-1] in _QUESTION_MARKS for one in sentences)
