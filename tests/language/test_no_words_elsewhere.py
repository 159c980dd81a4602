"""Words of a language stand in `language/`, and in no other package that reads what people say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import pagefault
from pagefault.language.known import LANGUAGES

SOURCE: Final = Path(pagefault.__file__).parent
PACKAGES: Final = (
    "activity", "engine", "guard", "history", "integrations", "mcp_server", "model", "pack",
    "paging", "policy", "proxy", "recall", "represent", "service", "store", "truth", "window",
)  # fmt: skip
FEW: Final = 3
"""Words that everybody says, which one table may have and be of something else."""

ALLOWED: Final = {
    "activity/outcomes.py": "what programs that run tests print",
    "activity/shell.py": "options of programs",
    "engine/endpoint.py": "what servers say of a request that is too long",
    "engine/scripted.py": "a reader of English in place of a model, which finds nothing for memory",
    "mcp_server/answers.py": "the names of fields",
    "guard/neutralise.py": "the names of tags",
    "guard/structure.py": "parts of the names of what holds a secret, and keywords of programs",
    "guard/screen.py": "parts of the names of settings that are no secrets",
    "represent/sentences.py": "keywords of programming languages",
    "service/inspection/metrics.py": "the words of which names of figures are made",
    "truth/english.py": "whole English sentences that are claims; docs/truth.md has the reason",
}

_COMMON: Final = frozenset(
    word
    for one in LANGUAGES
    for word in one.stop_words
    | one.function_words
    | one.fillers
    | one.calendar
    | one.times
    | one.numbers
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def tables(source: str) -> Iterator[str]:
    """What is a list of words in a program: strings that are split, compiled, or stand side by
    side, each a word.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="split")):
                yield " ".join(_strings(value))
            case ast.Call(func=ast.Attribute(attr="compile"), args=args):
                yield " ".join(text for arg in args for text in _strings(arg))
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                yield " ".join(_words(parts))
            case ast.Dict(keys=keys):
                yield " ".join(_words([key for key in keys if key is not None]))


def _strings(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _words(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if " " not in node.value.strip() else []


def natural(table: str) -> set[str]:
    return {word for word in map(str.casefold, _WORD.findall(table)) if word in _COMMON}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_list_of_words_stands_elsewhere(package: str) -> None:
    found = [
        f"{name}: {sorted(words)}"
        for file in sorted((SOURCE / package).rglob("*.py"))
        if (name := file.relative_to(SOURCE).as_posix()) not in ALLOWED
        for table in tables(file.read_text(encoding="utf-8"))
        if len(words := natural(table)) > FEW
    ]
    assert found == []


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_still_needed(name: str) -> None:
    source = (SOURCE / name).read_text(encoding="utf-8")
    assert any(len(natural(table)) > FEW for table in tables(source))


@pytest.mark.parametrize(
    "source",
    [
        '_STOP = frozenset("the of and is".split())',
        '_STOP = {"der", "die", "das", "und"}',
        '_ASKS = re.compile(r"^(?:who|what|where|when)")',
        '_DAYS = {"gestern": 1, "heute": 0, "montag": 2, "dienstag": 3}',
    ],
)
def test_control_a_list_of_words_is_seen(source: str) -> None:
    assert any(len(natural(table)) > FEW for table in tables(source))
