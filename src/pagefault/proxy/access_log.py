"""The words of the access log: what was asked, never what was said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pagefault.model.errors import PagefaultError
from pagefault.proxy.wires.pairs import Pair
from pagefault.service.lookup.names import brief
from pagefault.service.turn.formation import Formed

if TYPE_CHECKING:
    from pagefault.proxy.conversation.conversation import Conversation
    from pagefault.proxy.conversation.passed import Passed


def of_request(conversation: Conversation, passed: Passed, messages: int) -> str:
    """A request that was taken in with so many messages."""
    words = [brief(conversation.name), str(passed.match.change)]
    if passed.composed is not None:
        composed = passed.composed
        words.append(f"{messages}→{len(composed.messages)} messages, {composed.tokens:,} tokens")
        words += [f"epoch: {composed.epoch}"] if composed.epoch else []
        words += [f"{passed.recalled} recalled"] if passed.recalled else []
        words += ["over the window"] if composed.over else []
    if conversation.problem:
        words.append(f"not logged: {conversation.problem}")
    return " · ".join(words)


def of_served(pairs: Sequence[Pair]) -> list[str]:
    """The calls of memory's tools in one answer."""
    calls = len(pairs)
    return [f"{calls} call{'s' * (calls > 1)} of memory's served"] if calls else []


def of_formed(one: Formed | PagefaultError) -> str:
    """A range that was formed into memory, or was not."""
    if isinstance(one, PagefaultError):
        return f"nothing formed: {one.message}"
    cached = "" if one.cached_tokens is None else f", {one.cached_tokens:,} of them cached"
    asked = f"{one.input_tokens or one.tokens:,} tokens{cached}"
    return f"memory of {one.first}…{one.last}: {one.outcome}, {len(one.made)} made, {asked}"
