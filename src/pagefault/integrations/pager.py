"""What the frameworks share: a history is paged on its way to a model.

The engine is the proxy's (`proxy/conversation/conversation.py`), in the wire format of a framework,
or one into which its messages are converted. A framework's own copy of a conversation stays as it
is: only requests to the model are paged. Nothing in here stops a request: if memory fails, the
messages go on unchanged, with a warning.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pagefault import sync
from pagefault.integrations.home import HOMES, window_of
from pagefault.model.clock import SystemClock
from pagefault.model.errors import BadInput, PagefaultError
from pagefault.model.kinds import ControlMode
from pagefault.pack.count import O200k
from pagefault.proxy.conversation.conversation import Conversation
from pagefault.proxy.conversation.passed import Passed
from pagefault.proxy.history.history import Json, digest
from pagefault.proxy.http.client import is_plain
from pagefault.proxy.wires.gemini import numbered
from pagefault.proxy.wires.wire import Unreadable, Wire
from pagefault.service.arguments import a_window
from pagefault.service.memory import Memory

CONVERSATIONS_MAX: Final = 64  # cached ones; others are restored from the log

Root = str | Path | Memory | sync.Memory | None
"""A root, as `pagefault.open` takes it; or an open memory, which its owner closes."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request after paging. `passed` is None if nothing of it is kept."""

    body: Json
    conversation: Conversation | None = None
    passed: Passed | None = None


class Pager:
    """The conversations of one framework, over one memory. `fit` and `learn` run on the memory's
    loop: `home.waited` and `home.awaited` call them there.
    """

    def __init__(self, wire: Wire, memory: Root, window_tokens: int | None) -> None:
        if window_tokens:
            a_window(window_tokens)
        self.home = HOMES.take(memory)
        self.wire = wire
        self._window_tokens = window_tokens
        self._conversations: OrderedDict[str, Conversation] = OrderedDict()

    async def fit(self, session: str, body: Json) -> Fitted:
        """Log a session's request, and return one that fits. Never raises."""
        try:
            if not session:
                raise BadInput("a conversation name is required")
            conversation = await self.conversation(session)
            mode = await self.mode_of(session)
            if not mode.captures:
                return Fitted(body)
            own = _own(body)
            history = self.wire.read(own)
            passed = await conversation.receive(own, history, pages=mode.recalls)
        except (PagefaultError, Unreadable) as error:
            return _as_it_came(body, str(error))
        except Exception as bug:  # an unexpected shape: no reason to hold the request back
            return _as_it_came(body, type(bug).__name__)
        told = body if passed.body is None else _own(passed.body)
        return Fitted(told, conversation, passed)

    async def learn(self, fitted: Fitted, answer: Json) -> None:
        """Log the model's answer, in the wire format, and the provider's count for it."""
        if fitted.conversation is None or fitted.passed is None:
            return
        try:
            answered = numbered(self.wire.answer(answer), fitted.passed.match)
            await fitted.conversation.answered(fitted.passed, answered)
        except Exception as bug:  # the caller has the answer already
            _warn(type(bug).__name__)

    async def keep(self, session: str, body: Json) -> str:
        """Log messages that no request brings. Returns the problem, "" if there is none, or if
        nothing is to be kept.
        """
        try:
            if not (await self.mode_of(session)).captures:
                return ""
            return await (await self.conversation(session)).keep(self.wire.read(_own(body)))
        except (PagefaultError, Unreadable) as error:
            return str(error)

    async def mode_of(self, session: str) -> ControlMode:
        """The control mode of a session."""
        memory = await self.home.memory()
        return ControlMode(await memory.control_of(session_name(memory, session)))

    async def conversation(self, session: str) -> Conversation:
        memory = await self.home.memory()
        found = self._conversations.get(session)
        if found is None:
            found = self._conversations[session] = Conversation(
                memory=memory,
                name=session_name(memory, session),
                wire=self.wire,
                counter=O200k(),
                clock=SystemClock(),
                window_tokens=window_of(memory, self._window_tokens),
            )
            while len(self._conversations) > CONVERSATIONS_MAX:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(session)
        return found

    def close(self) -> None:
        """Close the memory, if it was opened here and has no other user."""
        HOMES.close(self.home)


def session_name(memory: Memory, session: str) -> str:
    """The session name for a framework's conversation id: the id itself, if it is a valid name."""
    if is_plain(session) and memory.written(session) == session:
        return session
    return f"id:{memory.keyed(f'session {session}')[:12]}"


def _own(value: Any) -> Any:
    """The same JSON in new containers: a program may change its messages in place, and the engine's
    stay as they are.
    """
    if isinstance(value, dict):
        return {name: _own(one) for name, one in value.items()}
    return [_own(one) for one in value] if isinstance(value, list) else value


def _as_it_came(body: Json, why: str) -> Fitted:
    _warn(why)
    return Fitted(body)


def _warn(why: str) -> None:
    warnings.warn(
        f"a request goes on as it came, and is not kept: {why}", RuntimeWarning, stacklevel=3
    )


# --- messages that are objects ------------------------------------------------------------------

_MARK: Final = "pagefault_of"


@dataclass(slots=True)
class Originals:
    """A framework's messages behind the plain ones that the engine sees.

    The request gets the very same object, or a copy if its text has changed.
    """

    with_content: Callable[[Any, Any, Json], Any]  # (object, new text, plain message) → copy
    content: str = "content"  # the field of a plain message with the text
    _objects: dict[str, tuple[Any, Json]] = field(default_factory=dict)

    def told(self, message: Any, plain: Json, exact: str) -> Json:
        """A plain message that refers to its object; `exact` distinguishes that from any other."""
        mark = digest(exact)
        self._objects[mark] = message, plain
        return {**plain, _MARK: mark}

    def of(self, message: Json) -> Any | None:
        """The object of a message, or None if it has none."""
        known = self._objects.get(message.get(_MARK, ""))
        if known is None:
            return None
        original, plain = known
        if message.get(self.content) == plain.get(self.content):
            return original
        return self.with_content(original, message.get(self.content), plain)
