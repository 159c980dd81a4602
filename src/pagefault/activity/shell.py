"""Commands as a shell is given them, taken apart as far as that needs no shell.

Quotes and operators are those of POSIX (`shlex`); what is expanded when it runs (variables,
substitutions, here-documents) stays as it is written. That is enough to tell which programs a line
names: nothing here decides what may run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Final

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "fish"})
_PLAIN: Final = re.compile(r"[\w ./:=,@%+-]*", re.ASCII)
"""A line in which blanks alone tell words apart: most are, and `shlex` is far slower."""

_SET: Final = re.compile(r"[A-Za-z_]\w*=")
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "sed", "grep", "rg", "awk", "ls", "find", "echo", "git"}
)
"""Programs that print what stands somewhere: what they print happened at another time."""

_RUNNERS: Final = frozenset(
    {"pytest", "py.test", "unittest", "jest", "vitest", "mocha", "tap", "nextest", "gotestsum"}
)
_TESTING: Final = frozenset({"go", "cargo", "npm", "pnpm", "yarn", "bun", "node", "deno", "make"})
"""Programs that run tests where `test` follows them."""

_RUNS: Final = (b"test", *(one.encode() for one in sorted(_RUNNERS) if "test" not in one))

_BY_NAME: Final = frozenset({"-k", "-t", "--testNamePattern", "-run", "--run"})

_NO_CHOICE: Final = re.compile(
    r"-[vqsxl]+|-r\w+|-race|-count=1"
    r"|--(?:tb|color|maxfail|cov[\w-]*|junit-?xml|durations|reporters?|watch\w*)=.*"
    r"|--(?:verbose|quiet|exitfirst|no-header|no-summary|disable-warnings|showlocals|color|cov"
    r"|silent|ci|coverage|no-coverage|release|all|workspace|nocapture|no-fail-fast|all-features)"
)
"""Options that say how tests are run and told, and leave none out."""


def script_of(argv: Sequence[str]) -> str:
    """What a person would type for this: of a shell that is given a script, that."""
    if len(argv) >= 3 and _base(argv[0]) in _SHELLS and re.fullmatch(r"-\w*c", argv[1]):
        return argv[2]
    return shlex.join(argv)


def argv_of(script: str) -> tuple[str, ...]:
    """The program and its arguments, or the shell that a line needs which has several."""
    if not any(char in script for char in "|;&<>$`\n"):
        try:
            plain = _PLAIN.fullmatch(script)
            told = script.split() if plain else shlex.split(script)
            words = list(dropwhile(_SET.match, told))
        except ValueError:  # a quote that is not closed
            words = []
        if words:
            return tuple(words)
    return ("sh", "-c", script)


def commands_in(script: str) -> Iterator[list[str]]:
    """The simple commands of a line, less assignments before them."""
    if _PLAIN.fullmatch(script):
        words = list(dropwhile(_SET.match, script.split()))
        yield from [words] if words else []
        return
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace_split = True
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    found: list[str] = []
    try:
        for token in lexer:
            if token and not token.strip("();|&\n"):
                if found:
                    yield found
                found = []
            elif found or not _SET.match(token):
                found.append(token)
    except ValueError:  # a quote that is not closed: what stands before it is told
        pass
    if found:
        yield found


def only_reads(script: str) -> bool:
    """Whether all that a line prints stood somewhere before."""
    return all(_base(one[0]) in _READERS for one in commands_in(script) if one[0] != "cd")


def may_run_tests(written: bytes) -> bool:
    """Whether a line could have tests that it runs, as it is or in JSON, for who would not take it
    apart: where this is false, `selected` is "" of any test.
    """
    return any(one in written for one in _RUNS)


def selected(script: str, test: str) -> str:
    """Whether the tests that a line runs have this one among them: `selected` where the line names
    it, or what holds it; `whole` where it names none, and has no option that may leave some out, so
    all are run; else "".
    """
    for command in commands_in(script):
        at = next((n for n, word in enumerate(command) if _base(word) in _RUNNERS), None)
        if at is None and _base(command[0]) in _TESTING and "test" in command[1:]:
            at = command.index("test", 1)
        if at is None:
            continue
        names, words = list[str](), iter(command[at + 1 :])
        for word in words:
            if word in _BY_NAME:
                if next(words, "") == re.split(r"::|\.|/| > ", test)[-1]:
                    return "selected"
                names.append(word)
            elif word not in ("run", "--", "./...") and not _NO_CHOICE.fullmatch(word):
                names.append(word)
        if not names:
            return "whole"
        if any(test == one or test.startswith((f"{one.rstrip('/')}/", f"{one}::", f"{one}."))
               for one in names):  # fmt: skip
            return "selected"
    return ""


def _base(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]
