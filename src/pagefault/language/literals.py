"""What a regular expression cannot match without.

Looking for a few literal strings in a text takes a fraction of the time of a search, and rules most
texts out (Cox, "Regular Expression Matching with a Trigram Index", 2012, derives such strings in
the same way).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

Literals = frozenset[str]
"""Strings of which every matched text contains at least one."""


def needed(pattern: str) -> tuple[Literals, ...]:
    """Sets of strings: a text that has none of one of them has no match. The smallest first."""
    # The parser is no public module. Hypothesis, among others, builds on it too.
    parsed = import_module("re._parser").parse(pattern)
    each = [] if parsed.state.flags & re.IGNORECASE else _of(parsed)
    return tuple(sorted(dict.fromkeys(each), key=len))


def may_match(text: str, each: Iterable[Literals]) -> bool:
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
                _, added, _, inner = argument
                found += [] if added & re.IGNORECASE else _of(inner)
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
    """Of several sets the one with the longest strings, then the fewest, is the rarest by guess."""
    return min(map(len, some)), -len(some)
