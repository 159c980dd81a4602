"""The recordings, as the tests read them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagefault.proxy.history.history import History
from pagefault.proxy.http.client import program, recognise
from pagefault.proxy.wires.chat import Chat
from pagefault.proxy.wires.gemini import Gemini
from pagefault.proxy.wires.messages import Messages
from pagefault.proxy.wires.responses import Responses
from pagefault.proxy.wires.wire import Wire


def keyed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


FOLDER = Path(__file__).parent / "recordings"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
WIRES: tuple[Wire, ...] = (Chat(), Responses(), Messages(), Gemini())


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that a client sent, and what it was answered."""

    step: str
    path: str
    headers: dict[str, str]
    status: int
    text: str
    body: dict[str, Any]
    line: str

    @property
    def wire(self) -> Wire:
        return next(w for w in WIRES if w.takes(self.path.split("?")[0]))

    @property
    def history(self) -> History:
        return self.wire.read(self.body).of_program(self.program)

    @property
    def program(self) -> str:
        return program(self.headers, self.body)

    @property
    def session(self) -> str:
        history = self.history
        client = recognise(self.headers, self.body)
        assert client is not None, "every recorded client has an id"
        return client.session_name(keyed(history.lane)[:6], "somebody", keyed)


def recorded(name: str) -> list[Recorded]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Recorded(
            one["step"],
            one["path"],
            one["headers"],
            one["status"],
            one["answer"]["text"],
            one["body"],
            line,
        )
        for line in lines
        for one in [json.loads(line)]
    ]


def asks_for_summary(client: str) -> str:
    """The whole text with which that client asks to have its conversation summed up."""
    for one in recorded(f"{client}-compaction"):
        last = one.history.placed[-1]
        if last.asks_for_summary:
            return last.text
    raise AssertionError(f"{client} did not compact")
