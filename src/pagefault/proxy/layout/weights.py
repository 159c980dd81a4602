"""Estimates the tokens of a provider's JSON: text is counted, everything else has a fixed price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pagefault.pack.count import MESSAGE_TOKENS, TokenCounter
from pagefault.proxy.history.known import Fact, KnownValues

OPAQUE_TOKENS: Final = 1_600  # about the most an image has; also for anything else that is not text
_WORD_MAX: Final = 2_000  # characters without a space: not text
_SHORT_CHARS: Final = 16
_KEPT_MAX: Final = 20_000  # of remembered values


class Weights:
    """Counts values that recur: each object once, and equal objects by their digest."""

    def __init__(self, counter: TokenCounter) -> None:
        self.known = KnownValues()
        self._counter = counter
        self._tokens: dict[str, int] = {}
        self._short: dict[str, int] = {}  # of short strings, mostly names that every message has

    def of(self, value: Any) -> int:
        """A message, or anything beside messages; 0 if empty."""
        return MESSAGE_TOKENS + self.of_part(value) if value else 0

    def of_all(self, values: Iterable[Any]) -> int:
        return sum(map(self.of, values))

    def of_parts(self, values: Iterable[Any]) -> int:
        """Several parts of one message."""
        return MESSAGE_TOKENS + sum(map(self.of_part, values))

    def of_part(self, value: Any) -> int:
        """A part of a message, without a frame."""
        fact = self.known.of(value)
        if fact.tokens < 0:
            fact.tokens = self._of(fact)
        return fact.tokens

    def _of(self, fact: Fact) -> int:
        if fact.key not in self._tokens:
            if len(self._tokens) >= _KEPT_MAX:
                self._tokens.clear()
            short, texts, tokens = self._short, list[str](), 0
            for word in _strings(fact.value):
                if len(word) <= _SHORT_CHARS:
                    if word not in short:
                        if len(short) >= _KEPT_MAX:
                            short.clear()
                        short[word] = self._counter.count(word)
                    tokens += short[word]
                elif _is_opaque(word):
                    tokens += min(OPAQUE_TOKENS, len(word) // 4)
                else:
                    texts.append(word)
            self._tokens[fact.key] = tokens + sum(self._counter.count_all(texts))
        return self._tokens[fact.key]


def _strings(value: Any) -> list[str]:
    """The strings in a value, field names included; numbers and booleans as strings."""
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, Mapping):
        found += value
        for one in value.values():
            _collect(one, found)
    elif isinstance(value, list):
        for one in value:
            _collect(one, found)
    elif value is not None:
        found.append(str(value))


def _is_opaque(word: str) -> bool:
    return len(word) > _WORD_MAX and not any(space in word[:_WORD_MAX] for space in " \n\t")
