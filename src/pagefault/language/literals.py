"""Literal strings without which a regular expression cannot match.

To look for a few strings in a text takes a fraction of the time of a search, and rules most texts
out. Cox, "Regular Expression Matching with a Trigram Index" (2012), derives trigrams likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

Literals = frozenset[str]
"""Strings of which a text must contain at least one to match."""


def needed(pattern: str) -> tuple[Literals, ...]:
    """The sets of strings that a text needs to match; the smallest first, as they take the least
    time to look for. Case counts: parts of the pattern with flags of their own need nothing.
    """
    # The parser is not public. Hypothesis, among others, relies on it too.
    parsed = import_module("re._parser").parse(pattern)
    each = [] if parsed.state.flags & re.IGNORECASE else _of(parsed)
    return tuple(sorted(dict.fromkeys(each), key=len))


def may_match(text: str, each: Iterable[Literals]) -> bool:
    """Whether a text contains a string of each set. If not, the pattern does not match it."""
    return all(any(map(text.__contains__, some)) for some in each)


def _of(items: Iterable[tuple[Any, Any]]) -> list[Literals]:
    found: list[Literals] = []
    run = ""
    for operation, argument in (*items, (None, None)):
        kind = str(operation)
        if kind == "LITERAL":
            run += chr(argument)
            continue
        if run:
            found.append(frozenset([run]))
            run = ""
        match kind:
            case "SUBPATTERN":
                _, flags, _, inner = argument
                found += [] if flags else _of(inner)
            case "ATOMIC_GROUP":
                found += _of(argument)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, _, repeated = argument
                found += _of(repeated) if least else []
            case "IN" if all(str(inner) == "LITERAL" for inner, _ in argument):
                found.append(frozenset(chr(char) for _, char in argument))
            case "BRANCH":
                branches = [_of(branch) for branch in argument[1]]
                if all(branches):
                    found.append(frozenset().union(*(max(one, key=_rarity) for one in branches)))
    return found


def _rarity(some: Literals) -> tuple[int, int]:
    """Longer strings are presumably rarer in texts, and so are fewer of them."""
    return min(map(len, some)), -len(some)
