"""What the tests of the service share: calls, engines, and a stranger's look at a request."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pagefault
from pagefault import Limits, Message, Reply, Request, Session, ToolCall
from pagefault.engine.scripted import passages_of
from pagefault.guard.neutralise import neutralise
from pagefault.model.kinds import Role
from pagefault.pack.count import REQUEST_TOKENS, O200k, message_tokens, tools_tokens

COUNTER = O200k()
WINDOW = 8_000


def words(count: int, stem: str = "word") -> str:
    """A text of so many words, each of them another."""
    return " ".join(f"{stem}{number}" for number in range(count))


def fault(
    page_id: str, *, level: int = 0, call_id: str = "call_1", reason: str = "resolve_reference"
) -> ToolCall:
    asked = {"page_id": page_id, "target_level": level, "reason": reason}
    return ToolCall(call_id, "page_fault", json.dumps(asked))


def search(query: str, *, limit: int = 5, call_id: str = "call_1") -> ToolCall:
    return ToolCall(call_id, "search_pages", json.dumps({"query": query, "limit": limit}))


async def faulted(session: Session, call: ToolCall) -> Any:
    """The result of a call, as a program reads it."""
    return json.loads(await session.call(call))


def text_of(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def without_numbers(text: str) -> str:
    """A text less the numbers that close its blocks, which are each memory's own."""
    return re.sub(r"(</?VM:CONTEXT) \d+>", r"\1>", text)


def unsealed(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """What messages say, likewise."""
    return [(one.role, without_numbers(one.content)) for one in messages]


def shown(request: Request) -> list[str]:
    """The ids of the pages that a request shows in full, by its bytes alone."""
    full = [m for m in request.messages if m.role is not Role.TOOL or '"level":0,' in m.content]
    return [passage.page_id for message in full for passage in passages_of(message)]


def check_request(request: Request, newest: str) -> None:
    """Invariants 1, 2 and 7 of the layout, as somebody sees them who has only the request."""
    tokens = REQUEST_TOKENS + tools_tokens(COUNTER, request.tools)
    tokens += sum(message_tokens(COUNTER, message) for message in request.messages)
    assert tokens == request.tokens, "accounted tokens differ from a recount"
    assert tokens * request.factor <= request.window_tokens, "the request exceeds its window"
    spoken = "\n".join(m.content for m in request.messages if m.role is Role.USER)
    assert neutralise(newest) in spoken, "the newest message is not there, whole"
    pages = shown(request)
    assert len(pages) == len(set(pages)), "a page is shown twice"
    assert text_of(request).count("<VM:RULES>") == 1, "something forged the rules"


async def asked(session: Session, text: str = "And now?") -> Request:
    """The request after a message, which is then answered."""
    await session.user(text)
    request = await session.request()
    check_request(request, text)
    await session.assistant("Well.")
    return request


def limited(tmp_path: Path, **limits: Any) -> Any:
    return pagefault.open(tmp_path / "m", window=WINDOW, sync="os", limits=Limits(**limits))


def files_with(root: Path, needle: bytes) -> list[str]:
    """The files under a root that hold these bytes."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return [path.name for path in paths if needle in path.read_bytes()]


class Replies:
    """An engine that answers what it is told to, and keeps the requests it saw."""

    def __init__(self, *answers: Reply | Callable[[Request], Reply] | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[Request] = []

    async def reply(self, request: Request) -> AsyncIterator[str | Reply]:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            yield "I was just about to "
            raise answer
        yield answer if isinstance(answer, Reply) else answer(request)


def calls(*made: ToolCall, text: str = "") -> Reply:
    return Reply(text=text, tool_calls=made)
