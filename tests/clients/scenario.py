"""One session that any agent can have: four facts, each told once, work far beyond the window, and
a question about each, which has one word with content in common with it.

The model is scripted: it says what the scenario says, reads what it is told to read, and answers a
question with what stands in the request, or else with what memory's search finds. It refuses what
providers refuse (`tests.proxy.strict`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pagefault.pack.count import O200k
from tests.proxy.strict import strict, tokens_of
from tests.proxy.test_faults import blocks, names
from tests.proxy.upstream import Call, Say, Seen

CHAPTERS = 50
AT_ONCE = 5  # calls of one reply
CHAPTER_LINES = 40  # of about 25 tokens each
WINDOW_TOKENS = 15_000  # beside the client's own head
ENDLESS = 10_000_000


@dataclass(frozen=True)
class Fact:
    said: str
    asked: str
    code: str


USERS = Fact(
    "The person who looks after Heron can be rung at 40417.",
    "How do I reach the owner of Heron?",
    "40417",
)
ASSISTANTS = Fact("Badger was paid with invoice 51883.", "What was used to settle Badger?", "51883")
RESULTS = Fact(
    "Whoever deploys Quartz needs gate 62759.", "What lets somebody ship Quartz?", "62759"
)
FILES = Fact(
    "Marlin listens on 73361 while staging.", "Which port number does Marlin have?", "73361"
)
FACTS = (USERS, ASSISTANTS, RESULTS, FILES)

TELL = f"Remember this for later. {USERS.said}"
PLAN = "Go through the open invoices."
LOOK = "Look at the notes on releases."
WORK = "Read all fifty chapters of the handbook."
PROMPTS = (TELL, PLAN, LOOK, WORK, *(fact.asked for fact in FACTS))
"""What the user types, in order."""
ANSWERS = (
    "I keep it in mind.",
    f"I went through them. {ASSISTANTS.said}",
    "I have looked.",
    "I have read it.",
    *(f"It is {fact.code}." for fact in FACTS),
)
"""What it reads then, if nothing was lost."""
NOTES = "notes.txt"


def chapter_name(number: int) -> str:
    return f"chapter_{number:02}.txt"


def contents() -> dict[str, str]:
    """The files of the session. One chapter in the middle has a fact in it."""
    found = {NOTES: f"On releases:\n{RESULTS.said}\nThat is all.\n"}
    for number in range(CHAPTERS):
        lines = [
            " ".join(f"word{(number * 7 + line * 13 + place) % 97}" for place in range(10)) + "."
            for line in range(CHAPTER_LINES)
        ]
        if number == CHAPTERS // 2:
            lines.insert(len(lines) // 2, FILES.said)
        found[chapter_name(number)] = (
            f"Chapter {number} of the handbook\n" + "\n".join(lines) + "\n"
        )
    return found


def write_files(folder: Path) -> None:
    for name, text in contents().items():
        (folder / name).write_text(text)


class Counter(O200k):
    """Counts what a session says again and again once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, int] = {}

    def count_all(self, texts: Sequence[str]) -> list[int]:
        new = [text for text in texts if text not in self._known]
        self._known |= zip(new, super().count_all(new), strict=True)
        return [self._known[text] for text in texts]


COUNTER = Counter()

Read = Callable[[str], tuple[str, Mapping[str, Any]]]
"""The call by which a client reads a file of that name: a tool of its own, and the arguments."""


@dataclass
class Model:
    """`is_main` tells the conversation's own requests from others of a client's, a title say, which
    get `aside` for an answer. Without `reads`, a client has no tools, and is handed the texts.
    """

    reads: Read | None
    is_main: Callable[[Seen], bool] = lambda seen: True
    aside: str = "A session about a handbook"
    window_tokens: int = ENDLESS
    counter: Counter = field(default_factory=lambda: COUNTER)
    refused: list[str] = field(default_factory=list)
    asked: list[Seen] = field(default_factory=list)  # the conversation's own requests
    searched: set[str] = field(default_factory=set)  # codes that were found by a search
    summaries: int = 0  # that the client asked for
    _at: int = -1
    _left: list[Say] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _number: int = 0

    def script(self) -> Callable[[Seen], Say]:
        inner = strict(self._answer, self.counter, self.window_tokens)

        def answer(seen: Seen) -> Say:
            with self._lock:
                say = inner(seen)
            if say.status != 200:
                self.refused.append(say.raw.decode())
            return say

        return answer

    def _answer(self, seen: Seen) -> Say:
        tokens = tokens_of(seen, self.counter)
        if asks_to_sum_up(seen):
            self.summaries += 1
            return Say(text=f"We read a handbook, part {self.summaries}.", input_tokens=tokens)
        if not self.is_main(seen):
            return Say(text=self.aside, input_tokens=tokens)
        self.asked.append(seen)
        said = spoken(seen)
        while self._at + 1 < len(PROMPTS) and PROMPTS[self._at + 1] in said:
            self._at += 1
            self._left = self._replies(PROMPTS[self._at])
        if self._left:
            say = self._left.pop(0)
        else:
            say = self._looked_up(PROMPTS[self._at], said, names(seen))
        return replace(say, input_tokens=tokens)

    def _replies(self, prompt: str) -> list[Say]:
        match prompt:
            case str() if prompt == TELL:
                return [Say(text="I keep it in mind.")]
            case str() if prompt == PLAN:
                said = f"I went through them. {ASSISTANTS.said}"
                return [Say(text=said, thinking="Which are open?")]
            case str() if self.reads is None:
                return []
            case str() if prompt == LOOK:
                calls = self._calls([NOTES])
                return [Say(calls=calls, thinking="In the notes."), Say(text="I have looked.")]
            case str() if prompt == WORK:
                files = [chapter_name(number) for number in range(CHAPTERS)]
                batches = [files[at : at + AT_ONCE] for at in range(0, CHAPTERS, AT_ONCE)]
                return [
                    *(Say(calls=self._calls(one)) for one in batches),
                    Say(text="I have read it."),
                ]
        return []

    def _calls(self, files: Sequence[str]) -> tuple[Call, ...]:
        assert self.reads is not None
        calls = []
        for name in files:
            self._number += 1
            calls.append(Call(f"call_{self._number}", *self.reads(name)))
        return tuple(calls)

    def _looked_up(self, prompt: str, said: str, offered: Sequence[str]) -> Say:
        fact = next((one for one in FACTS if one.asked == prompt), None)
        if fact is None:
            return Say(text="I have read it.")
        call_id = f"call_s{FACTS.index(fact)}"
        if fact.code in said:
            if call_id in said:
                self.searched.add(fact.code)
            return Say(text=f"It is {fact.code}.")
        if "search_pages" in offered and call_id not in said:
            return Say(calls=(Call(call_id, "search_pages", {"query": prompt}),))
        return Say(text="I do not know.")


def spoken(seen: Seen) -> str:
    """All strings of a request, as they are, and names of calls."""
    body = seen.body
    return "\n".join(strings([body.get("messages") or body.get("input")]))


def strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for one in value.values() for text in strings(one)]
        case list():
            return [text for one in value for text in strings(one)]
    return []


_SUMS_UP = re.compile(
    r"CONTEXT CHECKPOINT COMPACTION|summary of the conversation so far"
    r"|[Ss]ummariz(?:e|ing) (?:the|this) conversation|anchored summary",
)


def asks_to_sum_up(seen: Seen) -> bool:
    """Whether the last message, or the instructions, ask for the conversation in few words."""
    body = seen.body
    told = body.get("messages") or body.get("input") or []
    told = [{"content": told}] if isinstance(told, str) else told
    last = strings(told[-1:])
    return bool(_SUMS_UP.search("\n".join(last)))


def breaks(asked: Sequence[Seen]) -> int:
    """In how many requests less than all of the one before stands at the beginning."""
    return sum(
        blocks(later)[: len(blocks(earlier))] != blocks(earlier)
        for earlier, later in pairwise(asked)
    )
