"""What a language must tell for its claims to be found: data, no code.

A new language is one more module like `english.py`. All patterns are searched for in one sentence
in plain form, whatever its case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from pagefault.model.kinds import ClaimType

_CUE_SETS: Final = 3


class Words:
    """A pattern of words, in any case. Compiled when it is first asked: most never are."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.source, re.IGNORECASE)
        return self._compiled

    def search(self, text: str, at: int = 0) -> re.Match[str] | None:
        return self.compiled.search(text, at)

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        return self.compiled.match(text, at)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text)


class Needs(StrEnum):
    """What a rule's match must have to be believed."""

    NOTHING = "nothing"
    SUBJECT = "subject"  # told in the sentence itself
    NAME = "name"  # a value that begins like a name or a number
    BOTH = "both"  # a subject and a name
    NAMES = "names"  # a value, taken whole, with a name or a number somewhere in it
    WORD = "word"  # as a name, or one word
    PLAIN = "plain"  # a value taken as it stands, whole


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to say it. Groups of `pattern`: `value`, `subject` and `old` stand for themselves;
    `tail` is a value, and may go on with what it is for and what it replaces.
    """

    name: str
    type: ClaimType
    pattern: Words
    confidence: float
    needs: Needs = Needs.NOTHING
    subject: str = ""  # what it is about where the sentence does not say
    negative: bool = False
    changes: bool = False  # what is said so takes the place of something
    returns: bool = False  # what is said so held before, and was closed
    cues: tuple[frozenset[str], ...] = ()  # one word of each set stands in what it can match

    def __post_init__(self) -> None:
        assert len(self.cues) <= _CUE_SETS


class Cues:
    """Which rules are worth trying on a text, by its words: a few look-ups for each word."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._of_word: list[dict[str, int]] = [{} for _ in range(_CUE_SETS)]
        self._always = [0] * _CUE_SETS  # rules that ask for no word of that set
        for number, rule in enumerate(rules):
            for place in range(_CUE_SETS):
                if place >= len(rule.cues):
                    self._always[place] |= 1 << number
                    continue
                for word in rule.cues[place]:
                    table = self._of_word[place]
                    table[word] = table.get(word, 0) | 1 << number

    def rules(self, words: Set[str]) -> list[Rule]:
        """The rules of which each set of cues shares a word with `words`, in order."""
        left = (1 << len(self._rules)) - 1
        for always, of_word in zip(self._always, self._of_word, strict=True):
            found = always
            for word in words & of_word.keys():
                found |= of_word[word]
            left &= found
        found_rules: list[Rule] = []
        while left:
            lowest = left & -left
            found_rules.append(self._rules[lowest.bit_length() - 1])
            left ^= lowest
        return found_rules


@dataclass(frozen=True, kw_only=True)
class Language:
    inner: Words  # ends with a comma or a dot that ends neither a sentence nor a value
    limited: Words  # what is said holds only in part, or only at times
    quotable: Words  # a quotation with any of it is somebody's speech, not a name
    assents: frozenset[str]  # words without one of which nobody agrees
    rules: tuple[Rule, ...]  # of a user's turn; the first that matches a place has it
    proposals: tuple[Rule, ...]  # of an assistant's turn
    topics: tuple[Words, ...]  # `subject` that a question or a heading is about
    asks: Words  # a sentence that begins so is a question
    supposed: Words  # said of what is not, or not yet: anywhere in the sentence
    doubted: Words  # before the words of a rule, this takes them back
    reported: Words  # before the words of a rule, somebody else says them
    told: Words  # after the words of a rule, somebody else said them
    lead: Words  # `subject` named before the words of a rule
    lead_old: Words  # `old` named there
    serves: Words  # between a value and its subject
    replaces: Words  # between a value and what it replaces
    ends: Words  # where value or subject end
    lists: Words  # after a value: it was the first of several
    listed: Words  # before a value of several: it was the rest of more
    also: Words  # between two pairs of value and subject
    or_else: Words  # in a value: it is not settled
    article: Words
    trim_front: Words
    trim_back: Words
    empty: Words  # a value or subject that names nothing
    no_subject: Words  # a subject of a fact that is only a way to speak
    agrees: Words  # the whole of a sentence that agrees
    agrees_firmly: Words  # within it: no answer to any other question
    fillers: Words
    contrast: Words  # how a sentence begins that takes an agreement back
    picks: Words  # `value` chosen out of what was shown
    ordinals: Mapping[str, int]
    alternative: Words  # a sentence with a proposal that is not the first
    changed: Words  # how a sentence begins that changes what stood, though it does not say what
    instead: Words  # and what says so anywhere in it
    misspelt: Mapping[str, str]

    @cached_property
    def cues(self) -> Cues:
        return Cues(self.rules)

    @cached_property
    def proposal_cues(self) -> Cues:
        return Cues(self.proposals)
