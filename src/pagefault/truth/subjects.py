"""Normal forms of subjects and values, by which claims about the same thing are matched."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pagefault.language.english_statements import FILLERS, JOINED, ONE_WORD

_WORD: Final = re.compile(r"[\w+#]+")


@lru_cache(maxsize=4096)
def subject_key(subject: str) -> str:
    """The significant words, sorted: "the Database choice" and "our DB" are both "database". Empty
    if there are none.
    """
    text = subject.casefold().replace("_", " ").replace("’", "'")
    for pattern, joined in JOINED:
        text = pattern.sub(joined, text)
    text = text.replace("'s ", " ").replace("-", " ")
    words = [_one(word) for word in _WORD.findall(text)]
    telling = [word for word in words if word not in FILLERS]
    return " ".join(sorted(set(telling)))


@lru_cache(maxsize=4096)
def value_key(value: str) -> str:
    """A value without case, article and surrounding punctuation."""
    text = " ".join(value.casefold().replace("’", "'").strip(" \t\n.,;:!?\"'`“”()").split())
    text = re.sub(r"^(?:the|a|an)\s+", "", text)
    return " ".join(ONE_WORD.get(word, word) for word in text.split())


def _one(word: str) -> str:
    word = ONE_WORD.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
