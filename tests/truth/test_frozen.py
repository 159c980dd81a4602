"""The cue lists of `truth/`, and its sentences in `language/`, are frozen, and few."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pagefault.truth
from pagefault.language import english_statements

FILES = [
    *sorted(Path(pagefault.truth.__file__).parent.glob("*.py")),
    Path(english_statements.__file__),
]
LINES_MAX = 400
FROZEN = "2cf4e2f2c68590f7"

WHY = """
The cues of truth/ are frozen (docs/decisions/051). Extending patterns does not generalise: a
thousand of them found 24 % of what other people decided and turned prohibitions round; what a new
one brings on the sentence that it was written for, it does not bring on the next. What is missed is
found by search, and `Session.claim` and `Session.remember` are the sure way. If a cue has to change
all the same, check every claim on the material of docs/truth.md by hand, tell the figures there and
in a decision record, and put this digest here: {digest}
"""


def cues(source: str) -> list[ast.Assign | ast.AnnAssign]:
    """The module-level constants that hold text of a language: patterns, words, tables of these."""
    return [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.value is not None
        and any(
            isinstance(one, ast.Constant) and isinstance(one.value, str)
            for one in ast.walk(node.value)
        )
    ]


def _all_cues() -> list[ast.Assign | ast.AnnAssign]:
    return [node for path in FILES for node in cues(path.read_text("utf-8"))]


def _told(node: ast.Assign | ast.AnnAssign) -> str:
    """The texts of a cue and what it is put together of, which every Python parses alike."""
    parts = [
        one.value if isinstance(one, ast.Constant) else one.id
        for one in ast.walk(node.value or node)
        if isinstance(one, ast.Name)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
    ]
    return "\0".join(map(str, parts))


def _digest(nodes: list[ast.Assign | ast.AnnAssign]) -> str:
    """Of what they say: neither of how they are laid out, nor of where they stand."""
    return hashlib.sha256("\n".join(sorted(map(_told, nodes))).encode()).hexdigest()[:16]


def test_the_cues_are_those_that_were_checked_by_hand() -> None:
    digest = _digest(_all_cues())
    assert digest == FROZEN, WHY.format(digest=digest)


def test_the_cues_take_no_more_lines_than_somebody_can_read() -> None:
    lines = sum((node.end_lineno or 0) - node.lineno + 1 for node in _all_cues())
    assert 0 < lines <= LINES_MAX, f"{lines} lines of cues. {WHY}"


def test_control_another_word_changes_the_digest_and_another_layout_does_not() -> None:
    before = cues('WORDS: Final = frozenset("a b".split())\nFORM = re.compile(r"let\'s")\nN = 3\n')
    moved = cues('FORM = re.compile(\n    r"let\'s"\n)\nWORDS: Final = frozenset("a b".split())\n')
    more = cues('WORDS: Final = frozenset("a b c".split())\nFORM = re.compile(r"let\'s")\n')
    assert len(before) == 2
    assert _digest(before) == _digest(moved) != _digest(more)
