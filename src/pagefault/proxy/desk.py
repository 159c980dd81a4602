"""The proxy's identity, and the status of its conversations: `/healthz` and `/statusline`.

The operator sends the key from a file that only the user can read (`running.py`). That user has the
memory's files, so nothing is hidden from him. Anybody else sees a session only if it is his own
(`principal.py`). The operator is not a client: his requests go to no provider, and what they say is
forgotten again (`canary.py`).
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pagefault import __version__
from pagefault.model.request import Usage
from pagefault.proxy.canary import OPERATOR, is_operators
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.history.history import Json
from pagefault.proxy.running import KEY_HEADER
from pagefault.service.memory import Memory

STATUSLINE: Final = "/statusline"
CANARIES: Final = "/canaries"
_SESSIONS_MAX: Final = 1_000


@dataclass(slots=True)
class Standing:
    """Status of a conversation since this proxy began; tokens as its provider counts them."""

    tokens: int = 0  # of the newest request
    window_tokens: int = 0  # 0 if nothing is paged
    left_tokens: int = 0  # that left the newest request
    brought_back: int = 0  # pages
    input_tokens: int = 0  # of all reports together
    cached_tokens: int | None = None  # of these; None if no provider reported it

    def words(self, cost: float | None = None) -> str:
        """One line for people."""
        of = f"/{_short(self.window_tokens)}" if self.window_tokens else ""
        words = [f"{_short(self.tokens)}{of}"]
        words += [f"{_short(self.left_tokens)} left"] if self.left_tokens else []
        words += [f"{self.brought_back} brought back"] if self.brought_back else []
        if self.cached_tokens is not None and self.input_tokens:
            words.append(f"cache {self.cached_tokens / self.input_tokens:.0%}")
        words += [f"${cost:.2f}"] if cost is not None else []
        return "pagefault " + " · ".join(words)


@dataclass(slots=True)
class Desk:
    """For one proxy. `memory` is the id of its root, "" for a memory without files."""

    memory: str = ""
    instance: str = field(default_factory=lambda: secrets.token_hex(8))
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _standing: OrderedDict[str, Standing] = field(default_factory=OrderedDict)

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether the operator asks."""
        given = headers.get(KEY_HEADER, "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.key.encode())

    def who(self) -> Json:
        return {"version": __version__, "instance": self.instance, "memory": self.memory}

    def passed(self, name: str, passed: Passed, window_tokens: int) -> None:
        """Note a request of a session that goes on."""
        one = self._of(name)
        one.window_tokens = window_tokens
        one.brought_back += passed.brought_back
        if passed.composed is not None:
            one.tokens = passed.composed.tokens
            one.left_tokens = passed.composed.left_tokens

    def loaded(self, name: str, pages: int) -> None:
        """Note how many pages the model loaded by its calls."""
        self._of(name).brought_back += pages

    def answered(self, name: str, usage: Usage | None) -> None:
        """Note the provider's count for a request."""
        if usage is None:
            return
        one = self._of(name)
        one.tokens = usage.input_tokens
        if usage.cached_tokens is not None:
            one.cached_tokens = (one.cached_tokens or 0) + usage.cached_tokens
            one.input_tokens += usage.input_tokens

    async def forget_canaries(self, memory: Memory) -> int:
        """Forget the conversations by which the operator tested this proxy; returns how many."""
        names = [row.name for row in await memory.sessions() if is_operators(row.name)]
        for name in names:
            await memory.forget(name)
            self._standing.pop(name, None)
        return len(names)

    def statusline(self, body: bytes, whose: str) -> str:
        """The line for the JSON that Claude Code passes to its status line on stdin. "" if that
        session is unknown, or does not belong to `whose`, unless that is the operator. The cost is
        the client's own figure.

        A client has several conversations under one id (titles, sub-agents). The line shows the
        largest, which is the main one.
        """
        try:
            told = json.loads(body)
            session = told["session_id"]
            cost = told.get("cost", {}).get("total_cost_usd")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return ""
        if not isinstance(session, str) or not session:
            return ""
        found = [
            one
            for name, one in self._standing.items()
            if name.startswith(f"claude:{session}:") and (whose == OPERATOR or _is_of(name, whose))
        ]
        if not found:
            return ""
        largest = max(found, key=lambda one: one.tokens + one.left_tokens)
        is_cost = isinstance(cost, int | float) and not isinstance(cost, bool)
        return largest.words(cost if is_cost else None)

    def _of(self, name: str) -> Standing:
        one = self._standing.setdefault(name, Standing())
        self._standing.move_to_end(name)
        while len(self._standing) > _SESSIONS_MAX:
            self._standing.popitem(last=False)
        return one


def _is_of(name: str, whose: str) -> bool:
    return name.rpartition("@")[2] == whose


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1_000 else str(tokens)
