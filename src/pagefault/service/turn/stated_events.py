"""Events that a host states, as they are recorded: facts in JSON on the first line, then the text.
`service/inspection/work_events.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from pagefault.activity.values import Change
from pagefault.model.errors import BadInput
from pagefault.model.kinds import USER_TYPED, EventType, Origin, Role
from pagefault.service.arguments import one_of
from pagefault.service.turn.drafts import Incoming

COMMAND_OUTPUT: Final = Origin("command_output")

STATED_BY: Final[Mapping[EventType, Origin]] = {
    EventType.VOICE_TRANSCRIPT: USER_TYPED,
    EventType.COMMAND_INTENT: USER_TYPED,
    EventType.COMMAND_RUN: COMMAND_OUTPUT,
    EventType.FILE_CHANGE: COMMAND_OUTPUT,
    EventType.TEST_RESULT: COMMAND_OUTPUT,
}
"""The channel of each. What a user intends or says aloud is the user's, like typed text."""

_COUNTS: Final = ("duration_ms", "passed", "failed", "skipped")
_LISTS: Final = ("argv", "passing", "failing")
_FACTS: Final[Mapping[EventType, frozenset[str]]] = {
    EventType.VOICE_TRANSCRIPT: frozenset(),
    EventType.COMMAND_INTENT: frozenset(),
    EventType.COMMAND_RUN: frozenset({"argv", "exit_code", "duration_ms"}),
    EventType.FILE_CHANGE: frozenset({"path", "change", "content"}),
    EventType.TEST_RESULT: frozenset(
        {"runner", "passed", "failed", "skipped", "passing", "failing", "duration_ms", "argv"}
    ),
}
_TAKES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_LISTS, "a list of texts"),
    **dict.fromkeys(_COUNTS, "a whole number, 0 or more"),
    "exit_code": "a whole number",
    "change": f"one of {', '.join(Change)}",
}
_NEEDED: Final = {EventType.COMMAND_RUN: "argv", EventType.FILE_CHANGE: "path"}


def stated(
    event_type: str, text: str, facts: Mapping[str, object], hashed: Callable[[str], str]
) -> Incoming:
    """The text to record. `hashed` computes a keyed hash. Raises `BadInput`."""
    kind = one_of(EventType, event_type, "event type")
    if kind not in _FACTS:
        raise BadInput(f"a {kind} cannot be recorded", hint=f"one of {', '.join(_FACTS)}")
    known = dict(facts)
    for name, value in known.items():
        _check(kind, name, value)
    needed = _NEEDED.get(kind, "")
    if needed and not known.get(needed):
        raise BadInput(f"a {kind} needs {needed}", hint=f'facts={{"{needed}": …}}')
    if not text and not known:
        raise BadInput(f"a {kind} is empty", hint="give its text or its facts")
    if "content" in known:
        known["hash"] = hashed(str(known.pop("content")))
    first = json.dumps(known, ensure_ascii=False) if known else ""
    is_users = STATED_BY[kind] == USER_TYPED
    return Incoming(
        text="\n".join(filter(None, (first, text))),
        role=Role.USER if is_users else Role.TOOL,
        event_type=kind,
    )


def _check(kind: EventType, name: str, value: object) -> None:
    if name not in _FACTS[kind]:
        known = ", ".join(sorted(_FACTS[kind])) or "none: give its text"
        raise BadInput(f"a {kind} has no fact {name!r:.80}", hint=f"it has {known}")
    if name in _LISTS:
        is_right = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    elif name in _COUNTS:
        is_right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    elif name == "exit_code":
        is_right = isinstance(value, int) and not isinstance(value, bool)
    elif name == "change":
        is_right = value in tuple(Change)
    else:
        is_right = isinstance(value, str)
    if not is_right:
        raise BadInput(f"{name} is {value!r:.80}", hint=f"it takes {_TAKES.get(name, 'a text')}")
