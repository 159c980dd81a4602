"""What a life does to a memory, step by step, and what must be found of it afterwards.

A step is a list: a verb and its arguments, as JSON carries it. `VERBS` in `lives.py` does them; a
new command is one line there, and one in `fold` if it changes what can be found.

    ["say", session, text]              ["batch", session, [text, …]]
    ["request", session]                ["forget_page", session, text]
    ["forget_session", session]         ["command", word, …]    (a command line)
    ["damage", session, text]           (done to the files, not by a life)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Step = list[Any]
Texts = dict[str, list[str]]
"""By session: the texts that stand in it, in order."""


def fold(steps: Sequence[Step]) -> Texts:
    """What can be found after these steps. Sessions in which nothing stands are left out."""
    texts: Texts = {}
    for verb, *arguments in steps:
        if verb == "say":
            texts.setdefault(arguments[0], []).append(arguments[1])
        elif verb == "batch":
            texts.setdefault(arguments[0], []).extend(arguments[1])
        elif verb in {"forget_page", "damage"}:
            texts[arguments[0]].remove(arguments[1])
        elif verb == "forget_session":
            texts.pop(arguments[0], None)
    return {session: said for session, said in texts.items() if said}


def forgotten(steps: Sequence[Step]) -> list[str]:
    """The texts of which no byte may be left."""
    gone: list[str] = []
    for number, (verb, *arguments) in enumerate(steps):
        if verb == "forget_page":
            gone.append(arguments[1])
        elif verb == "forget_session":
            gone += fold(steps[:number]).get(arguments[0], [])
    return gone


def text(number: int, words: int = 6) -> str:
    """A text that no other is like, and whose one word can be searched for in files."""
    return " ".join([f"qx{number}z", *["filler"] * words, f"end{number}"])


def talk(session: str, first: int, count: int) -> list[Step]:
    return [["say", session, text(number)] for number in range(first, first + count)]


class Violation(AssertionError):
    """What was promised was not kept."""


def check(
    found: Mapping[str, Any], before: Sequence[Step], steps: Sequence[Step], done: int
) -> None:
    """What `lives.look` found must be what was acknowledged, or that and the step under way.

    `before` are steps that were done before the fault, `done` how many of `steps` were
    acknowledged. Raises `Violation`.
    """
    texts: Texts = found["texts"]
    safe = [*before, *steps[:done]]
    allowed = [safe]
    if done < len(steps):
        allowed.append([*safe, steps[done]])
    history = next((history for history in allowed if fold(history) == texts), None)
    if history is None:
        for session, said in fold(safe).items():
            there = texts.get(session, [])
            lost = [one for one in said if one not in there]
            if lost and not (done < len(steps) and steps[done][0].startswith("forget")):
                raise Violation(
                    f"acknowledged and lost: {lost} of {session!r}, where {there} stand"
                )
        raise Violation(f"neither {fold(allowed[0])} nor {fold(allowed[-1])} but {texts}")
    if found["verify"] != 0:
        raise Violation(f"verify finds {found['problems']}")
    if found["index"]:
        raise Violation(f"the index is not what a rebuild makes: {found['index']}")
    if found["leftovers"]:
        raise Violation(f"left behind: {found['leftovers']}")
    if not found["wrote"]:
        raise Violation(f"it cannot be written to: {found['refused']}")
    for one in forgotten(history):
        marker = one.split()[0]
        if marker in found["markers"]:
            raise Violation(f"{marker} was forgotten and stands in {found['markers'][marker]}")
