"""What a life does to a memory, step by step, and what must be found of it afterwards.

A step is a list: a verb and its arguments, as JSON carries it. `VERBS` in `lives.py` does them; a
new command is one line there, and one in `fold` if it changes what can be found.

    ["say", session, text]              ["batch", session, [text, …]]
    ["request", session]                ["forget_page", session, text]
    ["forget_session", session]         ["command", word, …]    (a command line)
    ["artifact", session, text]         (found as `described(text)`)
    ["scrub", text]                     (the first word of it, wherever it stands)
    ["backup"]                          ["restore"]             (from and to a place beside)
    ["litter"]                          (what killed processes left, long ago)
    ["damage", session, text]           (done to the files, not by a life)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

Step = list[Any]
Texts = dict[str, list[str]]
"""By session: the texts that stand in it, in order."""


MARK: Final = "[REDACTED:given.1]"


def fold(steps: Sequence[Step]) -> Texts:
    """What can be found after these steps. Sessions in which nothing stands are left out."""
    texts: Texts = {}
    for verb, *arguments in steps:
        if verb == "say":
            texts.setdefault(arguments[0], []).append(arguments[1])
        elif verb == "artifact":
            texts.setdefault(arguments[0], []).append(described(arguments[1]))
        elif verb == "batch":
            texts.setdefault(arguments[0], []).extend(arguments[1])
        elif verb in {"forget_page", "damage"}:
            texts[arguments[0]].remove(arguments[1])
        elif verb == "forget_session":
            texts.pop(arguments[0], None)
        elif verb == "scrub":
            word = arguments[0].split()[0]
            for session, said in texts.items():
                texts[session] = [one.replace(word, MARK) for one in said]
    return {session: said for session, said in texts.items() if said}


def forgotten(steps: Sequence[Step]) -> list[str]:
    """The texts of which no byte may be left."""
    gone: list[str] = []
    for number, (verb, *arguments) in enumerate(steps):
        if verb == "forget_page":
            gone.append(arguments[1])
        elif verb == "forget_session":
            gone += fold(steps[:number]).get(arguments[0], [])
        elif verb == "scrub":
            gone.append(arguments[0])
    return gone


def text(number: int, words: int = 6) -> str:
    """A text that no other is like, and whose one word can be searched for in files."""
    return " ".join([f"qx{number:06}z", *["filler"] * words, f"end{number}"])


def artifact(text: str) -> bytes:
    """The bytes of an artifact about `text`; they contain it."""
    return f"{text}\n".encode() * 300


def described(text: str) -> str:
    """The text of its page."""
    return f"{text.split(maxsplit=1)[0]}.png (image/png, {len(artifact(text)):,} bytes): {text}"


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
    safe = [*before, *steps[:done]]
    check_one_of(found, [safe, [*safe, *steps[done : done + 1]]])


def check_one_of(found: Mapping[str, Any], histories: Sequence[Sequence[Step]]) -> None:
    """What was found must be what one of these histories made; the first is the acknowledged."""
    texts: Texts = found["texts"]
    history = next((history for history in histories if fold(history) == texts), None)
    if history is None:
        kept = [set(chain(*fold(history).values())) for history in histories]
        lost = set.intersection(*kept) - set(chain(*texts.values()))
        if lost:
            raise Violation(f"acknowledged and lost: {sorted(lost)}; there are {texts}")
        raise Violation(f"{texts} is none of {[fold(history) for history in histories]}")
    if found["verify"] != 0:
        raise Violation(f"verify finds {found['problems']}")
    if found["index"]:
        raise Violation(f"the index is not what a rebuild makes: {found['index']}")
    if found["leftovers"]:
        raise Violation(f"left behind: {found['leftovers']}")
    if found["garbage"]:
        raise Violation(f"left behind by gc: {found['garbage']}")
    if not found["wrote"]:
        raise Violation(f"it cannot be written to: {found['refused']}")
    for one in forgotten(history):
        marker = one.split()[0].removesuffix(".png")
        if marker in found["markers"]:
            raise Violation(f"{marker} was forgotten and stands in {found['markers'][marker]}")
