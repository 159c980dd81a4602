"""Small histories, made by hand in the Messages format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pagefault.pack.count import TokenCounter
from pagefault.proxy.history.history import History, Json, unmarked
from pagefault.proxy.wires.messages import Messages

MARK = {"type": "ephemeral"}


class Words:
    """One token a word: fast, and easy to count by hand."""

    def count(self, text: str) -> int:
        return len(text.split())

    def count_all(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


COUNTER: TokenCounter = Words()
WIRE = Messages()


def text(said: str, *, mark: bool = False) -> Json:
    return {"type": "text", "text": said, **({"cache_control": MARK} if mark else {})}


def user(*blocks: str | Json) -> Json:
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def model(*blocks: str | Json) -> Json:
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def call(call_id: str, name: str = "Read", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, said: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def reminder(said: str) -> str:
    return f"<system-reminder>\n{said}\n</system-reminder>"


def body(*messages: Json, **more: Any) -> Json:
    return {"model": "m", "system": "You help.", "messages": list(messages), **more}


def history(*messages: Json) -> History:
    """As Claude Code would send it."""
    return WIRE.read(body(*messages)).of_program("claude")


FACT = "The launch code of project Heron is 7741, and Ilse keeps it."


def long_talk(turns: int) -> list[Json]:
    said = [user(FACT), model("Noted.")]
    for n in range(turns):
        said += [
            user(f"Tell me of garden {n}. " + f"leaf{n} " * 60),
            model(f"Garden {n} is green."),
        ]
    return said


def interrupted(count: int) -> list[Json]:
    """Turns that each begin with the result of the call before, as clients send it whose tools were
    interrupted, or that queue what the user types.
    """
    said = [user(FACT), model(call("c0", path="garden0.txt"))]
    for n in range(count):
        said += [
            user(result(f"c{n}", f"bed{n} " * 30), f"Tell me of garden {n}. " + f"leaf{n} " * 30),
            model(f"Garden {n} is green.", call(f"c{n + 1}", path=f"garden{n + 1}.txt")),
        ]
    return said


def survival(before: Sequence[Any], after: Sequence[Any]) -> float:
    """The share of one request, in blocks of content, with which the next one begins."""
    ours, theirs = _blocks(before), _blocks(after)
    shared = 0
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            break
        shared += 1
    return shared / len(ours) if ours else 1.0


def _blocks(messages: Sequence[Any]) -> list[Any]:
    """What a provider reads one after another, less markers; a text alone is a block of text."""
    found: list[Any] = []
    for message in map(unmarked, messages):
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        rest = {name: value for name, value in message.items() if name != "content"}
        found += [rest, *(content if isinstance(content, list) else [content])]
    return found
