"""Simulated sessions of coding clients: three clients' own requests around a seeded script.

A client's head (instructions, tools, settings), its message format and its way of compacting come
from recordings of the real one. What is said and what tools return is generated, and the same for
all three. Recorded heads were truncated; they are padded to a chosen size.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from pagefault.lab.texts import words
from pagefault.model.errors import BadInput
from pagefault.model.request import ToolCall
from pagefault.pack.count import O200k

Json = dict[str, Any]

CLIENTS: Final = ("claude", "codex", "opencode")
FACTS: Final = 12
LINE_WORDS: Final = 9
LINE_TOKENS: Final = 40  # tokens of a generated line with this many words
TASK: Final = "Go on with the work on {}."


# --- the script -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A call of the file-reading tool, and its result."""

    said: str
    path: str
    result: str
    pause_s: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's message after a pause, the steps of the answer, and its final text. With
    `answer_is`, it asks about a fact: the request must contain that text.
    """

    user: str
    steps: tuple[Step, ...]
    answer: str
    pause_s: float
    answer_is: str = ""


_PLANTED: Final = (
    ("The staging port of {0} is {1}.", "Which number does {0} listen on in staging?"),
    ("{0} was paid with invoice {1}.", "How was {0} settled?"),
    ("Whoever deploys {0} needs gate {1}.", "What lets somebody ship {0}?"),
    ("The owner of {0} can be rung at {1}.", "How do I reach the person behind {0}?"),
)
"""A statement, and a question that shares only the name with it."""
_NAMES: Final = (
    *("Heron", "Marlin", "Osprey", "Badger", "Juniper", "Saffron"),
    *("Quartz", "Tundra", "Willow", "Cobalt", "Falcon", "Magnolia"),
)


def script(seed: int, *, tokens: int, result_tokens: int = 1_000) -> list[Turn]:
    """About `tokens` tokens of work with `FACTS` facts, each stated once: by turns in a user's
    line, in an answer, or in a tool's result. At the end, one question for each.
    """
    chance, counter = random.Random(seed), O200k()
    names = chance.sample(_NAMES, FACTS)
    facts = [
        (*_PLANTED[n % 4], name, f"{chance.randint(10_000, 99_999)}")
        for n, name in enumerate(names)
    ]
    turns: list[Turn] = []
    spent = 0
    for number, (said, _, name, code) in enumerate(facts):
        fact, place = said.format(name, code), number % 3
        upto = tokens * (number + 1) // FACTS
        is_told = False
        while spent < upto or not is_told:
            steps = []
            for _ in range(chance.randint(1, 8)):
                size = min(
                    max(int(chance.lognormvariate(0, 0.8) * result_tokens * 0.75), 60), 6_000
                )
                steps.append(
                    Step(
                        f"I look at {words(chance, 3)}.",
                        f"/home/user/project/{words(chance, 1)}.py",
                        _file(chance, size, fact if place == 2 and not is_told else ""),
                        chance.uniform(4, 40),
                    )
                )
                is_told |= place == 2
                spent += counter.count(steps[-1].result) + 100
            user = TASK.format(words(chance, 12)) + (
                f" {fact}" if place == 0 and not is_told else ""
            )
            answer = f"Done with {words(chance, 20)}." + (
                f" {fact}" if place == 1 and not is_told else ""
            )
            is_told = True
            turns.append(Turn(user, tuple(steps), answer, chance.lognormvariate(4.5, 1.2)))
    asked = [
        Turn(question.format(name), (), "As it was said.", 30.0, code)
        for _, question, name, code in facts
    ]
    return turns + asked


def _file(chance: random.Random, tokens: int, fact: str) -> str:
    """Lines of a file, with numbers as in real files, and the fact somewhere among them."""
    lines = [
        f"{n:>5}  {words(chance, LINE_WORDS).capitalize()} {chance.randint(0, 99_999)}."
        for n in range(1, max(3, tokens // LINE_TOKENS))
    ]
    if fact:
        lines.insert(chance.randrange(len(lines)), f"    #  {fact}")
    return "\n".join(lines)


# --- clients --------------------------------------------------------------------------------------


@dataclass
class Agent:
    """A client with one conversation, which it resends whole: a recorded head, then messages."""

    path: str
    headers: Mapping[str, str]
    first: Json
    compaction: Sequence[Json]
    filling: str
    name: ClassVar[str]
    listed: ClassVar[str] = "messages"  # the field that has them
    messages: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.head = copy.deepcopy({k: v for k, v in self.first.items() if k != self.listed})
        self.head["stream"] = False
        self._begin()

    def _begin(self) -> None:
        """Pad the head, and find in the recordings how the client compacts."""
        raise NotImplementedError

    def _said(self, text: str, call: ToolCall | None) -> list[Json]:
        """The messages of an answer."""
        raise NotImplementedError

    def reads(self, call_id: str, path: str) -> ToolCall:
        """A call of the client's file-reading tool."""
        raise NotImplementedError

    @property
    def model(self) -> str:
        return str(self.head["model"])

    def body(self) -> Json:
        """The next request."""
        return self.head | {self.listed: list(self.messages)}

    def ask(self, text: str) -> None:
        raise NotImplementedError

    def answered(self, text: str, call: ToolCall | None) -> None:
        """Record the model's text and tool call."""
        self.messages += self._said(text, call)

    def returned(self, call_id: str, text: str) -> None:
        raise NotImplementedError

    def reply(self, text: str, call: ToolCall | None, usage: tuple[int, int]) -> Json:
        """The provider's answer, with input tokens and how many of them were cached."""
        raise NotImplementedError

    def summary_body(self) -> Json:
        """The request by which the client summarises its conversation."""
        raise NotImplementedError

    def compact(self, summary: str) -> None:
        raise NotImplementedError


def agent(name: str, recordings: Path, *, head_tokens: int, session: str) -> Agent:
    """A client as recorded. Raises `BadInput` if there is no recording of it."""
    task, compaction = (
        _lines(recordings / f"{name}-{what}.jsonl") for what in ("task", "compaction")
    )
    first = next(one for one in task if one["body"].get("tools"))
    made: dict[str, type[Agent]] = {
        "claude": _Claude,
        "codex": _Codex,
        "opencode": _Opencode,
    }
    headers = {k: session if v in _ids(first) else v for k, v in first["headers"].items()}
    filling = _filling(head_tokens - len(json.dumps(first["body"])) // 4)
    return made[name](first["path"].partition("?")[0], headers, first["body"], compaction, filling)


def _ids(first: Json) -> set[str]:
    named = ("x-claude-code-session-id", "session-id", "thread-id", "x-session-id")
    return {first["headers"][one] for one in named if one in first["headers"]} | {
        first["headers"].get("x-session-affinity", "-")
    }


def _lines(path: Path) -> list[Json]:
    if not path.is_file():
        raise BadInput(
            f"there is no recording {path}", hint="name the folder: tests/proxy/recordings"
        )
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _filling(tokens: int) -> str:
    """Generated text of about `tokens` tokens, in place of what the recorded head lacks."""
    chance = random.Random(0)
    return "\n".join(f"- {words(chance, 12)}." for _ in range(max(0, tokens) // 20))


class _Claude(Agent):
    """Claude Code: the Messages format, with marks that move along with the newest message."""

    name = "claude"

    def _begin(self) -> None:
        self.head["system"][-1]["text"] += self.filling
        self._opening = [copy.deepcopy(self.first["messages"][0]["content"][0])]
        self._system = [m for m in self.first["messages"] if m["role"] == "system"]
        asked = next(one for one in self.compaction if one["step"] == "compacted")
        self._asks = asked["body"]["messages"][-1]["content"][-1]["text"]
        after = next(one for one in self.compaction if one["step"] == "after")
        self._goes_on = after["body"]["messages"][0]["content"][1]["text"]
        self._was = asked["answer"]["text"]

    def body(self) -> Json:
        messages = list(self.messages)
        at = max(n for n, one in enumerate(messages) if isinstance(one["content"], list))
        *before, last = messages[at]["content"]
        marked = last | {"cache_control": {"type": "ephemeral"}}
        messages[at] = messages[at] | {"content": [*before, marked]}
        return self.head | {"messages": messages}

    def ask(self, text: str) -> None:
        said = {"type": "text", "text": text}
        if not self.messages:
            self.messages = [{"role": "user", "content": [*self._opening, said]}, *self._system]
        elif self.messages[-1]["role"] == "user":
            self.messages[-1]["content"].append(said)
        else:
            self.messages.append({"role": "user", "content": [said]})

    def returned(self, call_id: str, text: str) -> None:
        result = {"tool_use_id": call_id, "type": "tool_result", "content": text}
        self.messages.append({"role": "user", "content": [result]})

    def _said(self, text: str, call: ToolCall | None) -> list[Json]:
        said: list[Json] = [{"type": "text", "text": text}] if text else []
        if call is not None:
            given = json.loads(call.arguments)
            said.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": given})
        return [{"role": "assistant", "content": said}]

    def reads(self, call_id: str, path: str) -> ToolCall:
        return ToolCall(call_id, "Read", json.dumps({"file_path": path}))

    def reply(self, text: str, call: ToolCall | None, usage: tuple[int, int]) -> Json:
        tokens, cached = usage
        return {
            "id": "msg", "type": "message", "role": "assistant", "model": self.head["model"],
            "content": self._said(text, call)[0]["content"], "stop_sequence": None,
            "stop_reason": "end_turn" if call is None else "tool_use",
            "usage": {
                "input_tokens": 0, "cache_creation_input_tokens": tokens - cached,
                "cache_read_input_tokens": cached, "output_tokens": 60,
            },
        }  # fmt: skip

    def summary_body(self) -> Json:
        asks = {"type": "text", "text": self._asks, "cache_control": {"type": "ephemeral"}}
        *before, last = self.messages
        if last["role"] == "user":
            messages = [*before, last | {"content": [*last["content"], asks]}]
        else:
            messages = [*self.messages, {"role": "user", "content": [asks]}]
        return self.head | {"messages": messages}

    def compact(self, summary: str) -> None:
        text = self._goes_on.replace(self._was, summary)
        said = {"type": "text", "text": text}
        self.messages = [{"role": "user", "content": [*self._opening, said]}, *self._system]


class _Codex(Agent):
    """Codex: the Responses format, with reasoning encrypted by the provider."""

    name = "codex"
    listed = "input"

    def _begin(self) -> None:
        self.head["prompt_cache_key"] = self.headers["session-id"]
        self._opening = copy.deepcopy(self.first["input"][:3])
        self._opening[0]["content"][0]["text"] += self.filling
        self.messages = list(self._opening)
        asked, after = (one for one in self.compaction if one["step"] == "compacted")
        self._asks = asked["body"]["input"][-1]
        self._goes_on = next(
            one for one in after["body"]["input"] if asked["answer"]["text"] in str(one)
        )
        self._was = asked["answer"]["text"]
        self._asked: list[Json] = []
        self._count = 0

    def ask(self, text: str) -> None:
        self._count += 1
        content = [{"type": "input_text", "text": text}]
        said = {"type": "message", "id": f"msg_u{self._count}", "role": "user", "content": content}
        self.messages.append(said)
        self._asked.append(said)

    def _said(self, text: str, call: ToolCall | None) -> list[Json]:
        n = len(self.messages)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        said: list[Json] = [
            {
                "type": "reasoning", "id": f"rs_{n}", "summary": [], "content": None,
                "encrypted_content": f"sealed:{n}" + "x" * 400,
            },
        ]  # fmt: skip
        if text:
            said.append(
                {
                    "type": "message", "status": "completed", "id": f"msg_{n}", "role": "assistant",
                    "content": content,
                }
            )  # fmt: skip
        if call is not None:
            said.append(
                {
                    "type": "function_call", "status": "completed", "id": f"fc_{call.call_id}",
                    "name": call.name, "call_id": call.call_id, "arguments": call.arguments,
                }
            )  # fmt: skip
        return said

    def reads(self, call_id: str, path: str) -> ToolCall:
        return ToolCall(call_id, "exec_command", json.dumps({"cmd": f"cat {path}"}))

    def returned(self, call_id: str, text: str) -> None:
        output = f"Chunk ID: {call_id}\nProcess exited with code 0\nOutput:\n{text}"
        self.messages.append(
            {
                "type": "function_call_output", "id": f"fco_{call_id}", "call_id": call_id,
                "output": output,
            }
        )  # fmt: skip

    def reply(self, text: str, call: ToolCall | None, usage: tuple[int, int]) -> Json:
        tokens, cached = usage
        return {
            "id": "resp", "object": "response", "status": "completed", "model": self.head["model"],
            "output": self._said(text, call),
            "usage": {
                "input_tokens": tokens, "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": 60, "total_tokens": tokens + 60,
            },
        }  # fmt: skip

    def summary_body(self) -> Json:
        body = self.head | {"input": [*self.messages, self._asks]}
        body.pop("tools", None)  # it offers none, which breaks its prefix
        return body

    def compact(self, summary: str) -> None:
        """Keep the newest 20,000 tokens of the user's messages, and append the summary."""
        kept, room = [], 20_000 * 4
        for said in reversed(self._asked):
            room -= len(str(said))
            if room < 0:
                break
            kept.append(said)
        goes_on = json.loads(
            json.dumps(self._goes_on).replace(
                json.dumps(self._was)[1:-1], json.dumps(summary)[1:-1]
            )
        )
        self.messages = [*self._opening, *reversed(kept), goes_on]


class _Opencode(Agent):
    """opencode: the Chat Completions format."""

    name = "opencode"

    def _begin(self) -> None:
        self.head["model"] = "deepseek-v4-pro"
        self.head.pop("stream_options", None)
        self._opening = copy.deepcopy(self.first["messages"][:1])
        self._opening[0]["content"] += self.filling
        self.messages = list(self._opening)
        asked = next(
            one
            for one in self.compaction
            if "Here is the conversation so far" in str(one["body"]["messages"][-1])
        )
        self._asks = asked["body"]
        after = self.compaction[self.compaction.index(asked) + 1]
        self._goes_on = after["body"]["messages"][-1]

    def ask(self, text: str) -> None:
        self.messages.append({"role": "user", "content": json.dumps(text)})

    def _said(self, text: str, call: ToolCall | None) -> list[Json]:
        said: Json = {"role": "assistant", "content": text or None}
        if call is not None:
            function = {"name": call.name, "arguments": call.arguments}
            said["tool_calls"] = [{"id": call.call_id, "type": "function", "function": function}]
        return [said]

    def reads(self, call_id: str, path: str) -> ToolCall:
        return ToolCall(call_id, "read", json.dumps({"filePath": path}))

    def returned(self, call_id: str, text: str) -> None:
        content = f"<type>file</type>\n<content>\n{text}\n</content>"
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def reply(self, text: str, call: ToolCall | None, usage: tuple[int, int]) -> Json:
        tokens, cached = usage
        reason = "stop" if call is None else "tool_calls"
        [message] = self._said(text, call)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {
            "id": "c", "object": "chat.completion", "model": self.head["model"],
            "choices": [choice],
            "usage": {
                "prompt_tokens": tokens, "completion_tokens": 60, "total_tokens": tokens + 60,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }  # fmt: skip

    def summary_body(self) -> Json:
        """Different instructions, and the conversation as a single text."""
        said = "\n\n".join(f"[{m['role']}]: {m['content']}" for m in self.messages[1:])
        asks = f"Here is the conversation so far:\n\n<conversation>\n{said}\n</conversation>"
        first = self._asks["messages"][0]
        return dict(self._asks) | {
            "stream": False, "model": self.head["model"],
            "messages": [first, {"role": "user", "content": asks}],
        }  # fmt: skip

    def compact(self, summary: str) -> None:
        self.messages = [
            *self._opening,
            {"role": "user", "content": "What did we do so far?"},
            {"role": "assistant", "content": summary},
            self._goes_on,
        ]
