"""Protected tokens: what shortening must not lose, namely identifiers, numbers and negations.

Found by form, in any language that has that form. A negation includes the word it negates, so that
losing either, or their connection, counts as a loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from pagefault.language.known import LANGUAGES
from pagefault.language.language import Cue
from pagefault.language.patterns import anywhere, joined


class Guarded(StrEnum):
    IDENTIFIER = "identifier"
    NUMBER = "number"
    NEGATION = "negation"


class Token(NamedTuple):
    """`text` is normalised: equal things have equal texts."""

    what: Guarded
    text: str
    start: int  # characters
    end: int


_EXTENSIONS: Final = (
    "py|pyi|js|mjs|ts|tsx|jsx|rs|go|c|cc|cpp|h|hpp|java|kt|swift|rb|php|cs|sh|sql|json|jsonl|ya?ml"
    "|toml|ini|cfg|conf|env|md|rst|txt|csv|tsv|html?|css|xml|lock|log|db|proto|ipynb|pdf|png|jpe?g"
    "|gif|svg|mp[34]|wav|zip|gz|tar|whl"
)
IDENTIFIER: Final = (
    r"https?://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,;:!?]"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # e-mail
    r"|[A-Za-z]:\\[\w\\.@+-]*\w"
    r"|(?<![\w/])(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-]"  # /etc/x, ./x, ~/x
    rf"|\b[\w@+-]+(?:/[\w.@+-]+)*\.(?:{_EXTENSIONS})\b"  # x.py, src/x.py
    r"|\b[A-Za-z][A-Za-z0-9]*-\d+\b"  # ABC-123, gpt-4
    r"|(?<![\w#])#\d+\b"
    r"|(?<![\w-])--?[a-z][\w-]*(?:=[\w./:-]*\w)?"  # --flag=x
    r"|\b[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*\(\)"  # call(), a.b()
    r"|\b[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+"
    r"|\b(?=\w*[A-Za-z])\w*[^\W_]_+[^\W_]\w*"  # snake_case
    r"|\b_+[A-Za-z]\w*"
    r"|\b[a-z]+[0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]*\b"  # camelCase
    r"|\b(?:[A-Z][a-z0-9]+){2,}[A-Z]*\b"  # PascalCase
    r"|\b[A-Z][A-Z0-9]*(?:[A-Z]|[0-9])\b(?:s\b)?"  # LGBTQ, S3
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{7,}\b"  # hashes
    r"|\b[A-Za-z]+[0-9]+[A-Za-z0-9]*\b"  # h2o, v2
    r"|@[A-Za-z][\w-]+"
)
_NUMBER_WORDS: Final = tuple(word for one in LANGUAGES for word in one.exact_numbers)
_PUNCTUATION: Final = ".,;:!?'\"()’”“"
NUMBER: Final = (
    r"[$€£¥₹]?\d+(?:[.,:/-]\d+)*(?:%|[A-Za-zµ°]{1,3}\b)?"
    rf"|\b(?i:{'|'.join(_NUMBER_WORDS)})\b"
    rf"|{joined(Cue.NUMBER)}"
)

_COUNTING: Final = frozenset(_NUMBER_WORDS)
_NAMED: Final = re.compile(rf"(?P<identifier>{IDENTIFIER})|(?P<number>{NUMBER})")
_NEGATED: Final = anywhere(Cue.NEGATION)
_CHUNK: Final = re.compile(r"\S+")
_NEXT: Final = re.compile(r"[\s,]*(\w+)")
_SPELLED: Final = str.maketrans("’", "'")


def guarded(text: str) -> list[Token]:
    """The protected tokens of a text, in order, with repetitions."""
    found: list[Token] = []
    for start, end in suspects(text):
        for match in _NAMED.finditer(text, start, end):
            if match.lastgroup == "identifier":
                found.append(Token(Guarded.IDENTIFIER, match[0], match.start(), match.end()))
            else:
                said = match[0].casefold()
                found.append(Token(Guarded.NUMBER, said, match.start(), match.end()))
    named = [(token.start, token.end) for token in found]
    for match in _NEGATED.finditer(text):
        if any(start <= match.start() < end for start, end in named):
            continue  # `--no-cache` negates nothing
        denied = _NEXT.match(text, match.end())
        said = f"{match[0]} {denied[1]}" if denied else match[0]
        said = " ".join(said.casefold().translate(_SPELLED).split())
        found.append(Token(Guarded.NEGATION, said, match.start(), match.end()))
    return sorted(found, key=lambda token: token.start)


def suspects(text: str) -> Iterator[tuple[int, int]]:
    """Chunks between blanks that may be or contain an identifier or a number.

    Most words are plain, and it is quick to see that.
    """
    for chunk in _CHUNK.finditer(text):
        bare = chunk[0].strip(_PUNCTUATION)
        plain = bare.isascii() and bare.isalpha() and (bare.islower() or bare.istitle())
        if bare and (not plain or bare.casefold() in _COUNTING):
            yield chunk.span()


def guarded_set(text: str) -> frozenset[tuple[Guarded, str]]:
    """The distinct protected tokens of a text."""
    return frozenset((token.what, token.text) for token in guarded(text))


def denies(text: str) -> bool:
    """Whether the text has a negation."""
    return _NEGATED.search(text) is not None


def retained(kept: str, whole: str) -> float:
    """The share of the distinct protected tokens of `whole` that `kept` has."""
    must = guarded_set(whole)
    return len(must & guarded_set(kept)) / len(must) if must else 1.0
