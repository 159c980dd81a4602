"""Subjects and values under one name: what makes two claims be about the same thing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[\w+#]+")
_FILLERS: Final = frozenset(
    "a an the this that these those your its of for in on to and with we us i "
    "choice decision pick selection whole entire overall project projects".split()
)
_ONE_WORD: Final = {
    "db": "database",
    "dbs": "database",
    "databases": "database",
    "fe": "frontend",
    "be": "backend",
    "repo": "repository",
    "repos": "repository",
    "infra": "infrastructure",
    "auth": "authentication",
    "docs": "documentation",
    "config": "configuration",
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "tests": "test",
    "testing": "test",
    "deploy": "deployment",
    "deploying": "deployment",
    "deployments": "deployment",
    "hosting": "host",
    "lang": "language",
}
_JOINED: Final = (
    (re.compile(r"\bfront[\s-]end\b"), "frontend"),
    (re.compile(r"\bback[\s-]end\b"), "backend"),
    (re.compile(r"\bdata[\s-]base\b"), "database"),
    (re.compile(r"\btime[\s-]zone\b"), "timezone"),
    (re.compile(r"\bci\s*/\s*cd\b"), "ci cd"),
)


@lru_cache(maxsize=4096)
def subject_key(subject: str) -> str:
    """The words that tell, in a fixed order: "the Database choice" and "our DB" are both
    "database". Empty if nothing tells.
    """
    text = subject.casefold().replace("_", " ").replace("’", "'")
    for pattern, joined in _JOINED:
        text = pattern.sub(joined, text)
    text = text.replace("'s ", " ").replace("-", " ")
    words = [_one(word) for word in _WORD.findall(text)]
    telling = [word for word in words if word not in _FILLERS]
    return " ".join(sorted(set(telling)))


@lru_cache(maxsize=4096)
def value_key(value: str) -> str:
    """A value less its case, its article and the marks around it."""
    text = " ".join(value.casefold().replace("’", "'").strip(" \t\n.,;:!?\"'`“”()").split())
    text = re.sub(r"^(?:the|a|an)\s+", "", text)
    return " ".join(_ONE_WORD.get(word, word) for word in text.split())


def _one(word: str) -> str:
    word = _ONE_WORD.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
